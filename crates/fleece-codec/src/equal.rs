//! Equality of meaning, whatever the encoding.

use crate::dict::Dict;
use crate::number::Number;
use crate::value::{Kind, Value};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// Values are equal if they mean the same: numbers by value (`2` is `2.0`; NaN is unlike anything), strings and data by bytes, arrays by
/// their items, dicts by names and values. How they are encoded, shared or inherited does not matter.
///
/// ```
/// use fleece_codec::{fleece, json, Doc};
/// let a = Doc::open(fleece!({"a": 2, "b": [null]}))?;
/// let b = Doc::open(json::to_fleece(br#"{"b": [null], "a": 2.0}"#)?)?;
/// assert_eq!(a.root(), b.root());
/// # Ok::<(), fleece_codec::Error>(())
/// ```
impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        let mut pairs = vec![(*self, *other)];
        while let Some((a, b)) = pairs.pop() {
            if !equal(a, b, &mut pairs) {
                return false;
            }
        }
        true
    }
}

/// Compares two values; what is within them is left to be compared.
fn equal<'a>(a: Value<'a>, b: Value<'a>, inner: &mut Vec<(Value<'a>, Value<'a>)>) -> bool {
    let kind = a.kind();
    if kind != b.kind() {
        return false;
    }
    match kind {
        Kind::Null | Kind::Undefined => true,
        Kind::Bool => a.as_bool() == b.as_bool(),
        Kind::Number => equal_numbers(a.number(), b.number()),
        Kind::String | Kind::Data => a.payload() == b.payload(),
        // The same bytes are equal, unless there is a NaN in them, which is not worth the time to look for.
        Kind::Array | Kind::Dict if is_same(a, b) => true,
        Kind::Array => {
            let (Some(a), Some(b)) = (a.as_array(), b.as_array()) else { return false };
            inner.extend(a.iter().zip(b.iter()));
            a.len() == b.len()
        }
        Kind::Dict => match (a.as_dict(), b.as_dict()) {
            (Some(a), Some(b)) => equal_dicts(a, b, inner),
            _ => false,
        },
    }
}

fn is_same(a: Value<'_>, b: Value<'_>) -> bool {
    core::ptr::eq(a.source.bytes, b.source.bytes) && a.at == b.at
}

fn equal_numbers(a: Option<Number>, b: Option<Number>) -> bool {
    match (a.map(Exact::from), b.map(Exact::from)) {
        (Some(Exact::Int(a)), Some(Exact::Int(b))) => a == b,
        (Some(Exact::Float(a)), Some(Exact::Float(b))) => {
            a.partial_cmp(&b) == Some(Ordering::Equal)
        }
        _ => false,
    }
}

/// A number of which the form depends on the value alone.
enum Exact {
    Int(i128),
    /// Not a whole number, or too large for an integer.
    Float(f64),
}

impl From<Number> for Exact {
    fn from(number: Number) -> Self {
        let float = match number {
            Number::Signed(n) => return Self::Int(n.into()),
            Number::Unsigned(n) => return Self::Int(n.into()),
            Number::Float(n) => f64::from(n),
            Number::Double(n) => n,
        };
        let whole = float as i128;
        // Numbers of this size without a fraction come back from the conversion as they were.
        let is_whole = float.abs() < 1e20 && (whole as f64).to_bits() == float.to_bits();
        let is_negative_zero = float.to_bits() == (-0.0_f64).to_bits();
        if is_whole || is_negative_zero { Self::Int(whole) } else { Self::Float(float) }
    }
}

fn equal_dicts<'a>(a: Dict<'a>, b: Dict<'a>, inner: &mut Vec<(Value<'a>, Value<'a>)>) -> bool {
    let (own, other) = (sorted_pairs(a), sorted_pairs(b));
    own.len() == other.len()
        && own.iter().zip(&other).all(|((a_key, a), (b_key, b))| {
            inner.push((*a, *b));
            a_key.is_some() && a_key == b_key
        })
}

fn sorted_pairs(dict: Dict<'_>) -> Vec<(Option<&[u8]>, Value<'_>)> {
    let mut pairs: Vec<_> = dict.iter().map(|(key, value)| (key.as_bytes(), value)).collect();
    if !pairs.is_sorted_by_key(|(key, _)| *key) {
        pairs.sort_by_key(|(key, _)| *key);
    }
    pairs
}
