//! Edits: a changed view of a document's dict or array, written as a delta where that is shorter.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, btree_map};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, slice};

use super::Encoder;
use super::base::NO_TABLE;
use crate::dict::DictIter;
use crate::error::ErrorKind;
use crate::limits::WRITTEN_DEPTH;
use crate::value::{Kind, Value};
use crate::{Array, Dict, Doc, Result, json};

/// A dict or array to be written, made from an existing one and a few changes, or from nothing.
///
/// An encoder that amends the original document writes little more than the changes: a dict
/// inherits from the original dict, and unchanged items are referred to.
///
/// ```
/// use fleece_codec::{fleece, json, Doc, Edit, Encoder};
/// use std::sync::Arc;
/// let base: Arc<[u8]> = fleece!({"name": "Ada", "tags": ["poet", "analyst"], "born": 1815, "died": 1852}).into();
/// let doc = Doc::open(base.clone())?;
///
/// let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
/// edit.remove("died");
/// edit.entry("tags").push("countess");
///
/// let mut encoder = Encoder::amend_append(base.clone())?;
/// encoder.write_edit(&edit)?;
/// let amended = Doc::check([&base, &encoder.finish()?[..]].concat())?;
/// assert_eq!(json::to_string(amended.root())?, r#"{"born":1815,"name":"Ada","tags":["poet","analyst","countess"]}"#);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
///
/// A clone takes constant time: the content is shared until one of the two is changed.
#[derive(Clone)]
pub struct Edit<'a>(EditNode<'a>);

#[derive(Clone)]
enum EditNode<'a> {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f32),
    Double(f64),
    String(Arc<str>),
    Data(Arc<[u8]>),
    /// An unchanged value of a document.
    Value(Value<'a>),
    Array(Arc<Vec<Edit<'a>>>),
    Dict(Arc<DictEdit<'a>>),
}

#[derive(Clone, Default)]
struct DictEdit<'a> {
    original: Option<(Value<'a>, Dict<'a>)>,
    /// The new values of keys; `None` if the pair was removed.
    changes: BTreeMap<Box<str>, Option<Edit<'a>>>,
}

impl<'a> Edit<'a> {
    /// A dict with the pairs of another one.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit};
    /// let doc = Doc::open(fleece!({"a": 1}))?;
    /// let edit = Edit::from_dict(doc.root().as_dict().unwrap());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn from_dict(dict: Dict<'a>) -> Self {
        let value = Value { source: dict.slots.source, at: dict.at };
        Self(EditNode::Dict(Arc::new(DictEdit::new(Some((value, dict))))))
    }

    /// An array with the items of another one.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit};
    /// let doc = Doc::open(fleece!([1]))?;
    /// let edit = Edit::from_array(doc.root().as_array().unwrap());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn from_array(array: Array<'a>) -> Self {
        Self(EditNode::Array(Arc::new(array.iter().map(Edit::from).collect())))
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
        Self(EditNode::Dict(Arc::default()))
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
        Self(EditNode::Array(Arc::default()))
    }

    /// Sets the value of a key. If this is not a dict, it becomes an empty one first.
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

    /// The value of a key, which can be changed; a new one is `null`.
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
        change.get_or_insert(Self(EditNode::Null))
    }

    /// Appends an item. If this is not an array, it becomes an empty one first.
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

    /// The items, which can be changed, removed and inserted. If this is not an array, it becomes
    /// an empty one first.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit, Encoder};
    /// let doc = Doc::open(fleece!([1, 2, 3]))?;
    /// let mut edit = Edit::from_array(doc.root().as_array().unwrap());
    /// edit.items().remove(0);
    /// edit.items()[0] = Edit::from("two");
    /// # let mut encoder = Encoder::new();
    /// # encoder.write_edit(&edit)?;
    /// # assert_eq!(encoder.finish()?, fleece!(["two", 3]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn items(&mut self) -> &mut Vec<Edit<'a>> {
        if let EditNode::Value(value) = self.0 {
            *self = value.as_array().map_or_else(Self::new_array, Self::from_array);
        } else if !matches!(self.0, EditNode::Array(..)) {
            *self = Self::new_array();
        }
        match &mut self.0 {
            EditNode::Array(items) => Arc::make_mut(items),
            _ => unreachable!("it was made an array above"),
        }
    }

    fn as_dict(&mut self) -> &mut DictEdit<'a> {
        if !matches!(self.0, EditNode::Dict(_)) {
            let original = match self.0 {
                EditNode::Value(value) => value.as_dict().map(|dict| (value, dict)),
                _ => None,
            };
            *self = Self(EditNode::Dict(Arc::new(DictEdit::new(original))));
        }
        match &mut self.0 {
            EditNode::Dict(dict) => Arc::make_mut(dict),
            _ => unreachable!("it was made a dict above"),
        }
    }
}

