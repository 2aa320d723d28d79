//! `bytelab check --suite`: the benchmarks of a suite that is there already, old and new in turn,
//! in short sessions of fresh processes. What is slower is confirmed by a second set of sessions.

mod cargo;
mod command;
mod go;
mod harness;
mod prove;
mod pytest;
mod sessions;
mod sides;
mod stored;
mod why;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use analysis::stats::LOOKS;
use analysis::{GateState, Outcome, SuiteGate, SuiteMean, analyze};
use anyhow::{Context as _, Error, Result, bail, ensure};
use clap::{Args, ValueEnum};
use experiments::TemporaryFolder;
use measure::clock;
use measure::launch::{Orphans, Stop};
use model::metric::WALL;
use model::pattern;
use model::profile::Profile;
use report::suite::{SuiteLine, SuiteReport};
use store::Store;
use tools::atomic_file::AtomicFile;

use self::harness::{Harness, HarnessRun, RUN_LIMIT_NS, SuiteProgram};
use self::sessions::{BenchmarkRuns, SessionSet, SuiteBenchmark, SuiteMeasurer, middle};
use self::sides::{SuiteCopies, SuiteSides, are_same, counterpart};
use self::stored::SuiteRun;
use self::why::WhyBenchmark;
use super::check::{GateArgs, Undecided, step_summary};
use super::measure_args::KeepArgs;
use super::program_file::Digests;
use super::{Context, exit, layout, note, path};
use crate::console;
use crate::measuring::seed;

/// The limit unless --allow is given. With a limit of 0 nothing unchanged would ever be decided,
/// and two builds of the same code that differ by 0.5 % would be red.
const ALLOWED_PERCENT: f64 = 2.0;
const TIME: Duration = Duration::from_mins(10);
const EACH: Duration = Duration::from_millis(100);

#[derive(Args)]
#[command(next_help_heading = "Suite")]
#[command(group = clap::ArgGroup::new("SuiteKind").args(["suite", "suite_command"]))]
pub(crate) struct SuiteArgs {
    /// Check a suite of benchmarks: cargo, pytest or go [allowed: wall=2%]
    ///
    /// cargo: criterion, divan, and libtest on nightly; pytest: pytest-benchmark; go: go test
    /// -bench. The suite is not changed. Each benchmark is run in fresh processes, old and new in
    /// turn; the exit status is that of the whole suite.
    #[arg(long, value_name = "KIND", value_enum, hide_possible_values = true)]
    #[arg(conflicts_with_all = ["baseline", "absolute"])]
    pub(super) suite: Option<SuiteKind>,
    /// Check a suite of another kind: the command that runs the benchmark {name}
    ///
    /// Its result is in the file {out}, or else what it prints, in a format that `bytelab import`
    /// reads. {tree} is the folder of the side, and {ms} for how long it should run.
    #[arg(long, value_name = "COMMAND", requires = "suite_list", hide_short_help = true)]
    #[arg(conflicts_with_all = ["baseline", "absolute"])]
    pub(super) suite_command: Option<String>,
    /// The command that prints the names of all benchmarks, a line each
    #[arg(long, value_name = "COMMAND", requires = "suite_command", hide_short_help = true)]
    suite_list: Option<String>,
    /// Run this in each tree before its benchmarks are built
    #[arg(long, value_name = "COMMAND", requires = "SuiteKind", hide_short_help = true)]
    suite_build: Option<String>,
    /// Further words for `cargo bench`, `go test` or pytest, such as '--features simd'
    #[arg(long = "suite-args", value_name = "WORDS", requires = "suite", hide_short_help = true)]
    #[arg(allow_hyphen_values = true)]
    harness_args: Option<String>,
    /// The old side of the suite: a revision, another folder, or a benchmark program
    ///
    /// A path that exists wins over a revision. A program is one that cargo or go has built for
    /// these benchmarks; it is compared with that of the same target or package here.
    #[arg(long, value_name = "REV|FOLDER|PROGRAM", requires = "SuiteKind")]
    against: Option<String>,
    /// Only benchmarks with this name; * stands for any text
    #[arg(long, value_name = "PATTERN", requires = "SuiteKind", hide_short_help = true)]
    filter: Vec<String>,
    /// Time for all sessions, without the builds [default: 10m]
    #[arg(long, requires = "SuiteKind", value_parser = humantime::parse_duration)]
    time: Option<Duration>,
    /// About how long a benchmark runs in one process [default: 100ms]
    #[arg(long, value_name = "TIME", requires = "SuiteKind", hide_short_help = true)]
    #[arg(value_parser = humantime::parse_duration)]
    each: Option<Duration>,
    /// Check this suite against itself, for this time
    ///
    /// Runs as many checks as the time allows, each with two fresh copies of the build and for as
    /// long as --time says, and prints how many failed and how small a slowdown they would find.
    #[arg(long, value_name = "TIME", requires = "SuiteKind", conflicts_with = "against")]
    #[arg(value_parser = humantime::parse_duration)]
    prove: Option<Duration>,
    /// Profile both sides of this benchmark after the check, and name the functions that differ
    ///
    /// Six to twenty more runs of each side, which are in no session and not part of --time. The
    /// name is that of the result; the flame graph is on the page of `bytelab report`.
    #[arg(long, value_name = "NAME", requires = "SuiteKind", hide_short_help = true)]
    #[arg(conflicts_with = "prove")]
    why: Option<String>,
    /// Write the result as JUnit's XML
    #[arg(long, value_name = "FILE", requires = "SuiteKind", hide_short_help = true, value_parser = path())]
    #[arg(conflicts_with = "prove")]
    junit: Option<PathBuf>,
    /// Write the times of the new side in Bencher's format
    #[arg(long, value_name = "FILE", requires = "SuiteKind", hide_short_help = true, value_parser = path())]
    #[arg(conflicts_with = "prove")]
    bmf: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SuiteKind {
    Cargo,
    Pytest,
    Go,
}

impl SuiteArgs {
    /// Whether a suite is to be checked.
    pub(super) fn is_given(&self) -> bool {
        self.suite.is_some() || self.suite_command.is_some()
    }

