//! Criterion's directory `target/criterion`: for each benchmark, `new/benchmark.json` describes it,
//! and `new/sample.json` has its samples. The directories `base` and `report` are from an earlier
//! time, or derived from these files.

use anyhow::{Context, Result, bail, ensure};
use lab::param::Point;
use lab::run::Run;
use serde::Deserialize;

use super::draft::{Draft, Execution, ONE};
use super::format::{Folder, Format, Source};
use super::read;

#[derive(Deserialize)]
struct Benchmark {
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
    #[serde(untagged)]
    Other(serde::de::IgnoredAny),
}

/// Each element of `times` is the time of the corresponding number of iterations, in ns.
#[derive(Deserialize)]
struct Samples {
    iters: Vec<f64>,
    times: Vec<f64>,
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

const BENCHMARK: &str = "benchmark.json";
const SAMPLE: &str = "sample.json";
const ESTIMATES: &str = "estimates.json";

pub(super) fn is_read(path: &str) -> bool {
    [BENCHMARK, SAMPLE, ESTIMATES].iter().any(|name| {
        let parent = path.strip_suffix(name).and_then(|path| path.strip_suffix('/'));
        parent.is_some_and(|parent| parent == "new" || parent.ends_with("/new"))
    })
}

pub(super) fn run(files: &Folder, source: &Source<'_>) -> Result<Run> {
    let mut draft = Draft::new(Format::Criterion, "criterion");
    let mut files: Vec<(&str, &[u8])> =
        files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    files.sort_unstable();
    for (path, bytes) in &files {
        let Some(dir) = path.strip_suffix(BENCHMARK).filter(|_| is_read(path)) else { continue };
        let of = |name: &str| {
            let path = format!("{dir}{name}");
            let found = files.binary_search_by(|(known, _)| known.cmp(&path.as_str()));
            found.ok().map(|at| (path, files[at].1))
        };
        let benchmark: Benchmark = parsed(path, bytes)?;
        let cell = cell(&mut draft, &benchmark).with_context(|| format!("{path:?}"))?;
        match (of(SAMPLE), of(ESTIMATES)) {
            (Some((path, bytes)), _) => {
                let all: Samples = parsed(&path, bytes)?;
                samples(&mut draft, cell, &benchmark, &all).with_context(|| format!("{path:?}"))?;
            }
            (None, Some((path, bytes))) => {
                let estimates: Estimates = parsed(&path, bytes)?;
                let key = || "median.point_estimate".to_owned();
                let ns = read::amount(estimates.median.point_estimate, key)
                    .with_context(|| format!("{path:?}"))?;
                draft.push(cell, ONE, &[("wall_ns", ns)])?;
                let text =
                    format!("no {SAMPLE} of it is there: the one value is its estimated median");
                draft.note(Some(method(&benchmark)), text);
            }
            (None, None) => bail!("{:?} is missing", format!("{dir}{SAMPLE}")),
        }
    }
    draft
        .finish(source)
        .context("no new/benchmark.json below it; name criterion's target/criterion")
}

fn parsed<T: serde::de::DeserializeOwned>(path: &str, bytes: &[u8]) -> Result<T> {
    let shown = || format!("{path:?}");
    read::json(&read::text(bytes).with_context(shown)?).with_context(shown)
}

fn method(benchmark: &Benchmark) -> &str {
    benchmark.function_id.as_deref().filter(|id| !id.is_empty()).unwrap_or(&benchmark.group_id)
}

/// Rivals are the benchmarks of one group at one value.
fn cell(draft: &mut Draft, benchmark: &Benchmark) -> Result<usize> {
    let mut point = Point::default();
    let alone = benchmark.function_id.is_none() && benchmark.value_str.is_none();
    point.set("group", if alone { "none" } else { benchmark.group_id.as_str() });
    if let Some(text) = &benchmark.value_str {
        match text.parse::<u64>().ok().filter(|number| number.to_string() == *text) {
            Some(number) => point.set("value", number),
            None => point.set("value", text.as_str()),
        }
    }
    draft.new_cell(method(benchmark), point)
}

fn samples(draft: &mut Draft, cell: usize, benchmark: &Benchmark, samples: &Samples) -> Result<()> {
    let Samples { iters, times } = samples;
    ensure!(!times.is_empty(), "times is empty");
    ensure!(iters.len() == times.len(), "{} iters and {} times", iters.len(), times.len());
    for (i, (iters, time)) in iters.iter().zip(times).enumerate() {
        let ops = read::operations(*iters, || format!("iters[{i}]"))?;
        let total_ns = read::amount(*time, || format!("times[{i}]"))?;
        let wall_ns = total_ns / ops as f64;
        let mut values = vec![("wall_ns", wall_ns)];
        let mut bytes = 0;
        let per_s =
            |amount: u64| Some(amount as f64 * 1e9 / wall_ns).filter(|rate| rate.is_finite());
        match benchmark.throughput {
            Some(Throughput::Bytes(n) | Throughput::BytesDecimal(n)) => {
                bytes = n.saturating_mul(ops);
                values.extend(per_s(n).map(|rate| ("throughput_bytes_per_s", rate)));
            }
            Some(Throughput::Elements(n)) => {
                values.extend(per_s(n).map(|rate| ("elements_per_s", rate)));
            }
            Some(Throughput::Bits(n)) => {
                values.extend(per_s(n).map(|rate| ("bits_per_s", rate)));
            }
            Some(Throughput::Other(_)) | None => {}
        }
        draft.push(cell, Execution { session: 0, ops, bytes }, &values)?;
    }
    Ok(())
}

#[allow(clippy::float_cmp, reason = "values are taken over as they are")]
#[cfg(test)]
mod tests {
    use super::super::tests::{SOURCE, names};
    use super::*;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/import/fixtures/criterion");

