//! One session: start a process per cell, warm up, then rounds until the plan or the time is done.

use anyhow::Result;

use super::course::Course;
use super::job::{
    INTERRUPTED, Job, Progress, Record, are_of_reference, arguments, must_hand_over_all,
    note_missing, point_of,
};
use super::order::order;
use super::values::{missing, values};
use crate::cache;
use crate::clock;
use crate::experiment::{Data, How, Method};
use crate::launch::{Ended, Launch, Runner, Stop, Taken};
use crate::metric;
use crate::run::{CacheState, Cell, Pass, Role, Run, Sample, Status};

/// Work is batched until a sample is this many times the clock's step.
const STEPS_PER_SAMPLE: u64 = 1000;
/// A sample that takes longer holds no more operations than it must.
const LONG_NS: u64 = 10_000_000;
/// After so many samples in a row that were not in the asked cache state, a cell is given up.
const UNPROVED_LIMIT: usize = 5;

/// All that a session works with, and its processes.
pub(super) struct Session<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) run: &'a mut Run,
    pub(super) data: &'a [Data],
    pub(super) launch: &'a mut dyn Launch,
    pub(super) record: &'a mut dyn Record,
    pub(super) stop: &'a Stop,
    pub(super) number: u32,
    /// By cell; none: not started, or ended. Those of which every sample is a process of its own stay
    /// from session to session.
    pub(super) live: &'a mut Vec<Option<Live>>,
    pub(super) course: &'a mut Course,
}

/// A started method.
pub(super) struct Live {
    runner: Box<dyn Runner>,
    ops: u64,
    /// The number of the next sample.
    n: u64,
    /// Index into the points and their data.
    point: usize,
    bypasses_cache: bool,
    /// Time of one operation, roughly.
    op_ns: u64,
    tells_device_bytes: bool,
    /// Wall time and operations of the last sample.
    last: (u64, u64),
}

/// Where a sample stands in the run.
#[derive(Clone, Copy)]
struct Place {
    round: u32,
    slot: u32,
    warm_up: bool,
}

/// Whether to go on.
#[derive(PartialEq)]
enum Next {
    On,
    Stop,
}

impl Live {
    pub(super) fn bye(&mut self) {
        self.runner.bye();
    }
}

