//! sonic-rs: text into its tree, and its scan for one value.

use std::borrow::Cow;

use sonic_rs::{JsonContainerTrait, JsonNumberTrait, JsonValueTrait, PointerNode, Value, ValueRef};

use crate::jobs::{DocumentFormat, PathStep, Result, mark_of_number, mark_of_text, message, whole};

pub(crate) struct Sonic;

/// No tree: `get` looks at the text up to the value, and only as closely as it must to find it.
pub(crate) struct SonicGet;

impl DocumentFormat for Sonic {
    type Doc<'a> = Value;
    type Path = Vec<PathStep>;

    const IS_JSON: bool = true;

    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(text))
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<Value> {
        sonic_rs::from_slice(bytes).map_err(message)
    }

    fn path(steps: &[PathStep]) -> Vec<PathStep> {
        steps.to_vec()
    }

    fn find(doc: &Value, path: &Vec<PathStep>) -> Option<u64> {
        let mut value = doc;
        for step in path {
            value = match step {
                PathStep::Key(key) => value.as_object()?.get(key)?,
                PathStep::Index(index) => value.as_array()?.get(*index)?,
            };
        }
        Some(match value.as_ref() {
            ValueRef::String(text) => mark_of_text(text.as_bytes()),
            ValueRef::Number(number) => mark_of_number(number.as_f64()?),
            ValueRef::Bool(value) => u64::from(value),
            ValueRef::Null => 0,
            _ => 1,
        })
    }

    fn visit(doc: &Value) -> u64 {
        visit(doc)
    }

    fn print(doc: &Value) -> Result<Vec<u8>> {
        sonic_rs::to_vec(doc).map_err(message)
    }
}

fn visit(value: &Value) -> u64 {
    match value.as_ref() {
        ValueRef::String(text) => text.len() as u64,
        ValueRef::Number(number) => number.as_f64().map_or(0, whole),
        ValueRef::Bool(value) => u64::from(value),
        ValueRef::Array(items) => items.iter().fold(0, |sum, item| sum.wrapping_add(visit(item))),
        ValueRef::Object(pairs) => pairs.iter().fold(0, |sum, (key, value)| {
            sum.wrapping_add(key.len() as u64).wrapping_add(visit(value))
        }),
        ValueRef::Null => 0,
    }
}

impl DocumentFormat for SonicGet {
    type Doc<'a> = &'a [u8];
    type Path = Vec<PointerNode>;

    const IS_JSON: bool = true;

    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(text))
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        Ok(bytes)
    }

    fn path(steps: &[PathStep]) -> Vec<PointerNode> {
        let node = |step: &PathStep| match step {
            PathStep::Key(key) => PointerNode::Key(key.clone().into()),
            PathStep::Index(index) => PointerNode::Index(*index),
        };
        steps.iter().map(node).collect()
    }

    fn find(doc: &&[u8], path: &Vec<PointerNode>) -> Option<u64> {
        let value = sonic_rs::get(*doc, path.iter()).ok()?;
        Some(match value.as_str() {
            Some(text) => mark_of_text(text.as_bytes()),
            None if value.is_object() || value.is_array() => 1,
            None => match value.as_bool() {
                Some(value) => u64::from(value),
                None => value.as_f64().map_or(0, mark_of_number),
            },
        })
    }

    /// It has nothing but the text, so it competes only where one value is asked for.
    fn visit(_: &&[u8]) -> u64 {
        0
    }

    fn print(doc: &&[u8]) -> Result<Vec<u8>> {
        Ok(doc.to_vec())
    }
}
