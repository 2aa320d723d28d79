//! The definition of a format.

use std::io::Write;

use anyhow::Result;

use super::cells::Exported;

/// A format: its name, and the function that writes a run.
pub(crate) struct Format {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Extensions of files that contain this format and no other one listed here.
    pub(crate) extensions: &'static [&'static str],
    pub(crate) kind: Kind,
    /// Returns a sentence for each item that the format cannot represent.
    pub(super) write: fn(&Exported<'_>, &mut (dyn Write + Send)) -> Result<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Json,
    /// Not suitable for a terminal.
    Binary,
}
