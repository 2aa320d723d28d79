//! The operations of a started method in each pass, and their results.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use model::param::Point;

use super::memory::{GroupUse, MemoryGroup};
use crate::count::Sources;
use crate::counters::{Reading, TaskTree};
use crate::experiment::Method;
use crate::protocol::{Done, PhaseMark};
use crate::stop::Stop;

/// Starts methods. The real implementation is [`super::Launcher`]; the tests of the rounds use
/// another.
pub trait Launch {
    /// `has_digest`: the digest of the method's bytes is known from an earlier process.
    fn start(
        &mut self,
        experiment: &str,
        method: &Method,
        has_digest: bool,
    ) -> Result<Box<dyn Runner>, RunError>;

    /// Starts a method for the counting pass. Whether it has started is known after its `prepare`.
    fn start_counting(
        &mut self,
        experiment: &str,
        method: &Method,
        sources: &Sources,
        has_digest: bool,
    ) -> Result<Box<dyn CountingRunner>, RunError>;

    /// Starts a method for the round that is recorded.
    fn start_traced(
        &mut self,
        experiment: &str,
        method: &Method,
    ) -> Result<Box<dyn TracedRunner>, RunError>;
}

/// A started method, for any of the passes.
pub trait Child {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError>;

    /// Called directly before the sample of this number, and before the cache is brought into its
    /// state.
    fn before(&mut self, _n: u64) -> Result<(), RunError> {
        Ok(())
    }

    /// The metrics that are not available for the method although the machine has them, and why.
    fn missing(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Requests the method to end; dropping it ensures that it does.
    fn bye(&mut self) {}
}

/// A method that takes samples at one point.
pub trait Runner: Child {
    /// Waits until its process has started, so that the processes of a session can start at the
    /// same time.
    fn started(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    /// Lets its process begin to prepare, so that several can do so at the same time; where that is
    /// not possible it does nothing. [`Child::prepare`] must follow, with the same arguments.
    fn begin_to_prepare(&mut self, _arguments: &Point) -> Result<(), RunError> {
        Ok(())
    }

    /// Reads the files in the control group of the method, if it has one of its own.
    fn fill(&mut self, _files: &[PathBuf]) -> Result<(), RunError> {
        Ok(())
    }

    /// Takes one sample of `ops` operations.
    fn go(&mut self, n: u64, ops: u64) -> Result<RawSample, RunError>;

    /// The time to start and end a process that does nothing at this moment, of a plain command;
    /// none where it cannot be had.
    fn noop_ns(&mut self) -> Result<Option<u64>, RunError> {
        Ok(None)
    }

    /// After a sample that failed: whether the method died, rather than having reported impossible
    /// values.
    fn has_died(&self) -> bool;
}

/// A method that was started for counting and is set up for one point. Its process is started by
/// the thread that has the run, and may be used by another.
pub trait CountingRunner: Child + Send {
    /// Takes one sample with the counters of the kernel and of the processor.
    fn count(&mut self, n: u64, ops: u64) -> Result<CountedSample, RunError>;

    /// Takes the sample again and counts its allocations. Returns nothing where that is not
    /// possible, or where the method reports them.
    fn allocations(&mut self, _n: u64, _ops: u64) -> Result<Vec<(&'static str, u64)>, RunError> {
        Ok(Vec::new())
    }

    /// Takes one sample in which every system call is traced; its times are meaningless. Where that
    /// takes very much longer than `untraced_ns`, its rest is not traced and its calls are unknown.
    fn trace(&mut self, n: u64, ops: u64, untraced_ns: u64) -> Result<TracedSample, RunError>;
}

/// A method started for the round that is recorded.
pub trait TracedRunner: Child {
    /// The process of a method that lives longer than a sample.
    fn pid(&self) -> Option<u32>;

    /// Does the job once; `started` receives a process that exists only for this sample.
    fn go(&mut self, n: u64, ops: u64, started: &mut dyn FnMut(u32))
    -> Result<RawSample, RunError>;
}

/// A sample and the counts that were taken from outside, by metric. They are for the whole sample,
/// not per operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountedSample {
    pub done: Done,
    pub counts: Vec<(&'static str, u64)>,
    /// Whether its wall time is comparable with that of the timing pass.
    pub(crate) same_interval: bool,
}

/// A sample and its system calls, or why they could not be traced.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedSample {
    pub done: Done,
    pub calls: Result<TracedCalls, String>,
}

/// The system calls of a sample by name, how long they took, and how many bytes they transferred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedCalls {
    pub by_name: BTreeMap<String, u64>,
    /// How long those of each name took, with what tracing adds.
    pub ns_by_name: BTreeMap<String, u64>,
    pub transferred_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    pub language: Option<String>,
    pub digest: Option<String>,
}

