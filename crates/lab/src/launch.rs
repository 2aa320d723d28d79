//! Starts the methods' processes and leaves none behind. Nothing else in the project starts a process.

mod allocations;
mod command;
mod complete;
mod counting;
mod filled;
mod filter;
mod fresh;
mod helper;
mod hooked;
mod orphans;
mod output;
mod process;
mod speaker;
mod tracing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::count::{Sources, VARIABLE};
use crate::experiment::{How, Method, OldSide};
use crate::param::Point;
use crate::protocol::Done;
pub use crate::stop::Stop;
use crate::worker::DIGEST_VARIABLE;

pub use self::complete::{Hook, complete, hook, output};
pub use self::filter::filter;
pub use self::helper::{Helper, become_program, end_with_the_lab};
pub use self::orphans::Orphans;

use self::speaker::Speaker;

/// Starts methods. The real one is [`Launcher`]; the rounds are tested with another.
pub trait Launch {
    /// `has_digest`: the digest of its bytes is known from an earlier process.
    fn start(
        &mut self,
        experiment: &str,
        method: &Method,
        has_digest: bool,
    ) -> Result<Box<dyn Runner>, Ended>;

    /// For the counting pass.
    fn start_counting(
        &mut self,
        experiment: &str,
        method: &Method,
        sources: &Sources,
    ) -> Result<Box<dyn CountingRunner>, Ended>;

    /// For the round that is recorded.
    fn start_traced(
        &mut self,
        experiment: &str,
        method: &Method,
    ) -> Result<Box<dyn TracedRunner>, Ended>;
}

/// A started method, set up for one point.
pub trait Runner {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, Ended>;

    /// What has to be done right before a sample, and before the cache is brought into its state.
    fn before(&mut self) -> Result<(), Ended> {
        Ok(())
    }

    /// Takes one sample of `ops` operations.
    fn go(&mut self, n: u64, ops: u64) -> Result<Taken, Ended>;

    /// After a sample that failed: whether the method died, and did not say what cannot be.
    fn has_died(&self) -> bool;

    /// The metrics that cannot be had of it, and why.
    fn missing(&self) -> Vec<(&'static str, String)>;

    /// Asks it to end; dropping it makes sure.
    fn bye(&mut self);
}

/// A method started to be counted, set up for one point.
pub trait CountingRunner {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, Ended>;

    /// What has to be done right before each of the following.
    fn before(&mut self) -> Result<(), Ended> {
        Ok(())
    }

    /// Takes one sample with the counters of the kernel and of the processor.
    fn count(&mut self, n: u64, ops: u64) -> Result<Counted, Ended>;

    /// Takes the sample again with its allocations counted. Nothing where that cannot be, or where the
    /// method tells them.
    fn allocations(&mut self, _n: u64, _ops: u64) -> Result<Vec<(&'static str, u64)>, Ended> {
        Ok(Vec::new())
    }

    /// Takes one sample in which every system call is looked at; its times mean nothing.
    fn trace(&mut self, n: u64, ops: u64) -> Result<Traced, Ended>;

    /// What could be counted on this machine but not of this method, and why.
    fn missing(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Asks it to end; dropping it makes sure.
    fn bye(&mut self);
}

/// A method started for the round that is recorded.
pub trait TracedRunner {
    /// Of a method that lives longer than a sample.
    fn pid(&self) -> Option<u32>;

    fn prepare(&mut self, arguments: &Point) -> Result<Ready, Ended>;

    /// What has to be done right before the job.
    fn before(&mut self) -> Result<(), Ended> {
        Ok(())
    }

    /// Does the job once; `started` is told of a process that is only for this.
    fn go(&mut self, n: u64, ops: u64, started: &mut dyn FnMut(u32)) -> Result<Taken, Ended>;

    /// Asks it to end; dropping it makes sure.
    fn bye(&mut self);
}

/// A sample and what was counted of it from outside, by metric. Whole sample, not per operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    pub done: Done,
    pub counts: Vec<(&'static str, u64)>,
    /// Its wall time can be held against that of the timing pass.
    pub same_interval: bool,
}

/// A sample and its system calls by name, or why they could not be looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    pub done: Done,
    pub calls: Result<BTreeMap<String, u64>, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    pub language: Option<String>,
    pub digest: Option<String>,
}

/// What one sample used, by the method's own account and by the kernel's. Whole sample, not per operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    pub done: Done,
    pub used: crate::counters::Reading,
    /// Of a plain command: until the new program runs.
    pub startup_ns: Option<u64>,
    /// Of a plain command: the whole life of one that does nothing, started in the same way.
    pub noop_ns: Option<u64>,
    /// Of a process that was started for this sample.
    pub fresh: Option<Fresh>,
}

/// What came before the first sample of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fresh {
    /// From the start of the process to its `hello`.
    pub startup_ns: u64,
    /// From `prepare` to `ready`.
    pub prepare_ns: u64,
}

/// Why a method takes no more samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Skipped(String),
    Failed(String),
    /// A signal asked the whole run to stop.
    Stopped,
}

