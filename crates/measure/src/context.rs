//! The job of a measurement, the observer of the growing run, and what the passes over a run share:
//! their state and the order of a round.

use std::thread::available_parallelism;

use analysis::StoppingDecision;
use anyhow::Result;
use model::param::Point;
use model::random::SplitMix64;
use model::run::{CacheState, Cell, Pass, Run, Sample, Warning};

use crate::cache;
use crate::experiment::{Data, Execution, Experiment, Method};
use crate::launch::{Launch, RunError, Runner, Stop};
use crate::protocol::Done;

// The state that the three passes over a run (the sessions, the counting, the timeline) share.

pub(crate) struct MeasureContext<'a> {
    pub job: &'a MeasureJob<'a>,
    pub run: &'a mut Run,
    pub data: &'a [Data],
    pub launch: &'a mut dyn Launch,
    pub record: &'a mut dyn Record,
    pub stop: &'a Stop,
}

/// What ends a pass early.
#[derive(Debug)]
pub enum Interrupted {
    /// A signal was received.
    Stopped,
    Error(anyhow::Error),
}

impl From<anyhow::Error> for Interrupted {
    fn from(error: anyhow::Error) -> Interrupted {
        Interrupted::Error(error)
    }
}

/// The result of a pass; none if a signal stopped it.
pub(crate) fn unless_stopped<T>(ended: Result<T, Interrupted>) -> Result<Option<T>> {
    match ended {
        Ok(done) => Ok(Some(done)),
        Err(Interrupted::Stopped) => Ok(None),
        Err(Interrupted::Error(error)) => Err(error),
    }
}

/// Why a method takes no more samples, where the run continues without it.
pub fn reason(ended: RunError) -> Result<String, Interrupted> {
    match ended {
        RunError::Stopped => Err(Interrupted::Stopped),
        RunError::Failed(why) | RunError::Skipped(why) => Ok(why),
    }
}

/// The position of a sample in its session or pass.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub round: u32,
    pub slot: u32,
    pub warm_up: bool,
}

