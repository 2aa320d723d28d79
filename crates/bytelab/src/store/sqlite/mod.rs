//! Runs in an SQLite file: one row per run, cell and sample. `opening` opens, checks and creates
//! the file; `reading` converts rows to runs.

mod baselines;
mod opening;
mod reading;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use lab::run::{Cell, Environment, Listed, Pass, Plan, Run, Sample, Warning};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::columns::{self, Values, to_json};
use super::interface::{Baseline, Store};
use crate::older;

pub(super) struct Sqlite {
    connection: Connection,
    path: PathBuf,
}

impl Sqlite {
    /// Opens the store in this file, or creates it.
    pub(super) fn open(path: &Path) -> Result<Sqlite> {
        let (connection, path) = opening::open(path)?;
        Ok(Sqlite { connection, path })
    }

    /// Reads the whole store.
    pub(super) fn verify(&mut self) -> Result<()> {
        self.read(|transaction| opening::check_all(transaction))
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
        result.map_err(|error| opening::explain(&self.path, error))
    }

    /// Does `work` on one snapshot of the store, whatever other processes write at the same time.
    fn read<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let result = self.connection.transaction().map_err(Into::into).and_then(|t| work(&t));
        result.map_err(|error| opening::explain(&self.path, error))
    }
}

impl Store for Sqlite {
    fn begin(&mut self, run: &Run) -> Result<String> {
        self.write(|transaction| begin(transaction, run))
    }

    fn add(&mut self, run: &Run) -> Result<String> {
        self.write(|transaction| {
            let id = begin(transaction, run)?;
            let complete = "UPDATE run SET complete = ?2 WHERE id = ?1";
            transaction.execute(complete, params![number(&id)?, run.complete])?;
            Ok(id)
        })
    }

    fn set_lock_limit(&mut self, limit: Duration) -> Result<()> {
        let set = self.connection.busy_timeout(limit);
        set.map_err(|error| opening::explain(&self.path, error.into()))
    }

    fn put_cell(&mut self, id: &str, position: usize, cell: &Cell) -> Result<()> {
        self.write(|transaction| {
            let run = existing(transaction, id)?;
            let cells: i64 = transaction
                .prepare_cached("SELECT count(*) FROM cell WHERE run = ?1")?
                .query_one([run], |row| row.get(0))?;
            ensure!(
                position as i64 <= cells,
                "run {id} has {cells} cells: the next is at {cells}, not at {position}"
            );
            put_cell(transaction, run, position, cell)
        })
    }

    fn append(
        &mut self,
        id: &str,
        position: usize,
        sample: &Sample,
        values: &[(&str, f64)],
    ) -> Result<()> {
        // A single statement is a transaction of its own.
        number(id)
            .and_then(|run| append(&self.connection, run, position, sample, values))
            .map_err(|error| opening::explain(&self.path, error))
    }

    fn set_aside(&mut self, id: &str, session: u32, reason: &str) -> Result<()> {
        self.write(|transaction| {
            let run = existing(transaction, id)?;
            transaction.execute(
                "UPDATE sample SET not_counted = ?3
                 WHERE run = ?1 AND session = ?2 AND pass = ?4 AND not_counted IS NULL",
                params![run, session, reason, columns::pass_word(Pass::Timing)],
            )?;
            Ok(())
        })
    }

    fn put_plan(&mut self, id: &str, plan: &Plan) -> Result<()> {
        self.write(|transaction| {
            let run = existing(transaction, id)?;
            let replaced = "UPDATE run SET plan = ?2 WHERE id = ?1";
            transaction.execute(replaced, params![run, to_json(plan)?])?;
            Ok(())
        })
    }

    fn finish(
        &mut self,
        id: &str,
        complete: bool,
        environment: &Environment,
        notes: &[Warning],
    ) -> Result<()> {
        self.write(|transaction| {
            let run = existing(transaction, id)?;
            transaction.execute(
                "UPDATE run SET complete = ?2, environment = ?3, notes = ?4 WHERE id = ?1",
                params![run, complete, to_json(environment)?, to_json(notes)?],
            )?;
            Ok(())
        })
    }

    fn load(&mut self, id: &str) -> Result<Run> {
        self.read(|transaction| {
            let number = existing(transaction, id)?;
            let mut run =
                reading::load(transaction, number).with_context(|| format!("run {id}"))?;
            older::leave_out(&mut run);
            Ok(run)
        })
    }

    fn list(&mut self) -> Result<Vec<Listed>> {
        self.read(reading::list)
    }

    fn set_label(&mut self, id: &str, label: Option<&str>) -> Result<()> {
        self.write(|transaction| {
            let run = existing(transaction, id)?;
            transaction.execute("UPDATE run SET label = ?2 WHERE id = ?1", params![run, label])?;
            Ok(())
        })
    }

