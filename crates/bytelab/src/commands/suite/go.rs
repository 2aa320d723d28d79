//! The benchmarks of `go test -bench`: a program for each package that has tests.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use measure::launch::Stop;
use model::path_text::{from_path, to_path};
use report::import::ImportFormat;

use super::harness::{
    self, Harness, HarnessRun, SuiteProgram, imported, note_failure, run_of, texts,
};

pub(super) struct Go {
    /// Flags of the build, as in `-tags=x`, and packages.
    pub(super) args: Vec<String>,
}

/// A package with tests: its path and its folder, on a line.
const PACKAGES: &str =
    "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{\"\\t\"}}{{.Dir}}{{end}}";

impl Harness for Go {
    fn build(&self, tree: &Path, target: &Path, stop: &Stop) -> Result<Vec<SuiteProgram>> {
        fs::create_dir_all(target)?;
        let tree = &fs::canonicalize(tree).context("the tree")?;
        let (flags, mut packages): (Vec<String>, Vec<String>) =
            self.args.iter().cloned().partition(|word| word.starts_with('-'));
        if packages.is_empty() {
            packages.push("./...".to_owned());
        }
        let list = [texts(["go", "list", "-f", PACKAGES]), flags.clone(), packages].concat();
        let listed = target.join("packages");
        harness::build(tree, &list, &listed, stop).context("go list")?;
        let listed = fs::read_to_string(&listed).context("what go list printed")?;
        let mut programs = Vec::new();
        for (package, dir) in listed.lines().filter_map(|line| line.split_once('\t')) {
            let file = target.join(format!("{}.test", programs.len()));
            let out = from_path(&file).into_owned();
            // Without the paths of this tree and its revision, unchanged code has equal bytes in
            // all trees.
            let compile = texts(["go", "test", "-c", "-trimpath", "-buildvcs=false", "-o", &out]);
            let words = [compile, flags.clone(), texts([package])].concat();
            harness::build(tree, &words, &target.join("compiled"), stop)
                .with_context(|| format!("go test -c {package}"))?;
            let dir = to_path(dir);
            let below = dir.strip_prefix(tree).map(|below| from_path(below).into_owned());
            let name = below.unwrap_or_else(|_| package.to_owned());
            programs.push(SuiteProgram { name, file, dir: Some(dir) });
        }
        Ok(programs)
    }

    /// Each benchmark runs once, as only that tells the names of its parts.
    fn names(&self, program: &SuiteProgram, run: &HarnessRun) -> Result<Vec<String>> {
        let Some(benchmarks) = listed(program, run)? else { return Ok(Vec::new()) };
        let ran = run.execute(program.dir(), &words(program, &benchmarks, "1x"));
        if !run.printed().unwrap_or_default().contains("ns/op") {
            return ran.map(|()| Vec::new());
        }
        note_failure(program, ran)?;
        let found = run_of(&run.stdout(), Some(ImportFormat::Go))?;
        Ok(found.cells.into_iter().map(|cell| cell.method).collect())
    }

    fn command(&self, program: &SuiteProgram, name: &str, run: &HarnessRun) -> Result<Vec<String>> {
        let time = match run.iterations {
            Some(n) => format!("{n}x"),
            None => format!("{}ms", run.each.as_millis().max(1)),
        };
        Ok(words(program, &pattern(name), &time))
    }

    fn estimate(&self, _program: &SuiteProgram, name: &str, run: &HarnessRun) -> Result<f64> {
        imported(&run.stdout(), Some(ImportFormat::Go), name)
    }
}

fn words(program: &SuiteProgram, benchmarks: &str, time: &str) -> Vec<String> {
    let (bench, time) = (format!("-test.bench={benchmarks}"), format!("-test.benchtime={time}"));
    texts([&from_path(&program.file), "-test.run=^$", &bench, &time])
}

/// The pattern of the benchmarks that are listed: with a filter, only those that may have a chosen
/// part, because others may take minutes. None if there is no such benchmark.
fn listed(program: &SuiteProgram, run: &HarnessRun) -> Result<Option<String>> {
    if run.filter.is_empty() {
        return Ok(Some(".".to_owned()));
    }
    let list = texts([&from_path(&program.file), "-test.list=^Benchmark"]);
    run.execute(program.dir(), &list).context("-test.list")?;
    let printed = run.printed()?;
    let names = printed.lines().filter_map(|line| line.strip_prefix("Benchmark"));
    let may_be = |name: &&str| run.filter.iter().any(|pattern| may_match(pattern, name));
    let chosen: Vec<&str> = names.filter(may_be).collect();
    Ok((!chosen.is_empty()).then(|| format!("^Benchmark({})$", chosen.join("|"))))
}

/// Whether the benchmark of this name, or a part of it, may match the pattern.
fn may_match(pattern: &str, name: &str) -> bool {
    let is_part = |text: &str| text.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    match pattern.split_once('*') {
        Some((start, _)) => name.starts_with(start) || is_part(start),
        None => pattern == name || is_part(pattern),
    }
}

/// The pattern of a name, of which go matches the parts between slashes one by one; the import
/// leaves out the word before it.
fn pattern(name: &str) -> String {
    let parts = format!("Benchmark{name}");
    parts.split('/').map(harness::exactly).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_a_name_is_matched_alone() {
        assert_eq!(pattern("Copy/size=4.1/a"), "^BenchmarkCopy$/^size=4\\.1$/^a$");
    }

    #[test]
    fn a_benchmark_is_listed_if_a_part_of_it_may_be_chosen() {
        for (pattern, name, expected) in [
            ("Copy", "Copy", true),
            ("Copy", "CopyN", false),
            ("Copy/a", "Copy", true),
            ("CopyN/a", "Copy", false),
            ("Copy*", "CopyN", true),
            ("Copy/a*", "Copy", true),
            ("Copy/a*", "CopyN", false),
            ("*N", "Other", true),
        ] {
            assert_eq!(may_match(pattern, name), expected, "{pattern} {name}");
        }
    }
}
