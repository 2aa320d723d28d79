//! Criterion's directory `target/criterion`: for each benchmark, `new/benchmark.json` describes it,
//! and `new/sample.json` has its samples. The directories `base` and `report` are from an earlier
//! time, or derived from these files. The samples are times, unless `new/raw.csv` gives another
//! unit: a benchmark may measure cycles or instructions instead.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use model::param::Point;
use model::run::Run;
use serde::Deserialize;

use super::draft::{
    Draft, FolderFiles, ImportFormat, ImportedFile, ImportedSample, ONE, own_metric, param_value,
};
use super::read;

#[derive(Deserialize)]
struct CriterionBenchmark {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
    #[serde(default)]
    throughput: Option<Throughput>,
}

/// The time of one iteration.
#[derive(Clone, Copy, Deserialize)]
enum Throughput {
    Bytes(u64),
    BytesDecimal(u64),
    Elements(u64),
    Bits(u64),
    ElementsAndBytes {
        elements: u64,
        bytes: u64,
    },
    #[serde(untagged)]
    Other(serde::de::IgnoredAny),
}

/// Each element of `times` is the time of the corresponding number of iterations, in ns. Versions
/// before 0.3 write the two lists without their names.
#[derive(Deserialize)]
struct Samples {
    iters: Vec<f64>,
    times: Vec<f64>,
}