    fn harness(&self) -> Result<Box<dyn Harness>> {
        let args = self.harness_args.as_deref().unwrap_or_default();
        let args = shlex::split(args).context("--suite-args: a quote is not closed")?;
        Ok(match (self.suite, &self.suite_command, &self.suite_list) {
            (Some(SuiteKind::Cargo), ..) => Box::new(cargo::Cargo::new(args)),
            (Some(SuiteKind::Pytest), ..) => Box::new(pytest::Pytest { args }),
            (Some(SuiteKind::Go), ..) => Box::new(go::Go { args }),
            (None, Some(command), Some(list)) => {
                Box::new(command::CommandSuite { command: command.clone(), list: list.clone() })
            }
            _ => bail!("--suite names no kind"),
        })
    }

    fn harness_run(&self, work: &Path, stop: &Stop) -> HarnessRun {
        let mut run = HarnessRun::new(work.join("out"), self.each.unwrap_or(EACH), stop);
        run.filter.clone_from(&self.filter);
        run
    }

    fn time_ns(&self) -> u64 {
        self.time.unwrap_or(TIME).as_nanos().try_into().unwrap_or(u64::MAX)
    }

    fn is_chosen(&self, name: &str) -> bool {
        self.filter.is_empty() || self.filter.iter().any(|one| pattern::matches(one, name))
    }
}

pub(super) fn run(
    args: &SuiteArgs,
    gate: &GateArgs,
    keep: &KeepArgs,
    context: &Context,
) -> Result<ExitCode> {
    ensure!(keep.push.is_none(), "--push: not for a suite; bytelab push ID sends its run");
    ensure!(!gate.dry_run, "--dry-run: not for a suite; --prove says what would be found");
    let percent = match &gate.allow[..] {
        [] => ALLOWED_PERCENT,
        [only] if only.metric == WALL => only.percent,
        _ => bail!("--allow: in a suite only the time has a limit, as in wall=5%"),
    };
    let each_ns = args.each.unwrap_or(EACH).as_nanos();
    ensure!(
        each_ns < u128::from(RUN_LIMIT_NS),
        "--each: no process of a benchmark may run for 10 minutes"
    );
    let stop = Stop::on_signals()?;
    let checked = match args.prove {
        Some(time) => prove::run(args, gate, percent, time, &stop),
        None => check(args, gate, keep, percent, context, &stop),
    };
    match (checked, exit::of_signal(&stop)) {
        (_, Some(stopped)) => Ok(stopped),
        (checked, None) => checked,
    }
}

fn check(
    args: &SuiteArgs,
    gate: &GateArgs,
    keep: &KeepArgs,
    percent: f64,
    context: &Context,
    stop: &Stop,
) -> Result<ExitCode> {
    let against = args.against.as_deref();
    let against = against.context("--against: name the old side, a revision or a folder")?;
    let harness = args.harness()?;
    let junit = output_file("--junit", args.junit.as_deref())?;
    let bmf = output_file("--bmf", args.bmf.as_deref())?;
    let store = (!keep.no_store).then(|| context.open_store()).transpose()?;
    let sides = SuiteSides::new(against, &*harness, stop)?;
    let work = work_folder()?;
    let (started, started_ns) = (clock::utc_rfc3339(), clock::now_ns());
    let found = FoundSuite::find(args, &*harness, &sides, &work.path, stop).and_then(|found| {
        // Where all programs are the same, there is no difference to explain.
        let name = args.why.as_deref().filter(|_| !found.suite.benchmarks.is_empty());
        let why = name.map(|name| why::find(&found.suite, name)).transpose()?;
        Ok((found, why))
    });
    let (found, why) = match found {
        Ok(found) => found,
        Err(error) if stop.signal().is_none() => return Ok(exit::of_failure(&error)),
        Err(error) => return Err(error),
    };
    let suite = &found.suite;
    let orphans = Orphans::adopt();
    let run = args.harness_run(&work.path, stop);
    let measured = measure_gate(suite, run, args, percent, &work.path);
    drop(orphans);
    if stop.signal().is_some() {
        return measured.map(|_| ExitCode::SUCCESS);
    }
    let measured = match measured {
        Ok(measured) => measured,
        Err(error) => return Ok(exit::of_failure(&error)),
    };
    let mut report = report(&found, &sides, &measured, percent);
    let mut profile = None;
    if (store.is_some() || why.is_some()) && !suite.benchmarks.is_empty() {
        let benchmarks = suite.benchmarks.iter().zip(&measured.runs);
        let stored = SuiteRun {
            sides: &sides,
            benchmarks: benchmarks
                .map(|(benchmark, runs)| (suite.label(benchmark), &*benchmark.name, runs))
                .collect(),
            label: keep.label.clone().or_else(|| Some(format!("check against {against}"))),
            started,
            started_ns,
            time_limit_ns: args.time_ns(),
            seed: measured.seed,
        };
        let why = why.map(|index| WhyBenchmark {
            suite,
            index,
            runs: &measured.runs[index],
            each: args.each.unwrap_or(EACH),
            work: &work.path,
        });
        profile = keep_run(&stored, why.as_ref(), store, &mut report, stop)?;
    }
    if let Some(file) = junit {
        file.write(&report::suite::junit(&report))?;
    }
    if let Some(file) = bmf {
        file.write(&(report::suite::bmf(&report)? + "\n"))?;
    }
    conclude(&report, profile.as_ref(), gate)
}

/// Stores the run of the check with the profile of `--why`, which is returned. What was measured
/// for minutes has its verdict, also if the disk is full.
fn keep_run(
    stored: &SuiteRun<'_>,
    why: Option<&WhyBenchmark<'_>>,
    store: Option<Box<dyn Store>>,
    report: &mut SuiteReport,
    stop: &Stop,
) -> Result<Option<Profile>> {
    let not_stored = |error: &Error| note(&format!("the run is not stored: {error:#}"));
    let mut run = match stored.run(stop) {
        Ok(run) => run,
        Err(error) => {
            not_stored(&error)?;
            return Ok(None);
        }
    };
    if let Some(why) = why {
        why.profile(&mut run, stop)?;
        report.why = analyze(&run).why;
    }
    match store.map(|mut store| store.add(&run)).transpose() {
        Ok(id) => report.run = id,
        Err(error) => not_stored(&error)?,
    }
    Ok(run.plan.profile)
}

/// Prints the result and returns the exit status.
fn conclude(report: &SuiteReport, profile: Option<&Profile>, gate: &GateArgs) -> Result<ExitCode> {
    let text = if gate.json {
        report::suite::json(report)? + "\n"
    } else {
        let causes = profile.map(|found| report::suite::causes(found, &report.why, &layout()));
        report::suite::text(report, &layout()) + &causes.unwrap_or_default()
    };
    console::stdout().write_all(text.as_bytes())?;
    step_summary(&report::suite::markdown(report));
    Ok(match report.outcome {
        Outcome::Undecided if gate.undecided == Undecided::Ok => ExitCode::SUCCESS,
        outcome => exit::of_outcome(outcome),
    })
}

/// A file that is opened before anything is measured, to find out whether it can be written.
struct OutputFile {
    flag: &'static str,
    name: PathBuf,
    file: AtomicFile,
}

fn output_file(flag: &'static str, name: Option<&Path>) -> Result<Option<OutputFile>> {
    let create = |name: &Path| {
        let file = AtomicFile::create(name)
            .with_context(|| format!("{flag} {}: cannot be written", name.display()))?;
        Ok(OutputFile { flag, name: name.to_owned(), file })
    };
    name.map(create).transpose()
}

impl OutputFile {
    fn write(self, text: &str) -> Result<()> {
        let OutputFile { flag, name, file } = self;
        let written = file.file().write_all(text.as_bytes());
        written
            .map_err(anyhow::Error::from)
            .and_then(|()| file.finish())
            .with_context(|| format!("{flag} {}", name.display()))
    }
}

/// The folder of builds, copies and results.
fn work_folder() -> Result<TemporaryFolder> {
    TemporaryFolder::new_in(&std::env::temp_dir())
}

fn label(program: &str, name: &str) -> String {
    if program.is_empty() { name.to_owned() } else { format!("{program}: {name}") }
}

/// The chosen benchmarks of a program.
fn listed(
    harness: &dyn Harness,
    program: &SuiteProgram,
    run: &HarnessRun,
    args: &SuiteArgs,
) -> Result<Vec<String>> {
    let named = || format!("listing the benchmarks of {}", program.file.display());
    let mut names = harness.names(program, run).with_context(named)?;
    names.retain(|name| args.is_chosen(name));
    let mut known = std::collections::HashSet::new();
    names.retain(|name| known.insert(name.clone()));
    Ok(names)
}

/// The programs and benchmarks that are measured.
struct CheckedSuite<'a> {
    harness: &'a dyn Harness,
    /// Old and new of each program.
    programs: Vec<[SuiteProgram; 2]>,
    benchmarks: Vec<SuiteBenchmark>,
}

