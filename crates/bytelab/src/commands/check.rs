//! `bytelab check`: measures a baseline's methods again, or a method and its old side in the same
//! rounds. The check fails if a method got slower than allowed and a second run confirms it.

use std::collections::{BTreeMap, HashSet};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::{
    Allowed, Check, Checked, DetectableEffect, Outcome, ROUNDS, SESSIONS, check, check_pairs,
    detectable_effects, detectable_effects_of_pairs,
};
use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, ValueEnum};
use experiments::custom::LoadedExperiment;
use experiments::{Catalogue, custom};
use measure::MeasureJob;
use measure::experiment::{BaselineSide, Data, Ending, Execution, Experiment, MakeData, Method};
use measure::launch::{Launch, Launcher, RunError, Stop};
use model::param::Point;
use model::path_text::{from_path, to_path};
use model::run::{MeasuredRevision, OLD_SUFFIX, Plan, Role, Run};
use store::Store;

use super::comparing::{allowed, ensure_once};
use super::likeness::{self, DeclaredMethod, Likeness};
use super::measure_args::{KeepArgs, MOST_ROUNDS, MOST_SESSIONS};
use super::program_file::Digests;
use super::suite::{self, SuiteArgs};
use super::warn_if_unoptimised;
use super::{Context, exit, layout, note, readable, run_id};
use crate::console;
use crate::measuring::{
    self, RunRequest, TimeLimit, WhyOutput, choose, launcher, measure_new, plan,
};

/// Advice to measure old and new in the same rounds.
const BESIDE: &str = "Old and new in the same rounds decides more, and needs no baseline:
  bytelab check FILE.toml --against OLD.toml --allow wall=5%
  bytelab check FILE.toml --against old=PATH,new=PATH --allow wall=5%
  bytelab check EXPERIMENT --against OLD_BYTELAB --allow wall=5%
  bytelab check --suite cargo --against main
The second puts PATH in for {program} in the commands of FILE.toml; the third takes the built-in
methods of another bytelab. `bytelab check EXPERIMENT --help` has their flags.";

/// The help of `--data-dir`, which differs from that of other subcommands.
const DATA_DIR: &str =
    "Where generated data is kept [default: the directory that the baseline used]";

/// The flags that name a suite, which needs no baseline.
const SUITE_KINDS: [&str; 2] = ["suite", "suite_command"];

#[derive(Args)]
#[command(after_help = format!("{BESIDE}\n\n{EXIT_STATUS}"))]
#[command(mut_arg("label", |arg| arg.help("A name for the runs, to find them again")))]
#[command(mut_arg("data_dir", |arg| arg.help(DATA_DIR)))]
#[command(mut_arg("no_store", |arg| arg.help("Do not keep the runs")))]
#[command(mut_arg("allow", |arg| arg.required(false).required_unless_present_any(SUITE_KINDS)))]
pub(crate) struct CheckArgs {
    /// The run: the name of a baseline (see `bytelab baseline`), its id or its label
    #[arg(long, value_name = "ID|NAME", required_unless_present_any = SUITE_KINDS)]
    baseline: Option<String>,
    #[command(flatten)]
    gate: GateArgs,
    /// Compare absolute times, not times relative to the reference in the same rounds
    #[arg(long)]
    absolute: bool,
    #[command(flatten)]
    keep: KeepArgs,
    #[command(flatten)]
    suite: Box<SuiteArgs>,
    /// Set if an experiment is named instead of a baseline.
    #[arg(skip)]
    pub(crate) against: Option<(AgainstArgs, RunRequest)>,
}

pub(crate) fn run(mut args: CheckArgs, context: &Context) -> Result<ExitCode> {
    warn_if_unoptimised();
    match args.against.take() {
        Some((against, request)) => run_against(&against, request, context),
        None if args.suite.is_given() => suite::run(&args.suite, &args.gate, &args.keep, context),
        None => again(&args, context),
    }
}

