//! A plain command: started once per sample and timed from outside.

use std::io::PipeReader;
use std::iter;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use model::metric::{COPIES_PER_S, EXIT_CODE, PEAK_RSS};
use model::param::Point;
use regex_lite::Regex;
use rustix::process::Pid;

use super::expanded::{ExpandedCommand, Output, figures, input, input_path};
use super::orphans::{self, EarlierProcesses};
use super::process::{ChildStdio, Process, WaitWatch, describe, is_serial};
use super::{
    Child, CommandWaits, Limits, RawSample, Ready, RunError, Runner, TracedRunner, keeper,
};
use crate::clock::{self, TreeUsage};
use crate::counters::{self, Counter, Reading};
use crate::experiment::{Command, ExitCodes, LeftProcesses, PrintedMetric};
use crate::protocol::Done;

pub(super) struct CommandRunner {
    command: Command,
    expanded: ExpandedCommand,
    output: Output,
    printed: Vec<(PrintedMetric, Regex)>,
    /// The size of the data or of the command's input, because a command cannot report what it
    /// read.
    bytes: u64,
    limits: Limits,
    /// Whether long-lived methods are measured from their process start in this run.
    fresh: bool,
    /// Why a command that does nothing could not be timed.
    no_noop: Option<String>,
    /// None before the first sample, and while a process has it.
    waits: Option<WaitWatch>,
    /// Whether its tasks run one after the other; none before that is known.
    is_serial: Option<bool>,
}

/// A command that runs, with its copies.
struct Started {
    process: Process,
    others: Vec<Process>,
    start_ns: u64,
    startup_ns: u64,
}

impl CommandRunner {
    pub(super) fn new(command: Command, limits: Limits, fresh: bool) -> CommandRunner {
        let (expanded, output) = (ExpandedCommand::default(), Output::Nothing);
        CommandRunner {
            command,
            expanded,
            output,
            printed: Vec::new(),
            bytes: 0,
            limits,
            fresh,
            no_noop: None,
            waits: None,
            is_serial: None,
        }
    }

    /// Runs it once; `started` receives its process id. Ends the processes that it leaves running.
    pub(super) fn run(
        &mut self,
        n: u64,
        started: &mut dyn FnMut(u32),
    ) -> Result<RawSample, RunError> {
        let known = EarlierProcesses::now();
        if self.command.leaves != LeftProcesses::Ended && !known.are_known() {
            let why = "what a command leaves running cannot be seen on this system";
            return Err(RunError::Skipped(why.to_owned()));
        }
        let taken = self.run_and_wait(n, started, &known);
        if !matches!(taken, Ok((_, true))) {
            known.end_others();
        }
        taken.map(|(taken, _)| taken)
    }

    /// Starts it and its copies.
    fn start(&mut self, n: u64, started: &mut dyn FnMut(u32)) -> Result<Started, RunError> {
        let (stdio, piped) = self.stdio(&self.output)?;
        let variables = self.expanded.variables(n);
        let mut waits = self.waits.take().unwrap_or_else(WaitWatch::open);
        waits.begin();
        let start_ns = clock::now_ns();
        let mut process = self.spawn(stdio, &variables)?;
        // posix_spawn returns when the new program has taken over.
        let startup_ns = clock::now_ns() - start_ns;
        waits.started();
        process.waits = Some(waits);
        process.watched = self.output.watched();
        process.discard(piped)?;
        started(process.child.id());
        let others = self.start_others(&variables)?;
        Ok(Started { process, others, start_ns, startup_ns })
    }

    /// Where its streams go, and the end of its output that is read.
    fn stdio(&self, output: &Output) -> Result<(ChildStdio, Option<PipeReader>), RunError> {
        let stdin = input(self.expanded.input.as_deref(), &self.limits)?;
        if output.is_shown() {
            return Ok((ChildStdio::Shown(stdin), None));
        }
        let name = self.expanded.name();
        let failed = |error| RunError::Failed(format!("{name}: its output: {error}"));
        let (stdout, piped) = output.stdout().map_err(failed)?;
        let stdio = if self.command.leaves.are_kept() {
            ChildStdio::Kept(stdin, stdout)
        } else {
            ChildStdio::Given(stdin, stdout)
        };
        Ok((stdio, piped))
    }