impl CheckedSuite<'_> {
    fn label(&self, benchmark: &SuiteBenchmark) -> String {
        label(&self.programs[benchmark.program][0].name, &benchmark.name)
    }
}

/// What both sides have, and what only one has.
struct FoundSuite<'a> {
    suite: CheckedSuite<'a>,
    same: Vec<String>,
    added: Vec<String>,
    gone: Vec<String>,
}

impl<'a> FoundSuite<'a> {
    /// Builds both sides and lists their benchmarks.
    fn find(
        args: &SuiteArgs,
        harness: &'a dyn Harness,
        sides: &SuiteSides,
        work: &Path,
        stop: &Stop,
    ) -> Result<FoundSuite<'a>> {
        let build = |side: &sides::SuiteSide, target: &str| {
            side.build(args.suite_build.as_deref(), harness, &work.join(target), stop)
        };
        let (old, new) = match &sides.old.program {
            None => (build(&sides.old, "target-a")?, build(&sides.new, "target-b")?),
            Some(file) => {
                let new = counterpart(file, &build(&sides.new, "target-b")?)?;
                (vec![SuiteProgram { file: file.clone(), ..new.clone() }], vec![new])
            }
        };
        let run = args.harness_run(work, stop);
        let list = |program: &SuiteProgram| listed(harness, program, &run, args);
        let suite = CheckedSuite { harness, programs: Vec::new(), benchmarks: Vec::new() };
        let (same, added, gone) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = FoundSuite { suite, same, added, gone };
        let mut digests = Digests::new(stop);
        for program in &new {
            let Some(old) = old.iter().find(|old| old.name == program.name) else {
                let names = list(program)?;
                found.added.extend(names.iter().map(|name| label(&program.name, name)));
                continue;
            };
            let pair = [old.clone(), program.clone()];
            if are_same(&pair, &mut digests)? {
                let is_whole = program.name.is_empty();
                found.same.push(if is_whole { "the suite".into() } else { program.name.clone() });
                continue;
            }
            found.add(pair, &list(old)?, list(program)?);
        }
        for program in &old {
            if new.iter().all(|new| new.name != program.name) {
                let names = list(program)?;
                found.gone.extend(names.iter().map(|name| label(&program.name, name)));
            }
        }
        let is_empty = found.suite.benchmarks.is_empty() && found.same.is_empty();
        ensure!(!is_empty, "no benchmark of this name is on both sides");
        Ok(found)
    }

    fn add(&mut self, pair: [SuiteProgram; 2], old: &[String], new: Vec<String>) {
        let program = self.suite.programs.len();
        let label = |name: &String| label(&pair[0].name, name);
        self.gone.extend(old.iter().filter(|name| !new.contains(name)).map(label));
        self.added.extend(new.iter().filter(|name| !old.contains(name)).map(label));
        let both = new.into_iter().filter(|name| old.contains(name));
        self.suite.benchmarks.extend(both.map(|name| SuiteBenchmark { program, name }));
        self.suite.programs.push(pair);
    }
}

