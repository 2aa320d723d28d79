//! What a format is.

use std::io::Write;

use anyhow::Result;

use super::cells::Exported;

/// A format: how it is called, and how a run is written in it.
pub(crate) struct Format {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Of files that hold this and nothing else that is known here.
    pub(crate) extensions: &'static [&'static str],
    pub(crate) kind: Kind,
    /// Gives a sentence for each thing that the format has no place for.
    pub(super) write: fn(&Exported<'_>, &mut (dyn Write + Send)) -> Result<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Json,
    /// Nothing for a terminal.
    Binary,
}
