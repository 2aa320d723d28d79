//! The processes of the methods in the counting pass: which process counts which events, in which
//! interval, and those in which allocations are counted.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use model::metric::{PEAK_RSS, SYSCALLS};
use model::param::Point;

use super::expanded::{ExpandedCommand, Output, input};
use super::orphans::{self, EarlierProcesses};
use super::process::{ChildStdio, Process, describe};
use super::worker_client::WorkerClient;
use super::{
    Child, CountedSample, CountingRunner, Limits, Ready, RunError, TracedCalls, TracedSample,
    keeper,
};
use crate::clock;
use crate::count::{self, Calls, ProcessCounters, Shim, Sources, TraceScope, Tracer};
use crate::counters::{Counter, Counters};
use crate::experiment::{Command, LeftProcesses};
use crate::protocol::{COUNTING_VARIABLE, Done};

/// A built-in method counts its own events, directly around its job, and reports the counts as its
/// metrics.
pub(super) struct BuiltIn {
    worker: WorkerClient,
    /// The method starts other processes, whose allocations its allocator does not see.
    starts_others: bool,
}

impl BuiltIn {
    pub(super) fn new(worker: WorkerClient) -> BuiltIn {
        BuiltIn { worker, starts_others: false }
    }
}

impl Child for BuiltIn {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.worker.prepare(arguments)
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        let why = "its work is done by processes that it starts, which it does not see allocate";
        if self.starts_others { missing_allocations(why) } else { Vec::new() }
    }

    fn bye(&mut self) {
        self.worker.bye();
    }
}

impl CountingRunner for BuiltIn {
    fn count(&mut self, n: u64, ops: u64) -> Result<CountedSample, RunError> {
        let started = faults_of_children(&self.worker);
        let done = self.worker.ask(n, ops, false)?;
        self.starts_others |= faults_of_children(&self.worker) > started;
        let counts = peak_of_tree(&mut self.worker, started, n, ops, PeakOf::Children)?;
        Ok(CountedSample { done, counts, same_interval: true })
    }

    fn trace(&mut self, n: u64, ops: u64, untraced_ns: u64) -> Result<TracedSample, RunError> {
        let limit_ns = self.worker.limits().tracing_ns(untraced_ns);
        let tracer = Tracer::attach(self.worker.pid(), TraceScope::Marked, limit_ns);
        let done = self.worker.ask(n, ops, tracer.is_ok());
        Ok(traced(tracer.and_then(Tracer::finish), done?).0)
    }
}

/// A worker in any language is counted from outside, from one idle state to the next. The calls
/// with which it read its order and wrote its reply are known from a traced sample and are
/// subtracted.
pub(super) struct ExternalWorker {
    worker: WorkerClient,
    sources: Sources,
    counters: Result<ProcessCounters, String>,
    of_protocol: Option<u64>,
    peak_of: PeakOf,
    allocations: Result<AllocationWorker, String>,
}

impl ExternalWorker {
    pub(super) fn new(
        worker: WorkerClient,
        sources: &Sources,
        peak_of: PeakOf,
        allocations: Result<AllocationWorker, RunError>,
    ) -> Result<ExternalWorker, RunError> {
        Ok(ExternalWorker {
            worker,
            sources: sources.clone(),
            counters: Err(String::new()),
            of_protocol: None,
            peak_of,
            allocations: or_why(allocations)?,
        })
    }

    fn count_events(&mut self, n: u64, ops: u64) -> Result<CountedSample, RunError> {
        let Ok(counters) = &self.counters else {
            let done = self.worker.ask(n, ops, false)?;
            return Ok(CountedSample { done, counts: Vec::new(), same_interval: true });
        };
        count::settle(self.worker.pid());
        let before = counters.read();
        let done = self.worker.ask(n, ops, false)?;
        count::settle(self.worker.pid());
        let mut counts = counters.since(&before);
        let of_protocol = self.of_protocol;
        counts.retain_mut(|(metric, count)| {
            if *metric == SYSCALLS {
                let Some(less) = of_protocol.and_then(|of_it| count.checked_sub(of_it)) else {
                    return false;
                };
                *count = less;
            }
            true
        });
        Ok(CountedSample { done, counts, same_interval: true })
    }

