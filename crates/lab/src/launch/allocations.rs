//! The allocations of foreign programs, counted in separate processes: the library that is
//! preloaded for it makes system calls at each start, which must not be in the other counts.

use std::path::{Path, PathBuf};

use super::expanded::ExpandedCommand;
use super::process::{ChildStdio, Process, describe};
use super::worker_client::WorkerClient;
use super::{Child, Limits, RunError};
use crate::clock;
use crate::count::{self, Shim};
use crate::param::Point;
use crate::protocol::COUNTING_VARIABLE;

type Counts = Vec<(&'static str, u64)>;

/// A worker with the preloaded library. It takes each sample again.
pub(super) struct Worker {
    worker: WorkerClient,
    shim: Shim,
}

impl Worker {
    /// Starts the process, whose hello is awaited when it prepares.
    pub(super) fn spawn(
        argv: &[String],
        limits: &Limits,
        other_variables: Option<(&'static str, String)>,
    ) -> Result<Worker, RunError> {
        let shim = Shim::new().map_err(RunError::Failed)?;
        let variables: Vec<_> = variables(&shim).into_iter().chain(other_variables).collect();
        let worker = WorkerClient::spawn(argv, &variables, limits.clone())?;
        Ok(Worker { worker, shim })
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
pub(super) fn of_command(
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
    let mut process = Process::spawn(argv, stdio, &variables, limits.dir.as_deref())?;
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
pub(super) fn missing(why: &str) -> Vec<(&'static str, String)> {
    let text = format!("not countable: {why}; a worker may tell its own");
    count::ALLOCATION_METRICS.map(|metric| (metric, text.clone())).to_vec()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
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
