//! A value: its position, its kind and its content. Numbers and lenient conversions are in
//! `number`.

use crate::number::Number;
use crate::wire::{self, Source, tag, varint};
use crate::{Array, Dict};
use core::fmt;

/// The kind of a [`Value`].
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
/// The `as_` methods are strict, `None` unless the value is of that type. The `to_` methods are
/// Fleece's lenient conversions and always answer. On unchecked bytes, each of them may
/// be wrong but none can panic.
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

impl<'a> Value<'a> {
    /// The value `undefined`, which belongs to no document.
    ///
    /// ```
    /// # use fleece_codec::{Kind, Value};
    /// assert_eq!(Value::undefined().kind(), Kind::Undefined);
    /// ```
    pub fn undefined() -> Self {
        Self { source: Source::new(&[0x3C, 0]), at: 0 }
    }

    /// The kind of this value.
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
                // As in the original, other low bits, which no writer produces, read as null.
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

    /// The offset of the value, in bytes from the start of the document that holds it.
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
}

/// Characters of a string that [`Debug`](fmt::Debug) shows.
const DEBUG_CHARACTERS: usize = 40;

impl Value<'_> {
    fn debug_string(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.payload().unwrap_or_default();
        // Only the part of a very long string that may be shown is validated.
        let start = bytes.get(..4 * DEBUG_CHARACTERS).unwrap_or(bytes);
        let text = match core::str::from_utf8(start) {
            Ok(text) => text,
            Err(error) => core::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default(),
        };
        let end = text.char_indices().nth(DEBUG_CHARACTERS).map_or(text.len(), |(at, _)| at);
        write!(f, "{:?}", &text[..end])?;
        if end < bytes.len() { write!(f, "… of {} bytes", bytes.len()) } else { Ok(()) }
    }
}

/// Prints the value like JSON, for people. Long strings are cut, so that there are at most a few
/// hundred characters.
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
            Kind::String => self.debug_string(f),
            Kind::Data => write!(f, "data of {} bytes", self.as_data().map_or(0, <[u8]>::len)),
            Kind::Array => write!(f, "array of {} items", self.as_array().map_or(0, Array::len)),
            Kind::Dict => write!(f, "dict of {} pairs", self.as_dict().map_or(0, Dict::len)),
        }
    }
}
