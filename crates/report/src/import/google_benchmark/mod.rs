//! The document of Google Benchmark's `--benchmark_format=json`: repetitions are samples; if the
//! file has only aggregates, their median is the only value.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result, bail, ensure};
use model::param::Point;
use model::run::{Run, Status};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::draft::{Draft, ImportFormat, ImportedFile, ImportedSample, own_metric};
use super::read;

#[derive(Deserialize)]
struct GoogleBenchmarkDocument {
    context: Map<String, Value>,
    benchmarks: Vec<Map<String, Value>>,
}

pub(super) fn run(text: &str, source: &ImportedFile<'_>) -> Result<Run> {
    let (text, note) = read::without_nan(text);
    let document: GoogleBenchmarkDocument = read::json(&text)?;
    let context = &document.context;
    let word = |key: &str| context.get(key).and_then(Value::as_str);
    let version = word("library_version").map_or(String::new(), |version| format!(" {version}"));
    let mut draft = Draft::new(ImportFormat::GoogleBenchmark, format!("google-benchmark{version}"));
    draft.started(word("date").and_then(read::utc));
    environment(&mut draft, context);
    if let Some(text) = note {
        draft.note(None, text);
    }
    // Exports of bytelab are by wall time.
    let by_wall = word("executable") == Some("bytelab");
    let mut cells = CellsByKey::default();
    let suffixes = suffixes(&document.benchmarks);
    let entries = || {
        let all = document.benchmarks.iter().enumerate();
        all.map(|(at, keys)| GoogleBenchmarkEntry {
            at,
            keys,
            by_wall,
            aggregate: aggregate(keys, &suffixes),
        })
    };
    for entry in entries().filter(|entry| entry.aggregate.is_none()) {
        repetition(&mut draft, &mut cells, &entry)
            .with_context(|| format!("benchmarks[{}]", entry.at))?;
    }
    let mut rows: Vec<Aggregates<'_>> = Vec::new();
    let mut known: HashMap<CellKey<'_>, usize> = HashMap::new();
    let mut curves: Vec<&str> = Vec::new();
    for entry in entries() {
        let Some(kind) = entry.aggregate else { continue };
        let key = entry.key().with_context(|| format!("benchmarks[{}]", entry.at))?;
        if ["BigO", "RMS"].contains(&kind) {
            curves.push(key.0);
            continue;
        }
        // Samples contain more information than their aggregates.
        if cells.known.contains_key(&key) {
            continue;
        }
        let row = *known.entry(key).or_insert_with(|| {
            rows.push(Aggregates { key, of: Vec::new() });
            rows.len() - 1
        });
        rows[row].of.push((kind, entry));
    }
    for row in &rows {
        aggregated(&mut draft, row)?;
    }
    if let Some(first) = curves.first() {
        let text = format!(
            "the curves that were fitted (BigO, RMS) are not read, such as that of {first:?}"
        );
        draft.note(None, text);
    }
    draft.finish(source)
}

fn environment(draft: &mut Draft, context: &Map<String, Value>) {
    for (key, fact) in [
        ("host_name", "host_name"),
        ("num_cpus", "cpu_threads"),
        ("mhz_per_cpu", "cpu_mhz"),
        ("caches", "cpu_caches"),
        ("cpu_scaling_enabled", "cpu_scaling_enabled"),
        ("load_avg", "load_average"),
        ("executable", "executable"),
        ("library_build_type", "library_build_type"),
    ] {
        if let Some(value) = context.get(key) {
            draft.fact(fact, value.clone());
        }
    }
    let is = |key: &str, value: Value| context.get(key) == Some(&value);
    if is("library_build_type", "debug".into()) {
        draft.note(None, "Google Benchmark itself was built without optimisation".to_owned());
    }
    if is("cpu_scaling_enabled", true.into()) {
        draft.note(
            None,
            "the processor's frequency was free to change (cpu_scaling_enabled)".into(),
        );
    }
}

/// An entry of the list, and its position.
#[derive(Clone, Copy)]
struct GoogleBenchmarkEntry<'a> {
    at: usize,
    keys: &'a Map<String, Value>,
    /// Whether its rates are by wall time, however it was measured.
    by_wall: bool,
    /// Of several repetitions, such as `median`; none for one of them.
    aggregate: Option<&'a str>,
}

/// The key that all entries of one benchmark share: two benchmarks may have the same name.
type CellKey<'a> = (&'a str, Option<u64>, Option<u64>);