impl<'a> DictEdit<'a> {
    fn new(original: Option<(Value<'a>, Dict<'a>)>) -> Self {
        Self { original, changes: BTreeMap::new() }
    }

    fn original(&self, key: &str) -> Option<Value<'a>> {
        self.original.and_then(|(_, dict)| dict.get(key))
    }

    /// Whether a pair may have this name although a lookup without the right table does not find
    /// it; then writing the edit is an error.
    fn may_hold(&self, key: &str) -> bool {
        let mut pairs = self.original.into_iter().flat_map(|(_, dict)| dict.iter());
        pairs.any(|(name, _)| name.as_bytes().is_none_or(|name| name == key.as_bytes()))
    }

    /// Whether there are shared keys. Numbers come first, after the parent key.
    fn has_numbers(&self) -> bool {
        let generations = self.original.into_iter().flat_map(|(_, dict)| dict.generations());
        let mut first = generations.filter_map(|dict| {
            let skipped = usize::from(dict.has_parent());
            DictIter::stored(dict.slots).nth(skipped)
        });
        first.any(|(key, _)| key.shared_index().is_some())
    }

    /// Whether a shared key has no name in the table that the document was opened with. Numbers
    /// come first.
    fn lacks_names(&self) -> bool {
        let pairs = self.original.into_iter().flat_map(|(_, dict)| dict.iter());
        let mut numbers = pairs.take_while(|(key, _)| key.shared_index().is_some());
        numbers.any(|(key, _)| key.as_bytes().is_none())
    }

    /// All pairs by name; `None` if a name is not UTF-8.
    fn pairs(&self) -> Option<BTreeMap<&str, EditedPair<'_, 'a>>> {
        let originals = self.original.into_iter().flat_map(|(_, dict)| dict.iter());
        let originals =
            originals.map(|(key, value)| Some((key.as_str()?, EditedPair::Original(value))));
        let mut pairs: BTreeMap<&str, EditedPair<'_, 'a>> = originals.collect::<Option<_>>()?;
        for (key, change) in &self.changes {
            match change {
                Some(edit) => drop(pairs.insert(key, EditedPair::Changed(edit))),
                None => drop(pairs.remove(&**key)),
            }
        }
        Some(pairs)
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

enum EditedPair<'e, 'a> {
    Original(Value<'a>),
    Changed(&'e Edit<'a>),
}

/// Drops nested edits without recursion, however deep they are.
impl Drop for Edit<'_> {
    fn drop(&mut self) {
        let mut open = Vec::new();
        self.take_inner(&mut open);
        while let Some(mut edit) = open.pop() {
            edit.take_inner(&mut open);
        }
    }
}

impl Edit<'_> {
    /// Moves the edits within this one that no other edit shares and that may have edits within
    /// themselves to `open`, and drops the others.
    fn take_inner(&mut self, open: &mut Vec<Self>) {
        let has_inner = |edit: &Self| matches!(edit.0, EditNode::Array(_) | EditNode::Dict(_));
        match &mut self.0 {
            EditNode::Array(items) => {
                if let Some(items) = Arc::get_mut(items) {
                    open.extend(items.drain(..).filter(has_inner));
                }
            }
            EditNode::Dict(dict) => {
                if let Some(dict) = Arc::get_mut(dict) {
                    let changes = core::mem::take(&mut dict.changes).into_values().flatten();
                    open.extend(changes.filter(has_inner));
                }
            }
            _ => {}
        }
    }
}

impl fmt::Debug for Edit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            EditNode::Value(value) => write!(f, "{value:?}"),
            EditNode::Dict(dict) => write!(f, "dict with {} changes", dict.changes.len()),
            _ => write!(f, "{:?} of {} bytes or items", self.kind(), self.len()),
        }
    }
}

