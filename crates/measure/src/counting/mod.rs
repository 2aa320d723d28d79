//! The counting pass: after all times are taken, it takes some samples per cell in fresh processes
//! and counts what costs time to count. A failure in this pass loses the counts of a cell and
//! nothing else.
//!
//! A sample that counts is taken while no other one is. What comes before it (the start, the
//! warm-up, the traced sample) and after it (the allocations) is done for several cells at the same
//! time where none of them can see what another does.

mod counted_method;

use std::cmp::Reverse;
use std::mem;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};

use model::metric::{COUNTING_WALL, PEAK_RSS, SYSCALLS, TRANSFERRED};
use model::run::{CacheState, Cell, Pass, Run, Sample, Status, Uncounted, Warning};
use model::warning::{CALLS_BY_NAME, FEWER_COUNTS, PROCESSOR_COUNTERS};

use self::counted_method::{CountedAs, CountedMethod, CountingTask, Rules, Step, values};
use super::context::{Interrupted, MeasureContext, Position, RunProgress, order, reason};
use super::schedule::limit::no_time_to_count;
use super::schedule::{Schedule, roster};
use crate::clock;
use crate::count::{ALLOCATION_METRICS, Sources};
use crate::launch::RunError;

/// All samples have numbers of four digits, because a worker that reads its orders byte by byte
/// then makes the same number of system calls for each.
const FIRST_NUMBER: u64 = 1000;

/// Counts what the plan requires and the run does not have yet, but begins nothing after `ends_ns`.
pub(super) fn pass(
    context: &mut MeasureContext<'_>,
    schedule: &Schedule,
    ends_ns: u64,
) -> Result<(), Interrupted> {
    if (0..context.run.cells.len()).all(|cell| samples_left(context.run, cell) == 0) {
        return Ok(());
    }
    let sources = Sources::look();
    let earlier = context.run.cells.iter().flat_map(|cell| &cell.samples);
    let session = earlier.filter(|s| s.pass == Pass::Counting).map(|s| s.session + 1).max();
    let cells = context.run.cells.iter().map(|_| CountingState::Idle).collect();
    let session = session.unwrap_or(0);
    let samples_ns = samples_ns(context.run);
    let time_limit_ns = context.run.plan.time_limit_ns;
    let slow = roster::slow(&samples_ns, &context.are_of_reference(), time_limit_ns);
    let at_once = context.most_at_once();
    let began_ns = clock::now_ns();
    let counting =
        Counting { context, began_ns, ends_ns, sources, session, samples_ns, slow, at_once, cells };
    counting.run(schedule)
}

fn samples_left(run: &Run, index: usize) -> usize {
    let cell = &run.cells[index];
    if cell.status != Status::Measured || cell.n(Pass::Timing) == 0 {
        return 0;
    }
    let taken = cell.n(Pass::Counting);
    let is_known = agree(cell) && !(takes_little(run) && differs(run, index));
    if is_known { 0 } else { (run.plan.counting as usize).saturating_sub(taken) }
}

/// Whether the time is over after this number of rounds: less than half of another one fits into
/// it. The first one is always taken.
fn is_too_late(rounds: u64, spent_ns: u64, limit_ns: u64) -> bool {
    spent_ns.checked_div(rounds).is_some_and(|round_ns| spent_ns + round_ns / 2 > limit_ns)
}

/// By cell, how long its first sample took that counts.
fn samples_ns(run: &Run) -> Vec<u64> {
    let samples_ns = run.cells.iter().map(|cell| {
        let mut walls =
            cell.counted("wall_ns").map(|(sample, wall_ns)| wall_ns * sample.ops as f64);
        walls.next().unwrap_or_default() as u64
    });
    samples_ns.collect()
}

struct Counting<'a, 'b> {
    context: &'a mut MeasureContext<'b>,
    began_ns: u64,
    ends_ns: u64,
    sources: Sources,
    session: u32,
    /// By cell of the run.
    samples_ns: Vec<u64>,
    /// By cell of the run: whether it took part once per session. It is counted only once, because
    /// its counts would take minutes.
    slow: Vec<bool>,
    /// The number of cells that may be worked on at the same time.
    at_once: usize,
    /// By cell of the run.
    cells: Vec<CountingState>,
}

/// The state of a cell of the run in this pass.
enum CountingState {
    /// The cell is not counted, or a task has it.
    Idle,
    Counting(CountedMethod),
    /// There was no time left to start the cell.
    NoTime,
    /// Counting of the cell has failed, for this reason.
    Lost(String),
}

