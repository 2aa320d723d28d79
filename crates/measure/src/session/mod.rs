//! One session: it starts a process per cell, warms up, and takes rounds until the plan is complete
//! or the time is used up. It also finds which samples count and which methods need no warm-up.

mod preparing;

use std::collections::BTreeMap;

use anyhow::Result;
use model::metric::{STEAL, WALL};
use model::param::Point;
use model::run::{CacheState, Cell, INTERRUPTED, Pass, Role, STOPPED, SUSPENDED, Sample, Status};

use super::context::{Interrupted, MeasureContext, Position, order};
use super::schedule::Schedule;
use super::schedule::limit::announce_short;
use super::values::{all_values, missing};
use crate::counters::Counter;
use crate::environment::Noise;
use crate::experiment::Data;
use crate::launch::{RawSample, RunError, Runner};
use crate::stop::was_stopped_meanwhile;
use crate::{cache, clock};

/// How many times a sample is taken again that found its file not in the page cache. Another
/// program, or the machine that a virtual one runs on, may take memory at any moment.
const RETAKES: u32 = 2;

/// A process that does nothing is timed in one of this many rounds: its time drifts slowly, and
/// beside a short command it takes as long as the sample itself.
const NOOP_ROUNDS: u32 = 8;

/// The state of a session, and its processes.
pub(super) struct Session<'a, 'b> {
    pub(super) context: &'a mut MeasureContext<'b>,
    pub(super) number: u32,
    /// Indexed by cell; `None` if not running. Cells with a process per sample are kept from
    /// session to session.
    pub(super) running: &'a mut Vec<Option<RunningMethod>>,
    pub(super) schedule: &'a mut Schedule,
    pub(super) noise: &'a Noise,
}

/// A started method.
pub(super) struct RunningMethod {
    runner: Box<dyn Runner>,
    ops: u64,
    /// The number of the next sample.
    n: u64,
    /// Index into the points and their data.
    point: usize,
    bypasses_cache: bool,
    /// Whether the sample that determined its time is that of the first warm-up round.
    is_warm: bool,
    /// Approximate time of one operation.
    op_ns: u64,
    reports_device_bytes: bool,
    /// Wall time and operations of the last sample.
    last: (u64, u64),
}

impl RunningMethod {
    pub(super) fn bye(&mut self) {
        self.runner.bye();
    }
}

impl Session<'_, '_> {
    pub(super) fn run(mut self) -> Result<(), Interrupted> {
        let ended = self.prepare_all().and_then(|()| {
            announce_short(self.context, self.schedule);
            self.rounds()
        });
        if self.schedule.may_skip_warm_ups() {
            self.schedule.later.push(self.number);
            let run = &self.context.run;
            let of_reference = self.context.are_of_reference();
            let later = &self.schedule.later;
            let skips_warm_up = skips_warm_up(&run.cells, &run.points, &of_reference, later);
            self.schedule.roster.skip_warm_ups(&skips_warm_up);
        }
        let cells = self.running.iter_mut().enumerate();
        let leaving = cells.filter(|(cell, _)| !self.schedule.roster.is_process_per_sample(*cell));
        let mut leaving: Vec<RunningMethod> =
            leaving.filter_map(|(_, running)| running.take()).collect();
        // When the first one is waited for, all others end as well.
        leaving.iter_mut().for_each(RunningMethod::bye);
        ended
    }