/// Measures the baseline's methods again.
fn again(args: &CheckArgs, context: &Context) -> Result<ExitCode> {
    let gate = &args.gate;
    ensure_once("--allow", &gate.allow)?;
    let mut store = context.open_store()?;
    let name = args.baseline.as_deref().context("--baseline names no run")?;
    let baseline = baseline(&mut *store, name)?;
    let before = before(&mut *store, &baseline)?;
    let request = Check {
        baseline: &baseline,
        now: &[],
        before: &before,
        allowed: &gate.allow,
        absolute: args.absolute,
    };
    if gate.dry_run {
        let found = detectable_effects(&request);
        return print_report(&if gate.json {
            report::check::detectable_effects_json(&found)? + "\n"
        } else {
            report::check::detectable_effects(&found, &layout())
        });
    }
    let stop = Stop::on_signals()?;
    let mut now: Vec<Run> = Vec::new();
    let label = args.keep.label.clone().unwrap_or_else(|| format!("check of {name}"));
    let checked = loop {
        let push_to = args.keep.push.clone();
        let keep = !args.keep.no_store;
        let store = keep.then(|| context.local_store(push_to)).transpose()?;
        let (known, dir) = (&context.experiments, args.keep.data_dir.clone());
        let measured = measuring::repeat(known, &baseline, &label, dir, store, &stop);
        if let Some(stopped) = exit::of_signal(&stop) {
            return Ok(stopped);
        }
        now.push(measured?);
        let checked = check(&Check { now: &now, ..request });
        if is_enough(&now, &checked)? {
            break checked;
        }
    };
    let against = report::check::CheckBaseline::Baseline { name, id: &baseline.id };
    conclude(gate, against, Some(&baseline), &now, &checked)
}

/// Finds a run by its name, then by its id: a name was chosen in order to be used.
fn baseline(store: &mut dyn Store, name: &str) -> Result<Run> {
    let named = store.baselines()?.into_iter().find(|baseline| baseline.name == name);
    let id = named.map_or_else(|| run_id(store, name), |baseline| Ok(baseline.id));
    let id = id.map_err(|error| {
        if name == store::LATEST || name.parse::<u64>().is_ok() {
            return error;
        }
        anyhow::anyhow!("no baseline {name:?} (`bytelab baseline list` shows all); {error}")
    })?;
    let run = store.load(&id)?;
    ensure_repeatable(&run)?;
    Ok(run)
}

pub(super) fn ensure_repeatable(run: &Run) -> Result<()> {
    if let Some(by) = &run.plan.imported {
        bail!(
            "run {} was measured by {}, which bytelab cannot do again",
            run.id,
            by.tool.escape_debug()
        );
    }
    ensure!(
        MeasuredRevision::from_facts(&run.environment.facts).is_empty(),
        "run {} measured revisions by --rev, which cannot be measured again: use bench --rev",
        run.id
    );
    ensure!(
        run.complete,
        "run {} is not complete and cannot be a baseline; go on with: bytelab run --resume {}",
        run.id,
        run.id
    );
    let plan = &run.plan;
    // For commands, each round is a session. Rounds are distributed to sessions as whole numbers.
    let most = [
        (
            "rounds",
            i64::from(plan.rounds).saturating_mul(plan.sessions.into()),
            MOST_ROUNDS + MOST_SESSIONS,
        ),
        ("rounds that warm up", plan.warm_up.into(), MOST_SESSIONS),
        ("samples that count", plan.counting.into(), MOST_SESSIONS),
    ];
    for (what, n, most) in most {
        ensure!(
            n <= most,
            "run {} has {n} {what}, which is more than bytelab measures ({most})",
            run.id
        );
    }
    Ok(())
}

/// The newest complete runs of the same job on the baseline's machine, the oldest first.
fn before(store: &mut dyn Store, baseline: &Run) -> Result<Vec<Run>> {
    let (experiment, machine) = (&baseline.experiment, &baseline.environment.fingerprint);
    let mut runs = newest(store, experiment, machine, &baseline.plan)?;
    // Runs in which other methods ran in the same rounds are left out.
    runs.retain(|run| !run.cells.iter().any(|cell| cell.method.ends_with(OLD_SUFFIX)));
    Ok(runs)
}

