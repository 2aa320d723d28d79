//! The arguments of the subcommands that read or write documents.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use fleece_codec::SharedKeys;

use super::refused::refused;

#[derive(Args)]
pub(super) struct Encode {
    pub(super) file: Option<PathBuf>,
    /// Where to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// The input has one JSON text on each line; the document is an array of them
    #[arg(long)]
    pub(super) json_lines: bool,
    #[command(flatten)]
    pub(super) keys: Keys,
}

#[derive(Args)]
pub(super) struct Decode {
    pub(super) file: Option<PathBuf>,
    /// Where to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Write the items of the array, one on each line
    #[arg(long)]
    pub(super) json_lines: bool,
    /// Indent by two spaces
    #[arg(long, conflicts_with = "json_lines")]
    pub(super) pretty: bool,
    /// Do not check the document: for trusted data
    #[arg(long)]
    pub(super) trusted: bool,
    #[command(flatten)]
    pub(super) keys: Keys,
}

#[derive(Args)]
pub(super) struct Database {
    /// A Couchbase Lite database; the document is read with the shared keys of the database
    #[arg(long, value_name = "FILE.cblite2", requires = "doc", conflicts_with_all = ["file", "shared_keys"])]
    pub(super) cblite: Option<PathBuf>,
    /// The id of a document in the database's default collection
    #[arg(long, value_name = "ID", requires = "cblite")]
    pub(super) doc: Option<String>,
}

#[derive(Args)]
pub(super) struct Keys {
    /// A table of shared keys: the names of numeric dict keys; `encode` creates the file and adds
    /// names
    #[arg(long, value_name = "FILE")]
    pub(super) shared_keys: Option<PathBuf>,
}

impl Keys {
    pub(super) fn load(&self) -> Result<Option<SharedKeys>> {
        let Some(path) = &self.shared_keys else { return Ok(None) };
        let state = std::fs::read(path)
            .with_context(|| format!("reading the shared keys {}", path.display()))?;
        let keys = SharedKeys::from_state(&state);
        keys.map(Some).map_err(|error| refused(&format!("{}: {error}", path.display())))
    }
}
