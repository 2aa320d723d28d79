//! `bytelab run`: what is asked becomes a job, the job is measured into the store, the run is shown.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use lab::clock;
use lab::experiment::{Data, Experiment, How, Method};
use lab::launch::{Launcher, Stop};
use lab::measure::{Job, Progress, Record, measure, new_run, prepare_data, trace};
use lab::param::Point;
use lab::run::{Definition, Note, Plan, Role, Run};

use crate::cli::{Asked, MeasureArgs};
use crate::experiments::own;
use crate::owner;
use crate::pattern::matches;
use crate::progress::ProgressLine;
use crate::store::Store;
use crate::trace_file::TraceFile;
use crate::workers::{self, Languages, Toolchain};

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
    let trace = measuring.trace.as_deref().map(TraceFile::try_out).transpose()?;
    let methods = choose(experiment, &measuring)?;
    let guests = workers::guests(experiment, &methods);
    let mut job = Job { experiment, methods, guests };
    let mut plan = plan(&measuring)?;
    plan.definition = asked.definition;
    let line = ProgressLine::new();
    let mut points = experiment.points(asked.points, &job.methods);
    let competes = |method: &Method| points.iter().any(|point| method.competes_at(point));
    if measuring.methods.is_empty() && measuring.languages.is_empty() {
        workers::tell_left_out(experiment.methods.iter().filter(|method| competes(method)))?;
    }
    // Else workers would be built that have nothing to do.
    job.methods.retain(competes);
    ensure!(
        job.methods.iter().any(|method| method.role == Role::Contender),
        "none of the chosen methods does the chosen job; `bytelab list {}` tells which does",
        experiment.name
    );
    let data = data(&job, &mut points, &plan, &line, stop)?;
    let languages: Vec<_> = job.methods.iter().map(workers::language_of).collect();
    let toolchains = build_workers(&mut job.methods, &plan, &line, stop)?;
    let mut run = new_run(&job, points, plan, measuring.label);
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
    ensure!(!run.complete, "run {id} is complete: there is nothing to resume");
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
    let guests = workers::guests(experiment, &methods);
    let mut job = Job { experiment, methods, guests };
    let data = data(&job, &mut run.points, &run.plan, &line, stop)?;
    let toolchains = build_workers(&mut job.methods, &run.plan, &line, stop)?;
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
    let declared = run.plan.definition.as_ref().map(|old| same_file(old, &run.id)).transpose()?;
    let experiment = match &declared {
        Some(declared) => &declared.experiment,
        None => find(experiments, &run.experiment)?,
    };
    let methods = methods_of(experiment, run)?;
    let line = ProgressLine::new();
    let guests = workers::guests(experiment, &methods);
    let mut job = Job { experiment, methods, guests };
    let mut plan = run.plan.clone();
    plan.seed = seed();
    if dir.is_some() || plan.data_dir.is_none() {
        plan.data_dir = Some(data_dir_text(dir)?);
    }
    let mut points = run.points.clone();
    let data = data(&job, &mut points, &plan, &line, stop)?;
    let languages: Vec<_> = job.methods.iter().map(workers::language_of).collect();
    let toolchains = build_workers(&mut job.methods, &plan, &line, stop)?;
    let mut now = new_run(&job, points, plan, Some(label.to_owned()));
    name_languages(&mut now, &job, &languages);
    record(&job, &mut now, data, Output { store, line, trace: None, toolchains }, stop)?;
    Ok(now)
}

/// The methods that a run has cells of, in its order.
fn methods_of(experiment: &Experiment, run: &Run) -> Result<Vec<Method>> {
    let mut methods: Vec<Method> = Vec::new();
    for cell in &run.cells {
        if methods.iter().any(|method| method.name == cell.method) {
            continue;
        }
        let known = experiment.methods.iter().find(|method| method.name == cell.method);
        methods.push(match known {
            Some(method) => method.clone(),
            // A worker that was given with --worker: what it is about is its command.
            None => user_worker(experiment, &format!("{}={}", cell.method, cell.about))?,
        });
    }
    Ok(methods)
}

