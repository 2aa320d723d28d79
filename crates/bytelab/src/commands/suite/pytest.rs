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
    fn words(
        program: &SuiteProgram,
        run: &HarnessRun,
        args: Vec<String>,
        more: &[&str],
    ) -> Vec<String> {
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
        [fixed, args, more].concat()
    }

    /// The further arguments without the paths that choose what is listed: beside the name of a
    /// benchmark, pytest would run all of these, too.
    fn without_paths(&self, tree: &Path) -> Vec<String> {
        let mut args = Vec::new();
        let mut follows_option = false;
        for word in &self.args {
            let is_option = word.starts_with('-');
            let file = word.split("::").next().unwrap_or_default();
            // A folder may have the name of a value, as in `-k bench`.
            if is_option || follows_option || !tree.join(file).exists() {
                args.push(word.clone());
            }
            follows_option = is_option && !word.contains('=');
        }
        args
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
        let mut words = Pytest::words(program, run, self.args.clone(), &once);
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
        let args = self.without_paths(&program.file);
        Ok(Pytest::words(program, run, args, &[&time, "--benchmark-min-rounds=5", name]))
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
        let words = Pytest::words(&program, &run, args, &["t.py::a[1 2]"]);
        assert_eq!(words[0], "env");
        assert!(words[1].starts_with("PYTHONPATH=/x/a0/src:/x/a0"), "{words:?}");
        assert!(words.contains(&"--rootdir=/x/a0".to_owned()), "{words:?}");
        assert!(words.ends_with(&["-k", "a b", "t.py::a[1 2]"].map(str::to_owned)), "{words:?}");
    }

    #[test]
    fn paths_choose_what_is_listed_and_not_what_is_run() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("bench")).unwrap();
        let left = |args: &str| {
            let args = args.split(' ').map(str::to_owned).collect();
            Pytest { args }.without_paths(dir.path()).join(" ")
        };
        assert_eq!(left("-o x=y bench bench/::a"), "-o x=y");
        assert_eq!(left("-k bench --tb=no bench none"), "-k bench --tb=no none");
    }
}
