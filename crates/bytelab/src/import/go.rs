//! The text of `go test -bench`: lines of one benchmark are its samples, and each further block of
//! its package is a session. Lines of other kinds are the output of tests.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};
use lab::param::Point;
use lab::run::Run;

use super::draft::{Draft, Execution, own_metric};
use super::format::{Format, Source};
use super::read;

pub(super) fn run(text: &str, source: &Source<'_>) -> Result<Run> {
    let mut draft = Draft::new(Format::Go, "go");
    let mut reader = Reader::default();
    for (at, line) in text.lines().enumerate() {
        reader.line(&mut draft, line).with_context(|| format!("line {}", at + 1))?;
    }
    draft.finish(source)
}

/// What the earlier lines define for the next one.
#[derive(Default)]
struct Reader<'a> {
    package: &'a str,
    /// The number of blocks of each package so far.
    blocks: HashMap<&'a str, u32>,
    /// The facts that all blocks must agree on, with the values of the first block.
    machine: HashMap<&'a str, &'a str>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, draft: &mut Draft, line: &'a str) -> Result<()> {
        if let Some(result) = result(line) {
            return self.result(draft, &result);
        }
        if line == "FAIL" || line.starts_with("--- FAIL: Benchmark") {
            draft.note(None, format!("go test reports a failure: {}", line.trim()));
        }
        let Some((key, value)) = line.split_once(": ") else { return Ok(()) };
        let value = value.trim();
        let fact = match key {
            "pkg" => {
                self.package = value;
                *self.blocks.entry(value).or_default() += 1;
                return Ok(());
            }
            "cpu" => "cpu_model",
            "goos" => "goos",
            "goarch" => "goarch",
            _ => return Ok(()),
        };
        let first = *self.machine.entry(fact).or_insert(value);
        ensure!(
            first == value,
            "{key} is {value:?}, and was {first:?} before: results of several machines are several runs"
        );
        draft.fact(fact, value);
        Ok(())
    }

    fn result(&self, draft: &mut Draft, result: &ResultLine<'_>) -> Result<()> {
        let mut point = Point::default();
        if !self.package.is_empty() {
            point.set("package", self.package);
        }
        let (method, processors) = processors(result.name);
        if let Some(processors) = processors {
            point.set("gomaxprocs", processors);
        }
        let ops = read::operations(result.iterations as f64, || "iterations".to_owned())?;
        let values = values(result.rest)?;
        let cell = draft.cell(method, point)?;
        let session = self.blocks.get(self.package).map_or(0, |blocks| blocks.saturating_sub(1));
        draft.push(cell, Execution { session, ops, bytes: 0 }, &values)
    }
}

/// `BenchmarkCopy/size=4096-2  2000  44.11 ns/op  92860.87 MB/s`.
struct ResultLine<'a> {
    /// The name without `Benchmark`.
    name: &'a str,
    iterations: u64,
    /// Values, each with its unit.
    rest: &'a str,
}

/// Whether a line is a result; other lines may have the same beginning.
pub(super) fn is_result(line: &str) -> bool {
    result(line).is_some()
}

fn result(line: &str) -> Option<ResultLine<'_>> {
    let line = line.strip_prefix("Benchmark")?;
    let (name, rest) = line.split_once(char::is_whitespace)?;
    let rest = rest.trim_start();
    let (iterations, rest) = rest.split_once(char::is_whitespace)?;
    let lower = name.starts_with(char::is_lowercase);
    Some(ResultLine { name, iterations: iterations.parse().ok()?, rest }).filter(|_| !lower)
}

/// The last part of a name is the number of processors if that is above 1.
fn processors(name: &str) -> (&str, Option<u64>) {
    let split = name.rsplit_once('-').and_then(|(method, number)| {
        let canonical = !number.starts_with(['0', '+']);
        Some((method, number.parse().ok().filter(|_| canonical && !method.is_empty())?))
    });
    split.map_or((if name.is_empty() { "Benchmark" } else { name }, None), |(method, number)| {
        (method, Some(number))
    })
}

