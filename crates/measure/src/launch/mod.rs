//! Starts the processes of the methods and ensures that none is left running. No other code in the
//! project starts processes.

mod command;
mod counting;
mod expanded;
mod helpers;
mod keeper;
mod orphans;
mod process;
mod runner;
mod worker_client;

use std::path::{Path, PathBuf};

pub use self::expanded::is_read_once;
pub use self::helpers::{
    HOOK, Hook, ServerProcess, become_program, end_with_the_lab, filter, hook, output, run_to_end,
};
pub use self::keeper::{KEEPER, end_keeper, keep, keep_children, left_running};
pub use self::orphans::Orphans;
pub use self::process::withhold;
use self::runner::{BUILT_IN, Limits};
pub use self::runner::{Child, CountingRunner, Launch, RawSample, Ready, RunError, Runner};
pub use self::runner::{ColdStart, CommandWaits, CountedSample, TracedRunner, TracedSample};
use self::worker_client::WorkerClient;
use crate::count::Sources;
use crate::experiment::{BaselineSide, Execution, Method};
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
    pub stop: Stop,
}

impl Launch for Launcher {
    fn start(
        &mut self,
        experiment: &str,
        method: &Method,
        has_digest: bool,
    ) -> Result<Box<dyn Runner>, RunError> {
        let limits = self.limits();
        let argv = match &method.execution {
            Execution::BuiltIn(_) => self.worker(experiment, method),
            Execution::Worker { argv } => argv.clone(),
            Execution::Command(command) => {
                let runner = command::CommandRunner::new(command.clone(), limits, self.fresh);
                return Ok(Box::new(runner));
            }
            Execution::Hooked { execution, hooks } => {
                let inner = Method { execution: (**execution).clone(), ..method.clone() };
                let started = self.start(experiment, &inner, has_digest)?;
                return Ok(Box::new(helpers::WithHooks::new(started, hooks, method, limits)));
            }
            Execution::Baseline { execution, side } => {
                let (mut launcher, method) = self.of_old_side(execution, side, method);
                return launcher.start(experiment, &method, has_digest);
            }
            Execution::Unavailable { reason } => return Err(RunError::Skipped(reason.clone())),
        };
        Ok(if self.fresh {
            Box::new(worker_client::FreshRunner::new(argv, limits))
        } else {
            let variables = Vec::from_iter(digest_variable(has_digest));
            Box::new(WorkerClient::spawn(&argv, &variables, limits)?)
        })
    }

    fn start_counting(
        &mut self,
        experiment: &str,
        method: &Method,
        sources: &Sources,
        has_digest: bool,
    ) -> Result<Box<dyn CountingRunner>, RunError> {
        let limits = self.limits();
        let mut variables = vec![(COUNTING_VARIABLE, sources.to_variable())];
        variables.extend(digest_variable(has_digest));
        let started = |argv: &[String]| WorkerClient::spawn(argv, &variables, limits.clone());
        Ok(match &method.execution {
            Execution::BuiltIn(_) => {
                Box::new(counting::BuiltIn::new(started(&self.worker(experiment, method))?))
            }
            Execution::Worker { argv } => {
                let worker = started(argv)?;
                let is_own = argv.first().is_some_and(|first| self.program == Path::new(first));
                let peak_of =
                    if is_own { counting::PeakOf::Children } else { counting::PeakOf::All };
                let known = digest_variable(has_digest);
                let allocations = counting::AllocationWorker::spawn(argv, &limits, known);
                Box::new(counting::ExternalWorker::new(worker, sources, peak_of, allocations)?)
            }
            Execution::Command(command) => {
                Box::new(counting::Program::new(command.clone(), sources, limits))
            }
            Execution::Hooked { execution, hooks } => {
                let inner = Method { execution: (**execution).clone(), ..method.clone() };
                let started = self.start_counting(experiment, &inner, sources, has_digest)?;
                return Ok(Box::new(helpers::WithHooks::new(started, hooks, method, limits)));
            }
            Execution::Baseline { execution, side } => {
                let (mut launcher, method) = self.of_old_side(execution, side, method);
                return launcher.start_counting(experiment, &method, sources, has_digest);
            }
            Execution::Unavailable { reason } => return Err(RunError::Skipped(reason.clone())),
        })
    }

    fn start_traced(
        &mut self,
        experiment: &str,
        method: &Method,
    ) -> Result<Box<dyn TracedRunner>, RunError> {
        let limits = self.limits();
        let argv = match &method.execution {
            Execution::BuiltIn(_) => self.worker(experiment, method),
            Execution::Worker { argv } => argv.clone(),
            Execution::Command(command) => {
                return Ok(Box::new(command::CommandRunner::new(command.clone(), limits, false)));
            }
            Execution::Hooked { execution, hooks } => {
                let inner = Method { execution: (**execution).clone(), ..method.clone() };
                let started = self.start_traced(experiment, &inner)?;
                return Ok(Box::new(helpers::WithHooks::new(started, hooks, method, limits)));
            }
            Execution::Baseline { execution, side } => {
                let (mut launcher, method) = self.of_old_side(execution, side, method);
                return launcher.start_traced(experiment, &method);
            }
            Execution::Unavailable { reason } => return Err(RunError::Skipped(reason.clone())),
        };
        let worker = WorkerClient::start(&argv, &[], limits)?;
        Ok(Box::new(worker_client::TracedWorker { worker }))
    }
}

/// Informs a worker that the digest of its bytes is known.
fn digest_variable(has_digest: bool) -> Option<(&'static str, String)> {
    has_digest.then(|| (DIGEST_VARIABLE, "known".to_owned()))
}

impl Launcher {
    fn limits(&self) -> Limits {
        Limits { answer_ns: self.sample_limit_ns, dir: self.dir.clone(), stop: self.stop.clone() }
    }

    fn of_old_side(
        &self,
        execution: &Execution,
        side: &BaselineSide,
        method: &Method,
    ) -> (Launcher, Method) {
        let launcher = Launcher {
            program: side.program.as_ref().unwrap_or(&self.program).clone(),
            dir: side.dir.as_ref().or(self.dir.as_ref()).cloned(),
            stop: self.stop.clone(),
            ..*self
        };
        (
            launcher,
            Method { name: side.name.clone(), execution: execution.clone(), ..method.clone() },
        )
    }

    fn worker(&self, experiment: &str, method: &Method) -> Vec<String> {
        vec![
            self.program.to_string_lossy().into_owned(),
            BUILT_IN.to_owned(),
            experiment.to_owned(),
            method.name.clone(),
        ]
    }
}
