//! From the first sample to the store, the line of progress, and the file of the timeline.

use std::path::Path;

use anyhow::{Context, Result};
use lab::experiment::Data;
use lab::launch::{Launcher, Stop};
use lab::measure::{Job, Progress, Record, measure, trace};
use lab::run::{Note, Run};

use crate::owner;
use crate::progress::ProgressLine;
use crate::store::Store;
use crate::trace_file::TraceFile;
use crate::workers::Toolchain;

/// Where what is measured goes.
pub(super) struct Output {
    pub(super) store: Option<Box<dyn Store>>,
    pub(super) line: ProgressLine,
    pub(super) trace: Option<TraceFile>,
    pub(super) toolchains: Vec<Toolchain>,
}

/// Whether all that was made is removed.
pub(super) fn record(
    job: &Job<'_>,
    run: &mut Run,
    data: Vec<Data>,
    output: Output,
    stop: &Stop,
) -> Result<bool> {
    let file = run.plan.definition.as_ref().map(|definition| Path::new(&definition.file));
    let mut launcher = Launcher {
        program: std::env::current_exe().context("finding this program")?,
        sample_limit_ns: run.plan.sample_limit_ns,
        fresh: run.plan.fresh,
        dir: file.and_then(Path::parent).map(Path::to_owned),
        stop: stop.clone(),
    };
    let Output { store, line, trace: file, toolchains } = output;
    let mut recorder = Recorder { store, line, toolchains };
    let mut measured = measure(job, run, &data, &mut launcher, &mut recorder, stop);
    if measured.is_ok()
        && run.complete
        && let Some(file) = file
    {
        measured = trace(job, run, &data, &mut launcher, &mut recorder, stop)
            .and_then(|timeline| timeline.map_or(Ok(()), |timeline| file.write(&timeline)));
    }
    recorder.line.clear();
    let left = end(data);
    let tidy = left.is_empty();
    if !tidy && measured.is_ok() {
        run.notes.extend(left);
        recorder.finish(run)?;
    }
    measured.map(|()| tidy)
}

/// What went wrong when the data was put away, each once.
fn end(data: Vec<Data>) -> Vec<Note> {
    let mut left: Vec<Note> = Vec::new();
    for mut data in data {
        if let Err(error) = data.ending.end() {
            let text = format!("{error:#}");
            if left.iter().all(|note| note.text != text) {
                left.push(Note { method: None, point: None, text });
            }
        }
    }
    left
}

/// Hands the growing run to the store and the progress line.
struct Recorder {
    store: Option<Box<dyn Store>>,
    line: ProgressLine,
    /// What the workers of the run were built by.
    toolchains: Vec<Toolchain>,
}

impl Record for Recorder {
    fn begin(&mut self, run: &mut Run) -> Result<()> {
        owner::sign(&mut run.environment);
        let facts = &mut run.environment.facts;
        facts.extend(self.toolchains.iter().map(|t| (t.fact(), t.version.clone().into())));
        run.id = match &mut self.store {
            Some(store) => store.begin(run)?,
            None => "not stored".to_owned(),
        };
        Ok(())
    }

    fn cell(&mut self, run: &Run, cell: usize) -> Result<()> {
        match &mut self.store {
            Some(store) => store.put_cell(&run.id, cell, &run.cells[cell]),
            None => Ok(()),
        }
    }

    fn sample(&mut self, run: &Run, cell: usize) -> Result<()> {
        let Some(store) = &mut self.store else { return Ok(()) };
        let Some((sample, values)) = run.cells[cell].last() else { return Ok(()) };
        store.append(&run.id, cell, sample, &values)
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        self.line.show(progress);
    }

    fn finish(&mut self, run: &Run) -> Result<()> {
        match &mut self.store {
            Some(store) => store.finish(&run.id, run.complete, &run.environment, &run.notes),
            None => Ok(()),
        }
    }
}
