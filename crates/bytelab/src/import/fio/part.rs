//! One direction of one job in the units of the version that wrote it, and the sum of several.

use anyhow::Result;
use serde::Deserialize;

use super::super::read;
use super::figure::Figure;
use super::latency::{Distribution, Latency};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Direction {
    total_ios: Option<u64>,
    io_bytes: Option<u64>,
    /// Not in the versions whose `io_bytes` are in KiB.
    io_kbytes: Option<u64>,
    /// In ms.
    runtime: Figure,
    bw_bytes: Figure,
    /// In KiB/s in all versions.
    bw: Figure,
    iops: Figure,
    slat_ns: Latency,
    clat_ns: Latency,
    lat_ns: Latency,
    /// In µs, like the next two.
    slat: Latency,
    clat: Latency,
    lat: Latency,
}

impl Direction {
    /// Where the counts are not in the file, by its other figures.
    pub(super) fn has_operations(&self) -> bool {
        let is_not_0 = |figure: &Figure| figure.0.is_some_and(|value| value != 0.0);
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
pub(super) enum Units {
    Before3,
    From3,
    /// The file does not give the version, or not as fio does.
    Unknown,
}

impl Units {
    /// Of `fio-2.2.10`, `fio-3.33-12-g1234` or `3.33`.
    pub(super) fn new(version: Option<&str>) -> Units {
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
pub(super) fn number(version: &str) -> &str {
    version.strip_prefix("fio-").unwrap_or(version)
}

/// Each kind of latency: the name of its metrics, in ns, in µs.
type Kind = (&'static str, fn(&Direction) -> &Latency, fn(&Direction) -> &Latency);

const KINDS: [Kind; 3] = [
    ("slat", |d| &d.slat_ns, |d| &d.slat),
    ("clat", |d| &d.clat_ns, |d| &d.clat),
    ("lat", |d| &d.lat_ns, |d| &d.lat),
];

/// One direction of one job. What the file does not have is missing.
pub(super) struct Part {
    ops: Option<u64>,
    bytes: Option<u64>,
    runtime_ms: Option<f64>,
    bytes_per_s: Option<f64>,
    iops: Option<f64>,
    latencies: [Option<Distribution>; 3],
    /// What is in the file and is not read.
    notes: Vec<String>,
}

impl Part {
    pub(super) fn new(direction: &Direction, units: Units) -> Result<Part> {
        let amount = |figure: Figure, key: &str| -> Result<Option<f64>> {
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
        Ok(Part {
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

/// What jobs did that ran at the same time.
pub(super) struct Sum {
    /// Missing if it is not known of all, as all of these.
    pub(super) ops: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) values: Vec<(String, f64)>,
    pub(super) notes: Vec<String>,
}

pub(super) fn sum(parts: &[Part]) -> Sum {
    let total = |of: fn(&Part) -> Option<u64>| {
        parts.iter().map(of).try_fold(0_u64, |sum, n| sum.checked_add(n?))
    };
    let all = |of: fn(&Part) -> Option<f64>| parts.iter().map(of).collect::<Option<Vec<f64>>>();
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
    let mut lost = Lost::default();
    for (at, (name, ..)) in KINDS.iter().enumerate() {
        let known: Option<Vec<Distribution>> =
            parts.iter().map(|part| part.latencies[at].clone()).collect();
        let Some(known) = known else {
            // Those of some jobs are not those of all.
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
    Sum { ops, bytes: total(|part| part.bytes), values, notes: notes(parts, iops, &lost) }
}

/// The kinds of latency of which something cannot be told of several jobs together.
#[derive(Default)]
struct Lost {
    /// All of it.
    kinds: Vec<&'static str>,
    percentiles: Vec<&'static str>,
    means: Vec<&'static str>,
}

fn notes(parts: &[Part], iops: Option<Vec<f64>>, lost: &Lost) -> Vec<String> {
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
