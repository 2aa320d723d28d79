//! The measurement job, and the observer of the growing run.

use anyhow::Result;

use crate::analyze::Decided;
use crate::experiment::{Experiment, Method};
use crate::run::Run;

/// The methods and points to measure, and the means to do so.
pub struct Job<'a> {
    pub experiment: &'a Experiment,
    /// The chosen methods of the experiment, and the user's own; the first is the reference.
    pub methods: Vec<Method>,
    /// Before the run has this number of sessions, neither a decision nor its time ends it.
    pub least_sessions: u32,
}

/// Receives the run as it grows: implemented by the store and the progress line. What is not
/// implemented does nothing.
pub trait Record {
    /// The run has its cells and no samples yet; the implementation sets its id.
    fn begin(&mut self, run: &mut Run) -> Result<()>;
    /// The status, language or digest of a cell has changed.
    fn cell(&mut self, _run: &Run, _cell: usize) -> Result<()> {
        Ok(())
    }
    /// The cell has a new last sample.
    fn sample(&mut self, _run: &Run, _cell: usize) -> Result<()> {
        Ok(())
    }
    /// The session was interrupted: its samples, which are in the run, no longer count.
    fn set_aside(&mut self, _run: &Run, _session: u32) -> Result<()> {
        Ok(())
    }
    /// The plan has changed: the deciding measure was chosen.
    fn planned(&mut self, _run: &Run) -> Result<()> {
        Ok(())
    }
    /// Called between samples, with the run until now.
    fn progress(&mut self, _run: &Run, _progress: &Progress<'_>) {}
    /// The environment, the notes and `complete` are final.
    fn finish(&mut self, _run: &Run) -> Result<()> {
        Ok(())
    }
}

/// The current state of the measurement.
#[derive(Clone, Debug)]
pub enum Progress<'a> {
    Preparing {
        method: &'a str,
        done: usize,
        of: usize,
    },
    /// The round, counted over all sessions.
    Round {
        round: u32,
        /// The maximum number of rounds.
        rounds: u32,
        spent_ns: u64,
        /// Remaining time of the rounds; none before the first one has been taken.
        left_ns: Option<u64>,
    },
    /// The time of the run is too short for its first look, after this number of sessions, and it
    /// goes on for about this long until then.
    Longer {
        sessions: u32,
        ns: u64,
    },
    /// The time will not suffice for the sessions of a verdict: a limit that would, and the one
    /// that was given, if any.
    Short {
        sessions: u32,
        limit_ns: u64,
        given_ns: Option<u64>,
    },
    /// After a session of a run of sequential design in which verdicts may have changed.
    Looked {
        decided: &'a Decided,
        /// By cell, whether it takes part in no later session.
        left: &'a [bool],
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
