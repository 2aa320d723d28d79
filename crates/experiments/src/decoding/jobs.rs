//! The operations of a contender, the jobs that use them, and the contender `serde_json`, whose
//! tree other formats use, too. This file is also a part of `workers/rust`: it depends neither on
//! the lab nor on the rest of the experiment.

use std::borrow::Cow;
use std::hint::black_box;

use serde_json::Value;

pub(super) type Result<T> = std::result::Result<T, String>;

/// A representation of a document: JSON text with a parser, or a binary format.
pub(super) trait DocumentFormat: 'static {
    /// The form that is read: a tree, or validated bytes.
    type Doc<'a>;
    /// The path to one value, prepared once.
    type Path;

    /// Whether the format is JSON text, so that converting means building the tree.
    const IS_JSON: bool = false;

    /// The document in this format.
    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>>;
    /// Converts untrusted bytes to the form that is read. Parsers that write into their input copy
    /// it to `scratch`.
    fn parse<'a>(bytes: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<Self::Doc<'a>>;
    /// Like `parse`, but for trusted bytes, if the format reads them faster.
    fn open<'a>(bytes: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<Self::Doc<'a>> {
        Self::parse(bytes, scratch)
    }
    fn path(steps: &[PathStep]) -> Self::Path;
    /// The mark of the scalar that the path refers to.
    fn find(doc: &Self::Doc<'_>, path: &Self::Path) -> Option<u64>;
    /// The sum of [`mark_of_text`] and the like over all values and keys.
    fn visit(doc: &Self::Doc<'_>) -> u64;
    /// Compact JSON.
    fn print(doc: &Self::Doc<'_>) -> Result<Vec<u8>>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathStep {
    Key(String),
    Index(usize),
}

/// The steps of a JSON Pointer (RFC 6901). A step of digits is an index: none of our documents has
/// such keys.
pub(super) fn steps(pointer: &str) -> Vec<PathStep> {
    let tokens = pointer.split('/').skip(1);
    let step = |token: &str| match token.parse() {
        Ok(index) => PathStep::Index(index),
        Err(_) => PathStep::Key(token.replace("~1", "/").replace("~0", "~")),
    };
    tokens.map(step).collect()
}

/// The words of the param `job`, in the order in which they are listed.
pub(super) const JOBS: &[&str] = &[
    "convert",
    "parse",
    "open-trusted",
    "lookup",
    "traverse",
    "to-json",
    "bytes-to-name",
    "bytes-to-all",
    "json-to-all",
];

/// A contender, set up for one job.
pub(super) trait Job {
    /// Repeats the job this many times. The answer is that of any one repetition; not all jobs have
    /// an answer.
    fn run(&mut self, times: u64) -> Result<Option<u64>>;
    /// The digest of everything in the contender's form of the document, computed from its own JSON
    /// text.
    fn digest(&self) -> Result<u64>;
    /// The bytes that one repetition delivers, if that number is fixed; not the case by default.
    fn bytes(&self) -> u64 {
        0
    }
    fn size_bytes(&self) -> Option<u64>;
}

/// Prepares a format for a job: the input of the job is generated here, untimed.
pub(super) fn job<F: DocumentFormat>(
    word: &str,
    text: Vec<u8>,
    pointer: &str,
) -> Result<Box<dyn Job>> {
    let known = JOBS.iter().find(|job| **job == word);
    // The bytes are leaked: they stay until the process ends.
    let text: &'static [u8] = Box::leak(text.into_boxed_slice());
    let bytes: &'static [u8] = match F::bytes(text)? {
        Cow::Borrowed(bytes) => bytes,
        Cow::Owned(bytes) => Box::leak(bytes.into_boxed_slice()),
    };
    let scratch = Box::leak(Box::default());
    let doc = F::parse(bytes, scratch)?;
    let job = known.ok_or_else(|| format!("there is no job {word}"))?;
    Ok(Box::new(Prepared::<F> { job, text, bytes, doc, path: F::path(&steps(pointer)) }))
}

struct Prepared<F: DocumentFormat> {
    job: &'static str,
    text: &'static [u8],
    bytes: &'static [u8],
    doc: F::Doc<'static>,
    path: F::Path,
}

impl<F: DocumentFormat> Job for Prepared<F> {
    /// The timed interval includes dropping what is built.
    fn run(&mut self, times: u64) -> Result<Option<u64>> {
        let (bytes, text, path) = (self.bytes, self.text, &self.path);
        let found = |found: Option<u64>| found.ok_or("the path leads nowhere".to_owned());
        let mut scratch = Vec::new();
        let mut answer = None;
        for _ in 0..times {
            let doc = black_box(&self.doc);
            answer = match self.job {
                "convert" if F::IS_JSON => dropped(F::parse(black_box(text), &mut scratch)?),
                "convert" => dropped(F::bytes(black_box(text))?),
                "parse" => dropped(F::parse(black_box(bytes), &mut scratch)?),
                "open-trusted" => return self.opened(times),
                "lookup" => return self.found(times),
                "traverse" => Some(F::visit(doc)),
                "to-json" => dropped(F::print(doc)?),
                "bytes-to-name" => {
                    let doc = F::parse(black_box(bytes), &mut scratch)?;
                    Some(found(F::find(&doc, path))?)
                }
                "bytes-to-all" => Some(F::visit(&F::parse(black_box(bytes), &mut scratch)?)),
                _ => {
                    let bytes = F::bytes(black_box(text))?;
                    // Bytes that were generated here can be trusted; text cannot.
                    let doc = if F::IS_JSON {
                        F::parse(&bytes, &mut scratch)?
                    } else {
                        F::open(&bytes, &mut scratch)?
                    };
                    Some(F::visit(&doc))
                }
            };
        }
        Ok(answer)
    }

    fn digest(&self) -> Result<u64> {
        let text = F::print(&self.doc)?;
        let tree: Value = serde_json::from_slice(&text).map_err(message)?;
        Ok(digest(&tree))
    }

    fn size_bytes(&self) -> Option<u64> {
        Some(self.bytes.len() as u64)
    }
}

impl<F: DocumentFormat> Prepared<F> {
    /// These two jobs take nanoseconds, so their loops contain nothing else.
    fn opened(&self, times: u64) -> Result<Option<u64>> {
        let mut scratch = Vec::new();
        for _ in 0..times {
            black_box(&F::open(black_box(self.bytes), &mut scratch)?);
        }
        Ok(None)
    }

    fn found(&self, times: u64) -> Result<Option<u64>> {
        let mut answer = None;
        for _ in 0..times {
            answer = black_box(F::find(black_box(&self.doc), black_box(&self.path)));
        }
        answer.map(Some).ok_or("the path leads nowhere".to_owned())
    }
}

fn dropped<T>(made: T) -> Option<u64> {
    drop(black_box(made));
    None
}

pub(super) fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Cheap, because it is timed: the length and the first bytes.
#[inline]
pub(super) fn mark_of_text(text: &[u8]) -> u64 {
    let start = text.first_chunk::<4>().map_or(0, |start| u32::from_le_bytes(*start));
    text.len() as u64 + (u64::from(start) << 32)
}

#[inline]
pub(super) fn mark_of_number(number: f64) -> u64 {
    number.to_bits()
}

/// The contribution of a visited number to the sum.
#[inline]
pub(super) fn whole(number: f64) -> u64 {
    number as i64 as u64
}

/// Independent of the order of keys, and of whether a whole number is stored as an integer or as a
/// double.
pub(super) fn digest(value: &Value) -> u64 {
    match value {
        Value::Null => 1,
        Value::Bool(value) => 2 + u64::from(*value),
        Value::Number(number) => mixed(4, (number.as_f64().unwrap_or(f64::NAN) + 0.0).to_bits()),
        Value::String(text) => text.bytes().fold(5, |sum, byte| mixed(sum, u64::from(byte))),
        Value::Array(items) => items.iter().fold(6, |sum, item| mixed(sum, digest(item))),
        Value::Object(pairs) => pairs.iter().fold(7, |sum, (key, value)| {
            let key = key.bytes().fold(8, |sum, byte| mixed(sum, u64::from(byte)));
            mixed(key, digest(value)).wrapping_add(sum)
        }),
    }
}

/// The finaliser of splitmix64 over the sum so far.
fn mixed(sum: u64, next: u64) -> u64 {
    let mut z = sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ next;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `serde_json`: text into its own tree.
pub(crate) struct SerdeJson;

impl DocumentFormat for SerdeJson {
    type Doc<'a> = Value;
    type Path = Vec<PathStep>;

    const IS_JSON: bool = true;

    fn bytes(text: &[u8]) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(text))
    }

    fn parse<'a>(bytes: &'a [u8], _: &'a mut Vec<u8>) -> Result<Value> {
        serde_json::from_slice(bytes).map_err(message)
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

pub(super) fn find_in_tree(doc: &Value, path: &[PathStep]) -> Option<u64> {
    let mut value = doc;
    for step in path {
        value = match step {
            PathStep::Key(key) => value.get(key)?,
            PathStep::Index(index) => value.get(index)?,
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

pub(super) fn visit_tree(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Number(number) => number.as_f64().map_or(0, whole),
        Value::Bool(value) => u64::from(*value),
        Value::Array(items) => items.iter().fold(0, |sum, item| sum.wrapping_add(visit_tree(item))),
        Value::Object(pairs) => pairs.iter().fold(0, |sum, (key, value)| {
            sum.wrapping_add(key.len() as u64).wrapping_add(visit_tree(value))
        }),
        Value::Null => 0,
    }
}
