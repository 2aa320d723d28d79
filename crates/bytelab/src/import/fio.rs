//! The document of `fio --output-format=json` or `json+`: each direction of a job is one sample
//! that contains all of its operations. The latencies are statistics of that sample: fio stores no
//! latency of a single operation, and none is invented.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use lab::param::Point;
use lab::run::{Run, Status};
use serde::Deserialize;
use serde_json::Value;

use super::draft::{Draft, Execution};
use super::format::{Format, Source};
use super::read;

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "fio version", default)]
    version: Option<String>,
    /// Seconds since 1970.
    #[serde(default)]
    timestamp: Option<u64>,
    #[serde(rename = "global options", default)]
    global: BTreeMap<String, Value>,
    jobs: Vec<FioJob>,
}

#[derive(Deserialize)]
struct FioJob {
    jobname: String,
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
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Direction {
    total_ios: u64,
    io_bytes: u64,
    /// In ms.
    runtime: f64,
    bw_bytes: Option<f64>,
    iops: f64,
    slat_ns: Latency,
    clat_ns: Latency,
    lat_ns: Latency,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Latency {
    min: f64,
    max: f64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    n: u64,
    percentile: BTreeMap<String, f64>,
    /// Only in `json+`: the number of operations for each latency bin.
    bins: BTreeMap<String, u64>,
}

/// fio may print messages before the document.
pub(super) fn without_messages(text: &str) -> &str {
    let text = text.trim_start();
    if text.starts_with('{') || !text.starts_with("fio: ") && !text.starts_with("note: ") {
        return text;
    }
    text.find("\n{").map_or(text, |at| &text[at + 1..])
}

pub(super) fn run(text: &str, source: &Source<'_>) -> Result<Run> {
    let messages = text.len() - without_messages(text).len();
    let document: Document = read::json(&text[messages..])?;
    let version = document.version.as_deref().unwrap_or("fio").replacen("fio-", "fio ", 1);
    let mut draft = Draft::new(Format::Fio, version);
    draft.started(document.timestamp.and_then(read::since_1970));
    if !document.global.is_empty() {
        draft.fact("fio_global_options", options(&document.global));
    }
    for (at, job) in document.jobs.iter().enumerate() {
        add(&mut draft, job).with_context(|| format!("jobs[{at}]"))?;
    }
    let text = "fio keeps no single operation: each job is one sample of all of its operations; wall is its time \
                divided by their number, which with several in flight is not the time of one (clat_…, lat_… \
                in --percentiles)";
    draft.note(None, text.to_owned());
    draft.finish(source)
}

fn options(all: &BTreeMap<String, Value>) -> String {
    let one = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    };
    all.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn add(draft: &mut Draft, job: &FioJob) -> Result<()> {
    ensure!(!job.jobname.trim().is_empty(), "jobname is empty");
    let mut any = false;
    for (word, direction) in [("read", &job.read), ("write", &job.write), ("trim", &job.trim)] {
        if direction.total_ios == 0 {
            continue;
        }
        any = true;
        let cell = new_cell(draft, job, word)?;
        let values = values(direction).context(word)?;
        let (ops, bytes) = (direction.total_ios, direction.io_bytes);
        draft.push(cell, Execution { session: 0, ops, bytes }, &values)?;
        failure(draft, job, cell);
    }
    if !any {
        let cell = new_cell(draft, job, "none")?;
        draft.status(cell, Status::Skipped("it did no operation".to_owned()));
        failure(draft, job, cell);
    }
    Ok(())
}

fn new_cell(draft: &mut Draft, job: &FioJob, direction: &str) -> Result<usize> {
    let mut point = Point::default();
    point.set("direction", direction);
    let cell = draft.new_cell(&job.jobname, point)?;
    draft.about(cell, options(&job.options));
    Ok(cell)
}

fn failure(draft: &mut Draft, job: &FioJob, cell: usize) {
    if job.error != 0 {
        draft.status(cell, Status::Failed(format!("fio says error {}", job.error)));
    }
}

fn values(direction: &Direction) -> Result<Vec<(String, f64)>> {
    let mut values = Vec::new();
    let mut add = |name: &str, value: f64, key: &str| -> Result<()> {
        values.push((name.to_owned(), read::amount(value, || key.to_owned())?));
        Ok(())
    };
    add("wall_ns", direction.runtime * 1e6 / direction.total_ios as f64, "runtime")?;
    if let Some(rate) = direction.bw_bytes {
        add("throughput_bytes_per_s", rate, "bw_bytes")?;
    }
    add("iops", direction.iops, "iops")?;
    let all =
        [("slat", &direction.slat_ns), ("clat", &direction.clat_ns), ("lat", &direction.lat_ns)];
    for (name, latency) in all.into_iter().filter(|(_, latency)| latency.n > 0) {
        for (what, value) in [
            ("min", latency.min),
            ("mean", latency.mean),
            ("stddev", latency.stddev),
            ("max", latency.max),
        ] {
            add(&format!("{name}_{what}_ns"), value, &format!("{name}_ns.{what}"))?;
        }
        for (p, value) in &latency.percentile {
            let key = format!("{name}_ns.percentile[{p:?}]");
            add(&format!("{name}_p{}_ns", percent(p, &key)?), *value, &key)?;
        }
        for (p, value) in of_bins(latency, name)? {
            add(&format!("{name}_p{p}_ns"), value, &format!("{name}_ns.bins"))?;
        }
    }
    Ok(values)
}

/// Formats `99.900000` as `99.9`.
fn percent(text: &str, key: &str) -> Result<String> {
    let percent: f64 = text.parse().ok().with_context(|| format!("{key}: not a percentage"))?;
    ensure!((0.0..=100.0).contains(&percent), "{key}: not a percentage");
    Ok(percent.to_string())
}

/// The percentiles that fio does not report itself, by nearest rank: exact to the width of a bin.
fn of_bins(latency: &Latency, name: &str) -> Result<Vec<(u8, f64)>> {
    let mut bins: Vec<(f64, u64)> = Vec::new();
    for (value, n) in &latency.bins {
        let ns = value.parse().ok().and_then(|ns: f64| read::amount(ns, String::new).ok());
        bins.push((ns.with_context(|| format!("{name}_ns.bins[{value:?}]: not a time"))?, *n));
    }
    bins.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: u128 = bins.iter().map(|(_, n)| u128::from(*n)).sum();
    let has_percentile = |p: u8| {
        let is = |text: &String| {
            text.parse::<f64>().is_ok_and(|found| (found - f64::from(p)).abs() < 1e-9)
        };
        latency.percentile.keys().any(is)
    };
    let mut found = Vec::new();
    for p in
        [0_u8, 25, 50, 75, 90, 99, 100].into_iter().filter(|p| total > 0 && !has_percentile(*p))
    {
        let rank = (total * u128::from(p)).div_ceil(100).max(1);
        let mut below = 0;
        let bin = bins.iter().find(|(_, n)| {
            below += u128::from(*n);
            below >= rank
        });
        found.extend(bin.map(|(ns, _)| (p, *ns)));
    }
    Ok(found)
}

#[allow(clippy::float_cmp, reason = "values are taken over as they are")]
#[cfg(test)]
mod tests {
    use super::super::tests::{SOURCE, check_refused, names};
    use super::*;

    #[test]
    fn a_job_is_one_sample_with_the_figures_that_fio_reports() {
        let run = run(include_str!("fixtures/fio.json"), &SOURCE).unwrap();
        assert_eq!(names(&run), ["randread direction=read", "seqwrite direction=write"]);
        let cell = &run.cells[0];
        assert_eq!((cell.samples.len(), cell.samples[0].ops), (1, 1024));
        assert_eq!(cell.samples[0].bytes, 4 << 20);
        for (name, expected) in [
            ("wall_ns", 107e6 / 1024.0),
            ("throughput_bytes_per_s", 39_199_102.0),
            ("iops", 9_570.093_458),
            ("clat_mean_ns", 103_142.069_336),
            ("clat_p99.9_ns", 3_817_472.0),
            ("lat_max_ns", 3_926_077.0),
        ] {
            assert_eq!(cell.values[name], [expected], "{name}");
        }
        assert!(
            !cell.values.contains_key("slat_mean_ns") && !cell.values.contains_key("clat_p25_ns")
        );
        assert!(cell.about.contains("bs=4k"), "{}", cell.about);
        assert_eq!(run.plan.imported.unwrap().tool, "fio 3.33");
        assert_eq!(run.started, "2026-11-22T00:56:59Z");
    }

    #[test]
    fn bins_tell_the_percentiles_that_are_missing() {
        let run = run(include_str!("fixtures/fio-bins.json"), &SOURCE).unwrap();
        assert_eq!(run.cells.len(), 2);
        let write = &run.cells[1];
        assert_eq!(write.values["clat_p0_ns"], [1720.0]);
        assert_eq!(write.values["clat_p50_ns"], [3440.0]);
        let p25 = write.values["clat_p25_ns"][0];
        assert!((2672.0..=2832.0).contains(&p25), "{p25}");
    }

    #[test]
    fn messages_before_the_document_are_left_out() {
        let text = "fio: both\nnote: x\n{\"jobs\":[{\"jobname\":\"a\"}]}";
        let run = run(text, &SOURCE).unwrap();
        assert_eq!(run.cells[0].status, Status::Skipped("it did no operation".to_owned()));
        assert_eq!(without_messages("x\n{"), "x\n{");
    }

    #[test]
    fn what_is_wrong_is_named_by_key_and_index() {
        let check = |read: &str, expected: &str| {
            let text = format!("{{\"jobs\":[{{\"jobname\":\"a\",\"read\":{{{read}}}}}]}}");
            check_refused(run, &text, expected);
        };
        check("\"total_ios\":1,\"runtime\":-1", "jobs[0]: read: runtime: -1000000 is below 0");
        check("\"total_ios\":-1", "\"jobs[0].read.total_ios\": invalid value: integer `-1`");
        check("\"total_ios\":1,\"iops\":NaN", "\"jobs[0].read.iops\": NaN at line 1 column");
        let clat = |more: &str| format!("\"total_ios\":1,\"clat_ns\":{{\"N\":1,{more}}}");
        check(&clat("\"mean\":-1"), "jobs[0]: read: clat_ns.mean: -1 is below 0");
        check(&clat("\"percentile\":{\"x\":1}"), "clat_ns.percentile[\"x\"]: not a percentage");
        check(&clat("\"bins\":{\"x\":1}"), "clat_ns.bins[\"x\"]: not a time");
        check_refused(run, "{\"jobs\":[]}", "no result is in it");
        check_refused(run, "{\"jobs\":[{\"jobname\":\"\"}]}", "jobs[0]: jobname is empty");
    }
}