    fn scope(&self) -> Result<TraceScope, String> {
        let [orders, replies] = self.worker.pipes().map(|pipe| -> Result<PathBuf, String> {
            let pipe = pipe.ok_or("it was asked to end")?;
            let link = format!("/proc/self/fd/{}", pipe.as_raw_fd());
            std::fs::read_link(&link).map_err(|error| format!("{link}: {error}"))
        });
        Ok(TraceScope::Protocol { orders: orders?, replies: replies? })
    }
}

impl Child for ExternalWorker {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        let ready = self.worker.prepare(arguments)?;
        count::settle(self.worker.pid());
        self.counters = ProcessCounters::new(&self.sources, self.worker.pid());
        if let Ok(worker) = &mut self.allocations
            && let Err(why) = or_why(worker.prepare(arguments))?
        {
            self.allocations = Err(why);
        }
        Ok(ready)
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        let counters = self.counters.as_ref().err().into_iter();
        let counters =
            counters.flat_map(|why| self.sources.metrics().map(|metric| (metric, why.clone())));
        let allocations = self.allocations.as_ref().err().map(|why| missing_allocations(why));
        counters.chain(allocations.into_iter().flatten()).collect()
    }

    fn bye(&mut self) {
        self.worker.bye();
        if let Ok(worker) = &mut self.allocations {
            worker.bye();
        }
    }
}

impl CountingRunner for ExternalWorker {
    fn count(&mut self, n: u64, ops: u64) -> Result<CountedSample, RunError> {
        let started = faults_of_children(&self.worker);
        let mut counted = self.count_events(n, ops)?;
        counted.counts.extend(peak_of_tree(&mut self.worker, started, n, ops, self.peak_of)?);
        Ok(counted)
    }

    fn allocations(&mut self, n: u64, ops: u64) -> Result<Vec<(&'static str, u64)>, RunError> {
        let Ok(worker) = &mut self.allocations else { return Ok(Vec::new()) };
        match or_why(worker.count(n, ops))? {
            Ok(counts) => Ok(counts),
            Err(why) => {
                self.allocations = Err(why);
                Ok(Vec::new())
            }
        }
    }

    fn trace(&mut self, n: u64, ops: u64, untraced_ns: u64) -> Result<TracedSample, RunError> {
        count::settle(self.worker.pid());
        let limit_ns = self.worker.limits().tracing_ns(untraced_ns);
        let attach = |scope| Tracer::attach(self.worker.pid(), scope, limit_ns);
        let tracer = self.scope().and_then(attach);
        let done = self.worker.ask(n, ops, false);
        let (traced, of_protocol) = traced(tracer.and_then(Tracer::finish), done?);
        self.of_protocol = of_protocol.or(self.of_protocol);
        Ok(traced)
    }
}

/// A plain command is counted from its `execve` to its end.
pub(super) struct Program {
    command: Command,
    expanded: ExpandedCommand,
    output: Output,
    sources: Sources,
    limits: Limits,
    /// Why its allocations are not counted.
    uncountable: Option<String>,
    /// Why its memory cannot be read when it ends.
    no_peak: Option<String>,
    /// Why its events cannot be counted.
    no_counters: Option<String>,
}

/// Waits for a line on its input and then executes the command, with the same input and output as
/// in the timing pass.
const GATE: &str = "read -r go && in=$1 out=$2 && shift 2 && exec \"$@\" <\"$in\" >\"$out\"";

impl Program {
    pub(super) fn new(command: Command, sources: &Sources, limits: Limits) -> Program {
        let (expanded, output) = (ExpandedCommand::default(), Output::Nothing);
        Program {
            command,
            expanded,
            output,
            sources: sources.clone(),
            limits,
            uncountable: None,
            no_peak: None,
            no_counters: None,
        }
    }

    fn spawn(&self, n: u64) -> Result<Process, RunError> {
        let keeps = self.command.leaves.are_kept();
        let gate = if keeps { format!("{GATE} 2>/dev/null") } else { GATE.to_owned() };
        let gate = ["/bin/sh", "-c", &gate, "sh"].map(str::to_owned);
        let input = self.expanded.input.as_deref().unwrap_or("/dev/null").to_owned();
        let ends = [input, self.output.stdout_path()];
        let argv = gate.into_iter().chain(ends).chain(self.expanded.argv.iter().cloned());
        let argv: Vec<String> = argv.collect();
        let of_counting = [(COUNTING_VARIABLE, self.sources.to_variable())];
        let variables: Vec<_> = self.expanded.variables(n).into_iter().chain(of_counting).collect();
        let start = || Process::spawn(&argv, ChildStdio::Pipes, &variables, &self.limits);
        let mut process = keeper::started(keeps, start)?;
        process.watched = self.output.watched();
        Ok(process)
    }

