//! Edits: a changed view of a document's dict or array, written as a delta where that is shorter.

use super::Encoder;
use crate::error::ErrorKind;
use crate::value::Value;
use crate::wire::PARENT_KEY;
use crate::{Array, Dict, Result};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// A dict or array to be written, made from an existing one and a few changes, or from nothing.
///
/// Written by an encoder that amends the document of the original, it takes little more than the changes: a dict then inherits from the
/// original dict, and unchanged items are referred to.
///
/// ```
/// use fleece_codec::{fleece, json, Doc, Edit, Encoder};
/// use std::sync::Arc;
/// let base: Arc<[u8]> = fleece!({"name": "Ada", "tags": ["poet", "analyst"], "born": 1815, "died": 1852}).into();
/// let doc = Doc::open(base.clone())?;
///
/// let mut edit = Edit::of_dict(doc.root().as_dict().unwrap());
/// edit.remove("died");
/// edit.entry("tags").push("countess");
///
/// let mut encoder = Encoder::amend_append(base.clone())?;
/// encoder.write_edit(&edit)?;
/// let amended = Doc::check([&base, &encoder.finish()?[..]].concat())?;
/// assert_eq!(json::to_string(amended.root())?, r#"{"born":1815,"name":"Ada","tags":["poet","analyst","countess"]}"#);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Edit<'a>(Node<'a>);

#[derive(Clone, Debug)]
enum Node<'a> {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f32),
    Double(f64),
    String(String),
    Data(Vec<u8>),
    /// A value of some document as it is.
    Value(Value<'a>),
    Array(Vec<Edit<'a>>),
    Dict(DictEdit<'a>),
}

#[derive(Clone, Debug)]
struct DictEdit<'a> {
    original: Option<(Value<'a>, Dict<'a>)>,
    /// New values of keys; `None` where the pair was removed.
    changes: BTreeMap<Box<str>, Option<Edit<'a>>>,
}

impl<'a> Edit<'a> {
    /// A dict with the pairs of another one.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit};
    /// let doc = Doc::open(fleece!({"a": 1}))?;
    /// let edit = Edit::of_dict(doc.root().as_dict().unwrap());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn of_dict(dict: Dict<'a>) -> Self {
        let value = Value { source: dict.slots.source, at: dict.at };
        Self(Node::Dict(DictEdit { original: Some((value, dict)), changes: BTreeMap::new() }))
    }

    /// An array with the items of another one.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit};
    /// let doc = Doc::open(fleece!([1]))?;
    /// let edit = Edit::of_array(doc.root().as_array().unwrap());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn of_array(array: Array<'a>) -> Self {
        Self(Node::Array(array.iter().map(Edit::from).collect()))
    }

    /// An empty dict.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Edit, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.write_edit(&Edit::new_dict())?;
    /// assert_eq!(encoder.finish()?, fleece!({}));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn new_dict() -> Self {
        Self(Node::Dict(DictEdit { original: None, changes: BTreeMap::new() }))
    }

    /// An empty array.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Edit, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.write_edit(&Edit::new_array())?;
    /// assert_eq!(encoder.finish()?, fleece!([]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn new_array() -> Self {
        Self(Node::Array(Vec::new()))
    }

    /// Sets the value of a key. What is not a dict becomes an empty one first.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Edit, Encoder};
    /// let mut edit = Edit::new_dict();
    /// edit.set("a", 1);
    /// # let mut encoder = Encoder::new();
    /// # encoder.write_edit(&edit)?;
    /// # assert_eq!(encoder.finish()?, fleece!({"a": 1}));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn set(&mut self, key: &str, value: impl Into<Edit<'a>>) {
        self.as_dict().changes.insert(key.into(), Some(value.into()));
    }

    /// Removes a pair, if there is one.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Edit, Encoder};
    /// let mut edit = Edit::new_dict();
    /// edit.set("a", 1);
    /// edit.remove("a");
    /// # let mut encoder = Encoder::new();
    /// # encoder.write_edit(&edit)?;
    /// # assert_eq!(encoder.finish()?, fleece!({}));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn remove(&mut self, key: &str) {
        let dict = self.as_dict();
        if dict.original(key).is_some() || dict.may_hold(key) {
            dict.changes.insert(key.into(), None);
        } else {
            dict.changes.remove(key);
        }
    }

    /// The value of a key, to be changed; a new one is `null`.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Edit, Encoder};
    /// let mut edit = Edit::new_dict();
    /// edit.entry("outer").set("inner", true);
    /// # let mut encoder = Encoder::new();
    /// # encoder.write_edit(&edit)?;
    /// # assert_eq!(encoder.finish()?, fleece!({"outer": {"inner": true}}));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn entry(&mut self, key: &str) -> &mut Edit<'a> {
        let dict = self.as_dict();
        let original = dict.original(key);
        let change = dict.changes.entry(key.into()).or_insert_with(|| original.map(Edit::from));
        change.get_or_insert(Self(Node::Null))
    }

    /// Appends an item. What is not an array becomes an empty one first.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Edit, Encoder};
    /// let mut edit = Edit::new_array();
    /// edit.push("a");
    /// # let mut encoder = Encoder::new();
    /// # encoder.write_edit(&edit)?;
    /// # assert_eq!(encoder.finish()?, fleece!(["a"]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn push(&mut self, item: impl Into<Edit<'a>>) {
        self.items().push(item.into());
    }

    /// The items, to be changed, removed or inserted. What is not an array becomes an empty one first.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit, Encoder};
    /// let doc = Doc::open(fleece!([1, 2, 3]))?;
    /// let mut edit = Edit::of_array(doc.root().as_array().unwrap());
    /// edit.items().remove(0);
    /// edit.items()[0] = Edit::from("two");
    /// # let mut encoder = Encoder::new();
    /// # encoder.write_edit(&edit)?;
    /// # assert_eq!(encoder.finish()?, fleece!(["two", 3]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn items(&mut self) -> &mut Vec<Edit<'a>> {
        if let Node::Value(value) = self.0 {
            let items = value.as_array().map(|array| array.iter().map(Edit::from).collect());
            self.0 = Node::Array(items.unwrap_or_default());
        } else if !matches!(self.0, Node::Array(..)) {
            self.0 = Node::Array(Vec::new());
        }
        match &mut self.0 {
            Node::Array(items) => items,
            _ => unreachable!("it was made an array above"),
        }
    }

    fn as_dict(&mut self) -> &mut DictEdit<'a> {
        if !matches!(self.0, Node::Dict(_)) {
            let original = match self.0 {
                Node::Value(value) => value.as_dict().map(|dict| (value, dict)),
                _ => None,
            };
            self.0 = Node::Dict(DictEdit { original, changes: BTreeMap::new() });
        }
        match &mut self.0 {
            Node::Dict(dict) => dict,
            _ => unreachable!("it was made a dict above"),
        }
    }
}

