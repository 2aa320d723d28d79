//! Converts runs to rows of the store, and rows to runs.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use model::run::{Cell, Environment, Listed, Machine, Plan, Run, SCHEMA, Warning};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::checksums::{self, CELL, CellChecksums, NewerSchema};
use crate::interface::{self, StoredPlan, TOOK};
use crate::packed::{self, Packed, from_json, to_json};

/// The run of this number, which must exist.
pub(super) fn load(transaction: &Transaction<'_>, number: i64) -> Result<Run> {
    let mut run = load_without_samples(transaction, number)?;
    read_packed(transaction, number, &mut run)?;
    let (_, stored) = state(transaction, number)?;
    let samples: usize = run.cells.iter().map(|cell| cell.samples.len()).sum();
    ensure!(samples as u64 == stored, "it has {samples} of {stored} samples");
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
    let mut blocks = read_samples(transaction, number, &mut run, |cell| cell.method == method)?;
    let mut of_cell = transaction.prepare_cached(
        "SELECT data FROM cell_metric WHERE run = ?1 AND cell = ?2 AND name = ?3",
    )?;
    let cells = run.cells.iter_mut().enumerate().filter(|(_, cell)| cell.method == method);
    for (position, cell) in cells {
        let Some(of_metrics) = blocks.get_mut(&position) else { continue };
        let mut rows = of_cell.query(params![number, position, metric])?;
        if let Some(row) = rows.next()? {
            read_metric(cell, metric, row.get_ref(0)?.as_blob()?, of_metrics)
                .with_context(|| format!("cell {position}"))?;
        }
        ensure!(!of_metrics.contains_key(metric), "cell {position} has lost {metric}");
    }
    Ok(run)
}