// The limits of a check, the past runs that it uses, and its exit status.

/// At most this many of the newest runs are used to estimate how much runs differ.
const BEFORE_MAX: usize = 20;

/// The flags that both forms of a check share.
#[derive(Args)]
pub(crate) struct GateArgs {
    /// By how much a metric may get worse: wall=5%, cpu=3%, rss, syscalls, allocations, throughput,
    /// or the full name of another; may be repeated
    #[arg(long, value_name = "METRIC=N%", required = true, value_delimiter = ',', value_parser = allowed)]
    pub(super) allow: Vec<Allowed>,
    /// Exit status of a check that is undecided: 4, or 0
    #[arg(long, value_name = "WORD", value_enum, default_value = "fail")]
    pub(super) undecided: Undecided,
    /// Measure nothing: print which slowdown would be found with a probability of 80 %, computed
    /// from the stored runs
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Undecided {
    Ok,
    Fail,
}

const EXIT_STATUS: &str = "\
Exit status: 0 nothing is slower than allowed; 1 something did not run, answers differ, or both
sides are one program; 2 wrong use; 3 slower; 4 undecided, unless --undecided ok is given.";

/// Whether no second run is needed; prints a message if one is.
fn is_enough(now: &[Run], checked: &Checked) -> Result<bool> {
    let settled = [Outcome::Ok, Outcome::Faster, Outcome::Missing];
    let enough = now.len() > 1 || settled.contains(&checked.outcome);
    if !enough {
        writeln!(console::stderr(), "bytelab: {}", why_again(checked))?;
    }
    Ok(enough)
}

fn why_again(checked: &Checked) -> &'static str {
    if checked.lines.iter().any(|line| line.is_unconfirmed) {
        "slower in one run; a second must confirm it"
    } else {
        "undecided in one run; a second may decide it"
    }
}

/// Prints the result and returns the exit status.
fn conclude(
    gate: &GateArgs,
    against: report::check::CheckBaseline<'_>,
    baseline: Option<&Run>,
    now: &[Run],
    checked: &Checked,
) -> Result<ExitCode> {
    let busy = |run: &Run| Some(format!("run {}: {}", run.id, report::noise(run)?));
    let busy = baseline.into_iter().chain(now).filter_map(busy).collect();
    let runs = now;
    let now = now.iter().map(|run| run.id.as_str()).collect();
    let sides = report::check::Sides { against, now, busy };
    let text = if gate.json {
        report::check::json(&sides, checked)? + "\n"
    } else {
        let causes = report::check::causes(runs, checked, &layout());
        report::check::text(&sides, checked, &layout()) + &causes
    };
    console::stdout().write_all(text.as_bytes())?;
    step_summary(&report::check::markdown(&sides, checked));
    Ok(match checked.outcome {
        Outcome::Undecided if gate.undecided == Undecided::Ok => ExitCode::SUCCESS,
        outcome => exit::of_outcome(outcome),
    })
}

fn print_report(text: &str) -> Result<ExitCode> {
    console::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The newest complete runs of an experiment on a machine, with samples taken in the same way; the
/// oldest first.
fn newest(store: &mut dyn Store, experiment: &str, machine: &str, plan: &Plan) -> Result<Vec<Run>> {
    let same = |run: &&model::run::Listed| {
        run.complete && run.experiment == experiment && run.machine.fingerprint == machine
    };
    let listed = store.list()?;
    let newest = listed.iter().rev().filter(same).take(BEFORE_MAX);
    let mut runs = readable(newest, |run| store.load(&run.id))?;
    runs.reverse();
    let conditions =
        |plan: &Plan| (plan.cache, plan.fresh, plan.memory_limit_bytes, plan.medium.clone());
    runs.retain(|run| conditions(&run.plan) == conditions(plan));
    Ok(runs)
}

/// GitHub shows the content of this file with the job. A failure to write it does not fail the
/// check.
pub(super) fn step_summary(markdown: &str) {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return;
    };
    let file = OpenOptions::new().append(true).create(true).open(&path);
    if let Err(error) = file.and_then(|mut file| file.write_all(markdown.as_bytes())) {
        let path = path.display();
        let _ = writeln!(console::stderr(), "bytelab: GITHUB_STEP_SUMMARY {path}: {error}");
    }
}

