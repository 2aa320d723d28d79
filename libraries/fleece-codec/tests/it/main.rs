//! The library from outside: all vectors, hostile data, and round trips.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]
#![expect(
    clippy::needless_for_each,
    clippy::semicolon_if_nothing_returned,
    reason = "one line a call"
)]

mod amend_keys;
mod api;
mod bounds;
mod delta;
mod equality;
mod hostile;
mod inner;
mod json;
mod json_delta;
mod parents;
mod reference;
mod round_trip;
mod rules;
mod serde;
mod structure;
mod suites;
mod vectors;

use fleece_codec::ErrorKind;

/// Why a document that the original accepts may be refused: each is a defect of the original.
const DEFECTS: [ErrorKind; 5] = [
    ErrorKind::TooDeep,
    ErrorKind::BadLength,
    ErrorKind::BadKey,
    ErrorKind::BadParent,
    ErrorKind::BadUtf8,
];

/// A file of `tests/data`.
fn data(path: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A document of the vectors.
fn vector(name: &str) -> Vec<u8> {
    data(&format!("vectors/{name}.fleece"))
}

/// The rows of a table, without its heading.
fn table(path: &str) -> Vec<Vec<String>> {
    let text = String::from_utf8(data(path)).unwrap();
    let row = |line: &str| line.split('\t').map(String::from).collect();
    text.lines().skip(1).map(row).collect()
}
