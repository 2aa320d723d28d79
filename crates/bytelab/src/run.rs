//! `bytelab run`: what is asked becomes a job, the job is measured into the store, the run is shown.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use lab::clock;
use lab::experiment::{Data, Experiment, How, Method};
use lab::launch::{Launcher, Stop};
use lab::measure::{Job, Progress, Record, measure, new_run, prepare_data, trace};
use lab::param::Point;
use lab::run::{Plan, Role, Run};

use crate::cli::{Asked, MeasureArgs};
use crate::owner;
use crate::progress::ProgressLine;
use crate::store::Store;
use crate::trace_file::TraceFile;
use crate::workers;

/// Measures what is asked. The run is kept in the store while it grows, if there is one.
pub(crate) fn run(
    experiments: &[Experiment],
    asked: Asked,
    store: Option<Box<dyn Store>>,
    stop: &Stop,
) -> Result<Run> {
    let experiment = find(experiments, &asked.experiment)?;
    let measuring = asked.measuring;
    let trace = measuring.trace.as_deref().map(TraceFile::try_out).transpose()?;
    let mut job = Job { experiment, methods: choose(experiment, &measuring)? };
    let plan = plan(&measuring)?;
    let line = ProgressLine::new();
    let mut points = experiment.points(asked.points, &job.methods);
    // Else workers would be built that have nothing to do.
    job.methods.retain(|method| points.iter().any(|point| method.competes_at(point)));
    ensure!(
        job.methods.iter().any(|method| method.role == Role::Contender),
        "none of the chosen methods does the chosen job; `bytelab list {}` tells which does",
        experiment.name
    );
    let data = data(&job, &mut points, &plan, &line, stop)?;
    build_workers(&mut job.methods, &plan, &line, stop)?;
    let mut run = new_run(&job, points, plan, measuring.label);
    record(&job, &mut run, &data, Output { store, line, trace }, stop)?;
    Ok(run)
}

/// Goes on with a run that was stopped or killed.
pub(crate) fn resume(
    experiments: &[Experiment],
    id: &str,
    mut store: Box<dyn Store>,
    stop: &Stop,
) -> Result<Run> {
    let mut run = store.load(id)?;
    ensure!(!run.complete, "run {id} is complete: there is nothing to resume");
    let experiment = find(experiments, &run.experiment)?;
    if let Some(process) = owner::alive(&run.environment) {
        bail!("run {id} is being measured by process {process}: stop that first");
    }
    let mut methods = experiment.methods.clone();
    for cell in &run.cells {
        if !methods.iter().any(|method| method.name == cell.method) {
            // A worker that was given with --worker: what it is about is its command.
            methods.push(user_worker(experiment, &format!("{}={}", cell.method, cell.about))?);
        }
    }
    methods.retain(|method| run.cells.iter().any(|cell| cell.method == method.name));
    let line = ProgressLine::new();
    let mut job = Job { experiment, methods };
    let data = data(&job, &mut run.points, &run.plan, &line, stop)?;
    build_workers(&mut job.methods, &run.plan, &line, stop)?;
    owner::sign(&mut run.environment);
    store.finish(id, false, &run.environment, &run.notes)?;
    let output = Output { store: Some(store), line, trace: None };
    record(&job, &mut run, &data, output, stop)?;
    Ok(run)
}

/// The programs that the methods need beside this one.
fn build_workers(
    methods: &mut [Method],
    plan: &Plan,
    line: &ProgressLine,
    stop: &Stop,
) -> Result<()> {
    line.say("building workers");
    let dir = plan.data_dir.as_ref().context("the plan names no directory for the data")?;
    let built = workers::make_ready(methods, Path::new(dir), stop);
    line.clear();
    built
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
}

fn record(job: &Job<'_>, run: &mut Run, data: &[Data], output: Output, stop: &Stop) -> Result<()> {
    let mut launcher = Launcher {
        program: std::env::current_exe().context("finding this program")?,
        sample_limit_ns: run.plan.sample_limit_ns,
        fresh: run.plan.fresh,
        stop: stop.clone(),
    };
    let Output { store, line, trace: file } = output;
    let mut recorder = Recorder { store, line };
    let mut measured = measure(job, run, data, &mut launcher, &mut recorder, stop);
    if measured.is_ok()
        && run.complete
        && let Some(file) = file
    {
        measured = trace(job, run, data, &mut launcher, &mut recorder, stop)
            .and_then(|timeline| timeline.map_or(Ok(()), |timeline| file.write(&timeline)));
    }
    recorder.line.clear();
    measured
}

pub(crate) fn find<'a>(experiments: &'a [Experiment], name: &str) -> Result<&'a Experiment> {
    experiments.iter().find(|experiment| experiment.name == name).with_context(|| {
        let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name).collect();
        format!("there is no experiment {name}; there are {}", names.join(", "))
    })
}

fn plan(measuring: &MeasureArgs) -> Result<Plan> {
    let data_dir = data_dir(measuring.data_dir.clone())?;
    let data_dir = data_dir.to_str().context("--data-dir is not UTF-8")?.to_owned();
    let sessions = measuring.sessions.unwrap_or(if measuring.rounds < 20 { 1 } else { 10 });
    Ok(Plan {
        rounds: measuring.rounds.div_ceil(sessions),
        time_limit_ns: measuring.time.as_nanos() as u64,
        warm_up: measuring.warm_up,
        sessions,
        // Not a secret: only different from run to run. It is stored as a number that JSON keeps exactly.
        seed: measuring.seed.unwrap_or_else(|| clock::now_ns() & ((1 << 53) - 1)),
        cache: measuring.cache.into(),
        sample_limit_ns: measuring.sample_limit.as_nanos() as u64,
        data_dir: Some(data_dir),
        counting: measuring.counting,
        fresh: measuring.fresh,
    })
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
    let chosen = |method: &&Method| match measuring.methods.as_slice() {
        [] => method.default,
        patterns => patterns.iter().any(|pattern| matches(pattern, &method.name)),
    };
    let built_in: Vec<Method> = experiment.methods.iter().filter(chosen).cloned().collect();
    methods.splice(0..0, built_in);
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

/// Whether the name matches the pattern, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            name.char_indices()
                .map(|(i, _)| i)
                .chain([name.len()])
                .any(|i| matches(rest, &name[i..]))
        }),
    }
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
}

impl Record for Recorder {
    fn begin(&mut self, run: &mut Run) -> Result<()> {
        owner::sign(&mut run.environment);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        };
        check("mmap", "mmap", true);
        check("mmap", "mmap-window", false);
        check("mmap*", "mmap-window", true);
        check("*-window", "mmap-window", true);
        check("m*-*w", "mmap-window", true);
        check("*", "", true);
        check("a*b*c", "acb", false);
    }
}