/// What one sample used, as reported by the method and by the kernel. The values are for the whole
/// sample, not per operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawSample {
    pub done: Done,
    pub used: Reading,
    /// For a plain command: the time until the new program runs.
    pub startup_ns: Option<u64>,
    /// For a plain command, in some rounds: the whole life of a command that does nothing, started
    /// in the same way.
    pub noop_ns: Option<u64>,
    /// For a plain command.
    pub waits: CommandWaits,
    /// The number of processes that a plain command has left running, and that were ended.
    pub left_processes: u64,
    /// The number of those that were kept.
    pub kept_processes: u64,
    /// Whether the kernel has kept no account of some processes of a plain command.
    pub(crate) forgets_children: bool,
    /// Set for a process that was started for this sample.
    pub fresh: Option<ColdStart>,
    /// The memory of its control group, if it has one of its own.
    pub group: Option<GroupUse>,
    /// The phases of the job, in a recorded sample.
    pub marks: Vec<PhaseMark>,
}

/// The waits for a CPU in one sample of a plain command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandWaits {
    /// Of the lab's own thread, when the end of the process was to be seen.
    pub own_ns: u64,
    /// Of its tasks; none where the kernel does not report them, or where some still run.
    pub tree: Option<TaskTree>,
    /// How long two of its tasks lived at once of which neither is an ancestor of the other; known
    /// of the first sample.
    pub overlap_ns: Option<u64>,
    /// Whether at most one of its tasks is about to run at any time, as a shell and its children
    /// one after the other: found in the first sample.
    pub is_serial: bool,
}

/// The time before the first sample of a process.
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
    /// A signal requested the whole run to stop.
    Stopped,
}

/// The first argument with which this program is started for a built-in method.
pub(super) const BUILT_IN: &str = "__worker";

/// The maximum time that tracing adds to a sample.
const TRACING_NS: u64 = 30_000_000_000;

/// The time limit of a child, its working directory, the limit of its memory, and what ends the
/// wait early.
#[derive(Clone)]
pub(super) struct Limits {
    pub(super) answer_ns: u64,
    pub(super) dir: Option<PathBuf>,
    /// The control group of its processes.
    pub(super) memory: Option<Arc<MemoryGroup>>,
    pub(super) stop: Stop,
}

impl Limits {
    /// Limits of the time alone.
    pub(super) fn new(answer_ns: u64, stop: &Stop) -> Limits {
        Limits { answer_ns, dir: None, memory: None, stop: stop.clone() }
    }

    /// How long the calls of a sample may be traced that takes `untraced_ns` otherwise. Tracing may
    /// take half of the time that the sample leaves before its limit, as the other half is for the
    /// rest of the sample; and at most half a minute.
    pub(super) fn tracing_ns(&self, untraced_ns: u64) -> u64 {
        let half_ns = self.answer_ns.saturating_sub(untraced_ns) / 2;
        untraced_ns.saturating_add(half_ns.min(TRACING_NS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::run::Plan;

    struct Plain;

    impl Child for Plain {
        fn prepare(&mut self, _: &Point) -> Result<Ready, RunError> {
            Ok(Ready::default())
        }
    }

    #[test]
    fn a_method_has_all_metrics_unless_it_says_otherwise() {
        assert_eq!(Plain.missing(), []);
    }

    #[test]
    fn tracing_leaves_the_time_for_the_sample_itself() {
        let s = 1_000_000_000;
        let limits = Limits { answer_ns: 60 * s, dir: None, memory: None, stop: Stop::default() };
        let tracing_s = |untraced_s: u64| limits.tracing_ns(untraced_s * s) / s;
        assert_eq!([0, 10, 20].map(tracing_s), [30, 35, 40]);
        assert_eq!([40, 60, 70].map(tracing_s), [50, 60, 70]);
        let unlimited = Limits { answer_ns: Plan::NO_TIME_LIMIT_NS, ..limits };
        assert_eq!(unlimited.tracing_ns(s) / s, 31);
    }
}
