//! The document of JMH's `-rf json`: each iteration is a sample, and each fork is a session. Scores
//! are times of an operation, or operations in a time, which are turned round.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use model::param::Point;
use model::run::Run;
use serde::Deserialize;

use super::draft::{Draft, ImportFormat, ImportedFile, ImportedSample, param_value};
use super::read;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JmhBenchmark {
    #[serde(default)]
    jmh_version: Option<String>,
    #[serde(default)]
    jdk_version: Option<String>,
    benchmark: String,
    mode: String,
    #[serde(default)]
    params: BTreeMap<String, String>,
    primary_metric: JmhMetric,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JmhMetric {
    score: f64,
    score_unit: String,
    /// By fork, the score of each iteration. The mode `sample` has histograms instead.
    #[serde(default)]
    raw_data: Vec<Vec<f64>>,
}

/// Whether it is such a document, which is a list.
pub(super) fn is_jmh(text: &str) -> bool {
    text.trim_start().starts_with('[') && text.contains("\"primaryMetric\"")
}

pub(super) fn run(text: &str, source: &ImportedFile<'_>) -> Result<Run> {
    let all: Vec<JmhBenchmark> = read::json(text)?;
    let version = all.first().and_then(|first| first.jmh_version.as_deref());
    let version = version.map_or(String::new(), |version| format!(" {version}"));
    let mut draft = Draft::new(ImportFormat::Jmh, format!("jmh{version}"));
    for (at, benchmark) in all.iter().enumerate() {
        if let Some(version) = &benchmark.jdk_version {
            draft.fact("jdk_version", version.as_str());
        }
        add(&mut draft, benchmark).with_context(|| format!("[{at}]"))?;
    }
    draft.finish(source)
}

fn add(draft: &mut Draft, benchmark: &JmhBenchmark) -> Result<()> {
    let JmhMetric { score, score_unit, raw_data } = &benchmark.primary_metric;
    let mut point = Point::default();
    for (name, text) in &benchmark.params {
        point.set(name.as_str(), param_value(text));
    }
    let cell = draft.new_cell(&benchmark.benchmark, point)?;
    draft.about(cell, format!("mode {}", benchmark.mode));
    let unit = JmhUnit::parse(score_unit)?;
    let push = |draft: &mut Draft, session: usize, score: f64, key: &dyn Fn() -> String| {
        let wall_ns = read::amount(unit.wall_ns(score), key)?;
        let sample = ImportedSample { session: session as u32, ops: 1, bytes: 0 };
        draft.push(cell, sample, &[("wall_ns", wall_ns)])
    };
    for (fork, iterations) in raw_data.iter().enumerate() {
        for (i, score) in iterations.iter().enumerate() {
            push(draft, fork, *score, &|| format!("primaryMetric.rawData[{fork}][{i}]"))?;
        }
    }
    if raw_data.iter().all(Vec::is_empty) {
        push(draft, 0, *score, &|| "primaryMetric.score".to_owned())?;
        let method = draft.method(cell).to_owned();
        let text =
            "its iterations are not in the file, or only as histograms: the one value is its score";
        draft.note(Some(&method), text.to_owned());
    }
    Ok(())
}

/// `us/op`, or `ops/s`.
#[derive(Clone, Copy)]
struct JmhUnit {
    ns: f64,
    is_rate: bool,
}

impl JmhUnit {
    fn parse(text: &str) -> Result<JmhUnit> {
        let (time, is_rate) = match text.split_once('/') {
            Some((time, "op")) => (time, false),
            Some(("ops", time)) => (time, true),
            _ => bail!(
                "primaryMetric.scoreUnit: {text:?} is neither a time of an operation nor a rate"
            ),
        };
        let ns = match time {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            "hr" => 3600e9,
            "day" => 86400e9,
            _ => 0.0,
        };
        ensure!(ns > 0.0, "primaryMetric.scoreUnit: {text:?} has no known unit of time");
        Ok(JmhUnit { ns, is_rate })
    }

    fn wall_ns(self, score: f64) -> f64 {
        if self.is_rate { self.ns / score } else { self.ns * score }
    }
}

#[allow(clippy::float_cmp, reason = "values are taken over as they are")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tests::{SOURCE, check_refused, names};

    #[test]
    fn iterations_are_samples_and_forks_are_sessions() {
        let run = run(include_str!("fixtures/jmh.json"), &SOURCE).unwrap();
        assert_eq!(run.plan.imported.as_ref().unwrap().tool, "jmh 1.37");
        assert_eq!(names(&run), ["org.sample.Sum.sum size=10", "org.sample.Sum.rate "]);
        let sum = &run.cells[0];
        assert_eq!(sum.values["wall_ns"], [1500.0, 1600.0, 1700.0, 1800.0]);
        let sessions: Vec<u32> = sum.samples.iter().map(|sample| sample.session).collect();
        assert_eq!(sessions, [0, 0, 1, 1]);
        // 2 and 4 operations in a µs.
        assert_eq!(run.cells[1].values["wall_ns"], [500.0, 250.0]);
    }

    #[test]
    fn units_are_times_or_rates() {
        let one = |unit: &str, score: &str| {
            format!(
                "[{{\"benchmark\":\"a\",\"mode\":\"avgt\",\"primaryMetric\":\
                 {{\"score\":{score},\"scoreUnit\":\"{unit}\"}}}}]"
            )
        };
        for (unit, score, expected) in [("ms/op", "2", 2e6), ("ops/s", "4", 2.5e8)] {
            let run = run(&one(unit, score), &SOURCE).unwrap();
            assert!((run.cells[0].values["wall_ns"][0] - expected).abs() < 1e-6 * expected);
        }
        check_refused(
            run,
            &one("bytes", "2"),
            "[0]: primaryMetric.scoreUnit: \"bytes\" is neither",
        );
        check_refused(run, &one("ops/week", "2"), "has no known unit");
        check_refused(run, &one("ops/s", "0"), "primaryMetric.score: too large");
        check_refused(run, "[]", "nothing to import");
        assert!(!is_jmh("[1]"));
    }
}
