//! Equality by meaning, whatever the encoding; comparison with Rust's scalars and strings; and
//! `Display`.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use crate::dict::Dict;
use crate::json::{NonFinite, PrintOptions};
use crate::limits::DISPLAYED_BYTES;
use crate::number::Number;
use crate::value::{Kind, Value};

/// Values are equal if they mean the same: numbers by value (`2` equals `2.0`; NaN equals nothing),
/// strings and data by bytes, arrays by their items, dicts by names and values. Encoding, sharing
/// and inheritance do not matter.
///
/// Shared values are compared once, so small documents that expand to very many values are compared
/// quickly, too. Arrays that contain themselves, which only unchecked data has, are equal if no
/// path into them leads to a difference. A comparison takes at most eight steps for each byte;
/// values that are not known to be equal by then are unequal. Only crafted data reaches this limit:
/// collections overlap, or very many dicts have the same large parent.
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
        let mut comparison = Comparison {
            open: Vec::new(),
            classes: EquivalenceClasses::default(),
            steps_left: STEPS_PER_BYTE * (self.source.size_bytes() + other.source.size_bytes()),
        };
        if !comparison.value(*self, *other) {
            return false;
        }
        while let Some((a, b)) = comparison.open.pop() {
            if !comparison.collection(a, b) {
                return false;
            }
        }
        true
    }
}

/// A checked document has at most four slots for each of its bytes, and each slot is compared once;
/// those of a parent, once for each child.
const STEPS_PER_BYTE: usize = 8;
/// Longer strings and data are compared once, however many slots lead to them.
const SHORT_BYTES: usize = 64;

/// The state of a comparison. It ends when all pairs are compared or the first difference is found.
struct Comparison<'a> {
    /// Pairs of collections that are assumed to be equal and are still to be compared.
    open: Vec<(Value<'a>, Value<'a>)>,
    classes: EquivalenceClasses,
    steps_left: usize,
}

impl<'a> Comparison<'a> {
    /// Compares two values; the content of collections is compared later.
    fn value(&mut self, a: Value<'a>, b: Value<'a>) -> bool {
        let kind = a.kind();
        if kind != b.kind() {
            return false;
        }
        match kind {
            Kind::Null | Kind::Undefined => true,
            Kind::Bool => a.as_bool() == b.as_bool(),
            Kind::Number => equal_numbers(a.number(), b.number()),
            Kind::String | Kind::Data => self.payload(a, b),
            // Identical bytes count as equal. They may hold a NaN, but looking for it is not worth
            // the time.
            Kind::Array | Kind::Dict => {
                if !is_same(a, b) && self.classes.union(ValueAddress::new(a), ValueAddress::new(b))
                {
                    self.open.push((a, b));
                }
                true
            }
        }
    }

    fn payload(&mut self, a: Value<'a>, b: Value<'a>) -> bool {
        let (own, other) = (a.payload().unwrap_or_default(), b.payload().unwrap_or_default());
        if own.len() != other.len() || own.len() <= SHORT_BYTES {
            return own == other;
        }
        !self.classes.union(ValueAddress::new(a), ValueAddress::new(b))
            || self.spend(own.len()) && own == other
    }

    fn collection(&mut self, a: Value<'a>, b: Value<'a>) -> bool {
        if let (Some(a), Some(b)) = (a.as_array(), b.as_array()) {
            return a.len() == b.len()
                && self.spend(a.len())
                && a.iter().zip(b.iter()).all(|(a, b)| self.value(a, b));
        }
        let (Some(a), Some(b)) = (a.as_dict(), b.as_dict()) else { return false };
        let (own, other) = (sorted_pairs(a), sorted_pairs(b));
        own.len() == other.len()
            && self.spend(own.len())
            && own.iter().zip(&other).all(|((a_key, a), (b_key, b))| {
                a_key.is_some() && a_key == b_key && self.value(*a, *b)
            })
    }

    /// Uses up steps; false if fewer are left.
    fn spend(&mut self, steps: usize) -> bool {
        let left = self.steps_left.checked_sub(steps);
        self.steps_left = left.unwrap_or(0);
        left.is_some()
    }
}

/// The address of a value in memory, and that of its context: with other shared keys or another
/// base, the same bytes mean something else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ValueAddress {
    byte: usize,
    context: usize,
}

impl ValueAddress {
    fn new(value: Value<'_>) -> Self {
        let context = value.source.context.map_or(0, |context| core::ptr::from_ref(context).addr());
        Self { byte: value.source.bytes.as_ptr().addr() + value.at, context }
    }
}

/// Equivalence classes of values that are assumed to be equal, as a union-find structure. So there
/// are fewer comparisons than values, and none is repeated while it is under way.
#[derive(Default)]
struct EquivalenceClasses {
    /// From a value to another one of its class, and finally to the representative of the class.
    links: BTreeMap<ValueAddress, ValueAddress>,
}

impl EquivalenceClasses {
    /// Unites the classes of two values; false if they are the same class already.
    fn union(&mut self, a: ValueAddress, b: ValueAddress) -> bool {
        let (a, b) = (self.class(a), self.class(b));
        if a == b {
            return false;
        }
        self.links.insert(a, b);
        true
    }

    fn class(&mut self, node: ValueAddress) -> ValueAddress {
        let mut class = node;
        while let Some(&next) = self.links.get(&class) {
            class = next;
        }
        // Path compression: the next search takes one step.
        let mut node = node;
        while let Some(next) = self.links.get_mut(&node).filter(|next| **next != class) {
            node = core::mem::replace(next, class);
        }
        class
    }
}

fn is_same(a: Value<'_>, b: Value<'_>) -> bool {
    core::ptr::eq(a.source.bytes, b.source.bytes) && ValueAddress::new(a) == ValueAddress::new(b)
}

fn equal_numbers(a: Option<Number>, b: Option<Number>) -> bool {
    match (a.map(ExactNumber::from), b.map(ExactNumber::from)) {
        (Some(ExactNumber::Int(a)), Some(ExactNumber::Int(b))) => a == b,
        (Some(ExactNumber::Float(a)), Some(ExactNumber::Float(b))) => {
            a.partial_cmp(&b) == Some(Ordering::Equal)
        }
        _ => false,
    }
}

/// A number in a form that depends on its value alone.
enum ExactNumber {
    Int(i128),
    /// Not a whole number, or too large for an integer.
    Float(f64),
}

impl From<Number> for ExactNumber {
    fn from(number: Number) -> Self {
        let float = match number {
            Number::Signed(n) => return Self::Int(n.into()),
            Number::Unsigned(n) => return Self::Int(n.into()),
            Number::Float(n) => f64::from(n),
            Number::Double(n) => n,
        };
        let whole = float as i128;
        // Whole numbers of this size are converted there and back without loss.
        let is_whole = float.abs() < 1e20 && (whole as f64).to_bits() == float.to_bits();
        let is_negative_zero = float.to_bits() == (-0.0_f64).to_bits();
        if is_whole || is_negative_zero { Self::Int(whole) } else { Self::Float(float) }
    }
}

fn sorted_pairs(dict: Dict<'_>) -> Vec<(Option<&[u8]>, Value<'_>)> {
    let mut pairs: Vec<_> = dict.iter().map(|(key, value)| (key.as_bytes(), value)).collect();
    if !pairs.is_sorted_by_key(|(key, _)| *key) {
        pairs.sort_by_key(|(key, _)| *key);
    }
    pairs
}

/// Prints the JSON text; with `{:#}` indented by two spaces. NaN and the infinities are `null`. A
/// value that has no JSON text, because of a shared key without a name, or one that is far too
/// long, prints as with `{:?}`.
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
