//! What an adapter of a harness does, and how the programs of a harness are run: each in a process
//! of its own, with a folder for its results that is emptied before.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analysis::stats::median;
use anyhow::{Context as _, Result, bail, ensure};
use measure::launch::{self, RunError, Stop};
use model::metric::WALL;
use model::path_text::from_path;
use model::run::{Cell, Run, Status};
use report::import::{self, ImportFormat};

use crate::commands::import::read_marked;
use crate::commands::note;

/// A longer build is a mistake.
const BUILD_LIMIT_NS: u64 = 4 * 3600 * 1_000_000_000;
/// A longer run of one benchmark is none that a gate can repeat.
pub(super) const RUN_LIMIT_NS: u64 = 600 * 1_000_000_000;

/// More is not the result of a benchmark, nor a list of names.
const RESULT_MAX_BYTES: u64 = 64 << 20;

/// An adapter: how the benchmarks of a harness are built, listed and run. Nothing of the suite is
/// changed.
pub(super) trait Harness {
    /// Makes the programs of a tree. What is built is below `target`, and not in the tree.
    fn build(&self, tree: &Path, target: &Path, stop: &Stop) -> Result<Vec<SuiteProgram>>;

    /// Whether a program that was built runs the benchmarks, and not a whole tree.
    fn has_programs(&self) -> bool {
        true
    }

    /// The names of the benchmarks of a program.
    fn names(&self, program: &SuiteProgram, run: &HarnessRun) -> Result<Vec<String>>;

    /// The words that run one benchmark.
    fn command(&self, program: &SuiteProgram, name: &str, run: &HarnessRun) -> Result<Vec<String>>;

    /// The harness's own estimate of the benchmark that has run, in ns.
    fn estimate(&self, program: &SuiteProgram, name: &str, run: &HarnessRun) -> Result<f64>;

    /// Runs one benchmark and returns the harness's own estimate, in ns.
    fn measure(&self, program: &SuiteProgram, name: &str, run: &HarnessRun) -> Result<f64> {
        run.execute(program.dir(), &self.command(program, name, run)?)?;
        self.estimate(program, name, run)
    }
}

/// What runs the benchmarks of a side.
#[derive(Clone, Debug)]
pub(super) struct SuiteProgram {
    /// The same on both sides, as that of a bench target; may be empty.
    pub(super) name: String,
    /// A file that was built, or a whole folder.
    pub(super) file: PathBuf,
    /// Where it works; none: in the folder that it is.
    pub(super) dir: Option<PathBuf>,
}

impl SuiteProgram {
    pub(super) fn dir(&self) -> &Path {
        self.dir.as_deref().unwrap_or(&self.file)
    }
}

/// The results of the program that runs, and how long it should take.
pub(super) struct HarnessRun {
    out: PathBuf,
    /// For about this time a benchmark runs.
    pub(super) each: Duration,
    /// How many iterations it does instead, for a harness that takes a number.
    pub(super) iterations: Option<u64>,
    /// The patterns of the names that are chosen; empty: all are. A harness that lists no others
    /// may be faster.
    pub(super) filter: Vec<String>,
    pub(super) stop: Stop,
}

impl HarnessRun {
    pub(super) fn new(out: PathBuf, each: Duration, stop: &Stop) -> HarnessRun {
        HarnessRun { out, each, iterations: None, filter: Vec::new(), stop: stop.clone() }
    }

    /// The folder of results.
    pub(super) fn folder(&self) -> &Path {
        &self.out
    }

    /// A file or folder of results.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }

    /// Its standard output.
    pub(super) fn stdout(&self) -> PathBuf {
        self.path("stdout")
    }

    pub(super) fn printed(&self) -> Result<String> {
        let bytes = read(&self.stdout()).context("its standard output")?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The words of a process that becomes these in a folder. The folder of results exists.
    pub(super) fn argv(&self, dir: &Path, words: &[String]) -> Vec<String> {
        argv(dir, words, &self.stdout())
    }

    /// Runs these words in a folder, to their end; an error is one that they end with.
    pub(super) fn execute(&self, dir: &Path, words: &[String]) -> Result<()> {
        // What is left of the run before must not be taken for its result.
        let _ = fs::remove_dir_all(&self.out);
        fs::create_dir_all(&self.out).context("the folder of results")?;
        execute(dir, words, &self.stdout(), RUN_LIMIT_NS, &self.stop)
    }
}

/// The estimate of a benchmark in a file that `import` reads; the format is found by its content
/// unless it is known.
pub(super) fn imported(path: &Path, format: Option<ImportFormat>, name: &str) -> Result<f64> {
    estimate(&run_of(path, format)?, name)
}

/// What a harness has written to the file; its format is found by its content if none is given.
pub(super) fn run_of(path: &Path, format: Option<ImportFormat>) -> Result<Run> {
    let of_content = || import::guess(&read(path)?);
    let of_content = || of_content().context("its result");
    let format = format.map_or_else(of_content, Ok)?;
    Ok(read_marked(path, Some(format)).context("its result")?.0)
}

/// The whole file.
fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(RESULT_MAX_BYTES + 1).read_to_end(&mut bytes)?;
    let is_all = bytes.len() as u64 <= RESULT_MAX_BYTES;
    ensure!(is_all, "is larger than 64 MiB, and none of one benchmark");
    Ok(bytes)
}

