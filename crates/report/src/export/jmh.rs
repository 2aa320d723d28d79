//! JSON in the format of JMH: the mean of one operation, in ns; a session is a fork, a sample an
//! iteration.

use std::collections::BTreeMap;
use std::io::{self, Write};

use analysis::stats::{moments, nearest_rank};
use model::metric::unit;
use model::run::Sample;
use serde::Serialize;

use super::format::{Entries, Exported, ExportedCell, PortableNumber, WALL};
use super::{ExportFormat, FormatKind};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "jmh",
    about: "JSON as of JMH's -rf json",
    extensions: &[],
    kind: FormatKind::Json,
    write: |exported, out| Ok(write(exported, out)?),
};

/// The level of its intervals.
const LEVEL: f64 = 0.999;
const PERCENTILES: [f64; 10] = [0.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 99.9999, 100.0];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JmhResult<'a> {
    jmh_version: &'static str,
    benchmark: String,
    mode: &'static str,
    threads: u32,
    forks: usize,
    jvm: &'static str,
    jvm_args: [&'static str; 0],
    jdk_version: &'static str,
    vm_name: &'static str,
    vm_version: &'static str,
    warmup_iterations: u32,
    warmup_time: &'static str,
    warmup_batch_size: u32,
    measurement_iterations: usize,
    measurement_time: &'static str,
    measurement_batch_size: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    params: BTreeMap<&'a str, String>,
    primary_metric: JmhMetric,
    secondary_metrics: BTreeMap<&'a str, JmhMetric>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JmhMetric {
    score: PortableNumber,
    score_error: OrNaN,
    score_confidence: [OrNaN; 2],
    score_percentiles: BTreeMap<String, PortableNumber>,
    score_unit: String,
    /// The values of each fork.
    raw_data: Vec<Vec<PortableNumber>>,
}

/// JMH writes unknown numbers as this text.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum OrNaN {
    Known(PortableNumber),
    Unknown(&'static str),
}

impl From<Option<f64>> for OrNaN {
    fn from(value: Option<f64>) -> OrNaN {
        let known = value.filter(|value| value.is_finite());
        known.map_or(OrNaN::Unknown("NaN"), |value| OrNaN::Known(PortableNumber(value)))
    }
}

pub(super) fn write(exported: &Exported<'_>, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let mut benchmarks = Entries::begin(&mut *out)?;
    let metrics = exported.metrics();
    for entry in exported.measured() {
        if let Some(benchmark) = benchmark(exported, entry, &metrics) {
            benchmarks.push(&benchmark)?;
        }
    }
    benchmarks.end()?;
    out.write_all(b"\n")?;
    Ok(exported.left_out())
}

fn benchmark<'a>(
    exported: &Exported<'_>,
    entry: &'a ExportedCell<'_>,
    metrics: &[&'a str],
) -> Option<JmhResult<'a>> {
    let plan = &exported.run.plan;
    let primary_metric = metric(entry, WALL)?;
    let others = metrics.iter().filter(|name| **name != WALL);
    let params = entry.cell.point.iter().map(|(name, value)| (name, value.to_string()));
    Some(JmhResult {
        jmh_version: concat!("bytelab ", env!("CARGO_PKG_VERSION")),
        benchmark: format!("bytelab.{}.{}", exported.run.experiment, entry.cell.method),
        mode: "avgt",
        threads: 1,
        forks: primary_metric.raw_data.len(),
        jvm: "",
        jvm_args: [],
        jdk_version: "",
        vm_name: "",
        vm_version: "",
        warmup_iterations: plan.warm_up,
        warmup_time: "1 op",
        warmup_batch_size: 1,
        measurement_iterations: primary_metric.raw_data.iter().map(Vec::len).max()?,
        measurement_time: "1 op",
        measurement_batch_size: 1,
        params: params.collect(),
        primary_metric,
        secondary_metrics: others.filter_map(|name| Some((*name, metric(entry, name)?))).collect(),
    })
}

fn metric(entry: &ExportedCell<'_>, name: &str) -> Option<JmhMetric> {
    let samples: Vec<(&Sample, f64)> = entry.finite(name).collect();
    let mut values: Vec<f64> = samples.iter().map(|(_, value)| *value).collect();
    let found = moments(&values)?;
    let error = found.half_width(LEVEL);
    let mut by_session: BTreeMap<u32, Vec<PortableNumber>> = BTreeMap::new();
    for (sample, value) in &samples {
        by_session.entry(sample.session).or_default().push(PortableNumber(*value));
    }
    values.sort_unstable_by(f64::total_cmp);
    let percentile = |p: f64| {
        let rank = nearest_rank(values.len(), p)?;
        Some((format!("{p:?}"), PortableNumber(values[rank - 1])))
    };
    Some(JmhMetric {
        score: PortableNumber(found.mean),
        score_error: error.into(),
        score_confidence: [
            error.map(|error| found.mean - error).into(),
            error.map(|error| found.mean + error).into(),
        ],
        score_percentiles: PERCENTILES.into_iter().filter_map(percentile).collect(),
        score_unit: match unit(name) {
            "ns" => "ns/op".to_owned(),
            unit => unit.to_owned(),
        },
        raw_data: by_session.into_values().collect(),
    })
}
