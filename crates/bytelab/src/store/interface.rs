//! The interface of a store of runs, independent of the storage.

use std::time::Duration;

use anyhow::Result;
use lab::param::Point;
use lab::run::{Cell, Environment, Listed, Plan, Run, Sample, Warning};

/// Stores runs, also while they are measured. Ids are never reused, not even after a `delete`.
pub(crate) trait Store {
    /// Stores a run with its current content, as not complete, and returns its id.
    fn begin(&mut self, run: &Run) -> Result<String>;

    /// Stores a run that was measured elsewhere: all of it, or nothing.
    fn add(&mut self, run: &Run) -> Result<String>;

    /// Sets how long a run that begins or ends waits while another program has locked the store.
    /// The error is then a [`Locked`]; an end that was not stored is kept, and stored later.
    fn set_lock_limit(&mut self, limit: Duration) -> Result<()>;

    /// Adds the cell at the next position of the run, or replaces everything in a cell except its
    /// samples.
    fn put_cell(&mut self, id: &str, position: usize, cell: &Cell) -> Result<()>;

    /// Adds a sample to the cell at this position. Once it returns, a killed process loses nothing.
    /// It waits for no lock.
    fn append(
        &mut self,
        id: &str,
        position: usize,
        sample: &Sample,
        values: &[(&str, f64)],
    ) -> Result<()>;

    /// Marks the timing samples of this session as no longer counted, for this reason.
    fn set_aside(&mut self, id: &str, session: u32, reason: &str) -> Result<()>;

    /// Replaces the plan of a run; the plan records choices that were made while measuring.
    fn put_plan(&mut self, id: &str, plan: &Plan) -> Result<()>;

    /// Stores the state of a run: whether it is complete, with the current environment and notes.
    fn finish(
        &mut self,
        id: &str,
        complete: bool,
        environment: &Environment,
        notes: &[Warning],
    ) -> Result<()>;

    /// The whole run, with the samples of each cell in the order in which they were taken.
    fn load(&mut self, id: &str) -> Result<Run>;

    /// What the history of a metric of a method needs of a run: the samples of this method with
    /// this metric, and the answers of the others. The time that this takes depends on the samples
    /// of the method, and not on those of the run.
    fn load_method(&mut self, id: &str, method: &str, metric: &str) -> Result<Run>;

    /// What is measured in a run, without its cells and samples.
    fn planned(&mut self, id: &str) -> Result<Planned>;

    /// All runs, the oldest first.
    fn list(&mut self) -> Result<Vec<Listed>>;

    /// Gives a run another label, or none.
    fn set_label(&mut self, id: &str, label: Option<&str>) -> Result<()>;

    /// Removes a run and gives its space back. A baseline is kept, and so is a run that another
    /// process measures; the error says so.
    fn delete(&mut self, id: &str) -> Result<()>;

    /// Names a run that others are checked against; the name may have belonged to another run.
    fn set_baseline(&mut self, name: &str, id: &str) -> Result<()>;

    /// All baselines, by name.
    fn baselines(&mut self) -> Result<Vec<Baseline>>;

    /// Removes the name; the run is kept.
    fn delete_baseline(&mut self, name: &str) -> Result<()>;
}

/// The plan of a run, with its points.
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) points: Vec<Point>,
    /// The fact [`TOOK`] of its environment.
    pub(crate) took_ns: Option<u64>,
}

/// The fact of a run's environment that says for how long it was measured.
pub(crate) const TOOK: &str = "measured_for_ns";

/// How long a process waits for other writers, unless a limit is set.
pub(crate) const LOCK_LIMIT: Duration = Duration::from_secs(30);

/// Another program has locked the store for too long.
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
