//! Runs of many machines in a PostgreSQL database. `connecting` connects and creates the tables,
//! `blocks` converts runs to bytes and back.

mod blocks;
mod connecting;

use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use model::run::{Listed, Machine, Run, SCHEMA};
use sqlx::Row;
use sqlx::postgres::{PgConnection, PgRow};
use tokio::runtime::{Builder, Runtime};

use self::blocks::MemoryBudget;
use super::interface::{
    Baseline, Store, StoredPlan, TOOK, Unreadable, ensure_not_older, mark_imported, several_runs,
};
use super::packed::{self, from_json};
use crate::interface::{self, no_run};

/// How long the server may take for one operation, and this much longer for each megabyte.
const LIMIT: Duration = Duration::from_mins(1);
const LIMIT_PER_MB: Duration = Duration::from_secs(10);

pub(super) struct Postgres {
    runtime: Runtime,
    connection: PgConnection,
    /// The URL without the password, as it is shown.
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
                "SELECT left(label, 4000), samples, CASE WHEN octet_length(document) <= $2 THEN document END
                 FROM bytelab.run WHERE id = $1::text::uuid",
            );
            let query = query.bind(&id).bind(blocks::DOCUMENT_MAX as i64);
            let row = query.fetch_optional(connection).await?;
            row.map(|row| Ok((row.try_get(0)?, count(&row, 1)?, row.try_get(2)?))).transpose()
        })?;
        let (label, samples, document): (Option<String>, u64, Option<Vec<u8>>) =
            found.with_context(|| no_run(&id))?;
        let run = document.context("its data is damaged").and_then(|bytes| blocks::run_of(&bytes));
        let mut run = run.map_err(|error| unreadable(&id, &error))?;
        if run.schema > SCHEMA {
            let why = anyhow!("it is from a newer bytelab (schema {}): update bytelab", run.schema);
            return Err(unreadable(&id, &why));
        }
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
        let whole: Vec<i64> = whole.map(|(position, _)| position as i64 + 1).collect();
        // The sizes are known without reading the data.
        let rows = self.wait(0, async |connection| {
            let query = sqlx::query(
                "SELECT texts, CASE WHEN position = ANY ($2) THEN block END
                 FROM (SELECT *, sum(octet_length(texts) + octet_length(block)) OVER () AS size
                       FROM bytelab.run, unnest(answers, data) WITH ORDINALITY
                                         AS cell (texts, block, position)
                       WHERE id = $1::text::uuid) AS cell
                 WHERE size <= $3 ORDER BY position",
            );
            let query = query.bind(&run.id).bind(&whole).bind(blocks::SAMPLES_MAX as i64);
            Ok(query.fetch_all(connection).await?)
        })?;
        let id = run.id.clone();
        read_cells(&mut run, &rows, &is_read).map_err(|error| unreadable(&id, &error))?;
        let read: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
        if whole.len() == run.cells.len() && read as u64 != samples {
            let why = anyhow!("it is damaged: it has {read} of {samples} samples");
            return Err(unreadable(&id, &why));
        }
        Ok(run)
    }

    fn insert(&mut self, run: &Run) -> Result<bool> {
        let document = blocks::document(run)?;
        let mut room = MemoryBudget::new();
        let (mut answers, mut data) = (Vec::new(), Vec::new());
        for cell in &run.cells {
            let (of_cell, block) = if cell.samples.is_empty() {
                ("[]".to_owned(), Vec::new())
            } else {
                blocks::block(cell, &mut room)?
            };
            answers.push(of_cell);
            data.push(block);
        }
        let bytes = document.len() + data.iter().map(Vec::len).sum::<usize>();
        self.wait(bytes, async |connection| {
            let insert = insert_run(run, document).bind(answers).bind(data);
            if insert.execute(&mut *connection).await?.rows_affected() == 0 {
                let (complete, samples) = state(&run.uuid, connection).await?;
                ensure_not_older(complete, samples, run)?;
                return Ok(false);
            }
            Ok(true)
        })
    }
}

type PostgresQuery<'a> = sqlx::query::Query<'a, sqlx::Postgres, sqlx::postgres::PgArguments>;