    fn spawn(&self, stdio: ChildStdio, variables: &[(&str, String)]) -> Result<Process, RunError> {
        let spawn = || Process::spawn(&self.expanded.argv, stdio, variables, &self.limits);
        keeper::started(self.command.leaves.are_kept(), spawn)
    }

    /// The sample, and whether all of its processes are known to have ended and to be reaped.
    fn run_and_wait(
        &mut self,
        n: u64,
        started: &mut dyn FnMut(u32),
        known: &EarlierProcesses,
    ) -> Result<(RawSample, bool), RunError> {
        let keeps = self.command.leaves.are_kept();
        let Started { mut process, mut others, start_ns, startup_ns } = self.start(n, started)?;
        let own: Vec<Pid> = iter::once(&process).chain(&others).map(Process::pid).collect();
        let wall_ns = self.wait(&mut process, &mut others, start_ns, known)?;
        let left = known.others_in_a_moment(&own);
        if keeps {
            orphans::keep(&left.running);
            iter::once(&mut process).chain(&mut others).for_each(|one| one.keeps_others = true);
        }
        // The process has ended but is not reaped: the kernel still has its counters, but no longer
        // its memory figures.
        let mut used = counters::read_ended(process.child.id());
        let first_ended = (process.child.id(), used[Counter::RunQueueWaitNs]);
        let waits = process.waits.as_mut().map(|waits| waits.take(start_ns, first_ended));
        let mut waits = waits.unwrap_or_default();
        if !left.running.is_empty() {
            // What these waited is not known.
            waits.tree = None;
        }
        self.waits = process.waits.take();
        let (status, tree) = self.reap_all(&mut process, &mut others, &left.ended)?;
        if !self.expanded.accepts.contain(status.code()) {
            let how = describe(status);
            let (name, tail) = (self.expanded.name(), process.quoted_tail());
            return Err(RunError::Failed(format!("{name} {how}{tail}")));
        }
        let answer = self.output.answer()?;
        let mut metrics = match &self.expanded.accepts {
            ExitCodes::Zero => Vec::new(),
            _ => vec![(EXIT_CODE.to_owned(), exit_code(status))],
        };
        if !self.printed.is_empty() {
            // A run that failed need not print its figures.
            let must_print = status.success();
            metrics.extend(figures(&self.printed, &self.output.text()?, must_print)?);
        }
        let copies = u64::from(self.expanded.copies);
        if copies > 1 {
            // What only the kernel knows of each process is not that of all.
            used = Reading::new(used.at_rest);
            metrics.push((COPIES_PER_S.to_owned(), copies as f64 * 1e9 / wall_ns.max(1) as f64));
        }
        let bytes = self.bytes * copies;
        let done = Done { n, wall_ns, ops: 1, bytes, answer, metrics, totals: None };
        let used = used.of_tree(&tree, counters::counts_device_bytes());
        self.is_serial = self.is_serial.or(is_serial(&waits, tree.cpu.all_ns, wall_ns));
        waits.is_serial = self.is_serial.unwrap_or(false);
        let left_processes = left.running.len() as u64;
        let none_is_left = left_processes == 0 && left.ended.is_empty();
        let taken = RawSample {
            done,
            used,
            startup_ns: Some(startup_ns),
            waits,
            left_processes: if keeps { 0 } else { left_processes },
            kept_processes: if keeps { left_processes } else { 0 },
            forgets_children: forgets_children(&waits, tree.cpu.all_ns),
            ..RawSample::default()
        };
        Ok((taken, none_is_left))
    }