#[derive(Deserialize)]
struct Estimates {
    #[serde(alias = "Median")]
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

const BENCHMARK: &str = "benchmark.json";
const SAMPLE: &str = "sample.json";
const ESTIMATES: &str = "estimates.json";
/// The samples as CSV, with their unit; only written if a feature of criterion asks for it.
const RAW: &str = "raw.csv";
/// The file that cargo-criterion writes.
const CBOR: &str = "benchmark.cbor";

pub(super) fn is_read(path: &str) -> bool {
    let is = |name: &&str| {
        let parent = path.strip_suffix(*name).and_then(|path| path.strip_suffix('/'));
        parent.is_some_and(|parent| parent == "new" || parent.ends_with("/new"))
    };
    [BENCHMARK, SAMPLE, ESTIMATES, RAW].iter().any(is) || is_of_cargo_criterion(path)
}

fn is_of_cargo_criterion(path: &str) -> bool {
    path.rsplit('/').next() == Some(CBOR)
}

/// The files by their paths.
type FilesByPath<'a> = BTreeMap<&'a str, &'a [u8]>;

pub(super) fn run(files: &FolderFiles, source: &ImportedFile<'_>) -> Result<Run> {
    let mut draft = Draft::new(ImportFormat::Criterion, "criterion");
    let files: FilesByPath<'_> =
        files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    let below = |name: &str| -> Vec<&str> {
        let paths = files.keys().filter(|path| is_read(path));
        paths.filter_map(|path| path.strip_suffix(name)).collect()
    };
    let dirs = below(BENCHMARK);
    for dir in &dirs {
        add(&mut draft, &files, dir)?;
    }
    if dirs.iter().any(|dir| !files.contains_key(format!("{dir}{RAW}").as_str())) {
        let text = format!("criterion's files name no unit without {RAW}: values are taken as ns");
        draft.note(None, text);
    }
    let is_alone = |dir: &&str| !files.contains_key(format!("{dir}{BENCHMARK}").as_str());
    let old: Vec<&str> = below(SAMPLE).into_iter().filter(is_alone).collect();
    let unread = [
        named(&old, |n, dir| {
            format!(
                "{n} that an old version of criterion wrote ({SAMPLE} without {BENCHMARK}) is not read, \
                 such as {dir:?}: run it again with criterion 0.3 or newer"
            )
        }),
        named(&below(CBOR), |n, dir| {
            format!(
                "{n} that cargo-criterion wrote ({CBOR}) is not read, such as {dir:?}: run `cargo bench`, \
                 and name its target/criterion"
            )
        }),
    ];
    let unread: Vec<String> = unread.into_iter().flatten().collect();
    if draft.is_empty() && !unread.is_empty() {
        bail!("{}", unread.join("; "));
    }
    for text in unread {
        draft.note(None, text);
    }
    draft
        .finish(source)
        .context("no new/benchmark.json below it; name criterion's target/criterion")
}

fn named(dirs: &[&str], text: impl Fn(String, &str) -> String) -> Option<String> {
    let n = if dirs.len() == 1 {
        "1 benchmark".to_owned()
    } else {
        format!("{} benchmarks", dirs.len())
    };
    dirs.first().map(|dir| text(n, dir.trim_end_matches('/')))
}

fn add(draft: &mut Draft, files: &FilesByPath<'_>, dir: &str) -> Result<()> {
    let find_file = |name: &str| {
        let path = format!("{dir}{name}");
        files.get(path.as_str()).map(|bytes| (path, *bytes))
    };
    let Some((path, bytes)) = find_file(BENCHMARK) else { return Ok(()) };
    let benchmark: CriterionBenchmark = parsed(&path, bytes)?;
    let cell = cell(draft, &benchmark).with_context(|| format!("{path:?}"))?;
    let method = draft.method(cell).to_owned();
    let raw = find_file(RAW).map(|(path, bytes)| raw(bytes).with_context(|| format!("{path:?}")));
    let raw = raw.transpose()?.flatten();
    let metric = raw.as_ref().map_or("wall_ns".to_owned(), |raw| own_metric(&raw.unit));
    match (find_file(SAMPLE), find_file(ESTIMATES)) {
        (Some((path, bytes)), _) => {
            let all: Samples = parsed(&path, bytes)?;
            let context = || format!("{path:?}");
            if let Some(raw) = &raw {
                raw.ensure_unit_of(&all).with_context(context)?;
            }
            samples(draft, cell, &benchmark, &all, &metric).with_context(context)?;
        }
        (None, Some((path, bytes))) => {
            let estimates: Estimates = parsed(&path, bytes)?;
            let key = || "median.point_estimate".to_owned();
            let value = read::amount(estimates.median.point_estimate, key)
                .with_context(|| format!("{path:?}"))?;
            draft.push(cell, ONE, &[(metric, value)])?;
            let text = format!("no {SAMPLE} of it is there: the one value is its estimated median");
            draft.note(Some(&method), text);
        }
        (None, None) => bail!("{:?} is missing", format!("{dir}{SAMPLE}")),
    }
    if let Some(raw) = raw {
        let text = format!("wall_ns: criterion measured {:?} and no time", raw.unit);
        draft.note(Some(&method), text);
    }
    if let Some(Throughput::Other(_)) = benchmark.throughput {
        let text = "its throughput is of an unknown kind and is not read".to_owned();
        draft.note(Some(&method), text);
    }
    Ok(())
}

/// The first row of `raw.csv`, in a unit that is not ns.
struct RawCsvRow {
    unit: String,
    value: f64,
}

/// `None` where the samples are in ns. Before version 0.3 the values are in a column
/// `sample_time_nanos`.
fn raw(bytes: &[u8]) -> Result<Option<RawCsvRow>> {
    let text = read::text(bytes)?;
    let [columns, row] = first_rows(&text);
    let field = |name: &str| {
        let at = columns.iter().position(|column| column.trim() == name)?;
        row.get(at).map(|field| field.trim().to_owned())
    };
    let (Some(unit), Some(value)) = (field("unit"), field("sample_measured_value")) else {
        return Ok(None);
    };
    if unit.is_empty() || unit == "ns" {
        return Ok(None);
    }
    let value = value.parse().ok().context("sample_measured_value is not a number")?;
    Ok(Some(RawCsvRow { unit, value }))
}

/// The fields of the first two rows of CSV; in quotation marks, commas and ends of lines are text.
fn first_rows(text: &str) -> [Vec<String>; 2] {
    let mut rows = [vec![String::new()], vec![String::new()]];
    let (mut at, mut is_quoted) = (0, false);
    for c in text.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => rows[at].push(String::new()),
            '\n' if !is_quoted && at == 1 => break,
            '\n' if !is_quoted => at = 1,
            c => rows[at].last_mut().into_iter().for_each(|field| field.push(c)),
        }
    }
    rows
}