impl Session<'_> {
    /// False if a signal stopped it.
    pub(super) fn run(mut self) -> Result<bool> {
        let finished = self.prepare_all()? == Next::On && self.rounds()? == Next::On;
        for (cell, live) in self.live.iter_mut().enumerate() {
            if !self.course.stays(cell)
                && let Some(mut live) = live.take()
            {
                live.bye();
            }
        }
        Ok(finished)
    }

    fn prepare_all(&mut self) -> Result<Next> {
        let of = self.run.cells.len();
        // In random order, as what starts first may get the better place.
        let starts = order(self.run.plan.seed, self.number, u32::MAX, of);
        for (done, cell) in starts.into_iter().enumerate() {
            if self.stop.signal().is_some() {
                return Ok(Next::Stop);
            }
            if self.run.cells[cell].status != Status::Measured || self.live[cell].is_some() {
                continue;
            }
            if self.course.is_first() {
                // Later ones are short: where the rounds stand stays on the screen.
                let method = &self.run.cells[cell].method;
                self.record.progress(&Progress::Preparing { method, done, of });
            }
            match self.prepare(cell) {
                Ok(live) => self.live[cell] = Some(live),
                Err(Ended::Stopped) => return Ok(Next::Stop),
                Err(ended) => self.end(cell, ended),
            }
            self.record.cell(self.run, cell)?;
            if self.course.ops[cell].is_none() && self.find_ops(cell)? == Next::Stop {
                return Ok(Next::Stop);
            }
        }
        self.share_ops();
        let samples_ns = self.live.iter().map(|live| match live {
            Some(live) => live.op_ns.saturating_mul(live.ops),
            None => 0,
        });
        let samples_ns: Vec<u64> = samples_ns.collect();
        let reference = are_of_reference(self.job, self.run);
        self.course.learn(&samples_ns, &reference, clock::now_ns());
        Ok(Next::On)
    }

    fn prepare(&mut self, index: usize) -> Result<Live, Ended> {
        let point = point_of(self.run, &self.run.cells[index]);
        if let Some(reason) = &self.data[point].unfit {
            return Err(Ended::Skipped(reason.clone()));
        }
        let cell = &mut self.run.cells[index];
        let method = self.job.methods.iter().find(|method| method.name == cell.method);
        let method = method
            .ok_or_else(|| Ended::Failed(format!("there is no method {} now", cell.method)))?;
        // One of an older program does not know that, and its newer side is to do the same.
        let is_old = |method: &Method| matches!(method.how, How::Old { .. });
        let has_digest = self.course.digests[index] && !self.job.methods.iter().any(is_old);
        let mut runner = self.launch.start(self.job.experiment.name, method, has_digest)?;
        let ready = runner.prepare(&arguments(self.job, &self.data[point], method))?;
        cell.language = ready.language;
        if cell.digest.is_some() && ready.digest.is_some() && cell.digest != ready.digest {
            return Err(Ended::Failed("the bytes it hands over differ between sessions".into()));
        }
        self.course.digests[index] |= ready.digest.is_some();
        cell.digest = ready.digest.or(cell.digest.take());
        let bypasses_cache = method.bypasses_cache;
        let is_command = method.how.is_command();
        let counting = self.run.plan.counting > 0;
        for (metric, why) in runner.missing() {
            if is_command && counting && metric == metric::PEAK_RSS {
                // The counting pass gives it, or says why not.
                continue;
            }
            let method = is_command.then_some(method.name.as_str());
            note_missing(self.run, method, metric, &why);
        }
        Ok(Live {
            runner,
            ops: 1,
            n: 0,
            point,
            bypasses_cache,
            op_ns: 0,
            tells_device_bytes: false,
            last: (0, 0),
        })
    }

    /// Asks for more operations per sample until one is long enough for the clock. These samples are
    /// warm-up samples; of two at the same number the shorter one decides, as the first is a cold start.
    fn find_ops(&mut self, cell: usize) -> Result<Next> {
        if self.run.plan.cache == CacheState::Cold {
            // A second operation would find the file warm.
            return Ok(Next::On);
        }
        let enough_ns = STEPS_PER_SAMPLE * clock::step_ns();
        for _ in 0..12 {
            let mut shortest_ns = u64::MAX;
            for _ in 0..2 {
                let place = Place { round: 0, slot: 0, warm_up: true };
                if self.sample(cell, place)? == Next::Stop {
                    return Ok(Next::Stop);
                }
                let Some(live) = &self.live[cell] else { return Ok(Next::On) };
                shortest_ns = shortest_ns.min(live.last.0);
                if shortest_ns > LONG_NS {
                    break;
                }
            }
            let Some(live) = &mut self.live[cell] else { return Ok(Next::On) };
            let (_, ops) = live.last;
            if shortest_ns >= enough_ns || ops < live.ops {
                // A child that does fewer operations than asked is asked for what it does.
                live.ops = ops.min(live.ops);
                live.op_ns = shortest_ns / live.ops.max(1);
                break;
            }
            let factor = (enough_ns * 5 / 4).div_ceil(shortest_ns.max(1)).clamp(2, 1000);
            live.ops = live.ops.saturating_mul(factor);
        }
        Ok(Next::On)
    }

    fn share_ops(&mut self) {
        let batch = |(cell, live): (usize, &Option<Live>)| {
            let Live { point, ops, op_ns, .. } = *live.as_ref()?;
            let yardstick = self.run.cells[cell].role == Role::Yardstick;
            Some(Batch { cell, point, ops, op_ns, yardstick })
        };
        let batches: Vec<Batch> = self.live.iter().enumerate().filter_map(batch).collect();
        for (batch, ops) in batches.iter().zip(shared_ops(&batches)) {
            let ops = *self.course.ops[batch.cell].get_or_insert(ops);
            if let Some(live) = &mut self.live[batch.cell] {
                live.ops = ops;
            }
        }
    }

    fn rounds(&mut self) -> Result<Next> {
        let warm_up = self.course.warm_up();
        for round in 0.. {
            let most = warm_up.saturating_add(self.course.session_rounds());
            if round >= most {
                break;
            }
            let counts = round >= warm_up;
            let now_ns = clock::now_ns();
            if counts {
                self.course.starts(now_ns);
            }
            if round > warm_up && !self.course.has_time(now_ns) {
                break;
            }
            self.record.progress(&self.course.progress(now_ns));
            if self.round(round, !counts)? == Next::Stop {
                return Ok(Next::Stop);
            }
            self.course.took(clock::now_ns() - now_ns, counts);
            if self.live.iter().all(Option::is_none) {
                break;
            }
        }
        Ok(Next::On)
    }

    fn round(&mut self, round: u32, warm_up: bool) -> Result<Next> {
        self.keep_warm()?;
        let order = order(self.run.plan.seed, self.number, round, self.run.cells.len());
        let alive: Vec<usize> =
            order.into_iter().filter(|cell| self.live[*cell].is_some()).collect();
        let alive = alive.into_iter().filter(|cell| self.course.takes_part(*cell, warm_up));
        let alive: Vec<usize> = alive.collect();
        for (slot, cell) in alive.into_iter().enumerate() {
            if self.stop.signal().is_some() {
                return Ok(Next::Stop);
            }
            let place = Place { round, slot: slot as u32, warm_up };
            if self.sample(cell, place)? == Next::Stop {
                return Ok(Next::Stop);
            }
        }
        Ok(Next::On)
    }

    /// What other programs pushed out of the page cache is brought back before a round.
    fn keep_warm(&self) -> Result<()> {
        if self.run.plan.cache == CacheState::Warm {
            for file in self.data.iter().flat_map(|data| &data.files) {
                // Of another user's file this is not told; then the device bytes are the only proof.
                if cache::residency(file).is_ok_and(|now| now.cached < now.pages) {
                    cache::fill(file, self.stop)?;
                }
            }
        }
        Ok(())
    }

    /// Takes one sample; what goes wrong ends the cell, not the run.
    fn sample(&mut self, index: usize, place: Place) -> Result<Next> {
        let Some(live) = &mut self.live[index] else { return Ok(Next::On) };
        match live.runner.before() {
            Ok(()) => {}
            Err(Ended::Stopped) => return Ok(Next::Stop),
            Err(ended) => {
                self.end(index, ended);
                self.record.cell(self.run, index)?;
                return Ok(Next::On);
            }
        }
        let files = &self.data[live.point].files;
        let cache = self.run.plan.cache;
        if cache == CacheState::Cold {
            for file in files {
                // What could not be evicted is seen by the proof.
                let _ = cache::evict(file);
            }
        }
        let start_ns = clock::now_ns();
        // A warm sample that takes no byte from the device proves itself afterwards.
        let proves_itself = cache == CacheState::Warm && live.tells_device_bytes;
        let proof = if proves_itself { Ok(()) } else { cache::prove(cache, files) };
        live.n += 1;
        let taken = match live.runner.go(live.n, live.ops) {
            Ok(taken) => taken,
            Err(Ended::Stopped) => return Ok(Next::Stop),
            Err(ended) => {
                let has_died = live.runner.has_died();
                self.end(index, ended);
                if has_died {
                    keep_figures(&mut self.run.cells[index]);
                }
                self.record.cell(self.run, index)?;
                return Ok(Next::On);
            }
        };
        let not_counted = proof.err().or_else(|| clock_stood(&taken)).or_else(|| {
            disproved_by_device(cache, &taken, &self.data[live.point], live.bypasses_cache)
        });
        let wrong = wrong_payload(&self.run.cells[index], &self.data[live.point], &taken);
        for (metric, why) in missing(&taken) {
            let method = self.run.cells[index].method.clone();
            note_missing(self.run, Some(&method), metric, why);
        }
        let wall_ns = taken.done.wall_ns;
        live.last = (wall_ns, taken.done.ops);
        live.tells_device_bytes = taken.used.device_read_bytes.is_some();
        push(&mut self.run.cells[index], taken, self.number, place, not_counted);
        self.record.sample(self.run, index)?;
        self.course.between_ns.push((clock::now_ns() - start_ns).saturating_sub(wall_ns));
        if let Some(ended) = wrong.or_else(|| never_proved(&self.run.cells[index])) {
            self.end(index, ended);
            self.record.cell(self.run, index)?;
        }
        Ok(Next::On)
    }

    fn end(&mut self, cell: usize, ended: Ended) {
        self.live[cell] = None;
        self.run.cells[cell].status = match ended {
            Ended::Skipped(reason) => Status::Skipped(reason),
            Ended::Failed(reason) => Status::Failed(reason),
            Ended::Stopped => return,
        };
    }
}