    /// Lets the command begin, and waits for its end.
    fn release(
        &self,
        process: &mut Process,
        n: u64,
        known: &EarlierProcesses,
    ) -> Result<Done, RunError> {
        let failed = |error: &dyn std::fmt::Display| {
            RunError::Failed(format!("{}: waiting for it: {error}", self.expanded.name()))
        };
        let start_ns = clock::now_ns();
        let gate = process.child.stdin.take();
        let opened = gate.map_or(Ok(()), |mut gate| gate.write_all(b"go\n"));
        opened.map_err(|error| failed(&error))?;
        let deadline_ns = start_ns + self.limits.answer_ns;
        process.wait_for_exit(&self.limits, deadline_ns)?;
        match self.command.leaves {
            LeftProcesses::Ended => {}
            LeftProcesses::WaitedFor => {
                process.wait_for_others(known, &[process.pid()], &self.limits, deadline_ns)?;
            }
            LeftProcesses::Kept => {
                orphans::keep(&known.others(&[process.pid()]).running);
                process.keeps_others = true;
            }
        }
        Ok(Done { n, wall_ns: clock::now_ns() - start_ns, ops: 1, ..Done::default() })
    }

    fn end(&self, process: &mut Process) -> Result<(), RunError> {
        let name = self.expanded.name();
        match process.end() {
            Ok(status) if self.expanded.accepts.contain(status.code()) => Ok(()),
            Ok(status) => {
                let tail = process.quoted_tail();
                Err(RunError::Failed(format!("{name} {}{tail}", describe(status))))
            }
            Err(error) => Err(RunError::Failed(format!("{name}: waiting for it: {error}"))),
        }
    }
}

impl Child for Program {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.expanded = ExpandedCommand::new(&self.command, arguments);
        self.output = Output::new(&self.expanded, &self.limits)?;
        Ok(Ready::default())
    }

    fn before(&mut self, _n: u64) -> Result<(), RunError> {
        self.output.clear()
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        let allocations = self.uncountable.as_deref().map(missing_allocations);
        let peak = self.no_peak.iter().map(|why| (PEAK_RSS, why.clone()));
        let events = self.no_counters.iter();
        let events =
            events.flat_map(|why| self.sources.metrics().map(|metric| (metric, why.clone())));
        allocations.unwrap_or_default().into_iter().chain(peak).chain(events).collect()
    }
}

impl CountingRunner for Program {
    fn count(&mut self, n: u64, _ops: u64) -> Result<CountedSample, RunError> {
        let known = EarlierProcesses::now();
        let mut process = self.spawn(n)?;
        let counters = ProcessCounters::after_exec(&self.sources, process.child.id());
        let tracer = Tracer::attach(process.child.id(), TraceScope::Memory, u64::MAX);
        let done = self.release(&mut process, n, &known);
        let peak = tracer.and_then(Tracer::finish).map(|calls| calls.peak_rss_bytes);
        let done = done.and_then(|done| self.end(&mut process).map(|()| done));
        known.end_others();
        let done = done?;
        let mut counts = match counters {
            Ok(counters) => counters.read(),
            Err(why) => {
                self.no_counters = Some(why);
                Vec::new()
            }
        };
        match peak {
            Ok(peak) => counts.extend(peak.map(|bytes| (PEAK_RSS, bytes))),
            Err(why) => self.no_peak = Some(why),
        }
        Ok(CountedSample { done, counts, same_interval: false })
    }

    fn allocations(&mut self, n: u64, _ops: u64) -> Result<Vec<(&'static str, u64)>, RunError> {
        if self.command.leaves != LeftProcesses::Ended && self.uncountable.is_none() {
            let why = "what a command leaves running is not counted";
            self.uncountable = Some(why.to_owned());
        }
        if self.uncountable.is_some() {
            return Ok(Vec::new());
        }
        let stdin = input(self.expanded.input.as_deref(), &self.limits)?;
        // Where allocations are counted, no pipe is read.
        let output = if self.output.is_piped() { &Output::Nothing } else { &self.output };
        let (stdout, _) =
            output.stdout().map_err(|error| RunError::Failed(format!("its output: {error}")))?;
        let stdio = ChildStdio::Given(stdin, stdout);
        let counted = allocations_of_command(&self.expanded, n, stdio, &self.limits);
        match or_why(counted)? {
            Ok(counts) => Ok(counts),
            Err(why) => {
                self.uncountable = Some(why);
                Ok(Vec::new())
            }
        }
    }