    /// How the command ended, or the first of its copies that failed, and what all have used; those
    /// that have ended while nobody waited for them are reaped here.
    fn reap_all(
        &self,
        first: &mut Process,
        copies: &mut [Process],
        orphans: &[Pid],
    ) -> Result<(ExitStatus, TreeUsage), RunError> {
        let failed = |error: std::io::Error| {
            RunError::Failed(format!("{}: waiting for it: {error}", self.expanded.name()))
        };
        let (mut status, mut tree) = first.end_with_usage().map_err(failed)?;
        for copy in copies {
            let (other, own) = copy.end_with_usage().map_err(failed)?;
            tree = tree.plus(&own);
            if !other.success() && self.expanded.accepts.contain(status.code()) {
                status = other;
            }
        }
        for orphan in orphans {
            if let Ok((_, own)) = clock::reap(orphan.as_raw_nonzero().get() as u32) {
                tree = tree.plus(&own);
            }
        }
        Ok((status, tree))
    }

    /// Waits until all have ended, without reaping them, and returns the time since the start.
    fn wait(
        &self,
        first: &mut Process,
        others: &mut [Process],
        start_ns: u64,
        known: &EarlierProcesses,
    ) -> Result<u64, RunError> {
        let own: Vec<Pid> = iter::once(&*first).chain(&*others).map(Process::pid).collect();
        let deadline_ns = start_ns.saturating_add(self.limits.answer_ns);
        let mut waits = first.waits.take();
        let mut all = iter::once(&mut *first).chain(others);
        let mut waited = all.try_for_each(|copy| {
            copy.waits = waits.take();
            let waited = copy.wait_for_exit(&self.limits, deadline_ns);
            waits = copy.waits.take();
            waited
        });
        let mut end_ns = clock::now_ns();
        if self.command.leaves == LeftProcesses::WaitedFor && waited.is_ok() {
            first.waits = waits.take();
            let others = first.wait_for_others(known, &own, &self.limits, deadline_ns);
            waits = first.waits.take();
            waited = others.map(|last_ns| end_ns = last_ns.unwrap_or(end_ns));
        }
        let wall_ns = end_ns - start_ns;
        if let Some(waits) = &mut waits {
            waits.ended();
        }
        first.waits = waits;
        // Where every failure counts, so does a run that took too long: it is killed afterwards.
        let is_late = wall_ns >= self.limits.answer_ns && self.expanded.accepts == ExitCodes::All;
        match waited {
            Err(RunError::Failed(_)) if is_late => Ok(wall_ns),
            waited => waited.map(|()| wall_ns),
        }
    }

    /// The copies besides the first one, whose output is discarded as that of the first one is.
    fn start_others(&self, variables: &[(&str, String)]) -> Result<Vec<Process>, RunError> {
        let start = |_| {
            let (stdio, _) = self.stdio(&Output::Nothing)?;
            self.spawn(stdio, variables)
        };
        (1..self.expanded.copies).map(start).collect()
    }
}

/// Whether the kernel has kept no account of some of the processes: where a process ignores
/// SIGCHLD, nobody waits for its children. Known where the kernel reports all that end.
fn forgets_children(waits: &CommandWaits, cpu_ns: u64) -> bool {
    let differ_ns = cpu_ns / 100 + TICK_NS;
    waits.tree.is_some_and(|tree| tree.cpu_ns > cpu_ns.saturating_add(differ_ns))
}

/// A tick of the kernel takes no longer.
const TICK_NS: u64 = 10_000_000;

/// The code by which a shell reports how a command ended.
fn exit_code(status: ExitStatus) -> f64 {
    let by_signal = || status.signal().map(|signal| 128 + signal);
    f64::from(status.code().or_else(by_signal).unwrap_or_default())
}

fn noop_ns(argv: &[String], limits: &Limits) -> Result<u64, RunError> {
    let start_ns = clock::now_ns();
    let mut process = Process::spawn(argv, ChildStdio::Null, &[], limits)?;
    let failed = |error: &dyn std::fmt::Display| RunError::Failed(format!("{}: {error}", argv[0]));
    process.wait_for_exit(limits, start_ns + limits.answer_ns)?;
    let wall_ns = clock::now_ns() - start_ns;
    let status = process.end().map_err(|error| failed(&error))?;
    if status.success() { Ok(wall_ns) } else { Err(failed(&describe(status))) }
}

