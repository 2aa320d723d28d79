//! How a run is measured: what is requested is decided here; [`record`] prepares and records it.

mod choose;
mod dry_run;
mod estimate;
mod plan;
mod prepare;
mod progress;
mod project;
mod record;
mod request;
mod run_lock;
mod trace_file;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use lab::experiment::{Experiment, Method};
use lab::launch::Stop;
use lab::measure::Job;
use lab::path_text::to_path;
use lab::run::{Definition, Plan, Role, Run};

use crate::experiments::{Catalogue, custom};
use crate::store::{self, LocalStore};
use crate::workers;

pub(crate) use self::choose::{built_in, choose};
use self::choose::{ensure_one_side, leave_out, methods_of};
pub(crate) use self::dry_run::dry_run;
pub(crate) use self::plan::{cache_dir, plan};
use self::plan::{data_dir_text, fixed, seed};
pub(crate) use self::prepare::{NewRun, PreparedRun, Start, launcher, prepare_run};
pub(crate) use self::progress::{ProgressDisplay, Shown};
pub(crate) use self::record::{Measured, MethodFailed};
use self::record::{Output, record};
pub(crate) use self::request::{RunRequest, Selection, Time};
pub(crate) use self::run_lock::{holder, mark};
use self::trace_file::TraceFile;

/// Measures what is requested. If there is a store, the run is stored while it grows.
pub(crate) fn run(
    experiments: &Catalogue,
    request: &RunRequest,
    store: Option<LocalStore>,
    stop: &Stop,
) -> Result<Measured> {
    let trace = request.trace.as_deref().map(TraceFile::create).transpose()?;
    let (job, new) = chosen(experiments, request)?;
    let RunRequest { shown, needs_all, .. } = *request;
    let output = Output { store, trace, shown, needs_all, facts: request.facts.clone() };
    record(job, Start::New(new), output, stop)
}

/// Which methods are measured, at which points, by which plan.
fn chosen<'a>(experiments: &'a Catalogue, request: &RunRequest) -> Result<(Job<'a>, NewRun)> {
    let experiment = experiments.find(&request.experiment)?;
    let selection = &request.selection;
    let mut methods = choose(experiment, selection)?;
    let plan = plan(request)?;
    let points = experiment.points(request.points.clone(), &methods);
    let competes = |method: &Method| points.iter().any(|point| method.competes_at(point));
    if selection.methods.is_empty() && selection.languages.is_empty() {
        workers::tell_left_out(experiment.methods.iter().filter(|method| competes(method)))?;
    }
    let mut notes = leave_out(experiment, &mut methods, &points, selection)?;
    notes.extend_from_slice(&request.notes);
    ensure!(
        methods.iter().any(|method| method.role == Role::Contender),
        "none of the chosen methods does the chosen job; `bytelab list {}` lists the jobs of each",
        experiment.name
    );
    let new = NewRun { points, plan, label: request.label.clone(), notes };
    Ok((Job { experiment, methods, least_sessions: request.min_sessions.unwrap_or(0) }, new))
}

/// Continues a run that was stopped or killed.
pub(crate) fn resume(
    experiments: &Catalogue,
    id: &str,
    mut store: LocalStore,
    shown: Shown,
    stop: &Stop,
) -> Result<Measured> {
    let run = store::load(&mut *store, id)?;
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
        "what run {id} had started when it was killed still runs, and would be measured along: end it \
         first (kill -9 {})",
        left.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    );
    let least_sessions = declared.as_ref().map_or(0, custom::Loaded::min_sessions);
    let job = Job { experiment, methods: methods_of(experiment, &run)?, least_sessions };
    let facts = BTreeMap::new();
    let output = Output { store: Some(store), trace: None, shown, needs_all: false, facts };
    record(job, Start::Stored(run), output, stop)
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
    let job = Job { experiment, methods: methods_of(experiment, run)?, least_sessions: 0 };
    let mut plan = Plan { seed: seed(), ..fixed(run.plan.clone()) };
    // An imported file may name any directory.
    if dir.is_some() || plan.data_dir.is_none() || store::is_imported(&run.environment) {
        plan.data_dir = Some(data_dir_text(dir)?);
    }
    let (points, label) = (run.points.clone(), Some(label.to_owned()));
    measure_new(job, NewRun { points, plan, label, notes: Vec::new() }, store, stop)
}

/// Measures a run of which everything is decided.
pub(crate) fn measure_new(
    job: Job<'_>,
    new: NewRun,
    store: Option<LocalStore>,
    stop: &Stop,
) -> Result<Run> {
    let (shown, facts) = (Shown::Step, BTreeMap::new());
    let output = Output { store, trace: None, shown, needs_all: false, facts };
    Ok(record(job, Start::New(new), output, stop)?.run)
}

/// The definition of the run's experiment if it is none of the program's own. A file must be
/// unchanged since the run began; what was typed on the command line is in the run.
fn declared_by_user(experiments: &Catalogue, run: &Run) -> Result<Option<custom::Loaded>> {
    let same = |old: &Definition| {
        if old.file.is_empty() {
            ensure!(
                !store::is_imported(&run.environment),
                "run {} was imported, and its commands are not started for that: measure them with \
                 `bytelab bench`",
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
    declared: Option<&'a custom::Loaded>,
) -> Result<&'a Experiment> {
    declared.map_or_else(|| experiments.find(&run.experiment), |found| Ok(&found.experiment))
}