impl Position {
    pub(crate) fn sample(self, pass: Pass, session: u32, done: &Done) -> Sample {
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
            answer: done.answer.as_deref().map(Into::into),
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

impl<'a> MeasureContext<'a> {
    /// Whether methods may work on this point at the same time while no sample is taken: they only
    /// read, so that none of them can notice another. In a cold run the files of all are evicted.
    pub(crate) fn allows_several(&self, point: usize) -> bool {
        self.data[point].is_only_read && self.run.plan.cache != CacheState::Cold
    }

    /// The number of methods that may then work at the same time: one for each CPU, unless the
    /// memory that they may need is not available.
    pub(crate) fn most_at_once(&self) -> usize {
        let cpus = available_parallelism().map_or(1, usize::from);
        let len = |data: &Data| -> u64 {
            let files = data.files.iter().filter_map(|file| file.metadata().ok());
            files.map(|file| file.len()).sum()
        };
        let largest = self.data.iter().map(len).max().unwrap_or_default();
        cpus.min(fitting(cache::available_bytes(), largest)).max(1)
    }

    /// Called before every long operation.
    pub(crate) fn check_stop(&self) -> Result<(), Interrupted> {
        if self.stop.signal().is_some() { Err(Interrupted::Stopped) } else { Ok(()) }
    }

    pub(crate) fn preparing(&mut self, cell: usize) {
        let (method, of) = (&self.run.cells[cell].method, self.run.cells.len());
        self.record.progress(self.run, &RunProgress::Preparing { method, done: cell, of });
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
        let of_old = data
            .old_arguments
            .as_ref()
            .filter(|_| matches!(method.execution, Execution::Baseline { .. }));
        of_old.unwrap_or(&data.arguments).only(is_given)
    }

    /// Whether a process of the cell need not compute the digest of its bytes again. An older
    /// program does not know how to leave that out, and its new side must do the same work.
    pub(crate) fn has_digest(&self, cell: usize) -> bool {
        let is_old = |method: &Method| matches!(method.execution, Execution::Baseline { .. });
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

    /// Called before a warm sample of a method that has a control group of its own. Pages that are
    /// charged to another group cost it nothing, so that they are evicted and read in its own.
    pub(crate) fn fill(&self, runner: &mut dyn Runner, point: usize) -> Result<(), RunError> {
        let files = &self.data[point].files;
        let plan = &self.run.plan;
        let is_warm = plan.cache == CacheState::Warm && plan.memory_limit_bytes.is_some();
        if !is_warm || files.is_empty() {
            return Ok(());
        }
        for file in files {
            let _ = cache::evict(file);
        }
        runner.fill(files)
    }

    /// The state of the page cache that is proved. A limit of memory may be too small for the
    /// files, so that a warm one is only brought about.
    pub(crate) fn proved_state(&self) -> CacheState {
        match (self.run.plan.cache, self.run.plan.memory_limit_bytes) {
            (CacheState::Warm, Some(_)) => CacheState::AsIs,
            (cache, _) => cache,
        }
    }

    /// By cell, whether it belongs to the reference.
    pub(crate) fn are_of_reference(&self) -> Vec<bool> {
        let reference = self.job.methods.first().map(|method| method.name.as_str());
        let is_one = |cell: &Cell| Some(cell.method.as_str()) == reference;
        self.run.cells.iter().map(is_one).collect()
    }

    /// Adds a note why a metric or another part is missing, for one method or for all. Each note is
    /// added once.
    pub(crate) fn note_missing(&mut self, method: Option<&str>, what: &str, why: &str) {
        let new = Warning { method: method.map(str::to_owned), ..Warning::missing(what, why) };
        self.note_once(new);
    }

    /// Adds a note, unless there is one of its kind about its method.
    pub(crate) fn note_once(&mut self, new: Warning) {
        let known = |old: &Warning| old.kind == new.kind && old.method == new.method;
        if !self.run.notes.iter().any(known) {
            self.run.notes.push(new);
        }
    }

    /// The failure of a method after its times were taken becomes a note that this part is missing.
    pub(crate) fn or_missing<T>(
        &mut self,
        cell: usize,
        what: &str,
        ended: Result<T, RunError>,
    ) -> Result<Option<T>, Interrupted> {
        let why = match ended {
            Ok(done) => return Ok(Some(done)),
            Err(ended) => reason(ended)?,
        };
        let method = self.run.cells[cell].method.clone();
        self.note_missing(Some(&method), what, &why);
        Ok(None)
    }

    pub(crate) fn push(
        &mut self,
        cell: usize,
        sample: Sample,
        values: &[(&str, f64)],
    ) -> Result<()> {
        self.run.cells[cell].push(sample, values);
        self.record.sample(self.run, cell)
    }

    /// The status, language or digest of a cell has changed.
    pub(crate) fn changed(&mut self, cell: usize) -> Result<()> {
        self.record.cell(self.run, cell)
    }
}

// The measurement job, and the observer of the growing run.

/// The methods and points to measure, and the means to do so.
pub struct MeasureJob<'a> {
    pub experiment: &'a Experiment,
    /// The chosen methods of the experiment, and the user's own; the first is the reference.
    pub methods: Vec<Method>,
    /// Before the run has this number of sessions, neither a decision nor its time ends it.
    pub least_sessions: u32,
}

/// Receives the run as it grows, for example to store it or to show its progress. The default
/// methods do nothing.
pub trait Record {
    /// The run has its cells and no samples yet; the implementation sets its id.
    fn begin(&mut self, run: &mut Run) -> Result<()>;
    /// The status, language or digest of a cell has changed.
    fn cell(&mut self, _run: &Run, _cell: usize) -> Result<()> {
        Ok(())
    }
    /// The cell has a new last sample.
    fn sample(&mut self, _run: &Run, _cell: usize) -> Result<()> {
        Ok(())
    }
    /// A preparation or a sample of the cell took this long, with all that belongs to it.
    fn took(&mut self, _run: &Run, _cell: usize, _ns: u64) {}
    /// The session was interrupted: its samples, which are in the run, no longer count.
    fn discard_session(&mut self, _run: &Run, _session: u32) -> Result<()> {
        Ok(())
    }
    /// The plan has changed: the deciding measure was chosen.
    fn plan_changed(&mut self, _run: &Run) -> Result<()> {
        Ok(())
    }
    /// Called between samples, with the run until now.
    fn progress(&mut self, _run: &Run, _progress: &RunProgress<'_>) {}
    /// The environment, the notes and `complete` are final.
    fn finish(&mut self, _run: &Run) -> Result<()> {
        Ok(())
    }
}

/// The current state of the measurement.
#[derive(Clone, Debug)]
pub enum RunProgress<'a> {
    Preparing {
        method: &'a str,
        done: usize,
        of: usize,
    },
    /// The round, counted over all sessions.
    Round {
        round: u32,
        /// The maximum number of rounds.
        rounds: u32,
        spent_ns: u64,
        /// Remaining time of the rounds; none before the first one has been taken.
        left_ns: Option<u64>,
    },
    /// The time of the run is too short for its first look: the run continues for about `ns` until
    /// it has the sessions that it needs.
    Longer {
        ns: u64,
    },
    /// The time will not suffice for the sessions of a verdict: a limit that would suffice, and the
    /// given limit, if any.
    Short {
        limit_ns: u64,
        given_ns: Option<u64>,
    },
    /// After a session of a run of sequential design in which verdicts may have changed.
    Looked {
        decided: &'a StoppingDecision,
        /// By cell, whether it takes part in no later session.
        left: &'a [bool],
    },
    Counting {
        round: u32,
        rounds: u32,
    },
    Tracing {
        method: &'a str,
        done: usize,
        of: usize,
    },
    Profiling {
        method: &'a str,
        done: usize,
        of: usize,
    },
}

// The random order of the methods in a round; it depends only on the stored seed.

/// A uniformly random order of `0..n` for this round of this session.
pub fn order(seed: u64, session: u32, round: u32, n: usize) -> Vec<usize> {
    let mut random = SplitMix64(
        seed ^ (u64::from(session) << 32 | u64::from(round)).wrapping_mul(0x9e37_79b9_7f4a_7c15),
    );
    // The first outputs of neighbouring seeds are well mixed, but not independent of the seed's
    // bits.
    random.draw();
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    order
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

#[cfg(test)]
mod order_tests {
    use super::*;

    #[test]
    fn the_order_depends_on_seed_session_and_round_alone() {
        assert_eq!(order(7, 1, 2, 10), order(7, 1, 2, 10));
        let others = [order(8, 1, 2, 10), order(7, 2, 2, 10), order(7, 1, 3, 10)];
        assert!(others.iter().all(|other| *other != order(7, 1, 2, 10)));
    }

    #[test]
    fn every_method_takes_every_place_equally_often() {
        const N: usize = 6;
        const ROUNDS: u32 = 6000;
        let mut places = [[0u32; N]; N];
        let mut follows = [[0u32; N]; N];
        for round in 0..ROUNDS {
            let order = order(42, 0, round, N);
            for (place, method) in order.iter().enumerate() {
                places[*method][place] += 1;
            }
            for pair in order.windows(2) {
                follows[pair[0]][pair[1]] += 1;
            }
        }
        let chi_square = |counts: &[u32], expected: f64| -> f64 {
            counts.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum()
        };
        // 25 degrees of freedom: above 52.6 with a probability of 0.001.
        let all: Vec<u32> = places.iter().flatten().copied().collect();
        assert!(chi_square(&all, f64::from(ROUNDS) / N as f64) < 52.6, "{places:?}");
        // Each ordered pair is adjacent in 1 / N of the rounds; with 29 degrees of freedom the
        // bound is 58.3.
        let pairs: Vec<u32> =
            (0..N * N).filter(|i| i / N != i % N).map(|i| follows[i / N][i % N]).collect();
        assert!(chi_square(&pairs, f64::from(ROUNDS) / N as f64) < 58.3, "{follows:?}");
    }
}
