//! The document of `fio --output-format=json` or `json+`: each direction of a job is one sample
//! that contains all of its operations, and jobs of one name that ran together (`numjobs`) are one
//! job. The latencies are statistics of that sample: fio stores no latency of a single operation,
//! and none is invented.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, ensure};
use model::param::Point;
use model::run::{Run, Status};
use serde::de::{Error, IgnoredAny, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::draft::{Draft, ImportFormat, ImportedFile, ImportedSample};
use super::read;

#[derive(Deserialize)]
struct FioDocument {
    #[serde(rename = "fio version", default)]
    version: Option<String>,
    /// Seconds since 1970.
    #[serde(default)]
    timestamp: Option<u64>,
    #[serde(rename = "global options", default)]
    global: BTreeMap<String, Value>,
    #[serde(default)]
    jobs: Vec<FioJob>,
    /// Written by `fio --client`: the jobs of all machines, and their sum.
    #[serde(default)]
    client_stats: Vec<FioJob>,
}

#[derive(Deserialize)]
struct FioJob {
    jobname: String,
    #[serde(default)]
    groupid: Option<i64>,
    /// Only written by `fio --client`.
    #[serde(default)]
    hostname: Option<String>,
    #[serde(default)]
    error: i64,
    #[serde(rename = "job options", default)]
    options: BTreeMap<String, Value>,
    #[serde(default)]
    read: Direction,
    #[serde(default)]
    write: Direction,
    #[serde(default)]
    trim: Direction,
    /// All directions together (`unified_rw_reporting`).
    #[serde(default)]
    mixed: Direction,
    /// Calls like fsync, which have only a latency.
    #[serde(default)]
    sync: Direction,
}

/// The name of the row that is the sum of all clients.
const ALL_CLIENTS: &str = "All clients";

pub(super) fn run(text: &str, source: &ImportedFile<'_>) -> Result<Run> {
    let (text, note) = read::without_nan(text);
    let document: FioDocument = read::json(&text)?;
    let mut draft = Draft::new(ImportFormat::Fio, tool(document.version.as_deref()));
    draft.started(document.timestamp.and_then(read::since_1970));
    if !document.global.is_empty() {
        draft.fact("fio_global_options", options(&document.global));
    }
    if let Some(text) = note {
        draft.note(None, text);
    }
    let units = Units::new(document.version.as_deref());
    let is_row = |job: &&NumberedJob<'_>| job.job.jobname != ALL_CLIENTS;
    let clients = numbered("client_stats", &document.client_stats);
    let rows: Vec<NumberedJob<'_>> = clients.iter().filter(is_row).copied().collect();
    if rows.len() < clients.len() && !rows.is_empty() {
        draft.note(None, format!("{ALL_CLIENTS:?} is the sum of the other jobs and is not read"));
    }
    let rows = if rows.is_empty() { clients } else { rows };
    let jobs = numbered("jobs", &document.jobs).into_iter().chain(rows).collect();
    add_all(&mut draft, jobs, units)?;
    notes(&mut draft);
    draft.finish(source)
}

fn tool(version: Option<&str>) -> String {
    let number = version.map_or("", number).trim();
    if number.is_empty() { "fio".to_owned() } else { format!("fio {number}") }
}

fn notes(draft: &mut Draft) {
    for text in [
        "fio does not store single operations: each job is one sample of all of its operations; \
         wall is its time divided by their number, which with several in flight is not the time \
         of one (clat_…, lat_… in --percentiles)",
        "cpu_ns: fio has usr_cpu and sys_cpu, in percent and of all directions of a job together",
        "other figures of fio (processor, faults, depths, bw_min, iops_stddev, disk_util and the \
         like) are not read",
    ] {
        draft.note(None, text.to_owned());
    }
}

/// A job and its position in the list of this name.
#[derive(Clone, Copy)]
struct NumberedJob<'a> {
    list: &'static str,
    at: usize,
    job: &'a FioJob,
}

