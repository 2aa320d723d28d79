//! Starts the processes of the methods and ensures that none is left running. No other code in the
//! project starts processes.

mod command;
mod counting;
mod expanded;
mod helpers;
mod keeper;
mod memory;
mod orphans;
mod process;
mod runner;
mod worker_client;

use std::path::{Path, PathBuf};

pub use self::expanded::is_read_once;
use self::helpers::WithHooks;
pub use self::helpers::{
    HOOK, Hook, PendingOutput, ServerProcess, become_program, end_with_the_lab, filter, hook,
    output, run_to_end,
};
pub use self::keeper::{KEEPER, end_keeper, keep, keep_children, left_running};
pub use self::memory::{GroupUse, can_limit_memory};
use self::memory::{LimitedRunner, MemoryGroup};
pub use self::orphans::Orphans;
pub use self::process::withhold;
use self::runner::{BUILT_IN, Limits};
pub use self::runner::{Child, CountingRunner, Launch, RawSample, Ready, RunError, Runner};
pub use self::runner::{
    ColdStart, CommandWaits, CountedSample, TracedCalls, TracedRunner, TracedSample,
};
use self::worker_client::WorkerClient;
use crate::count::Sources;
use crate::experiment::{Command, Execution, Hooks, Method};
use crate::protocol::{COUNTING_VARIABLE, DIGEST_VARIABLE};
pub use crate::stop::Stop;

/// Starts real processes.
pub struct Launcher {
    /// The program that runs a built-in method when it is started as `__worker EXPERIMENT METHOD`.
    pub program: PathBuf,
    /// Time limit for one answer.
    pub sample_limit_ns: u64,
    /// Whether each sample of the timing pass is taken in a new process.
    pub fresh: bool,
    /// The working directory of the methods' processes; none: that of the lab.
    pub dir: Option<PathBuf>,
    /// The limit of the control group that the processes of each method have.
    pub memory_limit_bytes: Option<u64>,
    pub stop: Stop,
}

impl Launch for Launcher {
    fn start(
        &mut self,
        experiment: &str,
        method: &Method,
        has_digest: bool,
    ) -> Result<Box<dyn Runner>, RunError> {
        let ResolvedMethod { executable, limits, hooks, .. } = self.resolve(experiment, method)?;
        let limited = limits.clone();
        let runner: Box<dyn Runner> = match executable {
            Executable::Command(command) => {
                Box::new(command::CommandRunner::new(command.clone(), limits, self.fresh))
            }
            Executable::Worker { argv, .. } if self.fresh => {
                Box::new(worker_client::FreshRunner::new(argv, limits))
            }
            Executable::Worker { argv, .. } => {
                let variables = Vec::from_iter(digest_variable(has_digest));
                Box::new(WorkerClient::spawn(&argv, &variables, limits)?)
            }
        };
        let runner = LimitedRunner::boxed(runner, limited);
        Ok(with_hooks(hooks, runner, |hooked| Box::new(hooked)))
    }

    fn start_counting(
        &mut self,
        experiment: &str,
        method: &Method,
        sources: &Sources,
        has_digest: bool,
    ) -> Result<Box<dyn CountingRunner>, RunError> {
        let ResolvedMethod { executable, program, limits, hooks } =
            self.resolve(experiment, method)?;
        let mut variables = vec![(COUNTING_VARIABLE, sources.to_variable())];
        variables.extend(digest_variable(has_digest));
        let started = |argv: &[String]| WorkerClient::spawn(argv, &variables, limits.clone());
        let runner: Box<dyn CountingRunner> = match executable {
            Executable::Command(command) => {
                Box::new(counting::Program::new(command.clone(), sources, limits))
            }
            Executable::Worker { argv, is_built_in: true } => {
                Box::new(counting::BuiltIn::new(started(&argv)?))
            }
            Executable::Worker { argv, .. } => {
                let worker = started(&argv)?;
                let is_own = argv.first().is_some_and(|first| program == Path::new(first));
                let peak_of =
                    if is_own { counting::PeakOf::Children } else { counting::PeakOf::All };
                let known = digest_variable(has_digest);
                let allocations = counting::AllocationWorker::spawn(&argv, &limits, known);
                Box::new(counting::ExternalWorker::new(worker, sources, peak_of, allocations)?)
            }
        };
        Ok(with_hooks(hooks, runner, |hooked| Box::new(hooked)))
    }

