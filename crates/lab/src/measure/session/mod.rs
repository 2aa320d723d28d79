//! One session: it starts a process per cell, warms up, and takes rounds until the plan is complete
//! or the time is used up.

mod spared;

use std::collections::VecDeque;
use std::thread::available_parallelism;

use anyhow::Result;

use super::batch::{Batch, LONG_NS, STEPS_PER_SAMPLE, shared_ops};
use super::bench::{Bench, Halt, Position};
use super::job::Progress;
use super::order::order;
use super::proof::{clock_stood, disproved_by_device, never_proved, wrong_payload};
use super::schedule::Schedule;
use super::values::{all_values, missing};
use crate::cache;
use crate::clock;
use crate::launch::{RunError, Runner};
use crate::metric;
use crate::run::{CacheState, Cell, Pass, Role, Sample, Status};

/// The state of a session, and its processes.
pub(super) struct Session<'a, 'b> {
    pub(super) bench: &'a mut Bench<'b>,
    pub(super) number: u32,
    /// By cell; none: not started, or ended. Cells whose every sample is a process of its own stay
    /// from session to session.
    pub(super) live: &'a mut Vec<Option<Live>>,
    pub(super) schedule: &'a mut Schedule,
}

/// A process that was started, or why it could not be.
type Started = Result<Box<dyn Runner>, RunError>;

/// A started method.
pub(super) struct Live {
    runner: Box<dyn Runner>,
    ops: u64,
    /// The number of the next sample.
    n: u64,
    /// Index into the points and their data.
    point: usize,
    bypasses_cache: bool,
    /// Whether the sample from which its time is known was that of the first warm-up round.
    is_warm: bool,
    /// Approximate time of one operation.
    op_ns: u64,
    reports_device_bytes: bool,
    /// Wall time and operations of the last sample.
    last: (u64, u64),
}

impl Live {
    pub(super) fn bye(&mut self) {
        self.runner.bye();
    }
}

impl Session<'_, '_> {
    pub(super) fn run(mut self) -> Result<(), Halt> {
        let ended = self.prepare_all().and_then(|()| self.rounds());
        if self.schedule.is_first() {
            let run = &self.bench.run;
            let of_reference = self.bench.are_of_reference();
            let spared = spared::spared(&run.cells, &run.points, self.number, &of_reference);
            self.schedule.spare(spared);
        }
        for (cell, live) in self.live.iter_mut().enumerate() {
            if !self.schedule.stays(cell)
                && let Some(mut live) = live.take()
            {
                live.bye();
            }
        }
        ended
    }

    fn prepare_all(&mut self) -> Result<(), Halt> {
        let of = self.bench.run.cells.len();
        for (done, (cell, runner)) in self.start_all().into_iter().enumerate() {
            self.bench.check_stop()?;
            if self.schedule.is_over(clock::now_ns()) {
                break;
            }
            if self.schedule.is_first() {
                // Later sessions start quickly: the progress of the rounds stays on the screen.
                let method = &self.bench.run.cells[cell].method;
                let progress = Progress::Preparing { method, done, of };
                self.bench.record.progress(self.bench.run, &progress);
            }
            match runner.and_then(|runner| self.prepare(cell, runner)) {
                Ok(live) => self.live[cell] = Some(live),
                Err(ended) => self.end(cell, ended)?,
            }
            self.bench.changed(cell)?;
            if self.schedule.ops[cell].is_none() {
                self.find_ops(cell)?;
            }
        }
        self.share_ops();
        let sample_ns = |live: &Live| live.op_ns.saturating_mul(live.ops);
        let samples_ns = self.live.iter().map(|live| live.as_ref().map_or(0, sample_ns));
        let samples_ns: Vec<u64> = samples_ns.collect();
        let reference = self.bench.are_of_reference();
        self.schedule.learn(&samples_ns, &reference, clock::now_ns());
        Ok(())
    }

    /// Starts the processes of all cells that take part, in random order, because the process that
    /// starts first may get the better CPU or memory. All have started before the first one
    /// prepares, because some measure how long their operation takes.
    fn start_all(&mut self) -> Vec<(usize, Started)> {
        let of = self.bench.run.cells.len();
        let mut starts = order(self.bench.run.plan.seed, self.number, u32::MAX, of);
        starts.retain(|cell| {
            let is_measured = self.bench.run.cells[*cell].status == Status::Measured;
            is_measured && !self.schedule.has_left(*cell) && self.live[*cell].is_none()
        });
        let at_once = available_parallelism().map_or(1, usize::from);
        start_each(starts, at_once, |cell| self.start(cell))
    }

    fn start(&mut self, index: usize) -> Started {
        let (method, point) = self.bench.method(index)?;
        if let Some(reason) = &self.bench.data[point].unfit {
            return Err(RunError::Skipped(reason.clone()));
        }
        let has_digest = self.schedule.digests[index] && self.bench.has_digest(index);
        let experiment = self.bench.job.experiment.name;
        self.bench.launch.start(experiment, method, has_digest)
    }

