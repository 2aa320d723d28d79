//! Amendments: values of the amended document are referred to, and its keys must match the
//! encoder's table. Values of other documents are copied.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::ControlFlow;

use super::strings::{NOWHERE, Packed, SHARED_DISTANCE_MAX, SHARED_LEN_MAX};
use super::{Encoder, POINTER};
use crate::array::ArrayIter;
use crate::dict::{DictIter, DictKey};
use crate::error::ErrorKind;
use crate::limits::WRITTEN_DEPTH;
use crate::shared_keys::SharedKeys;
use crate::value::{Kind, Value};
use crate::wire::{Source, tag, u16_at};
use crate::{Doc, Result};

/// A document to amend.
pub(super) struct Amended {
    bytes: Arc<[u8]>,
    /// The reason why no dict can be written, if its keys would differ from those of the same name
    /// in the base. It is known from the first dict on.
    mismatch: Option<&'static str>,
    is_matched: bool,
    /// Whether a key near the end is a shared key; `None` if no key there can be one.
    has_shared_keys: Option<bool>,
    /// The identity and length of a table that came with a value of the base and matches the
    /// encoder's.
    agreed: Option<(u64, usize)>,
}

/// Amendments.
impl Encoder {
    /// An encoder of changes to `base` that are appended to it: `base` and the result of
    /// [`finish`](Self::finish) together are one document.
    ///
    /// If `base` has shared keys, the encoder needs their table
    /// ([`set_shared_keys`](Self::set_shared_keys)) before it writes a dict. If its keys are text,
    /// the encoder must not have a table with room for them. Otherwise the dict is an error,
    /// because lookups would not find the changes. With a table, all keys of the base are checked;
    /// without one, those of the edited dicts and the first key of the base that can be shared.
    ///
    /// Without a table, the cost depends on the changes and not on the base. A string of the base
    /// is reused if a pointer of two bytes reaches it, for which the last 32 KB of the base are
    /// looked at: see [`set_reuse_base_strings`](Self::set_reuse_base_strings).
    ///
    /// ```
    /// use fleece_codec::{fleece, Doc, Edit, Encoder};
    /// let base = fleece!({"born": 1815, "died": 1852, "name": "Ada"});
    /// let base: std::sync::Arc<[u8]> = base.into();
    /// let base_doc = Doc::open(base.clone())?;
    /// let mut edit = Edit::from_dict(base_doc.root().as_dict().unwrap());
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
        encoder.base = Some(Amended {
            bytes: base,
            mismatch: None,
            is_matched: false,
            has_shared_keys: None,
            agreed: None,
        });
        encoder.must_load_base = true;
        Ok(encoder)
    }

    /// An encoder of changes to `base` that are stored separately and opened with
    /// [`Doc::open_delta`].
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

    /// Whether short strings near the end of the amended document are referred to, as they are by
    /// default, and not written again. To find them, the last 32 KB of it are read when the first
    /// string or dict of each amendment is written: if little is changed, an amendment is made many
    /// times faster without it. It makes no difference without an amended document, nor where no
    /// strings are shared ([`set_share_strings`](Self::set_share_strings)).
    ///
    /// ```
    /// use fleece_codec::{fleece, Encoder};
    /// let base: std::sync::Arc<[u8]> = fleece!(["a text"]).into();
    /// let amendment = |reuse| {
    ///     let mut encoder = Encoder::amend_append(base.clone())?;
    ///     encoder.set_reuse_base_strings(reuse);
    ///     encoder.write_str("a text");
    ///     encoder.finish()
    /// };
    /// assert_eq!(amendment(true)?.len() + 8, amendment(false)?.len());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn set_reuse_base_strings(&mut self, reuse: bool) {
        self.reuse_base_strings = reuse;
        self.must_load_base = reuse && self.base.is_some();
    }

    /// Writes a pointer to `value`, if it belongs to the amended document and does not fit a slot.
    /// Returns whether it did.
    fn write_pointer_to_base(&mut self, value: Value<'_>) -> bool {
        let in_base = self.is_in_base(value) && !is_inline(value);
        if in_base {
            self.match_table_of(value);
            self.push_slot(POINTER | value.at as u32);
        }
        in_base
    }

    pub(super) fn is_in_base(&self, value: Value<'_>) -> bool {
        let base = self.base.as_ref();
        base.is_some_and(|base| core::ptr::eq(&raw const *base.bytes, value.source.bytes))
    }

    /// Fails if a value of the base came with a table that does not match the encoder's, because
    /// its keys would be read with the wrong names.
    pub(super) fn match_table_of(&mut self, value: Value<'_>) {
        let (Some(theirs), Some(own), Some(base)) =
            (value.source.keys(), &self.shared_keys, &mut self.base)
        else {
            return;
        };
        let table = Some((theirs.identity(), theirs.len()));
        if base.agreed == table {
            return;
        }
        if own.begins_like(theirs) {
            base.agreed = table;
        } else {
            let message =
                "the base was opened with another table of shared keys than the encoder's";
            self.fail(ErrorKind::UnknownSharedKey, message);
        }
    }

    /// The reason why no dict can be written, if the keys of the base do not match the table.
    #[cold]
    pub(super) fn base_mismatch(&mut self) -> Option<&'static str> {
        if self.must_load_base && self.share_strings {
            self.load_base();
        }
        let base = self.base.as_mut()?;
        let table = self.shared_keys.as_ref();
        if !base.is_matched {
            base.is_matched = true;
            base.mismatch = if let Some(table) = table {
                mismatch(&base.bytes, table)
            } else {
                let is_shared = base.has_shared_keys.or_else(|| first_key(&base.bytes));
                is_shared.unwrap_or(false).then_some(NO_TABLE)
            };
        }
        base.mismatch
    }

    /// Forgets the results about the keys of the base, because the table has changed.
    pub(super) fn forget_mismatch(&mut self) {
        if let Some(base) = &mut self.base {
            (base.agreed, base.is_matched) = (None, false);
        }
    }

    /// Adds the short strings of the amended document that a pointer of two bytes reaches to the
    /// string table, so that they are not written again.
    #[cold]
    pub(super) fn load_base(&mut self) {
        self.must_load_base = false;
        let Some(mut base) = self.base.take() else { return };
        let from = base.bytes.len().saturating_sub(SHARED_DISTANCE_MAX) & !1;
        let load = |value: Value<'_>| {
            if let Some(string) = value.as_str_bytes() {
                self.load_string(string, value.at as u32);
            }
        };
        let mut is_shared = None;
        let _ = walk(&base.bytes, from, load, |key| {
            // If the table was full, some keys are numbers and others are text.
            is_shared = is_shared.max(is_number(key));
            ControlFlow::Continue(())
        });
        base.has_shared_keys = is_shared;
        self.base = Some(base);
    }

    fn load_string(&mut self, string: &[u8], at: u32) {
        if (2..=SHARED_LEN_MAX).contains(&string.len()) {
            let packed = Packed::new(string);
            let hash = packed.hash(self.strings.seed());
            let place = self.strings.place(packed, hash);
            // The later of two copies stays within reach for longer.
            if *place == NOWHERE || *place < at {
                *place = at;
            }
        }
    }
}

