//! What a store of runs does, whatever keeps it.

use std::time::Duration;

use anyhow::Result;
use lab::run::{Cell, Environment, Listed, Plan, Run, Sample, Warning};

/// Keeps runs, also while they are measured. Ids are never given twice, not even after a `delete`.
pub(crate) trait Store {
    /// Keeps a run with all it already holds, as not complete, and gives its id.
    fn begin(&mut self, run: &Run) -> Result<String>;

    /// Keeps a run that was measured elsewhere: all of it, or nothing.
    fn add(&mut self, run: &Run) -> Result<String>;

    /// How long each change waits from now on where another program keeps the store locked. The
    /// error is then a [`Locked`], and nothing was changed.
    fn set_lock_limit(&mut self, limit: Duration) -> Result<()>;

    /// Adds the cell at the next position of the run, or replaces all of a cell but its samples.
    fn put_cell(&mut self, id: &str, position: usize, cell: &Cell) -> Result<()>;

    /// Adds a sample to the cell at this position. Once it returns, a killed process loses nothing.
    fn append(
        &mut self,
        id: &str,
        position: usize,
        sample: &Sample,
        values: &[(&str, f64)],
    ) -> Result<()>;

    /// The samples of this session that were taken for times do not count any more, for this
    /// reason.
    fn set_aside(&mut self, id: &str, session: u32, reason: &str) -> Result<()>;

    /// Replaces the plan of a run, which keeps what was chosen while it was measured.
    fn put_plan(&mut self, id: &str, plan: &Plan) -> Result<()>;

    /// Keeps how a run stands: whether it is complete, with the environment and the notes as they
    /// are known now.
    fn finish(
        &mut self,
        id: &str,
        complete: bool,
        environment: &Environment,
        notes: &[Warning],
    ) -> Result<()>;

    /// The whole run, the samples of each cell in the order in which they were taken.
    fn load(&mut self, id: &str) -> Result<Run>;

    /// All runs, the oldest first.
    fn list(&mut self) -> Result<Vec<Listed>>;

    /// Removes a run; one that is a baseline stays, and the error says which.
    fn delete(&mut self, id: &str) -> Result<()>;

    /// Names a run that others are checked against; the name may have been another run's.
    fn set_baseline(&mut self, name: &str, id: &str) -> Result<()>;

    /// All baselines, by name.
    fn baselines(&mut self) -> Result<Vec<Baseline>>;

    /// Removes the name; the run stays.
    fn delete_baseline(&mut self, name: &str) -> Result<()>;
}

/// How long one process waits for others that write, if nothing else is said.
pub(crate) const LOCK_LIMIT: Duration = Duration::from_secs(30);

/// Another program has kept the store locked for too long.
#[derive(Debug)]
pub(crate) struct Locked(pub(super) String);

impl std::fmt::Display for Locked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Locked {}

/// A name for a run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Baseline {
    pub(crate) name: String,
    pub(crate) id: String,
}
