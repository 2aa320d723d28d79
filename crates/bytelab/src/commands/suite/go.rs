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
        let ran = run.execute(program.dir(), &words(program, ".", "1x"));
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
}
