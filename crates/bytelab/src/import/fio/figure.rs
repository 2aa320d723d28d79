//! A number that fio may have written as NaN.

use std::fmt;

use serde::de::{Error, IgnoredAny, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// A number of a document; none where it is null, or was no number
/// ([`super::super::document::without_nan`]).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figure(pub(super) Option<f64>);

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Figure, D::Error> {
        struct Number;
        impl<'de> Visitor<'de> for Number {
            type Value = Figure;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Figure, E> {
                Ok(Figure(Some(value)))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Figure, E> {
                Ok(Figure(Some(value as f64)))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Figure, E> {
                Ok(Figure(Some(value as f64)))
            }

            fn visit_unit<E: Error>(self) -> Result<Figure, E> {
                Ok(Figure(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Figure, A::Error> {
                match list.next_element::<IgnoredAny>()? {
                    None => Ok(Figure(None)),
                    Some(_) => Err(A::Error::invalid_type(Unexpected::Seq, &self)),
                }
            }
        }
        deserializer.deserialize_any(Number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::read;
    use super::*;

    #[test]
    fn a_figure_is_a_number_or_a_hole() {
        let of = |text: &str| read::json::<Figure>(text).map(|figure| figure.0);
        assert_eq!(of("2.5").unwrap(), Some(2.5));
        assert_eq!(of("-2").unwrap(), Some(-2.0));
        assert_eq!((of("null").unwrap(), of("[]").unwrap()), (None, None));
        assert!(of("[1]").is_err() && of("\"x\"").is_err());
    }
}
