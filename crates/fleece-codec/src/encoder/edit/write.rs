//! Edits to documents: of a dict in the amended document only what was changed, if that is shorter.

use super::{DictEdit, Edit, Node, Pair};
use crate::Result;
use crate::encoder::Encoder;
use crate::encoder::base::NO_TABLE;
use crate::error::ErrorKind;
use crate::limits::WRITTEN_DEPTH;
use alloc::boxed::Box;
use alloc::collections::btree_map;
use alloc::vec::Vec;
use core::slice;

impl Encoder {
    /// Writes an edit, and of a dict in the amended document only what was changed, if that is
    /// shorter.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit, Encoder};
    /// let mut edit = Edit::new_dict();
    /// edit.set("a", 1.5);
    /// let mut encoder = Encoder::new();
    /// encoder.write_edit(&edit)?;
    /// assert_eq!(encoder.finish()?, fleece!({"a": 1.5}));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn write_edit(&mut self, edit: &Edit<'_>) -> Result<()> {
        self.edit(edit);
        self.take_failure()
    }

    /// Without recursion, however many levels there are.
    fn edit(&mut self, edit: &Edit<'_>) {
        let mut open = Vec::new();
        open.extend(self.begin_edit(edit));
        while let Some(innermost) = open.last_mut() {
            let next = match innermost {
                Open::Items(items) => items.next(),
                Open::Pairs(pairs) => self.unchanged_pairs(pairs),
                Open::Changes(changes) => self.removed_pairs(changes),
            };
            if let Some(edit) = next {
                open.extend(self.begin_edit(edit));
            } else {
                match innermost {
                    Open::Items(_) => self.end_array(),
                    Open::Pairs(_) | Open::Changes(_) => self.end_dict(),
                }
                open.pop();
            }
            if open.len() > WRITTEN_DEPTH {
                self.fail(ErrorKind::TooDeep, "an edit has too many levels");
            }
            if self.failure.is_some() {
                return;
            }
        }
    }

    /// Writes a scalar or a value as it is, or begins a collection and returns what it contains.
    fn begin_edit<'e, 'a>(&mut self, edit: &'e Edit<'a>) -> Option<Open<'e, 'a>> {
        match &edit.0 {
            Node::Null => self.write_null(),
            Node::Bool(value) => self.write_bool(*value),
            Node::Signed(value) => self.short_or_number(*value, 0x10),
            Node::Unsigned(value) => match i64::try_from(*value) {
                Ok(value) => self.short_or_number(value, 0x18),
                Err(_) => self.write_u64(*value),
            },
            Node::Float(value) => self.write_f32(*value),
            Node::Double(value) => self.write_f64(*value),
            Node::String(value) => self.write_str(value),
            Node::Data(value) => self.write_data(value),
            Node::Value(value) => self.write_value(*value),
            Node::Array(items) => {
                self.begin_array();
                return Some(Open::Items(items.iter()));
            }
            Node::Dict(dict) => return self.begin_dict_edit(dict),
        }
        None
    }

    /// Writes pairs up to and including the key of the next one with a changed value, which is
    /// returned.
    fn unchanged_pairs<'e, 'a>(
        &mut self,
        pairs: &mut btree_map::IntoIter<&'e str, Pair<'e, 'a>>,
    ) -> Option<&'e Edit<'a>> {
        for (key, pair) in pairs {
            self.write_key(key);
            match pair {
                Pair::Original(value) => self.write_value(value),
                Pair::Changed(edit) => return Some(edit),
            }
        }
        None
    }

    /// Writes what was removed up to and including the key of the next new value, which is
    /// returned.
    fn removed_pairs<'e, 'a>(
        &mut self,
        changes: &mut btree_map::Iter<'e, Box<str>, Option<Edit<'a>>>,
    ) -> Option<&'e Edit<'a>> {
        for (key, change) in changes {
            self.write_key(key);
            match change {
                Some(edit) => return Some(edit),
                None => self.write_undefined(),
            }
        }
        None
    }

    /// Like numbers that are copied, and unlike those that are written as such, the short ones of
    /// an edit go into the slot.
    fn short_or_number(&mut self, value: i64, tag: u8) {
        let bits = match tag {
            0x18 => 64 - value.leading_zeros(),
            _ => 65 - (if value < 0 { !value } else { value }).leading_zeros(),
        };
        let len = bits.div_ceil(8).max(1) as usize;
        // The original's edits do not count -2048 among the short ints.
        if (-2047..2048).contains(&value) || len > 3 {
            return if tag == 0x18 { self.write_u64(value as u64) } else { self.write_i64(value) };
        }
        let mut bytes = [0; 16];
        bytes[0] = tag | (len as u8 - 1);
        bytes[1..=len].copy_from_slice(&value.to_le_bytes()[..len]);
        self.push_number(bytes, len + 1);
    }

    fn begin_dict_edit<'e, 'a>(&mut self, edit: &'e DictEdit<'a>) -> Option<Open<'e, 'a>> {
        if let Some((value, dict)) = edit.original {
            if edit.changes.is_empty() {
                self.write_value(value);
                return None;
            }
            if edit.lacks_names() {
                let message = "a dict to edit has shared keys: open it with their table";
                self.fail(ErrorKind::UnknownSharedKey, message);
                return None;
            }
            if self.is_in_base(value) {
                self.match_table_of(value);
                if edit.has_numbers() && !self.has_shared_keys() {
                    self.fail(ErrorKind::UnknownSharedKey, NO_TABLE);
                    return None;
                }
            }
            let is_short =
                edit.changes.len() + 1 < edit.len() && dict.generations().take(3).count() < 3;
            if is_short && self.is_in_base(value) {
                self.begin_dict();
                self.write_parent_key();
                self.write_value(value);
                return Some(Open::Changes(edit.changes.iter()));
            }
        }
        let pairs = edit.pairs();
        if pairs.is_none() {
            self.fail(ErrorKind::BadUtf8, "a key of a dict to edit is not UTF-8");
        }
        self.begin_dict();
        Some(Open::Pairs(pairs?.into_iter()))
    }
}

/// A collection that is being written.
enum Open<'e, 'a> {
    Items(slice::Iter<'e, Edit<'a>>),
    Pairs(btree_map::IntoIter<&'e str, Pair<'e, 'a>>),
    /// Of a dict that inherits the other pairs.
    Changes(btree_map::Iter<'e, Box<str>, Option<Edit<'a>>>),
}