impl Child for CommandRunner {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.expanded = ExpandedCommand::new(&self.command, arguments);
        self.output = Output::new(&self.expanded, &self.limits)?;
        let printed = self.expanded.metrics.iter();
        let printed = printed.map(|metric| Ok((metric.clone(), metric.regex()?)));
        self.printed = printed
            .collect::<anyhow::Result<_>>()
            .map_err(|error| RunError::Failed(format!("{error:#}")))?;
        let data = arguments.text("file").ok().or(self.expanded.input.as_deref());
        let data = data.and_then(|file| std::fs::metadata(input_path(file, &self.limits)).ok());
        self.bytes = data.filter(std::fs::Metadata::is_file).map_or(0, |file| file.len());
        Ok(Ready::default())
    }

    fn before(&mut self, _n: u64) -> Result<(), RunError> {
        self.output.clear()
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        let why = "that of a plain command is gone when it has ended; runs of --counting 5 read it";
        let of_all = [(PEAK_RSS, why.to_owned())];
        let noop = self.no_noop.iter().map(|why| ("noop_ns", why.clone()));
        let why = "a plain command is not prepared; its wall is its total, with its start-up";
        let fresh = ["prepare_ns", "first_touch_ns", "total_ns"].map(|name| (name, why.to_owned()));
        of_all.into_iter().chain(noop).chain(fresh.into_iter().filter(|_| self.fresh)).collect()
    }
}

impl Runner for CommandRunner {
    fn go(&mut self, n: u64, _ops: u64) -> Result<RawSample, RunError> {
        self.run(n, &mut |_| {})
    }

    fn noop_ns(&mut self) -> Result<Option<u64>, RunError> {
        if self.no_noop.is_some() {
            return Ok(None);
        }
        let argv = self.expanded.noop();
        match noop_ns(&argv, &self.limits) {
            Ok(ns) => Ok(Some(ns)),
            Err(RunError::Stopped) => Err(RunError::Stopped),
            Err(RunError::Failed(why) | RunError::Skipped(why)) => {
                self.no_noop = Some(why);
                Ok(None)
            }
        }
    }

    /// Each sample is a process of its own: earlier samples came from other processes.
    fn has_died(&self) -> bool {
        true
    }
}

/// A plain command is a new process for each sample.
impl TracedRunner for CommandRunner {
    fn pid(&self) -> Option<u32> {
        None
    }

    fn go(
        &mut self,
        n: u64,
        _ops: u64,
        started: &mut dyn FnMut(u32),
    ) -> Result<RawSample, RunError> {
        self.run(n, started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Stop;

    #[test]
    fn the_payload_is_the_data_else_the_input_and_no_other_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, len: usize| {
            let path = dir.path().join(name);
            std::fs::write(&path, vec![0; len]).unwrap();
            path.display().to_string()
        };
        let (data, input, other) = (file("data", 7), file("input", 100), file("other", 1000));
        let check = |has_data: bool, input: Option<&str>, words: &[&str], shell: bool, bytes| {
            let mut point = Point::default();
            point.set("other", other.as_str());
            if has_data {
                point.set("file", data.as_str());
            }
            let input = input.map(str::to_owned);
            let plain = Command::plain(words.iter().copied());
            let command = if shell { Command::script(words[0]) } else { plain };
            let command = Command { input, ..command };
            let limits = Limits::new(1, &Stop::default());
            let mut runner = CommandRunner::new(command, limits, false);
            runner.prepare(&point).unwrap();
            assert_eq!(runner.bytes, bytes, "{words:?} {has_data}");
        };
        check(true, None, &["cat", "{file}"], false, 7);
        check(true, None, &["{other}", "{file}", "if={file}"], false, 7);
        check(true, None, &["cat {file} {other} >{other}"], true, 7);
        check(true, Some("{file}"), &["cat"], false, 7);
        check(false, Some(&input), &["cat", "{other}"], false, 100);
        check(false, Some("/dev/null"), &["{other}"], false, 0);
        check(false, None, &["{other}"], false, 0);
    }
}