impl Counting<'_, '_> {
    fn run(mut self, schedule: &Schedule) -> Result<(), Interrupted> {
        self.warm_up()?;
        self.rounds()?;
        self.explain(schedule);
        for state in &mut self.cells {
            if let CountingState::Counting(method) = state {
                method.runner.bye();
            }
        }
        Ok(())
    }

    /// Starts all cells that are to be counted and takes what comes before their first samples.
    fn warm_up(&mut self) -> Result<(), Interrupted> {
        let cells = 0..self.context.run.cells.len();
        let cells = cells.filter(|cell| samples_left(self.context.run, *cell) > 0);
        let (mut shared, alone): (Vec<usize>, Vec<usize>) =
            cells.partition(|cell| self.shares_the_machine(*cell));
        // The longest first, so that none of them is left at the end.
        shared.sort_by_key(|cell| Reverse(self.samples_ns[*cell]));
        self.each_at_once(shared, Step::WarmUp, Counting::start)?;
        for cell in alone {
            if let Some(task) = self.start(cell)? {
                self.keep(task.step(Step::WarmUp))?;
            }
        }
        Ok(())
    }

    /// Whether other cells may be started and warmed up while this one is. What a command or a hook
    /// of the user does is not known.
    fn shares_the_machine(&self, cell: usize) -> bool {
        let Ok((method, point)) = self.context.method(cell) else { return false };
        self.at_once > 1 && method.execution.is_one_process() && self.context.allows_several(point)
    }

    /// Starts the process of a cell. None where there is no time left, or where it cannot be
    /// started.
    fn start(&mut self, cell: usize) -> Result<Option<CountingTask>, Interrupted> {
        self.context.check_stop()?;
        // A sample that cannot end in time is not begun.
        if clock::now_ns().saturating_add(self.samples_ns[cell]) >= self.ends_ns {
            self.cells[cell] = CountingState::NoTime;
            return Ok(None);
        }
        self.context.preparing(cell);
        match self.started(cell) {
            Ok(method) => {
                let position = Position { round: 0, slot: 0, warm_up: true };
                Ok(Some(CountingTask::new(cell, position, method)))
            }
            Err(ended) => {
                self.cells[cell] = lost(ended)?;
                Ok(None)
            }
        }
    }

    fn started(&mut self, cell: usize) -> Result<CountedMethod, RunError> {
        let (method, point) = self.context.method(cell)?;
        let experiment = self.context.job.experiment.name;
        let has_digest = self.context.has_digest(cell);
        let launch = &mut self.context.launch;
        let runner = launch.start_counting(experiment, method, &self.sources, has_digest)?;
        let is_cold = self.context.run.plan.cache == CacheState::Cold;
        let rules = Rules {
            counts_syscalls: self.sources.counts_syscalls(),
            counted_as: match method.execution.is_command() {
                _ if self.slow[cell] => CountedAs::Slow,
                true => CountedAs::Command,
                false => CountedAs::Process,
            },
            is_fresh: self.context.run.plan.fresh,
            cold_files: if is_cold { self.context.data[point].files.clone() } else { Vec::new() },
        };
        Ok(CountedMethod {
            runner,
            arguments: self.context.arguments(method, point),
            ops: self.context.ops(cell),
            n: FIRST_NUMBER,
            rules,
            is_traced: false,
            untraced: None,
            transferred_bytes: None,
        })
    }

    fn rounds(&mut self) -> Result<(), Interrupted> {
        let left: Vec<usize> = (0..self.context.run.cells.len())
            .map(|cell| samples_left(self.context.run, cell))
            .collect();
        let at_most = |cell: usize, left: usize| if self.slow[cell] { left.min(1) } else { left };
        let left: Vec<usize> =
            left.into_iter().enumerate().map(|(cell, left)| at_most(cell, left)).collect();
        let rounds = left.iter().max().copied().unwrap_or_default();
        let last = self.context.run.cells.iter().flat_map(|cell| &cell.samples);
        let last = last.filter(|s| s.counts_in(Pass::Counting)).map(|s| s.round).max();
        let first = last.map_or(1, |last| last + 1);
        let start_ns = clock::now_ns();
        let limit_ns = self.ends_ns.saturating_sub(start_ns);
        let limit_ns = limit_ns.min(self.context.run.plan.time_limit_ns);
        for i in 0..rounds {
            if is_too_late(i as u64, clock::now_ns() - start_ns, limit_ns) {
                break;
            }
            let round = first + i as u32;
            let progress = RunProgress::Counting { round: i as u32, rounds: rounds as u32 };
            self.context.record.progress(self.context.run, &progress);
            // The sessions of the timing pass are numbered from 0.
            let order = order(self.context.run.plan.seed, u32::MAX, round, left.len());
            let takes_part =
                |cell: &usize| left[*cell] > i && samples_left(self.context.run, *cell) > 0;
            self.round(round, order.into_iter().filter(takes_part).collect())?;
        }
        Ok(())
    }

