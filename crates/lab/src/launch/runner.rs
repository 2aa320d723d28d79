//! What a started method can be asked for in each pass, and what it gives.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::count::Sources;
use crate::counters::Reading;
use crate::experiment::Method;
use crate::param::Point;
use crate::protocol::Done;
use crate::stop::Stop;

/// Starts methods. The real one is [`super::Launcher`]; the rounds are tested with another.
pub trait Launch {
    /// `has_digest`: the digest of its bytes is known from an earlier process.
    fn start(
        &mut self,
        experiment: &str,
        method: &Method,
        has_digest: bool,
    ) -> Result<Box<dyn Runner>, RunError>;

    /// For the counting pass.
    fn start_counting(
        &mut self,
        experiment: &str,
        method: &Method,
        sources: &Sources,
    ) -> Result<Box<dyn CountingRunner>, RunError>;

    /// For the round that is recorded.
    fn start_traced(
        &mut self,
        experiment: &str,
        method: &Method,
    ) -> Result<Box<dyn TracedRunner>, RunError>;
}

/// A started method, set up for one point.
pub trait Runner {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError>;

    /// What has to be done right before a sample, and before the cache is brought into its state.
    fn before(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    /// Takes one sample of `ops` operations.
    fn go(&mut self, n: u64, ops: u64) -> Result<RawSample, RunError>;

    /// After a sample that failed: whether the method died, and did not say what cannot be.
    fn has_died(&self) -> bool;

    /// The metrics that cannot be had of it, and why.
    fn missing(&self) -> Vec<(&'static str, String)>;

    /// Asks it to end; dropping it makes sure.
    fn bye(&mut self);
}

/// A method started to be counted, set up for one point.
pub trait CountingRunner {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError>;

    /// What has to be done right before each of the following.
    fn before(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    /// Takes one sample with the counters of the kernel and of the processor.
    fn count(&mut self, n: u64, ops: u64) -> Result<Counted, RunError>;

    /// Takes the sample again with its allocations counted. Nothing where that cannot be, or where
    /// the method tells them.
    fn allocations(&mut self, _n: u64, _ops: u64) -> Result<Vec<(&'static str, u64)>, RunError> {
        Ok(Vec::new())
    }

    /// Takes one sample in which every system call is looked at; its times mean nothing.
    fn trace(&mut self, n: u64, ops: u64) -> Result<Traced, RunError>;

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

    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError>;

    /// What has to be done right before the job.
    fn before(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    /// Does the job once; `started` is told of a process that is only for this.
    fn go(&mut self, n: u64, ops: u64, started: &mut dyn FnMut(u32))
    -> Result<RawSample, RunError>;

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

/// What one sample used, by the method's own account and by the kernel's. Whole sample, not per
/// operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawSample {
    pub done: Done,
    pub used: Reading,
    /// Of a plain command: until the new program runs.
    pub startup_ns: Option<u64>,
    /// Of a plain command: the whole life of one that does nothing, started in the same way.
    pub noop_ns: Option<u64>,
    /// Of a process that was started for this sample.
    pub fresh: Option<ColdStart>,
}

/// What came before the first sample of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColdStart {
    /// From the start of the process to its `hello`.
    pub startup_ns: u64,
    /// From `prepare` to `ready`.
    pub prepare_ns: u64,
}

/// Why a method takes no more samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    Skipped(String),
    Failed(String),
    /// A signal asked the whole run to stop.
    Stopped,
}

/// The first argument of this program where it is started for a built-in method.
pub(super) const BUILT_IN: &str = "__worker";

/// How long a child may take, where it works, and what ends the waiting early.
#[derive(Clone)]
pub(super) struct Limits {
    pub(super) answer_ns: u64,
    pub(super) dir: Option<PathBuf>,
    pub(super) stop: Stop,
}