// `bytelab check EXPERIMENT --against OLD`: measures old and new in the same rounds, with a
// fixed design.

#[derive(Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct AgainstArgs {
    /// The old side: for a file, OLD.toml, or old=PATH,new=PATH for `{program}` in its commands;
    /// for a built-in experiment, another bytelab. Both are measured in 10 sessions of 5 rounds or
    /// more; plain commands in 50 sessions of one round
    #[arg(long, value_name = "OLD", required = true)]
    against: String,
    #[command(flatten)]
    gate: GateArgs,
}

fn run_against(args: &AgainstArgs, request: RunRequest, context: &Context) -> Result<ExitCode> {
    ensure_once("--allow", &args.gate.allow)?;
    let request = fixed(request)?;
    let mut plan = plan(&request)?;
    let stop = Stop::on_signals()?;
    let sides = two_sides(args, &request, &context.experiments, &stop);
    if let Some(stopped) = exit::of_signal(&stop) {
        return Ok(stopped);
    }
    let mut sides = sides?;
    let mut methods = both(&sides, &request)?;
    if let Some(program) = sides.program.take() {
        let named = named_with(&sides.experiment.methods, &program);
        sides.rename(named);
        rename(&mut methods, named);
        let thresholds = plan.definition.iter_mut().flat_map(|own| &mut own.thresholds);
        thresholds.flat_map(|threshold| &mut threshold.methods).for_each(named);
    }
    if let Err(error) = sides.ensure_different(&methods) {
        return Ok(exit::of_failure(&error));
    }
    let experiment = sides.experiment;
    // A `{program}` that is replaced by a path is no longer a param.
    let declared = |name: &str| experiment.params.iter().any(|param| param.name == name);
    let points = request.points.into_iter().map(|point| point.only(declared)).collect();
    let points = experiment.points(points, &methods);
    if args.gate.dry_run {
        let mut store = context.open_store()?;
        let machine = measure::environment::capture(None).fingerprint;
        let past = newest(&mut *store, experiment.name, &machine, &plan)?;
        return show_detectable_effects(args, &past, &cells(&methods, &points), &plan);
    }
    let (keep, push_to) = (request.keep, request.push_to);
    let label = request.label.unwrap_or_else(|| format!("check against {}", args.against));
    let mut now: Vec<Run> = Vec::new();
    let checked = loop {
        let store = keep.then(|| context.local_store(push_to.clone())).transpose()?;
        let job =
            MeasureJob { experiment: &experiment, methods: methods.clone(), least_sessions: 0 };
        let plan = Plan { seed: plan.seed.wrapping_add(now.len() as u64), ..plan.clone() };
        let (points, label) = (points.clone(), Some(label.clone()));
        let new = Run { points, plan, label, ..Run::default() };
        let why = request.why.as_deref().map(WhyOutput::new).transpose()?;
        let measured = measure_new(job, new, store, why, &stop);
        if let Some(stopped) = exit::of_signal(&stop) {
            return Ok(stopped);
        }
        now.push(measured?);
        let checked = check_pairs(&now, &args.gate.allow);
        if is_enough(&now, &checked)? {
            break checked;
        }
    };
    let against = report::check::CheckBaseline::Old(&args.against);
    conclude(&args.gate, against, None, &now, &checked)
}

fn two_sides(
    args: &AgainstArgs,
    request: &RunRequest,
    known: &Catalogue,
    stop: &Stop,
) -> Result<TwoSides> {
    let file = request.definition.as_ref().map(|definition| definition.file.as_str());
    let against = Counterpart::parse(&args.against, file.is_some())?;
    match (&against, file) {
        (Counterpart::Bytelab(program), _) => of_bytelab(&request.experiment, program, stop),
        (against, file) => of_files(file.context("a file is needed")?, against, known, stop),
    }
}

