//! A value: where it is, of what kind, and its conversions to Rust's scalars.

use crate::timestamp;
use crate::wire::{self, Source, tag, varint};
use crate::{Array, Dict};
use core::fmt;

/// What a [`Value`] is.
///
/// ```
/// use fleece_codec::{fleece, Doc, Kind};
/// let doc = Doc::open(fleece!([1, "one"]))?;
/// assert_eq!(doc.root().kind(), Kind::Array);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Fleece's own "no value", which JSON does not have.
    Undefined,
    /// JSON's `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// An integer or a floating-point number.
    Number,
    /// Text, meant to be UTF-8.
    String,
    /// Binary data.
    Data,
    /// An [`Array`].
    Array,
    /// A [`Dict`].
    Dict,
}

/// A value inside a document: a slice and an offset, copied freely.
///
/// The `as_` methods are strict, `None` unless the value is of that type. The `to_` methods are Fleece's lenient conversions and always
/// answer. On bytes that nobody checked, each of them may be wrong but none can panic.
///
/// ```
/// use fleece_codec::{fleece, Doc};
/// let doc = Doc::open(fleece!({"age": 36, "name": "Ada"}))?;
/// let ada = doc.root();
/// assert_eq!(ada.get("age").and_then(|age| age.as_i64()), Some(36));
/// assert_eq!(ada.get("name").and_then(|name| name.as_str()), Some("Ada"));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Value<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) at: usize,
}

/// A number as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f32),
    Double(f64),
}

impl<'a> Value<'a> {
    /// The value `undefined`, which belongs to no document.
    ///
    /// ```
    /// # use fleece_codec::{Kind, Value};
    /// assert_eq!(Value::undefined().kind(), Kind::Undefined);
    /// ```
    pub fn undefined() -> Self {
        Self { source: Source { bytes: &[0x3C, 0], context: None }, at: 0 }
    }