    fn prepare(&mut self, index: usize, mut runner: Box<dyn Runner>) -> Result<Live, RunError> {
        let (method, point) = self.bench.method(index)?;
        let ready = runner.prepare(&self.bench.arguments(method, point))?;
        let cell = &mut self.bench.run.cells[index];
        cell.language = ready.language;
        if cell.digest.is_some() && ready.digest.is_some() && cell.digest != ready.digest {
            return Err(RunError::Failed("the bytes it hands over differ between sessions".into()));
        }
        self.schedule.digests[index] |= ready.digest.is_some();
        cell.digest = ready.digest.or(cell.digest.take());
        let bypasses_cache = method.bypasses_cache;
        let is_command = method.how.is_command();
        let counting = self.bench.run.plan.counting > 0;
        for (metric, why) in runner.missing() {
            if is_command && counting && metric == metric::PEAK_RSS {
                // The counting pass measures it or notes the reason.
                continue;
            }
            let method = is_command.then_some(method.name.as_str());
            self.bench.note_missing(method, metric, &why);
        }
        Ok(Live {
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
    fn find_ops(&mut self, cell: usize) -> Result<(), Halt> {
        if self.bench.run.plan.cache == CacheState::Cold {
            // A second operation would find the file cached.
            return Ok(());
        }
        if self.bench.method(cell).is_ok_and(|(method, _)| method.how.is_command()) {
            return self.run_command_once(cell);
        }
        let enough_ns = STEPS_PER_SAMPLE * clock::step_ns();
        for _ in 0..12 {
            let mut shortest_ns = u64::MAX;
            for _ in 0..2 {
                let position = Position { round: 0, slot: 0, warm_up: true };
                self.sample(cell, position)?;
                let Some(live) = &self.live[cell] else { return Ok(()) };
                shortest_ns = shortest_ns.min(live.last.0);
                if shortest_ns > LONG_NS {
                    break;
                }
            }
            let Some(live) = &mut self.live[cell] else { return Ok(()) };
            let (_, ops) = live.last;
            if shortest_ns >= enough_ns || ops < live.ops {
                // If a child does fewer operations than requested, later orders request that
                // number.
                live.ops = ops.min(live.ops);
                live.op_ns = shortest_ns / live.ops.max(1);
                live.is_warm = shortest_ns > LONG_NS;
                break;
            }
            let factor = (enough_ns * 5 / 4).div_ceil(shortest_ns.max(1)).clamp(2, 1000);
            live.ops = live.ops.saturating_mul(factor);
        }
        Ok(())
    }

    /// How long a plain command takes is known from a run that is part of the first warm-up round,
    /// so that it runs as often as the plan says; without warm-up rounds it is not known.
    fn run_command_once(&mut self, cell: usize) -> Result<(), Halt> {
        if self.schedule.warm_up() == 0 {
            return Ok(());
        }
        self.sample(cell, Position { round: 0, slot: 0, warm_up: true })?;
        if let Some(live) = &mut self.live[cell] {
            live.op_ns = live.last.0;
            live.is_warm = true;
        }
        Ok(())
    }

    fn share_ops(&mut self) {
        let batch = |(cell, live): (usize, &Option<Live>)| {
            let Live { point, ops, op_ns, .. } = *live.as_ref()?;
            let yardstick = self.bench.run.cells[cell].role == Role::Yardstick;
            Some(Batch { cell, point, ops, op_ns, yardstick })
        };
        let batches: Vec<Batch> = self.live.iter().enumerate().filter_map(batch).collect();
        for (batch, ops) in batches.iter().zip(shared_ops(&batches)) {
            let ops = *self.schedule.ops[batch.cell].get_or_insert(ops);
            if let Some(live) = &mut self.live[batch.cell] {
                live.ops = ops;
            }
        }
    }

    fn rounds(&mut self) -> Result<(), Halt> {
        let warm_up = self.schedule.warm_up();
        for round in 0.. {
            let most = warm_up.saturating_add(self.schedule.session_rounds());
            if round >= most {
                break;
            }
            let counts = round >= warm_up;
            let now_ns = clock::now_ns();
            if counts {
                self.schedule.starts(now_ns);
            }
            let has_time = round <= warm_up || self.schedule.has_time(now_ns);
            if !has_time || self.schedule.is_over(now_ns) {
                break;
            }
            self.bench.record.progress(self.bench.run, &self.schedule.progress(now_ns));
            let is_whole = self.round(round, !counts)?;
            if counts || is_whole {
                self.schedule.took(clock::now_ns() - now_ns, counts);
            }
            if self.live.iter().all(Option::is_none) {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether samples were taken of all that take part, so that the round shows how long
    /// one takes.
    fn round(&mut self, round: u32, warm_up: bool) -> Result<bool, Halt> {
        self.keep_warm()?;
        let order = order(self.bench.run.plan.seed, self.number, round, self.bench.run.cells.len());
        let takes_part =
            |cell: &usize| self.live[*cell].is_some() && self.schedule.takes_part(*cell, warm_up);
        let is_warm = |cell: &usize| {
            let is_warm = self.live[*cell].as_ref().is_some_and(|live| live.is_warm);
            warm_up && round == 0 && is_warm
        };
        let (warm, needed): (Vec<usize>, Vec<usize>) =
            order.into_iter().filter(takes_part).partition(is_warm);
        let is_whole = warm.is_empty() && !needed.is_empty();
        for (slot, cell) in needed.into_iter().enumerate() {
            self.bench.check_stop()?;
            if self.schedule.is_over(clock::now_ns()) {
                break;
            }
            let position = Position { round, slot: slot as u32, warm_up };
            self.sample(cell, position)?;
        }
        Ok(is_whole)
    }

    /// Reads back what other programs evicted from the page cache, before a round.
    fn keep_warm(&self) -> Result<()> {
        if self.bench.run.plan.cache == CacheState::Warm {
            for file in self.bench.data.iter().flat_map(|data| &data.files) {
                // For a file of another user this cannot be read; then the bytes read from the
                // device are the only proof.
                if cache::residency(file).is_ok_and(|now| now.cached < now.pages) {
                    cache::fill(file, self.bench.stop)?;
                }
            }
        }
        Ok(())
    }

    /// Takes one sample; a failure ends the cell, not the run.
    fn sample(&mut self, index: usize, position: Position) -> Result<(), Halt> {
        let Some(live) = &mut self.live[index] else { return Ok(()) };
        live.n += 1;
        if let Err(ended) = live.runner.before(live.n) {
            self.end(index, ended)?;
            self.bench.changed(index)?;
            return Ok(());
        }
        self.bench.evict(live.point);
        let data = &self.bench.data[live.point];
        let cache = self.bench.run.plan.cache;
        let start_ns = clock::now_ns();
        // A warm sample that reads no byte from the device is proved afterwards.
        let proves_itself = cache == CacheState::Warm && live.reports_device_bytes;
        let proof = if proves_itself { Ok(()) } else { cache::prove(cache, &data.files) };
        let taken = match live.runner.go(live.n, live.ops) {
            Ok(taken) => taken,
            Err(ended) => {
                let has_died = live.runner.has_died();
                self.end(index, ended)?;
                if has_died {
                    keep_figures(&mut self.bench.run.cells[index]);
                }
                self.bench.changed(index)?;
                return Ok(());
            }
        };
        let not_counted = proof
            .err()
            .or_else(|| clock_stood(&taken))
            .or_else(|| disproved_by_device(cache, &taken, data, live.bypasses_cache));
        let wrong = wrong_payload(&self.bench.run.cells[index], data, &taken);
        for (metric, why) in missing(&taken) {
            let method = self.bench.run.cells[index].method.clone();
            self.bench.note_missing(Some(&method), metric, why);
        }
        let wall_ns = taken.done.wall_ns;
        live.last = (wall_ns, taken.done.ops);
        live.reports_device_bytes = taken.used.device_read_bytes.is_some();
        let sample = position.sample(Pass::Timing, self.number, &taken.done);
        self.bench.push(index, Sample { not_counted, ..sample }, &all_values(&taken))?;
        self.schedule.between_ns.push((clock::now_ns() - start_ns).saturating_sub(wall_ns));
        if let Some(ended) = wrong.or_else(|| never_proved(&self.bench.run.cells[index])) {
            self.end(index, ended)?;
            self.bench.changed(index)?;
        }
        Ok(())
    }

    fn end(&mut self, cell: usize, ended: RunError) -> Result<(), Halt> {
        self.live[cell] = None;
        self.bench.run.cells[cell].status = match ended {
            RunError::Skipped(reason) => Status::Skipped(reason),
            RunError::Failed(reason) => Status::Failed(reason),
            RunError::Stopped => return Err(Halt::Stopped),
        };
        Ok(())
    }
}

/// Starts the process of each cell, at most `at_once` at the same time: if hundreds shared the CPUs
/// while they start, each could exceed its time limit.
fn start_each(
    cells: Vec<usize>,
    at_once: usize,
    mut start: impl FnMut(usize) -> Started,
) -> Vec<(usize, Started)> {
    let wait = |(cell, runner): (usize, Started)| {
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

/// The samples of a method before it died count.
fn keep_figures(cell: &mut Cell) {
    let rounds = cell.n(Pass::Timing);
    if let (Status::Failed(how), true) = (&cell.status, rounds > 0) {
        cell.status = Status::died(rounds, how);
    }
}

#[cfg(test)]
mod tests;
