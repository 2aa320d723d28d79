//! `bytelab run`: what is asked becomes a job, the job is measured into the store, the run is shown.

mod choose;
mod record;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use lab::clock;
use lab::experiment::{Data, Experiment, Method};
use lab::launch::{Orphans, Stop};
use lab::measure::{Job, new_run, prepare_data};
use lab::metric;
use lab::param::Point;
use lab::run::{Definition, Plan, Role, Run, Warning};

use crate::cli::{Asked, MeasureArgs};
use crate::experiments::own;
use crate::owner;
use crate::progress::ProgressLine;
use crate::store::Store;
use crate::trace_file::TraceFile;
use crate::workers::{self, Toolchain};

pub(crate) use self::choose::choose;
use self::choose::{ensure_one_side, leave_out, methods_of};
use self::record::{Output, record};

/// A run, and whether all that it made was removed.
pub(crate) struct Measured {
    pub(crate) run: Run,
    pub(crate) tidy: bool,
}

/// Measures what is asked. The run is kept in the store while it grows, if there is one.
pub(crate) fn run(
    experiments: &[Experiment],
    asked: Asked,
    store: Option<Box<dyn Store>>,
    stop: &Stop,
) -> Result<Measured> {
    let experiment = find(experiments, &asked.experiment)?;
    let measuring = asked.measuring;
    let trace = measuring.trace.as_deref().map(TraceFile::create).transpose()?;
    let methods = choose(experiment, &measuring)?;
    let mut job = Job { experiment, methods };
    let mut plan = plan(&measuring)?;
    plan.definition = asked.definition;
    let line = ProgressLine::new();
    let mut points = experiment.points(asked.points, &job.methods);
    let competes = |method: &Method| points.iter().any(|point| method.competes_at(point));
    if measuring.methods.is_empty() && measuring.languages.is_empty() {
        workers::tell_left_out(experiment.methods.iter().filter(|method| competes(method)))?;
    }
    let notes = leave_out(experiment, &mut job.methods, &points, &measuring)?;
    ensure!(
        job.methods.iter().any(|method| method.role == Role::Contender),
        "none of the chosen methods does the chosen job; `bytelab list {}` tells which does",
        experiment.name
    );
    let orphans = Orphans::adopt();
    let data = data(&job, &mut points, &plan, &line, stop)?;
    let languages: Vec<_> = job.methods.iter().map(workers::language_of).collect();
    let toolchains = orphans.without(|| build_workers(&mut job.methods, &plan, &line, stop))?;
    let mut run = new_run(&job, points, plan, measuring.label);
    run.notes = notes;
    name_languages(&mut run, &job, &languages);
    let tidy = record(&job, &mut run, data, Output { store, line, trace, toolchains }, stop)?;
    Ok(Measured { run, tidy })
}

/// Goes on with a run that was stopped or killed.
pub(crate) fn resume(
    experiments: &[Experiment],
    id: &str,
    mut store: Box<dyn Store>,
    stop: &Stop,
) -> Result<Measured> {
    let mut run = store.load(id)?;
    ensure_one_side(&run)?;
    ensure!(!run.complete, "run {id} is complete: there is nothing to resume");
    ensure!(!owner::is_imported(&run.environment), "run {id} was imported: start a new one");
    ensure!(
        run.plan.metric_versions == metric::versions(),
        "run {id} was begun by a bytelab that defines its metrics in another way: start a new one"
    );
    let declared = run.plan.definition.as_ref().map(|old| same_file(old, id)).transpose()?;
    let experiment = match &declared {
        Some(declared) => &declared.experiment,
        None => find(experiments, &run.experiment)?,
    };
    if let Some(process) = owner::alive(&run.environment) {
        bail!("run {id} is being measured by process {process}: stop that first");
    }
    let methods = methods_of(experiment, &run)?;
    let line = ProgressLine::new();
    let mut job = Job { experiment, methods };
    let orphans = Orphans::adopt();
    let data = data(&job, &mut run.points, &run.plan, &line, stop)?;
    let toolchains = orphans.without(|| build_workers(&mut job.methods, &run.plan, &line, stop))?;
    note_other_toolchains(&mut run, &toolchains);
    owner::sign(&mut run.environment);
    store.finish(id, false, &run.environment, &run.notes)?;
    let output = Output { store: Some(store), line, trace: None, toolchains };
    let tidy = record(&job, &mut run, data, output, stop)?;
    Ok(Measured { run, tidy })
}