fn values(rest: &str) -> Result<Vec<(String, f64)>> {
    let mut words = rest.split_whitespace();
    let mut values: Vec<(String, f64)> = Vec::new();
    while let Some(number) = words.next() {
        let unit = words.next().with_context(|| format!("{number:?} has no unit"))?;
        let Ok(value) = number.parse::<f64>() else {
            bail!("{number:?} before {unit:?} is not a number");
        };
        let key = || format!("{unit:?}");
        let (name, value) = match unit {
            "ns/op" => ("wall_ns".to_owned(), read::amount(value, key)?),
            "B/op" => ("allocated_bytes".to_owned(), read::amount(value, key)?),
            "allocs/op" => ("allocations".to_owned(), read::amount(value, key)?),
            "MB/s" => ("throughput_bytes_per_s".to_owned(), read::amount(value * 1e6, key)?),
            own => (own_metric(own), read::finite(value, key)?),
        };
        ensure!(values.iter().all(|(known, _)| *known != name), "{unit:?} is there twice");
        values.push((name, value));
    }
    ensure!(!values.is_empty(), "no value behind the number of iterations");
    Ok(values)
}

#[allow(clippy::float_cmp, reason = "values are taken over as they are")]
#[cfg(test)]
mod tests {
    use super::super::tests::{SOURCE, check_refused, names};
    use super::*;

    #[test]
    fn lines_of_one_benchmark_are_its_samples() {
        let run = run(include_str!("fixtures/go.txt"), &SOURCE).unwrap();
        let at = |name: &str| format!("{name} package=example.org/bench gomaxprocs=2");
        let expected = ["Copy/size=4096", "Copy/size=65536", "Build", "Format"].map(at);
        assert_eq!(names(&run), expected);
        assert_eq!(run.cells[0].values["wall_ns"], [44.11, 30.69, 79.28, 45.57, 37.38]);
        assert_eq!(run.cells[0].values["throughput_bytes_per_s"][0], 92_860.87e6);
        assert_eq!(run.cells[2].values["allocated_bytes"], [67.0; 5]);
        assert_eq!(run.cells[2].values["allocations"], [1.0; 5]);
        assert_eq!(run.cells[2].values["writes/op"], [2.0; 5]);
        assert!(run.cells.iter().flat_map(|cell| &cell.samples).all(|s| s.ops == 2000));
        assert_eq!(run.environment.facts["goarch"], "amd64");
        assert_eq!(run.environment.fingerprint.len(), 16);
    }

    #[test]
    fn further_blocks_of_a_package_are_sessions_and_other_packages_are_not() {
        let block = |package: &str| format!("pkg: {package}\nBenchmarkA 10 5 ns/op\nPASS\n");
        let text = [block("x"), block("y"), block("x"), block("x")].concat();
        let run = run(&text, &SOURCE).unwrap();
        let sessions: Vec<Vec<u32>> = (run.cells.iter())
            .map(|cell| cell.samples.iter().map(|sample| sample.session).collect())
            .collect();
        assert_eq!(sessions, [vec![0, 1, 2], vec![0]]);
        assert_eq!(run.plan.sessions, 3);
    }

    #[test]
    fn names_and_lines_that_only_look_like_results() {
        assert_eq!(processors("Copy/n-8-16"), ("Copy/n-8", Some(16)));
        assert_eq!(processors("Copy"), ("Copy", None));
        assert_eq!(processors("Copy-08"), ("Copy-08", None));
        assert_eq!(processors(""), ("Benchmark", None));
        assert!(!is_result("BenchmarkCopy-2"));
        assert!(!is_result("BenchmarkCopy-2 says hello there"));
        assert!(!is_result("Benchmarking 10 5 ns/op"));
        assert!(is_result("BenchmarkCopy-2\t 1\t5 ns/op"));
    }

    #[test]
    fn what_is_wrong_is_named_by_line_and_unit() {
        let check = |text: &str, expected: &str| check_refused(run, text, expected);
        check("", "no result is in it");
        check(
            "BenchmarkA 1 5 ns/op\nBenchmarkA 1 NaN ns/op",
            "line 2: \"ns/op\": NaN is no number",
        );
        check("BenchmarkA 1 +Inf ns/op", "line 1: \"ns/op\": too large a number, or none");
        check("BenchmarkA 1 -5 ns/op", "line 1: \"ns/op\": -5 is below 0");
        check("BenchmarkA 1 1e400 B/op", "line 1: \"B/op\": too large a number");
        check("BenchmarkA 1 5 ns/op 7", "line 1: \"7\" has no unit");
        check("BenchmarkA 1 x ns/op", "line 1: \"x\" before \"ns/op\" is not a number");
        check("BenchmarkA 0 5 ns/op", "line 1: iterations: 0 is no number of operations");
        check("BenchmarkA 1 5 ns/op 6 ns/op", "line 1: \"ns/op\" is there twice");
        check("BenchmarkA 1  ", "line 1: no value behind the number of iterations");
        check("cpu: a\nBenchmarkA 1 5 ns/op\ncpu: b", "line 3: cpu is \"b\", and was \"a\" before");
    }
}