/// The reason why keys that are written with this table would differ from those of the same name in
/// the base.
fn mismatch(base: &[u8], table: &SharedKeys) -> Option<&'static str> {
    let (mut table_len, mut has_names) = (0, false);
    let has_room = table.len() < SharedKeys::LEN_MAX;
    let _ = walk(
        base,
        0,
        |_| (),
        |key| {
            match key.shared_index() {
                Some(index) => table_len = table_len.max(usize::from(index) + 1),
                None => has_names |= is_eligible(key) && (has_room || is_in(table, key)),
            }
            ControlFlow::Continue(())
        },
    );
    if table_len > table.len() {
        return Some("the base has shared keys that the encoder's table lacks");
    }
    let message = "the base has keys as text that the encoder's table makes numbers of: amend it without a table";
    has_names.then_some(message)
}

/// Whether the first key that can be shared is shared; `None` if there is none. An encoder with a
/// table shares all such keys until the table is full, so the first one shows whether there was a
/// table. Nearly always it is among the first slots.
fn first_key(base: &[u8]) -> Option<bool> {
    const SLOTS: usize = 1000;
    let mut open = Vec::new();
    open.extend(stored_frame(crate::doc::root(Source::new(base))?));
    for _ in 0..SLOTS {
        let next = match open.last_mut()? {
            CopyFrame::Array(items) => items.next(),
            CopyFrame::Dict(pairs) => match pairs.next() {
                Some((key, value)) => {
                    let is_number = is_number(key);
                    if is_number.is_some() {
                        return is_number;
                    }
                    Some(value)
                }
                None => None,
            },
        };
        match next {
            Some(value) => open.extend(stored_frame(value)),
            None => drop(open.pop()),
        }
    }
    any_key(base)
}

