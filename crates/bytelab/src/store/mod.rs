//! Where runs are stored: the `Store` trait, and which store a command uses. A store contains what
//! was measured and nothing derived from it.

mod columns;
mod interface;
mod sqlite;
#[cfg(test)]
pub(crate) mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use lab::path_text::to_path;
use lab::run::{Listed, Run};

pub(crate) use self::interface::{Baseline, LOCK_LIMIT, Locked, Planned, Store, TOOK};

/// Opens the store that `--store` names, else `BYTELAB_STORE`, else the one in the user's data
/// directory. A store that does not exist is created.
pub(crate) fn open(flag: Option<OsString>) -> Result<Box<dyn Store>> {
    let path = locate(flag, |name| std::env::var_os(name))?;
    Ok(Box::new(sqlite::Sqlite::open(&path)?))
}

/// Reads the whole store that a command would open; one that does not exist is not created.
pub(crate) fn verify(flag: Option<OsString>) -> Result<()> {
    let path = locate(flag, |name| std::env::var_os(name))?;
    if path.exists() { sqlite::Sqlite::open(&path)?.verify() } else { Ok(()) }
}

/// This word stands for the run that started last, wherever the id of a run may stand.
pub(crate) const LATEST: &str = "latest";

/// The id of the run that the text names.
pub(crate) fn id_of(store: &mut dyn Store, text: &str) -> Result<String> {
    if text != LATEST {
        return Ok(text.to_owned());
    }
    let newest = store.list()?.into_iter().max_by(|a, b| a.started.cmp(&b.started));
    Ok(newest.context("the store is empty: nothing was measured yet")?.id)
}

/// The run that the text names.
pub(crate) fn load(store: &mut dyn Store, text: &str) -> Result<Run> {
    let id = id_of(store, text)?;
    store.load(&id)
}

/// Whether the run is from the machine: by the start of its fingerprint, or by words of its CPU's
/// name.
pub(crate) fn is_machine(run: &Listed, text: &str) -> bool {
    let model = run.machine.cpu_model.as_deref().unwrap_or_default().to_lowercase();
    !text.is_empty()
        && (run.machine.fingerprint.starts_with(text) || model.contains(&text.to_lowercase()))
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
        return Ok(named.to_str().map_or_else(|| PathBuf::from(&named), to_path));
    }
    // The XDG specification requires that a relative path is ignored.
    let data = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/share")));
    let data = data.context(
        "no place for the store: neither HOME nor XDG_DATA_HOME is set; name a file with --store",
    )?;
    Ok(data.join("bytelab/runs.sqlite"))
}
