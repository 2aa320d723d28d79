//! JSON in the format of Google's benchmark library: a repetition per sample, then the aggregates
//! of each cell. Times are in ns, per operation.

use std::collections::BTreeMap;
use std::io::{self, Write};

use analysis::stats::{median, moments};
use model::run::{MetricColumn, Pass, Sample};
use serde::Serialize;

use super::format::{CPU, Entries, Exported, ExportedCell, PortableNumber, WALL, path};
use super::{ExportFormat, FormatKind};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "google-benchmark",
    about: "JSON as of --benchmark_out",
    extensions: &[],
    kind: FormatKind::Json,
    is_of_samples: false,
    write: |exported, out| Ok(write(exported, out)?),
};

const THROUGHPUT: &str = "throughput_bytes_per_s";
/// The names that a method's own metric must not have.
const KEYS: [&str; 16] = [
    "name",
    "family_index",
    "per_family_instance_index",
    "run_name",
    "run_type",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
    "time_unit",
    "aggregate_name",
    "aggregate_unit",
    "error_occurred",
    "error_message",
];

#[derive(Serialize)]
struct GoogleBenchmarkContext<'a> {
    date: &'a str,
    host_name: &'static str,
    executable: &'static str,
    num_cpus: u64,
    mhz_per_cpu: u64,
    caches: [(); 0],
    load_avg: [(); 0],
    library_build_type: &'static str,
    json_schema_version: u32,
    run: &'a str,
    experiment: &'a str,
    label: Option<&'a str>,
    machine: &'a str,
}

/// A sample, an aggregate, or the reason why there are none.
#[derive(Serialize)]
struct GoogleBenchmarkResult<'a> {
    name: &'a str,
    family_index: usize,
    per_family_instance_index: usize,
    run_name: &'a str,
    run_type: &'static str,
    repetitions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    repetition_index: Option<usize>,
    threads: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate_name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate_unit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_occurred: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    iterations: u64,
    real_time: PortableNumber,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time: Option<PortableNumber>,
    time_unit: &'static str,
    #[serde(flatten)]
    counters: BTreeMap<String, PortableNumber>,
}