fn numbered<'a>(list: &'static str, jobs: &'a [FioJob]) -> Vec<NumberedJob<'a>> {
    jobs.iter().enumerate().map(|(at, job)| NumberedJob { list, at, job }).collect()
}

fn options(all: &BTreeMap<String, Value>) -> String {
    let one = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    };
    all.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The jobs of one name that ran at the same time on one machine.
struct JobGroup<'a> {
    jobs: Vec<NumberedJob<'a>>,
    /// Set if the file has jobs of several machines.
    hostname: Option<&'a str>,
}

fn add_all(draft: &mut Draft, jobs: Vec<NumberedJob<'_>>, units: Units) -> Result<()> {
    let mut groups: Vec<JobGroup<'_>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let host = |job: &NumberedJob<'_>| job.job.hostname.clone();
    let has_several = jobs.windows(2).any(|pair| host(&pair[0]) != host(&pair[1]));
    for job in jobs {
        let FioJob { jobname, groupid, hostname, .. } = job.job;
        let place = || format!("{}[{}]", job.list, job.at);
        ensure!(!jobname.trim().is_empty(), "{}: jobname is empty", place());
        let at = *known.entry((jobname, groupid, hostname)).or_insert(groups.len());
        if at == groups.len() {
            let hostname = has_several.then(|| hostname.as_deref().unwrap_or("none"));
            groups.push(JobGroup { jobs: Vec::new(), hostname });
        }
        groups[at].jobs.push(job);
    }
    groups.iter().try_for_each(|group| add(draft, group, units))
}

fn add(draft: &mut Draft, group: &JobGroup<'_>, units: Units) -> Result<()> {
    type Of = fn(&FioJob) -> &Direction;
    let mut any = false;
    let directions: [(&str, Of); 5] = [
        ("read", |job| &job.read),
        ("write", |job| &job.write),
        ("trim", |job| &job.trim),
        ("mixed", |job| &job.mixed),
        ("sync", |job| &job.sync),
    ];
    for (word, of) in directions {
        let mut parts = Vec::new();
        for job in group.jobs.iter().filter(|job| of(job.job).has_operations()) {
            let part = JobDirection::new(of(job.job), units).context(word);
            parts.push(part.with_context(|| format!("{}[{}]", job.list, job.at))?);
        }
        if parts.is_empty() {
            continue;
        }
        any = true;
        let (cell, method) = new_cell(draft, group, word)?;
        let sum = sum(&parts);
        let (ops, bytes) = (sum.ops.unwrap_or(1), sum.bytes.unwrap_or_default());
        draft.push(cell, ImportedSample { session: 0, ops, bytes }, &sum.values)?;
        for text in sum.notes {
            draft.note(Some(&method), text);
        }
    }
    if !any {
        let (cell, _) = new_cell(draft, group, "none")?;
        draft.status(cell, Status::Skipped("it did no operation".to_owned()));
        failure(draft, group, cell);
    }
    Ok(())
}

/// The cell of a direction, and the method's name.
fn new_cell(draft: &mut Draft, group: &JobGroup<'_>, direction: &str) -> Result<(usize, String)> {
    let mut point = Point::default();
    point.set("direction", direction);
    if let Some(hostname) = group.hostname {
        point.set("hostname", hostname);
    }
    let first = group.jobs[0].job;
    let cell = draft.new_cell(&first.jobname, point)?;
    let is_common = |name: &String, value: &Value| {
        group.jobs.iter().all(|job| job.job.options.get(name) == Some(value))
    };
    let mut common = first.options.clone();
    common.retain(|name, value| is_common(name, value));
    draft.about(cell, options(&common));
    failure(draft, group, cell);
    Ok((cell, draft.method(cell).to_owned()))
}

