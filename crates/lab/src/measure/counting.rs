//! The counting pass: after all times are taken, it takes some samples per cell in fresh processes
//! and counts what costs time to count. A failure in this pass loses the counts of a cell and
//! nothing else.

use anyhow::Result;

use super::agreement::{agree, has};
use super::bench::{Bench, Halt, Position, reason};
use super::job::Progress;
use super::order::order;
use super::schedule;
use crate::clock;
use crate::count::{ALLOCATION_METRICS, Sources};
use crate::launch::{Counted, CountingRunner, RunError, Traced};
use crate::metric::{COUNTING_WALL, PEAK_RSS, SYSCALLS, is_counted_apart, per_operation};
use crate::run::{Cell, Pass, Run, Status};
use crate::warning::{CALLS_BY_NAME, FEWER_COUNTS, PROCESSOR_COUNTERS};

/// All samples have numbers of four digits, because a worker that reads its orders byte by byte
/// then makes the same number of system calls for each.
const FIRST_NUMBER: u64 = 1000;
/// Tracing this many calls takes some seconds.
const TRACED_MAX: f64 = 300_000.0;

/// Counts what the plan requires and the run does not have yet, but begins nothing after `ends_ns`.
pub(super) fn pass(bench: &mut Bench<'_>, ends_ns: u64) -> Result<(), Halt> {
    if (0..bench.run.cells.len()).all(|cell| samples_left(bench.run, cell) == 0) {
        return Ok(());
    }
    let sources = Sources::look();
    let earlier = bench.run.cells.iter().flat_map(|cell| &cell.samples);
    let session = earlier.filter(|s| s.pass == Pass::Counting).map(|s| s.session + 1).max();
    let cells = bench.run.cells.iter().map(|_| State::Idle).collect();
    let session = session.unwrap_or(0);
    let slow = slow(bench);
    Counting { bench, ends_ns, sources, session, slow, cells }.run()
}

fn samples_left(run: &Run, index: usize) -> usize {
    let cell = &run.cells[index];
    if cell.status != Status::Measured || cell.n(Pass::Timing) == 0 {
        return 0;
    }
    let taken = cell.n(Pass::Counting);
    if agree(cell) { 0 } else { (run.plan.counting as usize).saturating_sub(taken) }
}

/// The cells that took part once per session: their counts would take minutes.
fn slow(bench: &Bench<'_>) -> Vec<bool> {
    let samples_ns = bench.run.cells.iter().map(|cell| {
        let mut walls =
            cell.counted("wall_ns").map(|(sample, wall_ns)| wall_ns * sample.ops as f64);
        walls.next().unwrap_or_default() as u64
    });
    let samples_ns: Vec<u64> = samples_ns.collect();
    schedule::slow(&samples_ns, &bench.are_of_reference(), bench.run.plan.time_limit_ns)
}

struct Counting<'a, 'b> {
    bench: &'a mut Bench<'b>,
    ends_ns: u64,
    sources: Sources,
    session: u32,
    /// By cell of the run: whether it is counted only once.
    slow: Vec<bool>,
    /// By cell of the run.
    cells: Vec<State>,
}

/// The state of a cell of the run in this pass.
enum State {
    /// The cell is not counted.
    Idle,
    Live(Live),
    /// Counting of the cell has ended, for this reason.
    Lost(String),
}

struct Live {
    runner: Box<dyn CountingRunner>,
    ops: u64,
    /// The number of the next sample.
    n: u64,
    /// Index into the points and their data.
    point: usize,
    /// Why its system calls could not be traced.
    untraced: Option<String>,
}

impl Live {
    /// Takes one sample. Its allocations come from a separate sample, unless the method reports
    /// them itself: the figures of a runtime about itself are more accurate than those seen from
    /// outside.
    fn count(&mut self) -> Result<Counted, RunError> {
        self.runner.before(self.n)?;
        let mut counted = self.runner.count(self.n, self.ops)?;
        let own = |name: &String| ALLOCATION_METRICS.contains(&name.as_str());
        if !counted.done.metrics.iter().any(|(name, _)| own(name)) {
            self.runner.before(self.n)?;
            counted.counts.extend(self.runner.allocations(self.n, self.ops)?);
        }
        Ok(counted)
    }
}

impl Counting<'_, '_> {
    fn run(mut self) -> Result<(), Halt> {
        for cell in 0..self.bench.run.cells.len() {
            if samples_left(self.bench.run, cell) == 0 {
                continue;
            }
            self.bench.check_stop()?;
            if clock::now_ns() >= self.ends_ns {
                let why = "no time was left; give more --time, or choose fewer methods";
                self.cells[cell] = State::Lost(why.to_owned());
                continue;
            }
            self.bench.preparing(cell);
            self.cells[cell] = match self.prepare(cell) {
                Ok(live) => State::Live(live),
                Err(ended) => lost(ended)?,
            };
            self.warm_up(cell)?;
        }
        self.rounds()?;
        self.explain();
        for state in &mut self.cells {
            if let State::Live(live) = state {
                live.runner.bye();
            }
        }
        Ok(())
    }

