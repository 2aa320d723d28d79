//! Runs of many machines in a PostgreSQL database. `connecting` connects and creates the tables,
//! `blocks` converts runs to bytes and back, `ids` texts to UUIDs.

mod blocks;
mod connecting;
mod ids;
#[cfg(test)]
mod tests;

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lab::clock;
use lab::run::{Listed, Machine, Run, SCHEMA};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Connection, Row};
use tokio::runtime::{Builder, Runtime};

use self::blocks::Room;
use self::ids::{bounds, full_id};
use super::columns::from_json;
use super::imported::mark_imported;
use super::interface::{Baseline, Planned, Store, TOOK, ensure_not_older, no_run, several_runs};
use super::{packed, uuids};

/// How long the server may take for one operation, and this much longer for each megabyte.
const LIMIT: Duration = Duration::from_mins(1);
const LIMIT_PER_MB: Duration = Duration::from_secs(10);

pub(super) struct Postgres {
    runtime: Runtime,
    connection: PgConnection,
    /// As it is shown.
    server: String,
}

impl Postgres {
    /// Connects, and creates the tables if there are none; `server` is the URL as it is shown.
    pub(super) fn open(url: &str, server: String) -> Result<Postgres> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let connection = connecting::connect(url, &server, &runtime)?;
        Ok(Postgres { runtime, connection, server })
    }

    /// Does `work` within the time limit of a message of this size.
    fn wait<T>(
        &mut self,
        bytes: usize,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T>,
    ) -> Result<T> {
        let limit = LIMIT + LIMIT_PER_MB * (bytes >> 20) as u32;
        let ended = connecting::wait(&self.runtime, limit, work(&mut self.connection));
        ended.map_err(|error| connecting::explain(&self.server, error))
    }

    /// The run without samples, with its present label, and the number of its samples.
    fn document(&mut self, id: &str) -> Result<(Run, u64)> {
        let id = full_id(id)?;
        let found = self.wait(0, async |connection| {
            let query = sqlx::query(
                "SELECT label, samples, CASE WHEN octet_length(document) <= $2 THEN document END
                 FROM bytelab.run WHERE id = $1::text::uuid",
            );
            let query = query.bind(&id).bind(blocks::DOCUMENT_MAX as i64);
            let row = query.fetch_optional(connection).await?;
            row.map(|row| Ok((row.try_get(0)?, count(&row, 1)?, row.try_get(2)?))).transpose()
        })?;
        let (label, samples, document): (Option<String>, u64, Option<Vec<u8>>) =
            found.with_context(|| no_run(&id))?;
        let document = document.with_context(|| format!("run {id}: its data is damaged"))?;
        let mut run = blocks::run_of(&document).with_context(|| format!("run {id}"))?;
        ensure!(
            run.schema <= SCHEMA,
            "run {id} was written by a newer bytelab (schema {}): update bytelab",
            run.schema
        );
        if run.label.as_deref().map(without_nul) != label {
            run.label = label;
        }
        run.id.clone_from(&id);
        run.uuid = id;
        mark_imported(&mut run.environment, &self.server);
        Ok((run, samples))
    }

    /// Loads the run with the samples of these cells and the values of these metrics; of the other
    /// cells one sample of each answer.
    fn load_cells(
        &mut self,
        id: &str,
        is_whole: impl Fn(&str) -> bool,
        is_read: impl Fn(&str) -> bool,
    ) -> Result<Run> {
        let (mut run, samples) = self.document(id)?;
        let whole = run.cells.iter().enumerate().filter(|(_, cell)| is_whole(&cell.method));
        let whole: Vec<i32> = whole.map(|(position, _)| position as i32).collect();
        // The sizes are known without reading the data.
        let rows = self.wait(0, async |connection| {
            let query = sqlx::query(
                "SELECT position, answers, CASE WHEN position = ANY ($2) THEN data END
                 FROM (SELECT *, sum(octet_length(answers) + octet_length(data)) OVER () AS size
                       FROM bytelab.cell WHERE run = $1::text::uuid) AS cell
                 WHERE size <= $3",
            );
            let query = query.bind(&run.id).bind(&whole).bind(blocks::SAMPLES_MAX as i64);
            Ok(query.fetch_all(connection).await?)
        })?;
        let mut room = Room::new();
        for row in rows {
            read_cell(&mut run, &row, &mut room, &is_read)
                .with_context(|| format!("run {}", run.id))?;
        }
        let read: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
        ensure!(
            whole.len() < run.cells.len() || read as u64 == samples,
            "run {} is damaged: it has {read} of {samples} samples",
            run.id
        );
        Ok(run)
    }

    fn insert(&mut self, run: &Run) -> Result<bool> {
        let document = blocks::document(run)?;
        let mut room = Room::new();
        let (mut positions, mut answers, mut data) = (Vec::new(), Vec::new(), Vec::new());
        for (position, cell) in run.cells.iter().enumerate() {
            if !cell.samples.is_empty() {
                let (of_cell, block) = blocks::block(cell, &mut room)?;
                positions.push(i32::try_from(position)?);
                answers.push(of_cell);
                data.push(block);
            }
        }
        let bytes = document.len() + data.iter().map(Vec::len).sum::<usize>();
        self.wait(bytes, async |connection| {
            // Another client may soon push the run of one that is gone without closing its
            // connection.
            let mut transaction = connection
                .begin_with("BEGIN; SET LOCAL idle_in_transaction_session_timeout = '30s'")
                .await?;
            let inserted = insert_run(run, document).execute(&mut *transaction).await?;
            if inserted.rows_affected() == 0 {
                let (complete, samples) = state(&run.uuid, &mut transaction).await?;
                ensure_not_older(complete, samples, run)?;
                return Ok(false);
            }
            sqlx::query(
                "INSERT INTO bytelab.cell (run, position, answers, data)
                 SELECT $1::text::uuid, * FROM unnest($2::integer[], $3::text[], $4::bytea[])",
            )
            .bind(&run.uuid)
            .bind(&positions)
            .bind(&answers)
            .bind(&data)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
            Ok(true)
        })
    }
}