/// The experiment of a file that is as it was when the run began.
fn same_file(old: &Definition, id: &str) -> Result<own::Loaded> {
    let declared = own::load(Path::new(&old.file), &crate::cli::taken())
        .with_context(|| format!("run {id} was declared in a file that cannot be used now"))?;
    ensure!(
        declared.definition.text == old.text,
        "{} has changed since run {id} began: put it back, or start a new run",
        old.file
    );
    Ok(declared)
}

/// Measures once more what a run measured: its methods, at its points, by its plan.
pub(crate) fn again(
    experiments: &[Experiment],
    run: &Run,
    label: &str,
    dir: Option<PathBuf>,
    store: Option<Box<dyn Store>>,
    stop: &Stop,
) -> Result<Run> {
    ensure_one_side(run)?;
    let declared = run.plan.definition.as_ref().map(|old| same_file(old, &run.id)).transpose()?;
    let experiment = match &declared {
        Some(declared) => &declared.experiment,
        None => find(experiments, &run.experiment)?,
    };
    let job = Job { experiment, methods: methods_of(experiment, run)? };
    let mut plan = run.plan.clone();
    plan.seed = seed();
    // A file may name any directory.
    if dir.is_some() || plan.data_dir.is_none() || owner::is_imported(&run.environment) {
        plan.data_dir = Some(data_dir_text(dir)?);
    }
    whole(job, run.points.clone(), plan, label, store, stop)
}

/// A run without anything that is decided on the way.
pub(crate) fn whole(
    mut job: Job<'_>,
    mut points: Vec<Point>,
    plan: Plan,
    label: &str,
    store: Option<Box<dyn Store>>,
    stop: &Stop,
) -> Result<Run> {
    let line = ProgressLine::new();
    let orphans = Orphans::adopt();
    let data = data(&job, &mut points, &plan, &line, stop)?;
    let languages: Vec<_> = job.methods.iter().map(workers::language_of).collect();
    let toolchains = orphans.without(|| build_workers(&mut job.methods, &plan, &line, stop))?;
    let mut now = new_run(&job, points, plan, Some(label.to_owned()));
    name_languages(&mut now, &job, &languages);
    record(&job, &mut now, data, Output { store, line, trace: None, toolchains }, stop)?;
    Ok(now)
}

const BUILDING: &str = "building workers";

/// The programs that the methods need beside this one.
fn build_workers(
    methods: &mut [Method],
    plan: &Plan,
    line: &ProgressLine,
    stop: &Stop,
) -> Result<Vec<Toolchain>> {
    line.say(BUILDING);
    let dir = plan.data_dir.as_ref().context("the plan names no directory for the data")?;
    let tell = |text: &str| {
        line.clear();
        writeln!(io::stderr(), "bytelab: {text}")?;
        line.say(BUILDING);
        Ok(())
    };
    let built = workers::make_ready(methods, Path::new(dir), &tell, stop);
    line.clear();
    built
}

/// Also of cells that are skipped, whose workers never say hello.
fn name_languages(run: &mut Run, job: &Job<'_>, languages: &[Option<&str>]) {
    for (method, language) in job.methods.iter().zip(languages) {
        for cell in run.cells.iter_mut().filter(|cell| cell.method == method.name) {
            cell.language = language.map(str::to_owned);
        }
    }
}

fn note_other_toolchains(run: &mut Run, toolchains: &[Toolchain]) {
    for toolchain in toolchains {
        let then = run.environment.facts.get(&toolchain.fact()).and_then(|fact| fact.as_str());
        if let Some(then) = then.filter(|then| *then != toolchain.version) {
            let Toolchain { language, version, .. } = toolchain;
            let text = format!(
                "the run was resumed with another toolchain of {language} ({version}, before: {then}): do not \
                 trust differences between its sessions"
            );
            // A language may have several workers.
            let warning = Warning::noted(text);
            if !run.notes.contains(&warning) {
                run.notes.push(warning);
            }
        }
    }
}

