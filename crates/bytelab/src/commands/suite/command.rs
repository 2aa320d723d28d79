//! Benchmarks of any harness whose results `import` reads: a command that lists them, and one that
//! runs one of them.

use std::path::Path;

use anyhow::{Context as _, Result};
use measure::launch::Stop;
use model::param::Point;
use model::path_text::from_path;
use model::template::{fill, names};

use super::harness::{Harness, HarnessRun, SuiteProgram, imported, texts};

pub(super) struct CommandSuite {
    /// Runs one benchmark: `{tree}/bench --filter {name} --json {out}`.
    pub(super) command: String,
    /// Prints the names, a line each.
    pub(super) list: String,
}

const RESULT: &str = "result";

impl CommandSuite {
    /// The words of a shell that runs this text.
    fn words(text: &str, program: &SuiteProgram, name: &str, run: &HarnessRun) -> Vec<String> {
        let mut values = Point::default();
        values.set("tree", &*from_path(&program.file));
        values.set("name", name);
        values.set("out", &*from_path(&run.path(RESULT)));
        values.set("ms", run.each.as_millis() as u64);
        let quoted = |value: &str| match shlex::try_quote(value) {
            Ok(quoted) => quoted.into_owned(),
            Err(_) => "''".to_owned(),
        };
        texts(["/bin/sh", "-c", &fill(text, &values, quoted)])
    }
}

impl Harness for CommandSuite {
    fn build(&self, tree: &Path, _target: &Path, _stop: &Stop) -> Result<Vec<SuiteProgram>> {
        Ok(vec![SuiteProgram { name: String::new(), file: tree.to_owned(), dir: None }])
    }

    fn has_programs(&self) -> bool {
        false
    }

    fn names(&self, program: &SuiteProgram, run: &HarnessRun) -> Result<Vec<String>> {
        let words = CommandSuite::words(&self.list, program, "", run);
        run.execute(program.dir(), &words).context("--suite-list")?;
        let printed = run.printed()?;
        let lines = printed.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(lines.map(str::to_owned).collect())
    }

    fn command(&self, program: &SuiteProgram, name: &str, run: &HarnessRun) -> Result<Vec<String>> {
        Ok(CommandSuite::words(&self.command, program, name, run))
    }

    fn estimate(&self, _program: &SuiteProgram, name: &str, run: &HarnessRun) -> Result<f64> {
        // Without a file for it, the result is what is printed.
        let has_file = names(&self.command).contains(&"out");
        let result = if has_file { run.path(RESULT) } else { run.stdout() };
        imported(&result, None, name)
    }
}