/// Starts real processes.
pub struct Launcher {
    /// The program whose `__worker EXPERIMENT METHOD` runs a built-in method.
    pub program: PathBuf,
    /// Time for one answer.
    pub sample_limit_ns: u64,
    /// Each sample of the timing pass is taken in a new process.
    pub fresh: bool,
    /// Where the methods' processes work; none: where the lab does.
    pub dir: Option<PathBuf>,
    pub stop: Stop,
}

impl Launch for Launcher {
    fn start(
        &mut self,
        experiment: &str,
        method: &Method,
        has_digest: bool,
    ) -> Result<Box<dyn Runner>, Ended> {
        let limits = self.limits();
        let argv = match &method.how {
            How::BuiltIn(_) => self.worker(experiment, method),
            How::Worker { argv } => argv.clone(),
            How::Command(command) => {
                let runner = command::CommandRunner::new(command.clone(), limits, self.fresh);
                return Ok(Box::new(runner));
            }
            How::Hooked { how, hooks } => {
                let inner = Method { how: (**how).clone(), ..method.clone() };
                let started = self.start(experiment, &inner, has_digest)?;
                return Ok(Box::new(hooked::Hooked::new(started, hooks, method, limits)));
            }
            How::Old { how, side } => {
                let (mut launcher, method) = self.of_old_side(how, side, method);
                return launcher.start(experiment, &method, has_digest);
            }
            How::Unavailable { reason } => return Err(Ended::Skipped(reason.clone())),
        };
        Ok(if self.fresh {
            Box::new(fresh::FreshRunner::new(argv, limits))
        } else {
            let known = [(DIGEST_VARIABLE, "known".to_owned())];
            let variables = if has_digest { &known[..] } else { &[] };
            Box::new(Speaker::start(&argv, variables, limits)?)
        })
    }

    fn start_counting(
        &mut self,
        experiment: &str,
        method: &Method,
        sources: &Sources,
    ) -> Result<Box<dyn CountingRunner>, Ended> {
        let limits = self.limits();
        let variables = [(VARIABLE, sources.to_variable())];
        let started = |argv: &[String]| Speaker::start(argv, &variables, limits.clone());
        Ok(match &method.how {
            How::BuiltIn(_) => {
                Box::new(counting::BuiltIn::new(started(&self.worker(experiment, method))?))
            }
            How::Worker { argv } => {
                let speaker = started(argv)?;
                let is_own = argv.first().is_some_and(|first| self.program == Path::new(first));
                let peak_of =
                    if is_own { counting::PeakOf::Children } else { counting::PeakOf::All };
                Box::new(counting::Foreign::new(speaker, sources, argv.clone(), peak_of, limits))
            }
            How::Command(command) => {
                Box::new(counting::Program::new(command.clone(), sources, limits))
            }
            How::Hooked { how, hooks } => {
                let inner = Method { how: (**how).clone(), ..method.clone() };
                let started = self.start_counting(experiment, &inner, sources)?;
                return Ok(Box::new(hooked::Hooked::new(started, hooks, method, limits)));
            }
            How::Old { how, side } => {
                let (mut launcher, method) = self.of_old_side(how, side, method);
                return launcher.start_counting(experiment, &method, sources);
            }
            How::Unavailable { reason } => return Err(Ended::Skipped(reason.clone())),
        })
    }

    fn start_traced(
        &mut self,
        experiment: &str,
        method: &Method,
    ) -> Result<Box<dyn TracedRunner>, Ended> {
        let limits = self.limits();
        let built_in = matches!(method.how, How::BuiltIn(_));
        let argv = match &method.how {
            How::BuiltIn(_) => self.worker(experiment, method),
            How::Worker { argv } => argv.clone(),
            How::Command(command) => {
                return Ok(Box::new(command::CommandRunner::new(command.clone(), limits, false)));
            }
            How::Hooked { how, hooks } => {
                let inner = Method { how: (**how).clone(), ..method.clone() };
                let started = self.start_traced(experiment, &inner)?;
                return Ok(Box::new(hooked::Hooked::new(started, hooks, method, limits)));
            }
            How::Old { how, side } => {
                let (mut launcher, method) = self.of_old_side(how, side, method);
                return launcher.start_traced(experiment, &method);
            }
            How::Unavailable { reason } => return Err(Ended::Skipped(reason.clone())),
        };
        let speaker = Speaker::start(&argv, &[], limits)?;
        Ok(Box::new(tracing::TracedSpeaker { speaker, built_in }))
    }
}

impl Launcher {
    fn limits(&self) -> Limits {
        Limits { answer_ns: self.sample_limit_ns, dir: self.dir.clone(), stop: self.stop.clone() }
    }

    fn of_old_side(&self, how: &How, side: &OldSide, method: &Method) -> (Launcher, Method) {
        let launcher = Launcher {
            program: side.program.as_ref().unwrap_or(&self.program).clone(),
            dir: side.dir.as_ref().or(self.dir.as_ref()).cloned(),
            stop: self.stop.clone(),
            ..*self
        };
        (launcher, Method { name: side.name.clone(), how: how.clone(), ..method.clone() })
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

/// The first argument of this program where it is started for a built-in method.
const BUILT_IN: &str = "__worker";

/// How long a child may take, where it works, and what ends the waiting early.
#[derive(Clone)]
struct Limits {
    answer_ns: u64,
    dir: Option<PathBuf>,
    stop: Stop,
}