    fn prepare(&mut self, cell: usize) -> Result<Live, RunError> {
        let (method, point) = self.bench.method(cell)?;
        let experiment = self.bench.job.experiment.name;
        let has_digest = self.bench.has_digest(cell);
        let launch = &mut self.bench.launch;
        let mut runner = launch.start_counting(experiment, method, &self.sources, has_digest)?;
        runner.prepare(&self.bench.arguments(method, point))?;
        Ok(Live { runner, ops: self.bench.ops(cell), n: FIRST_NUMBER, point, untraced: None })
    }

    /// The first sample of a process does work that later samples need not repeat. The second one
    /// collects the calls by name, unless all later samples do so.
    fn warm_up(&mut self, cell: usize) -> Result<(), Halt> {
        if self.slow[cell] {
            if let State::Live(live) = &mut self.cells[cell] {
                live.untraced =
                    Some("a sample takes too long to look at each of its calls".to_owned());
            }
            return Ok(());
        }
        self.sample(cell, Position { round: 0, slot: 0, warm_up: true })?;
        if !self.sources.counts_syscalls() {
            return Ok(());
        }
        let calls = self.bench.run.cells[cell].values.get(SYSCALLS);
        let calls = calls.and_then(|column| column.last()).filter(|per_op| !per_op.is_nan());
        let State::Live(live) = &mut self.cells[cell] else { return Ok(()) };
        let calls = calls.map_or(0.0, |per_op| per_op * live.ops as f64);
        if calls > TRACED_MAX {
            live.untraced = Some(format!("{calls:.0} calls are too many to look at each of them"));
        } else {
            self.trace(cell)?;
        }
        Ok(())
    }

    fn rounds(&mut self) -> Result<(), Halt> {
        let left: Vec<usize> = (0..self.bench.run.cells.len())
            .map(|cell| samples_left(self.bench.run, cell))
            .collect();
        let at_most = |cell: usize, left: usize| if self.slow[cell] { left.min(1) } else { left };
        let left: Vec<usize> =
            left.into_iter().enumerate().map(|(cell, left)| at_most(cell, left)).collect();
        let rounds = left.iter().max().copied().unwrap_or_default();
        let last = self.bench.run.cells.iter().flat_map(|cell| &cell.samples);
        let last = last.filter(|s| s.counts_in(Pass::Counting)).map(|s| s.round).max();
        let first = last.map_or(1, |last| last + 1);
        let start_ns = clock::now_ns();
        for i in 0..rounds {
            let now_ns = clock::now_ns();
            let spent_ns = now_ns - start_ns;
            let half_round_ns = spent_ns.checked_div(i as u64).unwrap_or_default() / 2;
            let is_over = spent_ns + half_round_ns > self.bench.run.plan.time_limit_ns
                || now_ns + half_round_ns > self.ends_ns;
            if i > 0 && is_over {
                break;
            }
            let round = first + i as u32;
            let progress = Progress::Counting { round: i as u32, rounds: rounds as u32 };
            self.bench.record.progress(self.bench.run, &progress);
            // The sessions of the timing pass are numbered from 0.
            let order = order(self.bench.run.plan.seed, u32::MAX, round, left.len());
            let takes_part =
                |cell: &usize| left[*cell] > i && samples_left(self.bench.run, *cell) > 0;
            let cells: Vec<usize> = order.into_iter().filter(takes_part).collect();
            for (slot, cell) in cells.into_iter().enumerate() {
                self.bench.check_stop()?;
                if self.bench.run.plan.limits_all && clock::now_ns() >= self.ends_ns {
                    break;
                }
                self.sample(cell, Position { round, slot: slot as u32, warm_up: false })?;
            }
        }
        Ok(())
    }

    fn sample(&mut self, index: usize, position: Position) -> Result<(), Halt> {
        let State::Live(live) = &mut self.cells[index] else { return Ok(()) };
        self.bench.evict(live.point);
        live.n += 1;
        let mut counted = match live.count() {
            Ok(counted) => counted,
            Err(ended) => {
                self.cells[index] = lost(ended)?;
                return Ok(());
            }
        };
        // The first sample of a process takes a different time from those after it.
        counted.same_interval &= !self.bench.run.plan.fresh;
        let mut values = values(&counted);
        let by_ptrace = !position.warm_up && !self.sources.counts_syscalls() && !self.slow[index];
        if by_ptrace && let Some(per_op) = self.trace(index)? {
            values.retain(|(name, _)| *name != SYSCALLS);
            values.push((SYSCALLS, per_op));
        }
        let sample = position.sample(Pass::Counting, self.session, &counted.done);
        self.bench.push(index, sample, &values)?;
        Ok(())
    }