/// What a method did before it died counts.
fn keep_figures(cell: &mut Cell) {
    let rounds = cell.n(Pass::Timing);
    if let (Status::Failed(how), true) = (&cell.status, rounds > 0) {
        cell.status = Status::died(rounds, how);
    }
}

/// What a method needs for a sample that is long enough for the clock.
struct Batch {
    cell: usize,
    point: usize,
    ops: u64,
    op_ns: u64,
    yardstick: bool,
}

/// How many operations a sample of each holds. The contenders of a point that must be batched have equally many, so
/// that what a sample costs once weighs equally; but none so many that its sample gets long. An operation that is
/// long enough is a sample of its own: its percentiles are those of operations, not of means.
fn shared_ops(batches: &[Batch]) -> Vec<u64> {
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

/// A warm file needs no device; a cold one must come from it.
fn disproved_by_device(
    cache: CacheState,
    taken: &Taken,
    data: &Data,
    bypasses_cache: bool,
) -> Option<String> {
    let read_bytes = taken.used.device_read_bytes?;
    match cache {
        CacheState::Warm if read_bytes > 0 && !bypasses_cache => {
            Some(format!("not warm: {read_bytes} bytes came from the device"))
        }
        CacheState::Cold => {
            let sizes = data.files.iter().filter_map(|file| Some(file.metadata().ok()?.len()));
            // A job without a fixed payload may read a part of its files only.
            let expected = data.payload_bytes.map_or(1, |payload| payload.min(sizes.sum()));
            (read_bytes < expected - expected / 50).then(|| {
                format!(
                    "not cold: {read_bytes} of {expected} bytes came from the device (something else \
                     reads the file, or its file system compresses)"
                )
            })
        }
        _ => None,
    }
}

fn clock_stood(taken: &Taken) -> Option<String> {
    (taken.done.wall_ns == 0).then(|| "too short: its own clock did not move".to_owned())
}

fn wrong_payload(cell: &Cell, data: &Data, taken: &Taken) -> Option<Ended> {
    let expected = u128::from(data.payload_bytes?) * u128::from(taken.done.ops);
    let got = u128::from(taken.done.bytes);
    // A plain command cannot say what it handed over.
    let says = taken.startup_ns.is_none();
    (says && must_hand_over_all(cell) && got != expected)
        .then(|| Ended::Failed(format!("handed over {got} bytes instead of {expected}")))
}

fn never_proved(cell: &Cell) -> Option<Ended> {
    let is_aside = |sample: &&Sample| sample.not_counted.as_deref() == Some(INTERRUPTED);
    let own = cell.samples.iter().filter(|sample| !is_aside(sample));
    let last = own.rev().take(UNPROVED_LIMIT);
    let reasons: Vec<&String> = last.filter_map(|sample| sample.not_counted.as_ref()).collect();
    if reasons.len() < UNPROVED_LIMIT || cell.samples.iter().any(Sample::counts) {
        return None;
    }
    Some(Ended::Skipped(format!(
        "{} samples in a row did not count: {}; --cache as-is takes them as they are",
        reasons.len(),
        reasons[0]
    )))
}

fn push(cell: &mut Cell, taken: Taken, session: u32, place: Place, not_counted: Option<String>) {
    let values = values(&taken);
    let done = taken.done;
    let own = done.metrics.iter().map(|(name, value)| (name.as_str(), *value));
    let values: Vec<(&str, f64)> = values
        .into_iter()
        .filter(|(name, _)| !done.metrics.iter().any(|(own, _)| own == name))
        .chain(own)
        .collect();
    let Place { round, slot, warm_up } = place;
    let sample = Sample {
        pass: Pass::Timing,
        session,
        round,
        slot,
        warm_up,
        not_counted,
        ops: done.ops,
        bytes: done.bytes,
        answer: done.answer.clone(),
    };
    cell.push(sample, &values);
}

#[cfg(test)]
mod tests;
