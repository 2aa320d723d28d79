//! A plain command: started once per sample and timed from outside.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use super::expanded::ExpandedCommand;
use super::orphans::Known;
use super::output::Output;
use super::process::{ChildStdio, Process, describe};
use super::{Limits, RawSample, Ready, RunError, Runner};
use crate::clock;
use crate::counters::Counters;
use crate::experiment::{Command, ExitCodes};
use crate::metric::{EXIT_CODE, PEAK_RSS};
use crate::param::Point;
use crate::protocol::Done;

pub(super) struct CommandRunner {
    command: Command,
    expanded: ExpandedCommand,
    output: Output,
    /// The size of the data or of the command's input, because a command cannot report what it
    /// read.
    bytes: u64,
    limits: Limits,
    /// Whether long-lived methods are measured from their process start in this run.
    fresh: bool,
    /// Why a command that does nothing could not be timed.
    no_noop: Option<String>,
}

impl CommandRunner {
    pub(super) fn new(command: Command, limits: Limits, fresh: bool) -> CommandRunner {
        let (expanded, output) = (ExpandedCommand::default(), Output::Nothing);
        CommandRunner { command, expanded, output, bytes: 0, limits, fresh, no_noop: None }
    }

    /// Runs it once; `started` receives its process id. Ends the processes that it leaves running.
    pub(super) fn run(
        &mut self,
        n: u64,
        started: &mut dyn FnMut(u32),
    ) -> Result<RawSample, RunError> {
        let known = Known::now();
        let taken = self.run_and_wait(n, started);
        known.end_others();
        taken
    }

    fn run_and_wait(
        &mut self,
        n: u64,
        started: &mut dyn FnMut(u32),
    ) -> Result<RawSample, RunError> {
        let name = self.expanded.name().to_owned();
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            RunError::Failed(format!("{name}: {what}: {error}"))
        };
        let stdin = input(self.expanded.input.as_deref(), &self.limits)?;
        let mut piped = None;
        let stdio = if self.output.is_shown() {
            ChildStdio::Shown(stdin)
        } else {
            let stdout = self.output.stdout().map_err(|error| failed("its output", &error))?;
            piped = stdout.1;
            ChildStdio::Given(stdin, stdout.0)
        };
        let dir = self.limits.dir.as_deref();
        let variables = self.expanded.variables(n);
        let start_ns = clock::now_ns();
        let mut process = Process::spawn(&self.expanded.argv, stdio, &variables, dir)?;
        // posix_spawn returns when the new program has taken over.
        let startup_ns = clock::now_ns() - start_ns;
        process.watched = self.output.watched();
        process.discard(piped)?;
        started(process.child.id());
        process.wait_for_exit(&self.limits, start_ns + self.limits.answer_ns)?;
        let wall_ns = clock::now_ns() - start_ns;
        // The process has ended but is not reaped: the kernel still has its counters, but no longer
        // its memory figures.
        let used = Counters::open(process.child.id()).read();
        let ended = process.end_with_usage();
        let (status, tree) = ended.map_err(|error| failed("waiting for it", &error))?;
        if !self.expanded.accepts.contain(status.code()) {
            let how = describe(status);
            let tail = process.quoted_tail();
            return Err(RunError::Failed(format!("{name} {how}{tail}")));
        }
        let answer = self.output.answer()?;
        let metrics = match &self.expanded.accepts {
            ExitCodes::Zero => Vec::new(),
            _ => vec![(EXIT_CODE.to_owned(), exit_code(status))],
        };
        let done = Done { n, wall_ns, ops: 1, bytes: self.bytes, answer, metrics };
        let used = used.of_tree(&tree);
        Ok(RawSample { done, used, startup_ns: Some(startup_ns), ..RawSample::default() })
    }

    /// The time to start and end a process at this moment.
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
}

/// The code by which a shell reports how a command ended.
fn exit_code(status: ExitStatus) -> f64 {
    let by_signal = || status.signal().map(|signal| 128 + signal);
    f64::from(status.code().or_else(by_signal).unwrap_or_default())
}

fn noop_ns(argv: &[String], limits: &Limits) -> Result<u64, RunError> {
    let start_ns = clock::now_ns();
    let mut process = Process::spawn(argv, ChildStdio::Null, &[], limits.dir.as_deref())?;
    let failed = |error: &dyn std::fmt::Display| RunError::Failed(format!("{}: {error}", argv[0]));
    process.wait_for_exit(limits, start_ns + limits.answer_ns)?;
    let wall_ns = clock::now_ns() - start_ns;
    let status = process.end().map_err(|error| failed(&error))?;
    if status.success() { Ok(wall_ns) } else { Err(failed(&describe(status))) }
}

impl Runner for CommandRunner {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.expanded = ExpandedCommand::new(&self.command, arguments);
        self.output = Output::new(&self.expanded, &self.limits)?;
        let data = arguments.text("file").ok().or(self.expanded.input.as_deref());
        let data = data.and_then(|file| std::fs::metadata(path(file, &self.limits)).ok());
        self.bytes = data.filter(std::fs::Metadata::is_file).map_or(0, |file| file.len());
        Ok(Ready::default())
    }

    fn before(&mut self, _n: u64) -> Result<(), RunError> {
        self.output.clear()
    }

    fn go(&mut self, n: u64, _ops: u64) -> Result<RawSample, RunError> {
        let taken = self.run(n, &mut |_| {})?;
        let noop_ns = self.noop_ns()?;
        Ok(RawSample { noop_ns, ..taken })
    }

    /// Each sample is a process of its own: earlier samples came from other processes.
    fn has_died(&self) -> bool {
        true
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        let why =
            "the memory of a plain command is gone when it has ended: the counting pass reads it";
        let of_all = [(PEAK_RSS, why.to_owned())];
        let noop = self.no_noop.iter().map(|why| ("noop_ns", why.clone()));
        let why = "a plain command is not prepared; its wall is its total, with its start-up";
        let fresh = ["prepare_ns", "first_touch_ns", "total_ns"].map(|name| (name, why.to_owned()));
        of_all.into_iter().chain(noop).chain(fresh.into_iter().filter(|_| self.fresh)).collect()
    }

    fn bye(&mut self) {}
}

/// A path as the command resolves it.
pub(super) fn path(word: &str, limits: &Limits) -> PathBuf {
    limits.dir.as_deref().unwrap_or(Path::new("")).join(word)
}

/// The standard input of a command.
pub(super) fn input(file: Option<&str>, limits: &Limits) -> Result<OwnedFd, RunError> {
    let path = path(file.unwrap_or("/dev/null"), limits);
    let opened = File::open(&path).map(OwnedFd::from);
    opened.map_err(|error| RunError::Failed(format!("its input {}: {error}", path.display())))
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
            let limits = Limits { answer_ns: 1, dir: None, stop: Stop::default() };
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
