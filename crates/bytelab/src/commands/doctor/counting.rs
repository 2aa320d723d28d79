//! Tests what can be counted on this machine: each source counts a known number of system calls or
//! of allocations.

use lab::count::Sources;
use lab::launch::{CountingRunner, Launch, RunError, Stop};
use lab::metric::Metric;
use lab::param::Point;
use lab::timeline::TimelineSources;

use super::finding::Finding;
use crate::experiments::self_test::{ALLOCATIONS, CALLS, CALLS_PER_THREAD, THREADS, experiment};
use crate::measuring::launcher;

const SAMPLE_LIMIT_NS: u64 = 30_000_000_000;

pub(super) struct Counted {
    sources: Sources,
    /// For each source: success, or why it cannot count.
    by_kernel: Result<(), String>,
    by_ptrace: Result<(), String>,
    by_allocator: Result<(), String>,
    by_library: Result<(), String>,
}

impl Counted {
    pub(super) fn try_out() -> Counted {
        let sources = Sources::look();
        let by_kernel = match sources.missing().get("syscalls") {
            Some(why) => Err(why.clone()),
            None => million_calls(&sources),
        };
        let by_ptrace = calls_of_threads(&sources);
        let by_allocator = own_allocations(&sources);
        let by_library = foreign_allocations(&sources);
        Counted { sources, by_kernel, by_ptrace, by_allocator, by_library }
    }

    pub(super) fn metric(&self, metric: &Metric) -> Finding {
        let neither = |one: &Result<(), String>, other: &Result<(), String>| match (one, other) {
            (Err(one), Err(other)) => Some(format!("{one}; {other}")),
            _ => None,
        };
        let reason = match metric.name {
            "syscalls" => neither(&self.by_kernel, &self.by_ptrace),
            "allocations" | "allocated_bytes" | "peak_live_bytes" => {
                neither(&self.by_allocator, &self.by_library)
            }
            name => self.sources.missing().get(name).cloned(),
        };
        Finding::of_metric(metric, reason)
    }

    pub(super) fn abilities(&self) -> Vec<Finding> {
        let finding = |name, source, tried: &Result<(), String>| {
            Finding::tried(name, source, tried.clone().err())
        };
        vec![
            finding("count system calls", "perf tracepoint, 0.1 µs per call", &self.by_kernel),
            finding("look at system calls", "ptrace, 10 µs or more per call", &self.by_ptrace),
            finding("count allocations", "built-in methods: the allocator", &self.by_allocator),
            finding("foreign allocations", "a preloaded library; not static, Go", &self.by_library),
            timeline(),
        ]
    }
}

/// Whether `--trace` has every event, and if not, which ones it has.
fn timeline() -> Finding {
    let sources = TimelineSources::look();
    let sampled = |why: String| {
        format!("{why}; scheduling is then looked at about every ms, in /proc/PID/task")
    };
    let no_calls = sources.no_calls.map(|why| format!("no system calls: {why}"));
    let reason = sources.sampled.map(sampled).or(no_calls);
    let source = "perf events of all CPUs: sched, raw_syscalls, page faults";
    Finding::tried("timeline, every event", source, reason)
}

fn million_calls(sources: &Sources) -> Result<(), String> {
    let counted = started("calls", sources)?.count(1, 1).map_err(why)?;
    let syscalls = counted.done.metrics.iter().find(|(name, _)| name == "syscalls");
    match syscalls {
        Some((_, n)) if *n as u64 == u64::from(CALLS) => Ok(()),
        Some((_, n)) => Err(format!("{CALLS} calls were counted as {n}: do not trust it")),
        None => Err("the method's process could not count itself".to_owned()),
    }
}

fn own_allocations(sources: &Sources) -> Result<(), String> {
    let counted = started("allocate", sources)?.count(1, 1).map_err(why)?;
    let n = counted.done.metrics.iter().find(|(name, _)| name == "allocations");
    right_allocations(n.map(|(_, n)| *n as u64))
}

/// Whether allocations of a foreign program can be counted: this program is counted from outside,
/// without those of its start.
fn foreign_allocations(sources: &Sources) -> Result<(), String> {
    let of = |method| -> Result<u64, String> {
        let mut runner = started(method, sources)?;
        let counts = runner.allocations(1, 1).map_err(why)?;
        let n = counts.iter().find(|(name, _)| *name == "allocations").map(|(_, n)| *n);
        let reason = || runner.missing().into_iter().find(|(name, _)| *name == "allocations");
        n.ok_or_else(|| reason().map(|(_, why)| why).unwrap_or_default())
    };
    right_allocations(of("foreign")?.checked_sub(of("foreign-idle")?))
}

fn right_allocations(n: Option<u64>) -> Result<(), String> {
    match n {
        Some(n) if n == u64::from(ALLOCATIONS) => Ok(()),
        Some(n) => Err(format!("{ALLOCATIONS} were counted as {n}: do not trust it")),
        None => Err("the method's process could not count itself".to_owned()),
    }
}

fn calls_of_threads(sources: &Sources) -> Result<(), String> {
    let traced = started("threads", sources)?.trace(1, 1, 0).map_err(why)?;
    let known = u64::from(THREADS * CALLS_PER_THREAD);
    match traced.calls?.get("getppid") {
        Some(n) if *n == known => Ok(()),
        n => Err(format!("{known} calls were counted as {}: do not trust it", n.unwrap_or(&0))),
    }
}

fn started(method: &str, sources: &Sources) -> Result<Box<dyn CountingRunner>, String> {
    let experiment = experiment();
    let found = experiment.methods.iter().find(|known| known.name == method);
    let found = found.ok_or_else(|| format!("the self-test has no method {method}"))?;
    let launcher = launcher(SAMPLE_LIMIT_NS, &Stop::default());
    let mut launcher = launcher.map_err(|error| format!("{error:#}"))?;
    let mut runner =
        launcher.start_counting(experiment.name, found, sources, false).map_err(why)?;
    runner.prepare(&Point::default()).map_err(why)?;
    Ok(runner)
}

fn why(ended: RunError) -> String {
    match ended {
        RunError::Skipped(why) | RunError::Failed(why) => why,
        RunError::Stopped => "stopped".to_owned(),
    }
}