    fn trace(&mut self, n: u64, _ops: u64, untraced_ns: u64) -> Result<TracedSample, RunError> {
        let known = EarlierProcesses::now();
        let mut process = self.spawn(n)?;
        let limit_ns = self.limits.tracing_ns(untraced_ns);
        let tracer = Tracer::attach(process.child.id(), TraceScope::Program, limit_ns);
        let done = self.release(&mut process, n, &known);
        let calls = tracer.and_then(Tracer::finish);
        let done = done.and_then(|done| self.end(&mut process).map(|()| done));
        known.end_others();
        let done = done?;
        Ok(traced(calls, done).0)
    }
}

/// The count increases when processes that the worker started have ended.
fn faults_of_children(worker: &WorkerClient) -> Option<u64> {
    Counters::open(worker.pid()).read()[Counter::MinorFaultsOfChildren]
}

/// Which processes' memory counts, for a process that starts others.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum PeakOf {
    /// That of all processes.
    All,
    /// Only that of its children: the process itself is the lab's own program, and the children do
    /// the work.
    Children,
}

/// The peak memory of the largest process of the method, if it has started any since; from a
/// separate sample, because each start and end of a process is stopped for it.
fn peak_of_tree(
    worker: &mut WorkerClient,
    started: Option<u64>,
    n: u64,
    ops: u64,
    peak_of: PeakOf,
) -> Result<Vec<(&'static str, u64)>, RunError> {
    if faults_of_children(worker) <= started {
        return Ok(Vec::new());
    }
    let mut own = Counters::open(worker.pid());
    own.start();
    let tracer = Tracer::attach(worker.pid(), TraceScope::Children, u64::MAX);
    worker.ask(n, ops, false)?;
    let own_peak = own.read()[Counter::PeakRssBytes];
    // Where the process cannot be traced, the timing pass has already noted that the peak is
    // unknown.
    let peak = tracer.and_then(Tracer::finish).ok().and_then(|calls| calls.peak_rss_bytes);
    let peak = match peak_of {
        PeakOf::Children => peak,
        PeakOf::All => peak.zip(own_peak).map(|(largest, own)| largest.max(own)),
    };
    Ok(peak.map(|bytes| (PEAK_RSS, bytes)).into_iter().collect())
}

fn traced(calls: Result<Calls, String>, done: Done) -> (TracedSample, Option<u64>) {
    let of_protocol = calls.as_ref().ok().map(|calls| calls.of_protocol);
    let traced = |calls: Calls| {
        let Calls { by_number, ns_by_number, transferred_bytes, .. } = calls;
        let named = |by_number: BTreeMap<u64, u64>| -> BTreeMap<String, u64> {
            by_number.into_iter().map(|(number, n)| (count::name(number), n)).collect()
        };
        TracedCalls {
            by_name: named(by_number),
            ns_by_name: named(ns_by_number),
            transferred_bytes,
        }
    };
    (TracedSample { done, calls: calls.map(traced) }, of_protocol)
}

// The allocations of foreign programs, counted in separate processes: the library that is
// preloaded for it makes system calls at each start, which must not be in the other counts.