/// What puts a program's name in the place of `{program}` in the name of one of these methods;
/// nothing does where two would have the same name.
fn named_with<'a>(methods: &[Method], program: &'a str) -> impl Fn(&mut String) + Copy + use<'a> {
    let named = |name: &str| name.replace(custom::NO_PROGRAM, program);
    let names: HashSet<String> = methods.iter().map(|method| named(&method.name)).collect();
    let program = (names.len() == methods.len()).then_some(program);
    move |name: &mut String| {
        if let Some(program) = program {
            *name = name.replace(custom::NO_PROGRAM, program);
        }
    }
}

fn rename(methods: &mut [Method], named: impl Fn(&mut String)) {
    for method in methods {
        named(&mut method.name);
        if let Execution::Baseline { side, .. } = &mut method.execution {
            named(&mut side.name);
        }
    }
}

/// The chosen methods, each with its old side.
fn both(sides: &TwoSides, request: &RunRequest) -> Result<Vec<Method>> {
    let TwoSides { experiment, without_old, .. } = sides;
    if let Some(name) = request.methods.iter().find(|name| without_old.contains(*name)) {
        anyhow::bail!("--method {name}: it has no old side to be compared with");
    }
    ensure!(!experiment.methods.is_empty(), "{}: no method has an old side", experiment.name);
    if !without_old.is_empty() && request.methods.is_empty() {
        let names = without_old.join(", ");
        writeln!(console::stderr(), "bytelab: left out, as without an old side: {names}")?;
    }
    let chosen = choose(experiment, request)?;
    let is_chosen = |method: &&Method| {
        let name = method.name.strip_suffix(OLD_SUFFIX).unwrap_or(&method.name);
        chosen.iter().any(|chosen| chosen.name == name)
    };
    Ok(experiment.methods.iter().filter(is_chosen).cloned().collect())
}

/// The request with a fixed number of sessions and rounds: looking at results early and then
/// measuring on increases the rate of false alarms.
fn fixed(request: RunRequest) -> Result<RunRequest> {
    let sessions = request.sessions.unwrap_or(SESSIONS);
    let least = SESSIONS * ROUNDS;
    let rounds = request.rounds.unwrap_or(least);
    ensure!(
        sessions >= SESSIONS && rounds >= least,
        "check --against takes {SESSIONS} sessions and {least} rounds or more: --sessions and --rounds can make it \
         larger, not smaller"
    );
    let rounds = Some(rounds.max(sessions * ROUNDS));
    Ok(RunRequest { sessions: Some(sessions), rounds, time: TimeLimit::Unlimited, ..request })
}

