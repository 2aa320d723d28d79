//! The interface of a store of runs, independent of the storage.

use std::time::Duration;

use anyhow::{Result, ensure};
use lab::param::Point;
use lab::run::{Listed, Plan, Run};

/// Keeps runs. Ids are never reused, not even after a `delete`.
pub(crate) trait Store {
    /// Stores a run that was measured elsewhere: all of it, or nothing. A run without a UUID, or
    /// with that of another run of this store, gets a new one.
    fn add(&mut self, run: &Run) -> Result<String>;

    /// Stores a run under its UUID, all of it or nothing, and returns whether it was added: a store
    /// that has it stays as it is.
    fn add_once(&mut self, run: &Run) -> Result<bool>;

    /// The id of the run that the text names: its id, or the start of its UUID that no other run
    /// has.
    fn find(&mut self, text: &str) -> Result<String>;

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

    /// The `n` runs that started last, the oldest of them first.
    fn newest(&mut self, n: usize) -> Result<Vec<Listed>> {
        let mut all = self.list()?;
        all.sort_by(|a, b| a.started.cmp(&b.started));
        Ok(all.split_off(all.len().saturating_sub(n)))
    }

    /// How far the clock of this machine is ahead of that of the server, in seconds.
    fn clock_ahead_s(&mut self) -> Result<i64> {
        Ok(0)
    }

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

/// The data of a run is not what was written.
#[derive(Debug)]
pub(crate) struct Damaged(pub(super) String);

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Damaged {}

/// A name for a run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Baseline {
    pub(crate) name: String,
    pub(crate) id: String,
}

/// A text names no run of the store, or several.
#[derive(Debug)]
pub(crate) struct NoRun(pub(super) String);

impl std::fmt::Display for NoRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoRun {}

pub(super) fn no_run(id: &str) -> NoRun {
    NoRun(format!("no run {id:?}; `bytelab history` lists all"))
}

pub(super) fn several_runs(id: &str) -> NoRun {
    NoRun(format!("several runs have an id that starts with {id:?}: write more of it"))
}

/// Whether a store that has a run already lacks what was measured since.
pub(super) fn ensure_not_older(complete: bool, samples: u64, run: &Run) -> Result<()> {
    let now: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
    ensure!(
        complete || !run.complete && samples >= now as u64,
        "run {} is there as it was before it was complete, with {samples} of {now} samples: delete \
         it there first",
        run.uuid
    );
    Ok(())
}
