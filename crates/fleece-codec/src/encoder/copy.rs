//! Copying values from other documents, and referring to those of the amended one.

use super::strings::SHARED_LEN_MAX;
use super::{Amended, Encoder, POINTER, Packed};
use crate::array::ArrayIter;
use crate::dict::DictIter;
use crate::error::ErrorKind;
use crate::value::{Kind, Value};
use crate::wire::{tag, u16_at};
use crate::{Doc, Result};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// Deeper values than this are only found in unchecked data, where they may have no end.
const DEPTH_MAX: usize = 10_000;

enum Open<'a> {
    Array(ArrayIter<'a>),
    Dict(DictIter<'a>),
}

/// Copies and amendments.
impl Encoder {
    /// An encoder of changes to `base` that are to be appended to it: `base` and what [`finish`](Self::finish) returns are together
    /// one document.
    ///
    /// ```
    /// use fleece_codec::{fleece, Doc, Edit, Encoder};
    /// let base = fleece!({"born": 1815, "died": 1852, "name": "Ada"});
    /// let base: std::sync::Arc<[u8]> = base.into();
    /// let base_doc = Doc::open(base.clone())?;
    /// let mut edit = Edit::of_dict(base_doc.root().as_dict().unwrap());
    /// edit.set("born", 0);
    /// let mut encoder = Encoder::amend_append(base.clone())?;
    /// encoder.write_edit(&edit)?;
    /// let amended = Doc::open([&base, &encoder.finish()?[..]].concat())?;
    /// assert_eq!(amended.root().get("born").unwrap().as_i64(), Some(0));
    /// assert_eq!(amended.root().get("died").unwrap().as_i64(), Some(1852));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn amend_append(base: Arc<[u8]>) -> Result<Self> {
        Doc::open(&base)?;
        let mut encoder = Self::new();
        encoder.start = base.len();
        encoder.base = Some(Amended { bytes: base });
        encoder.load_base_strings();
        Ok(encoder)
    }

    /// An encoder of changes to `base` that are kept apart from it, to be opened with [`Doc::open_delta`].
    ///
    /// ```
    /// # use fleece_codec::{fleece, Encoder};
    /// let encoder = Encoder::amend_extern(fleece!({"a": 1}).into())?;
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn amend_extern(base: Arc<[u8]>) -> Result<Self> {
        let mut encoder = Self::amend_append(base)?;
        encoder.extern_before = encoder.start;
        Ok(encoder)
    }

    /// Copies a value of any document; what lies in the amended document is referred to instead.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Encoder};
    /// let doc = Doc::open(fleece!({"a": [1, 2, 3]}))?;
    /// let mut encoder = Encoder::new();
    /// encoder.write_value(doc.root().get("a").unwrap());
    /// assert_eq!(encoder.finish()?, fleece!([1, 2, 3]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn write_value(&mut self, value: Value<'_>) {
        let mut open = Vec::new();
        open.extend(self.begin_copy(value));
        while let Some(innermost) = open.last_mut() {
            let next = match innermost {
                Open::Array(items) => items.next(),
                Open::Dict(pairs) => pairs.next().map(|(key, value)| {
                    self.copy_key(key);
                    value
                }),
            };
            match (next, innermost) {
                (Some(value), _) => open.extend(self.begin_copy(value)),
                (None, Open::Array(_)) => {
                    self.end_array();
                    open.pop();
                }
                (None, Open::Dict(_)) => {
                    self.end_dict();
                    open.pop();
                }
            }
            if open.len() > DEPTH_MAX {
                self.fail(ErrorKind::TooDeep, "collections are nested too deeply to be copied");
            }
            if self.failure.is_some() {
                return;
            }
        }
    }

    /// Writes a scalar, or begins a collection and returns what it contains.
    fn begin_copy<'a>(&mut self, value: Value<'a>) -> Option<Open<'a>> {
        if self.write_pointer_to_base(value) {
            return None;
        }
        match value.first_byte() >> 4 {
            tag::STRING => self.write_str_bytes(value.payload().unwrap_or_default()),
            tag::DATA => self.write_data(value.payload().unwrap_or_default()),
            tag::ARRAY => {
                self.begin_array();
                return value.as_array().map(|array| Open::Array(array.iter()));
            }
            tag::DICT => {
                self.begin_dict();
                return value.as_dict().map(|dict| Open::Dict(dict.iter()));
            }
            tag::LONG_INT | tag::FLOAT => self.copy_number(value),
            _ => self.push_slot(u32::from(u16_at(value.source.bytes, value.at).unwrap_or(0)) << 16),
        }
        None
    }

    fn copy_key(&mut self, key: crate::DictKey<'_>) {
        match (key.as_bytes(), self.has_shared_keys()) {
            (Some(name), false) => self.write_key_bytes(name),
            (Some(name), true) => match core::str::from_utf8(name) {
                Ok(name) => self.write_key(name),
                Err(_) => self.write_key_bytes(name),
            },
            (None, _) => self.fail(ErrorKind::UnknownSharedKey, "a shared key without a name"),
        }
    }

    /// Copies the bytes of a number. Unlike numbers that are written as such, those of up to four bytes go into the slot.
    fn copy_number(&mut self, value: Value<'_>) {
        let rest = value.source.bytes.get(value.at..).unwrap_or_default();
        let first = value.first_byte();
        let len = match first >> 4 {
            tag::LONG_INT => 2 + usize::from(first & 7),
            _ if first & 8 != 0 => 10,
            _ => 6,
        };
        let mut bytes = [0; 16];
        let Some(stored) = rest.get(..len) else {
            return self.fail(ErrorKind::Truncated, "a number to copy is cut off");
        };
        bytes[..len].copy_from_slice(stored);
        self.push_number(bytes, len);
    }

    /// Writes a number of which the bytes are given; in the slot, if they fit.
    pub(super) fn push_number(&mut self, bytes: [u8; 16], len: usize) {
        if len <= 4 {
            let [a, b, c, d, ..] = bytes;
            self.push_wide_slot(u32::from_be_bytes([a, b, c, d]));
        } else {
            self.push_pointer();
            self.append_16(bytes, len);
        }
    }

    /// Whether `value` belongs to the amended document, and is long enough to be worth a pointer, which is then written.
    pub(super) fn write_pointer_to_base(&mut self, value: Value<'_>) -> bool {
        let in_base = self.is_in_base(value) && !is_inline(value);
        if in_base {
            self.push_slot(POINTER | value.at as u32);
        }
        in_base
    }

    pub(super) fn is_in_base(&self, value: Value<'_>) -> bool {
        let base = self.base.as_ref();
        base.is_some_and(|base| core::ptr::eq(&raw const *base.bytes, value.source.bytes))
    }

    /// Makes the short strings of the amended document known, so that they are not written again.
    pub(super) fn load_base_strings(&mut self) {
        let Some(bytes) = self.base.as_ref().map(|base| base.bytes.clone()) else { return };
        let Ok(doc) = Doc::open(&bytes) else { return };
        let mut seen = vec![0_u64; bytes.len() / 128 + 1];
        let mut open = vec![doc.root()];
        while let Some(value) = open.pop() {
            let (word, bit) = (value.at / 128, 1 << (value.at / 2 % 64));
            if seen[word] & bit != 0 {
                continue;
            }
            seen[word] |= bit;
            if let Some(array) = value.as_array() {
                open.extend(array.iter());
            } else if let Some(dict) = value.as_dict() {
                let mut pairs = DictIter::stored(dict.slots);
                open.extend(pairs.by_ref().flat_map(|(key, value)| [key.value, value]));
            } else if let Some(string) = value.as_str_bytes() {
                self.load_string(string, value.at as u32);
            }
        }
    }

    fn load_string(&mut self, string: &[u8], at: u32) {
        if (2..=SHARED_LEN_MAX).contains(&string.len()) {
            let packed = Packed::new(string);
            let hash = packed.hash(self.strings.seed());
            let place = self.strings.place(packed, hash);
            // Of two copies the later one stays within reach for longer.
            if *place == super::strings::NOWHERE || *place < at {
                *place = at;
            }
        }
    }
}

/// Whether a value fits into a slot of two bytes.
fn is_inline(value: Value<'_>) -> bool {
    match value.kind() {
        Kind::Number => value.first_byte() >> 4 == tag::SHORT_INT,
        Kind::String | Kind::Data => value.payload().is_none_or(|bytes| bytes.len() < 2),
        Kind::Array => value.as_array().is_none_or(crate::Array::is_empty),
        Kind::Dict => value.as_dict().is_none_or(|dict| dict.slots.count == 0),
        _ => true,
    }
}