/// The new methods and the points at which each would be measured.
fn cells(methods: &[Method], points: &[Point]) -> Vec<(String, Point)> {
    let mut cells: Vec<(String, Point)> = Vec::new();
    for method in methods.iter().filter(|method| !method.name.ends_with(OLD_SUFFIX)) {
        for point in points.iter().filter(|point| method.competes_at(point)) {
            let cell = (method.name.clone(), point.only(|name| method.reads.contains(&name)));
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
    }
    cells
}

fn show_detectable_effects(
    args: &AgainstArgs,
    past: &[Run],
    cells: &[(String, Point)],
    plan: &Plan,
) -> Result<ExitCode> {
    let found: Vec<DetectableEffect> =
        detectable_effects_of_pairs(past, cells, &args.gate.allow, (plan.sessions, plan.rounds));
    print_report(&if args.gate.json {
        report::check::detectable_effects_json(&found)? + "\n"
    } else {
        report::check::detectable_effects(&found, &layout())
    })
}

// Old and new as one experiment: each method is paired with its old side, which is from another
// file, another program or another bytelab.

/// The old side that `--against` names.
enum Counterpart<'a> {
    /// Another file that declares the same methods.
    File(&'a str),
    /// The program that replaces `{program}` on each side.
    Programs { old: PathBuf, new: PathBuf },
    /// Another bytelab.
    Bytelab(PathBuf),
}

impl<'a> Counterpart<'a> {
    /// `is_file`: a file is checked, not a built-in experiment.
    fn parse(text: &'a str, is_file: bool) -> Result<Counterpart<'a>> {
        if !is_file {
            return Ok(Counterpart::Bytelab(existing(text)?));
        }
        if !text.starts_with("old=") && !text.starts_with("new=") {
            ensure!(
                custom::is_file_name(text),
                "--against {text}: name the old FILE.toml, or old=PATH,new=PATH; for a revision, \
                 make a checkout of it: git worktree add ../old {text}"
            );
            return Ok(Counterpart::File(text));
        }
        // A path may contain a comma.
        let is_old_first = text.starts_with("old=");
        let (first, second) = text[4..]
            .split_once(if is_old_first { ",new=" } else { ",old=" })
            .with_context(|| format!("--against {text}: write old=PATH,new=PATH"))?;
        let (old, new) = if is_old_first { (first, second) } else { (second, first) };
        Ok(Counterpart::Programs { old: existing(old)?, new: existing(new)? })
    }
}

/// The absolute path of an existing file.
fn existing(path: &str) -> Result<PathBuf> {
    let absolute =
        std::path::absolute(to_path(path)).with_context(|| format!("--against {path}"))?;
    std::fs::metadata(&absolute).with_context(|| format!("--against {path}"))?;
    Ok(absolute)
}

/// The experiment of old and new.
struct TwoSides {
    /// Each new method, directly followed by its old side.
    experiment: Experiment,
    /// New methods without an old side.
    without_old: Vec<String>,
    /// How much the sides of the new methods are alike.
    likeness: BTreeMap<String, Likeness>,
    /// What both sides have if they are the same, and what to do then.
    same: String,
    /// The name of the new program, in whose place `{program}` stands in names of methods.
    program: Option<String>,
}

impl TwoSides {
    fn rename(&mut self, named: impl Fn(&mut String)) {
        rename(&mut self.experiment.methods, &named);
        let of_method = |(mut name, likeness): (String, Likeness)| {
            named(&mut name);
            (name, likeness)
        };
        self.likeness = std::mem::take(&mut self.likeness).into_iter().map(of_method).collect();
    }

    /// Fails if both sides of all of these methods are one file; notes those that are equal.
    fn ensure_different(&self, methods: &[Method]) -> Result<()> {
        let new = methods.iter().map(|method| method.name.as_str());
        let new: Vec<&str> = new.filter(|name| !name.ends_with(OLD_SUFFIX)).collect();
        let of = |likeness: Likeness| -> Vec<&str> {
            let is_like = |name: &&str| self.likeness.get(*name) == Some(&likeness);
            new.iter().copied().filter(is_like).collect()
        };
        let (same, equal) = (of(Likeness::Same), of(Likeness::Equal));
        ensure!(same.len() < new.len(), "old and new are {}", self.same);
        if !same.is_empty() {
            note(&format!(
                "{}: old and new are the same, and any difference is chance",
                same.join(", ")
            ))?;
        }
        if !equal.is_empty() {
            note(&format!(
                "{}: the programs of old and new have equal bytes, and the same arguments",
                equal.join(", ")
            ))?;
        }
        Ok(())
    }
}

/// How to measure one program on both sides on purpose.
const COPY: &str = "name another one (a copy of it is measured, too)";

/// How much the sides of each method are alike, and what both have if they are the same.
fn likenesses(
    new: &LoadedExperiment,
    old: &LoadedExperiment,
    against: &Counterpart<'_>,
    stop: &Stop,
) -> (BTreeMap<String, Likeness>, String) {
    let mut digests = Digests::new(stop);
    let names = new.experiment.methods.iter().map(|method| method.name.clone());
    if let Counterpart::Programs { old, new } = against {
        let likeness = likeness::of_programs([new, old], &mut digests);
        let same = format!("the same file, {}: nothing is compared; {COPY}", new.display());
        return (names.map(|name| (name, likeness)).collect(), same);
    }
    let of_method = |method: &Method| {
        let found = old.experiment.methods.iter().find(|old| old.name == method.name)?;
        let [new, old] =
            [(method, new), (found, old)].map(|(method, file)| DeclaredMethod { method, file });
        Some((method.name.clone(), likeness::of_method(&new, &old, &mut digests)))
    };
    let all = new.experiment.methods.iter().filter_map(of_method).collect();
    let dir = new.experiment.dir.clone().unwrap_or_default();
    let same = format!(
        "the same file in the same folder, {}: nothing is compared; leave out `dir` in the \
         files, so that each side runs in its own folder, or name two programs: --against \
         old=PATH,new=PATH",
        dir.display()
    );
    (all, same)
}

/// The two sides from two files, or from one file with two programs.
fn of_files(
    file: &str,
    against: &Counterpart<'_>,
    known: &Catalogue,
    stop: &Stop,
) -> Result<TwoSides> {
    let load = |path: &str, program: Option<&PathBuf>| match program {
        None => known.load(&to_path(path)),
        Some(program) => {
            let program = from_path(program);
            custom::load_with(&to_path(path), &(known.reserved_names)(), &program)
        }
    };
    let (mut new, mut old) = match against {
        Counterpart::File(other) => (load(file, None)?, load(other, None)?),
        Counterpart::Programs { old, new } => (load(file, Some(new))?, load(file, Some(old))?),
        Counterpart::Bytelab(_) => bail!("{file} is no experiment of bytelab's own"),
    };
    if matches!(against, Counterpart::Programs { .. }) {
        for experiment in [&mut new.experiment, &mut old.experiment] {
            experiment.params.retain(|param| param.name != custom::PROGRAM);
            for method in &mut experiment.methods {
                method.reads.retain(|name| *name != custom::PROGRAM);
            }
        }
    }
    let params = &new.experiment.params;
    if let Some(param) =
        old.experiment.params.iter().find(|old| params.iter().all(|new| new.name != old.name))
    {
        bail!(
            "{} has a param {} and {file} has none: both must do the same job",
            old.definition.file,
            param.name
        );
    }
    let (likeness, same) = likenesses(&new, &old, against, stop);
    let Experiment { methods, data, dir, .. } = old.experiment;
    let of_method = |method: &Method| {
        let found = methods.iter().find(|old| old.name == method.name)?;
        let side = BaselineSide { name: found.name.clone(), program: None, dir: dir.clone() };
        Some(old_side(found, side))
    };
    let (both, without_old) = with_old_sides(new.experiment.methods, of_method);
    let data = both_data(new.experiment.data, data);
    let experiment = Experiment { methods: both, data, ..new.experiment };
    let program = match against {
        Counterpart::Programs { new, .. } => new.file_name(),
        _ => None,
    };
    let program = program.map(|name| from_path(Path::new(name)).into_owned());
    Ok(TwoSides { experiment, without_old, likeness, same, program })
}

/// The two sides of a built-in experiment, whose built-in methods another bytelab also has.
fn of_bytelab(name: &str, program: &Path, stop: &Stop) -> Result<TwoSides> {
    let experiment = experiments::by_name(name)?;
    let own = launcher(60_000_000_000, stop)?;
    let likeness = likeness::of_programs([&own.program, program], &mut Digests::new(stop));
    let mut launcher = Launcher { program: program.to_owned(), ..own };
    let mut broken = None;
    let of_method = |method: &Method| {
        let there = broken.is_none() && {
            let found = has(&mut launcher, name, method);
            found.unwrap_or_else(|error| {
                broken = Some(error);
                false
            })
        };
        let program = Some(program.to_owned());
        there.then(|| {
            old_side(method, BaselineSide { name: method.name.clone(), program, dir: None })
        })
    };
    // Only built-in methods: the others would be the same program on both sides.
    let built_in = experiment.methods.into_iter();
    let built_in =
        built_in.filter(|method| matches!(method.execution, Execution::BuiltIn(_))).collect();
    let (methods, without_old) = with_old_sides(built_in, of_method);
    if let Some(error) = broken {
        return Err(error);
    }
    ensure!(
        !methods.is_empty(),
        "--against {}: it has none of the methods of {name}",
        program.display()
    );
    let likeness = methods.iter().map(|method| (method.name.clone(), likeness)).collect();
    let same = format!("the same file, {}: nothing is compared; {COPY}", program.display());
    let experiment = Experiment { methods, ..experiment };
    Ok(TwoSides { experiment, without_old, likeness, same, program: None })
}

/// Whether the launcher's program has the method.
fn has(launcher: &mut Launcher, experiment: &str, method: &Method) -> Result<bool> {
    let program = launcher.program.display().to_string();
    let started = launcher.start(experiment, method, false).and_then(|mut worker| {
        worker.started()?;
        worker.bye();
        Ok(())
    });
    match started {
        Ok(()) => Ok(true),
        Err(RunError::Stopped) => bail!("stopped by a signal"),
        Err(RunError::Failed(why)) if why.contains("there is no method") => Ok(false),
        Err(RunError::Failed(why) | RunError::Skipped(why)) => {
            let version = measure::protocol::VERSION;
            bail!("--against {program}: as a worker of protocol {version} it cannot be used: {why}")
        }
    }
}

fn old_side(method: &Method, side: BaselineSide) -> Method {
    let execution = Execution::Baseline { execution: Box::new(method.execution.clone()), side };
    Method { name: format!("{}{OLD_SUFFIX}", method.name), execution, ..method.clone() }
}

/// The competing methods, each with its old side, and the names of those without an old side.
fn with_old_sides(
    methods: Vec<Method>,
    mut old: impl FnMut(&Method) -> Option<Method>,
) -> (Vec<Method>, Vec<String>) {
    let (mut both, mut without_old) = (Vec::new(), Vec::new());
    for method in methods.into_iter().filter(|method| method.role == Role::Contender) {
        match old(&method) {
            Some(old) => both.extend([method, old]),
            None => without_old.push(method.name),
        }
    }
    (both, without_old)
}

/// Makes separate data for each side, so that files made by the hook of one side do not affect the
/// other.
fn both_data(new: MakeData, old: MakeData) -> MakeData {
    Box::new(move |point, dir, stop| {
        let mut data = new(point, dir, stop)?;
        let Data { arguments, files, notes, ending, unfit, guard, .. } = old(point, dir, stop)?;
        data.old_arguments = Some(arguments);
        data.files.extend(files);
        data.files.dedup();
        data.notes.extend(notes);
        data.unfit = data.unfit.or(unfit);
        data.guard = Some(Box::new((data.guard, guard)));
        let (mut first, mut second) = (data.ending, ending);
        data.ending = Ending::new(move || {
            let ended = first.end();
            second.end()?;
            ended
        });
        Ok(data)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_named_by_file_or_by_program() {
        let of = |text: &str| match Counterpart::parse(text, true) {
            Ok(Counterpart::File(file)) => format!("file {file}"),
            Ok(Counterpart::Programs { old, new }) => {
                format!("{} {}", old.display(), new.display())
            }
            Ok(Counterpart::Bytelab(_)) => "bytelab".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        assert_eq!(of("b/old.toml"), "file b/old.toml");
        assert_eq!(of("old=/bin,new=/usr"), "/bin /usr");
        assert_eq!(of("new=/usr,old=/bin"), "/bin /usr");
        assert_eq!(of("old=/bin"), "--against old=/bin: write old=PATH,new=PATH");
        assert!(of("old").contains("name the old FILE.toml"), "{}", of("old"));
        assert!(of("old=/nowhere/a,new=/bin").contains("/nowhere/a: No such file"));
    }
}
