//! The preparation of a session: its processes start and prepare, and in the first session the
//! number of operations per sample is found.

use std::collections::VecDeque;
use std::thread::available_parallelism;

use model::metric;
use model::run::{CacheState, Role, Status};

use super::{RunningMethod, Session};
use crate::clock;
use crate::context::{Interrupted, Position, RunProgress, order};
use crate::launch::{RunError, Runner};

/// A process that was started, or why it could not be.
pub(super) type StartedRunner = Result<Box<dyn Runner>, RunError>;

impl Session<'_, '_> {
    /// In the first session the reference comes first, so that its figures can be seen while the
    /// others compute digests for seconds. In all others the order is random: the process that
    /// prepares first may get the better memory.
    pub(super) fn prepare_all(&mut self) -> Result<(), Interrupted> {
        let is_reference = self.context.are_of_reference();
        let is_first = self.schedule.is_first();
        let began_ns = clock::now_ns();
        let started = self.start_all();
        if is_first {
            let again = !self.schedule.roster.all_process_per_sample();
            self.schedule.budget.set_up(clock::now_ns() - began_ns, again);
        }
        let (first, others): (Vec<_>, Vec<_>) =
            started.into_iter().partition(|(cell, _)| is_first && is_reference[*cell]);
        let done = first.len();
        self.prepare_each(first, 0)?;
        self.prepare_each(others, done)?;
        self.share_ops();
        let sample_ns = |running: &RunningMethod| running.op_ns.saturating_mul(running.ops);
        let samples_ns = self.running.iter().map(|running| running.as_ref().map_or(0, sample_ns));
        let samples_ns: Vec<u64> = samples_ns.collect();
        self.schedule.learn(&samples_ns, &is_reference, clock::now_ns());
        Ok(())
    }

    /// Prepares these processes, and then finds the number of operations of their samples. `done`
    /// others are prepared already.
    fn prepare_each(
        &mut self,
        started: Vec<(usize, StartedRunner)>,
        done: usize,
    ) -> Result<(), Interrupted> {
        let mut started = started.into_iter();
        let at_once = self.prepared_at_once();
        let (mut preparing, mut prepared) = (VecDeque::new(), Vec::new());
        loop {
            let began_ns = clock::now_ns();
            while preparing.len() < at_once
                && let Some((cell, runner)) = started.next()
            {
                let runner = runner.and_then(|runner| self.begin_to_prepare(cell, runner));
                preparing.push_back((cell, runner));
            }
            let Some((cell, runner)) = preparing.pop_front() else { break };
            if !self.goes_on(cell, done + prepared.len())? {
                break;
            }
            match runner.and_then(|runner| self.prepare(cell, runner)) {
                Ok(running) => self.running[cell] = Some(running),
                Err(ended) => self.end(cell, ended)?,
            }
            if self.schedule.is_first() {
                let roster = &self.schedule.roster;
                let again = !roster.is_process_per_sample(cell) && !roster.digests[cell];
                self.schedule.budget.set_up(clock::now_ns() - began_ns, again);
            }
            self.context.record.took(self.context.run, cell, clock::now_ns() - began_ns);
            self.context.changed(cell)?;
            prepared.push(cell);
        }
        for (n, cell) in prepared.into_iter().enumerate() {
            if self.schedule.roster.ops[cell].is_none() {
                if !self.goes_on(cell, done + n)? {
                    break;
                }
                self.find_ops(cell)?;
            }
        }
        Ok(())
    }

    /// Reports the progress of the preparation, and returns whether it continues. In the first
    /// session it always does, because it gives each method its first figure.
    fn goes_on(&mut self, cell: usize, done: usize) -> Result<bool, Interrupted> {
        self.context.check_stop()?;
        if !self.schedule.is_first() && self.schedule.is_over(clock::now_ns()) {
            return Ok(false);
        }
        if self.schedule.is_first() {
            // Later sessions start quickly: the progress of the rounds stays on the screen.
            let (method, of) = (&self.context.run.cells[cell].method, self.context.run.cells.len());
            let progress = RunProgress::Preparing { method, done, of };
            self.context.record.progress(self.context.run, &progress);
        }
        Ok(true)
    }