impl<'a> GoogleBenchmarkResult<'a> {
    fn new(name: &'a str, family_index: usize, repetitions: usize) -> GoogleBenchmarkResult<'a> {
        GoogleBenchmarkResult {
            name,
            family_index,
            per_family_instance_index: 0,
            run_name: name,
            run_type: "iteration",
            repetitions,
            repetition_index: None,
            threads: 1,
            aggregate_name: None,
            aggregate_unit: None,
            error_occurred: None,
            error_message: None,
            iterations: 0,
            real_time: PortableNumber(0.0),
            cpu_time: None,
            time_unit: "ns",
            counters: BTreeMap::new(),
        }
    }
}

pub(super) fn write(exported: &Exported<'_>, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let run = exported.run;
    let number = |name: &str| exported.fact(name).parse::<f64>().map_or(0, |value| value as u64);
    let context = GoogleBenchmarkContext {
        date: &run.started,
        host_name: "",
        executable: "bytelab",
        num_cpus: number("cpu_threads"),
        mhz_per_cpu: number("cpu_mhz_now"),
        caches: [],
        load_avg: [],
        library_build_type: "release",
        json_schema_version: 1,
        run: &run.id,
        experiment: &run.experiment,
        label: run.label.as_deref(),
        machine: &run.environment.fingerprint,
    };
    out.write_all(b"{\"context\":")?;
    super::super::json::to(&mut *out, &context)?;
    out.write_all(b",\n\"benchmarks\":")?;
    let mut benchmarks = Entries::begin(&mut *out)?;
    let metrics = exported.metrics();
    let mut left_out = Vec::new();
    for entry in &exported.cells {
        let at_point = path(&entry.cell.method, &entry.cell.point, ':', str::to_owned);
        let name = format!("{}/{at_point}", run.experiment);
        if let Some(why) = &entry.refused {
            benchmarks.push(&GoogleBenchmarkResult {
                error_occurred: Some(true),
                error_message: Some(why),
                repetition_index: Some(0),
                cpu_time: Some(PortableNumber(0.0)),
                ..GoogleBenchmarkResult::new(&name, entry.index, 1)
            })?;
            continue;
        }
        left_out.extend(repetitions(entry, &name, &metrics, &mut benchmarks)?);
        aggregates(entry, &name, &metrics, &mut benchmarks)?;
    }
    benchmarks.end()?;
    out.write_all(b"}\n")?;
    Ok(left_out)
}

/// If a cell's CPU time is known, a sample without one is omitted: readers treat a missing time as
/// an error, and zero as a time.
fn repetitions<W: Write>(
    entry: &ExportedCell<'_>,
    name: &str,
    metrics: &[&str],
    benchmarks: &mut Entries<W>,
) -> io::Result<Option<String>> {
    let column = |metric: &str| entry.cell.column(metric);
    let value = |values: &MetricColumn, at: usize| {
        values.get(at).copied().filter(|value| value.is_finite())
    };
    let [wall, cpu] = [WALL, CPU].map(column);
    let others: Vec<(String, &MetricColumn)> = (metrics.iter())
        .filter(|metric| ![WALL, CPU].contains(metric))
        .map(|metric| (counter(metric), column(metric)))
        .collect();
    let has_cpu = entry.finite(CPU).next().is_some();
    let estimate = entry.cell.estimate();
    let counts =
        |(at, sample): &(usize, &Sample)| sample.counts_in(Pass::Timing) || Some(*at) == estimate;
    let all = || entry.cell.samples.iter().enumerate().filter(counts);
    let is_complete =
        |at: usize| value(wall, at).is_some() && (!has_cpu || value(cpu, at).is_some());
    let repetitions = all().filter(|(at, _)| is_complete(*at)).count();
    for (index, (at, sample)) in all().filter(|(at, _)| is_complete(*at)).enumerate() {
        let counters = others
            .iter()
            .filter_map(|(name, values)| Some((name.clone(), PortableNumber(value(values, at)?))));
        benchmarks.push(&GoogleBenchmarkResult {
            repetition_index: Some(index),
            iterations: sample.ops,
            real_time: PortableNumber(value(wall, at).unwrap_or_default()),
            cpu_time: value(cpu, at).map(PortableNumber),
            counters: counters.collect(),
            ..GoogleBenchmarkResult::new(name, entry.index, repetitions)
        })?;
    }
    let lacking = all().count() - repetitions;
    Ok(match (has_cpu, lacking) {
        (false, _) => Some(format!("{}: its CPU time is not known", entry.name)),
        (true, 0) => None,
        (true, n) => Some(format!("{}: samples without CPU time are left out: {n}", entry.name)),
    })
}

/// The aggregates of all samples.
fn aggregates<W: Write>(
    entry: &ExportedCell<'_>,
    name: &str,
    metrics: &[&str],
    benchmarks: &mut Entries<W>,
) -> io::Result<()> {
    let columns: Vec<(&str, Vec<f64>)> =
        metrics.iter().map(|metric| (*metric, entry.values(metric))).collect();
    let repetitions = entry.finite(WALL).count();
    for (aggregate, unit, of) in AGGREGATES {
        let figures: BTreeMap<&str, f64> = columns
            .iter()
            .filter_map(|(metric, values)| Some((*metric, of(values)?)))
            .filter(|(_, value)| value.is_finite())
            .collect();
        let Some(real_time) = figures.get(WALL) else { continue };
        let others = figures.iter().filter(|(metric, _)| ![WALL, CPU].contains(metric));
        benchmarks.push(&GoogleBenchmarkResult {
            name: &format!("{name}_{aggregate}"),
            run_name: name,
            run_type: "aggregate",
            aggregate_name: Some(aggregate),
            aggregate_unit: Some(unit),
            iterations: repetitions as u64,
            real_time: PortableNumber(*real_time),
            cpu_time: figures.get(CPU).map(|cpu| PortableNumber(*cpu)),
            counters: others
                .map(|(metric, value)| (counter(metric), PortableNumber(*value)))
                .collect(),
            ..GoogleBenchmarkResult::new(name, entry.index, repetitions)
        })?;
    }
    Ok(())
}

type Aggregate = (&'static str, &'static str, fn(&[f64]) -> Option<f64>);

const AGGREGATES: [Aggregate; 4] = [
    ("mean", "time", |values| Some(moments(values)?.mean)),
    ("median", "time", |values| Some(median(values))),
    ("stddev", "time", |values| moments(values)?.standard_deviation),
    ("cv", "percentage", |values| {
        let found = moments(values)?;
        Some(found.standard_deviation? / found.mean)
    }),
];

fn counter(metric: &str) -> String {
    match metric {
        THROUGHPUT => "bytes_per_second".to_owned(),
        own if KEYS.contains(&own) || own == "bytes_per_second" => format!("metric_{own}"),
        other => other.to_owned(),
    }
}
