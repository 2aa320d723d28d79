//! What all passes over a run share: the job, whoever sees the run grow, and what a cell is measured with.

use anyhow::Result;

use crate::experiment::{Data, Experiment, How, Method};
use crate::param::Point;
use crate::run::{Cell, Note, Role, Run};

/// What is to be measured, and with what.
pub struct Job<'a> {
    pub experiment: &'a Experiment,
    /// Those of the experiment that were chosen, and the user's own; the first is the reference.
    pub methods: Vec<Method>,
}

/// Sees the run grow: the store, and the progress line.
pub trait Record {
    /// The run has its cells and no samples yet; gives it its id.
    fn begin(&mut self, run: &mut Run) -> Result<()>;
    /// A cell's status, language or digest is new.
    fn cell(&mut self, run: &Run, cell: usize) -> Result<()>;
    /// The cell has a new last sample.
    fn sample(&mut self, run: &Run, cell: usize) -> Result<()>;
    /// The session was interrupted: its samples, which are in the run, do not count any more.
    fn set_aside(&mut self, run: &Run, session: u32) -> Result<()>;
    /// The plan has changed: what decides is chosen.
    fn planned(&mut self, _run: &Run) -> Result<()> {
        Ok(())
    }
    fn progress(&mut self, progress: &Progress<'_>);
    /// The environment, the notes and `complete` are final.
    fn finish(&mut self, run: &Run) -> Result<()>;
}

/// Why the samples of a session that a signal or a crash ended do not count.
pub const INTERRUPTED: &str = "its session was interrupted";

/// Where the measurement stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress<'a> {
    Preparing {
        method: &'a str,
        done: usize,
        of: usize,
    },
    /// Of all sessions together.
    Round {
        round: u32,
        /// As many as there are at most.
        rounds: u32,
        spent_ns: u64,
        /// Of the rounds; none before the first one has been taken.
        left_ns: Option<u64>,
    },
    Counting {
        round: u32,
        rounds: u32,
    },
    Tracing {
        method: &'a str,
        done: usize,
        of: usize,
    },
}

/// What a method gets to know of its point.
pub(crate) fn arguments(job: &Job<'_>, data: &Data, method: &Method) -> Point {
    let declared = |name: &str| job.experiment.params.iter().any(|param| param.name == name);
    let told = |name: &str| method.reads.contains(&name) || !declared(name) || name == "file";
    let of_old = data.old_arguments.as_ref().filter(|_| matches!(method.how, How::Old { .. }));
    of_old.unwrap_or(&data.arguments).only(told)
}

/// Why a metric is missing: of one method, or of all. It is said once.
pub(crate) fn note_missing(run: &mut Run, method: Option<&str>, metric: &str, why: &str) {
    let about = format!("{metric}: ");
    let known = |n: &Note| n.method.as_deref() == method && n.text.starts_with(&about);
    if !run.notes.iter().any(known) {
        let method = method.map(str::to_owned);
        run.notes.push(Note { method, point: None, text: about + why });
    }
}

/// By cell, whether it is one of the reference.
pub(crate) fn are_of_reference(job: &Job<'_>, run: &Run) -> Vec<bool> {
    let reference = job.methods.first().map(|method| method.name.as_str());
    run.cells.iter().map(|cell| Some(cell.method.as_str()) == reference).collect()
}

/// The first full point that holds the cell's values.
pub(crate) fn point_of(run: &Run, cell: &Cell) -> usize {
    run.points.iter().position(|point| cell.point.is_part_of(point)).unwrap_or_default()
}

/// Whether a method's payload can be wrong: a yardstick may hand over nothing.
pub(crate) fn must_hand_over_all(cell: &Cell) -> bool {
    cell.role == Role::Contender
}