    /// Traces each call of a sample that is not kept. Returns the number of calls per operation.
    fn trace(&mut self, index: usize) -> Result<Option<f64>, Halt> {
        let State::Live(live) = &mut self.cells[index] else { return Ok(None) };
        live.n += 1;
        let traced = live.runner.before(live.n).and_then(|()| live.runner.trace(live.n, live.ops));
        let Traced { done, calls } = match traced {
            Ok(traced) => traced,
            Err(ended) => {
                self.cells[index] = lost(ended)?;
                return Ok(None);
            }
        };
        let calls = match calls {
            Ok(calls) => calls,
            Err(why) => {
                live.untraced = Some(why);
                return Ok(None);
            }
        };
        let ops = done.ops as f64;
        let total: u64 = calls.values().sum();
        let per_op = calls.into_iter().map(|(name, n)| (name, n as f64 / ops)).collect();
        self.bench.run.cells[index].syscalls_by_name = Some(per_op);
        self.bench.changed(index)?;
        Ok(Some(total as f64 / ops))
    }

    /// Adds a note with the reason for each metric that a cell lacks.
    fn explain(&mut self) {
        let hardware = self.sources.missing().clone();
        for (metric, why) in hardware.iter().filter(|(metric, _)| **metric != SYSCALLS) {
            self.bench.note_missing(None, metric, why);
        }
        let metrics: Vec<&str> = std::iter::once(SYSCALLS)
            .chain(ALLOCATION_METRICS)
            .chain(self.sources.metrics().filter(|metric| *metric != SYSCALLS))
            .collect();
        for (index, state) in self.cells.iter().enumerate() {
            let (lost, missing, untraced) = match state {
                State::Idle => continue,
                State::Lost(why) => {
                    let why = format!("the counting pass failed: {why}");
                    (Some(why.clone()), vec![(PEAK_RSS, why)], None)
                }
                State::Live(live) => (None, live.runner.missing(), live.untraced.clone()),
            };
            let method = self.bench.run.cells[index].method.clone();
            for (metric, why) in missing.iter().filter(|(metric, _)| *metric == PEAK_RSS) {
                if self.bench.run.cells[index].counted(metric).next().is_none() {
                    self.bench.note_missing(Some(&method), metric, why);
                }
            }
            for metric in &metrics {
                if has(&self.bench.run.cells[index], metric) {
                    continue;
                }
                let own = missing.iter().find(|(known, _)| known == metric);
                let own = own.map(|(_, why)| why.clone());
                let why = lost.clone().or(own).or_else(|| {
                    let general = hardware.get(metric).cloned().filter(|_| *metric == SYSCALLS);
                    let both = [general, untraced.clone()].into_iter().flatten();
                    Some(both.collect::<Vec<_>>().join("; ")).filter(|why| !why.is_empty())
                });
                let is_reported = |known: &&str| has(&self.bench.run.cells[index], known);
                let reports_others = ALLOCATION_METRICS.iter().any(is_reported);
                let unknown = if ALLOCATION_METRICS.contains(metric) && reports_others {
                    "the method reports its own allocations, but not this"
                } else if ALLOCATION_METRICS.contains(metric) {
                    "the program was built without the allocator that counts"
                } else {
                    "the counter was shared with others"
                };
                let why = why.unwrap_or_else(|| unknown.to_owned());
                self.bench.note_missing(Some(&method), metric, &why);
            }
            if let Some(why) = lost.filter(|_| has(&self.bench.run.cells[index], SYSCALLS)) {
                self.bench.note_missing(Some(&method), FEWER_COUNTS, &why);
            }
            if let Some(why) = untraced.filter(|_| has(&self.bench.run.cells[index], SYSCALLS)) {
                self.bench.note_missing(Some(&method), CALLS_BY_NAME, &why);
            }
        }
        forget_known_peaks(self.bench.run);
        let user_only = self.sources.without_kernel().join(", ");
        if !user_only.is_empty() {
            let text = "what the kernel does for a method is left out; see \
                        kernel.perf_event_paranoid";
            self.bench.note_missing(None, &format!("{PROCESSOR_COUNTERS} ({user_only})"), text);
        }
    }
}

/// The timing pass cannot measure the peak of processes that a method starts, and notes the reason.
/// Where this pass has the peak at all points of the method, the note is removed.
fn forget_known_peaks(run: &mut Run) {
    run.notes.retain(|note| {
        let of = |cell: &&Cell| Some(cell.method.as_str()) == note.method.as_deref();
        let cells = || run.cells.iter().filter(of).filter(|cell| cell.n(Pass::Timing) > 0);
        let known = cells().any(|cell| has(cell, PEAK_RSS))
            && cells().all(|cell| cell.counted(PEAK_RSS).next().is_some());
        !(known && note.missing_metric().is_some_and(|(metric, _)| metric == PEAK_RSS))
    });
}

fn lost(ended: RunError) -> Result<State, Halt> {
    reason(ended).map(State::Lost)
}

/// The metrics of this pass, per operation: those that were counted from outside, then those that
/// the method has counted itself.
fn values(counted: &Counted) -> Vec<(&str, f64)> {
    let done = &counted.done;
    let ops = done.ops.max(1) as f64;
    let mut values: Vec<(&str, f64)> =
        counted.counts.iter().map(|(name, n)| (*name, per_operation(name, *n, done.ops))).collect();
    for (name, value) in &done.metrics {
        if is_counted_apart(name) && !values.iter().any(|(known, _)| known == name) {
            values.push((name, *value));
        }
    }
    if counted.same_interval {
        values.push((COUNTING_WALL, done.wall_ns as f64 / ops));
    }
    values
}