/// Adds the run, unless there is one with its UUID. The answers and the blocks of its cells are to
/// be bound.
fn insert_run(run: &Run, document: Vec<u8>) -> PostgresQuery<'static> {
    let facts = &run.environment.facts;
    let cpu_model = facts.get("cpu_model").and_then(|model| model.as_str());
    let took_ns = facts.get(TOOK).and_then(serde_json::Value::as_i64);
    let samples: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
    sqlx::query(
        "INSERT INTO bytelab.run (id, experiment, label, started, complete, fingerprint, cpu_model,
                                  cells, samples, took_ns, document, answers, data)
         VALUES ($1::text::uuid, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
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

/// Each row has the answers of a cell, and its samples where these are wanted.
fn read_cells(run: &mut Run, rows: &[PgRow], is_read: impl Fn(&str) -> bool) -> Result<()> {
    ensure!(rows.len() == run.cells.len(), "it is damaged: it has {} cells", rows.len());
    let mut room = MemoryBudget::new();
    for (position, (cell, row)) in run.cells.iter_mut().zip(rows).enumerate() {
        let answers: Vec<String> = from_json("answers", row.try_get(0)?)?;
        match row.try_get::<Option<&[u8]>, _>(1)? {
            None => cell.samples = packed::one_of_each(answers),
            Some([]) => {}
            Some(block) => blocks::read_block(cell, &answers, block, &mut room, &is_read)
                .with_context(|| format!("cell {position}"))?,
        }
    }
    Ok(())
}

fn unreadable(id: &str, why: &anyhow::Error) -> anyhow::Error {
    Unreadable(format!("run {id}: {why:#}")).into()
}

/// PostgreSQL's texts have no NUL.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

impl Store for Postgres {
    fn add(&mut self, run: &Run) -> Result<String> {
        let mut run = run.clone();
        if run.uuid.is_empty() {
            run.uuid = interface::uuid_of(&run.started);
        }
        if !self.insert(&run)? {
            run.uuid = interface::uuid_of(&run.started);
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

    fn load_plan(&mut self, id: &str) -> Result<StoredPlan> {
        let (run, _) = self.document(id)?;
        let took_ns = interface::took_ns(&run.environment);
        Ok(StoredPlan { plan: run.plan, points: run.points, took_ns })
    }

    fn list(&mut self) -> Result<Vec<Listed>> {
        let rows = self.wait(0, async |connection| {
            let query = sqlx::query(
                "SELECT id::text, left(experiment, 4000), left(label, 4000), left(started, 40), complete,
                        left(fingerprint, 4000), left(cpu_model, 4000), cells, samples
                 FROM bytelab.run ORDER BY id",
            );
            Ok(query.fetch_all(connection).await?)
        })?;
        rows.iter().map(listed).collect()
    }

    fn newest(&mut self, n: usize) -> Result<Vec<Listed>> {
        let rows = self.wait(0, async |connection| {
            let query = sqlx::query(
                "SELECT id::text, left(experiment, 4000), left(label, 4000), left(started, 40), complete,
                        left(fingerprint, 4000), left(cpu_model, 4000), cells, samples
                 FROM bytelab.run ORDER BY LEAST(started, added) DESC, id DESC LIMIT $1",
            );
            Ok(query.bind(i64::try_from(n).unwrap_or(i64::MAX)).fetch_all(connection).await?)
        })?;
        rows.iter().rev().map(listed).collect()
    }

    fn clock_ahead_s(&mut self, now: &str) -> Result<i64> {
        self.wait(0, async |connection| {
            let query = sqlx::query(
                "SELECT extract(epoch FROM $1::timestamptz - clock_timestamp())::bigint",
            );
            Ok(query.bind(now).fetch_one(connection).await?.try_get(0)?)
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
            let query = sqlx::query(
                "SELECT left(name, 1000), run::text FROM bytelab.baseline ORDER BY name",
            );
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

// The UUID that a text names. Nothing here asks the server.

/// The id, if it is a whole one.
fn full_id(id: &str) -> Result<String> {
    let (start, end) = bounds(id).with_context(|| no_run(id))?;
    ensure!(start == end, no_run(id));
    Ok(start)
}

/// The least and the greatest UUID that start with the text.
fn bounds(text: &str) -> Option<(String, String)> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    if !interface::is_uuid_start(text) || digits.len() > 32 {
        return None;
    }
    let filled = |filler: &str| -> String {
        let digits = format!("{}{}", digits.to_ascii_lowercase(), filler.repeat(32 - digits.len()));
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        parts.join("-")
    };
    Some((filled("0"), filled("f")))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod ids_tests {
    use super::*;

    #[test]
    fn the_bounds_of_an_id_are_uuids() {
        let (start, end) = bounds("0194-2").unwrap();
        assert_eq!(start, "01942000-0000-0000-0000-000000000000");
        assert_eq!(end, "01942fff-ffff-ffff-ffff-ffffffffffff");
        let whole = crate::uuid_of("");
        assert_eq!(bounds(&whole), Some((whole.clone(), whole)));
        assert_eq!(bounds("latest"), None);
        assert_eq!(bounds(&"0".repeat(33)), None);
    }
}
