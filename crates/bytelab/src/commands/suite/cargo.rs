//! The benchmarks of `cargo bench`: those of criterion, of divan, and of libtest (on a nightly
//! toolchain).

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use measure::launch::Stop;
use model::path_text::from_path;
use report::import::ImportFormat;
use serde::Deserialize;

use super::harness::{self, Harness, HarnessRun, SuiteProgram, exactly, imported, positive, texts};
use crate::commands::note;

pub(super) struct Cargo {
    /// Further flags of `cargo bench`.
    args: Vec<String>,
    /// Which harness a program has.
    known: RefCell<HashMap<String, CargoHarness>>,
}

impl Cargo {
    pub(super) fn new(args: Vec<String>) -> Cargo {
        Cargo { args, known: RefCell::default() }
    }

    fn harness_of(&self, program: &SuiteProgram) -> Result<CargoHarness> {
        let known = self.known.borrow().get(&program.name).copied();
        known.context("its benchmarks were not listed")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CargoHarness {
    Criterion,
    Divan,
    Libtest,
}

impl CargoHarness {
    /// By the flags that the help of a program names.
    fn from_help(help: &str) -> Option<CargoHarness> {
        let all = [
            ("--save-baseline", CargoHarness::Criterion),
            ("--sample-count", CargoHarness::Divan),
            ("--nocapture", CargoHarness::Libtest),
            ("--no-capture", CargoHarness::Libtest),
        ];
        all.into_iter().find_map(|(flag, harness)| help.contains(flag).then_some(harness))
    }
}

/// A line of `--message-format=json`.
#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    manifest_path: Option<PathBuf>,
    #[serde(default)]
    target: Option<CargoTarget>,
    #[serde(default)]
    profile: Option<CargoProfile>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct CargoProfile {
    test: bool,
}

/// The programs with benchmarks that cargo has made.
fn programs(messages: &str, tree: &Path) -> Vec<SuiteProgram> {
    let program = |line: &str| {
        let message: CargoMessage = serde_json::from_str(line).ok()?;
        let target = message.target?;
        let is_test = message.profile.is_some_and(|profile| profile.test);
        let is_bench = target.kind.iter().any(|kind| kind == "bench");
        if message.reason != "compiler-artifact" || !(is_bench || is_test) {
            return None;
        }
        let dir = message.manifest_path?.parent()?.to_owned();
        // The folder of the tree may have another name on the other side.
        let package = dir.strip_prefix(tree).map(|below| from_path(below).into_owned());
        let name = match package.unwrap_or_default() {
            package if package.is_empty() => target.name,
            package => format!("{package}/{}", target.name),
        };
        Some(SuiteProgram { name, file: message.executable?, dir: Some(dir) })
    };
    messages.lines().filter_map(program).collect()
}

/// Cargo's flags, and the variables that set them already, by which paths of this tree are the same
/// in all trees: otherwise, unchanged code would not have equal bytes.
fn remapped(tree: &Path, target: &Path) -> (Vec<String>, Vec<String>) {
    let flags = [(tree, "/suite"), (target, "/target")]
        .map(|(path, name)| format!("--remap-path-prefix={}={name}", from_path(path)));
    let set = |name: &str| std::env::var(name).ok().filter(|flags| !flags.is_empty());
    // Of these sources of flags cargo takes one, and joins none.
    let own = match (set("CARGO_ENCODED_RUSTFLAGS"), set("RUSTFLAGS")) {
        (Some(own), _) => own,
        (None, Some(own)) => own.split_whitespace().collect::<Vec<_>>().join("\x1f"),
        (None, None) => {
            let flags = flags.map(|flag| format!("{flag:?}")).join(",");
            return (Vec::new(), vec!["--config".into(), format!("build.rustflags=[{flags}]")]);
        }
    };
    let all = format!("CARGO_ENCODED_RUSTFLAGS={own}\x1f{}", flags.join("\x1f"));
    (vec![all], Vec::new())
}

impl Harness for Cargo {
    fn build(&self, tree: &Path, target: &Path, stop: &Stop) -> Result<Vec<SuiteProgram>> {
        fs::create_dir_all(target)?;
        let tree = &fs::canonicalize(tree).context("the tree")?;
        let (variables, flags) = remapped(tree, target);
        let target_dir = format!("CARGO_TARGET_DIR={}", from_path(target));
        let words = [
            texts(["env", &target_dir]),
            variables,
            texts(["cargo", "bench", "--no-run", "--message-format=json-render-diagnostics"]),
            flags,
            self.args.clone(),
        ];
        let messages = target.join("messages");
        harness::build(tree, &words.concat(), &messages, stop).context("cargo bench --no-run")?;
        let messages = fs::read_to_string(&messages).context("what cargo printed")?;
        Ok(programs(&messages, tree))
    }

    fn names(&self, program: &SuiteProgram, run: &HarnessRun) -> Result<Vec<String>> {
        let help = run.execute(program.dir(), &words(program, &[], &["--help"]));
        let help = help.and_then(|()| run.printed()).unwrap_or_default();
        let Some(found) = CargoHarness::from_help(&help) else {
            note(&format!(
                "{}: its harness is none of criterion, divan and libtest, so it is left out; use \
                 --suite-command for others",
                program.name
            ))?;
            return Ok(Vec::new());
        };
        self.known.borrow_mut().insert(program.name.clone(), found);
        run.execute(program.dir(), &words(program, &[], &["--bench", "--list"]))
            .context("--list")?;
        Ok(listed(&run.printed()?))
    }

    fn command(&self, program: &SuiteProgram, name: &str, run: &HarnessRun) -> Result<Vec<String>> {
        let seconds = |share: f64| format!("{:.3}", (run.each.as_secs_f64() * share).max(0.001));
        Ok(match self.harness_of(program)? {
            CargoHarness::Criterion => {
                let home_set = format!("CRITERION_HOME={}", from_path(&run.path(HOME)));
                let (warm_up, time, name_alone) = (seconds(0.3), seconds(0.7), exactly(name));
                let more = [
                    "--bench",
                    "--noplot",
                    "--warm-up-time",
                    &warm_up,
                    "--measurement-time",
                    &time,
                    "--sample-size",
                    "10",
                    "--nresamples",
                    "1000",
                    &name_alone,
                ];
                words(program, &[&home_set], &more)
            }
            CargoHarness::Divan => {
                let time = seconds(1.0);
                let length = match run.iterations {
                    Some(n) => divan_samples(n),
                    None => texts(["--max-time", &time]),
                };
                [words(program, &[], &["--bench", "--exact", name]), length].concat()
            }
            CargoHarness::Libtest => words(program, &[], &["--bench", "--exact", name]),
        })
    }

    fn estimate(&self, program: &SuiteProgram, name: &str, run: &HarnessRun) -> Result<f64> {
        match self.harness_of(program)? {
            CargoHarness::Criterion => {
                imported(&run.path(HOME), Some(ImportFormat::Criterion), name)
            }
            CargoHarness::Divan => of_divan(&run.printed()?),
            CargoHarness::Libtest => of_libtest(&run.printed()?),
        }
    }
}

/// The folder of criterion's results.
const HOME: &str = "criterion";

/// The flags by which divan does this many iterations, or a few fewer.
fn divan_samples(iterations: u64) -> Vec<String> {
    let samples = iterations.clamp(1, 1000);
    let size = (iterations / samples).clamp(1, u32::MAX.into());
    texts(["--sample-count", &samples.to_string(), "--sample-size", &size.to_string()])
}

/// The words that start a program as cargo does: it is told where its package is.
fn words(program: &SuiteProgram, variables: &[&str], more: &[&str]) -> Vec<String> {
    let package = format!("CARGO_MANIFEST_DIR={}", from_path(program.dir()));
    let exe = from_path(&program.file);
    let all = [&["env", &package][..], variables, &[&exe], more].concat();
    all.into_iter().map(str::to_owned).collect()
}

/// Lines `name: benchmark`; versions of criterion before 0.4 write `bench`.
fn listed(printed: &str) -> Vec<String> {
    let name = |line: &str| {
        let name = line.strip_suffix(": benchmark").or(line.strip_suffix(": bench"))?;
        Some(name.to_owned())
    };
    printed.lines().filter_map(name).collect()
}

/// `test name ... bench:       1,234.56 ns/iter (+/- 12)`.
fn of_libtest(printed: &str) -> Result<f64> {
    let result = |line: &str| {
        let (_, result) = line.split_once(" bench:")?;
        let (number, _) = result.split_once("ns/iter")?;
        number.trim().replace(',', "").parse().ok()
    };
    positive(printed.lines().find_map(result).context("it printed no result")?)
}

/// The median in the row of divan's table: the columns are fastest, slowest, median, mean, samples
/// and iters. A tree of names is in front of the first.
fn of_divan(printed: &str) -> Result<f64> {
    let median = |line: &str| {
        let cells: Vec<&str> = line.split('│').collect();
        let median = cells.len().checked_sub(4).filter(|_| cells.len() >= 6)?;
        let (number, unit) = cells[median].trim().split_once(' ')?;
        let unit = match unit.trim() {
            "ps" => 1e-3,
            "ns" => 1.0,
            "µs" | "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return None,
        };
        Some(number.replace(',', "").parse::<f64>().ok()? * unit)
    };
    let found: Vec<f64> = printed.lines().filter_map(median).collect();
    match found[..] {
        [one] => positive(one),
        [] => bail!("it printed no result"),
        _ => bail!("it printed {} results for one name", found.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_are_those_that_cargo_names() {
        let message = |kind: &str, name: &str, manifest: &str, exe: &str, test: bool| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"{manifest}\",\
                 \"target\":{{\"name\":\"{name}\",\"kind\":[\"{kind}\"]}},\
                 \"profile\":{{\"test\":{test}}},\"executable\":{exe}}}"
            )
        };
        let messages = [
            message("bench", "parse", "/t/Cargo.toml", "\"/x/parse-1\"", false),
            message("lib", "app", "/t/Cargo.toml", "\"/x/app-2\"", true),
            message("bin", "app", "/t/Cargo.toml", "\"/x/app\"", false),
            message("lib", "app", "/t/Cargo.toml", "null", false),
            message("bench", "more", "/t/crates/a/Cargo.toml", "\"/x/more-3\"", true),
            "{\"reason\":\"build-finished\",\"success\":true}".to_owned(),
            "warning: text".to_owned(),
        ];
        let found = programs(&messages.join("\n"), Path::new("/t"));
        let shown: Vec<String> = found
            .iter()
            .map(|p| format!("{} {} {}", p.name, p.file.display(), p.dir().display()))
            .collect();
        assert_eq!(
            shown,
            ["parse /x/parse-1 /t", "app /x/app-2 /t", "crates/a/more /x/more-3 /t/crates/a"]
        );
    }

    #[test]
    fn each_harness_is_read_as_it_prints() {
        assert_eq!(
            listed("a/b 1: benchmark\nc: bench\nd: test\n1 test, 2 benchmarks\n"),
            ["a/b 1", "c"]
        );
        let check = |found: Result<f64>, expected: f64| {
            assert!((found.unwrap() / expected - 1.0).abs() < 1e-12, "{expected}");
        };
        check(
            of_libtest("running 1 test\ntest a ... bench:   1,234.56 ns/iter (+/- 1)\n"),
            1234.56,
        );
        check(of_libtest("test a ... bench:          7 ns/iter (+/- 0)\n"), 7.0);
        assert!(of_libtest("test a ... ok").is_err());
        let head = "b      fastest │ slowest │ median │ mean │ samples │ iters\n";
        let row = "╰─ sum  1.2 µs  │ 9 µs    │ 1.5 µs │ 2 µs │ 100     │ 100\n";
        check(of_divan(&format!("{head}{row}")), 1500.0);
        check(
            of_divan(&format!(
                "{head}├─ a            │         │        │      │         │\n│  {row}"
            )),
            1500.0,
        );
        assert!(of_divan(&format!("{head}{row}{row}")).is_err());
        assert!(of_divan(head).is_err());
    }

    #[test]
    fn a_program_is_told_where_its_package_is() {
        let file = PathBuf::from("/x/a0");
        let program = SuiteProgram { name: "b".to_owned(), file, dir: Some("/t/p q".into()) };
        let expected = ["env", "CARGO_MANIFEST_DIR=/t/p q", "CRITERION_HOME=/o", "/x/a0", "a b"];
        assert_eq!(words(&program, &["CRITERION_HOME=/o"], &["a b"]), expected);
    }

    #[test]
    fn divan_is_told_a_number_of_iterations() {
        for (iterations, samples, size) in [(1, "1", "1"), (700, "700", "1"), (5500, "1000", "5")] {
            assert_eq!(
                divan_samples(iterations),
                ["--sample-count", samples, "--sample-size", size]
            );
        }
    }

    #[test]
    fn a_harness_is_known_by_its_help() {
        for (help, expected) in [
            ("  --save-baseline <X>", Some(CargoHarness::Criterion)),
            ("  --sample-count <N>", Some(CargoHarness::Divan)),
            ("  --nocapture  do not capture", Some(CargoHarness::Libtest)),
            ("usage: x", None),
        ] {
            assert_eq!(CargoHarness::from_help(help), expected);
        }
    }
}
