//! Converts runs to rows of the store.

use std::collections::BTreeMap;

use anyhow::Result;
use lab::run::{Cell, Environment, Plan, Run, Warning};
use rusqlite::{Transaction, params};

use super::checksums::{self, Blocks};
use super::reading;
use crate::store::columns::{self, to_json};
use crate::store::packed::{self, Packed};
use crate::store::uuids;

/// Adds a run, as not complete and without its checksum, and returns its number.
pub(super) fn insert(transaction: &Transaction<'_>, run: &Run) -> Result<i64> {
    let Run { schema, experiment, question, label, started, .. } = run;
    let Run { environment, plan, points, notes, .. } = run;
    let is_new = !run.uuid.is_empty() && reading::with_uuid(transaction, &run.uuid)?.is_none();
    let uuid = if is_new { run.uuid.clone() } else { uuids::of(started) };
    transaction.execute(
        "INSERT INTO run (schema, experiment, question, label, started, complete, environment,
                          plan, points, notes, uuid, fingerprint)
         VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9, ?10, '')",
        params![
            schema,
            experiment,
            question,
            label,
            started,
            to_json(environment)?,
            to_json(plan)?,
            to_json(points)?,
            to_json(notes)?,
            uuid
        ],
    )?;
    let number = transaction.last_insert_rowid();
    put_state(transaction, number, false, environment, notes)?;
    put_cells(transaction, number, run, samples(run) as u64)?;
    Ok(number)
}

fn samples(run: &Run) -> usize {
    run.cells.iter().map(|cell| cell.samples.len()).sum()
}

/// Replaces what changes when a run ends.
pub(super) fn put_state(
    transaction: &Transaction<'_>,
    number: i64,
    complete: bool,
    environment: &Environment,
    notes: &[Warning],
) -> Result<()> {
    let cpu_model = environment.facts.get("cpu_model").and_then(|model| model.as_str());
    let Environment { fingerprint, .. } = environment;
    transaction.execute(
        "UPDATE run SET complete = ?2, environment = ?3, notes = ?4, fingerprint = ?5,
                        cpu_model = ?6
         WHERE id = ?1",
        params![number, complete, to_json(environment)?, to_json(notes)?, fingerprint, cpu_model],
    )?;
    Ok(())
}

/// Replaces the plan.
pub(super) fn put_plan(transaction: &Transaction<'_>, number: i64, plan: &Plan) -> Result<()> {
    let replaced = "UPDATE run SET plan = ?2 WHERE id = ?1";
    transaction.execute(replaced, params![number, to_json(plan)?])?;
    Ok(())
}

/// Replaces all cells with their samples; the next sample has this number.
pub(super) fn put_cells(
    transaction: &Transaction<'_>,
    number: i64,
    run: &Run,
    next_sample: u64,
) -> Result<()> {
    delete_cells(transaction, number)?;
    for (position, cell) in run.cells.iter().enumerate() {
        put_cell(transaction, number, position, cell)?;
        put_samples(transaction, number, position, cell)?;
        checksums::seal_cell(transaction, number, position)?;
    }
    transaction.execute(
        "UPDATE run SET cells = ?2, samples = ?3, next_sample = ?4 WHERE id = ?1",
        params![number, run.cells.len(), samples(run), next_sample],
    )?;
    Ok(())
}

pub(super) fn delete_cells(transaction: &Transaction<'_>, number: i64) -> Result<()> {
    for table in ["cell_metric", "cell_samples", "cell"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [number])?;
    }
    Ok(())
}

fn put_cell(
    transaction: &Transaction<'_>,
    number: i64,
    position: usize,
    cell: &Cell,
) -> Result<()> {
    let Cell { method, about, role, language, point, status, digest, .. } = cell;
    let syscalls_by_name = cell.syscalls_by_name.as_ref().map(to_json).transpose()?;
    let (word, reason) = (status.word(), status.reason());
    transaction
        .prepare_cached(
            "INSERT INTO cell (run, position, method, about, role, language, point, status, reason,
                               digest, syscalls_by_name)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            number,
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

fn put_samples(
    transaction: &Transaction<'_>,
    number: i64,
    position: usize,
    cell: &Cell,
) -> Result<()> {
    if cell.samples.is_empty() {
        return Ok(());
    }
    let Packed { answers, reasons, data } = packed::pack(&cell.samples);
    let reasons = to_json(&reasons)?;
    let samples = checksums::of_samples(&reasons, &data);
    transaction
        .prepare_cached(
            "INSERT INTO cell_samples (run, cell, reasons, data) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![number, position, reasons, data])?;
    let mut metrics = BTreeMap::new();
    let mut insert = transaction.prepare_cached(
        "INSERT INTO cell_metric (run, cell, name, data) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (name, values) in &cell.values {
        let data = packed::pack_values(values);
        metrics.insert(name.clone(), checksums::of_bytes(&data));
        insert.execute(params![number, position, name, data])?;
    }
    let blocks = Blocks { samples, metrics };
    transaction
        .prepare_cached(
            "UPDATE cell SET answers = ?3, blocks = ?4 WHERE run = ?1 AND position = ?2",
        )?
        .execute(params![number, position, to_json(&answers)?, to_json(&blocks)?])?;
    Ok(())
}