impl RawCsvRow {
    /// The unit is that of the samples only if the values are the same: a benchmark may write them
    /// in another unit than it measures in.
    fn ensure_unit_of(&self, samples: &Samples) -> Result<()> {
        let RawCsvRow { unit, value } = self;
        let first = samples.times.first().copied().unwrap_or(f64::NAN);
        let is_same = (first - value).abs() <= value.abs() * 1e-6;
        ensure!(
            is_same,
            "its first value is {first}, and in {RAW} {value} {unit:?}: the unit of its values is not known; \
             if that {RAW} is left from an earlier time, delete it"
        );
        Ok(())
    }
}

fn parsed<T: serde::de::DeserializeOwned>(path: &str, bytes: &[u8]) -> Result<T> {
    let shown = || format!("{path:?}");
    read::json(&read::text(bytes).with_context(shown)?).with_context(shown)
}

fn method(benchmark: &CriterionBenchmark) -> &str {
    benchmark.function_id.as_deref().filter(|id| !id.is_empty()).unwrap_or(&benchmark.group_id)
}

/// Rivals are the benchmarks of one group at one value.
fn cell(draft: &mut Draft, benchmark: &CriterionBenchmark) -> Result<usize> {
    let mut point = Point::default();
    let alone = benchmark.function_id.is_none() && benchmark.value_str.is_none();
    point.set("group", if alone { "none" } else { benchmark.group_id.as_str() });
    if let Some(text) = &benchmark.value_str {
        point.set("value", param_value(text));
    }
    draft.new_cell(method(benchmark), point)
}

fn samples(
    draft: &mut Draft,
    cell: usize,
    benchmark: &CriterionBenchmark,
    samples: &Samples,
    metric: &str,
) -> Result<()> {
    let Samples { iters, times } = samples;
    ensure!(!times.is_empty(), "times is empty");
    ensure!(iters.len() == times.len(), "{} iters and {} times", iters.len(), times.len());
    let amounts = benchmark.throughput.map(Throughput::amounts).unwrap_or_default();
    for (i, (iters, time)) in iters.iter().zip(times).enumerate() {
        let ops = read::operations(*iters, || format!("iters[{i}]"))?;
        let total = read::amount(*time, || format!("times[{i}]"))?;
        let value = total / ops as f64;
        let mut values = vec![(metric, value)];
        if metric == "wall_ns" {
            let rates = [
                ("throughput_bytes_per_s", amounts.bytes),
                ("elements_per_s", amounts.elements),
                ("bits_per_s", amounts.bits),
            ];
            let rates = rates.map(|(name, n)| Some((name, n? as f64 * 1e9 / value)));
            values.extend(rates.into_iter().flatten().filter(|(_, rate)| rate.is_finite()));
        }
        let bytes = amounts.bytes.unwrap_or_default().saturating_mul(ops);
        draft.push(cell, ImportedSample { session: 0, ops, bytes }, &values)?;
    }
    Ok(())
}

/// The work of one iteration.
#[derive(Clone, Copy, Default)]
struct Amounts {
    bytes: Option<u64>,
    elements: Option<u64>,
    bits: Option<u64>,
}

impl Throughput {
    fn amounts(self) -> Amounts {
        let none = Amounts::default();
        match self {
            Throughput::Bytes(n) | Throughput::BytesDecimal(n) => {
                Amounts { bytes: Some(n), ..none }
            }
            Throughput::Elements(n) => Amounts { elements: Some(n), ..none },
            Throughput::Bits(n) => Amounts { bits: Some(n), ..none },
            Throughput::ElementsAndBytes { elements, bytes } => {
                Amounts { elements: Some(elements), bytes: Some(bytes), ..none }
            }
            Throughput::Other(_) => none,
        }
    }
}

#[cfg(test)]
mod tests;