    /// Takes a sample of each of these cells, in this order.
    fn round(&mut self, round: u32, cells: Vec<usize>) -> Result<(), Interrupted> {
        let mut counted = Vec::new();
        for (slot, cell) in cells.into_iter().enumerate() {
            self.context.check_stop()?;
            if self.is_over() {
                break;
            }
            let Some(mut method) = self.take_method(cell) else { continue };
            let run = &*self.context.run;
            if takes_little(run) && differs_in(run, cell, TRANSFERRED) {
                method.is_traced = false;
            }
            let position = Position { round, slot: slot as u32, warm_up: false };
            let task = CountingTask::new(cell, position, method).step(Step::Count);
            if self.shares_the_machine(cell) {
                counted.push(task);
            } else {
                self.keep(task.step(Step::Complete))?;
            }
        }
        counted.sort_by_key(|task| Reverse(self.samples_ns[task.cell]));
        self.each_at_once(counted, Step::Complete, |counting, mut task| {
            counting.context.check_stop()?;
            if !counting.is_over() {
                return Ok(Some(task));
            }
            // Without its further samples it is none.
            task.counted = None;
            counting.keep(task)?;
            Ok(None)
        })
    }

    fn take_method(&mut self, cell: usize) -> Option<CountedMethod> {
        match mem::replace(&mut self.cells[cell], CountingState::Idle) {
            CountingState::Counting(method) => Some(method),
            other => {
                self.cells[cell] = other;
                None
            }
        }
    }

    /// Takes this step of each item's task, as soon as a thread is free for it, and then puts what
    /// it has taken into the run.
    fn each_at_once<T>(
        &mut self,
        items: Vec<T>,
        step: Step,
        mut task_of: impl FnMut(&mut Self, T) -> Result<Option<CountingTask>, Interrupted>,
    ) -> Result<(), Interrupted> {
        let n = self.at_once.min(items.len());
        thread::scope(|scope| {
            let Threads { tasks, results } =
                Threads::start(scope, n, move |task: CountingTask| task.step(step));
            for item in items {
                let Some(task) = task_of(self, item)? else { continue };
                if tasks.send(task).is_err() {
                    break;
                }
                results.try_iter().try_for_each(|task| self.keep(task))?;
            }
            drop(tasks);
            results.iter().try_for_each(|task| self.keep(task))
        })
    }

    fn is_over(&self) -> bool {
        self.context.run.plan.limits_all && clock::now_ns() >= self.ends_ns
    }

    /// Puts the samples of a task into the run.
    fn keep(&mut self, task: CountingTask) -> Result<(), Interrupted> {
        let CountingTask { cell, position, mut method, counted, calls, ended, .. } = task;
        let transferred_bytes =
            if position.warm_up { None } else { method.transferred_bytes.take() };
        self.cells[cell] = match ended {
            Ok(()) => CountingState::Counting(method),
            Err(ended) => lost(ended)?,
        };
        let mut values = counted.as_ref().map(values).unwrap_or_default();
        // A worker may report a metric of this name itself.
        if !values.iter().any(|(name, _)| *name == TRANSFERRED) {
            values.extend(transferred_bytes.map(|bytes| (TRANSFERRED, bytes)));
        }
        if let Some(calls) = calls {
            if !self.sources.counts_syscalls() {
                values.retain(|(name, _)| *name != SYSCALLS);
                values.push((SYSCALLS, calls.all));
            }
            self.context.run.cells[cell].syscalls_by_name = Some(calls.by_name);
            self.context.changed(cell)?;
        }
        if let Some(counted) = &counted {
            let sample = position.sample(Pass::Counting, self.session, &counted.done);
            self.context.push(cell, sample, &values)?;
        }
        Ok(())
    }
}

fn lost(ended: RunError) -> Result<CountingState, Interrupted> {
    reason(ended).map(CountingState::Lost)
}

// Threads that work on several cells at the same time.

