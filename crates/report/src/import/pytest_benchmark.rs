//! The document of pytest-benchmark's `--benchmark-json`: each round is a sample, whose time is
//! that of one of its iterations.

use anyhow::{Context, Result, ensure};
use model::param::Point;
use model::run::Run;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::draft::{Draft, ImportFormat, ImportedFile, ImportedSample};
use super::read;

#[derive(Deserialize)]
struct PytestDocument {
    #[serde(default)]
    machine_info: Map<String, Value>,
    benchmarks: Vec<PytestBenchmark>,
    #[serde(default)]
    datetime: Option<String>,
    #[serde(default)]
    version: Option<String>,
}

#[derive(Deserialize)]
struct PytestBenchmark {
    /// With the file and the parameters: `tests/test_a.py::test_b[1]`.
    fullname: String,
    #[serde(default)]
    group: Option<String>,
    stats: PytestStats,
}

/// All times are in seconds.
#[derive(Deserialize)]
struct PytestStats {
    median: f64,
    #[serde(default)]
    iterations: Option<u64>,
    /// Left out by some options.
    #[serde(default)]
    data: Vec<f64>,
}

pub(super) fn run(text: &str, source: &ImportedFile<'_>) -> Result<Run> {
    let document: PytestDocument = read::json(text)?;
    let version = document.version.map_or(String::new(), |version| format!(" {version}"));
    let mut draft = Draft::new(ImportFormat::PytestBenchmark, format!("pytest-benchmark{version}"));
    draft.started(document.datetime.as_deref().and_then(read::utc));
    environment(&mut draft, &document.machine_info);
    for (at, benchmark) in document.benchmarks.iter().enumerate() {
        add(&mut draft, benchmark).with_context(|| format!("benchmarks[{at}]"))?;
    }
    draft.finish(source)
}

fn environment(draft: &mut Draft, machine: &Map<String, Value>) {
    let of_cpu = |key: &str| machine.get("cpu").and_then(|cpu| cpu.get(key)).cloned();
    for (fact, value) in [
        ("host_name", machine.get("node").cloned()),
        ("cpu_model", of_cpu("brand_raw")),
        ("cpu_threads", of_cpu("count")),
        ("python_version", machine.get("python_version").cloned()),
        ("python_implementation", machine.get("python_implementation").cloned()),
    ] {
        if let Some(value) = value {
            draft.fact(fact, value);
        }
    }
}

fn add(draft: &mut Draft, benchmark: &PytestBenchmark) -> Result<()> {
    let PytestBenchmark { fullname, group, stats } = benchmark;
    let cell = draft.new_cell(fullname, Point::default())?;
    if let Some(group) = group {
        draft.about(cell, format!("group {group}"));
    }
    let ops = stats.iterations.unwrap_or(1);
    ensure!(ops > 0, "stats.iterations: 0 is no number of operations");
    let sample = ImportedSample { session: 0, ops, bytes: 0 };
    for (i, seconds) in stats.data.iter().enumerate() {
        let wall_ns = read::amount(seconds * 1e9, || format!("stats.data[{i}]"))?;
        draft.push(cell, sample, &[("wall_ns", wall_ns)])?;
    }
    if stats.data.is_empty() {
        let wall_ns = read::amount(stats.median * 1e9, || "stats.median".to_owned())?;
        draft.push(cell, sample, &[("wall_ns", wall_ns)])?;
        let method = draft.method(cell).to_owned();
        draft.note(
            Some(&method),
            "its rounds are not in the file: the one value is their median".into(),
        );
    }
    Ok(())
}

#[allow(clippy::float_cmp, reason = "values are taken over as they are")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tests::{SOURCE, check_refused};

    #[test]
    fn rounds_are_samples_of_one_iteration() {
        let text = include_str!("fixtures/pytest-benchmark.json");
        let run = run(text, &SOURCE).unwrap();
        assert_eq!(run.plan.imported.as_ref().unwrap().tool, "pytest-benchmark 5.1.0");
        assert_eq!(run.started, "2026-01-31T12:00:00Z");
        assert_eq!(run.environment.facts["cpu_model"], "Some CPU");
        let names: Vec<&str> = run.cells.iter().map(|cell| cell.method.as_str()).collect();
        assert_eq!(names, ["tests/test_sum.py::test_sum[10]", "tests/test_sum.py::test_once"]);
        let values: Vec<f64> = run.cells[0].values["wall_ns"].iter().map(|ns| ns.round()).collect();
        assert_eq!((values, run.cells[0].samples[0].ops), (vec![110.0, 120.0, 130.0], 1000));
        assert_eq!(run.cells[1].samples.len(), 1);
        assert!(
            run.notes.iter().any(|note| note.to_string().contains("the one value is their median"))
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        let one = |stats: &str| {
            format!(
                "{{\"machine_info\":{{}},\"benchmarks\":[{{\"fullname\":\"a\",\"stats\":{stats}}}]}}"
            )
        };
        check_refused(run, &one("{\"median\":-1}"), "benchmarks[0]: stats.median: ");
        check_refused(run, &one("{\"median\":1,\"iterations\":0}"), "stats.iterations: 0");
        check_refused(run, &one("{}"), "missing field `median`");
        check_refused(run, "{\"benchmarks\":[]}", "nothing to import");
    }
}
