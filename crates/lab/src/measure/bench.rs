//! The state that the three passes over a run (the sessions, the counting, the timeline) share.

use std::thread::available_parallelism;

use anyhow::Result;

use super::job::{Job, Progress, Record};
use crate::cache;
use crate::experiment::{Data, How, Method};
use crate::launch::{Launch, RunError, Stop};
use crate::param::Point;
use crate::protocol::Done;
use crate::run::{CacheState, Cell, Pass, Run, Sample, Warning};

pub(crate) struct Bench<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) run: &'a mut Run,
    pub(crate) data: &'a [Data],
    pub(crate) launch: &'a mut dyn Launch,
    pub(crate) record: &'a mut dyn Record,
    pub(crate) stop: &'a Stop,
}

/// What ends a pass early.
#[derive(Debug)]
pub(crate) enum Halt {
    /// A signal was received.
    Stopped,
    Error(anyhow::Error),
}

impl From<anyhow::Error> for Halt {
    fn from(error: anyhow::Error) -> Halt {
        Halt::Error(error)
    }
}

/// The result of a pass; none if a signal stopped it.
pub(crate) fn unless_stopped<T>(ended: Result<T, Halt>) -> Result<Option<T>> {
    match ended {
        Ok(done) => Ok(Some(done)),
        Err(Halt::Stopped) => Ok(None),
        Err(Halt::Error(error)) => Err(error),
    }
}

/// Why a method takes no more samples, where the run continues without it.
pub(crate) fn reason(ended: RunError) -> Result<String, Halt> {
    match ended {
        RunError::Stopped => Err(Halt::Stopped),
        RunError::Failed(why) | RunError::Skipped(why) => Ok(why),
    }
}

/// The position of a sample in its session or pass.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub(super) round: u32,
    pub(super) slot: u32,
    pub(super) warm_up: bool,
}

impl Position {
    pub(super) fn sample(self, pass: Pass, session: u32, done: &Done) -> Sample {
        let Position { round, slot, warm_up } = self;
        Sample {
            pass,
            session,
            round,
            slot,
            warm_up,
            not_counted: None,
            ops: done.ops,
            bytes: done.bytes,
            answer: done.answer.clone(),
        }
    }
}

/// A method may hold this many times the bytes of its files in memory: a decoded document is some
/// times as large as its text, and a runtime keeps what it will not collect yet.
const MEMORY_FACTOR: u64 = 16;

/// The number of methods that have enough memory at the same time.
fn fitting(available_bytes: Option<u64>, file_bytes: u64) -> usize {
    let needed_bytes = file_bytes.saturating_mul(MEMORY_FACTOR).max(1);
    let fitting = available_bytes.map_or(1, |bytes| bytes / needed_bytes);
    usize::try_from(fitting).unwrap_or(usize::MAX)
}

impl<'a> Bench<'a> {
    /// Whether methods may work on this point at the same time while no sample is taken: they only
    /// read, so that none of them can notice another. In a cold run the files of all are evicted.
    pub(super) fn allows_several(&self, point: usize) -> bool {
        self.data[point].is_only_read && self.run.plan.cache != CacheState::Cold
    }

    /// The number of methods that may then work at the same time: one for each CPU, unless the
    /// memory that they may need is not available.
    pub(super) fn most_at_once(&self) -> usize {
        let cpus = available_parallelism().map_or(1, usize::from);
        let len = |data: &Data| -> u64 {
            let files = data.files.iter().filter_map(|file| file.metadata().ok());
            files.map(|file| file.len()).sum()
        };
        let largest = self.data.iter().map(len).max().unwrap_or_default();
        cpus.min(fitting(cache::available_bytes(), largest)).max(1)
    }

    /// Called before every long operation.
    pub(crate) fn check_stop(&self) -> Result<(), Halt> {
        if self.stop.signal().is_some() { Err(Halt::Stopped) } else { Ok(()) }
    }

    pub(super) fn preparing(&mut self, cell: usize) {
        let (method, of) = (&self.run.cells[cell].method, self.run.cells.len());
        self.record.progress(self.run, &Progress::Preparing { method, done: cell, of });
    }

    /// The method of a cell, with the index of its point and data.
    pub(crate) fn method(&self, cell: usize) -> Result<(&'a Method, usize), RunError> {
        let cell = &self.run.cells[cell];
        let method = self.job.methods.iter().find(|method| method.name == cell.method);
        let point = self.run.points.iter().position(|point| cell.point.is_part_of(point));
        let missing = || RunError::Failed(format!("there is no method {} now", cell.method));
        Ok((method.ok_or_else(missing)?, point.unwrap_or_default()))
    }

    /// The arguments that a method receives for a point.
    pub(crate) fn arguments(&self, method: &Method, point: usize) -> Point {
        let data = &self.data[point];
        let declared =
            |name: &str| self.job.experiment.params.iter().any(|param| param.name == name);
        let is_given =
            |name: &str| method.reads.contains(&name) || !declared(name) || name == "file";
        let of_old = data.old_arguments.as_ref().filter(|_| matches!(method.how, How::Old { .. }));
        of_old.unwrap_or(&data.arguments).only(is_given)
    }

    /// Whether a process of the cell need not compute the digest of its bytes again. An older
    /// program does not know how to leave that out, and its new side must do the same work.
    pub(super) fn has_digest(&self, cell: usize) -> bool {
        let is_old = |method: &Method| matches!(method.how, How::Old { .. });
        self.run.cells[cell].digest.is_some() && !self.job.methods.iter().any(is_old)
    }

    /// Operations per sample of the cell in the timing pass.
    pub(crate) fn ops(&self, cell: usize) -> u64 {
        let samples = &self.run.cells[cell].samples;
        samples.iter().rfind(|sample| sample.counts()).map_or(1, |sample| sample.ops)
    }

    /// Called before a sample of a cold run. In the timing pass, the proof detects files that could
    /// not be evicted; in the other passes, such a sample is that of a cached file.
    pub(crate) fn evict(&self, point: usize) {
        if self.run.plan.cache == CacheState::Cold {
            for file in &self.data[point].files {
                let _ = cache::evict(file);
            }
        }
    }

    /// By cell, whether it belongs to the reference.
    pub(super) fn are_of_reference(&self) -> Vec<bool> {
        let reference = self.job.methods.first().map(|method| method.name.as_str());
        let is_one = |cell: &Cell| Some(cell.method.as_str()) == reference;
        self.run.cells.iter().map(is_one).collect()
    }

    /// Adds a note why a metric or another part is missing, for one method or for all. Each note is
    /// added once.
    pub(crate) fn note_missing(&mut self, method: Option<&str>, what: &str, why: &str) {
        let new = Warning { method: method.map(str::to_owned), ..Warning::missing(what, why) };
        let known = |old: &Warning| old.kind == new.kind && old.method == new.method;
        if !self.run.notes.iter().any(known) {
            self.run.notes.push(new);
        }
    }

    pub(super) fn push(
        &mut self,
        cell: usize,
        sample: Sample,
        values: &[(&str, f64)],
    ) -> Result<()> {
        self.run.cells[cell].push(sample, values);
        self.record.sample(self.run, cell)
    }

    /// The status, language or digest of a cell has changed.
    pub(super) fn changed(&mut self, cell: usize) -> Result<()> {
        self.record.cell(self.run, cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_may_need_sixteen_times_its_file() {
        assert_eq!([0, 100, 101, 1601].map(|size| fitting(Some(1600), size)), [1600, 1, 0, 0]);
        assert_eq!([fitting(Some(1600), 20), fitting(None, 20)], [5, 1]);
    }
}
