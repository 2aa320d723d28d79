//! Binary forms of JSON that are parsed into a tree: MessagePack, CBOR, BSON.

use std::borrow::Cow;

use serde_json::Value;

use crate::jobs::{
    DocumentFormat, PathStep, Result, find_in_tree, mark_of_number, mark_of_text, message,
    visit_tree, whole,
};

pub(crate) struct MessagePack;
pub(crate) struct Cbor;
pub(crate) struct Bson;

impl DocumentFormat for MessagePack {
    type Doc<'a> = Value;
    type Path = Vec<PathStep>;

    /// Without a tree in between.
    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        let mut out = Vec::with_capacity(text.len());
        let mut text = serde_json::Deserializer::from_slice(text);
        serde_transcode::transcode(&mut text, &mut rmp_serde::Serializer::new(&mut out))
            .map_err(message)?;
        text.end().map_err(message)?;
        Ok(Cow::Owned(out))
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<Value> {
        rmp_serde::from_slice(bytes).map_err(message)
    }

    fn path(steps: &[PathStep]) -> Vec<PathStep> {
        steps.to_vec()
    }

    fn find(doc: &Value, path: &Vec<PathStep>) -> Option<u64> {
        find_in_tree(doc, path)
    }

    fn visit(doc: &Value) -> u64 {
        visit_tree(doc)
    }

    fn print(doc: &Value) -> Result<Vec<u8>> {
        serde_json::to_vec(doc).map_err(message)
    }
}

impl DocumentFormat for Cbor {
    type Doc<'a> = ciborium::Value;
    type Path = Vec<PathStep>;

    /// Through serde_json's tree: of a text the lengths are not known beforehand.
    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        let tree: Value = serde_json::from_slice(text).map_err(message)?;
        let mut out = Vec::with_capacity(text.len());
        ciborium::into_writer(&tree, &mut out).map_err(message)?;
        Ok(Cow::Owned(out))
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<ciborium::Value> {
        ciborium::from_reader(bytes).map_err(message)
    }

    fn path(steps: &[PathStep]) -> Vec<PathStep> {
        steps.to_vec()
    }

    fn find(doc: &ciborium::Value, path: &Vec<PathStep>) -> Option<u64> {
        let mut value = doc;
        for step in path {
            value = match step {
                PathStep::Key(key) => {
                    &value.as_map()?.iter().find(|(k, _)| k.as_text() == Some(key))?.1
                }
                PathStep::Index(index) => value.as_array()?.get(*index)?,
            };
        }
        Some(match value {
            ciborium::Value::Text(text) => mark_of_text(text.as_bytes()),
            ciborium::Value::Float(number) => mark_of_number(*number),
            ciborium::Value::Integer(number) => mark_of_number(i128::from(*number) as f64),
            ciborium::Value::Bool(value) => u64::from(*value),
            ciborium::Value::Null => 0,
            _ => 1,
        })
    }

    fn visit(doc: &ciborium::Value) -> u64 {
        visit_cbor(doc)
    }

    fn print(doc: &ciborium::Value) -> Result<Vec<u8>> {
        serde_json::to_vec(doc).map_err(message)
    }
}

fn visit_cbor(value: &ciborium::Value) -> u64 {
    match value {
        ciborium::Value::Text(text) => text.len() as u64,
        ciborium::Value::Float(number) => whole(*number),
        ciborium::Value::Integer(number) => whole(i128::from(*number) as f64),
        ciborium::Value::Bool(value) => u64::from(*value),
        ciborium::Value::Array(items) => {
            items.iter().fold(0, |sum, item| sum.wrapping_add(visit_cbor(item)))
        }
        ciborium::Value::Map(pairs) => pairs.iter().fold(0, |sum, (key, value)| {
            sum.wrapping_add(visit_cbor(key)).wrapping_add(visit_cbor(value))
        }),
        _ => 0,
    }
}

/// A document is a dict: the root lies in one, under this key.
const ROOT: &str = "v";

impl DocumentFormat for Bson {
    type Doc<'a> = bson::Bson;
    type Path = Vec<PathStep>;

    /// Through serde_json's tree.
    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        let tree: Value = serde_json::from_slice(text).map_err(message)?;
        let document = std::collections::BTreeMap::from([(ROOT, tree)]);
        bson::serialize_to_vec(&document).map(Cow::Owned).map_err(message)
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<bson::Bson> {
        let mut document: bson::Document = bson::deserialize_from_slice(bytes).map_err(message)?;
        document.remove(ROOT).ok_or("no root".to_owned())
    }

    fn path(steps: &[PathStep]) -> Vec<PathStep> {
        steps.to_vec()
    }

    fn find(doc: &bson::Bson, path: &Vec<PathStep>) -> Option<u64> {
        let mut value = doc;
        for step in path {
            value = match step {
                PathStep::Key(key) => value.as_document()?.get(key)?,
                PathStep::Index(index) => value.as_array()?.get(*index)?,
            };
        }
        Some(match value {
            bson::Bson::String(text) => mark_of_text(text.as_bytes()),
            bson::Bson::Boolean(value) => u64::from(*value),
            bson::Bson::Null => 0,
            bson::Bson::Array(_) | bson::Bson::Document(_) => 1,
            number => mark_of_number(as_f64(number)),
        })
    }

    fn visit(doc: &bson::Bson) -> u64 {
        visit_bson(doc)
    }

    fn print(doc: &bson::Bson) -> Result<Vec<u8>> {
        serde_json::to_vec(doc).map_err(message)
    }
}

fn as_f64(number: &bson::Bson) -> f64 {
    match number {
        bson::Bson::Double(n) => *n,
        bson::Bson::Int32(n) => f64::from(*n),
        bson::Bson::Int64(n) => *n as f64,
        _ => 0.0,
    }
}

fn visit_bson(value: &bson::Bson) -> u64 {
    match value {
        bson::Bson::String(text) => text.len() as u64,
        bson::Bson::Boolean(value) => u64::from(*value),
        bson::Bson::Array(items) => {
            items.iter().fold(0, |sum, item| sum.wrapping_add(visit_bson(item)))
        }
        bson::Bson::Document(pairs) => pairs.iter().fold(0, |sum, (key, value)| {
            sum.wrapping_add(key.len() as u64).wrapping_add(visit_bson(value))
        }),
        number => whole(as_f64(number)),
    }
}