/// A gate that has ended: both of its sets of sessions.
struct EndedGate {
    gate: SuiteGate,
    /// The second set, with the indices of its benchmarks.
    second: Option<(SuiteGate, Vec<usize>)>,
    /// What is slower in both sets.
    confirmed: Vec<usize>,
    runs: Vec<BenchmarkRuns>,
    seed: u64,
}

impl EndedGate {
    fn confirmed_mean(&self) -> Option<SuiteMean> {
        let is_red = self.gate.geometric_mean().is_some_and(|mean| mean.is_slower);
        self.second.as_ref().filter(|_| is_red)?.0.geometric_mean()
    }

    fn is_mean_confirmed(&self) -> bool {
        self.confirmed_mean().is_some_and(|mean| mean.is_slower)
    }
}

/// Measures the first set of sessions and, where something is red, a second one from programs that
/// are copied anew.
fn measure_gate(
    suite: &CheckedSuite<'_>,
    run: HarnessRun,
    args: &SuiteArgs,
    percent: f64,
    work: &Path,
) -> Result<EndedGate> {
    let CheckedSuite { harness, programs, benchmarks } = suite;
    let stop = run.stop.clone();
    let (seed, n) = (seed(), benchmarks.len());
    let mut gate = SuiteGate::new(n, percent);
    let mut measurer = SuiteMeasurer::new(*harness, run, benchmarks, seed);
    let end_ns = clock::now_ns().saturating_add(args.time_ns());
    let all: Vec<usize> = (0..n).collect();
    let copies = SuiteCopies::new(programs, work, &stop)?;
    let set = SessionSet {
        programs: &copies.programs,
        chosen: &all,
        most: &|_| usize::MAX,
        end_ns,
        keeps_time: true,
    };
    measurer.measure(&set, &mut gate)?;
    drop(copies);
    let red = gate.in_state(GateState::Slower);
    let is_mean_red = gate.geometric_mean().is_some_and(|mean| mean.is_slower);
    let hypotheses = red.len() + usize::from(is_mean_red);
    let (mut second, mut confirmed) = (None, Vec::new());
    if hypotheses > 0 {
        note(&format!("{hypotheses} slower in one set of sessions; a second must confirm it"))?;
        // The mean is that of all benchmarks at their first look.
        let failed = gate.in_state(GateState::Failed);
        let chosen: Vec<usize> = if is_mean_red {
            all.into_iter().filter(|i| !failed.contains(i)).collect()
        } else {
            red.clone()
        };
        let mut again = SuiteGate::confirming(chosen.len(), percent, hypotheses);
        let copies = SuiteCopies::new(programs, work, &stop)?;
        let set = SessionSet {
            programs: &copies.programs,
            chosen: &chosen,
            most: &|i| if red.contains(&chosen[i]) { usize::MAX } else { LOOKS[0] },
            end_ns,
            keeps_time: false,
        };
        measurer.measure(&set, &mut again)?;
        let slower = again.in_state(GateState::Slower).into_iter().map(|i| chosen[i]);
        confirmed = slower.filter(|i| red.contains(i)).collect();
        second = Some((again, chosen));
    }
    Ok(EndedGate { gate, second, confirmed, runs: measurer.runs, seed })
}