    /// What this value is.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Kind};
    /// let doc = Doc::open(fleece!([null, 1.5]))?;
    /// let kinds: Vec<Kind> = doc.root().as_array().unwrap().iter().map(|v| v.kind()).collect();
    /// assert_eq!(kinds, [Kind::Null, Kind::Number]);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn kind(self) -> Kind {
        let first = self.first_byte();
        match first >> 4 {
            tag::SHORT_INT | tag::LONG_INT | tag::FLOAT => Kind::Number,
            tag::STRING => Kind::String,
            tag::DATA => Kind::Data,
            tag::ARRAY => Kind::Array,
            tag::DICT => Kind::Dict,
            _ => match first {
                0x34 | 0x38 => Kind::Bool,
                0x3C => Kind::Undefined,
                // As the original: other low bits, which no writer produces, read as null.
                _ => Kind::Null,
            },
        }
    }

    /// Whether this is `null` (and not `undefined`).
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!(null))?.root().is_null());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Whether this is a number that is stored as an integer.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!(7))?.root().is_integer());
    /// assert!(!Doc::open(fleece!(7.0))?.root().is_integer());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn is_integer(self) -> bool {
        self.first_byte() >> 4 <= tag::LONG_INT
    }

    /// Whether this is an integer stored as unsigned, which may exceed an `i64`.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!(u64::MAX))?.root().is_unsigned());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn is_unsigned(self) -> bool {
        self.first_byte() & 0xF8 == 0x18
    }

    /// Whether this is a floating-point number that was written as a double.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!(0.1))?.root().is_double());
    /// assert!(!Doc::open(fleece!(0.1_f32))?.root().is_double());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn is_double(self) -> bool {
        matches!(self.number(), Some(Number::Double(_)))
    }

    /// The boolean, if this is one.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(true))?.root().as_bool(), Some(true));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn as_bool(self) -> Option<bool> {
        match self.first_byte() {
            0x38 => Some(true),
            0x34 => Some(false),
            _ => None,
        }
    }

    /// The number, if it is an integer from -2^63 to 2^63 - 1.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(-5))?.root().as_i64(), Some(-5));
    /// assert_eq!(Doc::open(fleece!(u64::MAX))?.root().as_i64(), None);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn as_i64(self) -> Option<i64> {
        match self.number()? {
            Number::Signed(n) => Some(n),
            Number::Unsigned(n) => n.try_into().ok(),
            _ => None,
        }
    }

    /// The number, if it is an integer from 0 to 2^64 - 1.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(u64::MAX))?.root().as_u64(), Some(u64::MAX));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn as_u64(self) -> Option<u64> {
        match self.number()? {
            Number::Signed(n) => n.try_into().ok(),
            Number::Unsigned(n) => Some(n),
            _ => None,
        }
    }

    /// The number, whether stored as an integer (rounded, if beyond 2^53) or as a float.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(3))?.root().as_f64(), Some(3.0));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn as_f64(self) -> Option<f64> {
        Some(match self.number()? {
            Number::Signed(n) => n as f64,
            Number::Unsigned(n) => n as f64,
            Number::Float(n) => f64::from(n),
            Number::Double(n) => n,
        })
    }

    /// The text, if this is a string of valid UTF-8.
    ///
    /// This looks at every byte; [`as_str_bytes`](Self::as_str_bytes) does not.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!("hé"))?.root().as_str(), Some("hé"));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn as_str(self) -> Option<&'a str> {
        core::str::from_utf8(self.as_str_bytes()?).ok()
    }

    /// The bytes of a string, whether they are UTF-8 or not, in constant time.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!("hi"))?.root().as_str_bytes(), Some(&b"hi"[..]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn as_str_bytes(self) -> Option<&'a [u8]> {
        let rest = self.source.bytes.get(self.at..)?;
        let (&first, rest) = rest.split_first()?;
        match first.wrapping_sub(0x40) {
            len @ 0..15 => rest.get(..usize::from(len)),
            15 => self.long_payload(),
            _ => None,
        }
    }

    /// The bytes, if this is binary data.
    ///
    /// ```
    /// use fleece_codec::{Doc, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.write_data(&[1, 2, 3]);
    /// assert_eq!(Doc::open(encoder.finish()?)?.root().as_data(), Some(&[1, 2, 3][..]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn as_data(self) -> Option<&'a [u8]> {
        if self.first_byte() >> 4 == tag::DATA { self.payload() } else { None }
    }

    /// The array, if this is one.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!([1, 2]))?.root().as_array().unwrap().len(), 2);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn as_array(self) -> Option<Array<'a>> {
        Array::from_value(self)
    }

    /// The dict, if this is one.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!({"a": 1}))?.root().as_dict().unwrap().len(), 1);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn as_dict(self) -> Option<Dict<'a>> {
        Dict::from_value(self)
    }

    /// The value of `key`, if this is a dict that has it.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!({"a": 1}))?;
    /// assert_eq!(doc.root().get("a").unwrap().as_i64(), Some(1));
    /// assert!(doc.root().get("b").is_none());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn get(self, key: &str) -> Option<Value<'a>> {
        self.as_dict()?.get(key)
    }

    /// The item number `index`, counted from 0, if this is an array that long.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!([1, 2]))?.root().at(1).unwrap().as_i64(), Some(2));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn at(self, index: usize) -> Option<Value<'a>> {
        self.as_array()?.get(index)
    }

    /// Fleece's idea of truth: false for `null`, `undefined`, `false`, and numbers whose integer part is 0; true for all else.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!(""))?.root().to_bool());
    /// assert!(!Doc::open(fleece!(0.5))?.root().to_bool());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_bool(self) -> bool {
        match self.kind() {
            Kind::Null | Kind::Undefined => false,
            Kind::Bool => self.first_byte() == 0x38,
            Kind::Number => self.to_i64() != 0,
            _ => true,
        }
    }

    /// Any value as an integer: `true` is 1, floats lose their fraction and saturate, unsigned ones keep their bits, all else is 0.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(-1.9))?.root().to_i64(), -1);
    /// assert_eq!(Doc::open(fleece!("7"))?.root().to_i64(), 0);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_i64(self) -> i64 {
        match self.number() {
            Some(Number::Signed(n)) => n,
            Some(Number::Unsigned(n)) => n as i64,
            Some(Number::Float(n)) => n as i64,
            Some(Number::Double(n)) => n as i64,
            None => i64::from(self.first_byte() == 0x38),
        }
    }

    /// Any value as an unsigned integer: the bits of [`to_i64`](Self::to_i64).
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(true))?.root().to_u64(), 1);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_u64(self) -> u64 {
        self.to_i64() as u64
    }

    /// Any value as a double: `true` is 1, what is neither number nor boolean is 0.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!(true))?.root().to_f64(), 1.0);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_f64(self) -> f64 {
        self.as_f64().unwrap_or_else(|| f64::from(u8::from(self.first_byte() == 0x38)))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z: a number as it is, a string read as an ISO-8601 date.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!("2014-05-13T16:53:20.123Z"))?;
    /// assert_eq!(doc.root().to_timestamp_ms(), Some(1_400_000_000_123));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_timestamp_ms(self) -> Option<i64> {
        match self.number() {
            Some(_) => Some(self.to_i64()),
            None => timestamp::parse_ms(self.as_str_bytes()?),
        }
    }

    /// Where the value begins: bytes from the start of the document that holds it.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!(["abc"]))?;
    /// assert_eq!(doc.root().offset(), 4);
    /// assert_eq!(doc.root().at(0).unwrap().offset(), 0);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn offset(self) -> usize {
        self.at
    }
}

