//! A plain command: started once per sample and timed from outside.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::filled::Filled;
use super::output::Output;
use super::process::{Process, Talk, describe};
use super::{Ended, Limits, Ready, Runner, Taken};
use crate::clock;
use crate::counters::Counters;
use crate::experiment::Command;
use crate::metric::PEAK_RSS;
use crate::param::Point;
use crate::protocol::Done;

pub(super) struct CommandRunner {
    command: Command,
    filled: Filled,
    output: Output,
    /// The sizes of the files that its arguments name: a command cannot say what it read.
    bytes: u64,
    limits: Limits,
    /// The others are asked for what came before the first touch.
    fresh: bool,
    /// Why no command that does nothing could be timed.
    no_noop: Option<String>,
}

impl CommandRunner {
    pub(super) fn new(command: Command, limits: Limits, fresh: bool) -> CommandRunner {
        let (filled, output) = (Filled::default(), Output::Nothing);
        CommandRunner { command, filled, output, bytes: 0, limits, fresh, no_noop: None }
    }

    /// Once; `started` is told its process.
    pub(super) fn run(&mut self, n: u64, started: &mut dyn FnMut(u32)) -> Result<Taken, Ended> {
        let name = self.filled.name().to_owned();
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            Ended::Failed(format!("{name}: {what}: {error}"))
        };
        let stdin = input(self.filled.input.as_deref(), &self.limits)?;
        let stdout = self.output.stdout().map_err(|error| failed("its output", &error))?;
        let dir = self.limits.dir.as_deref();
        let start_ns = clock::now_ns();
        let mut process = Process::spawn(&self.filled.argv, Talk::Given(stdin, stdout), &[], dir)?;
        // posix_spawn returns when the new program has taken over.
        let startup_ns = clock::now_ns() - start_ns;
        process.watched = self.output.watched();
        started(process.child.id());
        process.wait_for_exit(&self.limits, start_ns + self.limits.answer_ns)?;
        let wall_ns = clock::now_ns() - start_ns;
        // It has ended but is not reaped: the kernel still has its counters, though no memory.
        let used = Counters::open(process.child.id()).read();
        let ended = process.end_with_usage();
        let (status, tree) = ended.map_err(|error| failed("waiting for it", &error))?;
        if !status.success() {
            let how = describe(status);
            let tail = process.quoted_tail();
            return Err(Ended::Failed(format!("{name} {how}{tail}")));
        }
        let answer = self.output.answer()?;
        let done = Done { n, wall_ns, ops: 1, bytes: self.bytes, answer, ..Done::default() };
        let used = used.of_tree(&tree);
        Ok(Taken { done, used, startup_ns: Some(startup_ns), ..Taken::default() })
    }

    /// What the start and the end of a process cost just now.
    fn noop_ns(&mut self) -> Result<Option<u64>, Ended> {
        if self.no_noop.is_some() {
            return Ok(None);
        }
        let argv = self.filled.noop();
        match noop_ns(&argv, &self.limits) {
            Ok(ns) => Ok(Some(ns)),
            Err(Ended::Stopped) => Err(Ended::Stopped),
            Err(Ended::Failed(why) | Ended::Skipped(why)) => {
                self.no_noop = Some(why);
                Ok(None)
            }
        }
    }
}

fn noop_ns(argv: &[String], limits: &Limits) -> Result<u64, Ended> {
    let start_ns = clock::now_ns();
    let mut process = Process::spawn(argv, Talk::Null, &[], limits.dir.as_deref())?;
    let failed = |error: &dyn std::fmt::Display| Ended::Failed(format!("{}: {error}", argv[0]));
    process.wait_for_exit(limits, start_ns + limits.answer_ns)?;
    let wall_ns = clock::now_ns() - start_ns;
    let status = process.end().map_err(|error| failed(&error))?;
    if status.success() { Ok(wall_ns) } else { Err(failed(&describe(status))) }
}

impl Runner for CommandRunner {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, Ended> {
        self.filled = Filled::new(&self.command, arguments);
        self.output = Output::new(&self.filled.answer, &self.limits)?;
        let files = self.filled.named.iter().map(|word| path(word, &self.limits));
        let files = files.filter_map(|file| std::fs::metadata(file).ok());
        self.bytes = files.filter(std::fs::Metadata::is_file).map(|file| file.len()).sum();
        Ok(Ready::default())
    }

    fn before(&mut self) -> Result<(), Ended> {
        self.output.clear()
    }

    fn go(&mut self, n: u64, _ops: u64) -> Result<Taken, Ended> {
        let taken = self.run(n, &mut |_| {})?;
        let noop_ns = self.noop_ns()?;
        Ok(Taken { noop_ns, ..taken })
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

/// As the command sees it.
pub(super) fn path(word: &str, limits: &Limits) -> PathBuf {
    limits.dir.as_deref().unwrap_or(Path::new("")).join(word)
}

/// The standard input of a command.
pub(super) fn input(file: Option<&str>, limits: &Limits) -> Result<OwnedFd, Ended> {
    let path = path(file.unwrap_or("/dev/null"), limits);
    let opened = File::open(&path).map(OwnedFd::from);
    opened.map_err(|error| Ended::Failed(format!("its input {}: {error}", path.display())))
}
