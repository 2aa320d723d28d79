//! The interface of a store of runs, independent of the storage; which runs came from elsewhere,
//! and the UUIDs by which runs are known.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Result, ensure};
use model::param::Point;
use model::run::{Environment, Listed, Plan, Run};
use uuid::{NoContext, Timestamp, Uuid};

/// Keeps runs. Ids are never reused, not even after a `delete`.
pub trait Store {
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

    /// The part of a run that the history of a metric of a method needs: the samples of this method
    /// with this metric, and the answers of the others. The time that this takes depends on the
    /// samples of the method, and not on those of the run.
    fn load_method(&mut self, id: &str, method: &str, metric: &str) -> Result<Run>;

    /// The plan and the points of a run, without its cells and samples.
    fn load_plan(&mut self, id: &str) -> Result<StoredPlan>;

    /// All runs, the oldest first.
    fn list(&mut self) -> Result<Vec<Listed>>;

    /// The `n` runs that started last, the oldest of them first.
    fn newest(&mut self, n: usize) -> Result<Vec<Listed>> {
        let mut all = self.list()?;
        all.sort_by(|a, b| a.started.cmp(&b.started));
        Ok(all.split_off(all.len().saturating_sub(n)))
    }

    /// How far the clock of this machine, which says `now` (RFC 3339), is ahead of that of the
    /// server, in seconds.
    fn clock_ahead_s(&mut self, _now: &str) -> Result<i64> {
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
pub struct StoredPlan {
    pub plan: Plan,
    pub points: Vec<Point>,
    /// The fact [`TOOK`] of its environment.
    pub took_ns: Option<u64>,
}

/// The fact of a run's environment that says for how long it was measured.
pub const TOOK: &str = "measured_for_ns";

/// How long the run of this environment was measured. Runs of other programs have no such fact.
pub fn took_ns(environment: &Environment) -> Option<u64> {
    environment.facts.get(TOOK).and_then(serde_json::Value::as_u64)
}

/// How long a process waits for other writers, unless a limit is set.
pub const LOCK_LIMIT: Duration = Duration::from_secs(30);

/// Errors that are known by their type and have a text of their own.
macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(pub String);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::error::Error for $name {}
    )*};
}

errors! {
    /// Another program has locked the store for too long.
    Locked;
    /// A text names no run of the store, or several.
    NoRun;
    /// The data of a run are damaged, or those of a newer bytelab.
    Unreadable;
}

/// A name for a run.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Baseline {
    pub name: String,
    pub id: String,
}

/// The runs that were left out as they cannot be read.
#[derive(Debug, Default)]
pub struct OmittedRuns {
    n: usize,
    /// Why the first one cannot be read.
    why: String,
}

impl OmittedRuns {
    /// The results of `load` for these runs, without those that cannot be read.
    pub fn readable<T>(
        &mut self,
        listed: impl IntoIterator<Item = T>,
        mut load: impl FnMut(&T) -> Result<Run>,
    ) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        for run in listed {
            match load(&run) {
                Ok(run) => runs.push(run),
                Err(error) => self.count(error)?,
            }
        }
        Ok(runs)
    }

    /// Counts the run whose error this is; returns an error that is another one.
    fn count(&mut self, error: anyhow::Error) -> Result<()> {
        let why = error.downcast::<Unreadable>()?.to_string();
        if self.n == 0 {
            self.why = why;
        }
        self.n += 1;
        Ok(())
    }

    /// A message for the user, if a run was left out.
    pub fn message(&self) -> Option<String> {
        match self.n {
            0 => None,
            1 => Some(format!("1 run cannot be read and is left out: {}", self.why)),
            n => Some(format!("{n} runs cannot be read and are left out, such as {}", self.why)),
        }
    }
}

pub(crate) fn no_run(id: &str) -> NoRun {
    NoRun(format!("no run {id:?}; `bytelab history` lists all"))
}

pub(crate) fn several_runs(id: &str) -> NoRun {
    NoRun(format!("several runs have an id that starts with {id:?}: write more of it"))
}

/// Whether a store that has a run already lacks what was measured since.
pub(crate) fn ensure_not_older(complete: bool, samples: u64, run: &Run) -> Result<()> {
    let now: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
    ensure!(
        complete || !run.complete && samples >= now as u64,
        "the server has run {} as it was before it was complete, with {samples} of {now} \
         samples: delete it there first",
        run.uuid
    );
    Ok(())
}

// Which runs came from elsewhere, so that no command from them is started.

const FROM: &str = "imported_from";

/// Records in a run's environment from where it was imported.
pub fn mark_imported(environment: &mut Environment, from: &str) {
    environment.facts.insert(FROM.to_owned(), from.into());
}

/// Commands of such a run are untrusted: anybody may have written them.
pub fn is_imported(environment: &Environment) -> bool {
    environment.facts.contains_key(FROM)
}

// The UUIDs by which runs are known in all stores: of version 7, whose first bits are the time.

/// The fewest digits that may stand for a UUID.
const DIGITS_MIN: usize = 4;

/// A new UUID for a run that started at this time (RFC 3339; 1970 if it is none).
pub fn uuid_of(started: &str) -> String {
    let started = humantime::parse_rfc3339(started).ok();
    let since = started.and_then(|started| started.duration_since(UNIX_EPOCH).ok());
    let since = since.unwrap_or_default();
    let time = Timestamp::from_unix(NoContext, since.as_secs(), since.subsec_nanos());
    Uuid::new_v7(time).to_string()
}

/// Whether the text may be the start of a UUID.
pub(crate) fn is_uuid_start(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_hexdigit() || c == '-';
    (DIGITS_MIN..=36).contains(&text.len()) && text.chars().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_different_and_sorted_by_time() {
        let (old, new) = (uuid_of("2025-01-02T03:04:05Z"), uuid_of("2026-01-02T03:04:05Z"));
        assert!(old < new);
        assert!(old.starts_with("019424"), "{old}");
        assert_ne!(uuid_of("2025-01-02T03:04:05Z"), old);
        for odd in ["", "1969-12-31T23:59:59Z", "yesterday"] {
            assert_eq!(Uuid::parse_str(&uuid_of(odd)).unwrap().get_version_num(), 7);
        }
    }

    #[test]
    fn the_start_of_a_uuid_has_four_digits() {
        assert!(is_uuid_start("0194") && is_uuid_start(&uuid_of("")));
        for no in ["019", "latest", "0194 ", "0194%", "", "é194", &"0".repeat(37)] {
            assert!(!is_uuid_start(no), "{no}");
        }
    }
}