/// The programs that the methods need beside this one.
fn build_workers(
    methods: &mut [Method],
    plan: &Plan,
    line: &ProgressLine,
    stop: &Stop,
) -> Result<Vec<Toolchain>> {
    line.say("building workers");
    let dir = plan.data_dir.as_ref().context("the plan names no directory for the data")?;
    let built = workers::make_ready(methods, Path::new(dir), stop);
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
            let Toolchain { language, version } = toolchain;
            let text = format!(
                "the run was resumed with another toolchain of {language} ({version}, before: {then}): do not \
                 trust differences between its sessions"
            );
            run.notes.push(Note { method: None, point: None, text });
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

/// Where what is measured goes.
struct Output {
    store: Option<Box<dyn Store>>,
    line: ProgressLine,
    trace: Option<TraceFile>,
    toolchains: Vec<Toolchain>,
}

/// Whether all that was made is removed.
fn record(
    job: &Job<'_>,
    run: &mut Run,
    data: Vec<Data>,
    output: Output,
    stop: &Stop,
) -> Result<bool> {
    let file = run.plan.definition.as_ref().map(|definition| Path::new(&definition.file));
    let mut launcher = Launcher {
        program: std::env::current_exe().context("finding this program")?,
        sample_limit_ns: run.plan.sample_limit_ns,
        fresh: run.plan.fresh,
        dir: file.and_then(Path::parent).map(Path::to_owned),
        stop: stop.clone(),
    };
    let Output { store, line, trace: file, toolchains } = output;
    let mut recorder = Recorder { store, line, toolchains };
    let mut measured = measure(job, run, &data, &mut launcher, &mut recorder, stop);
    if measured.is_ok()
        && run.complete
        && let Some(file) = file
    {
        measured = trace(job, run, &data, &mut launcher, &mut recorder, stop)
            .and_then(|timeline| timeline.map_or(Ok(()), |timeline| file.write(&timeline)));
    }
    recorder.line.clear();
    let left = end(data);
    let tidy = left.is_empty();
    if !tidy && measured.is_ok() {
        run.notes.extend(left);
        recorder.finish(run)?;
    }
    measured.map(|()| tidy)
}

/// What went wrong when the data was put away, each once.
fn end(data: Vec<Data>) -> Vec<Note> {
    let mut left: Vec<Note> = Vec::new();
    for mut data in data {
        if let Err(error) = data.ending.end() {
            let text = format!("{error:#}");
            if left.iter().all(|note| note.text != text) {
                left.push(Note { method: None, point: None, text });
            }
        }
    }
    left
}

pub(crate) fn find<'a>(experiments: &'a [Experiment], name: &str) -> Result<&'a Experiment> {
    experiments.iter().find(|experiment| experiment.name == name).with_context(|| {
        let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name).collect();
        format!("there is no experiment {name}; there are {}", names.join(", "))
    })
}

fn plan(measuring: &MeasureArgs) -> Result<Plan> {
    let data_dir = data_dir_text(measuring.data_dir.clone())?;
    let sessions = measuring.sessions.unwrap_or(if measuring.rounds < 20 { 1 } else { 10 });
    let sessions = sessions.min(measuring.rounds);
    Ok(Plan {
        rounds: measuring.rounds.div_ceil(sessions),
        time_limit_ns: measuring.time.as_nanos() as u64,
        warm_up: measuring.warm_up,
        sessions,
        seed: measuring.seed.unwrap_or_else(seed),
        cache: measuring.cache.into(),
        sample_limit_ns: measuring.sample_limit.as_nanos() as u64,
        data_dir: Some(data_dir),
        counting: measuring.counting,
        fresh: measuring.fresh,
        definition: None,
    })
}

/// Not a secret: only different from run to run. It is stored as a number that JSON keeps exactly.
fn seed() -> u64 {
    clock::now_ns() & ((1 << 53) - 1)
}

fn data_dir_text(asked: Option<PathBuf>) -> Result<String> {
    Ok(data_dir(asked)?.to_str().context("--data-dir is not UTF-8")?.to_owned())
}