type Counts = Vec<(&'static str, u64)>;

/// A worker with the preloaded library. It takes each sample again.
pub(super) struct AllocationWorker {
    worker: WorkerClient,
    shim: Shim,
}

impl AllocationWorker {
    /// Starts the process, whose hello is awaited when it prepares.
    pub(super) fn spawn(
        argv: &[String],
        limits: &Limits,
        other_variables: Option<(&'static str, String)>,
    ) -> Result<AllocationWorker, RunError> {
        let shim = Shim::new().map_err(RunError::Failed)?;
        let variables: Vec<_> = variables(&shim).into_iter().chain(other_variables).collect();
        let worker = WorkerClient::spawn(argv, &variables, limits.clone())?;
        Ok(AllocationWorker { worker, shim })
    }

    pub(super) fn prepare(&mut self, arguments: &Point) -> Result<(), RunError> {
        self.worker.prepare(arguments)?;
        self.shim.counts_still(self.worker.pid()).map_err(RunError::Failed)
    }

    pub(super) fn count(&mut self, n: u64, ops: u64) -> Result<Counts, RunError> {
        count::settle(self.worker.pid());
        self.shim.start();
        let done = self.worker.ask(n, ops, false)?;
        count::settle(self.worker.pid());
        let counts = self.shim.stop();
        if done.ops != ops {
            let why = format!("it did {} operations when {ops} were asked for", done.ops);
            return Err(RunError::Failed(why));
        }
        Ok(counts.to_vec())
    }

    pub(super) fn bye(&mut self) {
        self.worker.bye();
    }
}

/// Runs a plain command with the preloaded library, from its start to its end.
pub(super) fn allocations_of_command(
    command: &ExpandedCommand,
    n: u64,
    stdio: ChildStdio,
    limits: &Limits,
) -> Result<Counts, RunError> {
    let ExpandedCommand { argv, accepts, .. } = command;
    let failed =
        |error: &dyn std::fmt::Display| RunError::Failed(format!("waiting for it: {error}"));
    let shim = Shim::new().map_err(RunError::Failed)?;
    shim.start();
    let variables: Vec<_> = command.variables(n).into_iter().chain(variables(&shim)).collect();
    let mut process = Process::spawn(argv, stdio, &variables, limits)?;
    process.wait_for_exit(limits, clock::now_ns() + limits.answer_ns)?;
    let counts = shim.stop();
    let number = process.child.id();
    let status = process.end().map_err(|error| failed(&error))?;
    if !accepts.contain(status.code()) {
        let tail = process.quoted_tail();
        return Err(RunError::Failed(format!(
            "with the library that counts, it {}{tail}",
            describe(status)
        )));
    }
    shim.counts(number, &file_of(command.name())).map_err(RunError::Failed)?;
    Ok(counts.to_vec())
}

fn variables(shim: &Shim) -> Vec<(&'static str, String)> {
    [(COUNTING_VARIABLE, String::new())].into_iter().chain(shim.variables()).collect()
}

/// The executable of a command: the path itself, or the one that `execvp` would find.
fn file_of(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").filter(|_| !name.contains('/')).unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| Path::new(name).to_owned())
}

/// The reason why there are no counts; a stop request is returned as an error.
pub(super) fn or_why<T>(counted: Result<T, RunError>) -> Result<Result<T, String>, RunError> {
    match counted {
        Ok(counted) => Ok(Ok(counted)),
        Err(RunError::Stopped) => Err(RunError::Stopped),
        Err(RunError::Failed(why) | RunError::Skipped(why)) => Ok(Err(why)),
    }
}

/// The metrics that are missing for this reason.
pub(super) fn missing_allocations(why: &str) -> Vec<(&'static str, String)> {
    let text = format!("not countable: {why}; a worker may report its own counts");
    count::ALLOCATION_METRICS.map(|metric| (metric, text.clone())).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Stop;

    #[test]
    fn a_worker_of_each_kind_is_asked_to_end() {
        let worker = || {
            let argv = ["/bin/sh", "-c", "echo hello 1; read -r bye"].map(str::to_owned);
            let limits = Limits::new(60_000_000_000, &Stop::default());
            WorkerClient::start(&argv, &[], limits).unwrap()
        };
        let (mut built_in, none) = (BuiltIn::new(worker()), Err(RunError::Failed(String::new())));
        let mut foreign =
            ExternalWorker::new(worker(), &Sources::default(), PeakOf::All, none).unwrap();
        let are_asked = |workers: [&WorkerClient; 2]| workers.map(|w| w.pipes()[0].is_none());
        assert_eq!(are_asked([&built_in.worker, &foreign.worker]), [false; 2]);
        built_in.bye();
        foreign.bye();
        assert_eq!(are_asked([&built_in.worker, &foreign.worker]), [true; 2]);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod allocations_tests {
    use super::*;

    #[test]
    fn the_file_of_a_command_is_found_as_it_is_when_it_starts() {
        let sh = file_of("sh");
        assert!(sh.is_absolute() && sh.ends_with("sh"), "{}", sh.display());
        for name in ["./sh", "bin/sh", "/no/such/program", "no-such-program"] {
            assert_eq!(file_of(name), Path::new(name));
        }
    }
}