/// Conversions of values to edits.
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
    () => _unit EditNode::Null;
    bool => value EditNode::Bool(value);
    i32 => value EditNode::Signed(value.into());
    i64 => value EditNode::Signed(value);
    u32 => value EditNode::Unsigned(value.into());
    u64 => value EditNode::Unsigned(value);
    f32 => value EditNode::Float(value);
    f64 => value EditNode::Double(value);
    &str => value EditNode::String(value.into());
    String => value EditNode::String(value.into());
    &[u8] => value EditNode::Data(value.into());
    Vec<u8> => value EditNode::Data(value.into());
    Value<'a> => value EditNode::Value(value);
}

/// Reading.
impl<'a> Edit<'a> {
    /// The kind of this value.
    ///
    /// ```
    /// # use fleece_codec::{Edit, Kind};
    /// assert_eq!(Edit::from("a").kind(), Kind::String);
    /// ```
    pub fn kind(&self) -> Kind {
        match &self.0 {
            EditNode::Null => Kind::Null,
            EditNode::Bool(_) => Kind::Bool,
            EditNode::Signed(_)
            | EditNode::Unsigned(_)
            | EditNode::Float(_)
            | EditNode::Double(_) => Kind::Number,
            EditNode::String(_) => Kind::String,
            EditNode::Data(_) => Kind::Data,
            EditNode::Value(value) => value.kind(),
            EditNode::Array(_) => Kind::Array,
            EditNode::Dict(_) => Kind::Dict,
        }
    }

    /// The number of items, pairs or bytes; 0 for other kinds.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit};
    /// let doc = Doc::open(fleece!({"a": 1, "b": 2}))?;
    /// let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
    /// edit.remove("a");
    /// assert_eq!(edit.len(), 1);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        match &self.0 {
            EditNode::String(text) => text.len(),
            EditNode::Data(data) => data.len(),
            EditNode::Array(items) => items.len(),
            EditNode::Dict(dict) => dict.len(),
            EditNode::Value(value) => match value.kind() {
                Kind::Array => value.as_array().map_or(0, crate::Array::len),
                Kind::Dict => value.as_dict().map_or(0, crate::Dict::len),
                Kind::String | Kind::Data => value.payload().map_or(0, <[u8]>::len),
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Whether [`len`](Self::len) is 0.
    ///
    /// ```
    /// assert!(fleece_codec::Edit::new_dict().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key with all changes, if this is a dict that has it.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit};
    /// let doc = Doc::open(fleece!({"a": 1, "b": 2}))?;
    /// let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
    /// edit.set("a", "one");
    /// edit.remove("b");
    /// assert_eq!(edit.get("a").unwrap().as_str(), Some("one"));
    /// assert!(edit.get("b").is_none());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn get(&self, key: &str) -> Option<Edit<'a>> {
        match &self.0 {
            EditNode::Value(value) => value.get(key).map(Edit::from),
            EditNode::Dict(dict) => match dict.changes.get(key) {
                Some(change) => change.clone(),
                None => dict.original(key).map(Edit::from),
            },
            _ => None,
        }
    }

