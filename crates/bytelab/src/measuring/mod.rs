//! How a run is measured: what is requested is decided here; [`record`] prepares and records it.

mod plan;
mod prepare;
mod progress;
mod record;
mod run_lock;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use analysis::stats::LOOKS;
use anyhow::{Context, Result, bail, ensure};
use experiments::workers;
use experiments::{Catalogue, custom};
use measure::MeasureJob;
use measure::environment;
use measure::experiment::{Experiment, Method};
use measure::launch::Stop;
use model::param::Point;
use model::path_text::to_path;
use model::run::{Definition, Design, Plan, Role, Run};
use store::{LocalStore, Store};

pub(crate) use self::plan::{RunRequest, TimeLimit, built_in, cache_dir, choose, plan, seed};
use self::plan::{data_dir_text, ensure_one_side, fixed, leave_out, methods_of};
pub(crate) use self::prepare::{NotStored, PreparedRun, launcher, prepare_run};
use self::progress::{MethodTime, sample_ns, seconds, without_slowest};
pub(crate) use self::progress::{ProgressDisplay, ProgressMode};
use self::record::{FlagFile, RunOutput, at_most, record};
pub(crate) use self::record::{MethodFailed, RunOutcome, WhyOutput};
pub(crate) use self::run_lock::{holder, mark};
use crate::console;

/// Measures what is requested. If there is a store, the run is stored while it grows.
pub(crate) fn run(
    experiments: &Catalogue,
    request: &RunRequest,
    store: Option<LocalStore>,
    stop: &Stop,
) -> Result<RunOutcome> {
    let trace =
        request.trace.as_deref().map(|name| FlagFile::create("--trace", name)).transpose()?;
    let why = request.why.as_deref().map(WhyOutput::new).transpose()?;
    let (job, new) = chosen(experiments, request)?;
    let RunRequest { shown, needs_all, .. } = *request;
    let output = RunOutput { store, trace, why, shown, needs_all, facts: request.facts.clone() };
    record(job, new, output, stop)
}

/// Which methods are measured, at which points, by which plan: a run that has no cells yet.
fn chosen<'a>(experiments: &'a Catalogue, request: &RunRequest) -> Result<(MeasureJob<'a>, Run)> {
    let experiment = experiments.find(&request.experiment)?;
    let mut methods = choose(experiment, request)?;
    let plan = plan(request)?;
    let points = experiment.points(request.points.clone(), &methods);
    let competes = |method: &Method| points.iter().any(|point| method.competes_at(point));
    if request.methods.is_empty() && request.languages.is_empty() {
        let methods = experiment.methods.iter().filter(|method| competes(method));
        if let Some(left_out) = workers::left_out(methods) {
            let name = experiment.name;
            console::message(&format!(
                "bytelab: {left_out}; `bytelab list {name}` says what to install"
            ))?;
        }
    }
    let mut notes = leave_out(experiment, &mut methods, &points, request)?;
    notes.extend_from_slice(&request.notes);
    ensure!(
        methods.iter().any(|method| method.role == Role::Contender),
        "none of the chosen methods does the chosen job; `bytelab list {}` lists the jobs of each",
        experiment.name
    );
    let new = Run { points, plan, label: request.label.clone(), notes, ..Run::default() };
    Ok((MeasureJob { experiment, methods, least_sessions: request.min_sessions.unwrap_or(0) }, new))
}

/// Continues a run that was stopped or killed.
pub(crate) fn resume(
    experiments: &Catalogue,
    run: Run,
    store: LocalStore,
    shown: ProgressMode,
    stop: &Stop,
) -> Result<RunOutcome> {
    let id = &run.id;
    ensure_one_side(&run)?;
    ensure!(!run.complete, "run {id} is complete: there is nothing to resume");
    ensure!(!store::is_imported(&run.environment), "run {id} was imported: start a new one");
    let declared = declared_by_user(experiments, &run)?;
    let experiment = experiment_of(experiments, &run, declared.as_ref())?;
    if let Some(process) = run_lock::holder(&run.environment) {
        bail!("run {id} is being measured by process {process}: stop that first");
    }
    let left = run_lock::left_running(&run.environment);
    ensure!(
        left.is_empty(),
        "processes that run {id} had started when it was killed still run, and would disturb the \
         samples: end them first (kill -9 {})",
        left.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    );
    let least_sessions = declared.as_ref().map_or(0, custom::LoadedExperiment::min_sessions);
    let job = MeasureJob { experiment, methods: methods_of(experiment, &run)?, least_sessions };
    let facts = BTreeMap::new();
    let output =
        RunOutput { store: Some(store), trace: None, why: None, shown, needs_all: false, facts };
    record(job, run, output, stop)
}

/// Measures a run again: its methods, at its points, by its plan.
pub(crate) fn repeat(
    experiments: &Catalogue,
    run: &Run,
    label: &str,
    dir: Option<PathBuf>,
    store: Option<LocalStore>,
    stop: &Stop,
) -> Result<Run> {
    ensure_one_side(run)?;
    let declared = declared_by_user(experiments, run)?;
    let experiment = experiment_of(experiments, run, declared.as_ref())?;
    let job = MeasureJob { experiment, methods: methods_of(experiment, run)?, least_sessions: 0 };
    let mut plan = Plan { seed: seed(), profile: None, ..fixed(run.plan.clone()) };
    // An imported file may name any directory.
    if dir.is_some() || plan.data_dir.is_none() || store::is_imported(&run.environment) {
        plan.data_dir = Some(data_dir_text(dir)?);
    }
    let (points, label) = (run.points.clone(), Some(label.to_owned()));
    measure_new(job, Run { points, plan, label, ..Run::default() }, store, None, stop)
}

