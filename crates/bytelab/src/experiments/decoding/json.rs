//! `serde_json`: text into its own tree. This file is also a part of `workers/rust`, where other
//! formats use the same tree.

use std::borrow::Cow;

use serde_json::Value;

use super::jobs::{Format, Result, Step, mark_of_number, mark_of_text, message, whole};

pub(crate) struct SerdeJson;

impl Format for SerdeJson {
    type Doc<'a> = Value;
    type Path = Vec<Step>;

    const IS_JSON: bool = true;

    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(text))
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<Value> {
        serde_json::from_slice(bytes).map_err(message)
    }

    fn path(steps: &[Step]) -> Vec<Step> {
        steps.to_vec()
    }

    fn find(doc: &Value, path: &Vec<Step>) -> Option<u64> {
        find(doc, path)
    }

    fn visit(doc: &Value) -> u64 {
        visit(doc)
    }

    fn print(doc: &Value) -> Result<Vec<u8>> {
        serde_json::to_vec(doc).map_err(message)
    }
}

pub(crate) fn find(doc: &Value, path: &[Step]) -> Option<u64> {
    let mut value = doc;
    for step in path {
        value = match step {
            Step::Key(key) => value.get(key)?,
            Step::Index(index) => value.get(index)?,
        };
    }
    Some(match value {
        Value::String(text) => mark_of_text(text.as_bytes()),
        Value::Number(number) => mark_of_number(number.as_f64()?),
        Value::Bool(value) => u64::from(*value),
        Value::Array(_) | Value::Object(_) => 1,
        Value::Null => 0,
    })
}

pub(crate) fn visit(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Number(number) => number.as_f64().map_or(0, whole),
        Value::Bool(value) => u64::from(*value),
        Value::Array(items) => items.iter().fold(0, |sum, item| sum.wrapping_add(visit(item))),
        Value::Object(pairs) => pairs.iter().fold(0, |sum, (key, value)| {
            sum.wrapping_add(key.len() as u64).wrapping_add(visit(value))
        }),
        Value::Null => 0,
    }
}