    /// The item number `index`, if this is an array that long.
    ///
    /// ```
    /// # use fleece_codec::Edit;
    /// let mut edit = Edit::new_array();
    /// edit.push(7);
    /// assert_eq!(edit.at(0).unwrap().as_i64(), Some(7));
    /// ```
    pub fn at(&self, index: usize) -> Option<Edit<'a>> {
        match &self.0 {
            EditNode::Value(value) => value.at(index).map(Edit::from),
            EditNode::Array(items) => items.get(index).cloned(),
            _ => None,
        }
    }

    /// The pairs in order of their names, if this is a dict; pairs whose names are not UTF-8 are
    /// left out.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit};
    /// let doc = Doc::open(fleece!({"b": 2}))?;
    /// let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
    /// edit.set("a", 1);
    /// let names: Vec<String> = edit.pairs().into_keys().collect();
    /// assert_eq!(names, ["a", "b"]);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn pairs(&self) -> BTreeMap<String, Edit<'a>> {
        let (original, changes) = match &self.0 {
            EditNode::Value(value) => (value.as_dict(), None),
            EditNode::Dict(dict) => (dict.original.map(|(_, dict)| dict), Some(&dict.changes)),
            _ => (None, None),
        };
        let originals = original.into_iter().flatten();
        let mut pairs: BTreeMap<String, Edit<'a>> = originals
            .filter_map(|(key, value)| Some((String::from(key.as_str()?), Edit::from(value))))
            .collect();
        for (key, change) in changes.into_iter().flatten() {
            match change {
                Some(edit) => drop(pairs.insert(String::from(&**key), edit.clone())),
                None => drop(pairs.remove(&**key)),
            }
        }
        pairs
    }

    /// The text, if this is one.
    ///
    /// ```
    /// assert_eq!(fleece_codec::Edit::from("a").as_str(), Some("a"));
    /// ```
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            EditNode::String(text) => Some(text),
            EditNode::Value(value) => value.as_str(),
            _ => None,
        }
    }

    /// The number, if it is an integer from -2^63 to 2^63 - 1.
    ///
    /// ```
    /// assert_eq!(fleece_codec::Edit::from(7_u64).as_i64(), Some(7));
    /// ```
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            EditNode::Signed(number) => Some(*number),
            EditNode::Unsigned(number) => (*number).try_into().ok(),
            EditNode::Value(value) => value.as_i64(),
            _ => None,
        }
    }

    /// The number, rounded if it is a large integer.
    ///
    /// ```
    /// assert_eq!(fleece_codec::Edit::from(1.5).as_f64(), Some(1.5));
    /// ```
    pub fn as_f64(&self) -> Option<f64> {
        match &self.0 {
            EditNode::Signed(number) => Some(*number as f64),
            EditNode::Unsigned(number) => Some(*number as f64),
            EditNode::Float(number) => Some((*number).into()),
            EditNode::Double(number) => Some(*number),
            EditNode::Value(value) => value.as_f64(),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    ///
    /// ```
    /// assert_eq!(fleece_codec::Edit::from(true).as_bool(), Some(true));
    /// ```
    pub fn as_bool(&self) -> Option<bool> {
        match &self.0 {
            EditNode::Bool(value) => Some(*value),
            EditNode::Value(value) => value.as_bool(),
            _ => None,
        }
    }

    /// The value that this was made from, before any change; `None` if this was made new.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit};
    /// let doc = Doc::open(fleece!({"a": 1}))?;
    /// let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
    /// edit.set("a", 2);
    /// assert_eq!(edit.original().unwrap(), doc.root());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn original(&self) -> Option<Value<'a>> {
        match &self.0 {
            EditNode::Value(value) => Some(*value),
            EditNode::Dict(dict) => dict.original.map(|(value, _)| value),
            _ => None,
        }
    }

    /// Whether this may differ from the value it was made from. It is false only for an unchanged
    /// value, and for a dict of which no pair was set, removed or opened with
    /// [`entry`](Self::entry).
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit};
    /// let doc = Doc::open(fleece!({"a": 1}))?;
    /// let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
    /// assert!(!edit.is_changed());
    /// edit.set("a", 2);
    /// assert!(edit.is_changed());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn is_changed(&self) -> bool {
        match &self.0 {
            EditNode::Value(_) => false,
            EditNode::Dict(dict) => {
                let DictEdit { original, changes } = &**dict;
                original.is_none() || !changes.is_empty()
            }
            _ => true,
        }
    }

    /// A new document with all changes.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Edit};
    /// let mut edit = Edit::new_dict();
    /// edit.set("a", 1.5);
    /// assert_eq!(edit.to_document()?, fleece!({"a": 1.5}));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_document(&self) -> Result<Vec<u8>> {
        let mut encoder = Encoder::new();
        encoder.write_edit(self)?;
        encoder.finish()
    }

    /// The JSON text with all changes.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc, Edit};
    /// let doc = Doc::open(fleece!({"a": [1, 2]}))?;
    /// let mut edit = Edit::from_dict(doc.root().as_dict().unwrap());
    /// edit.entry("a").push(3);
    /// assert_eq!(edit.to_json()?, r#"{"a":[1,2,3]}"#);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn to_json(&self) -> Result<String> {
        json::to_string(Doc::open(self.to_document()?)?.root())
    }
}

impl Encoder {
    /// Writes an edit. Of a dict in the amended document, only the changes are written if that is
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