/// The ends of the threads that the owner of the run keeps. The threads end when `tasks` is
/// dropped, and `results` ends with them.
struct Threads<T> {
    /// Takes a task when a thread is free for it, so that no started process waits for one. It is
    /// closed if all threads have panicked.
    tasks: SyncSender<T>,
    results: Receiver<T>,
}

impl<T: Send> Threads<T> {
    fn start<'scope, 'env: 'scope>(
        scope: &'scope Scope<'scope, 'env>,
        n: usize,
        step: impl Fn(T) -> T + Clone + Send + 'scope,
    ) -> Threads<T>
    where
        T: 'scope,
    {
        let (tasks, queue) = sync_channel(0);
        let (done, results) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..n {
            let (queue, done, step) = (Arc::clone(&queue), done.clone(), step.clone());
            scope.spawn(move || work(&queue, &done, step));
        }
        Threads { tasks, results }
    }
}

/// Takes one task after the other, until there are no more or the receiver of the results is gone.
fn work<T>(queue: &Mutex<Receiver<T>>, done: &Sender<T>, step: impl Fn(T) -> T) {
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(task) = next() {
        if done.send(step(task)).is_err() {
            break;
        }
    }
}

// Why a metric of the counting pass is missing.

/// To be counted once, a process counts and is asked for its allocations, is traced, and does the
/// first two again.
const SAMPLES_TO_COUNT: u64 = 5;

impl Counting<'_, '_> {
    /// Adds a note with the reason for each metric that a cell lacks.
    fn explain(&mut self, schedule: &Schedule) {
        let hardware = self.sources.missing().clone();
        for (metric, why) in hardware.iter().filter(|(metric, _)| **metric != SYSCALLS) {
            self.context.note_missing(None, metric, why);
        }
        let (late, others): (Vec<usize>, Vec<usize>) =
            (0..self.cells.len()).partition(|cell| self.had_no_time(*cell));
        let late_ns: u64 = late.iter().map(|cell| self.samples_ns[*cell]).sum();
        let spent_ns = clock::now_ns().saturating_sub(self.began_ns);
        let pass_ns = spent_ns.saturating_add(late_ns.saturating_mul(SAMPLES_TO_COUNT));
        let no_time = no_time_to_count(self.context.run, schedule, self.began_ns, pass_ns);
        // What is known of a method at one point is a better reason at another one than the time.
        for cell in others {
            self.explain_cell(cell, None);
        }
        for cell in late {
            self.explain_cell(cell, Some(no_time));
        }
        forget_known_peaks(self.context.run);
        let user_only = self.sources.without_kernel().join(", ");
        if !user_only.is_empty() {
            let text = "what the kernel does for a method is left out; see \
                        kernel.perf_event_paranoid";
            self.context.note_missing(None, &format!("{PROCESSOR_COUNTERS} ({user_only})"), text);
        }
    }

    /// Whether the time was over before the cell had a sample that counts.
    fn had_no_time(&self, cell: usize) -> bool {
        match self.cells[cell] {
            CountingState::NoTime => true,
            CountingState::Counting(_) => self.context.run.cells[cell].n(Pass::Counting) == 0,
            CountingState::Idle | CountingState::Lost(_) => false,
        }
    }

    /// The same for one cell; `no_time` is set if the time was over before it was counted.
    fn explain_cell(&mut self, index: usize, no_time: Option<Uncounted>) {
        let (lost, missing, untraced) = match &self.cells[index] {
            CountingState::Idle => return,
            CountingState::NoTime => (None, Vec::new(), None),
            CountingState::Lost(why) => {
                (Some(format!("the counting pass failed: {why}")), Vec::new(), None)
            }
            CountingState::Counting(method) => {
                (None, method.runner.missing(), method.untraced.clone())
            }
        };
        let cell = &self.context.run.cells[index];
        // The two ways to count system calls, each of which is used where it can be: before a cell
        // is counted, one that fails is no reason yet.
        let general = self.sources.missing().get(SYSCALLS).cloned();
        let uncountable: Vec<String> = general.into_iter().chain(untraced.clone()).collect();
        let needed = if no_time.is_some() { 2 } else { 1 };
        let known = |metric: &str| -> Option<String> {
            let own = missing.iter().find(|(known, _)| *known == metric);
            let own = own.map(|(_, why)| why.clone());
            let of_calls = metric == SYSCALLS && uncountable.len() >= needed;
            lost.clone().or(own).or_else(|| of_calls.then(|| uncountable.join("; ")))
        };
        let note = |metric: &str| match (known(metric), no_time) {
            (Some(why), _) => Warning::missing(metric, why),
            (None, Some(no_time)) => Warning::uncounted(metric, no_time),
            (None, None) => Warning::missing(metric, unknown(cell, metric)),
        };
        let metrics = std::iter::once(SYSCALLS)
            .chain(ALLOCATION_METRICS)
            .chain(self.sources.metrics().filter(|metric| *metric != SYSCALLS));
        let mut notes: Vec<Warning> =
            metrics.filter(|metric| !has(cell, metric)).map(note).collect();
        // The peak of any other method is that of the timing pass, which has noted why it is not
        // known.
        let lacks_peak = cell.is_plain_command() && cell.counted(PEAK_RSS).next().is_none();
        if lacks_peak && (no_time.is_some() || known(PEAK_RSS).is_some()) {
            notes.push(note(PEAK_RSS));
        }
        let had_calls = has(cell, SYSCALLS);
        if had_calls && (lost.is_some() || no_time.is_some()) {
            notes.push(note(FEWER_COUNTS));
        }
        if let Some(why) = untraced.filter(|_| had_calls && cell.syscalls_by_name.is_none()) {
            notes.push(Warning::missing(CALLS_BY_NAME, why));
        }
        let method = cell.method.clone();
        for note in notes {
            self.context.note_once(note.of_method(&method));
        }
    }
}