/// The cells that have samples.
#[derive(Default)]
struct CellsByKey<'a> {
    known: HashMap<CellKey<'a>, usize>,
}

/// The aggregates of the repetitions of one benchmark.
struct Aggregates<'a> {
    key: CellKey<'a>,
    of: Vec<(&'a str, GoogleBenchmarkEntry<'a>)>,
}

impl<'a> GoogleBenchmarkEntry<'a> {
    fn key(&self) -> Result<CellKey<'a>> {
        let text = |key: &str| self.keys.get(key).and_then(Value::as_str);
        let number = |key: &str| self.keys.get(key).and_then(Value::as_u64);
        let name = text("name").context("name is missing, or is no text")?;
        let own = self.aggregate.and_then(|kind| name.strip_suffix(kind)?.strip_suffix('_'));
        let name = text("run_name").unwrap_or(own.unwrap_or(name));
        ensure!(!name.trim().is_empty(), "its name is empty");
        Ok((name, number("family_index"), number("per_family_instance_index")))
    }

    fn number(&self, key: &str) -> Result<Option<f64>> {
        match self.keys.get(key) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(number.as_f64()),
            Some(value) if is_hole(value) => Ok(None),
            Some(_) => bail!("{key} is not a number"),
        }
    }

    fn path(&self, key: &str) -> String {
        format!("benchmarks[{}].{}", self.at, key.escape_debug())
    }

    /// The time of one operation, in ns.
    fn time_ns(&self, key: &str) -> Result<Option<f64>> {
        let unit = match self.keys.get("time_unit").and_then(Value::as_str).unwrap_or("ns") {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            other => bail!("time_unit: {other:?} is none of ns, us, ms and s"),
        };
        let time = self.number(key)?;
        time.map(|time| read::amount(time * unit, || self.path(key))).transpose()
    }

    /// Times, throughput, and the benchmark's own counters.
    fn values(&self) -> Result<Vec<(String, f64)>> {
        const KNOWN: [&str; 11] = [
            "family_index",
            "per_family_instance_index",
            "repetitions",
            "repetition_index",
            "threads",
            "iterations",
            "real_time",
            "cpu_time",
            "bytes_per_second",
            "aggregate_unit",
            "time_unit",
        ];
        let mut values = Vec::new();
        for (key, name) in [("real_time", "wall_ns"), ("cpu_time", "cpu_ns")] {
            values.extend(self.time_ns(key)?.map(|ns| (name.to_owned(), ns)));
        }
        values.extend(self.throughput()?);
        for (key, value) in self.keys {
            if let (Value::Number(number), false) = (value, KNOWN.contains(&key.as_str())) {
                let value = number.as_f64().unwrap_or(f64::NAN);
                let value = read::finite(value, || self.path(key))?;
                values.push((own_metric(key), value));
            }
        }
        Ok(values)
    }
}

impl GoogleBenchmarkEntry<'_> {
    /// Google Benchmark divides by the CPU time, unless the benchmark requests real or manual time,
    /// which its name then states. The rate by wall time is computed from the values of one
    /// operation, but not from a mean of rates.
    fn throughput(&self) -> Result<Option<(String, f64)>> {
        let Some(rate) = self.number("bytes_per_second")? else { return Ok(None) };
        let rate = read::amount(rate, || self.path("bytes_per_second"))?;
        let name = self.key().map(|(name, ..)| name)?;
        let asks = |word: &str| ["real_time", "manual_time"].contains(&word);
        if self.by_wall || name.split('/').any(asks) {
            return Ok(Some((THROUGHPUT.to_owned(), rate)));
        }
        let times = (self.time_ns("cpu_time")?, self.time_ns("real_time")?);
        let is_mean = self.aggregate.is_some_and(|kind| kind != "median");
        Ok(Some(match times {
            (Some(cpu_ns), Some(wall_ns)) if wall_ns > 0.0 && !is_mean => {
                (THROUGHPUT.to_owned(), rate * (cpu_ns / wall_ns))
            }
            _ => ("bytes_per_cpu_second".to_owned(), rate),
        }))
    }
}

const THROUGHPUT: &str = "throughput_bytes_per_s";

