//! Edits: a changed view of a document's dict or array, written as a delta where that is shorter.

mod read;
mod write;

use crate::dict::DictIter;
use crate::value::Value;
use crate::{Array, Dict};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// A dict or array to be written, made from an existing one and a few changes, or from nothing.
///
/// Written by an encoder that amends the document of the original, it takes little more than the
/// changes: a dict then inherits from the original dict, and unchanged items are referred to.
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
/// A clone takes constant time: what it holds is shared until one of the two is changed.
#[derive(Clone)]
pub struct Edit<'a>(Node<'a>);

#[derive(Clone)]
enum Node<'a> {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f32),
    Double(f64),
    String(Arc<str>),
    Data(Arc<[u8]>),
    /// A value of some document as it is.
    Value(Value<'a>),
    Array(Arc<Vec<Edit<'a>>>),
    Dict(Arc<DictEdit<'a>>),
}

#[derive(Clone, Default)]
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
    /// let edit = Edit::from_dict(doc.root().as_dict().unwrap());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn from_dict(dict: Dict<'a>) -> Self {
        let value = Value { source: dict.slots.source, at: dict.at };
        Self(Node::Dict(Arc::new(DictEdit::new(Some((value, dict))))))
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
        Self(Node::Array(Arc::new(array.iter().map(Edit::from).collect())))
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
        Self(Node::Dict(Arc::default()))
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
        Self(Node::Array(Arc::default()))
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

    /// The items, to be changed, removed or inserted. What is not an array becomes an empty one
    /// first.
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
        if let Node::Value(value) = self.0 {
            *self = value.as_array().map_or_else(Self::new_array, Self::from_array);
        } else if !matches!(self.0, Node::Array(..)) {
            *self = Self::new_array();
        }
        match &mut self.0 {
            Node::Array(items) => Arc::make_mut(items),
            _ => unreachable!("it was made an array above"),
        }
    }

    fn as_dict(&mut self) -> &mut DictEdit<'a> {
        if !matches!(self.0, Node::Dict(_)) {
            let original = match self.0 {
                Node::Value(value) => value.as_dict().map(|dict| (value, dict)),
                _ => None,
            };
            *self = Self(Node::Dict(Arc::new(DictEdit::new(original))));
        }
        match &mut self.0 {
            Node::Dict(dict) => Arc::make_mut(dict),
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

    /// Whether a pair may have this name that a lookup does not find without the right table; then
    /// writing the edit is an error.
    fn may_hold(&self, key: &str) -> bool {
        let mut pairs = self.original.into_iter().flat_map(|(_, dict)| dict.iter());
        pairs.any(|(name, _)| name.as_bytes().is_none_or(|name| name == key.as_bytes()))
    }

    /// Whether there are shared keys. Numbers come first, after the mark of a parent.
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

    /// All pairs by name; none if a name is not UTF-8.
    fn pairs(&self) -> Option<BTreeMap<&str, Pair<'_, 'a>>> {
        let originals = self.original.into_iter().flat_map(|(_, dict)| dict.iter());
        let originals = originals.map(|(key, value)| Some((key.as_str()?, Pair::Original(value))));
        let mut pairs: BTreeMap<&str, Pair<'_, 'a>> = originals.collect::<Option<_>>()?;
        for (key, change) in &self.changes {
            match change {
                Some(edit) => drop(pairs.insert(key, Pair::Changed(edit))),
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

enum Pair<'e, 'a> {
    Original(Value<'a>),
    Changed(&'e Edit<'a>),
}

/// Without recursion, however many levels there are.
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
    /// Moves out of this what no other edit shares.
    fn take_inner(&mut self, open: &mut Vec<Self>) {
        match &mut self.0 {
            Node::Array(items) => {
                if let Some(items) = Arc::get_mut(items) {
                    open.append(items);
                }
            }
            Node::Dict(dict) => {
                if let Some(dict) = Arc::get_mut(dict) {
                    open.extend(core::mem::take(&mut dict.changes).into_values().flatten());
                }
            }
            _ => {}
        }
    }
}

impl fmt::Debug for Edit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Node::Value(value) => write!(f, "{value:?}"),
            Node::Dict(dict) => write!(f, "dict with {} changes", dict.changes.len()),
            _ => write!(f, "{:?} of {} bytes or items", self.kind(), self.len()),
        }
    }
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
    String => value Node::String(value.into());
    &[u8] => value Node::Data(value.into());
    Vec<u8> => value Node::Data(value.into());
    Value<'a> => value Node::Value(value);
}
