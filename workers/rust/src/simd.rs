//! simd-json: text into a tree that borrows its strings. It writes into its input, which therefore
//! is copied first.

use std::borrow::Cow;

use simd_json::{BorrowedValue, StaticNode};

use crate::jobs::{DocumentFormat, PathStep, Result, mark_of_number, mark_of_text, message, whole};

pub(crate) struct SimdJson;

impl DocumentFormat for SimdJson {
    type Doc<'a> = BorrowedValue<'a>;
    type Path = Vec<PathStep>;

    const IS_JSON: bool = true;

    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(text))
    }

    fn parse<'a>(bytes: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<BorrowedValue<'a>> {
        scratch.clear();
        scratch.extend_from_slice(bytes);
        simd_json::to_borrowed_value(scratch).map_err(message)
    }

    fn path(steps: &[PathStep]) -> Vec<PathStep> {
        steps.to_vec()
    }

    fn find(doc: &BorrowedValue<'_>, path: &Vec<PathStep>) -> Option<u64> {
        let mut value = doc;
        for step in path {
            value = match (step, value) {
                (PathStep::Key(key), BorrowedValue::Object(pairs)) => pairs.get(key.as_str())?,
                (PathStep::Index(index), BorrowedValue::Array(items)) => items.get(*index)?,
                _ => return None,
            };
        }
        Some(match value {
            BorrowedValue::String(text) => mark_of_text(text.as_bytes()),
            BorrowedValue::Static(StaticNode::Bool(value)) => u64::from(*value),
            BorrowedValue::Static(StaticNode::Null) => 0,
            BorrowedValue::Static(number) => mark_of_number(as_f64(*number)),
            _ => 1,
        })
    }

    fn visit(doc: &BorrowedValue<'_>) -> u64 {
        visit(doc)
    }

    fn print(doc: &BorrowedValue<'_>) -> Result<Vec<u8>> {
        simd_json::to_vec(doc).map_err(message)
    }
}

fn as_f64(number: StaticNode) -> f64 {
    match number {
        StaticNode::I64(n) => n as f64,
        StaticNode::U64(n) => n as f64,
        StaticNode::F64(n) => n,
        _ => 0.0,
    }
}

fn visit(value: &BorrowedValue<'_>) -> u64 {
    match value {
        BorrowedValue::String(text) => text.len() as u64,
        BorrowedValue::Static(StaticNode::Bool(value)) => u64::from(*value),
        BorrowedValue::Static(number) => whole(as_f64(*number)),
        BorrowedValue::Array(items) => {
            items.iter().fold(0, |sum, item| sum.wrapping_add(visit(item)))
        }
        BorrowedValue::Object(pairs) => pairs.iter().fold(0, |sum, (key, value)| {
            sum.wrapping_add(key.len() as u64).wrapping_add(visit(value))
        }),
    }
}