type Query<'a> = sqlx::query::Query<'a, sqlx::Postgres, sqlx::postgres::PgArguments>;

/// Adds the run, unless there is one with its UUID.
fn insert_run(run: &Run, document: Vec<u8>) -> Query<'static> {
    let facts = &run.environment.facts;
    let cpu_model = facts.get("cpu_model").and_then(|model| model.as_str());
    let took_ns = facts.get(TOOK).and_then(serde_json::Value::as_i64);
    let samples: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
    sqlx::query(
        "INSERT INTO bytelab.run (id, experiment, label, started, complete, fingerprint, cpu_model,
                                  cells, samples, took_ns, document)
         VALUES ($1::text::uuid, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(run.uuid.clone())
    .bind(without_nul(&run.experiment))
    .bind(run.label.as_deref().map(without_nul))
    .bind(without_nul(&run.started))
    .bind(run.complete)
    .bind(without_nul(&run.environment.fingerprint))
    .bind(cpu_model.map(without_nul))
    .bind(run.cells.len() as i64)
    .bind(samples as i64)
    .bind(took_ns)
    .bind(document)
}

/// Whether the run is complete, and its number of samples.
async fn state(uuid: &str, connection: &mut PgConnection) -> Result<(bool, u64)> {
    let query = sqlx::query("SELECT complete, samples FROM bytelab.run WHERE id = $1::text::uuid");
    let row = query.bind(uuid).fetch_one(connection).await?;
    Ok((row.try_get(0)?, count(&row, 1)?))
}

/// Anybody who may write may have written a negative number.
fn count(row: &PgRow, column: usize) -> Result<u64> {
    Ok(row.try_get::<i64, _>(column)?.max(0).cast_unsigned())
}

fn read_cell(
    run: &mut Run,
    row: &PgRow,
    room: &mut Room,
    is_read: impl Fn(&str) -> bool,
) -> Result<()> {
    let position: i32 = row.try_get(0)?;
    let cell = run.cells.get_mut(usize::try_from(position)?);
    let cell = cell.with_context(|| format!("cell {position} is missing"))?;
    let answers: Vec<String> = from_json("answers", row.try_get(1)?)?;
    match row.try_get::<Option<&[u8]>, _>(2)? {
        None => cell.samples = packed::one_of_each(answers),
        Some(block) => blocks::read_block(cell, &answers, block, room, is_read)
            .with_context(|| format!("cell {position}"))?,
    }
    Ok(())
}

/// PostgreSQL's texts have no NUL.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

impl Store for Postgres {
    fn add(&mut self, run: &Run) -> Result<String> {
        let mut run = run.clone();
        if run.uuid.is_empty() {
            run.uuid = uuids::of(&run.started);
        }
        if !self.insert(&run)? {
            run.uuid = uuids::of(&run.started);
            self.insert(&run)?;
        }
        Ok(run.uuid)
    }

    fn add_once(&mut self, run: &Run) -> Result<bool> {
        ensure!(!run.uuid.is_empty(), "run {} has no UUID", run.id);
        self.insert(run)
    }

    fn find(&mut self, text: &str) -> Result<String> {
        let (start, end) = bounds(text).with_context(|| no_run(text))?;
        let found: Vec<String> = self.wait(0, async |connection| {
            let query = sqlx::query(
                "SELECT id::text FROM bytelab.run
                 WHERE id BETWEEN $1::text::uuid AND $2::text::uuid LIMIT 2",
            );
            let rows = query.bind(start).bind(end).fetch_all(connection).await?;
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        })?;
        match &found[..] {
            [] => bail!(no_run(text)),
            [id] => Ok(id.clone()),
            _ => bail!(several_runs(text)),
        }
    }