/// Measures a run of which everything is decided, and which has no cells yet.
pub(crate) fn measure_new(
    job: MeasureJob<'_>,
    new: Run,
    store: Option<LocalStore>,
    why: Option<WhyOutput>,
    stop: &Stop,
) -> Result<Run> {
    let (shown, facts) = (ProgressMode::Step, BTreeMap::new());
    let output = RunOutput { store, trace: None, why, shown, needs_all: false, facts };
    Ok(record(job, new, output, stop)?.run)
}

/// The definition of the run's experiment if it is none of the program's own. A file must be
/// unchanged since the run began; what was typed on the command line is in the run.
fn declared_by_user(
    experiments: &Catalogue,
    run: &Run,
) -> Result<Option<custom::LoadedExperiment>> {
    let same = |old: &Definition| {
        if old.file.is_empty() {
            ensure!(
                !store::is_imported(&run.environment),
                "run {} was imported, and commands of imported runs are not started: measure \
                 them with `bytelab bench`",
                run.id
            );
            return experiments.read(old.text.clone());
        }
        let declared = experiments.load(&to_path(&old.file)).with_context(|| {
            format!("run {} was declared in a file that cannot be used now", run.id)
        })?;
        ensure!(
            declared.definition.text == old.text,
            "{} has changed since run {} began: put it back, or start a new run",
            old.file,
            run.id
        );
        Ok(declared)
    };
    run.plan.definition.as_ref().map(same).transpose()
}

fn experiment_of<'a>(
    experiments: &'a Catalogue,
    run: &Run,
    declared: Option<&'a custom::LoadedExperiment>,
) -> Result<&'a Experiment> {
    declared.map_or_else(|| experiments.find(&run.experiment), |found| Ok(&found.experiment))
}

// What a run would measure, and how long that takes by a stored run of the same methods.

/// The number of stored runs that are searched for the methods, the newest first.
const RUNS_SEARCHED: usize = 10;
/// The plan of the request in words. Nothing is measured.
pub(crate) fn dry_run(
    experiments: &Catalogue,
    request: &RunRequest,
    store: Option<LocalStore>,
) -> Result<String> {
    let (job, new) = chosen(experiments, request)?;
    let cells = cells(&job, &new);
    let mut text = at_most(&job, &new.plan, cells.len()) + "\n";
    match store.map(|store| past(store, &job, &cells)).transpose()?.flatten() {
        Some((run, rounds)) => estimate(&mut text, &run, &new.plan, &rounds, cells.len())?,
        None => writeln!(
            text,
            "how long its samples take is not known: the store has no run of these methods on this machine"
        )?,
    }
    Ok(text)
}

/// A method with the values of the params that it reads.
type MethodAtPoint<'a> = (&'a str, Point);

fn cells<'a>(job: &'a MeasureJob<'_>, new: &Run) -> Vec<MethodAtPoint<'a>> {
    let mut cells: Vec<MethodAtPoint<'_>> = Vec::new();
    for method in &job.methods {
        for point in new.points.iter().filter(|point| method.competes_at(point)) {
            let cell = (method.name.as_str(), point.only(|name| method.reads.contains(&name)));
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
    }
    cells
}

/// The newest run on this machine that has one of these cells, with the times of those that it has.
fn past<'a>(
    mut store: LocalStore,
    job: &MeasureJob<'_>,
    cells: &[MethodAtPoint<'a>],
) -> Result<Option<(Run, Vec<MethodTime<'a>>)>> {
    let here = environment::capture(None);
    let model = here.facts.get("cpu_model").and_then(|model| model.as_str());
    let of_here = store.sqlite.list()?.into_iter().rev().filter(|run| {
        run.experiment == job.experiment.name && run.machine.cpu_model.as_deref() == model
    });
    for listed in of_here.take(RUNS_SEARCHED) {
        let run = store.sqlite.load(&listed.id)?;
        let time = |(method, point): &MethodAtPoint<'a>| {
            let mut all = run.cells.iter();
            let cell = all.find(|cell| cell.method == *method && cell.point == *point)?;
            Some((*method, sample_ns(cell)?))
        };
        let known: Vec<MethodTime<'_>> = cells.iter().filter_map(time).collect();
        if !known.is_empty() {
            return Ok(Some((run, known)));
        }
    }
    Ok(None)
}

fn estimate(
    text: &mut String,
    run: &Run,
    plan: &Plan,
    known: &[MethodTime<'_>],
    cells: usize,
) -> Result<()> {
    let (sessions, rounds) = match plan.design {
        Design::Fixed => (plan.sessions, plan.rounds),
        // The number of sessions that a verdict needs.
        Design::Sequential => (LOOKS[0] as u32, 1),
    };
    let samples = f64::from(sessions) * f64::from(rounds + plan.warm_up);
    let all_ns: f64 = known.iter().map(|(_, ns)| ns).sum();
    let of = if rounds == 1 { "a round".to_owned() } else { format!("{rounds} rounds") };
    write!(
        text,
        "{sessions} sessions of {of} take about {} s by run {}",
        seconds(samples * all_ns),
        run.id
    )?;
    if known.len() < cells {
        write!(text, ", in which {} of {cells} are known", known.len())?;
    }
    let without = without_slowest(known, samples);
    if !without.is_empty() {
        write!(text, "; {without}")?;
    }
    Ok(writeln!(text)?)
}