    /// Writes an edit without recursion, however deep it is.
    fn edit(&mut self, edit: &Edit<'_>) {
        let mut innermost = self.begin_edit(edit);
        // It allocates only for edits within edits.
        let mut outer = Vec::new();
        while let Some(frame) = &mut innermost {
            let next = match frame {
                EditFrame::Items(items) => items.next(),
                EditFrame::Pairs(pairs) => self.unchanged_pairs(pairs),
                EditFrame::Changes(changes) => self.removed_pairs(changes),
            };
            if let Some(edit) = next {
                if let Some(inner) = self.begin_edit(edit) {
                    outer.extend(innermost.replace(inner));
                }
            } else {
                match frame {
                    EditFrame::Items(_) => self.end_array(),
                    EditFrame::Pairs(_) | EditFrame::Changes(_) => self.end_dict(),
                }
                innermost = outer.pop();
            }
            if outer.len() >= WRITTEN_DEPTH {
                self.fail(ErrorKind::TooDeep, "an edit has too many levels");
            }
            if self.failure.is_some() {
                return;
            }
        }
    }

    /// Writes a scalar or an unchanged value, or begins a collection and returns its frame.
    fn begin_edit<'e, 'a>(&mut self, edit: &'e Edit<'a>) -> Option<EditFrame<'e, 'a>> {
        match &edit.0 {
            EditNode::Null => self.write_null(),
            EditNode::Bool(value) => self.write_bool(*value),
            EditNode::Signed(value) => self.short_or_number(*value, 0x10),
            EditNode::Unsigned(value) => match i64::try_from(*value) {
                Ok(value) => self.short_or_number(value, 0x18),
                Err(_) => self.write_u64(*value),
            },
            EditNode::Float(value) => self.write_f32(*value),
            EditNode::Double(value) => self.write_f64(*value),
            EditNode::String(value) => self.write_str(value),
            EditNode::Data(value) => self.write_data(value),
            EditNode::Value(value) => self.write_value(*value),
            EditNode::Array(items) => {
                self.begin_array();
                return Some(EditFrame::Items(items.iter()));
            }
            EditNode::Dict(dict) => return self.begin_dict_edit(dict),
        }
        None
    }

    /// Writes pairs up to the key of the next changed value, and returns that value.
    fn unchanged_pairs<'e, 'a>(
        &mut self,
        pairs: &mut btree_map::IntoIter<&'e str, EditedPair<'e, 'a>>,
    ) -> Option<&'e Edit<'a>> {
        for (key, pair) in pairs {
            self.write_key(key);
            match pair {
                EditedPair::Original(value) => self.write_value(value),
                EditedPair::Changed(edit) => return Some(edit),
            }
        }
        None
    }

    /// Writes removed pairs up to the key of the next new value, and returns that value.
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

    /// Writes an integer of an edit. Short ones are stored in the slot, as copied numbers are, but
    /// not as those that are written directly.
    fn short_or_number(&mut self, value: i64, tag: u8) {
        let bits = match tag {
            0x18 => 64 - value.leading_zeros(),
            _ => 65 - (if value < 0 { !value } else { value }).leading_zeros(),
        };
        let len = bits.div_ceil(8).max(1) as usize;
        // Edits of the original do not store -2048 as a short int.
        if (-2047..2048).contains(&value) || len > 3 {
            return if tag == 0x18 { self.write_u64(value as u64) } else { self.write_i64(value) };
        }
        let mut bytes = [0; 16];
        bytes[0] = tag | (len as u8 - 1);
        bytes[1..=len].copy_from_slice(&value.to_le_bytes()[..len]);
        self.push_number(bytes, len + 1);
    }

    fn begin_dict_edit<'e, 'a>(&mut self, edit: &'e DictEdit<'a>) -> Option<EditFrame<'e, 'a>> {
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
                return Some(EditFrame::Changes(edit.changes.iter()));
            }
        }
        let pairs = edit.pairs();
        if pairs.is_none() {
            self.fail(ErrorKind::BadUtf8, "a key of a dict to edit is not UTF-8");
        }
        self.begin_dict();
        Some(EditFrame::Pairs(pairs?.into_iter()))
    }
}

/// A collection that is being written.
enum EditFrame<'e, 'a> {
    Items(slice::Iter<'e, Edit<'a>>),
    Pairs(btree_map::IntoIter<&'e str, EditedPair<'e, 'a>>),
    /// The changes of a dict that inherits the other pairs.
    Changes(btree_map::Iter<'e, Box<str>, Option<Edit<'a>>>),
}
