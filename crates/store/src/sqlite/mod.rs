//! Runs in an SQLite file. `opening` opens, checks and creates the file; `rows` converts runs to
//! rows and back. While a run is measured, its changes go to a `journal`.

mod checksums;
mod journal;
mod opening;
mod rows;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use model::run::{Cell, Environment, Listed, Plan, Run, Sample, Warning};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use self::journal::{AppliedJournal, Journal, JournalEntry};
use super::interface::{
    self, LOCK_LIMIT, Store, StoredPlan, ensure_not_older, no_run, several_runs,
};
use crate::interface::Baseline;

/// The runs in an SQLite file.
pub struct Sqlite {
    connection: Connection,
    path: PathBuf,
    /// The journal of the run that was changed last.
    journal: Option<Journal>,
}

impl Sqlite {
    /// Opens the store in this file, or creates it. Folds what killed processes have left.
    pub(super) fn open(path: &Path) -> Result<Sqlite> {
        let (connection, path) = opening::open(path)?;
        let mut store = Sqlite { connection, path, journal: None };
        store.fold_left()?;
        Ok(store)
    }

    /// Reads the whole store.
    pub(super) fn verify(&mut self) -> Result<()> {
        self.read(|transaction| {
            let mut found = Vec::new();
            for run in rows::list(transaction)? {
                if let Err(error) = rows::load(transaction, number(&run.id)?) {
                    found.push(format!("run {}: {:#}", run.id, opening::damaged(error)));
                }
            }
            ensure!(found.is_empty(), found.join("; "));
            list_baselines(transaction)?;
            opening::check_all(transaction, "integrity_check")
        })
    }

    /// Does `work` in one transaction. It takes the write lock at its start: a lock that is
    /// requested after a read cannot wait for another process.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let connection = &mut self.connection;
        let result = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(Into::into)
            .and_then(|transaction| {
                let value = work(&transaction)?;
                transaction.commit()?;
                Ok(value)
            });
        self.explained(result)
    }

    /// Does `work` on one snapshot of the store, whatever other processes write at the same time.
    fn read<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let result = self.connection.transaction().map_err(Into::into).and_then(|t| work(&t));
        self.explained(result)
    }

    fn explained<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| opening::explain(&self.path, error))
    }

    fn load_by(
        &mut self,
        id: &str,
        load: impl FnOnce(&Transaction<'_>, i64) -> Result<Run>,
    ) -> Result<Run> {
        // It is opened before the store is read: what is folded in between is in both.
        let journal = number(id).and_then(|run| journal::open(&self.path, run));
        let journal = self.explained(journal)?;
        let path = self.path.clone();
        self.read(|transaction| {
            let number = existing(transaction, id)?;
            let loaded = match &journal {
                Some(journal) => {
                    let kept_as = journal::kept_path(&path, number);
                    load_with(transaction, number, journal, &kept_as).map(|(run, _)| run)
                }
                None => load(transaction, number),
            };
            loaded.map_err(opening::damaged).with_context(|| format!("run {id}"))
        })
    }

    /// The journal of this run, which is created if it has none.
    fn journal(&mut self, id: &str) -> Result<&mut Journal> {
        let run = self.explained(number(id))?;
        if self.journal.as_ref().is_none_or(|journal| journal.run != run) {
            self.fold_own()?;
            let taken = journal::take_abandoned(&self.path, run);
            if let Some(left) = self.explained(taken)? {
                self.fold(run, left.file())?;
            }
            let (cells, samples) = self.read(|transaction| {
                existing(transaction, id)?;
                checksums::check(transaction, run)?;
                rows::size(transaction, run)
            })?;
            let created = Journal::create(&self.path, run, cells, samples);
            self.journal = Some(self.explained(created)?);
        }
        self.journal.as_mut().context("no journal")
    }

    /// Adds a change to the journal of the run.
    fn add_entry(
        &mut self,
        id: &str,
        write: impl FnOnce(&mut Journal) -> Result<()>,
    ) -> Result<()> {
        let written = write(self.journal(id)?);
        self.explained(written)
    }

    /// Folds the journal of the run that was changed last.
    fn fold_own(&mut self) -> Result<()> {
        let Some(journal) = self.journal.take() else { return Ok(()) };
        let folded = self.fold(journal.run, journal.file());
        if folded.is_err() {
            self.journal = Some(journal);
        }
        folded
    }

    /// Moves the content of a journal into the store, which is on the device before the journal is
    /// deleted. A damaged journal is renamed.
    fn fold(&mut self, run: i64, journal: &File) -> Result<()> {
        let kept_as = journal::kept_path(&self.path, run);
        let is_damaged = self.write(|transaction| {
            // Another process may have deleted the run.
            if find(transaction, run)?.is_none() {
                return Ok(false);
            }
            let (stored, applied) = load_with(transaction, run, journal, &kept_as)?;
            if applied.is_changed {
                rows::put_cells(transaction, run, &stored, applied.next_sample)?;
            }
            rows::put_plan(transaction, run, &stored.plan)?;
            let Run { complete, environment, notes, .. } = &stored;
            rows::put_state(transaction, run, *complete, environment, notes)?;
            checksums::seal(transaction, run)?;
            Ok(applied.is_damaged)
        })?;
        let ended = opening::sync(&self.connection, &self.path).and_then(|()| {
            if is_damaged {
                journal::keep(&self.path, run, &kept_as)
            } else {
                journal::delete(&self.path, run)
            }
        });
        self.explained(ended)
    }

    /// Folds the journals of processes that were killed. What cannot be folded now, because the
    /// store is locked or its disk is full, is read from the journal and folded later.
    fn fold_left(&mut self) -> Result<()> {
        let runs = journal::runs(&self.path).unwrap_or_default();
        if runs.is_empty() {
            return Ok(());
        }
        self.set_lock_limit(Duration::ZERO)?;
        for run in runs {
            if let Ok(Some(left)) = journal::take_abandoned(&self.path, run) {
                let _ = self.fold(run, left.file());
            }
        }
        self.set_lock_limit(LOCK_LIMIT)
    }
}

