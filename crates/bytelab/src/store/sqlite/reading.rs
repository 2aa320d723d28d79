//! Converts rows of the store to runs.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use lab::run::{Cell, Listed, Machine, Run, SCHEMA, Sample};
use rusqlite::{Row, Transaction};

use crate::store::columns::{self, OwnedValues, from_json};

/// The run of this number, which must exist.
pub(super) fn load(transaction: &Transaction<'_>, number: i64) -> Result<Run> {
    let mut run = transaction
        .prepare_cached(
            "SELECT schema, experiment, question, label, started, complete, environment, plan,
                    points, notes
             FROM run WHERE id = ?1",
        )?
        .query_one([number], |row| Ok(read_run(number, row)))??;
    let mut statement = transaction.prepare_cached(
        "SELECT position, method, about, role, language, point, status, reason, digest,
                syscalls_by_name
         FROM cell WHERE run = ?1 ORDER BY position",
    )?;
    let mut rows = statement.query([number])?;
    while let Some(row) = rows.next()? {
        let expected = run.cells.len();
        ensure!(row.get::<_, usize>(0)? == expected, "cell {expected} is missing");
        run.cells.push(read_cell(row).with_context(|| format!("cell {expected}"))?);
    }
    let mut statement = transaction.prepare_cached(
        "SELECT n, cell, pass, session, round, slot, warm_up, not_counted, ops, bytes, answer,
                metrics
         FROM sample WHERE run = ?1 ORDER BY n",
    )?;
    let mut rows = statement.query([number])?;
    while let Some(row) = rows.next()? {
        let (sample, OwnedValues(values)) =
            read_sample(row).with_context(|| format!("sample {:?}", row.get_ref(0)))?;
        let position: usize = row.get(1)?;
        let cell = run.cells.get_mut(position);
        cell.with_context(|| format!("cell {position} is missing"))?.push(sample, &values);
    }
    Ok(run)
}

/// All runs, the oldest first.
pub(super) fn list(transaction: &Transaction<'_>) -> Result<Vec<Listed>> {
    let mut statement = transaction.prepare_cached(LIST)?;
    let rows = statement.query_map([], listed)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The samples of a run are numbered from 0 without gaps: the last number gives the count.
const LIST: &str = "
    SELECT id, experiment, label, started, complete,
           environment ->> '$.fingerprint' AS fingerprint,
           CAST(environment ->> '$.cpu_model' AS TEXT) AS cpu_model,
           (SELECT count(*) FROM cell WHERE run = id) AS cells,
           (SELECT coalesce(max(n) + 1, 0) FROM sample WHERE run = id) AS samples
    FROM run ORDER BY id";

fn listed(row: &Row<'_>) -> rusqlite::Result<Listed> {
    let machine =
        Machine { fingerprint: row.get("fingerprint")?, cpu_model: row.get("cpu_model")? };
    Ok(Listed {
        id: row.get::<_, i64>("id")?.to_string(),
        experiment: row.get("experiment")?,
        label: row.get("label")?,
        started: row.get("started")?,
        machine,
        complete: row.get("complete")?,
        cells: row.get("cells")?,
        samples: row.get("samples")?,
    })
}

fn read_run(number: i64, row: &Row<'_>) -> Result<Run> {
    let schema = row.get("schema")?;
    ensure!(
        schema <= SCHEMA,
        "it was written by a newer bytelab (schema {schema}): update bytelab"
    );
    let text = |name| -> Result<String> { Ok(row.get(name)?) };
    Ok(Run {
        schema,
        id: number.to_string(),
        experiment: text("experiment")?,
        question: text("question")?,
        label: row.get("label")?,
        started: text("started")?,
        complete: row.get("complete")?,
        environment: from_json("environment", &text("environment")?)?,
        plan: from_json("plan", &text("plan")?)?,
        points: from_json("points", &text("points")?)?,
        cells: Vec::new(),
        notes: from_json("notes", &text("notes")?)?,
    })
}

fn read_cell(row: &Row<'_>) -> Result<Cell> {
    let text = |name| -> Result<String> { Ok(row.get(name)?) };
    let calls: Option<String> = row.get("syscalls_by_name")?;
    Ok(Cell {
        method: text("method")?,
        about: text("about")?,
        role: columns::role(&text("role")?)?,
        language: row.get("language")?,
        point: from_json("point", &text("point")?)?,
        status: columns::status(&text("status")?, row.get("reason")?)?,
        digest: row.get("digest")?,
        syscalls_by_name: calls.map(|json| from_json("syscalls_by_name", &json)).transpose()?,
        samples: Vec::new(),
        values: BTreeMap::new(),
    })
}

fn read_sample(row: &Row<'_>) -> Result<(Sample, OwnedValues)> {
    let pass: String = row.get("pass")?;
    let sample = Sample {
        pass: columns::pass(&pass)?,
        session: row.get("session")?,
        round: row.get("round")?,
        slot: row.get("slot")?,
        warm_up: row.get("warm_up")?,
        not_counted: row.get("not_counted")?,
        ops: row.get::<_, i64>("ops")?.cast_unsigned(),
        bytes: row.get::<_, i64>("bytes")?.cast_unsigned(),
        answer: row.get("answer")?,
    };
    let metrics = row.get_ref("metrics")?.as_str()?;
    Ok((sample, from_json("metrics", metrics)?))
}