    /// The number of processes that prepare at the same time. In the first session, they compute
    /// digests; in later ones there is little to do.
    fn prepared_at_once(&self) -> usize {
        let all_allow =
            (0..self.context.data.len()).all(|point| self.context.allows_several(point));
        if self.schedule.is_first() && all_allow { self.context.most_at_once() } else { 1 }
    }

    fn begin_to_prepare(&self, index: usize, mut runner: Box<dyn Runner>) -> StartedRunner {
        let (method, point) = self.context.method(index)?;
        runner.begin_to_prepare(&self.context.arguments(method, point))?;
        Ok(runner)
    }

    /// Starts the processes of all cells that take part, in random order, because the process that
    /// starts first may get the better CPU or memory. All have started before the first one
    /// prepares, because some measure how long their operation takes.
    fn start_all(&mut self) -> Vec<(usize, StartedRunner)> {
        let of = self.context.run.cells.len();
        let mut starts = order(self.context.run.plan.seed, self.number, u32::MAX, of);
        starts.retain(|cell| {
            let is_measured = self.context.run.cells[*cell].status == Status::Measured;
            is_measured && !self.schedule.roster.has_left(*cell) && self.running[*cell].is_none()
        });
        if starts.is_empty() {
            // To ask for the number of CPUs takes as long as a short command.
            return Vec::new();
        }
        let at_once = available_parallelism().map_or(1, usize::from);
        start_each(starts, at_once, |cell| self.start(cell))
    }

    fn start(&mut self, index: usize) -> StartedRunner {
        let (method, point) = self.context.method(index)?;
        if let Some(reason) = &self.context.data[point].unfit {
            return Err(RunError::Skipped(reason.clone()));
        }
        let has_digest = self.schedule.roster.digests[index] && self.context.has_digest(index);
        let experiment = self.context.job.experiment.name;
        self.context.launch.start(experiment, method, has_digest)
    }

    fn prepare(
        &mut self,
        index: usize,
        mut runner: Box<dyn Runner>,
    ) -> Result<RunningMethod, RunError> {
        let (method, point) = self.context.method(index)?;
        let ready = runner.prepare(&self.context.arguments(method, point))?;
        let cell = &mut self.context.run.cells[index];
        cell.language = ready.language;
        if cell.digest.is_some() && ready.digest.is_some() && cell.digest != ready.digest {
            return Err(RunError::Failed("the bytes it hands over differ between sessions".into()));
        }
        self.schedule.roster.digests[index] |= ready.digest.is_some();
        cell.digest = ready.digest.or(cell.digest.take());
        let bypasses_cache = method.bypasses_cache;
        let is_command = method.execution.is_command();
        let counting = self.context.run.plan.counting > 0;
        for (metric, why) in runner.missing() {
            if is_command && counting && metric == metric::PEAK_RSS {
                // The counting pass measures it or notes the reason.
                continue;
            }
            let method = is_command.then_some(method.name.as_str());
            self.context.note_missing(method, metric, &why);
        }
        Ok(RunningMethod {
            runner,
            ops: 1,
            n: 0,
            point,
            bypasses_cache,
            is_warm: false,
            op_ns: 0,
            reports_device_bytes: false,
            last: (0, 0),
        })
    }

    /// Increases the operations per sample until one is long enough for the clock. These samples
    /// are warm-up samples; of two with the same number of operations the shorter one decides,
    /// because the first is a cold start. A long one is that of the first warm-up round, so that a
    /// process is warmed up as often as in later sessions.
    fn find_ops(&mut self, cell: usize) -> Result<(), Interrupted> {
        if self.context.run.plan.cache == CacheState::Cold {
            // A second operation would find the file cached.
            return Ok(());
        }
        if self.context.method(cell).is_ok_and(|(method, _)| method.execution.is_command()) {
            return self.run_command_once(cell);
        }
        let enough_ns = STEPS_PER_SAMPLE * clock::step_ns();
        for _ in 0..12 {
            let mut shortest_ns = u64::MAX;
            for _ in 0..2 {
                let position = Position { round: 0, slot: 0, warm_up: true };
                self.sample(cell, position)?;
                let Some(running) = &self.running[cell] else { return Ok(()) };
                shortest_ns = shortest_ns.min(running.last.0);
                if shortest_ns > LONG_NS {
                    break;
                }
            }
            let Some(running) = &mut self.running[cell] else { return Ok(()) };
            let (_, ops) = running.last;
            if shortest_ns >= enough_ns || ops < running.ops {
                // If a child does fewer operations than requested, later orders request that
                // number.
                running.ops = ops.min(running.ops);
                running.op_ns = shortest_ns / running.ops.max(1);
                running.is_warm = shortest_ns > LONG_NS;
                break;
            }
            running.ops = running.ops.saturating_mul(times_as_many(shortest_ns, enough_ns));
        }
        Ok(())
    }