fn report(
    found: &FoundSuite<'_>,
    sides: &SuiteSides,
    ended: &EndedGate,
    percent: f64,
) -> SuiteReport {
    let faster = ended.gate.faster();
    let benchmarks = found.suite.benchmarks.iter().enumerate();
    let benchmarks: Vec<SuiteLine> =
        benchmarks.map(|(i, benchmark)| line(found, ended, &faster, i, benchmark)).collect();
    let any = |outcome| benchmarks.iter().any(|line| line.outcome == outcome);
    let is_mean_red = ended.gate.geometric_mean().is_some_and(|mean| mean.is_slower);
    let outcome = if any(Outcome::Slower) || ended.is_mean_confirmed() {
        Outcome::Slower
    } else if any(Outcome::Missing) {
        Outcome::Missing
    } else if any(Outcome::Undecided) || is_mean_red {
        Outcome::Undecided
    } else {
        Outcome::Ok
    };
    SuiteReport {
        outcome,
        old: sides.old.label.clone(),
        new: sides.new.label.clone(),
        run: None,
        allowed_percent: percent,
        benchmarks,
        geometric_mean: ended.gate.geometric_mean(),
        confirmed_mean: ended.confirmed_mean(),
        same_programs: found.same.clone(),
        added: found.added.clone(),
        gone: found.gone.clone(),
        why: Vec::new(),
    }
}

