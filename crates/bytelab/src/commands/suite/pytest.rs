//! The benchmarks of pytest-benchmark. What is run is a copy of the whole tree, which comes first
//! where Python looks for modules.

use std::path::Path;

use anyhow::{Context as _, Result};
use measure::launch::Stop;
use model::path_text::from_path;
use report::import::ImportFormat;

use super::harness::{Harness, HarnessRun, SuiteProgram, imported, note_failure, run_of, texts};
use crate::commands::program_file::is_installed;

pub(super) struct Pytest {
    /// Further arguments of pytest.
    pub(super) args: Vec<String>,
}

const RESULT: &str = "result.json";

impl Pytest {
    fn words(&self, program: &SuiteProgram, run: &HarnessRun, more: &[&str]) -> Vec<String> {
        let python = if is_installed("python") { "python" } else { "python3" };
        let tree = from_path(&program.file);
        // An editable install would be that of the user's tree.
        let path = match std::env::var("PYTHONPATH") {
            Ok(own) if !own.is_empty() => format!("PYTHONPATH={tree}/src:{tree}:{own}"),
            _ => format!("PYTHONPATH={tree}/src:{tree}"),
        };
        let json = format!("--benchmark-json={}", from_path(&run.path(RESULT)));
        let root = format!("--rootdir={tree}");
        let fixed = texts([
            "env",
            &path,
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            // Names are paths below it: of a part of a repository, too, that is copied alone.
            &root,
            "--benchmark-only",
            &json,
        ]);
        let more = more.iter().map(|word| (*word).to_owned()).collect();
        [fixed, self.args.clone(), more].concat()
    }
}

impl Harness for Pytest {
    fn build(&self, tree: &Path, _target: &Path, _stop: &Stop) -> Result<Vec<SuiteProgram>> {
        Ok(vec![SuiteProgram { name: String::new(), file: tree.to_owned(), dir: None }])
    }

    fn has_programs(&self) -> bool {
        false
    }

    /// Each benchmark runs once, as pytest lists all tests and not only benchmarks. It does so in
    /// the tree itself, where nothing is written beside the modules.
    fn names(&self, program: &SuiteProgram, run: &HarnessRun) -> Result<Vec<String>> {
        let once = ["--benchmark-min-rounds=1", "--benchmark-max-time=0", "--benchmark-warmup=off"];
        let mut words = self.words(program, run, &once);
        words.insert(1, "PYTHONDONTWRITEBYTECODE=1".to_owned());
        let ran = run.execute(program.dir(), &words).context("pytest");
        if run.path(RESULT).exists() {
            note_failure(program, ran)?;
        } else {
            ran?;
        }
        let found = run_of(&run.path(RESULT), Some(ImportFormat::PytestBenchmark))?;
        Ok(found.cells.into_iter().map(|cell| cell.method).collect())
    }

    fn command(&self, program: &SuiteProgram, name: &str, run: &HarnessRun) -> Result<Vec<String>> {
        let time = format!("--benchmark-max-time={:.3}", run.each.as_secs_f64());
        Ok(self.words(program, run, &[&time, "--benchmark-min-rounds=5", name]))
    }

    fn estimate(&self, _program: &SuiteProgram, name: &str, run: &HarnessRun) -> Result<f64> {
        imported(&run.path(RESULT), Some(ImportFormat::PytestBenchmark), name)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;

    #[test]
    fn names_are_paths_below_the_tree_that_is_run() {
        let program = SuiteProgram { name: String::new(), file: PathBuf::from("/x/a0"), dir: None };
        let run = HarnessRun::new(PathBuf::from("/x/out"), Duration::ZERO, &Stop::default());
        let args = vec!["-k".to_owned(), "a b".to_owned()];
        let words = Pytest { args }.words(&program, &run, &["t.py::a[1 2]"]);
        assert_eq!(words[0], "env");
        assert!(words[1].starts_with("PYTHONPATH=/x/a0/src:/x/a0"), "{words:?}");
        assert!(words.contains(&"--rootdir=/x/a0".to_owned()), "{words:?}");
        assert!(words.ends_with(&["-k", "a b", "t.py::a[1 2]"].map(str::to_owned)), "{words:?}");
    }
}