impl<'a> Value<'a> {
    #[inline(always)]
    pub(crate) fn first_byte(self) -> u8 {
        // A broken offset reads as null.
        self.source.bytes.get(self.at).copied().unwrap_or((wire::NULL >> 8) as u8)
    }

    /// The bytes of a string or data.
    #[inline(always)]
    pub(crate) fn payload(self) -> Option<&'a [u8]> {
        let rest = self.source.bytes.get(self.at..)?;
        let (&first, rest) = rest.split_first()?;
        let len = usize::from(first & 0x0F);
        if len < 15 { rest.get(..len) } else { self.long_payload() }
    }

    #[inline]
    fn long_payload(self) -> Option<&'a [u8]> {
        let rest = self.source.bytes.get(self.at + 1..)?;
        // Nearly all lengths have one byte of varint.
        match rest.split_first()? {
            (&len, rest) if len < 0x80 => rest.get(..usize::from(len)),
            _ => {
                let (len, next) = varint(self.source.bytes, self.at + 1)?;
                self.source.bytes.get(next..)?.get(..len)
            }
        }
    }

    #[inline(always)]
    pub(crate) fn number(self) -> Option<Number> {
        let rest = self.source.bytes.get(self.at..)?;
        let &[first, second] = rest.first_chunk::<2>()?;
        match first >> 4 {
            tag::SHORT_INT => {
                let word = i16::from_be_bytes([first, second]);
                Some(Number::Signed(i64::from(word << 4 >> 4)))
            }
            tag::LONG_INT => long_int(first, &rest[1..]),
            tag::FLOAT => float(first, rest),
            _ => None,
        }
    }
}

#[inline(always)]
fn long_int(first: u8, rest: &[u8]) -> Option<Number> {
    let len = usize::from(first & 7) + 1;
    let unused_bits = 64 - 8 * len;
    let word = if let Some(eight) = rest.first_chunk::<8>() {
        u64::from_le_bytes(*eight)
    } else {
        let mut eight = [0; 8];
        eight[..len].copy_from_slice(rest.get(..len)?);
        u64::from_le_bytes(eight)
    } << unused_bits;
    Some(if first & 8 != 0 {
        Number::Unsigned(word >> unused_bits)
    } else {
        Number::Signed(word as i64 >> unused_bits)
    })
}

#[inline(always)]
fn float(first: u8, rest: &[u8]) -> Option<Number> {
    if first & 8 != 0 {
        let eight: [u8; 8] = rest.get(2..10)?.try_into().ok()?;
        return Some(Number::Double(f64::from_le_bytes(eight)));
    }
    let four: [u8; 4] = rest.get(2..6)?.try_into().ok()?;
    let float = f32::from_le_bytes(four);
    Some(if first & 4 != 0 { Number::Double(f64::from(float)) } else { Number::Float(float) })
}

/// Prints the value like JSON, for people; at most a few hundred characters.
impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Undefined => f.write_str("undefined"),
            Kind::Null => f.write_str("null"),
            Kind::Bool => write!(f, "{}", self.to_bool()),
            Kind::Number => match self.number() {
                Some(Number::Signed(n)) => write!(f, "{n}"),
                Some(Number::Unsigned(n)) => write!(f, "{n}"),
                Some(Number::Float(n)) => write!(f, "{n:?}"),
                Some(Number::Double(n)) => write!(f, "{n:?}"),
                None => f.write_str("null"),
            },
            Kind::String => write!(f, "{:?}", self.as_str()),
            Kind::Data => write!(f, "data of {} bytes", self.as_data().map_or(0, <[u8]>::len)),
            Kind::Array => write!(f, "array of {} items", self.as_array().map_or(0, Array::len)),
            Kind::Dict => write!(f, "dict of {} pairs", self.as_dict().map_or(0, Dict::len)),
        }
    }
}