fn failure(draft: &mut Draft, group: &JobGroup<'_>, cell: usize) {
    let failed: Vec<i64> =
        group.jobs.iter().map(|job| job.job.error).filter(|error| *error != 0).collect();
    let Some(error) = failed.first() else { return };
    let (n, all) = (failed.len(), group.jobs.len());
    let of = if all > 1 { format!(" for {n} of {all} jobs") } else { String::new() };
    draft.status(cell, Status::Failed(format!("fio reports error {error}{of}")));
}

/// A number of a document; `None` if it is null, or was no number
/// ([`read::without_nan`]).
#[derive(Clone, Copy, Debug, Default)]
struct FioNumber(Option<f64>);

impl<'de> Deserialize<'de> for FioNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FioNumber, D::Error> {
        struct Number;
        impl<'de> Visitor<'de> for Number {
            type Value = FioNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<FioNumber, E> {
                Ok(FioNumber(Some(value)))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<FioNumber, E> {
                Ok(FioNumber(Some(value as f64)))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<FioNumber, E> {
                Ok(FioNumber(Some(value as f64)))
            }

            fn visit_unit<E: Error>(self) -> Result<FioNumber, E> {
                Ok(FioNumber(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<FioNumber, A::Error> {
                match list.next_element::<IgnoredAny>()? {
                    None => Ok(FioNumber(None)),
                    Some(_) => Err(A::Error::invalid_type(Unexpected::Seq, &self)),
                }
            }
        }
        deserializer.deserialize_any(Number)
    }
}

// The distribution of the latencies of a job in one direction: what fio reports of it, and that
// of several jobs together.

/// The distribution of latencies as it is in the document.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Latency {
    min: FioNumber,
    max: FioNumber,
    mean: FioNumber,
    stddev: FioNumber,
    /// The number of operations; older versions do not write it.
    #[serde(rename = "N")]
    n: Option<u64>,
    percentile: BTreeMap<String, FioNumber>,
    /// Only in `json+`: the number of operations for each latency bin. In µs its keys are the
    /// indices of the bins.
    bins: BTreeMap<String, u64>,
}

/// A percentage in millionths, so that ranks are exact.
type Micro = u64;

const WHOLE: Micro = 100_000_000;

/// The distribution of latencies in ns, checked.
#[derive(Clone, Debug, Default, PartialEq)]
struct Distribution {
    n: Option<u64>,
    min: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    stddev: Option<f64>,
    percentiles: BTreeMap<Micro, f64>,
    /// The latency, and the number of operations.
    bins: Vec<(f64, u64)>,
}

/// The percentiles that are computed from bins where fio does not report them.
const FROM_BINS: [u64; 7] = [0, 25, 50, 75, 90, 99, 100];

impl Latency {
    /// Whether operations were measured. Where fio had none, it writes 0 everywhere.
    fn is_measured(&self) -> bool {
        let is_above_0 = |figure: &FioNumber| figure.0.is_some_and(|value| value != 0.0);
        self.n.map_or(is_above_0(&self.max) || is_above_0(&self.mean), |n| n > 0)
    }

    /// `unit_ns` is 1 for ns and 1000 for µs.
    fn read(&self, name: &str, unit_ns: f64) -> Result<Distribution> {
        let amount = |figure: FioNumber, key: &str| -> Result<Option<f64>> {
            figure
                .0
                .map(|value| read::amount(value * unit_ns, || format!("{name}.{key}")))
                .transpose()
        };
        let mut percentiles = BTreeMap::new();
        for (text, figure) in &self.percentile {
            let key = format!("{name}.percentile[{text:?}]");
            let percent = percent(text).with_context(|| format!("{key}: not a percentage"))?;
            // Old versions fill the rest of their list with `"0.00" : 0`.
            let is_filling = percent == 0 && figure.0 == Some(0.0);
            if let (Some(value), false) = (figure.0, is_filling) {
                percentiles.insert(percent, read::amount(value * unit_ns, || key.clone())?);
            }
        }
        let mut bins: Vec<(f64, u64)> = Vec::new();
        for (text, n) in self.bins.iter().filter(|_| !self.has_indices(unit_ns)) {
            let ns = text.parse().ok().and_then(|ns: f64| read::amount(ns, String::new).ok());
            bins.push((ns.with_context(|| format!("{name}.bins[{text:?}]: not a time"))?, *n));
        }
        bins.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Distribution {
            n: self.n,
            min: amount(self.min, "min")?,
            max: amount(self.max, "max")?,
            mean: amount(self.mean, "mean")?,
            stddev: amount(self.stddev, "stddev")?,
            percentiles,
            bins,
        })
    }

    /// Whether the bins are numbered, and their latencies not in the file.
    fn has_indices(&self, unit_ns: f64) -> bool {
        unit_ns > 1.0 && !self.bins.is_empty()
    }
}

fn percent(text: &str) -> Option<Micro> {
    let percent: f64 = text.parse().ok()?;
    (0.0..=100.0).contains(&percent).then(|| (percent * 1e6).round() as Micro)
}

impl Distribution {
    /// The distribution of all operations of several jobs. A figure that the parts do not determine
    /// is missing: without bins, the percentiles are.
    fn pooled(parts: &[Distribution]) -> Distribution {
        if let [one] = parts {
            return one.clone();
        }
        let all = |of: fn(&Distribution) -> Option<f64>| -> Option<Vec<f64>> {
            parts.iter().map(of).collect()
        };
        let fold = |values: Option<Vec<f64>>, with: fn(f64, f64) -> f64| {
            values.and_then(|values| values.into_iter().reduce(with))
        };
        let ns: Option<Vec<f64>> = parts.iter().map(|part| Some(part.n? as f64)).collect();
        let n: Option<f64> = ns.as_ref().map(|ns| ns.iter().sum());
        let means = all(|part| part.mean);
        let mean = (ns.as_ref().zip(means.as_ref()).zip(n)).map(|((ns, means), n)| {
            ns.iter().zip(means).map(|(n, mean)| n * mean).sum::<f64>() / n
        });
        let stddev = (|| {
            let (ns, means, stddevs) = (ns?, means?, all(|part| part.stddev)?);
            let (mean, n) = (mean?, n.filter(|n| *n > 1.0)?);
            let parts = ns.iter().zip(&means).zip(&stddevs);
            let squares = parts.map(|((n, own), stddev)| {
                stddev * stddev * (n - 1.0) + n * (own - mean) * (own - mean)
            });
            Some((squares.sum::<f64>() / (n - 1.0)).sqrt())
        })();
        let mut pooled = Distribution {
            n: parts.iter().map(|part| part.n).try_fold(0_u64, |sum, n| sum.checked_add(n?)),
            min: fold(all(|part| part.min), f64::min),
            max: fold(all(|part| part.max), f64::max),
            mean: mean.filter(|mean| mean.is_finite()),
            stddev: stddev.filter(|stddev: &f64| stddev.is_finite()),
            ..Distribution::default()
        };
        if parts.iter().all(|part| !part.bins.is_empty()) {
            pooled.bins = parts.iter().flat_map(|part| &part.bins).copied().collect();
            pooled.bins.sort_by(|a, b| a.0.total_cmp(&b.0));
            for percent in parts.iter().flat_map(|part| part.percentiles.keys()) {
                let value = pooled.of_bins(*percent);
                pooled.percentiles.extend(value.map(|value| (*percent, value)));
            }
        }
        pooled
    }