fn line(
    found: &FoundSuite<'_>,
    ended: &EndedGate,
    faster: &[usize],
    i: usize,
    benchmark: &SuiteBenchmark,
) -> SuiteLine {
    let runs = &ended.runs[i];
    let second = ended.second.as_ref().and_then(|(again, chosen)| {
        let at = chosen.iter().position(|chosen| *chosen == i)?;
        again.estimate(at)
    });
    let is_red = ended.gate.state(i) == GateState::Slower;
    let (outcome, reason) = match ended.gate.state(i) {
        // It may have failed later, between the sessions of another one.
        GateState::Slower if ended.confirmed.contains(&i) => (Outcome::Slower, None),
        _ if runs.failure.is_some() => (Outcome::Missing, runs.failure.clone()),
        GateState::Slower => {
            let why = "slower in one set of sessions, and not confirmed by a second";
            (Outcome::Undecided, Some(why.to_owned()))
        }
        _ if faster.contains(&i) => (Outcome::Faster, None),
        GateState::Ok => (Outcome::Ok, None),
        GateState::Open | GateState::Failed => (Outcome::Undecided, None),
    };
    let [old, new] = [0, 1].map(|side| runs.of_side(side));
    let least = new.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = new.iter().copied().fold(0.0, f64::max);
    SuiteLine {
        program: found.suite.programs[benchmark.program][0].name.clone(),
        name: benchmark.name.clone(),
        outcome,
        estimate: ended.gate.estimate(i),
        confirmed: second.filter(|_| is_red),
        old_ns: middle(&old),
        new_ns: middle(&new),
        new_range_ns: (!new.is_empty()).then_some((least, largest)),
        seconds: runs.spent_ns as f64 / 1e9,
        reason,
    }
}