/// A run whose measuring ended by an error is folded; what fails now is done by the next process.
impl Drop for Sqlite {
    fn drop(&mut self) {
        let _ = self.fold_own();
    }
}

impl Store for Sqlite {
    fn add(&mut self, run: &Run) -> Result<String> {
        Ok(self.write(|transaction| insert_ended(transaction, run))?.to_string())
    }

    fn add_once(&mut self, run: &Run) -> Result<bool> {
        self.write(|transaction| {
            let Some(number) = rows::with_uuid(transaction, &run.uuid)? else {
                insert_ended(transaction, run)?;
                return Ok(true);
            };
            checksums::check(transaction, number).map_err(opening::damaged)?;
            let (complete, samples) = rows::state(transaction, number)?;
            ensure_not_older(complete, samples, run)?;
            Ok(false)
        })
    }

    fn find(&mut self, text: &str) -> Result<String> {
        let found = self.read(|transaction| named(transaction, text))?;
        Ok(found.to_string())
    }

    fn load(&mut self, id: &str) -> Result<Run> {
        self.load_by(id, rows::load)
    }

    fn load_method(&mut self, id: &str, method: &str, metric: &str) -> Result<Run> {
        self.load_by(id, |transaction, number| {
            rows::load_method(transaction, number, method, metric)
        })
    }

    fn load_plan(&mut self, id: &str) -> Result<StoredPlan> {
        self.read(|transaction| {
            let number = existing(transaction, id)?;
            let loaded = rows::load_plan(transaction, number).map_err(opening::damaged);
            loaded.with_context(|| format!("run {id}"))
        })
    }

    fn list(&mut self) -> Result<Vec<Listed>> {
        let journals = journal::runs(&self.path).unwrap_or_default().into_iter();
        let journals: Vec<_> =
            journals.filter_map(|run| Some((run, journal::open(&self.path, run).ok()??))).collect();
        self.read(|transaction| {
            let mut list = rows::list(transaction)?;
            for (run, journal) in &journals {
                let id = run.to_string();
                if let Some(listed) = list.iter_mut().find(|listed| listed.id == id) {
                    let (_, next_sample) = rows::size(transaction, *run)?;
                    // An error of the journal is reported when the run is read.
                    let _ = journal::apply_to_list(listed, next_sample, journal);
                }
            }
            Ok(list)
        })
    }

    fn set_label(&mut self, id: &str, label: Option<&str>) -> Result<()> {
        self.write(|transaction| {
            let run = existing(transaction, id)?;
            // A new checksum would hide the damage.
            let checked = checksums::check(transaction, run).map_err(opening::damaged);
            checked.with_context(|| format!("run {id}"))?;
            transaction.execute("UPDATE run SET label = ?2 WHERE id = ?1", (run, label))?;
            checksums::seal(transaction, run)
        })
    }