    fn load(&mut self, id: &str) -> Result<Run> {
        self.load_cells(id, |_| true, |_| true)
    }

    fn load_method(&mut self, id: &str, method: &str, metric: &str) -> Result<Run> {
        self.load_cells(id, |name| name == method, |name| name == metric)
    }

    fn planned(&mut self, id: &str) -> Result<Planned> {
        let (run, _) = self.document(id)?;
        let took_ns = run.environment.facts.get(TOOK).and_then(serde_json::Value::as_u64);
        Ok(Planned { plan: run.plan, points: run.points, took_ns })
    }

    fn list(&mut self) -> Result<Vec<Listed>> {
        let rows = self.wait(0, async |connection| {
            let query = sqlx::query(
                "SELECT id::text, experiment, label, started, complete, fingerprint, cpu_model,
                        cells, samples
                 FROM bytelab.run ORDER BY id",
            );
            Ok(query.fetch_all(connection).await?)
        })?;
        rows.iter().map(listed).collect()
    }

    fn newest(&mut self, n: usize) -> Result<Vec<Listed>> {
        let rows = self.wait(0, async |connection| {
            let query = sqlx::query(
                "SELECT id::text, experiment, label, started, complete, fingerprint, cpu_model,
                        cells, samples
                 FROM bytelab.run ORDER BY started DESC, id DESC LIMIT $1",
            );
            Ok(query.bind(i64::try_from(n).unwrap_or(i64::MAX)).fetch_all(connection).await?)
        })?;
        rows.iter().rev().map(listed).collect()
    }

    fn clock_ahead_s(&mut self) -> Result<i64> {
        self.wait(0, async |connection| {
            let query = sqlx::query(
                "SELECT extract(epoch FROM $1::timestamptz - clock_timestamp())::bigint",
            );
            Ok(query.bind(clock::utc_rfc3339()).fetch_one(connection).await?.try_get(0)?)
        })
    }

    fn set_label(&mut self, id: &str, label: Option<&str>) -> Result<()> {
        let id = full_id(id)?;
        let changed = self.wait(0, async |connection| {
            let query = sqlx::query("UPDATE bytelab.run SET label = $2 WHERE id = $1::text::uuid");
            let query = query.bind(&id).bind(label.map(without_nul));
            Ok(query.execute(connection).await?.rows_affected())
        })?;
        ensure!(changed == 1, no_run(&id));
        Ok(())
    }

    fn delete(&mut self, id: &str) -> Result<()> {
        let id = full_id(id)?;
        let baseline = self.baselines()?.into_iter().find(|baseline| baseline.id == id);
        if let Some(Baseline { name, .. }) = baseline {
            bail!("run {id} is the baseline {name:?}: `bytelab baseline delete {name}` first");
        }
        let deleted = self.wait(0, async |connection| {
            let query = sqlx::query("DELETE FROM bytelab.run WHERE id = $1::text::uuid");
            Ok(query.bind(&id).execute(connection).await?.rows_affected())
        })?;
        ensure!(deleted == 1, no_run(&id));
        Ok(())
    }

    fn set_baseline(&mut self, name: &str, id: &str) -> Result<()> {
        let id = full_id(id)?;
        let named = self.wait(0, async |connection| {
            let query = sqlx::query(
                "INSERT INTO bytelab.baseline (name, run)
                 SELECT $1, id FROM bytelab.run WHERE id = $2::text::uuid
                 ON CONFLICT (name) DO UPDATE SET run = excluded.run",
            );
            Ok(query.bind(name).bind(&id).execute(connection).await?.rows_affected())
        })?;
        ensure!(named == 1, no_run(&id));
        Ok(())
    }

    fn baselines(&mut self) -> Result<Vec<Baseline>> {
        let rows = self.wait(0, async |connection| {
            let query = sqlx::query("SELECT name, run::text FROM bytelab.baseline ORDER BY name");
            Ok(query.fetch_all(connection).await?)
        })?;
        rows.iter().map(|row| Ok(Baseline { name: row.try_get(0)?, id: row.try_get(1)? })).collect()
    }

    fn delete_baseline(&mut self, name: &str) -> Result<()> {
        let deleted = self.wait(0, async |connection| {
            let query = sqlx::query("DELETE FROM bytelab.baseline WHERE name = $1");
            Ok(query.bind(name).execute(connection).await?.rows_affected())
        })?;
        ensure!(deleted == 1, "no baseline {name:?}; `bytelab baseline list` shows all");
        Ok(())
    }
}

fn listed(row: &PgRow) -> Result<Listed> {
    let id: String = row.try_get(0)?;
    Ok(Listed {
        uuid: id.clone(),
        id,
        experiment: row.try_get(1)?,
        label: row.try_get(2)?,
        started: row.try_get(3)?,
        complete: row.try_get(4)?,
        machine: Machine { fingerprint: row.try_get(5)?, cpu_model: row.try_get(6)? },
        cells: count(row, 7)?,
        samples: count(row, 8)?,
    })
}