/// The named methods or the default ones, the user's workers, and the reference first.
fn choose(experiment: &Experiment, measuring: &MeasureArgs) -> Result<Vec<Method>> {
    let mut methods: Vec<Method> = Vec::new();
    for worker in &measuring.workers {
        let worker = user_worker(experiment, worker)?;
        ensure!(
            methods.iter().all(|method| method.name != worker.name),
            "--worker {}: the name is given twice",
            worker.name
        );
        methods.push(worker);
    }
    let known = || experiment.methods.iter().map(|method| method.name.as_str());
    for pattern in &measuring.methods {
        ensure!(
            experiment.methods.iter().any(|method| matches(pattern, &method.name)),
            "there is no method {pattern}; {} has {}",
            experiment.name,
            known().collect::<Vec<_>>().join(", ")
        );
    }
    let patterns = measuring.methods.as_slice();
    let languages = Languages::asked(&experiment.methods, &measuring.languages)?;
    let chosen = |method: &&Method| match (patterns, &languages) {
        ([], None) => method.default && workers::is_here(method),
        ([], Some(languages)) => languages.have(method),
        (patterns, languages) => {
            patterns.iter().any(|pattern| matches(pattern, &method.name))
                && languages.as_ref().is_none_or(|languages| languages.have(method))
        }
    };
    let ours: Vec<Method> = experiment.methods.iter().filter(chosen).cloned().collect();
    ensure!(
        !ours.is_empty() || !methods.is_empty(),
        "none of the methods that --method names is in a language that --language names"
    );
    methods.splice(0..0, ours);
    ensure!(
        methods.iter().any(|method| method.role == Role::Contender),
        "only yardsticks are chosen; name a method that competes, too"
    );
    if let Some(name) = &measuring.reference {
        let reference = methods.iter().position(|m| m.name == *name && m.role == Role::Contender);
        let reference = reference.with_context(|| {
            format!("--reference {name}: not one of the methods that compete in this run")
        })?;
        let reference = methods.remove(reference);
        methods.insert(0, reference);
    }
    Ok(methods)
}

fn user_worker(experiment: &Experiment, text: &str) -> Result<Method> {
    let (name, command) =
        text.split_once('=').with_context(|| format!("--worker {text}: write NAME=COMMAND"))?;
    let argv = shlex::split(command).filter(|argv| !argv.is_empty()).with_context(|| {
        format!("--worker {text}: the command is empty or a quote is not closed")
    })?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    ensure!(
        !name.is_empty() && name.chars().all(plain),
        "--worker {text}: a name is made of letters, digits, -, _ and ."
    );
    if experiment.methods.iter().any(|method| method.name == name) {
        bail!("--worker {text}: {} has a method {name} already", experiment.name);
    }
    Ok(Method {
        name: name.to_owned(),
        about: command.to_owned(),
        reads: experiment.params.iter().map(|param| param.name).collect(),
        how: How::Worker { argv },
        role: Role::Contender,
        bypasses_cache: false,
        default: true,
        job: None,
    })
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

/// Hands the growing run to the store and the progress line.
struct Recorder {
    store: Option<Box<dyn Store>>,
    line: ProgressLine,
    /// What the workers of the run were built by.
    toolchains: Vec<Toolchain>,
}

impl Record for Recorder {
    fn begin(&mut self, run: &mut Run) -> Result<()> {
        owner::sign(&mut run.environment);
        let facts = &mut run.environment.facts;
        facts.extend(self.toolchains.iter().map(|t| (t.fact(), t.version.clone().into())));
        run.id = match &mut self.store {
            Some(store) => store.begin(run)?,
            None => "not stored".to_owned(),
        };
        Ok(())
    }

    fn cell(&mut self, run: &Run, cell: usize) -> Result<()> {
        match &mut self.store {
            Some(store) => store.put_cell(&run.id, cell, &run.cells[cell]),
            None => Ok(()),
        }
    }

    fn sample(&mut self, run: &Run, cell: usize) -> Result<()> {
        let Some(store) = &mut self.store else { return Ok(()) };
        let Some((sample, values)) = run.cells[cell].last() else { return Ok(()) };
        store.append(&run.id, cell, sample, &values)
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        self.line.show(progress);
    }

    fn finish(&mut self, run: &Run) -> Result<()> {
        match &mut self.store {
            Some(store) => store.finish(&run.id, run.complete, &run.environment, &run.notes),
            None => Ok(()),
        }
    }
}