    fn delete(&mut self, id: &str) -> Result<()> {
        let run = self.explained(number(id))?;
        if self.journal.as_ref().is_some_and(|journal| journal.run == run) {
            self.journal = None;
        }
        let measured = journal::is_measured(&self.path, run);
        let is_measured = self.explained(measured)?;
        self.write(|transaction| {
            let run = existing(transaction, id)?;
            refuse_if_named(transaction, run)?;
            ensure!(!is_measured, "run {id} is being measured: stop that first");
            rows::delete_cells(transaction, run)?;
            transaction.execute("DELETE FROM run WHERE id = ?1", [run])?;
            Ok(())
        })?;
        // If the store is locked or its disk is full, the next deletion does it.
        let _ = opening::shrink(&self.connection);
        let deleted = journal::delete(&self.path, run);
        self.explained(deleted)
    }

    fn set_baseline(&mut self, name: &str, id: &str) -> Result<()> {
        self.write(|transaction| set_baseline(transaction, name, existing(transaction, id)?))
    }

    fn baselines(&mut self) -> Result<Vec<Baseline>> {
        self.read(list_baselines)
    }

    fn delete_baseline(&mut self, name: &str) -> Result<()> {
        self.write(|transaction| delete_baseline(transaction, name))
    }
}

/// The run of this number, which must exist, with its journal.
fn load_with(
    transaction: &Transaction<'_>,
    number: i64,
    journal: &File,
    kept_as: &Path,
) -> Result<(Run, AppliedJournal)> {
    let mut run = rows::load(transaction, number)?;
    let (_, next_sample) = rows::size(transaction, number)?;
    let applied = journal::apply(&mut run, next_sample, journal, kept_as)?;
    Ok((run, applied))
}

fn insert_ended(transaction: &Transaction<'_>, run: &Run) -> Result<i64> {
    let number = rows::insert(transaction, run)?;
    let Run { complete, environment, notes, .. } = run;
    rows::put_state(transaction, number, *complete, environment, notes)?;
    checksums::seal(transaction, number)?;
    Ok(number)
}

/// The number of the run with this id.
fn existing(transaction: &Transaction<'_>, id: &str) -> Result<i64> {
    find(transaction, number(id)?)?.with_context(|| no_run(id))
}

/// The number of the run that the text names: a number, or the start of one UUID.
fn named(transaction: &Transaction<'_>, text: &str) -> Result<i64> {
    // "0194" is the start of a UUID: no id is written with a zero in front.
    let number = text.parse().ok().filter(|number: &i64| number.to_string() == text);
    if let Some(run) = number.map(|number| find(transaction, number)).transpose()?.flatten() {
        return Ok(run);
    }
    ensure!(interface::is_uuid_start(text), no_run(text));
    let start = text.to_ascii_lowercase();
    let mut statement = transaction
        .prepare_cached("SELECT id FROM run WHERE uuid >= ?1 AND uuid < ?1 || 'g' LIMIT 2")?;
    let found = statement.query_map([&start], |row| row.get(0))?;
    match found.collect::<rusqlite::Result<Vec<i64>>>()?[..] {
        [] => bail!(no_run(text)),
        [run] => Ok(run),
        _ => bail!(several_runs(text)),
    }
}

fn find(transaction: &Transaction<'_>, run: i64) -> Result<Option<i64>> {
    let mut statement = transaction.prepare_cached("SELECT id FROM run WHERE id = ?1")?;
    Ok(statement.query_one([run], |row| row.get(0)).optional()?)
}

fn number(id: &str) -> Result<i64> {
    id.parse().ok().with_context(|| no_run(id))
}

// The changes of a run while it is measured. Only a local store has them: a server would disturb
// the measurement.

impl Sqlite {
    /// Stores a run with its current content, as not complete, and returns its id.
    pub(crate) fn begin(&mut self, run: &Run) -> Result<String> {
        let number = self.write(|transaction| {
            let number = rows::insert(transaction, run)?;
            checksums::seal(transaction, number)?;
            Ok(number)
        })?;
        Ok(number.to_string())
    }

    /// Sets how long a run that begins or ends waits while another program has locked the store.
    /// The error is then a [`Locked`]; an end that was not stored is kept, and stored later.
    ///
    /// [`Locked`]: crate::Locked
    pub fn set_lock_limit(&mut self, limit: Duration) -> Result<()> {
        let set = self.connection.busy_timeout(limit);
        self.explained(set.map_err(Into::into))
    }

