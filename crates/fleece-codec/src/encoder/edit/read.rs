//! What an edit holds, changes included.

use super::{DictEdit, Edit, Node};
use crate::encoder::Encoder;
use crate::value::{Kind, Value};
use crate::{Doc, Result, json};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// Reading.
impl<'a> Edit<'a> {
    /// What this is.
    ///
    /// ```
    /// # use fleece_codec::{Edit, Kind};
    /// assert_eq!(Edit::from("a").kind(), Kind::String);
    /// ```
    pub fn kind(&self) -> Kind {
        match &self.0 {
            Node::Null => Kind::Null,
            Node::Bool(_) => Kind::Bool,
            Node::Signed(_) | Node::Unsigned(_) | Node::Float(_) | Node::Double(_) => Kind::Number,
            Node::String(_) => Kind::String,
            Node::Data(_) => Kind::Data,
            Node::Value(value) => value.kind(),
            Node::Array(_) => Kind::Array,
            Node::Dict(_) => Kind::Dict,
        }
    }

    /// The number of items, of pairs or of bytes, whichever it has; 0 for all else.
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
            Node::String(text) => text.len(),
            Node::Data(data) => data.len(),
            Node::Array(items) => items.len(),
            Node::Dict(dict) => dict.len(),
            Node::Value(value) => match value.kind() {
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
            Node::Value(value) => value.get(key).map(Edit::from),
            Node::Dict(dict) => match dict.changes.get(key) {
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
            Node::Value(value) => value.at(index).map(Edit::from),
            Node::Array(items) => items.get(index).cloned(),
            _ => None,
        }
    }

    /// The pairs in order of their names, if this is a dict; a pair whose name is not UTF-8 is not
    /// among them.
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
            Node::Value(value) => (value.as_dict(), None),
            Node::Dict(dict) => (dict.original.map(|(_, dict)| dict), Some(&dict.changes)),
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
            Node::String(text) => Some(text),
            Node::Value(value) => value.as_str(),
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
            Node::Signed(number) => Some(*number),
            Node::Unsigned(number) => (*number).try_into().ok(),
            Node::Value(value) => value.as_i64(),
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
            Node::Signed(number) => Some(*number as f64),
            Node::Unsigned(number) => Some(*number as f64),
            Node::Float(number) => Some((*number).into()),
            Node::Double(number) => Some(*number),
            Node::Value(value) => value.as_f64(),
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
            Node::Bool(value) => Some(*value),
            Node::Value(value) => value.as_bool(),
            _ => None,
        }
    }

    /// The value that this was made of, as it was before any change; none of what was made new.
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
            Node::Value(value) => Some(*value),
            Node::Dict(dict) => dict.original.map(|(value, _)| value),
            _ => None,
        }
    }

    /// Whether this may be other than the value it was made of: false only for a value as it is and
    /// a dict no pair of which was set, removed or opened with [`entry`](Self::entry).
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
            Node::Value(_) => false,
            Node::Dict(dict) => {
                let DictEdit { original, changes } = &**dict;
                original.is_none() || !changes.is_empty()
            }
            _ => true,
        }
    }

    /// A document of its own with all changes.
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