    fn rounds(&mut self) -> Result<(), Interrupted> {
        let warm_up = self.schedule.warm_up();
        for round in 0.. {
            let most = warm_up.saturating_add(self.schedule.session_rounds());
            if round >= most {
                break;
            }
            let counts = round >= warm_up;
            let now_ns = clock::now_ns();
            if counts {
                self.schedule.budget.starts(now_ns);
            }
            let has_time = round <= warm_up || self.schedule.has_time(now_ns);
            if self.have_figures()
                && (!has_time
                    || self.schedule.is_over(now_ns)
                    || !self.schedule.has_time_for_round(now_ns))
            {
                break;
            }
            self.context.record.progress(self.context.run, &self.schedule.progress(now_ns));
            let is_whole = self.round(round, !counts)?;
            if counts || is_whole {
                self.schedule.took(clock::now_ns() - now_ns, counts);
            }
            if self.running.iter().all(Option::is_none) {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether all participants were sampled, so that the duration of the round is that of
    /// a whole one.
    fn round(&mut self, round: u32, warm_up: bool) -> Result<bool, Interrupted> {
        self.keep_warm()?;
        let order =
            order(self.context.run.plan.seed, self.number, round, self.context.run.cells.len());
        let takes_part = |cell: &usize| {
            self.running[*cell].is_some() && self.schedule.takes_part(*cell, warm_up)
        };
        let is_warm = |cell: &usize| {
            let is_warm = self.running[*cell].as_ref().is_some_and(|running| running.is_warm);
            warm_up && round == 0 && is_warm
        };
        let (warm, needed): (Vec<usize>, Vec<usize>) =
            order.into_iter().filter(takes_part).partition(is_warm);
        let is_whole = warm.is_empty() && !needed.is_empty();
        for (slot, cell) in needed.into_iter().enumerate() {
            self.context.check_stop()?;
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
        let cell = &self.context.run.cells[cell];
        cell.n(Pass::Timing) > 0 || cell.estimate().is_some()
    }

    fn have_figures(&self) -> bool {
        let mut running = (0..self.running.len()).filter(|cell| self.running[*cell].is_some());
        running.all(|cell| self.has_figure(cell))
    }

    /// Reads back what other programs evicted from the page cache, before a round.
    fn keep_warm(&self) -> Result<()> {
        if self.context.proved_state() == CacheState::Warm {
            for file in self.context.data.iter().flat_map(|data| &data.files) {
                // For a file of another user this cannot be read; then the bytes read from the
                // device are the only proof.
                if cache::residency(file).is_ok_and(|now| now.cached < now.pages) {
                    cache::fill(file, self.context.stop)?;
                }
            }
        }
        Ok(())
    }

    /// Takes one sample. It is repeated if its file had left the page cache, or if the lab was
    /// stopped meanwhile: without it the whole round would be lost for the comparison with the
    /// others.
    fn sample(&mut self, index: usize, position: Position) -> Result<(), Interrupted> {
        let mut retakes = if position.warm_up { 0 } else { RETAKES };
        while !self.take(index, position)? && retakes > 0 {
            retakes -= 1;
            self.keep_warm()?;
        }
        Ok(())
    }

    /// Takes one sample; a failure ends the cell, not the run. Returns whether the sample counts,
    /// as far as another attempt could change that.
    fn take(&mut self, index: usize, position: Position) -> Result<bool, Interrupted> {
        let Some(running) = &mut self.running[index] else { return Ok(true) };
        running.n += 1;
        let ready = running.runner.before(running.n);
        let ready = ready.and_then(|()| self.context.fill(&mut *running.runner, running.point));
        if let Err(ended) = ready {
            self.end(index, ended)?;
            self.context.changed(index)?;
            return Ok(true);
        }
        self.context.evict(running.point);
        let data = &self.context.data[running.point];
        let cache = self.context.proved_state();
        let start_ns = clock::now_ns();
        // A warm sample that reads no byte from the device is proved afterwards.
        let proves_itself = cache == CacheState::Warm && running.reports_device_bytes;
        let proof = if proves_itself { Ok(()) } else { cache::prove(cache, &data.files) };
        let stolen_before = self.noise.stolen_ns();
        let pauses = Pauses::begin();
        // The first round that counts is one of them.
        let counted = position.round.saturating_sub(self.schedule.warm_up());
        let times_noop = !position.warm_up && (self.number + counted).is_multiple_of(NOOP_ROUNDS);
        let taken = running.runner.go(running.n, running.ops).and_then(|taken| {
            let noop_ns = if times_noop { running.runner.noop_ns()? } else { None };
            Ok(RawSample { noop_ns, ..taken })
        });
        let taken = match taken {
            Ok(taken) => taken,
            Err(ended) => {
                let has_died = running.runner.has_died();
                self.end(index, ended)?;
                if has_died {
                    keep_figures(&mut self.context.run.cells[index]);
                }
                self.context.changed(index)?;
                return Ok(true);
            }
        };
        let disproved = proof
            .err()
            .or_else(|| disproved_by_device(cache, &taken, data, running.bypasses_cache));
        let left_cache = cache == CacheState::Warm && disproved.is_some();
        let paused = pauses.end();
        let is_repeated = left_cache || paused.is_some();
        let not_counted = clock_stood(&taken).or(paused).or(disproved).map(Into::into);
        let wrong = wrong_payload(&self.context.run.cells[index], data, &taken);
        for (metric, why) in missing(&taken) {
            let method = self.context.run.cells[index].method.clone();
            self.context.note_missing(Some(&method), metric, why);
        }
        let wall_ns = taken.done.wall_ns;
        running.last = (wall_ns, taken.done.ops);
        running.reports_device_bytes = taken.used[Counter::DeviceReadBytes].is_some();
        let sample = position.sample(Pass::Timing, self.number, &taken.done);
        let mut values = all_values(&taken);
        if let Some((now_ns, before_ns)) = self.noise.stolen_ns().zip(stolen_before) {
            let ns = now_ns.saturating_sub(before_ns) as f64;
            values.push((STEAL, ns / taken.done.ops.max(1) as f64));
        }
        self.context.push(index, Sample { not_counted, ..sample }, &values)?;
        self.schedule.sampled(wall_ns);
        let took_ns = clock::now_ns() - start_ns;
        self.context.record.took(self.context.run, index, took_ns);
        self.schedule.budget.between_ns.push(took_ns.saturating_sub(wall_ns));
        if let Some(ended) = wrong.or_else(|| never_proved(&self.context.run.cells[index])) {
            self.end(index, ended)?;
            self.context.changed(index)?;
        }
        Ok(!is_repeated)
    }

    fn end(&mut self, cell: usize, ended: RunError) -> Result<(), Interrupted> {
        self.running[cell] = None;
        self.context.run.cells[cell].status = match ended {
            RunError::Skipped(reason) => Status::Skipped(reason),
            RunError::Failed(reason) => Status::Failed(reason),
            RunError::Stopped => return Err(Interrupted::Stopped),
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

// Whether a sample counts, and whether its method did the whole job.

/// A warm sample must not read from the device; a cold one must.
fn disproved_by_device(
    cache: CacheState,
    taken: &RawSample,
    data: &Data,
    bypasses_cache: bool,
) -> Option<String> {
    let read_bytes = taken.used[Counter::DeviceReadBytes].filter(|_| !data.is_served)?;
    match cache {
        CacheState::Warm if read_bytes > 0 && !bypasses_cache => {
            Some(format!("not warm: {read_bytes} bytes came from the device"))
        }
        CacheState::Cold => {
            let sizes = data.files.iter().filter_map(|file| Some(file.metadata().ok()?.len()));
            // A job without a fixed payload may read only a part of its files.
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

/// Detects that the lab or the machine was stopped while a sample was taken.
struct Pauses {
    suspended_ns: u64,
}

impl Pauses {
    fn begin() -> Pauses {
        was_stopped_meanwhile();
        Pauses { suspended_ns: clock::suspended_ns() }
    }

    /// Why the sample does not count, if the lab or the machine was stopped since.
    fn end(&self) -> Option<String> {
        let was_suspended = clock::suspended_ns() > self.suspended_ns + SUSPENDED_NS;
        match (was_suspended, was_stopped_meanwhile()) {
            (true, _) => Some(SUSPENDED.to_owned()),
            (_, true) => Some(STOPPED.to_owned()),
            _ => None,
        }
    }
}

/// Tolerance for the time between the readings of the two clocks.
const SUSPENDED_NS: u64 = 10_000_000;

fn clock_stood(taken: &RawSample) -> Option<String> {
    (taken.done.wall_ns == 0).then(|| "too short: its own clock did not move".to_owned())
}

fn wrong_payload(cell: &Cell, data: &Data, taken: &RawSample) -> Option<RunError> {
    let expected = u128::from(data.payload_bytes?) * u128::from(taken.done.ops);
    let got = u128::from(taken.done.bytes);
    // A plain command cannot report how much it delivered, and a yardstick may deliver nothing.
    let says = taken.startup_ns.is_none();
    (says && cell.role == Role::Contender && got != expected)
        .then(|| RunError::Failed(format!("handed over {got} bytes instead of {expected}")))
}

fn never_proved(cell: &Cell) -> Option<RunError> {
    let is_aside = |sample: &&Sample| {
        let reason = sample.not_counted.as_deref();
        reason.is_some_and(|reason| [INTERRUPTED, STOPPED, SUSPENDED].contains(&reason))
    };
    let own = cell.samples.iter().filter(|sample| !is_aside(sample));
    let last = own.rev().take(UNPROVED_LIMIT);
    let reasons: Vec<&str> = last.filter_map(|sample| sample.not_counted.as_deref()).collect();
    if reasons.len() < UNPROVED_LIMIT || cell.samples.iter().any(Sample::counts) {
        return None;
    }
    Some(RunError::Skipped(format!(
        "{} samples in a row did not count: {}; --cache as-is takes them as they are",
        reasons.len(),
        reasons[0]
    )))
}

/// After this number of consecutive samples that were not in the requested cache state, measuring
/// of a cell ends.
const UNPROVED_LIMIT: usize = 5;

// Which methods skip their warm-up in later sessions, because it changes nothing and takes long.

/// A method skips its warm-up only if its samples take more than this multiple of the reference's.
const TIMES_OF_REFERENCE: f64 = 2.0;
/// A warm-up is needed if first samples take more than this multiple of later ones: a compiler runs
/// meanwhile, or memory is touched for the first time.
const TIMES_OF_LATER: f64 = 1.1;

/// By cell, whether its first samples of the sessions that warmed it up took as long as the last
/// ones, on average, and these far longer than the reference's at each of its points. Only these
/// `sessions` count: in the first one the processes have computed digests, and so have touched
/// their memory before.
fn skips_warm_up(
    cells: &[Cell],
    points: &[Point],
    of_reference: &[bool],
    sessions: &[u32],
) -> Vec<bool> {
    // The reference never skips its warm-up; it has none where it is a command.
    let times = cells.iter().zip(of_reference);
    let times: Vec<Option<[f64; 2]>> =
        times.map(|(cell, is_reference)| times_ns(cell, sessions, !is_reference)).collect();
    let reference_ns = |point: &Point| {
        let is_part = |cell: &usize| of_reference[*cell] && cells[*cell].point.is_part_of(point);
        times[(0..cells.len()).find(is_part)?].map(|[_, last_ns]| last_ns)
    };
    let of_cell = |(cell, times): (&Cell, &Option<[f64; 2]>)| {
        let Some([first_ns, last_ns]) = *times else { return false };
        let mut points = points.iter().filter(|point| cell.point.is_part_of(point));
        first_ns <= TIMES_OF_LATER * last_ns
            && points.all(|point| {
                reference_ns(point).is_some_and(|ns| last_ns > TIMES_OF_REFERENCE * ns)
            })
    };
    cells.iter().zip(&times).map(of_cell).collect()
}

/// The mean times of the first sample and of the last one, over those of these sessions whose last
/// sample counts and, if `warmed_up`, whose first one warms up; none if there is no such session.
fn times_ns(cell: &Cell, sessions: &[u32], warmed_up: bool) -> Option<[f64; 2]> {
    let is_part =
        |sample: &Sample| sample.pass == Pass::Timing && sessions.contains(&sample.session);
    let timed =
        cell.samples.iter().zip(cell.column(WALL).iter()).filter(|(sample, _)| is_part(sample));
    let mut ends: BTreeMap<u32, [(&Sample, f64); 2]> = BTreeMap::new();
    for (sample, ns) in timed {
        let new = (sample, *ns);
        ends.entry(sample.session).and_modify(|[_, last]| *last = new).or_insert([new; 2]);
    }
    ends.retain(|_, [(first, _), (last, _)]| (first.warm_up || !warmed_up) && last.counts());
    let mean_ns =
        |which: usize| ends.values().map(|ends| ends[which].1).sum::<f64>() / ends.len() as f64;
    (!ends.is_empty()).then(|| [mean_ns(0), mean_ns(1)])
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod skips_warm_up_tests {
    use super::*;
    use crate::context::Position;
    use crate::launch::RawSample;

    fn point(size: u64) -> Point {
        let mut point = Point::default();
        point.set("size", size);
        point
    }

    /// A cell with these times in its samples of the sessions from 1 on, of which the first one
    /// warms up.
    fn cell_of(method: &str, size: u64, sessions: &[&[f64]]) -> Cell {
        let mut cell = Cell::new(method, point(size));
        for (session, walls_ns) in sessions.iter().enumerate() {
            for (n, wall_ns) in walls_ns.iter().enumerate() {
                let position = Position { round: 0, slot: 0, warm_up: n == 0 };
                let done = RawSample::default().done;
                let sample = position.sample(Pass::Timing, 1 + session as u32, &done);
                cell.push(sample, &[(WALL, *wall_ns)]);
            }
        }
        cell
    }

    fn cell(method: &str, size: u64, walls_ns: &[f64]) -> Cell {
        cell_of(method, size, &[walls_ns])
    }

    fn check(cells: &[Cell], expected: &[bool]) {
        let of_reference: Vec<bool> = cells.iter().map(|cell| cell.method == "ref").collect();
        let points = [1, 2, 3].map(point);
        assert_eq!(skips_warm_up(cells, &points, &of_reference, &[1, 2]), expected);
    }

    #[test]
    fn what_is_far_slower_and_was_warm_from_the_start_is_spared() {
        check(
            &[
                cell("ref", 1, &[20.0, 10.0, 10.0]),
                cell("near", 1, &[20.0, 20.0, 20.0]),
                cell("far", 1, &[33.0, 40.0, 31.0]),
                cell("compiles", 1, &[35.0, 31.0, 31.0]),
                cell("without", 1, &[]),
                cell("only-warmed-up", 1, &[33.0]),
            ],
            &[false, false, true, false, false, false],
        );
    }

    /// Chance makes a single first sample longer or shorter.
    #[test]
    fn all_sessions_that_warmed_up_decide_together() {
        check(
            &[
                cell("ref", 1, &[10.0, 10.0]),
                cell_of("by-chance", 1, &[&[60.0, 50.0], &[50.0, 55.0]]),
                cell_of("compiles", 1, &[&[55.0, 55.0], &[75.0, 50.0]]),
            ],
            &[false, true, false],
        );
        // A session without a warm-up shows nothing.
        let mut later = cell_of("spared", 1, &[&[50.0, 50.0], &[90.0, 50.0]]);
        later.samples[2].warm_up = false;
        check(&[cell("ref", 1, &[10.0, 10.0]), later], &[false, true]);
        let mut never = cell("not-warmed-up", 1, &[50.0, 50.0]);
        never.samples[0].warm_up = false;
        check(&[cell("ref", 1, &[10.0, 10.0]), never], &[false, false]);
    }

    /// A method that skips its warm-up has fewer sessions with one than the reference.
    #[test]
    fn the_number_of_sessions_changes_no_mean() {
        let reference = cell_of("ref", 1, &[&[10.0, 10.0], &[10.0, 10.0]]);
        check(&[reference, cell("far", 1, &[30.0, 30.0])], &[false, true]);
    }

    /// In it the method has done its job before, for its digest.
    #[test]
    fn the_first_session_does_not_show_what_a_warm_up_is_for() {
        let new_memory = cell_of("new-memory", 1, &[&[30.0, 30.0], &[90.0, 30.0]]);
        let cells = [cell_of("ref", 1, &[&[10.0, 10.0], &[10.0, 10.0]]), new_memory];
        let skips_in =
            |sessions: &[u32]| skips_warm_up(&cells, &[point(1)], &[true, false], sessions);
        assert_eq!(skips_in(&[1]), [false, true]);
        assert_eq!(skips_in(&[2]), [false, false]);
        assert_eq!(skips_in(&[]), [false, false]);
    }

    /// A command is a process of its own in each sample, and is not warmed up again.
    #[test]
    fn the_reference_may_have_no_warm_up() {
        let mut command = cell("ref", 1, &[10.0, 10.0]);
        command.samples[0].warm_up = false;
        check(&[command, cell("worker", 1, &[30.0, 30.0])], &[false, true]);
    }

    #[test]
    fn at_each_value_of_a_param_the_reference_is_that_of_the_value() {
        check(
            &[
                cell("ref", 1, &[10.0, 10.0]),
                cell("a", 1, &[31.0, 31.0]),
                cell("ref", 2, &[100.0, 100.0]),
                cell("a", 2, &[190.0, 190.0]),
                cell("a", 3, &[1000.0, 1000.0]),
            ],
            &[false, true, false, false, false],
        );
    }
}
