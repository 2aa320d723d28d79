//! Where runs are stored: the `Store` trait, and which store a command uses. A store contains what
//! was measured and nothing derived from it.

mod interface;
mod packed;
#[cfg(feature = "postgres")]
mod postgres;
mod server;
mod sqlite;

use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use lab::path_text::to_path;
use lab::run::{Listed, Run};

pub(crate) use self::interface::{
    Baseline, LOCK_LIMIT, LeftOut, Locked, NoRun, Planned, Store, TOOK, Unreadable, is_imported,
    mark_imported, uuid_of,
};
pub(crate) use self::server::{Server, secret_variables};
use self::sqlite::Sqlite;
use crate::pattern;

/// Opens the store that `--store` names, else `BYTELAB_STORE`, else the one in the user's data
/// directory. A store that does not exist is created.
pub(crate) fn open(flag: Option<OsString>) -> Result<Box<dyn Store>> {
    match locate(flag, |name| std::env::var_os(name))? {
        Location::File(path) => Ok(Box::new(Sqlite::open(&path)?)),
        Location::Server(server) => server.open(),
    }
}

/// Opens the store that [`open`] would open; one that does not exist is not created.
pub(crate) fn open_existing(flag: Option<OsString>) -> Result<Box<dyn Store>> {
    if let Location::File(path) = locate(flag.clone(), |name| std::env::var_os(name))? {
        ensure!(path.exists(), "store {} is not there", path.display());
    }
    open(flag)
}

/// Reads the whole store that a command would open; one that does not exist is not created.
pub(crate) fn verify(flag: Option<OsString>) -> Result<()> {
    match locate(flag, |name| std::env::var_os(name))? {
        Location::File(path) if path.exists() => Sqlite::open(&path)?.verify(),
        Location::File(_) => Ok(()),
        Location::Server(server) => {
            let mut store = server.open()?;
            store.list()?.iter().try_for_each(|run| store.load(&run.id).map(drop))
        }
    }
}

/// This word stands for the run that started last, wherever the id of a run may stand.
pub(crate) const LATEST: &str = "latest";

/// The id of the run that the text names.
pub(crate) fn id_of(store: &mut dyn Store, text: &str) -> Result<String> {
    if text != LATEST {
        return store.find(text);
    }
    let newest = store.newest(1)?.pop();
    let newest = newest.context("the store is empty: nothing was measured yet")?.id;
    if is_readable(store, &newest)? {
        return Ok(newest);
    }
    for before in store.newest(LATEST_TRIED)?.into_iter().rev().skip(1) {
        if is_readable(store, &before.id)? {
            writeln!(
                io::stderr(),
                "bytelab: run {newest} cannot be read: the newest one that can is run {}",
                before.id
            )?;
            return Ok(before.id);
        }
    }
    Ok(newest)
}

/// The number of runs among which the newest one is that can be read.
const LATEST_TRIED: usize = 100;

fn is_readable(store: &mut dyn Store, id: &str) -> Result<bool> {
    match store.planned(id) {
        Ok(_) => Ok(true),
        Err(error) if error.is::<Unreadable>() => Ok(false),
        Err(error) => Err(error),
    }
}

/// The run that the text names.
pub(crate) fn load(store: &mut dyn Store, text: &str) -> Result<Run> {
    let id = id_of(store, text)?;
    store.load(&id)
}

/// Whether the run has a label that matches (`*` stands for any text).
pub(crate) fn has_label(run: &Listed, label: &str) -> bool {
    pattern::matches(label, run.label.as_deref().unwrap_or_default())
}

/// Whether the run is from the machine: by the start of its fingerprint, or by words of its CPU's
/// name.
pub(crate) fn is_machine(run: &Listed, text: &str) -> bool {
    let model = run.machine.cpu_model.as_deref().unwrap_or_default().to_lowercase();
    !text.is_empty()
        && (run.machine.fingerprint.starts_with(text) || model.contains(&text.to_lowercase()))
}

/// Where a store is.
enum Location {
    File(PathBuf),
    Server(Server),
}

fn locate(flag: Option<OsString>, variable: impl Fn(&str) -> Option<OsString>) -> Result<Location> {
    // An empty variable means an unset one; an empty flag is a mistake.
    let of_user = variable("BYTELAB_STORE").filter(|value| !value.is_empty());
    let Some(named) = flag.or(of_user) else { return Ok(Location::File(of_data_dir(variable)?)) };
    let text = named.to_string_lossy();
    if text.is_empty() {
        bail!("--store is empty: name a file");
    }
    if Server::is_url(&text) {
        return Ok(Location::Server(Server::new(&text)));
    }
    if Server::is_wrong_url(&text) {
        // It is not quoted: it may have a password.
        bail!("the store is neither a file nor postgres://HOST/DATABASE");
    }
    Ok(Location::File(named.to_str().map_or_else(|| PathBuf::from(&named), to_path)))
}

/// The store in the user's data directory.
fn of_data_dir(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    // The XDG specification requires that a relative path is ignored.
    let data = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/share")));
    let data = data.context(
        "no place for the store: neither HOME nor XDG_DATA_HOME is set; name a file with --store",
    )?;
    Ok(data.join("bytelab/runs.sqlite"))
}

/// The store of this machine, into which every run is measured, and the server to which it is
/// pushed when it has ended.
pub(crate) struct LocalStore {
    sqlite: Sqlite,
    server: Option<Server>,
}

impl LocalStore {
    /// Opens the store for a command that measures. If `--store` names a server, that is where its
    /// runs are pushed, and the store is the one in the user's data directory.
    pub(crate) fn open(flag: Option<OsString>, push_to: Option<Server>) -> Result<LocalStore> {
        let variable = |name: &str| std::env::var_os(name);
        let (path, server) = match locate(flag, variable)? {
            Location::File(path) => (path, push_to),
            Location::Server(server) => (of_data_dir(variable)?, Some(push_to.unwrap_or(server))),
        };
        Ok(LocalStore { sqlite: Sqlite::open(&path)?, server })
    }

    /// The server to which runs are pushed.
    pub(crate) fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    /// Stores a run that begins. If it is to be pushed, it waits for that from now on.
    pub(crate) fn begin(&mut self, run: &Run) -> Result<String> {
        let id = self.sqlite.begin(run)?;
        if self.server.is_some() {
            self.sqlite.set_unsent(&id, true)?;
        }
        Ok(id)
    }

    /// Pushes a run that is complete, as `redacted` returns it; returns a message for the user.
    /// Without a server, nothing is done.
    pub(crate) fn push(
        &mut self,
        id: &str,
        redacted: impl FnOnce(Run) -> Result<Run>,
    ) -> Result<Vec<String>> {
        let Some(server) = &self.server else { return Ok(Vec::new()) };
        let run = redacted(self.sqlite.load(id)?)?;
        let mut remote = server.open()?;
        remote.add_once(&run)?;
        self.sqlite.set_unsent(id, false)?;
        let pushed = format!("run {id} was pushed to {server}");
        Ok([Some(pushed), server.clock_note(remote.as_mut())].into_iter().flatten().collect())
    }
}

impl Deref for LocalStore {
    type Target = Sqlite;

    fn deref(&self) -> &Sqlite {
        &self.sqlite
    }
}

impl DerefMut for LocalStore {
    fn deref_mut(&mut self) -> &mut Sqlite {
        &mut self.sqlite
    }
}

#[cfg(test)]
pub(crate) mod tests;
