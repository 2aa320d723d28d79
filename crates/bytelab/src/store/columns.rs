//! The text forms of values for which SQL has no type, in every store: words, JSON, and the values
//! of a sample.

use std::fmt;

use anyhow::{Context, Result, bail};
use lab::run::{Role, Status};
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// Parses a column; `name` is for the error.
pub(super) fn from_json<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).with_context(|| format!("column {name}"))
}

pub(super) fn role_word(role: Role) -> &'static str {
    match role {
        Role::Contender => "contender",
        Role::Yardstick => "yardstick",
    }
}

pub(super) fn role(word: &str) -> Result<Role> {
    match word {
        "contender" => Ok(Role::Contender),
        "yardstick" => Ok(Role::Yardstick),
        _ => bail!("column role: unknown word {word:?}"),
    }
}

pub(super) fn status(word: &str, reason: Option<String>) -> Result<Status> {
    match (word, reason) {
        ("measured", None) => Ok(Status::Measured),
        ("skipped", Some(reason)) => Ok(Status::Skipped(reason)),
        ("failed", Some(reason)) => Ok(Status::Failed(reason)),
        (_, reason) => bail!("column status: unknown word {word:?} with reason {reason:?}"),
    }
}

/// The values of a sample as one JSON object, metric to number. JSON has no NaN and no infinity:
/// these are the texts "NaN", "inf" and "-inf".
#[derive(Clone, Debug)]
pub(super) struct Values<'a>(pub(super) &'a [(&'a str, f64)]);

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, Number(*value))))
    }
}

/// [`Values`] after reading.
pub(super) struct OwnedValues(pub(super) Vec<(String, f64)>);

impl<'de> Deserialize<'de> for OwnedValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OwnedValues, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = OwnedValues;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of metric names to numbers")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OwnedValues, A::Error> {
                let mut pairs = Vec::new();
                while let Some((name, Number(value))) = map.next_entry()? {
                    pairs.push((name, value));
                }
                Ok(OwnedValues(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else {
            serializer.collect_str(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        struct Form;
        impl Visitor<'_> for Form {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or one of the texts NaN, inf and -inf")
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                text.parse().map(Number).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_readable_json() {
        let values = [("wall_ns", 1.5), ("a\"b", f64::NAN), ("up", f64::INFINITY), ("zero", -0.0)];
        assert_eq!(
            to_json(&Values(&values)).unwrap(),
            r#"{"wall_ns":1.5,"a\"b":"NaN","up":"inf","zero":-0.0}"#
        );
    }

    proptest! {
        #[test]
        fn values_survive_bit_by_bit(bits: Vec<(String, u64)>) {
            let values: Vec<_> =
                bits.iter().map(|(name, bits)| (name.as_str(), f64::from_bits(*bits))).collect();
            let text = to_json(&Values(&values)).unwrap();
            let OwnedValues(back) = from_json("values", &text).unwrap();
            prop_assert_eq!(back.len(), values.len());
            for ((name, value), (name_back, value_back)) in values.iter().zip(&back) {
                prop_assert_eq!(name, name_back);
                let same = value.to_bits() == value_back.to_bits();
                prop_assert!(same || value.is_nan() && value_back.is_nan());
            }
        }
    }

    #[test]
    fn what_no_store_wrote_is_an_error() {
        assert!(from_json::<OwnedValues>("values", r#"{"a":"x"}"#).is_err());
        assert!(from_json::<OwnedValues>("values", "[1]").is_err());
        assert!(role("judge").is_err());
        assert!(status("skipped", None).is_err());
        assert!(status("measured", Some(String::new())).is_err());
    }
}