    fn start_traced(
        &mut self,
        experiment: &str,
        method: &Method,
    ) -> Result<Box<dyn TracedRunner>, RunError> {
        let ResolvedMethod { executable, limits, hooks, .. } = self.resolve(experiment, method)?;
        let runner: Box<dyn TracedRunner> = match executable {
            Executable::Command(command) => {
                Box::new(command::CommandRunner::new(command.clone(), limits, false))
            }
            Executable::Worker { argv, .. } => {
                let worker = WorkerClient::start(&argv, &[], limits)?;
                Box::new(worker_client::TracedWorker { worker })
            }
        };
        Ok(with_hooks(hooks, runner, |hooked| Box::new(hooked)))
    }
}

/// What a method starts, without its hooks and the side of a check that it belongs to.
struct ResolvedMethod<'a> {
    executable: Executable<'a>,
    /// The program of built-in methods.
    program: &'a Path,
    limits: Limits,
    /// The hooks that run before and after it, the outer ones first.
    hooks: Vec<HooksAround<'a>>,
}

enum Executable<'a> {
    Worker { argv: Vec<String>, is_built_in: bool },
    Command(&'a Command),
}

struct HooksAround<'a> {
    hooks: &'a Hooks,
    method: &'a str,
    limits: Limits,
}

/// The started method with its hooks.
fn with_hooks<R: ?Sized>(
    hooks: Vec<HooksAround<'_>>,
    started: Box<R>,
    boxed: fn(WithHooks<R>) -> Box<R>,
) -> Box<R> {
    let hooks = hooks.into_iter().rev();
    hooks.fold(started, |inner, HooksAround { hooks, method, limits }| {
        boxed(WithHooks::new(inner, hooks, method, limits))
    })
}

/// Informs a worker that the digest of its bytes is known.
fn digest_variable(has_digest: bool) -> Option<(&'static str, String)> {
    has_digest.then(|| (DIGEST_VARIABLE, "known".to_owned()))
}

impl Launcher {
    /// What a method starts, with the settings of the side of a check that it belongs to.
    fn resolve<'a>(
        &'a self,
        experiment: &str,
        method: &'a Method,
    ) -> Result<ResolvedMethod<'a>, RunError> {
        let (mut program, mut dir) = (self.program.as_path(), self.dir.as_deref());
        let (mut name, mut execution) = (method.name.as_str(), &method.execution);
        let limits = |dir: Option<&Path>| Limits {
            answer_ns: self.sample_limit_ns,
            dir: dir.map(Path::to_owned),
            memory: None,
            stop: self.stop.clone(),
        };
        let mut around = Vec::new();
        let executable = loop {
            match execution {
                Execution::Hooked { execution: inner, hooks } => {
                    around.push(HooksAround { hooks, method: name, limits: limits(dir) });
                    execution = inner;
                }
                Execution::Baseline { execution: inner, side } => {
                    program = side.program.as_deref().unwrap_or(program);
                    dir = side.dir.as_deref().or(dir);
                    name = &side.name;
                    execution = inner;
                }
                Execution::BuiltIn(_) => {
                    let argv = worker(program, experiment, name);
                    break Executable::Worker { argv, is_built_in: true };
                }
                Execution::Worker { argv } => {
                    break Executable::Worker { argv: argv.clone(), is_built_in: false };
                }
                Execution::Command(command) => break Executable::Command(command),
                Execution::Unavailable { reason } => return Err(RunError::Skipped(reason.clone())),
            }
        };
        // The hooks are not in the group: what they need is not the method's.
        let group = self.memory_limit_bytes.map(MemoryGroup::new).transpose();
        let limits = Limits { memory: group.map_err(RunError::Skipped)?, ..limits(dir) };
        Ok(ResolvedMethod { executable, program, limits, hooks: around })
    }
}

/// The words that start a built-in method.
fn worker(program: &Path, experiment: &str, method: &str) -> Vec<String> {
    let program = program.to_string_lossy().into_owned();
    vec![program, BUILT_IN.to_owned(), experiment.to_owned(), method.to_owned()]
}
