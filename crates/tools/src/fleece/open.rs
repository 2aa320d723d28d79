//! Opens a document, checked or trusted.

use std::sync::Arc;

use anyhow::Result;
use fleece_codec::{CheckOptions, Doc, Error, ErrorKind, SharedKeys};

use super::file::Input;
use super::refused::refused;

/// Opens the document and checks it unless it is trusted. If there is a table of shared keys, the
/// check also requires a name for each numeric key.
pub(super) fn opened(
    input: &Input,
    trusted: bool,
    keys: Option<Arc<SharedKeys>>,
) -> Result<Doc<&[u8]>> {
    let bytes = input.bytes.as_slice();
    let wrong = |error: Error| refused(&format!("{}: {error}", input.name));
    let Some(keys) = keys else {
        return if trusted { Doc::open(bytes) } else { Doc::check(bytes) }.map_err(wrong);
    };
    if trusted {
        return Doc::open(bytes).map(|doc| doc.with_shared_keys(keys)).map_err(wrong);
    }
    CheckOptions::new().shared_keys(keys).check(bytes).map_err(|error| match error.offset() {
        Some(at) if error.kind() == ErrorKind::UnknownSharedKey => unknown_key(input, at),
        _ => wrong(error),
    })
}

pub(super) fn unknown_key(input: &Input, at: usize) -> anyhow::Error {
    let number = match input.bytes.get(at..at + 2) {
        Some(&[high @ 0..8, low]) => format!("key number {}", u16::from_be_bytes([high, low])),
        _ => "a key that is a number".to_owned(),
    };
    let name = &input.name;
    refused(&format!(
        "{name}: {number} has no name, at byte {at}; give the table with --shared-keys"
    ))
}
