//! Converts rows of the store to runs.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use lab::run::{Cell, Listed, Machine, Run, SCHEMA};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::store::columns::{self, from_json};
use crate::store::interface::{Planned, TOOK};
use crate::store::packed;

/// The run of this number, which must exist.
pub(super) fn load(transaction: &Transaction<'_>, number: i64) -> Result<Run> {
    let mut run = load_without_samples(transaction, number)?;
    read_packed(transaction, number, &mut run)?;
    Ok(run)
}

/// The same with all samples of this method, but only this metric of it, and with one sample of
/// each answer of the other methods.
pub(super) fn load_method(
    transaction: &Transaction<'_>,
    number: i64,
    method: &str,
    metric: &str,
) -> Result<Run> {
    let mut run = load_without_samples(transaction, number)?;
    if run.cells.iter().all(|cell| cell.method != method) {
        return Ok(run);
    }
    read_samples(transaction, number, &mut run, |cell| cell.method == method)?;
    let mut of_cell = transaction.prepare_cached(
        "SELECT data FROM cell_metric WHERE run = ?1 AND cell = ?2 AND name = ?3",
    )?;
    let cells = run.cells.iter_mut().enumerate().filter(|(_, cell)| cell.method == method);
    for (position, cell) in cells {
        let mut rows = of_cell.query(params![number, position, metric])?;
        if let Some(row) = rows.next()? {
            let values = packed::unpack_values(row.get_ref(0)?.as_blob()?, cell.samples.len());
            let values = values.with_context(|| format!("cell {position}"))?;
            cell.values.insert(metric.to_owned(), values);
        }
    }
    Ok(run)
}

fn load_without_samples(transaction: &Transaction<'_>, number: i64) -> Result<Run> {
    let mut run = transaction
        .prepare_cached(
            "SELECT uuid, schema, experiment, question, label, started, complete, environment,
                    plan, points, notes
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
    Ok(run)
}

/// The number of the run with this UUID.
pub(super) fn with_uuid(transaction: &Transaction<'_>, uuid: &str) -> Result<Option<i64>> {
    let mut statement = transaction.prepare_cached("SELECT id FROM run WHERE uuid = ?1")?;
    Ok(statement.query_one([uuid], |row| row.get(0)).optional()?)
}

/// Whether a run, which must exist, is complete, and its number of samples.
pub(super) fn state(transaction: &Transaction<'_>, number: i64) -> Result<(bool, u64)> {
    let mut statement =
        transaction.prepare_cached("SELECT complete, samples FROM run WHERE id = ?1")?;
    Ok(statement.query_one([number], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// The number of cells and of samples of a run, which must exist.
pub(super) fn size(transaction: &Transaction<'_>, number: i64) -> Result<(usize, u64)> {
    let mut statement =
        transaction.prepare_cached("SELECT cells, samples FROM run WHERE id = ?1")?;
    Ok(statement.query_one([number], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Reads the samples of these cells, without their values, and one sample of each answer of the
/// others.
fn read_samples(
    transaction: &Transaction<'_>,
    number: i64,
    run: &mut Run,
    is_whole: impl Fn(&Cell) -> bool,
) -> Result<()> {
    let mut of_cell = transaction
        .prepare_cached("SELECT reasons, data FROM cell_samples WHERE run = ?1 AND cell = ?2")?;
    let mut statement = transaction.prepare_cached(
        "SELECT position, answers FROM cell WHERE run = ?1 AND answers IS NOT NULL",
    )?;
    let mut rows = statement.query([number])?;
    while let Some(row) = rows.next()? {
        let position = row.get(0)?;
        let cell = cell_at(run, position)?;
        let answers: Vec<String> = from_json("answers", row.get_ref(1)?.as_str()?)?;
        if !is_whole(cell) {
            cell.samples = packed::one_of_each(answers);
            continue;
        }
        let mut rows = of_cell.query(params![number, position])?;
        let row = rows.next()?.with_context(|| format!("cell {position} has lost its samples"))?;
        let reasons: Vec<String> = from_json("reasons", row.get_ref(0)?.as_str()?)?;
        let samples = packed::unpack(&answers, &reasons, row.get_ref(1)?.as_blob()?);
        cell.samples = samples.with_context(|| format!("cell {position}"))?;
    }
    Ok(())
}

fn read_packed(transaction: &Transaction<'_>, number: i64, run: &mut Run) -> Result<()> {
    read_samples(transaction, number, run, |_| true)?;
    let mut statement = transaction.prepare_cached(
        "SELECT cell, name, data FROM cell_metric WHERE run = ?1 ORDER BY cell, name",
    )?;
    let mut rows = statement.query([number])?;
    while let Some(row) = rows.next()? {
        let (position, name): (_, String) = (row.get(0)?, row.get(1)?);
        let cell = cell_at(run, position)?;
        let values = packed::unpack_values(row.get_ref(2)?.as_blob()?, cell.samples.len());
        cell.values.insert(name, values.with_context(|| format!("cell {position}"))?);
    }
    Ok(())
}

fn cell_at(run: &mut Run, position: usize) -> Result<&mut Cell> {
    run.cells.get_mut(position).with_context(|| format!("cell {position} is missing"))
}

/// The plan and the points of the run of this number, which must exist.
pub(super) fn planned(transaction: &Transaction<'_>, number: i64) -> Result<Planned> {
    let mut statement = transaction.prepare_cached(
        "SELECT plan, points, json_extract(environment, '$.' || ?2) FROM run WHERE id = ?1",
    )?;
    statement.query_one((number, TOOK), |row| {
        let (plan, points): (String, String) = (row.get(0)?, row.get(1)?);
        let took_ns: Option<u64> = row.get(2).unwrap_or_default();
        let plan = from_json("plan", &plan);
        Ok(plan
            .and_then(|plan| Ok(Planned { plan, points: from_json("points", &points)?, took_ns })))
    })?
}

/// All runs, the oldest first.
pub(super) fn list(transaction: &Transaction<'_>) -> Result<Vec<Listed>> {
    let mut statement = transaction.prepare_cached(LIST)?;
    let rows = statement.query_map([], listed)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// All of it is in the index, so that a list reads no run.
const LIST: &str = "
    SELECT id, uuid, experiment, label, started, complete, fingerprint, cpu_model, cells, samples
    FROM run INDEXED BY listed ORDER BY id";

fn listed(row: &Row<'_>) -> rusqlite::Result<Listed> {
    let machine =
        Machine { fingerprint: row.get("fingerprint")?, cpu_model: row.get("cpu_model")? };
    Ok(Listed {
        id: row.get::<_, i64>("id")?.to_string(),
        uuid: row.get("uuid")?,
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
        uuid: row.get("uuid")?,
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