fn load_without_samples(transaction: &Transaction<'_>, number: i64) -> Result<Run> {
    checksums::check(transaction, number)?;
    let mut run = transaction
        .prepare_cached(
            "SELECT uuid, schema, experiment, question, label, started, complete, environment,
                    plan, points, notes
             FROM run WHERE id = ?1",
        )?
        .query_one([number], |row| Ok(read_run(number, row)))??;
    let mut statement = transaction.prepare_cached(&format!(
        "SELECT {CELL}, checksum = checksum_of({CELL}) AS is_whole
         FROM cell WHERE run = ?1 ORDER BY position"
    ))?;
    let mut rows = statement.query([number])?;
    while let Some(row) = rows.next()? {
        let expected = run.cells.len();
        ensure!(row.get::<_, usize>("position")? == expected, "cell {expected} is missing");
        ensure!(row.get::<_, bool>("is_whole")?, "the checksum of cell {expected} is wrong");
        run.cells.push(read_cell(row).with_context(|| format!("cell {expected}"))?);
    }
    let (cells, _) = size(transaction, number)?;
    ensure!(run.cells.len() == cells, "it has {} of {cells} cells", run.cells.len());
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

/// The number of cells of a run, which must exist, and the number of its next sample.
pub(super) fn size(transaction: &Transaction<'_>, number: i64) -> Result<(usize, u64)> {
    let mut statement =
        transaction.prepare_cached("SELECT cells, next_sample FROM run WHERE id = ?1")?;
    Ok(statement.query_one([number], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Reads the samples of these cells, without their values, and one sample of each answer of the
/// others. Returns the checksums of the metrics of each cell that has samples.
fn read_samples(
    transaction: &Transaction<'_>,
    number: i64,
    run: &mut Run,
    is_whole: impl Fn(&Cell) -> bool,
) -> Result<BTreeMap<usize, BTreeMap<String, u32>>> {
    let mut of_cell = transaction
        .prepare_cached("SELECT reasons, data FROM cell_samples WHERE run = ?1 AND cell = ?2")?;
    let mut statement = transaction.prepare_cached(
        "SELECT position, answers, blocks FROM cell WHERE run = ?1 AND answers IS NOT NULL",
    )?;
    let mut all = BTreeMap::new();
    let mut rows = statement.query([number])?;
    while let Some(row) = rows.next()? {
        let position = row.get(0)?;
        let cell = cell_at(run, position)?;
        let answers: Vec<String> = from_json("answers", row.get_ref(1)?.as_str()?)?;
        let blocks: CellChecksums = from_json("blocks", row.get_ref(2)?.as_str()?)?;
        all.insert(position, blocks.metrics);
        if !is_whole(cell) {
            cell.samples = packed::one_of_each(answers);
            continue;
        }
        let mut rows = of_cell.query(params![number, position])?;
        let row = rows.next()?.with_context(|| format!("cell {position} has lost its samples"))?;
        let (reasons, data) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_blob()?);
        ensure!(
            checksums::of_samples(reasons, data) == blocks.samples,
            "the checksum of the samples of cell {position} is wrong"
        );
        let reasons: Vec<String> = from_json("reasons", reasons)?;
        let samples = packed::unpack(&answers, &reasons, data);
        cell.samples = samples.with_context(|| format!("cell {position}"))?;
    }
    Ok(all)
}

/// Adds the values of a metric to the cell; its checksum is removed from those of the metrics.
fn read_metric(
    cell: &mut Cell,
    name: &str,
    data: &[u8],
    of_metrics: &mut BTreeMap<String, u32>,
) -> Result<()> {
    let expected = of_metrics.remove(name);
    ensure!(expected == Some(checksums::of_bytes(data)), "the checksum of {name} is wrong");
    cell.values.insert(name.to_owned(), packed::unpack_values(data, cell.samples.len())?);
    Ok(())
}

fn read_packed(transaction: &Transaction<'_>, number: i64, run: &mut Run) -> Result<()> {
    let mut blocks = read_samples(transaction, number, run, |_| true)?;
    let mut statement = transaction.prepare_cached(
        "SELECT cell, name, data FROM cell_metric WHERE run = ?1 ORDER BY cell, name",
    )?;
    let mut rows = statement.query([number])?;
    while let Some(row) = rows.next()? {
        let (position, name): (_, String) = (row.get(0)?, row.get(1)?);
        let cell = cell_at(run, position)?;
        let of_metrics = blocks.entry(position).or_default();
        read_metric(cell, &name, row.get_ref(2)?.as_blob()?, of_metrics)
            .with_context(|| format!("cell {position}"))?;
    }
    let lost = blocks.iter().find_map(|(cell, metrics)| Some((cell, metrics.keys().next()?)));
    if let Some((position, name)) = lost {
        bail!("cell {position} has lost {name}");
    }
    Ok(())
}

fn cell_at(run: &mut Run, position: usize) -> Result<&mut Cell> {
    run.cells.get_mut(position).with_context(|| format!("cell {position} is missing"))
}

/// The plan and the points of the run of this number, which must exist.
pub(super) fn load_plan(transaction: &Transaction<'_>, number: i64) -> Result<StoredPlan> {
    checksums::check(transaction, number)?;
    let mut statement = transaction.prepare_cached(
        "SELECT plan, points, json_extract(environment, '$.' || ?2) FROM run WHERE id = ?1",
    )?;
    statement.query_one((number, TOOK), |row| {
        let (plan, points): (String, String) = (row.get(0)?, row.get(1)?);
        let took_ns: Option<u64> = row.get(2).unwrap_or_default();
        let plan = from_json("plan", &plan);
        Ok(plan.and_then(|plan| {
            Ok(StoredPlan { plan, points: from_json("points", &points)?, took_ns })
        }))
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
    ensure!(schema <= SCHEMA, NewerSchema(schema));
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
        role: packed::role(&text("role")?)?,
        language: row.get("language")?,
        point: from_json("point", &text("point")?)?,
        status: packed::status(&text("status")?, row.get("reason")?)?,
        digest: row.get("digest")?,
        syscalls_by_name: calls.map(|json| from_json("syscalls_by_name", &json)).transpose()?,
        samples: Vec::new(),
        values: BTreeMap::new(),
    })
}

/// Adds a run, as not complete and without its checksum, and returns its number.
pub(super) fn insert(transaction: &Transaction<'_>, run: &Run) -> Result<i64> {
    let Run { schema, experiment, question, label, started, .. } = run;
    let Run { environment, plan, points, notes, .. } = run;
    let is_new = !run.uuid.is_empty() && with_uuid(transaction, &run.uuid)?.is_none();
    let uuid = if is_new { run.uuid.clone() } else { interface::uuid_of(started) };
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
            packed::role_word(*role),
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
    let blocks = CellChecksums { samples, metrics };
    transaction
        .prepare_cached(
            "UPDATE cell SET answers = ?3, blocks = ?4 WHERE run = ?1 AND position = ?2",
        )?
        .execute(params![number, position, to_json(&answers)?, to_json(&blocks)?])?;
    Ok(())
}
