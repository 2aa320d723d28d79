//! Copying values from other documents.

use super::Encoder;
use crate::array::ArrayIter;
use crate::dict::DictIter;
use crate::error::ErrorKind;
use crate::limits::WRITTEN_DEPTH;
use crate::value::Value;
use crate::wire::{tag, u16_at};
use alloc::vec::Vec;

enum Open<'a> {
    Array(ArrayIter<'a>),
    Dict(DictIter<'a>),
}

/// Copies.
impl Encoder {
    /// Copies a value of any document; a value of the amended document is referred to instead.
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
            if open.len() > WRITTEN_DEPTH {
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

    /// Copies the bytes of a number. Unlike numbers that are written as such, those of up to four
    /// bytes go into the slot.
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
}