    /// Adds the cell at the next position of the run, or replaces everything in a cell except its
    /// samples.
    pub fn put_cell(&mut self, id: &str, position: usize, cell: &Cell) -> Result<()> {
        self.add_entry(id, |journal| journal.cell(position, cell))
    }

    /// Adds a sample to the cell at this position. Once it returns, a killed process loses nothing.
    /// It waits for no lock.
    pub fn append(
        &mut self,
        id: &str,
        position: usize,
        sample: &Sample,
        values: &[(&str, f64)],
    ) -> Result<()> {
        self.add_entry(id, |journal| journal.sample(position, sample, values))
    }

    /// Marks the timing samples of this session as no longer counted, for this reason.
    pub fn set_aside(&mut self, id: &str, session: u32, reason: &str) -> Result<()> {
        self.add_entry(id, |journal| journal.set_aside(session, reason))
    }

    /// Replaces the plan of a run; the plan records choices that were made while measuring.
    pub fn put_plan(&mut self, id: &str, plan: &Plan) -> Result<()> {
        self.add_entry(id, |journal| journal.write(&JournalEntry::Plan(plan)))
    }

    /// Replaces the state of a run that goes on: whether it is complete, with the current
    /// environment and notes.
    pub fn put_state(
        &mut self,
        id: &str,
        complete: bool,
        environment: &Environment,
        notes: &[Warning],
    ) -> Result<()> {
        let entry = JournalEntry::Finish(complete, environment, notes);
        self.add_entry(id, |journal| journal.write(&entry))
    }

    /// Stores the state of a run that ends.
    pub fn finish(
        &mut self,
        id: &str,
        complete: bool,
        environment: &Environment,
        notes: &[Warning],
    ) -> Result<()> {
        self.put_state(id, complete, environment, notes)?;
        self.fold_own()
    }

    /// Marks a run that a server is to have, or that it has now.
    pub fn set_unsent(&mut self, id: &str, is_unsent: bool) -> Result<()> {
        self.write(|transaction| {
            let run = existing(transaction, id)?;
            transaction.execute("UPDATE run SET unsent = ?2 WHERE id = ?1", (run, is_unsent))?;
            Ok(())
        })
    }

    /// The runs that a server is to have, the oldest first.
    pub fn unsent(&mut self) -> Result<Vec<String>> {
        self.read(|transaction| {
            let mut statement =
                transaction.prepare_cached("SELECT id FROM run WHERE unsent ORDER BY id")?;
            let rows = statement.query_map([], |row| row.get::<_, i64>(0))?;
            rows.map(|id| Ok(id?.to_string())).collect()
        })
    }
}

// Names for runs that others are checked against.

fn set_baseline(transaction: &Transaction<'_>, name: &str, run: i64) -> Result<()> {
    transaction.execute(
        "INSERT INTO baseline (name, run, checksum) VALUES (?1, ?2, checksum_of(?1, ?2))
         ON CONFLICT (name) DO UPDATE SET run = excluded.run, checksum = excluded.checksum",
        params![name, run],
    )?;
    Ok(())
}

fn list_baselines(transaction: &Transaction<'_>) -> Result<Vec<Baseline>> {
    let mut statement = transaction.prepare_cached(
        "SELECT name, run, checksum = checksum_of(name, run) FROM baseline ORDER BY name",
    )?;
    let rows = statement.query_map([], |row| {
        let baseline = Baseline { name: row.get(0)?, id: row.get::<_, i64>(1)?.to_string() };
        Ok((baseline, row.get::<_, bool>(2)?))
    })?;
    let checked = rows.map(|row| {
        let (baseline, is_whole) = row?;
        ensure!(
            is_whole,
            "the baseline {:?} is damaged: `bytelab baseline delete` it, and set it again",
            baseline.name
        );
        Ok(baseline)
    });
    checked.collect()
}

fn delete_baseline(transaction: &Transaction<'_>, name: &str) -> Result<()> {
    let deleted = transaction.execute("DELETE FROM baseline WHERE name = ?1", [name])?;
    ensure!(deleted == 1, "no baseline {name:?}; `bytelab baseline list` shows all");
    Ok(())
}

/// If a baseline were removed, the next check would not find it.
fn refuse_if_named(transaction: &Transaction<'_>, run: i64) -> Result<()> {
    let named =
        list_baselines(transaction)?.into_iter().find(|baseline| baseline.id == run.to_string());
    if let Some(Baseline { name, id }) = named {
        bail!("run {id} is the baseline {name:?}: `bytelab baseline delete {name}` first");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
