//! `Serialize` for values: conversion to any other format.

use crate::limits::SERDE_DEPTH;
use crate::number::Number;
use crate::value::{Kind, Value};
use crate::{Array, Dict};
use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};

/// A value serializes by its meaning, data as bytes, `undefined` as a unit. Collections may be
/// nested 200 deep.
///
/// ```
/// use fleece_codec::{fleece, Doc};
/// let doc = Doc::check(fleece!({"a": [1, null, "x"]}))?;
/// assert_eq!(serde_json::to_string(&doc.root()).unwrap(), r#"{"a":[1,null,"x"]}"#);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        NestedValue { value: *self, depth: 0 }.serialize(serializer)
    }
}

impl Serialize for Array<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_array(*self, 0, serializer)
    }
}

impl Serialize for Dict<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_dict(*self, 0, serializer)
    }
}

/// A value, and the number of collections around it.
struct NestedValue<'a> {
    value: Value<'a>,
    depth: usize,
}

impl Serialize for NestedValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.value;
        match value.kind() {
            Kind::Undefined | Kind::Null => serializer.serialize_unit(),
            Kind::Bool => serializer.serialize_bool(value.to_bool()),
            Kind::Number => match value.number() {
                Some(Number::Signed(number)) => serializer.serialize_i64(number),
                Some(Number::Unsigned(number)) => serializer.serialize_u64(number),
                Some(Number::Float(number)) => serializer.serialize_f32(number),
                Some(Number::Double(number)) => serializer.serialize_f64(number),
                None => serializer.serialize_unit(),
            },
            Kind::String => match value.as_str() {
                Some(text) => serializer.serialize_str(text),
                None => Err(S::Error::custom("a string is not UTF-8")),
            },
            Kind::Data => serializer.serialize_bytes(value.as_data().unwrap_or_default()),
            Kind::Array => match value.as_array() {
                Some(array) => serialize_array(array, self.depth, serializer),
                None => serializer.serialize_unit(),
            },
            Kind::Dict => match value.as_dict() {
                Some(dict) => serialize_dict(dict, self.depth, serializer),
                None => serializer.serialize_unit(),
            },
        }
    }
}

fn serialize_array<S: Serializer>(
    array: Array<'_>,
    depth: usize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let depth = enter::<S>(depth)?;
    let mut items = serializer.serialize_seq(Some(array.len()))?;
    for value in array {
        items.serialize_element(&NestedValue { value, depth })?;
    }
    items.end()
}

fn serialize_dict<S: Serializer>(
    dict: Dict<'_>,
    depth: usize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let depth = enter::<S>(depth)?;
    let mut pairs = serializer.serialize_map(Some(dict.len()))?;
    for (key, value) in dict {
        let message = "a key is not UTF-8, or a shared key has no name in the table";
        let name = key.as_str().ok_or_else(|| S::Error::custom(message))?;
        pairs.serialize_entry(name, &NestedValue { value, depth })?;
    }
    pairs.end()
}

fn enter<S: Serializer>(depth: usize) -> Result<usize, S::Error> {
    if depth < SERDE_DEPTH {
        return Ok(depth + 1);
    }
    Err(S::Error::custom("collections are nested too deeply to be serialized"))
}