impl<'a> DictEdit<'a> {
    fn original(&self, key: &str) -> Option<Value<'a>> {
        self.original.and_then(|(_, dict)| dict.get(key))
    }

    /// Whether a pair may have this name that a lookup does not find without the right table; then writing the edit is an error.
    fn may_hold(&self, key: &str) -> bool {
        let mut pairs = self.original.into_iter().flat_map(|(_, dict)| dict.iter());
        pairs.any(|(name, _)| name.as_bytes().is_none_or(|name| name == key.as_bytes()))
    }

    /// Whether a shared key has no name in the table that the document was opened with. Numbers come first.
    fn lacks_names(&self) -> bool {
        let pairs = self.original.into_iter().flat_map(|(_, dict)| dict.iter());
        let mut numbers = pairs.take_while(|(key, _)| key.shared_index().is_some());
        numbers.any(|(key, _)| key.as_bytes().is_none())
    }

    /// The number of pairs after the changes.
    fn len(&self) -> usize {
        let before = self.original.map_or(0, |(_, dict)| dict.len());
        self.changes.iter().fold(before, |len, (key, change)| {
            match (self.original(key).is_some(), change.is_some()) {
                (true, false) => len - 1,
                (false, true) => len + 1,
                _ => len,
            }
        })
    }
}

impl Encoder {
    /// Writes an edit, and of a dict in the amended document only what was changed, if that is shorter.
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

    fn edit(&mut self, edit: &Edit<'_>) {
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
                for item in items {
                    self.edit(item);
                }
                self.end_array();
            }
            Node::Dict(dict) => self.dict_edit(dict),
        }
    }

    /// Like numbers that are copied, and unlike those that are written as such, the short ones of an edit go into the slot.
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

    fn dict_edit(&mut self, edit: &DictEdit<'_>) {
        if let Some((value, dict)) = edit.original {
            if edit.changes.is_empty() {
                return self.write_value(value);
            }
            if edit.lacks_names() {
                let message = "a dict to edit has shared keys: open it with their table";
                return self.fail(ErrorKind::UnknownSharedKey, message);
            }
            if self.is_in_base(value) {
                self.match_table_of(value);
            }
            let is_short =
                edit.changes.len() + 1 < edit.len() && dict.generations().take(3).count() < 3;
            if is_short && self.is_in_base(value) {
                return self.inherit(value, edit);
            }
        }
        let originals = edit.original.into_iter().flat_map(|(_, dict)| dict.iter());
        let mut pairs: BTreeMap<&str, Pair<'_, '_>> = BTreeMap::new();
        for (key, value) in originals {
            match key.as_str() {
                Some(key) => drop(pairs.insert(key, Pair::Original(value))),
                None => self.fail(ErrorKind::BadUtf8, "a key of a dict to edit is not UTF-8"),
            }
        }
        for (key, change) in &edit.changes {
            match change {
                Some(edit) => drop(pairs.insert(key, Pair::Changed(edit))),
                None => drop(pairs.remove(&**key)),
            }
        }
        self.begin_dict();
        for (key, pair) in pairs {
            self.write_key(key);
            match pair {
                Pair::Original(value) => self.write_value(value),
                Pair::Changed(edit) => self.edit(edit),
            }
        }
        self.end_dict();
    }

    fn inherit(&mut self, parent: Value<'_>, edit: &DictEdit<'_>) {
        self.begin_dict();
        self.write_int_key(PARENT_KEY);
        self.write_value(parent);
        for (key, change) in &edit.changes {
            self.write_key(key);
            match change {
                Some(edit) => self.edit(edit),
                None => self.write_undefined(),
            }
        }
        self.end_dict();
    }
}

enum Pair<'e, 'a> {
    Original(Value<'a>),
    Changed(&'e Edit<'a>),
}

/// What an edit can hold.
macro_rules! edits {
    ($($from:ty => $value:ident $node:expr;)*) => {
        $(impl<'a> From<$from> for Edit<'a> {
            fn from($value: $from) -> Self {
                Self($node)
            }
        })*
    };
}

edits! {
    () => _unit Node::Null;
    bool => value Node::Bool(value);
    i32 => value Node::Signed(value.into());
    i64 => value Node::Signed(value);
    u32 => value Node::Unsigned(value.into());
    u64 => value Node::Unsigned(value);
    f32 => value Node::Float(value);
    f64 => value Node::Double(value);
    &str => value Node::String(value.into());
    String => value Node::String(value);
    &[u8] => value Node::Data(value.into());
    Vec<u8> => value Node::Data(value);
    Value<'a> => value Node::Value(value);
}
