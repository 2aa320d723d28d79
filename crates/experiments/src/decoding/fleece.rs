//! fleece-codec: read in place, by name or with keys that cache their position, or as a Rust type.
//! Texts and keys are passed as `&str`, as all other contenders do.

use std::borrow::Cow;

use fleece_codec::{Array, Dict, Doc, Kind, Path, Value, json};

use super::jobs::{DocumentFormat, PathStep, Result, mark_of_number, mark_of_text, message, whole};
use super::typed::{Codec, Person};

/// Looks up each name by binary search.
pub(super) struct Fleece;

/// Looks up a path of reusable keys.
pub(super) struct FleeceKey;

impl DocumentFormat for Fleece {
    type Doc<'a> = Doc<&'a [u8]>;
    type Path = Vec<PathStep>;

    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        json::to_fleece(text).map(Cow::Owned).map_err(message)
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<Doc<&'a [u8]>> {
        Doc::check(bytes).map_err(message)
    }

    fn open<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<Doc<&'a [u8]>> {
        Doc::open(bytes).map_err(message)
    }

    fn path(steps: &[PathStep]) -> Vec<PathStep> {
        steps.to_vec()
    }

    fn find(doc: &Doc<&[u8]>, path: &Vec<PathStep>) -> Option<u64> {
        let mut value = doc.root();
        for step in path {
            value = match step {
                PathStep::Key(key) => value.get(key)?,
                PathStep::Index(index) => value.at(*index)?,
            };
        }
        Some(mark(value))
    }

    fn visit(doc: &Doc<&[u8]>) -> u64 {
        visit(doc.root())
    }

    fn print(doc: &Doc<&[u8]>) -> Result<Vec<u8>> {
        json::to_vec(doc.root()).map_err(message)
    }
}

impl DocumentFormat for FleeceKey {
    type Doc<'a> = Doc<&'a [u8]>;
    type Path = Path;

    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        Fleece::bytes(text)
    }

    fn parse<'a>(bytes: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<Doc<&'a [u8]>> {
        Fleece::parse(bytes, scratch)
    }

    fn path(steps: &[PathStep]) -> Path {
        let escaped = |key: &String| key.chars().flat_map(|c| ['\\', c]).collect::<String>();
        let text: String = steps
            .iter()
            .map(|step| match step {
                PathStep::Key(key) => format!(".{}", escaped(key)),
                PathStep::Index(index) => format!("[{index}]"),
            })
            .collect();
        // A path that does not parse, such as one with an empty key, refers to the root: then the
        // answer differs.
        Path::new(&text).or_else(|_| Path::new("$")).expect("the root is a path")
    }

    fn find(doc: &Doc<&[u8]>, path: &Path) -> Option<u64> {
        path.find(doc.root()).map(mark)
    }

    fn visit(doc: &Doc<&[u8]>) -> u64 {
        Fleece::visit(doc)
    }

    fn print(doc: &Doc<&[u8]>) -> Result<Vec<u8>> {
        Fleece::print(doc)
    }
}

/// People as a Rust type.
pub(super) struct FleeceCodec;

impl Codec for FleeceCodec {
    fn write(people: &[Person]) -> Result<Vec<u8>> {
        fleece_codec::to_vec(people).map_err(message)
    }

    fn read(bytes: &[u8]) -> Result<Vec<Person>> {
        fleece_codec::from_slice(bytes).map_err(message)
    }
}

#[inline]
fn mark(value: Value<'_>) -> u64 {
    match value.as_str() {
        Some(text) => mark_of_text(text.as_bytes()),
        None => value.as_f64().map_or(u64::from(value.to_bool()), mark_of_number),
    }
}

fn visit(value: Value<'_>) -> u64 {
    match value.kind() {
        Kind::String => value.as_str().map_or(0, |text| text.len() as u64),
        Kind::Number => value.as_f64().map_or(0, whole),
        Kind::Bool => u64::from(value.to_bool()),
        Kind::Array => value.as_array().map_or(0, visit_array),
        Kind::Dict => value.as_dict().map_or(0, visit_dict),
        _ => 0,
    }
}

fn visit_array(array: Array<'_>) -> u64 {
    array.iter().fold(0, |sum, item| sum.wrapping_add(visit(item)))
}

fn visit_dict(dict: Dict<'_>) -> u64 {
    dict.iter().fold(0, |sum, (key, value)| {
        let key = key.as_str().map_or(0, |key| key.len() as u64);
        sum.wrapping_add(key).wrapping_add(visit(value))
    })
}
