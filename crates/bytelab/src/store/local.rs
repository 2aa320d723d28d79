//! The store of this machine, into which every run is measured, and the server to which it is
//! pushed when it has ended.

use std::ffi::OsString;
use std::ops::{Deref, DerefMut};

use anyhow::Result;
use lab::run::Run;

use super::{Location, Server, Sqlite, Store, locate, of_data_dir};

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