    fn delete(&mut self, id: &str) -> Result<()> {
        self.write(|transaction| {
            let run = existing(transaction, id)?;
            baselines::refuse_if_named(transaction, run)?;
            transaction.execute("DELETE FROM sample WHERE run = ?1", [run])?;
            transaction.execute("DELETE FROM cell WHERE run = ?1", [run])?;
            transaction.execute("DELETE FROM run WHERE id = ?1", [run])?;
            Ok(())
        })
    }

    fn set_baseline(&mut self, name: &str, id: &str) -> Result<()> {
        self.write(|transaction| baselines::set(transaction, name, existing(transaction, id)?))
    }

    fn baselines(&mut self) -> Result<Vec<Baseline>> {
        self.read(baselines::list)
    }

    fn delete_baseline(&mut self, name: &str) -> Result<()> {
        self.write(|transaction| baselines::delete(transaction, name))
    }
}

fn begin(transaction: &Transaction<'_>, run: &Run) -> Result<String> {
    let Run { schema, id: _, experiment, question, label, started, complete: _, .. } = run;
    let Run { environment, plan, points, cells, notes, .. } = run;
    transaction.execute(
        "INSERT INTO run (schema, experiment, question, label, started, complete, environment,
                          plan, points, notes)
         VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9)",
        params![
            schema,
            experiment,
            question,
            label,
            started,
            to_json(environment)?,
            to_json(plan)?,
            to_json(points)?,
            to_json(notes)?
        ],
    )?;
    let number = transaction.last_insert_rowid();
    for (position, cell) in cells.iter().enumerate() {
        put_cell(transaction, number, position, cell)?;
    }
    let mut taken: Vec<(usize, usize)> = (cells.iter().enumerate())
        .flat_map(|(position, cell)| (0..cell.samples.len()).map(move |i| (position, i)))
        .collect();
    // In the order in which they were taken: by pass, session, round and slot.
    taken.sort_by_key(|(position, i)| {
        let sample = &cells[*position].samples[*i];
        (sample.pass == Pass::Counting, sample.session, sample.round, sample.slot)
    });
    for (position, i) in taken {
        let columns = cells[position].values.iter();
        let values: Vec<_> = columns.map(|(name, column)| (name.as_str(), column[i])).collect();
        append(transaction, number, position, &cells[position].samples[i], &values)?;
    }
    Ok(number.to_string())
}

fn put_cell(transaction: &Transaction<'_>, run: i64, position: usize, cell: &Cell) -> Result<()> {
    let Cell { method, about, role, language, point, status, digest, .. } = cell;
    let syscalls_by_name = cell.syscalls_by_name.as_ref().map(to_json).transpose()?;
    let (word, reason) = (status.word(), status.reason());
    transaction
        .prepare_cached(
            "INSERT INTO cell (run, position, method, about, role, language, point, status, reason,
                               digest, syscalls_by_name)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (run, position) DO UPDATE SET
                 method = excluded.method, about = excluded.about, role = excluded.role,
                 language = excluded.language, point = excluded.point, status = excluded.status,
                 reason = excluded.reason, digest = excluded.digest,
                 syscalls_by_name = excluded.syscalls_by_name",
        )?
        .execute(params![
            run,
            position,
            method,
            about,
            columns::role_word(*role),
            language,
            to_json(point)?,
            word,
            reason,
            digest,
            syscalls_by_name
        ])?;
    Ok(())
}

fn append(
    connection: &Connection,
    run: i64,
    position: usize,
    sample: &Sample,
    values: &[(&str, f64)],
) -> Result<()> {
    let Sample { pass, session, round, slot, warm_up, not_counted, ops, bytes, answer } = sample;
    let added = connection
        .prepare_cached(
            "INSERT INTO sample (run, n, cell, pass, session, round, slot, warm_up, not_counted,
                                 ops, bytes, answer, metrics)
             VALUES (?1, (SELECT coalesce(max(n) + 1, 0) FROM sample WHERE run = ?1), ?2, ?3, ?4,
                     ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            run,
            position,
            columns::pass_word(*pass),
            session,
            round,
            slot,
            warm_up,
            not_counted,
            // SQLite has signed integers only; the bits are preserved.
            ops.cast_signed(),
            bytes.cast_signed(),
            answer,
            to_json(&Values(values))?
        ]);
    match added {
        Err(rusqlite::Error::SqliteFailure(cause, _))
            if cause.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY =>
        {
            Err(anyhow!("run {run} has no cell {position}; was the run deleted meanwhile?"))
        }
        added => Ok(added.map(|_| ())?),
    }
}

/// The number of the run with this id.
fn existing(transaction: &Transaction<'_>, id: &str) -> Result<i64> {
    let run = number(id)?;
    transaction
        .prepare_cached("SELECT id FROM run WHERE id = ?1")?
        .query_one([run], |row| row.get(0))
        .optional()?
        .with_context(|| no_run(id))
}

fn number(id: &str) -> Result<i64> {
    id.parse().ok().with_context(|| no_run(id))
}

fn no_run(id: &str) -> String {
    format!("no run {id:?}; `bytelab history` lists all")
}
