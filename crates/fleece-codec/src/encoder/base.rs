//! The amended document: what of it need not be written again, and whether its keys go with the encoder's table.

use super::strings::{NOWHERE, Packed, SHARED_LEN_MAX};
use super::{Encoder, POINTER};
use crate::dict::{DictIter, DictKey};
use crate::error::ErrorKind;
use crate::shared_keys::SharedKeys;
use crate::value::{Kind, Value};
use crate::wire::{Source, tag};
use crate::{Doc, Result};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// A document to amend.
pub(super) struct Amended {
    bytes: Arc<[u8]>,
    /// How many names a table has at least that the numbers among the keys are from.
    table_len: usize,
    /// Whether there is a key as text that a table with room for it has as a number.
    has_eligible_names: bool,
    /// Why no dict can be written: its keys would be others than those of the same name in the base.
    pub(super) mismatch: Option<&'static str>,
    /// Identity and length of a table that came with a value of the base and says the same as the encoder's.
    agreed: Option<(u64, usize)>,
}

/// Amendments.
impl Encoder {
    /// An encoder of changes to `base` that are to be appended to it: `base` and what [`finish`](Self::finish) returns are together
    /// one document.
    ///
    /// If `base` has shared keys, the encoder needs their table ([`set_shared_keys`](Self::set_shared_keys)) before it writes a dict; if it
    /// has its keys as text, the encoder must have no table that has room for them. Else the dict is an error: lookups would not find what
    /// was changed.
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
        encoder.base = Some(Amended {
            bytes: base,
            table_len: 0,
            has_eligible_names: false,
            mismatch: None,
            agreed: None,
        });
        encoder.load_base();
        encoder.match_keys();
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

    /// Whether `value` belongs to the amended document, and is long enough to be worth a pointer, which is then written.
    pub(super) fn write_pointer_to_base(&mut self, value: Value<'_>) -> bool {
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

    /// A value of the base that came with another table than the encoder's would be read with the wrong names.
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

    /// Looks whether the keys of the base go with the table, of which there is another one now, or none.
    pub(super) fn match_keys(&mut self) {
        if let Some(base) = &mut self.base {
            base.agreed = None;
            base.mismatch = base.mismatch(self.shared_keys.as_ref());
        }
    }

    /// Makes the short strings of the amended document known, so that they are not written again, and notes what its keys are.
    pub(super) fn load_base(&mut self) {
        let Some(mut base) = self.base.take() else { return };
        let (mut table_len, mut has_eligible_names) = (0, false);
        let load = |value: Value<'_>| {
            if let Some(string) = value.as_str_bytes() {
                self.load_string(string, value.at as u32);
            }
        };
        walk(&base.bytes, load, |key| match key.shared_index() {
            Some(index) => table_len = table_len.max(usize::from(index) + 1),
            None => has_eligible_names = has_eligible_names || is_eligible(key),
        });
        (base.table_len, base.has_eligible_names) = (table_len, has_eligible_names);
        self.base = Some(base);
    }

    fn load_string(&mut self, string: &[u8], at: u32) {
        if (2..=SHARED_LEN_MAX).contains(&string.len()) {
            let packed = Packed::new(string);
            let hash = packed.hash(self.strings.seed());
            let place = self.strings.place(packed, hash);
            // Of two copies the later one stays within reach for longer.
            if *place == NOWHERE || *place < at {
                *place = at;
            }
        }
    }
}

impl Amended {
    fn mismatch(&self, table: Option<&SharedKeys>) -> Option<&'static str> {
        let Some(table) = table else {
            let message = "the base has shared keys: give the encoder their table";
            return (self.table_len > 0).then_some(message);
        };
        if self.table_len > table.len() {
            return Some("the base has shared keys that the encoder's table lacks");
        }
        let message = "the base has keys as text that the encoder's table makes numbers of: amend it without a table";
        (self.has_eligible_names && self.has_names_for(table)).then_some(message)
    }

    /// Whether a key of the base is text although the table has it as a number, or will have.
    fn has_names_for(&self, table: &SharedKeys) -> bool {
        let mut has_names = table.len() < SharedKeys::LEN_MAX;
        if !has_names {
            walk(
                &self.bytes,
                |_| (),
                |key| {
                    let name = key.as_str();
                    has_names |= name.is_some_and(|name| table.index_of(name).is_some());
                },
            );
        }
        has_names
    }
}

/// Meets each value of a document once, and the keys of each dict.
fn walk<'a>(bytes: &'a [u8], mut value: impl FnMut(Value<'a>), mut key: impl FnMut(DictKey<'a>)) {
    let Some(root) = crate::doc::root(Source::new(bytes)) else { return };
    let mut seen = vec![0_u64; bytes.len() / 128 + 1];
    let mut open = vec![];
    // Only collections wait to be looked into.
    let mut meet = |next: Value<'a>, open: &mut Vec<Value<'a>>| {
        let (word, bit) = (next.at / 128, 1 << (next.at / 2 % 64));
        if seen[word] & bit == 0 {
            seen[word] |= bit;
            value(next);
            if next.first_byte() >> 4 >= tag::ARRAY {
                open.push(next);
            }
        }
    };
    meet(root, &mut open);
    // More slots than four for each byte are only in unchecked data, in which collections overlap.
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
                key(name);
                meet(name.value, &mut open);
                meet(value, &mut open);
            }
        }
    }
}

/// Whether a table with room for the key would have it as a number.
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
