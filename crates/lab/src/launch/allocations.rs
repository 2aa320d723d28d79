//! What foreign programs allocate, counted in processes of their own: the library that is preloaded for
//! it makes system calls at each start, which the other counts must not have.

use std::path::{Path, PathBuf};

use super::process::{Process, Talk, describe};
use super::speaker::Speaker;
use super::{Ended, Limits, Runner};
use crate::clock;
use crate::count::{self, Shim};
use crate::param::Point;
use crate::protocol::COUNTING_VARIABLE;

type Counts = Vec<(&'static str, u64)>;

/// A worker with the library. It takes each sample again.
pub(super) struct Worker {
    speaker: Speaker,
    shim: Shim,
}

impl Worker {
    pub(super) fn start(
        argv: &[String],
        limits: &Limits,
        arguments: &Point,
    ) -> Result<Worker, Ended> {
        let shim = Shim::new().map_err(Ended::Failed)?;
        let mut speaker = Speaker::start(argv, &variables(&shim), limits.clone())?;
        speaker.prepare(arguments)?;
        shim.counts_still(speaker.pid()).map_err(Ended::Failed)?;
        Ok(Worker { speaker, shim })
    }

    pub(super) fn count(&mut self, n: u64, ops: u64) -> Result<Counts, Ended> {
        count::settle(self.speaker.pid());
        self.shim.start();
        let done = self.speaker.ask(n, ops, false)?;
        count::settle(self.speaker.pid());
        let counts = self.shim.stop();
        if done.ops != ops {
            let why = format!("it did {} operations when {ops} were asked for", done.ops);
            return Err(Ended::Failed(why));
        }
        Ok(counts.to_vec())
    }

    pub(super) fn bye(&mut self) {
        self.speaker.bye();
    }
}

/// Runs a plain command with the library, from its start to its end.
pub(super) fn of_command(argv: &[String], talk: Talk, limits: &Limits) -> Result<Counts, Ended> {
    let name = argv.first().map_or("", String::as_str);
    let failed = |error: &dyn std::fmt::Display| Ended::Failed(format!("waiting for it: {error}"));
    let shim = Shim::new().map_err(Ended::Failed)?;
    shim.start();
    let mut process = Process::spawn(argv, talk, &variables(&shim), limits.dir.as_deref())?;
    process.wait_for_exit(limits, clock::now_ns() + limits.answer_ns)?;
    let counts = shim.stop();
    let number = process.child.id();
    let status = process.end().map_err(|error| failed(&error))?;
    if !status.success() {
        let tail = process.quoted_tail();
        return Err(Ended::Failed(format!(
            "with the library that counts, it {}{tail}",
            describe(status)
        )));
    }
    shim.counts(number, &file_of(name)).map_err(Ended::Failed)?;
    Ok(counts.to_vec())
}

fn variables(shim: &Shim) -> Vec<(&'static str, String)> {
    [(COUNTING_VARIABLE, String::new())].into_iter().chain(shim.variables()).collect()
}

/// The file that a command names: itself, or found as `execvp` does.
fn file_of(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").filter(|_| !name.contains('/')).unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| Path::new(name).to_owned())
}

/// Why there are no counts, unless all is to stop.
pub(super) fn or_why<T>(counted: Result<T, Ended>) -> Result<Result<T, String>, Ended> {
    match counted {
        Ok(counted) => Ok(Ok(counted)),
        Err(Ended::Stopped) => Err(Ended::Stopped),
        Err(Ended::Failed(why) | Ended::Skipped(why)) => Ok(Err(why)),
    }
}

/// For the metrics that are missing for this reason.
pub(super) fn missing(why: &str) -> Vec<(&'static str, String)> {
    let text = format!("not countable: {why}; a worker may tell its own");
    count::ALLOCATION_METRICS.map(|metric| (metric, text.clone())).to_vec()
}
