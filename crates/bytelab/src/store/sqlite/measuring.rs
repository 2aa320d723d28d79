//! What a run needs while it is measured. Only this store measures: a server would be part of what
//! is measured.

use std::time::Duration;

use anyhow::Result;
use lab::run::{Cell, Environment, Plan, Run, Sample, Warning};

use super::journal::Entry;
use super::{Sqlite, checksums, existing, writing};

impl Sqlite {
    /// Stores a run with its current content, as not complete, and returns its id.
    pub(crate) fn begin(&mut self, run: &Run) -> Result<String> {
        let number = self.write(|transaction| {
            let number = writing::insert(transaction, run)?;
            checksums::seal(transaction, number)?;
            Ok(number)
        })?;
        Ok(number.to_string())
    }

    /// Sets how long a run that begins or ends waits while another program has locked the store.
    /// The error is then a [`Locked`]; an end that was not stored is kept, and stored later.
    ///
    /// [`Locked`]: crate::store::Locked
    pub(crate) fn set_lock_limit(&mut self, limit: Duration) -> Result<()> {
        let set = self.connection.busy_timeout(limit);
        self.explained(set.map_err(Into::into))
    }

    /// Adds the cell at the next position of the run, or replaces everything in a cell except its
    /// samples.
    pub(crate) fn put_cell(&mut self, id: &str, position: usize, cell: &Cell) -> Result<()> {
        self.add_entry(id, |journal| journal.cell(position, cell))
    }

    /// Adds a sample to the cell at this position. Once it returns, a killed process loses nothing.
    /// It waits for no lock.
    pub(crate) fn append(
        &mut self,
        id: &str,
        position: usize,
        sample: &Sample,
        values: &[(&str, f64)],
    ) -> Result<()> {
        self.add_entry(id, |journal| journal.sample(position, sample, values))
    }

    /// Marks the timing samples of this session as no longer counted, for this reason.
    pub(crate) fn set_aside(&mut self, id: &str, session: u32, reason: &str) -> Result<()> {
        self.add_entry(id, |journal| journal.set_aside(session, reason))
    }

    /// Replaces the plan of a run; the plan records choices that were made while measuring.
    pub(crate) fn put_plan(&mut self, id: &str, plan: &Plan) -> Result<()> {
        self.add_entry(id, |journal| journal.write(&Entry::Plan(plan)))
    }

    /// Stores the state of a run: whether it is complete, with the current environment and notes.
    pub(crate) fn finish(
        &mut self,
        id: &str,
        complete: bool,
        environment: &Environment,
        notes: &[Warning],
    ) -> Result<()> {
        let entry = Entry::Finish(complete, environment, notes);
        self.add_entry(id, |journal| journal.write(&entry))?;
        self.fold_own()
    }

    /// Marks a run that a server is to have, or that it has now.
    pub(crate) fn set_unsent(&mut self, id: &str, is_unsent: bool) -> Result<()> {
        self.write(|transaction| {
            let run = existing(transaction, id)?;
            transaction.execute("UPDATE run SET unsent = ?2 WHERE id = ?1", (run, is_unsent))?;
            Ok(())
        })
    }

    /// The runs that a server is to have, the oldest first.
    pub(crate) fn unsent(&mut self) -> Result<Vec<String>> {
        self.read(|transaction| {
            let mut statement =
                transaction.prepare_cached("SELECT id FROM run WHERE unsent ORDER BY id")?;
            let rows = statement.query_map([], |row| row.get::<_, i64>(0))?;
            rows.map(|id| Ok(id?.to_string())).collect()
        })
    }
}
