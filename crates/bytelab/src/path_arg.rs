//! Paths among the arguments.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use lab::path_text::to_path;

/// Parses a path. One that was typed is text by now; one of a variable may have any bytes.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| path.to_str().map(to_path).unwrap_or(path))
}