    /// How long a plain command takes is known from a run that is part of the first warm-up round,
    /// so that it runs as often as the plan says; without warm-up rounds it is not known.
    fn run_command_once(&mut self, cell: usize) -> Result<(), Interrupted> {
        if self.schedule.warm_up() == 0 {
            return Ok(());
        }
        self.sample(cell, Position { round: 0, slot: 0, warm_up: true })?;
        if let Some(running) = &mut self.running[cell] {
            running.op_ns = running.last.0;
            running.is_warm = true;
        }
        Ok(())
    }

    fn share_ops(&mut self) {
        let batch = |(cell, running): (usize, &Option<RunningMethod>)| {
            let RunningMethod { point, ops, op_ns, .. } = *running.as_ref()?;
            let yardstick = self.context.run.cells[cell].role == Role::Yardstick;
            Some(Batch { cell, point, ops, op_ns, yardstick })
        };
        let batches: Vec<Batch> = self.running.iter().enumerate().filter_map(batch).collect();
        for (batch, ops) in batches.iter().zip(shared_ops(&batches)) {
            let ops = *self.schedule.roster.ops[batch.cell].get_or_insert(ops);
            if let Some(running) = &mut self.running[batch.cell] {
                running.ops = ops;
            }
        }
    }
}

/// How many times as many operations a sample of this duration gets: it is to last a quarter longer
/// than what is enough.
pub(super) fn times_as_many(sample_ns: u64, enough_ns: u64) -> u64 {
    (enough_ns * 5 / 4).div_ceil(sample_ns.max(1)).clamp(2, 1000)
}

/// Starts the process of each cell, at most `at_once` at the same time: if hundreds shared the CPUs
/// while they start, each could exceed its time limit.
pub(super) fn start_each(
    cells: Vec<usize>,
    at_once: usize,
    mut start: impl FnMut(usize) -> StartedRunner,
) -> Vec<(usize, StartedRunner)> {
    let wait = |(cell, runner): (usize, StartedRunner)| {
        (cell, runner.and_then(|mut runner| runner.started().map(|()| runner)))
    };
    let mut starting = VecDeque::new();
    let mut started = Vec::with_capacity(cells.len());
    for cell in cells {
        if starting.len() == at_once {
            started.extend(starting.pop_front().map(wait));
        }
        starting.push_back((cell, start(cell)));
    }
    started.extend(starting.into_iter().map(wait));
    started
}

// The number of operations per sample.

/// The number of operations that a method needs for a sample that is long enough for the clock.
pub(super) struct Batch {
    pub(super) cell: usize,
    pub(super) point: usize,
    pub(super) ops: u64,
    pub(super) op_ns: u64,
    pub(super) yardstick: bool,
}

/// The number of operations per sample of each method. The contenders of a point that must be
/// batched have the same number, so that the fixed cost of a sample has the same weight for all;
/// the number is limited so that no sample becomes long. An operation that is long enough is a
/// sample of its own, so that its percentiles are those of operations and not of means.
pub(super) fn shared_ops(batches: &[Batch]) -> Vec<u64> {
    let most = |point: usize| {
        let contenders = batches.iter().filter(|batch| batch.point == point && !batch.yardstick);
        contenders.map(|batch| batch.ops).max().unwrap_or(1)
    };
    let shared = |batch: &Batch| {
        if batch.ops == 1 {
            return 1;
        }
        let bearable = (LONG_NS / batch.op_ns.max(1)).max(batch.ops);
        most(batch.point).max(batch.ops).min(bearable)
    };
    batches.iter().map(shared).collect()
}

/// Operations are batched until a sample is this many times the step of the clock.
pub(super) const STEPS_PER_SAMPLE: u64 = 1000;
/// A sample that takes longer holds no more operations than necessary.
pub(super) const LONG_NS: u64 = 10_000_000;
