//! Values beside Rust's own: comparison with scalars and text, and how a value prints.

use crate::equal::equal_numbers;
use crate::json::{NonFinite, PrintOptions};
use crate::limits::DISPLAYED_BYTES;
use crate::number::Number;
use crate::value::Value;
use alloc::string::String;
use core::fmt;

/// Prints the JSON text; with `{:#}` indented by two spaces. NaN and the infinities are `null`.
/// What has no JSON text, such as a shared key without a name, and what has far too long a one,
/// prints as with `{:?}`.
///
/// ```
/// use fleece_codec::{fleece, Doc};
/// let doc = Doc::open(fleece!({"a": [1, 2]}))?;
/// assert_eq!(doc.root().to_string(), r#"{"a":[1,2]}"#);
/// assert_eq!(format!("{:#}", doc.root().get("a").unwrap()), "[\n  1,\n  2\n]");
/// # Ok::<(), fleece_codec::Error>(())
/// ```
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options =
            PrintOptions::new().non_finite(NonFinite::Null).size_limit_bytes(DISPLAYED_BYTES);
        let options = if f.alternate() { options.pretty(2) } else { options };
        match options.print(*self) {
            Ok(text) => f.write_str(&text),
            Err(_) => fmt::Debug::fmt(self, f),
        }
    }
}

macro_rules! compare {
    ($($type:ty, $other:ident, $value:ident => $is_equal:expr;)*) => {
        $(impl PartialEq<$type> for Value<'_> {
            fn eq(&self, $other: &$type) -> bool {
                let $value = *self;
                $is_equal
            }
        }

        impl PartialEq<Value<'_>> for $type {
            fn eq(&self, other: &Value<'_>) -> bool {
                other == self
            }
        })*
    };
}

compare! {
    str, other, value => value.as_str() == Some(other);
    &str, other, value => value.as_str() == Some(other);
    String, other, value => value.as_str() == Some(other);
    bool, other, value => value.as_bool() == Some(*other);
    (), _other, value => value.is_null();
    i32, other, value => equal_numbers(value.number(), Some(Number::Signed((*other).into())));
    i64, other, value => equal_numbers(value.number(), Some(Number::Signed(*other)));
    u32, other, value => equal_numbers(value.number(), Some(Number::Unsigned((*other).into())));
    u64, other, value => equal_numbers(value.number(), Some(Number::Unsigned(*other)));
    f32, other, value => equal_numbers(value.number(), Some(Number::Float(*other)));
    f64, other, value => equal_numbers(value.number(), Some(Number::Double(*other)));
}

#[cfg(test)]
mod tests {
    use crate::{Doc, fleece};
    use alloc::string::ToString;

    #[test]
    fn values_compare_with_what_they_mean() {
        let doc = Doc::open(fleece!(["a", 7, 7.0, -1, true, null, u64::MAX, 0.5])).unwrap();
        let at = |index| doc.root().at(index).unwrap();
        let owned = "a".to_string();
        assert!(at(0) == "a" && "a" == at(0) && at(0) == *"a" && at(0) == owned);
        assert!(at(1) == 7 && at(1) == 7_u32 && at(1) == 7.0 && at(2) == 7 && 7_i64 == at(2));
        assert!(at(3) == -1 && at(3) != u64::MAX && at(4) == true && at(5) == ());
        assert!(at(6) == u64::MAX && at(6) != -1 && at(7) == 0.5_f32 && at(7) != 0);
        assert!(at(0) != 1 && at(1) != "7" && at(5) != false);
    }

    #[test]
    fn a_value_without_json_text_is_displayed_too() {
        // A dict with the shared key 0, and no table.
        let doc = Doc::open([0x70, 0x01, 0x00, 0x00, 0x41, b'x', 0x80, 0x03]).unwrap();
        assert_eq!(doc.root().to_string(), "dict of 1 pairs");
        assert_eq!(Doc::open(fleece!([f64::INFINITY])).unwrap().root().to_string(), "[null]");
    }
}