    fn has_mean(&self) -> bool {
        self.mean.is_some()
    }

    fn has_percentiles(&self) -> bool {
        !self.percentiles.is_empty() || !self.bins.is_empty()
    }

    /// The values, each with the name of its metric.
    fn values(&self, name: &str) -> Vec<(String, f64)> {
        let metric = |what: &str, value: Option<f64>| Some((format!("{name}_{what}_ns"), value?));
        let figures = [
            metric("min", self.min),
            metric("mean", self.mean),
            metric("stddev", self.stddev),
            metric("max", self.max),
        ];
        let mut percentiles = self.percentiles.clone();
        for percent in FROM_BINS.map(|percent| percent * 1_000_000) {
            if let Some(value) = self.of_bins(percent) {
                percentiles.entry(percent).or_insert(value);
            }
        }
        let named = percentiles
            .iter()
            .map(|(percent, value)| (format!("{name}_p{}_ns", *percent as f64 / 1e6), *value));
        figures.into_iter().flatten().chain(named).collect()
    }

    /// A percentile of the bins, by nearest rank: exact to the width of a bin.
    fn of_bins(&self, percent: Micro) -> Option<f64> {
        let total: u128 = self.bins.iter().map(|(_, n)| u128::from(*n)).sum();
        let rank = (total * u128::from(percent)).div_ceil(u128::from(WHOLE)).max(1);
        let mut below = 0;
        let bin = self.bins.iter().filter(|_| total > 0).find(|(_, n)| {
            below += u128::from(*n);
            below >= rank
        });
        bin.map(|(ns, _)| *ns)
    }
}

// One direction of one job in the units of the version that wrote it, and the sum of several.

#[derive(Default, Deserialize)]
#[serde(default)]
struct Direction {
    total_ios: Option<u64>,
    io_bytes: Option<u64>,
    /// Missing in the versions whose `io_bytes` are in KiB.
    io_kbytes: Option<u64>,
    /// In ms.
    runtime: FioNumber,
    bw_bytes: FioNumber,
    /// In KiB/s in all versions.
    bw: FioNumber,
    iops: FioNumber,
    slat_ns: Latency,
    clat_ns: Latency,
    lat_ns: Latency,
    /// In µs, like the next two.
    slat: Latency,
    clat: Latency,
    lat: Latency,
}

impl Direction {
    /// Whether it has operations; if the file has no counts, its other figures decide.
    fn has_operations(&self) -> bool {
        let is_not_0 = |figure: &FioNumber| figure.0.is_some_and(|value| value != 0.0);
        let by_figures = || {
            self.io_kbytes.is_some_and(|kib| kib > 0)
                || [self.iops, self.bw_bytes, self.bw].iter().any(is_not_0)
                || KINDS.iter().any(|(_, ns, us)| ns(self).is_measured() || us(self).is_measured())
        };
        self.total_ios.or(self.io_bytes).map_or_else(by_figures, |n| n > 0)
    }
}

/// The units of a file, which depend on the version of fio: before 2.21, `io_bytes` are KiB, and
/// before 2.99 (the first of 3.0) latencies are in µs. Where `io_kbytes` is there, bytes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Units {
    Before3,
    From3,
    /// The file does not give the version, or not as fio does.
    Unknown,
}

impl Units {
    /// The units of a version such as `fio-2.2.10`, `fio-3.33-12-g1234` or `3.33`.
    fn new(version: Option<&str>) -> Units {
        let numbers = version.and_then(|version| {
            let mut numbers = number(version).split(['.', '-']).map(str::parse::<u32>);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        });
        match numbers {
            Some(numbers) if numbers < (2, 99) => Units::Before3,
            Some(_) => Units::From3,
            None => Units::Unknown,
        }
    }
}

/// The version without the name of the program.
fn number(version: &str) -> &str {
    version.strip_prefix("fio-").unwrap_or(version)
}

/// Each kind of latency: the name of its metrics, in ns, in µs.
type LatencyKind = (&'static str, fn(&Direction) -> &Latency, fn(&Direction) -> &Latency);

const KINDS: [LatencyKind; 3] = [
    ("slat", |d| &d.slat_ns, |d| &d.slat),
    ("clat", |d| &d.clat_ns, |d| &d.clat),
    ("lat", |d| &d.lat_ns, |d| &d.lat),
];

/// One direction of one job. Figures that the file does not have are `None`.
struct JobDirection {
    ops: Option<u64>,
    bytes: Option<u64>,
    runtime_ms: Option<f64>,
    bytes_per_s: Option<f64>,
    iops: Option<f64>,
    latencies: [Option<Distribution>; 3],
    /// Notes about figures of the file that are not read.
    notes: Vec<String>,
}

impl JobDirection {
    fn new(direction: &Direction, units: Units) -> Result<JobDirection> {
        let amount = |figure: FioNumber, key: &str| -> Result<Option<f64>> {
            figure.0.map(|value| read::amount(value, || key.to_owned())).transpose()
        };
        let mut notes = Vec::new();
        let mut unknown = |key: &str| {
            notes.push(format!(
                "{key} is not read: its unit depends on fio's version, which is not known"
            ));
        };
        // fio divides by the runtime; by 0 ms it does not, and writes 0.
        let runtime_ms = amount(direction.runtime, "runtime")?;
        let has_runtime = runtime_ms != Some(0.0);
        let kib_per_s = amount(direction.bw, "bw")?;
        let bytes_per_s = amount(direction.bw_bytes, "bw_bytes")?;
        let bytes_per_s = bytes_per_s.or_else(|| kib_per_s.map(|rate| rate * 1024.0));
        let has_bytes = direction.io_kbytes.is_some() || direction.bw_bytes.0.is_some();
        let bytes = match direction.io_bytes {
            Some(bytes) if has_bytes || units == Units::From3 => Some(bytes),
            Some(kib) if units == Units::Before3 => kib.checked_mul(1024),
            Some(_) => {
                unknown("io_bytes");
                None
            }
            None => direction.io_kbytes.and_then(|kib| kib.checked_mul(1024)),
        };
        let mut latencies = [const { None }; 3];
        for ((name, in_ns, in_us), read) in KINDS.iter().zip(&mut latencies) {
            let (ns, us) = (in_ns(direction), in_us(direction));
            if ns.is_measured() {
                *read = Some(ns.read(&format!("{name}_ns"), 1.0)?);
            } else if us.is_measured() && units == Units::Unknown {
                unknown(name);
            } else if us.is_measured() {
                *read = Some(us.read(name, 1e3)?);
            }
        }
        if KINDS.iter().any(|(.., in_us)| in_us(direction).has_indices(1e3)) {
            notes.push(
                "bins are not read: this version of fio numbers them, without their latencies"
                    .to_owned(),
            );
        }
        Ok(JobDirection {
            ops: direction.total_ios,
            bytes,
            runtime_ms: runtime_ms.filter(|_| has_runtime),
            bytes_per_s: bytes_per_s.filter(|_| has_runtime),
            iops: amount(direction.iops, "iops")?.filter(|_| has_runtime),
            latencies,
            notes,
        })
    }
}

/// The totals of jobs that ran at the same time.
struct GroupTotals {
    /// `None` if it is not known for all jobs; so are the other figures.
    ops: Option<u64>,
    bytes: Option<u64>,
    values: Vec<(String, f64)>,
    notes: Vec<String>,
}

fn sum(parts: &[JobDirection]) -> GroupTotals {
    let total = |of: fn(&JobDirection) -> Option<u64>| {
        parts.iter().map(of).try_fold(0_u64, |sum, n| sum.checked_add(n?))
    };
    let all =
        |of: fn(&JobDirection) -> Option<f64>| parts.iter().map(of).collect::<Option<Vec<f64>>>();
    let ops = total(|part| part.ops);
    let runtimes = all(|part| part.runtime_ms);
    let longest = runtimes.and_then(|all| all.into_iter().reduce(f64::max));
    let wall_ns = longest.zip(ops).map(|(ms, ops)| ms * 1e6 / ops as f64);
    let iops = all(|part| part.iops);
    let rate = all(|part| part.bytes_per_s).map(|rates| rates.iter().sum());
    let mut values: Vec<(String, f64)> = Vec::new();
    let mut add = |name: &str, value: Option<f64>| {
        let value = value.filter(|value: &f64| value.is_finite());
        values.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("wall_ns", wall_ns);
    add("throughput_bytes_per_s", rate);
    add("iops", iops.as_ref().map(|iops| iops.iter().sum()));
    let mut lost = LostLatencies::default();
    for (at, (name, ..)) in KINDS.iter().enumerate() {
        let known: Option<Vec<Distribution>> =
            parts.iter().map(|part| part.latencies[at].clone()).collect();
        let Some(known) = known else {
            // The latencies of some of the jobs do not represent all of them.
            if parts.iter().any(|part| part.latencies[at].is_some()) {
                lost.kinds.push(name);
            }
            continue;
        };
        let pooled = Distribution::pooled(&known);
        if known.iter().any(Distribution::has_percentiles) && !pooled.has_percentiles() {
            lost.percentiles.push(name);
        }
        if known.iter().any(Distribution::has_mean) && !pooled.has_mean() {
            lost.means.push(name);
        }
        values.extend(pooled.values(name));
    }
    GroupTotals {
        ops,
        bytes: total(|part| part.bytes),
        values,
        notes: notes_of_parts(parts, iops, &lost),
    }
}

/// The kinds of latency that lose figures when several jobs are added up.
#[derive(Default)]
struct LostLatencies {
    /// All of it.
    kinds: Vec<&'static str>,
    percentiles: Vec<&'static str>,
    means: Vec<&'static str>,
}

fn notes_of_parts(
    parts: &[JobDirection],
    iops: Option<Vec<f64>>,
    lost: &LostLatencies,
) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in parts.iter().flat_map(|part| &part.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    if parts.iter().any(|part| part.ops.is_none()) {
        notes.push("wall_ns: fio did not write the number of operations (total_ios)".to_owned());
    }
    if parts.iter().any(|part| part.runtime_ms.is_none()) {
        notes.push("wall_ns: fio did not write a runtime of 1 ms or more".to_owned());
    }
    if parts.len() > 1 {
        let n = parts.len();
        let each = iops.map_or(String::new(), |mut iops| {
            iops.sort_by(f64::total_cmp);
            format!(" of {:.1} to {:.1} IOPS each", iops[0], iops[n - 1])
        });
        notes.push(format!(
            "{n} jobs of this name{each} are one sample: IOPS and throughput are their sums, and wall is the \
             longest runtime divided by all operations"
        ));
    }
    if !lost.kinds.is_empty() {
        let kinds = lost.kinds.join(", ");
        notes.push(format!("figures of {kinds} are missing: not all of these jobs have them"));
    }
    if !lost.percentiles.is_empty() {
        let kinds = lost.percentiles.join(", ");
        notes.push(format!(
            "percentiles of {kinds} are missing: those of several jobs cannot be combined without bins \
             (group_reporting, or --output-format=json+)"
        ));
    }
    if !lost.means.is_empty() {
        let kinds = lost.means.join(", ");
        notes
            .push(format!("mean and stddev of {kinds} are missing: the file has no N of each job"));
    }
    notes
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod figure_tests {
    use super::read;
    use super::*;

    #[test]
    fn a_figure_is_a_number_or_a_hole() {
        let of = |text: &str| read::json::<FioNumber>(text).map(|figure| figure.0);
        assert_eq!(of("2.5").unwrap(), Some(2.5));
        assert_eq!(of("-2").unwrap(), Some(-2.0));
        assert_eq!((of("null").unwrap(), of("[]").unwrap()), (None, None));
        assert!(of("[1]").is_err() && of("\"x\"").is_err());
    }
}