/// The reason for a missing metric of a counted cell, where no method has reported one.
fn unknown(cell: &Cell, metric: &str) -> &'static str {
    if !ALLOCATION_METRICS.contains(&metric) {
        "its counter could not be opened for this method, or was shared with others"
    } else if ALLOCATION_METRICS.iter().any(|known| has(cell, known)) {
        "the method reports its own allocations, but not this"
    } else {
        "the program was built without the allocator that counts"
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

// When the counting pass has enough samples of a cell.

/// What differs between samples that do the same.
const VARYING: [&str; 2] = [COUNTING_WALL, PEAK_RSS];

/// Whether the last sample that counts has the same counts as the one before it, or as the warm-up
/// right before it: then more samples add nothing. Times and the peak of a process vary between all
/// samples; a peak that only this pass measures is not that of one sample alone.
fn agree(cell: &Cell) -> bool {
    let of_pass = |sample: &Sample| sample.pass == Pass::Counting && sample.not_counted.is_none();
    let samples = cell.samples.iter().enumerate().filter(|(_, sample)| of_pass(sample));
    let mut latest = samples.rev();
    let Some((last, _)) = latest.next().filter(|(_, sample)| !sample.warm_up) else { return false };
    let warm_up = latest.clone().next().filter(|(_, s)| s.warm_up && !has(cell, PEAK_RSS));
    let before = latest.find(|(_, sample)| !sample.warm_up);
    let is_alike = |(other, _): (usize, &Sample)| have_same_counts(cell, last, other);
    warm_up.is_some_and(is_alike) || before.is_some_and(is_alike)
}

fn have_same_counts(cell: &Cell, a: usize, b: usize) -> bool {
    let mut counts = cell.values.iter().filter(|(name, _)| !VARYING.contains(&name.as_str()));
    counts.all(|(name, column)| match (column.get(a), column.get(b)) {
        // It is known of the traced samples.
        (Some(a), Some(b)) if name == TRANSFERRED && (a.is_nan() || b.is_nan()) => true,
        (Some(a), Some(b)) => a.to_bits() == b.to_bits(),
        _ => true,
    })
}

/// So many cells take all of their samples where their counts differ. Of more cells that would take
/// too long.
const FEW_CELLS: usize = 4;

/// All of these samples may take so long, or as long as the timing pass did.
const LITTLE_NS: u64 = 3_000_000_000;

/// Whether the samples that show that a difference of counts is no chance take little time. It is
/// false for many cells, and cheap then, as it is called for each sample.
fn takes_little(run: &Run) -> bool {
    if run.cells.len() > FEW_CELLS {
        return false;
    }
    let (mut all_ns, mut timing_ns) = (0, 0);
    for (cell, sample_ns) in run.cells.iter().zip(samples_ns(run)) {
        all_ns += sample_ns * u64::from(run.plan.counting);
        timing_ns += sample_ns * cell.n(Pass::Timing) as u64;
    }
    all_ns <= LITTLE_NS.max(timing_ns)
}

/// A smaller difference is never said to be a cause.
const RELEVANT_SHARE: f64 = 0.01;

/// Whether the latest counts of another cell at the same point differ: two equal samples of each do
/// not show that this is no chance.
fn differs(run: &Run, index: usize) -> bool {
    let mut metrics = run.cells[index].values.keys().map(String::as_str);
    metrics.any(|metric| !VARYING.contains(&metric) && differs_in(run, index, metric))
}

fn differs_in(run: &Run, index: usize, metric: &str) -> bool {
    let own = &run.cells[index];
    // Of bytes that are known of one sample alone, further samples show nothing.
    let counts = |cell: &Cell| metric != TRANSFERRED || may_be_traced_again(cell);
    let Some(n) = latest(own, metric).filter(|_| counts(own)) else { return false };
    let differ = |other: f64| (n - other).abs() > RELEVANT_SHARE * n.abs().max(other.abs());
    let others = run.cells.iter().enumerate();
    let mut others = others.filter(|(i, cell)| *i != index && cell.point == own.point);
    others.any(|(_, cell)| counts(cell) && latest(cell, metric).is_some_and(differ))
}

/// A command with no more calls may be traced in several samples, each of which takes some
/// hundredths of a second then.
const TRACED_AGAIN_MAX: f64 = 5_000.0;

/// Whether it is a command, which is a process of its own in each sample, of few calls.
fn may_be_traced_again(cell: &Cell) -> bool {
    cell.is_plain_command() && latest(cell, SYSCALLS).is_some_and(|calls| calls <= TRACED_AGAIN_MAX)
}

/// The value of the last sample of the pass that has the metric.
fn latest(cell: &Cell, metric: &str) -> Option<f64> {
    let all = cell.samples.iter().zip(cell.column(metric).iter()).rev();
    let mut counted = all.filter(|(s, n)| s.counts_in(Pass::Counting) && !n.is_nan());
    counted.next().map(|(_, n)| *n)
}

/// Whether the pass has a value of the metric for the cell.
fn has(cell: &Cell, metric: &str) -> bool {
    let mut values = cell.samples.iter().zip(cell.column(metric).iter());
    values.any(|(sample, value)| sample.counts_in(Pass::Counting) && !value.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_of_which_half_does_not_fit_into_the_time_is_not_begun() {
        assert!(!is_too_late(2, 100, 125));
        assert!(is_too_late(2, 100, 124));
        assert!(!is_too_late(0, 1, 0), "the first one is taken in any case");
    }
}

#[cfg(test)]
mod agreement_tests {
    use super::*;
    use crate::context::Position;
    use crate::launch::RawSample;
    use model::metric::SYSCALLS;
    use model::param::Point;
    use model::run::Plan;

    /// Samples of the pass: whether each warms up, and its system calls.
    fn cell(samples: &[(bool, f64)], peak_bytes: Option<f64>) -> Cell {
        let mut cell = Cell::new("a", Point::default());
        for (n, (warm_up, calls)) in samples.iter().enumerate() {
            let position = Position { round: 0, slot: 0, warm_up: *warm_up };
            let sample = position.sample(Pass::Counting, 0, &RawSample::default().done);
            let mut values = vec![(SYSCALLS, *calls), (COUNTING_WALL, n as f64)];
            values.extend(peak_bytes.map(|bytes| (PEAK_RSS, bytes + n as f64)));
            cell.push(sample, &values);
        }
        cell
    }

    #[test]
    fn two_equal_samples_are_enough_and_one_of_them_may_be_the_warm_up() {
        let (warm_up, counted) = (true, false);
        let check = |samples: &[(bool, f64)], expected: bool| {
            assert_eq!(agree(&cell(samples, None)), expected, "{samples:?}");
        };
        check(&[], false);
        check(&[(warm_up, 5.0)], false);
        check(&[(warm_up, 5.0), (counted, 5.0)], true);
        check(&[(warm_up, 6.0), (counted, 5.0)], false);
        check(&[(warm_up, 6.0), (counted, 5.0), (counted, 5.0)], true);
        check(&[(warm_up, 5.0), (counted, 6.0), (counted, 5.0)], false);
        check(&[(counted, 5.0)], false);
        // A run that was resumed has started another process.
        check(&[(warm_up, 6.0), (counted, 5.0), (warm_up, 6.0)], false);
        check(&[(warm_up, 6.0), (counted, 5.0), (warm_up, 6.0), (counted, 5.0)], true);
    }

    #[test]
    fn a_few_cells_whose_counts_differ_take_all_their_samples() {
        let of_samples = |calls: f64, cells: usize, wall_ns: f64, ops: u64, samples: usize| {
            let mut run = Run::default();
            run.plan.counting = 8;
            let cell_of = |calls| {
                let timed = Sample { ops, ..Sample::default() };
                let mut cell = cell(&[(true, calls), (false, calls), (false, calls)], None);
                for _ in 0..samples {
                    cell.push(timed.clone(), &[("wall_ns", wall_ns)]);
                }
                cell
            };
            run.cells = (0..cells).map(|i| cell_of(if i == 0 { calls } else { 1000.0 })).collect();
            [samples_left(&run, 0), samples_left(&run, 1)]
        };
        let of = |calls: f64, cells: usize| of_samples(calls, cells, 1e6, 1, 1);
        assert_eq!(of(1000.0, 2), [0, 0]);
        assert_eq!(of(1010.0, 2), [0, 0]);
        assert_eq!(of(1020.0, 2), [6, 6]);
        assert_eq!(of(1020.0, 5), [0, 0]);
        // Two times 8 samples of 0.18 s take less than 3 s, those of a second more.
        let of_wall = |wall_ns: f64, ops: u64| of_samples(1020.0, 2, wall_ns, ops, 1);
        assert_eq!([of_wall(1.8e8, 1), of_wall(1e9, 1)], [[6, 6], [0, 0]]);
        // A sample of a thousand operations of a millisecond takes a second, too.
        assert_eq!(of_wall(1e6, 1000), [0, 0]);
        // Eight are no more than the timing pass took.
        assert_eq!(of_samples(1020.0, 2, 1e9, 1, 7), [0, 0]);
        assert_eq!(of_samples(1020.0, 2, 1e9, 1, 8), [6, 6]);
    }

    #[test]
    fn bytes_that_differ_take_all_samples_of_commands_that_may_be_traced_again() {
        let left = |bytes: f64, calls: f64, is_command: bool| {
            let cell_of = |bytes: f64| {
                let mut cell = cell(&[(true, calls), (false, calls), (false, calls)], None);
                // The first sample that counts was traced.
                let traced = vec![f64::NAN, bytes, f64::NAN];
                cell.values.insert(TRANSFERRED.to_owned(), traced.into());
                let mut times = vec![("wall_ns", 1e6)];
                times.extend(is_command.then_some(("startup_ns", 1e5)));
                cell.push(Sample { ops: 1, ..Sample::default() }, &times);
                cell
            };
            let cells = vec![cell_of(1000.0), cell_of(bytes)];
            let run =
                Run { cells, plan: Plan { counting: 8, ..Plan::default() }, ..Run::default() };
            [samples_left(&run, 0), samples_left(&run, 1)]
        };
        assert_eq!(left(1000.0, 50.0, true), [0, 0]);
        assert_eq!(left(1020.0, 50.0, true), [6, 6]);
        assert_eq!(left(1020.0, 50.0, false), [0, 0]);
        assert_eq!(left(1020.0, 5001.0, true), [0, 0]);
    }

    #[test]
    fn a_peak_is_not_that_of_one_sample() {
        let samples = [(true, 5.0), (false, 5.0), (false, 5.0)];
        assert!(!agree(&cell(&samples[..2], Some(1e6))));
        assert!(agree(&cell(&samples, Some(1e6))));
    }
}

#[cfg(test)]
mod reasons_tests {
    use super::*;
    use crate::experiment::{Data, Execution, Experiment, Method};
    use crate::launch::{
        Child, CountedSample, CountingRunner, Launcher, Ready, Stop, TracedSample,
    };
    use crate::{MeasureJob, Record, new_run};
    use model::param::Point;
    use model::run::Plan;

    /// A process that was warmed up and gives no reason for anything.
    struct WarmedUp;

    impl Child for WarmedUp {
        fn prepare(&mut self, _: &Point) -> Result<Ready, RunError> {
            unreachable!("the time is over")
        }
    }

    impl CountingRunner for WarmedUp {
        fn count(&mut self, _: u64, _: u64) -> Result<CountedSample, RunError> {
            unreachable!("the time is over")
        }

        fn trace(&mut self, _: u64, _: u64, _: u64) -> Result<TracedSample, RunError> {
            unreachable!("the time is over")
        }
    }

    struct NoRecord;

    impl Record for NoRecord {
        fn begin(&mut self, _: &mut Run) -> anyhow::Result<()> {
            Ok(())
        }
    }

    fn warmed_up(untraced: Option<&str>) -> CountingState {
        let rules = Rules {
            counts_syscalls: true,
            counted_as: CountedAs::Process,
            is_fresh: false,
            cold_files: Vec::new(),
        };
        CountingState::Counting(CountedMethod {
            runner: Box::new(WarmedUp),
            arguments: Point::default(),
            ops: 1,
            n: FIRST_NUMBER,
            rules,
            is_traced: true,
            untraced: untraced.map(str::to_owned),
            transferred_bytes: None,
        })
    }

    /// The notes on a pass whose time is over before its first round, by method.
    fn notes_of(states: Vec<(&str, CountingState)>, prepared: impl Fn(&mut Run)) -> Vec<Warning> {
        let experiment = Experiment::empty("played");
        let (names, cells): (Vec<&str>, Vec<CountingState>) = states.into_iter().unzip();
        let method = |name: &&str| Method::contender(*name, "", Execution::worker(["true"]));
        let methods = names.iter().map(method).collect();
        let job = MeasureJob { experiment: &experiment, methods, least_sessions: 0 };
        let plan = Plan { counting: 2, limits_all: true, time_limit_ns: 1, ..Plan::default() };
        let mut run = new_run(&job, vec![Point::default()], plan, None);
        for cell in &mut run.cells {
            cell.push(Sample { ops: 1, ..Sample::default() }, &[("wall_ns", 1e9)]);
        }
        prepared(&mut run);
        let stop = Stop::default();
        let mut launch = Launcher {
            program: "/nonexistent".into(),
            sample_limit_ns: 1,
            fresh: false,
            dir: None,
            memory_limit_bytes: None,
            stop: stop.clone(),
        };
        let mut context = MeasureContext {
            job: &job,
            run: &mut run,
            data: &[Data::default()],
            launch: &mut launch,
            record: &mut NoRecord,
            stop: &stop,
        };
        let mut counting = Counting {
            context: &mut context,
            began_ns: clock::now_ns(),
            ends_ns: 0,
            sources: Sources::default(),
            session: 0,
            samples_ns: vec![1_000_000_000; cells.len()],
            slow: vec![false; cells.len()],
            at_once: 1,
            cells,
        };
        counting.rounds().unwrap();
        counting.explain(&Schedule::default());
        run.notes
    }

    #[test]
    fn where_the_time_was_over_before_the_first_count_that_is_the_only_reason() {
        let untraced = warmed_up(Some("ptrace is not permitted here"));
        let states = vec![
            ("warm", warmed_up(None)),
            ("untraced", untraced),
            ("late", CountingState::NoTime),
            ("command", warmed_up(None)),
            ("counted", warmed_up(None)),
        ];
        let notes = notes_of(states, |run| {
            let started = Sample { round: 1, ops: 1, ..Sample::default() };
            run.cells[3].push(started, &[("wall_ns", 1e9), ("startup_ns", 1e6)]);
            let counted = Sample { pass: Pass::Counting, ops: 1, ..Sample::default() };
            run.cells[4].push(counted, &[(COUNTING_WALL, 1e9)]);
        });
        let of = |method: &str| -> Vec<(&str, Option<Uncounted>)> {
            let own = notes.iter().filter(|note| note.method.as_deref() == Some(method));
            own.map(|note| (note.missing_metric().unwrap().0, note.uncounted)).collect()
        };
        let no_time = Some(Uncounted::NoTime { enough_ns: None });
        let expected = |why: Option<Uncounted>, more: &[&'static str]| -> Vec<_> {
            let metrics = std::iter::once(SYSCALLS).chain(ALLOCATION_METRICS);
            metrics.chain(more.iter().copied()).map(|metric| (metric, why)).collect()
        };
        for method in ["warm", "untraced", "late"] {
            assert_eq!(of(method), expected(no_time, &[]), "{method}: {notes:?}");
        }
        assert_eq!(of("command"), expected(no_time, &[PEAK_RSS]), "{notes:?}");
        assert_eq!(of("counted"), expected(None, &[]), "{notes:?}");
    }

    #[test]
    fn why_a_method_is_not_traced_is_no_reason_for_its_allocations() {
        let why = "ptrace is not permitted here";
        let notes = notes_of(vec![("a", warmed_up(Some(why)))], |run| {
            let counted = Sample { pass: Pass::Counting, ops: 1, ..Sample::default() };
            run.cells[0].push(counted, &[(COUNTING_WALL, 1e9)]);
        });
        let of = |metric: &str| {
            let mut all = notes.iter().filter_map(Warning::missing_metric);
            all.find(|(known, _)| *known == metric).map(|(_, why)| why)
        };
        assert_eq!(of(SYSCALLS), Some(why));
        assert!(of("allocations").is_some_and(|text| text != why), "{notes:?}");
    }
}