/// The items or pairs of a collection without those of its parents.
fn stored_frame(value: Value<'_>) -> Option<CopyFrame<'_>> {
    match value.as_array() {
        Some(array) => Some(CopyFrame::Array(array.iter())),
        None => Some(CopyFrame::Dict(DictIter::stored(value.as_dict()?.slots))),
    }
}

/// Like [`first_key`], for the key that is met first in any order.
fn any_key(base: &[u8]) -> Option<bool> {
    let mut first = None;
    let _ = walk(
        base,
        0,
        |_| (),
        |key| {
            first = is_number(key);
            if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    );
    first
}

/// Whether the key is shared; `None` if it cannot be.
fn is_number(key: DictKey<'_>) -> Option<bool> {
    let is_number = key.shared_index().is_some();
    (is_number || is_eligible(key)).then_some(is_number)
}

pub(super) const NO_TABLE: &str = "the base has shared keys: give the encoder their table";

fn is_in(table: &SharedKeys, key: DictKey<'_>) -> bool {
    key.as_str().is_some_and(|name| table.index_of(name).is_some())
}

/// Visits the collections of a document that begin at `from` or later, each once, and the values in
/// them.
///
/// The values in a collection are stored before it, so a collection that contains one of these,
/// directly or not, also begins at `from` or later.
fn walk<'a>(
    bytes: &'a [u8],
    from: usize,
    mut meet: impl FnMut(Value<'a>),
    mut key: impl FnMut(DictKey<'a>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some(root) = crate::doc::root(Source::new(bytes)) else { return ControlFlow::Continue(()) };
    let mut seen = vec![0_u64; (bytes.len() - from) / 128 + 1];
    let mut open = vec![];
    let mut meet = |next: Value<'a>, open: &mut Vec<Value<'a>>| {
        let Some(place) = next.at.checked_sub(from) else { return };
        if next.first_byte() >> 4 < tag::ARRAY {
            return meet(next);
        }
        let (word, bit) = (&mut seen[place / 128], 1 << (place / 2 % 64));
        if *word & bit == 0 {
            *word |= bit;
            open.push(next);
        }
    };
    meet(root, &mut open);
    // Only unchecked data with overlapping collections has more than four slots for each byte.
    let mut slots_left = 4 * bytes.len();
    while let Some(next) = open.pop() {
        if let Some(array) = next.as_array() {
            for item in array.iter().take(slots_left) {
                slots_left -= 1;
                meet(item, &mut open);
            }
        } else if let Some(dict) = next.as_dict() {
            for (name, value) in DictIter::stored(dict.slots).take(slots_left / 2) {
                slots_left -= 2;
                key(name)?;
                meet(name.value, &mut open);
                meet(value, &mut open);
            }
        }
    }
    ControlFlow::Continue(())
}

/// Whether a table with room for the key would share it.
fn is_eligible(key: DictKey<'_>) -> bool {
    key.as_str().is_some_and(SharedKeys::is_eligible)
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

/// The rest of a collection.
enum CopyFrame<'a> {
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
                CopyFrame::Array(items) => items.next(),
                CopyFrame::Dict(pairs) => pairs.next().map(|(key, value)| {
                    self.copy_key(key);
                    value
                }),
            };
            match (next, innermost) {
                (Some(value), _) => open.extend(self.begin_copy(value)),
                (None, CopyFrame::Array(_)) => {
                    self.end_array();
                    open.pop();
                }
                (None, CopyFrame::Dict(_)) => {
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

    /// Writes a scalar, or begins a collection and returns its frame.
    fn begin_copy<'a>(&mut self, value: Value<'a>) -> Option<CopyFrame<'a>> {
        if self.write_pointer_to_base(value) {
            return None;
        }
        match value.first_byte() >> 4 {
            tag::STRING => self.write_str_bytes(value.payload().unwrap_or_default()),
            tag::DATA => self.write_data(value.payload().unwrap_or_default()),
            tag::ARRAY => {
                self.begin_array();
                return value.as_array().map(|array| CopyFrame::Array(array.iter()));
            }
            tag::DICT => {
                self.begin_dict();
                return value.as_dict().map(|dict| CopyFrame::Dict(dict.iter()));
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

    /// Copies the bytes of a number. Unlike the functions for integers, it stores up to four bytes
    /// in the slot.
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

    /// Writes the bytes of a number, in the slot if they fit.
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
