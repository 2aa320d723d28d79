//! Where runs are kept: the `Store` trait, and which store a command means. A store keeps what was
//! measured and nothing derived from it.

mod columns;
mod sqlite;
#[cfg(test)]
pub(crate) mod suite;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lab::run::{Cell, Environment, Listed, Plan, Run, Sample, Warning};

/// Keeps runs, also while they are measured. Ids are never given twice, not even after a `delete`.
pub(crate) trait Store {
    /// Keeps a run with all it already holds, as not complete, and gives its id.
    fn begin(&mut self, run: &Run) -> Result<String>;

    /// Keeps a run that was measured elsewhere: all of it, or nothing.
    fn add(&mut self, run: &Run) -> Result<String>;

    /// How long each change waits from now on where another program keeps the store locked. The error is then a
    /// [`Locked`], and nothing was changed.
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

    /// The samples of this session that were taken for times do not count any more, for this reason.
    fn set_aside(&mut self, id: &str, session: u32, reason: &str) -> Result<()>;

    /// Replaces the plan of a run, which keeps what was chosen while it was measured.
    fn put_plan(&mut self, id: &str, plan: &Plan) -> Result<()>;

    /// Keeps how a run stands: whether it is complete, with the environment and the notes as they are known now.
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
pub(crate) struct Locked(String);

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

/// Opens the store that `--store` names, else `BYTELAB_STORE`, else the one in the user's data
/// directory. One that does not exist yet is made.
pub(crate) fn open(flag: Option<OsString>) -> Result<Box<dyn Store>> {
    let path = locate(flag, |name| std::env::var_os(name))?;
    Ok(Box::new(sqlite::Sqlite::open(&path)?))
}

/// The run of this id, or the one that started last.
pub(crate) fn load(store: &mut dyn Store, id: &str) -> Result<Run> {
    if id != "latest" {
        return store.load(id);
    }
    let newest = store.list()?.into_iter().max_by(|a, b| a.started.cmp(&b.started));
    store.load(&newest.context("the store is empty: nothing was measured yet")?.id)
}

fn locate(flag: Option<OsString>, variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    // An empty variable means an unset one; an empty flag is a mistake.
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    if let Some(named) = flag.or_else(|| variable("BYTELAB_STORE")) {
        let text = named.to_string_lossy();
        if text.is_empty() {
            bail!("--store is empty: name a file");
        }
        // The URL may hold a password: it is not repeated.
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            bail!(
                "the store is a PostgreSQL URL, but this build keeps runs in SQLite: name a file"
            );
        }
        return Ok(named.into());
    }
    // The XDG specification: a relative path is to be ignored.
    let data = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/share")));
    let data = data.context(
        "no place for the store: neither HOME nor XDG_DATA_HOME is set; name a file with --store",
    )?;
    Ok(data.join("bytelab/runs.sqlite"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(flag: Option<&str>, variables: &[(&str, &str)], expected: &str) {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        };
        let got = match locate(flag.map(Into::into), variable) {
            Ok(path) => path.display().to_string(),
            Err(error) => format!("{error:#}"),
        };
        assert_eq!(got, expected);
    }

    #[test]
    fn the_flag_is_first_then_the_variable_then_the_data_directory() {
        let all = [("BYTELAB_STORE", "v"), ("XDG_DATA_HOME", "/x"), ("HOME", "/h")];
        check(Some("f"), &all, "f");
        check(None, &all, "v");
        check(None, &all[1..], "/x/bytelab/runs.sqlite");
        check(None, &all[2..], "/h/.local/share/bytelab/runs.sqlite");
    }

    #[test]
    fn empty_variables_and_relative_data_directories_are_ignored() {
        let odd = [("BYTELAB_STORE", ""), ("XDG_DATA_HOME", "x"), ("HOME", "/h")];
        check(None, &odd, "/h/.local/share/bytelab/runs.sqlite");
    }

    #[test]
    fn a_store_that_cannot_be_located_says_what_to_do() {
        check(Some(""), &[], "--store is empty: name a file");
        check(
            None,
            &[("HOME", "")],
            "no place for the store: neither HOME nor XDG_DATA_HOME is set; name a file with --store",
        );
        check(
            Some("postgres://me:secret@host/db"),
            &[],
            "the store is a PostgreSQL URL, but this build keeps runs in SQLite: name a file",
        );
    }
}
