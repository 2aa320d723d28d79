//! The subcommands: one file or folder each, with its arguments and its `run(args, &Context)`.

pub(crate) mod baseline;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod compare;
mod comparing;
pub(crate) mod completions;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod exit;
pub(crate) mod export;
pub(crate) mod hidden;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod init;
mod likeness;
pub(crate) mod list;
pub(crate) mod measure_args;
pub(crate) mod numbers;
pub(crate) mod output;
pub(crate) mod program_file;
pub(crate) mod push;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod self_test;
pub(crate) mod serve;
pub(crate) mod study_files;
mod suite;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Result;
use clap::builder::{PathBufValueParser, TypedValueParser};
use experiments::Catalogue;
use measure::experiment::Experiment;
use model::path_text::to_path;
use model::run::Run;
use store::{LocalStore, NamedRun, OmittedRuns, Server, Store};

use crate::console;
use crate::measuring::RunRequest;
use ::report::{PageLayout, escape_controls};

/// The context that every command receives besides its arguments.
pub(crate) struct Context {
    /// The flag `--store`.
    pub(crate) store: Option<OsString>,
    pub(crate) experiments: Catalogue,
    /// The whole command line, with the params of these experiments as flags.
    pub(crate) command: fn(&[Experiment]) -> clap::Command,
}

impl Context {
    pub(crate) fn open_store(&self) -> Result<Box<dyn Store>> {
        store::open(self.store.clone())
    }

    /// The store into which a run is measured.
    pub(crate) fn local_store(&self, push_to: Option<Server>) -> Result<LocalStore> {
        LocalStore::open(self.store.clone(), push_to)
    }

    /// The store into which the request is measured, or `None` if the run is not to be kept.
    pub(crate) fn store_of(&self, request: &RunRequest) -> Result<Option<LocalStore>> {
        request.keep.then(|| self.local_store(request.push_to.clone())).transpose()
    }
}

/// The id of the run that the text names. Standard error says if that is not the one which started
/// last, because it cannot be read.
pub(crate) fn run_id(store: &mut dyn Store, text: &str) -> Result<String> {
    let NamedRun { id, unreadable } = NamedRun::find(store, text)?;
    if let Some(newest) = unreadable {
        note(&format!("run {newest} cannot be read: the newest one that can is run {id}"))?;
    }
    Ok(id)
}

/// The run that the text names.
pub(crate) fn load_run(store: &mut dyn Store, text: &str) -> Result<Run> {
    let id = run_id(store, text)?;
    store.load(&id)
}

/// The layout of text on standard output.
pub(crate) fn layout() -> PageLayout {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    PageLayout {
        width: columns.or(terminal).unwrap_or(80).clamp(60, 200),
        colour: anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
    }
}

/// The results of `load` for these runs. Those that cannot be read are left out, with a message on
/// standard error.
pub(crate) fn readable<T>(
    listed: impl IntoIterator<Item = T>,
    load: impl FnMut(&T) -> Result<Run>,
) -> Result<Vec<Run>> {
    let mut left_out = OmittedRuns::default();
    let runs = left_out.readable(listed, load)?;
    left_out.message().map_or(Ok(()), |text| note(&text))?;
    Ok(runs)
}

/// A line on standard error. Names of the user, of files and of programs are in it.
pub(crate) fn note(text: &str) -> io::Result<()> {
    console::message(&format!("bytelab: {}", escape_controls(text)))
}

pub(crate) fn warn_if_unoptimised() {
    if !measure::environment::optimised() {
        let _ = writeln!(
            console::stderr(),
            "bytelab: this build is not optimised and its numbers mean nothing; use cargo run --release"
        );
    }
}

/// Parses a path. One that was typed is text by now; one of a variable may have any bytes.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| path.to_str().map(to_path).unwrap_or(path))
}