/// Runs a command that builds something; its standard output goes to a file.
pub(super) fn build(dir: &Path, words: &[String], stdout: &Path, stop: &Stop) -> Result<()> {
    execute(dir, words, stdout, BUILD_LIMIT_NS, stop)
}

/// The words of a shell that becomes the program.
fn argv(dir: &Path, words: &[String], stdout: &Path) -> Vec<String> {
    const SCRIPT: &str = "cd \"$1\" && out=$2 && shift 2 && exec \"$@\" >\"$out\"";
    let start = ["/bin/sh", "-c", SCRIPT, "suite", &from_path(dir), &from_path(stdout)];
    [&start.map(str::to_owned)[..], words].concat()
}

fn execute(dir: &Path, words: &[String], stdout: &Path, limit_ns: u64, stop: &Stop) -> Result<()> {
    let is_program = |word: &&String| *word != "env" && !word.contains('=');
    let program = words.iter().find(is_program).map_or("", String::as_str);
    match launch::run_to_end(&argv(dir, words, stdout), limit_ns, stop) {
        Ok(()) => Ok(()),
        Err(RunError::Stopped) => bail!("stopped by a signal"),
        // The shell has become the program.
        Err(RunError::Failed(why) | RunError::Skipped(why)) => {
            bail!("{}", why.replace("/bin/sh", program))
        }
    }
}

/// Says what failed while the benchmarks were listed, where others of them could be.
pub(super) fn note_failure(program: &SuiteProgram, ran: Result<()>) -> Result<()> {
    match ran {
        Ok(()) => Ok(()),
        Err(error) => Ok(note(&format!("{}: {error:#}", program.file.display()))?),
    }
}

/// The words as texts.
pub(super) fn texts<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// The regular expression that matches this text alone.
pub(super) fn exactly(text: &str) -> String {
    let mut pattern = String::from("^");
    for c in text.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "$"
}

/// The median of what the harness reports of a benchmark.
fn estimate(run: &Run, name: &str) -> Result<f64> {
    let is_it = |cell: &&Cell| cell.method == name;
    let cell = match &run.cells[..] {
        [only] => only,
        several => several.iter().find(is_it).with_context(|| {
            format!("its result has {} benchmarks, and none of this name", several.len())
        })?,
    };
    if let Status::Failed(why) | Status::Skipped(why) = &cell.status {
        bail!("{why}");
    }
    let values: Vec<f64> = cell.counted(WALL).map(|(_, value)| value).collect();
    positive(median(&values))
}

/// The estimate if it is one whose logarithm there is.
pub(super) fn positive(ns: f64) -> Result<f64> {
    ensure!(ns.is_finite() && ns > 0.0, "its result has no time above 0");
    Ok(ns)
}

/// The size of the last digit of an estimate, as the harness printed it.
pub(super) fn last_digit(ns: f64) -> f64 {
    // A float of a decimal number shows it within 12 digits.
    let text = format!("{ns:.11e}");
    let Some((digits, exponent)) = text.split_once('e') else { return 0.0 };
    let digits = digits.trim_end_matches('0');
    let after = digits.split_once('.').map_or(0, |(_, after)| after.len());
    10f64.powi(exponent.parse::<i32>().unwrap_or(0) - after as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_digit_is_that_which_was_printed() {
        for (ns, expected) in
            [(12.34, 0.01), (1.234 * 1000.0, 1.0), (1200.0, 100.0), (0.1 + 0.2, 0.1), (7.0, 1.0)]
        {
            let found = last_digit(ns);
            assert!((found / expected - 1.0).abs() < 1e-9, "{ns}: {found}");
        }
        assert!(last_digit(123.456_789_012_345) < 1e-8);
    }

    #[test]
    fn what_a_harness_prints_without_end_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let run = HarnessRun::new(dir.path().to_owned(), Duration::ZERO, &Stop::default());
        let file = File::create(run.stdout()).unwrap();
        // It has holes, and takes no space.
        file.set_len(RESULT_MAX_BYTES + 1).unwrap();
        let error = format!("{:#}", run.printed().unwrap_err());
        assert!(error.contains("its standard output: is larger than 64 MiB"), "{error}");
        let error = format!("{:#}", run_of(&run.stdout(), None).unwrap_err());
        assert!(error.contains("its result: is larger than 64 MiB"), "{error}");
    }

    #[test]
    fn a_pattern_matches_one_text() {
        assert_eq!(exactly("a/b (1+2)"), "^a/b \\(1\\+2\\)$");
    }

    #[test]
    fn an_estimate_is_that_of_the_benchmark_or_the_only_one() {
        let cell = |name: &str, ns: f64| {
            let mut cell = Cell::new(name, model::param::Point::default());
            cell.push(model::run::Sample::default(), &[(WALL, ns)]);
            cell
        };
        let run = |cells| Run { cells, ..Run::default() };
        assert_eq!(
            estimate(&run(vec![cell("other", 3.0)]), "a").unwrap().to_bits(),
            3f64.to_bits()
        );
        let two = run(vec![cell("a", 3.0), cell("b", 4.0)]);
        assert_eq!(estimate(&two, "b").unwrap().to_bits(), 4f64.to_bits());
        let error = estimate(&two, "c").unwrap_err();
        assert!(error.to_string().contains("2 benchmarks"), "{error}");
        assert!(estimate(&run(vec![cell("a", 0.0)]), "a").is_err());
        assert!(estimate(&run(Vec::new()), "a").is_err());
    }
}