/// Whether NaN or infinity was there, or null.
fn is_hole(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// The aggregates that the names of the rows end with, by what stands before: old versions say only
/// there what an aggregate is.
fn suffixes(rows: &[Map<String, Value>]) -> HashMap<&str, HashSet<&str>> {
    let mut found: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (name, kind) in rows.iter().filter_map(suffix) {
        found.entry(name).or_default().insert(kind);
    }
    found
}

fn suffix(row: &Map<String, Value>) -> Option<(&str, &str)> {
    let (name, kind) = row.get("name").and_then(Value::as_str)?.rsplit_once('_')?;
    let kinds = ["mean", "median", "stddev", "cv", "BigO", "RMS"];
    (!row.contains_key("run_type") && kinds.contains(&kind)).then_some((name, kind))
}

/// The name of the aggregate, such as `median`; `None` for a repetition.
fn aggregate<'a>(
    row: &'a Map<String, Value>,
    suffixes: &HashMap<&str, HashSet<&str>>,
) -> Option<&'a str> {
    let text = |key: &str| row.get(key).and_then(Value::as_str);
    match text("run_type") {
        Some("aggregate") => Some(text("aggregate_name").unwrap_or("aggregate")),
        Some(_) => None,
        None => {
            let (name, kind) = suffix(row)?;
            // They are written together: a median without a mean is a benchmark of that name.
            let is_one_of_several = suffixes.get(name).is_some_and(|kinds| kinds.len() > 1);
            (is_one_of_several || ["BigO", "RMS"].contains(&kind)).then_some(kind)
        }
    }
}

fn repetition<'a>(
    draft: &mut Draft,
    cells: &mut CellsByKey<'a>,
    entry: &GoogleBenchmarkEntry<'a>,
) -> Result<()> {
    let key = entry.key()?;
    let cell = match cells.known.get(&key) {
        Some(cell) => *cell,
        None => draft.new_cell(key.0, Point::default())?,
    };
    cells.known.insert(key, cell);
    let text = |key: &str| entry.keys.get(key).and_then(Value::as_str);
    let is = |key: &str| entry.keys.get(key) == Some(&Value::Bool(true));
    if let Some(label) = text("label") {
        draft.about(cell, label.to_owned());
    }
    let why = |key: &str| text(key).unwrap_or("no reason given").to_owned();
    if is("error_occurred") {
        draft.status(cell, Status::Failed(why("error_message")));
        return Ok(());
    }
    if is("skipped") {
        draft.status(cell, Status::Skipped(why("skip_message")));
        return Ok(());
    }
    let iterations = entry.number("iterations")?.context("iterations is missing")?;
    let ops = read::operations(iterations, || "iterations".to_owned())?;
    let time = entry.keys.get("real_time").context("real_time is missing")?;
    if is_hole(time) {
        draft.status(cell, Status::Failed(format!("{} is no number", entry.path("real_time"))));
        return Ok(());
    }
    draft.push(cell, ImportedSample { session: 0, ops, bytes: 0 }, &entry.values()?)
}

fn aggregated(draft: &mut Draft, row: &Aggregates<'_>) -> Result<()> {
    let (name, ..) = row.key;
    let named = |kind: &str| row.of.iter().find(|(known, _)| *known == kind);
    let Some((kind, entry)) = named("median").or(named("mean")) else {
        bail!("{name:?} has neither repetitions nor their median nor their mean");
    };
    let key = || format!("benchmarks[{}]", entry.at);
    let cell = draft.new_cell(name, Point::default())?;
    let mut values = entry.values().with_context(key)?;
    let time =
        entry.keys.get("real_time").with_context(|| format!("{}.real_time is missing", key()))?;
    if is_hole(time) {
        draft.status(cell, Status::Failed(format!("{} is no number", entry.path("real_time"))));
        return Ok(());
    }
    // The known facts about the variation of the repetitions.
    if let Some((_, other)) = named("stddev") {
        let ns = other.time_ns("real_time").with_context(key)?;
        values.extend(ns.map(|ns| ("wall_stddev_ns".to_owned(), ns)));
    }
    draft.push(cell, super::draft::ONE, &values)?;
    let n = entry.number("iterations")?.or(entry.number("repetitions")?);
    let of = n.map_or(String::new(), |n| format!(" of {n}"));
    let text =
        format!("only aggregates are in the file: the one value is the {kind}{of} repetitions");
    let method = draft.method(cell).to_owned();
    draft.note(Some(&method), text);
    Ok(())
}

#[allow(clippy::float_cmp, reason = "values are taken over as they are")]
#[cfg(test)]
mod tests;
