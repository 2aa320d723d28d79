//! A method that is being counted: its process and its counts. It does not use the run, so that
//! several cells can be counted by a thread each.

use std::collections::BTreeMap;
use std::mem;
use std::path::PathBuf;

use model::metric::{COUNTING_WALL, SYSCALLS, is_counting_metric, per_operation};
use model::param::Point;

use crate::cache;
use crate::clock;
use crate::context::Position;
use crate::count::ALLOCATION_METRICS;
use crate::launch::{CountedSample, CountingRunner, RunError, TracedCalls, TracedSample};

/// Tracing this many calls takes some seconds.
const TRACED_MAX: f64 = 300_000.0;

/// The started method of a cell.
pub(super) struct CountedMethod {
    pub(super) runner: Box<dyn CountingRunner>,
    pub(super) arguments: Point,
    pub(super) ops: u64,
    /// The number of the last sample.
    pub(super) n: u64,
    pub(super) rules: Rules,
    /// Whether the next sample need not be traced: one was, or none can be.
    pub(super) is_traced: bool,
    /// Why its system calls could not be traced.
    pub(super) untraced: Option<String>,
    /// The bytes per operation that the calls of the last traced sample transferred, until a sample
    /// has them that counts.
    pub(super) transferred_bytes: Option<f64>,
}

/// How a cell is counted.
pub(super) struct Rules {
    /// Whether the kernel counts system calls; otherwise every sample that counts is traced.
    pub(super) counts_syscalls: bool,
    pub(super) counted_as: CountedAs,
    /// Whether the timing pass has a new process for each sample.
    pub(super) is_fresh: bool,
    /// The files that are evicted from the page cache before each sample.
    pub(super) cold_files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountedAs {
    /// It is counted only once, without a warm-up, and never traced.
    Slow,
    /// Each sample is a process of its own, which no earlier sample can warm up.
    Command,
    /// A process that is warmed up.
    Process,
}

/// A step of counting a cell.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// What comes before the first sample that counts.
    WarmUp,
    /// A sample that counts.
    Count,
    /// The further samples that belong to it.
    Complete,
}

/// The samples that are taken of a cell in one step or two, and then become one in the run.
pub(super) struct CountingTask {
    pub(super) cell: usize,
    pub(super) position: Position,
    pub(super) method: CountedMethod,
    pub(super) counted: Option<CountedSample>,
    /// How long the last sample took that counts.
    pub(super) untraced_ns: u64,
    pub(super) calls: Option<CallsPerOperation>,
    pub(super) ended: Result<(), RunError>,
}

/// The system calls of a traced sample.
pub(super) struct CallsPerOperation {
    pub(super) by_name: BTreeMap<String, f64>,
    pub(super) all: f64,
}

impl CountingTask {
    pub(super) fn new(cell: usize, position: Position, method: CountedMethod) -> CountingTask {
        CountingTask {
            cell,
            position,
            method,
            counted: None,
            untraced_ns: 0,
            calls: None,
            ended: Ok(()),
        }
    }

    /// Does nothing after a step that failed.
    pub(super) fn step(mut self, step: Step) -> CountingTask {
        if self.ended.is_ok() {
            self.ended = match step {
                Step::WarmUp => self.warm_up(),
                Step::Count => self.count(),
                Step::Complete => self.complete(),
            };
        }
        self
    }

    /// The first sample of a process does work that later samples need not repeat. The second one
    /// collects the calls by name, unless all later samples do so.
    fn warm_up(&mut self) -> Result<(), RunError> {
        self.method.runner.prepare(&self.method.arguments)?;
        match self.method.rules.counted_as {
            CountedAs::Slow => {
                let why = "a sample takes too long to trace each of its calls";
                self.method.untraced = Some(why.to_owned());
                Ok(())
            }
            CountedAs::Command => Ok(()),
            CountedAs::Process => {
                self.count()?;
                self.count_allocations()?;
                if self.method.rules.counts_syscalls { self.trace_once() } else { Ok(()) }
            }
        }
    }

