//! What is measured, and whoever sees the run grow.

use anyhow::Result;

use crate::experiment::{Experiment, Method};
use crate::run::Run;

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