fn data(
    job: &Job<'_>,
    points: &mut Vec<Point>,
    plan: &Plan,
    line: &ProgressLine,
    stop: &Stop,
) -> Result<Vec<Data>> {
    line.say("making or reading the data");
    let dir = plan.data_dir.as_ref().context("the plan names no directory for the data")?;
    let prepared = prepare_data(job.experiment, points, Path::new(dir), plan.cache, stop);
    line.clear();
    prepared
}

pub(crate) fn find<'a>(experiments: &'a [Experiment], name: &str) -> Result<&'a Experiment> {
    experiments.iter().find(|experiment| experiment.name == name).with_context(|| {
        let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name).collect();
        format!("there is no experiment {name}; there are {}", names.join(", "))
    })
}

/// Of a run that does not say how many; Student's interval needs them.
const LEAST_SESSIONS: u32 = 6;
/// Processes differ less than rounds do, and a session costs some rounds.
const ROUNDS_PER_SESSION: u32 = 5;

pub(crate) fn plan(measuring: &MeasureArgs) -> Result<Plan> {
    let data_dir = data_dir_text(measuring.data_dir.clone())?;
    let (sessions, rounds) = sessions(measuring.rounds, measuring.sessions);
    Ok(Plan {
        rounds,
        time_limit_ns: measuring.time.as_nanos() as u64,
        warm_up: measuring.warm_up,
        sessions,
        seed: measuring.seed.unwrap_or_else(seed),
        cache: measuring.cache.into(),
        sample_limit_ns: measuring.sample_limit.as_nanos() as u64,
        data_dir: Some(data_dir),
        counting: measuring.counting,
        fresh: measuring.fresh,
        ..Plan::default()
    })
}

/// How many sessions, and rounds of each, `rounds` are spread over: short sessions and many of them, as the session
/// is the unit of all comparisons, of which at least six are needed.
fn sessions(rounds: u32, sessions: Option<u32>) -> (u32, u32) {
    let rounds = rounds.max(1);
    if let Some(sessions) = sessions {
        let sessions = sessions.clamp(1, rounds);
        return (sessions, rounds.div_ceil(sessions));
    }
    let most = (rounds / LEAST_SESSIONS).clamp(1, ROUNDS_PER_SESSION);
    let of_each = (2..=most).rev().find(|n| rounds.is_multiple_of(*n)).unwrap_or(most);
    (rounds.div_ceil(of_each), of_each)
}

/// Not a secret: only different from run to run. It is stored as a number that JSON keeps exactly.
fn seed() -> u64 {
    clock::now_ns() & ((1 << 53) - 1)
}

fn data_dir_text(asked: Option<PathBuf>) -> Result<String> {
    Ok(data_dir(asked)?.to_str().context("--data-dir is not UTF-8")?.to_owned())
}

/// `--data-dir`, else the user's cache directory.
fn data_dir(asked: Option<PathBuf>) -> Result<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute())
    };
    let dir = asked
        .or_else(|| absolute("XDG_CACHE_HOME").map(|cache| cache.join("bytelab")))
        .or_else(|| absolute("HOME").map(|home| home.join(".cache/bytelab")))
        .context("no place for the data: neither HOME nor XDG_CACHE_HOME is set; name one with --data-dir")?;
    std::fs::create_dir_all(&dir).with_context(|| {
        format!("making {}; name another directory with --data-dir", dir.display())
    })?;
    std::path::absolute(&dir).with_context(|| format!("finding {}", Path::display(&dir)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_spread_over_short_sessions() {
        let of = |rounds| sessions(rounds, None);
        assert_eq!(of(100), (20, 5));
        assert_eq!(of(500), (100, 5));
        assert_eq!(of(20), (10, 2));
        assert_eq!(of(12), (6, 2));
        assert_eq!(of(7), (7, 1));
        assert_eq!(of(3), (3, 1));
        assert_eq!(of(0), (1, 1));
        // Some rounds more rather than a session of its own for each.
        assert_eq!(of(97), (20, 5));
        assert_eq!(sessions(100, Some(10)), (10, 10));
        assert_eq!(sessions(3, Some(10)), (3, 1));
    }
}