    fn fixture() -> Folder {
        let pattern = format!("{FIXTURES}/**/*.json");
        let paths = glob::glob(&pattern).unwrap().map(Result::unwrap);
        let read = |path: std::path::PathBuf| {
            let name = path.strip_prefix(FIXTURES).unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read(&path).unwrap())
        };
        paths.map(read).collect()
    }

    #[test]
    fn each_sample_is_divided_by_its_iterations() {
        let run = run(&fixture(), &SOURCE).unwrap();
        let expected = [
            "copy_from_slice group=copy bytes value=4096",
            "copy_from_slice group=copy bytes value=65536",
            "loop group=copy bytes value=4096",
            "loop group=copy bytes value=65536",
            "format a/number group=none",
            "spin group=slow",
        ];
        assert_eq!(names(&run), expected);
        let format = &run.cells[4];
        assert_eq!((format.samples.len(), format.samples[1].ops), (20, 20_948));
        assert_eq!(format.values["wall_ns"][1], 561_463.0 / 20_948.0);
        let copy = &run.cells[0];
        assert_eq!(copy.samples[0].bytes, copy.samples[0].ops * 4096);
        let rate = 4096e9 / copy.values["wall_ns"][0];
        assert_eq!(copy.values["throughput_bytes_per_s"][0], rate);
    }

    #[test]
    fn what_is_wrong_is_named_by_file_key_and_index() {
        let check = |sample: &str, expected: &str| {
            let benchmark = r#"{"group_id":"g","function_id":"f","value_str":null}"#;
            let file = |name: &str, text: &str| (format!("g/new/{name}"), text.as_bytes().to_vec());
            let folder = vec![file(BENCHMARK, benchmark), file(SAMPLE, sample)];
            let error = format!("{:#}", run(&folder, &SOURCE).unwrap_err());
            assert!(error.contains(expected), "{error}");
        };
        check(r#"{"iters":[1],"times":[]}"#, "\"g/new/sample.json\": times is empty");
        check(r#"{"iters":[],"times":[1]}"#, "\"g/new/sample.json\": 0 iters and 1 times");
        check(r#"{"iters":[0],"times":[1]}"#, "iters[0]: 0 is no number of operations");
        check(r#"{"iters":[1,1],"times":[1,-1]}"#, "times[1]: -1 is below 0");
        check(r#"{"iters":[1,1],"times":[1,NaN]}"#, "\"times[1]\": NaN at line 1 column");
        check(r#"{"iters":[1,"#, "EOF while parsing a value at line 1 column 12");
        let error = format!("{:#}", run(&Vec::new(), &SOURCE).unwrap_err());
        assert!(error.contains("no new/benchmark.json below it"), "{error}");
    }

    #[test]
    fn without_samples_the_estimate_is_one_value_and_is_called_so() {
        let mut files = fixture();
        files.retain(|(path, _)| !path.ends_with(SAMPLE));
        let run = run(&files, &SOURCE).unwrap();
        assert!(run.cells.iter().all(|cell| cell.samples.len() == 1));
        let called = |note: &&lab::run::Warning| note.to_string().contains("its estimated median");
        assert_eq!(run.notes.iter().filter(called).count(), 6);
    }
}