    /// Collects the calls by name where that does not take long.
    fn trace_once(&mut self) -> Result<(), RunError> {
        if mem::replace(&mut self.method.is_traced, true) {
            return Ok(());
        }
        let values = self.counted.as_ref().map(values).unwrap_or_default();
        let calls = values.iter().find(|(name, _)| *name == SYSCALLS).map(|(_, per_op)| *per_op);
        let calls = calls.unwrap_or_default() * self.method.ops as f64;
        if calls > TRACED_MAX {
            let why = format!("{calls:.0} calls are too many to trace each of them");
            self.method.untraced = Some(why);
            return Ok(());
        }
        self.trace()
    }

    fn count(&mut self) -> Result<(), RunError> {
        let CountedMethod { runner, ops, n, rules, .. } = &mut self.method;
        for file in &rules.cold_files {
            // The proof of the timing pass detects files that could not be evicted.
            let _ = cache::evict(file);
        }
        *n += 1;
        runner.before(*n)?;
        let start_ns = clock::now_ns();
        let mut counted = runner.count(*n, *ops)?;
        self.untraced_ns = clock::now_ns() - start_ns;
        // The first sample of a process takes a different time from those after it.
        counted.same_interval &= !rules.is_fresh;
        self.counted = Some(counted);
        Ok(())
    }

    fn complete(&mut self) -> Result<(), RunError> {
        self.count_allocations()?;
        match self.method.rules.counted_as {
            CountedAs::Slow => Ok(()),
            _ if !self.method.rules.counts_syscalls => self.trace(),
            CountedAs::Command => self.trace_once(),
            CountedAs::Process => Ok(()),
        }
    }

    /// The allocations come from a separate sample, unless the method reports them itself: the
    /// figures of a runtime about itself are more accurate than those seen from outside. Without
    /// them there is no sample.
    fn count_allocations(&mut self) -> Result<(), RunError> {
        let Some(mut counted) = self.counted.take() else { return Ok(()) };
        let own = |name: &String| ALLOCATION_METRICS.contains(&name.as_str());
        if !counted.done.metrics.iter().any(|(name, _)| own(name)) {
            let CountedMethod { runner, ops, n, .. } = &mut self.method;
            runner.before(*n)?;
            counted.counts.extend(runner.allocations(*n, *ops)?);
        }
        self.counted = Some(counted);
        Ok(())
    }

    /// Traces each call of a sample that is not kept.
    fn trace(&mut self) -> Result<(), RunError> {
        let CountedMethod { runner, ops, n, untraced, .. } = &mut self.method;
        *n += 1;
        runner.before(*n)?;
        let TracedSample { done, calls } = runner.trace(*n, *ops, self.untraced_ns)?;
        match calls {
            Ok(TracedCalls { by_name, transferred_bytes, .. }) => {
                let per_op = |n: u64| n as f64 / done.ops as f64;
                let all = per_op(by_name.values().sum());
                let by_name = by_name.into_iter().map(|(name, n)| (name, per_op(n))).collect();
                self.calls = Some(CallsPerOperation { by_name, all });
                self.method.transferred_bytes = Some(per_op(transferred_bytes));
            }
            Err(why) => *untraced = Some(why),
        }
        Ok(())
    }
}

/// The metrics of this pass, per operation: those that were counted from outside, then those that
/// the method has counted itself.
pub(super) fn values(counted: &CountedSample) -> Vec<(&str, f64)> {
    let done = &counted.done;
    let ops = done.ops.max(1) as f64;
    let mut values: Vec<(&str, f64)> =
        counted.counts.iter().map(|(name, n)| (*name, per_operation(name, *n, done.ops))).collect();
    for (name, value) in &done.metrics {
        if is_counting_metric(name) && !values.iter().any(|(known, _)| known == name) {
            values.push((name, *value));
        }
    }
    if counted.same_interval {
        values.push((COUNTING_WALL, done.wall_ns as f64 / ops));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Done;

    #[test]
    fn what_is_counted_is_per_operation() {
        let metrics = vec![("allocations".to_owned(), 3.0), ("cpu_ns".to_owned(), 9.0)];
        let done = Done { ops: 4, wall_ns: 400, metrics, ..Done::default() };
        let counted = CountedSample { done, counts: vec![(SYSCALLS, 8)], same_interval: true };
        let own = [(SYSCALLS, 2.0), ("allocations", 3.0)];
        assert_eq!(values(&counted), [own[0], own[1], (COUNTING_WALL, 100.0)]);
        assert_eq!(values(&CountedSample { same_interval: false, ..counted }), own);
    }
}
