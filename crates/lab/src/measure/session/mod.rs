//! One session: it starts a process per cell, warms up, and takes rounds until the plan is complete
//! or the time is used up.

mod preparing;
mod spared;

use anyhow::Result;

use super::bench::{Bench, Halt, Position};
use super::order::order;
use super::proof::{Pauses, clock_stood, disproved_by_device, never_proved, wrong_payload};
use super::schedule::Schedule;
use super::short_time::announce_short;
use super::values::{all_values, missing};
use crate::cache;
use crate::clock;
use crate::environment::Noise;
use crate::launch::{RunError, Runner};
use crate::metric::STEAL;
use crate::run::{CacheState, Cell, Pass, Sample, Status};

/// How many times a sample is taken again that found its file not in the page cache. Another
/// program, or the machine that a virtual one runs on, may take memory at any moment.
const RETAKES: u32 = 2;

/// The state of a session, and its processes.
pub(super) struct Session<'a, 'b> {
    pub(super) bench: &'a mut Bench<'b>,
    pub(super) number: u32,
    /// By cell; none: not started, or ended. Cells whose every sample is a process of its own stay
    /// from session to session.
    pub(super) live: &'a mut Vec<Option<Live>>,
    pub(super) schedule: &'a mut Schedule,
    pub(super) noise: &'a Noise,
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
        let ended = self.prepare_all().and_then(|()| {
            announce_short(self.bench, self.schedule);
            self.rounds()
        });
        if self.schedule.may_spare() {
            self.schedule.later.push(self.number);
            let run = &self.bench.run;
            let of_reference = self.bench.are_of_reference();
            let later = &self.schedule.later;
            let spared = spared::spared(&run.cells, &run.points, &of_reference, later);
            self.schedule.spare(&spared);
        }
        let cells = self.live.iter_mut().enumerate();
        let leaving = cells.filter(|(cell, _)| !self.schedule.stays(*cell));
        let mut leaving: Vec<Live> = leaving.filter_map(|(_, live)| live.take()).collect();
        // When the first one is waited for, all others end as well.
        leaving.iter_mut().for_each(Live::bye);
        ended
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
            if self.have_figures()
                && (!has_time
                    || self.schedule.is_over(now_ns)
                    || !self.schedule.has_time_for_round(now_ns))
            {
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
            if self.has_figure(cell) && self.schedule.is_over(clock::now_ns()) {
                continue;
            }
            let position = Position { round, slot: slot as u32, warm_up };
            self.sample(cell, position)?;
        }
        Ok(is_whole)
    }

    /// Whether a sample of the cell can be shown, so that it may lack others.
    fn has_figure(&self, cell: usize) -> bool {
        let cell = &self.bench.run.cells[cell];
        cell.n(Pass::Timing) > 0 || cell.estimate().is_some()
    }

    fn have_figures(&self) -> bool {
        let mut live = (0..self.live.len()).filter(|cell| self.live[*cell].is_some());
        live.all(|cell| self.has_figure(cell))
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

    /// Takes one sample, again if its file was found to have left the page cache, or if the lab was
    /// stopped meanwhile: without it the whole round would be lost for the comparison with the
    /// others.
    fn sample(&mut self, index: usize, position: Position) -> Result<(), Halt> {
        let mut retakes = if position.warm_up { 0 } else { RETAKES };
        while !self.take(index, position)? && retakes > 0 {
            retakes -= 1;
            self.keep_warm()?;
        }
        Ok(())
    }

    /// Takes one sample; a failure ends the cell, not the run. Returns whether the sample counts,
    /// as far as another attempt could change that.
    fn take(&mut self, index: usize, position: Position) -> Result<bool, Halt> {
        let Some(live) = &mut self.live[index] else { return Ok(true) };
        live.n += 1;
        if let Err(ended) = live.runner.before(live.n) {
            self.end(index, ended)?;
            self.bench.changed(index)?;
            return Ok(true);
        }
        self.bench.evict(live.point);
        let data = &self.bench.data[live.point];
        let cache = self.bench.run.plan.cache;
        let start_ns = clock::now_ns();
        // A warm sample that reads no byte from the device is proved afterwards.
        let proves_itself = cache == CacheState::Warm && live.reports_device_bytes;
        let proof = if proves_itself { Ok(()) } else { cache::prove(cache, &data.files) };
        let stolen_before = self.noise.stolen_ns();
        let pauses = Pauses::begin();
        let taken = match live.runner.go(live.n, live.ops) {
            Ok(taken) => taken,
            Err(ended) => {
                let has_died = live.runner.has_died();
                self.end(index, ended)?;
                if has_died {
                    keep_figures(&mut self.bench.run.cells[index]);
                }
                self.bench.changed(index)?;
                return Ok(true);
            }
        };
        let disproved =
            proof.err().or_else(|| disproved_by_device(cache, &taken, data, live.bypasses_cache));
        let left_cache = cache == CacheState::Warm && disproved.is_some();
        let paused = pauses.end();
        let is_repeated = left_cache || paused.is_some();
        let not_counted = clock_stood(&taken).or(paused).or(disproved);
        let wrong = wrong_payload(&self.bench.run.cells[index], data, &taken);
        for (metric, why) in missing(&taken) {
            let method = self.bench.run.cells[index].method.clone();
            self.bench.note_missing(Some(&method), metric, why);
        }
        let wall_ns = taken.done.wall_ns;
        live.last = (wall_ns, taken.done.ops);
        live.reports_device_bytes = taken.used.device_read_bytes.is_some();
        let sample = position.sample(Pass::Timing, self.number, &taken.done);
        let mut values = all_values(&taken);
        if let Some((now_ns, before_ns)) = self.noise.stolen_ns().zip(stolen_before) {
            let ns = now_ns.saturating_sub(before_ns) as f64;
            values.push((STEAL, ns / taken.done.ops.max(1) as f64));
        }
        self.bench.push(index, Sample { not_counted, ..sample }, &values)?;
        self.schedule.sampled(wall_ns);
        self.schedule.between_ns.push((clock::now_ns() - start_ns).saturating_sub(wall_ns));
        if let Some(ended) = wrong.or_else(|| never_proved(&self.bench.run.cells[index])) {
            self.end(index, ended)?;
            self.bench.changed(index)?;
        }
        Ok(!is_repeated)
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

/// The samples of a method before it died count.
fn keep_figures(cell: &mut Cell) {
    let rounds = cell.n(Pass::Timing);
    if let (Status::Failed(how), true) = (&cell.status, rounds > 0) {
        cell.status = Status::died(rounds, how);
    }
}

#[cfg(test)]
mod tests;
