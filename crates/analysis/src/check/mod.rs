//! Whether methods that were measured again are slower than a baseline by more than is allowed. It
//! is decided by the bounds of an interval, and `slower` only if each of two runs shows it.

mod detectable_effect;
mod judge;

use std::collections::HashSet;

use model::metric::{WALL, unit};
use model::run::{Cell, OLD_SUFFIX, Pass, Role, Run, Status};
use serde::Serialize;

pub use self::detectable_effect::{
    DetectableEffect, ROUNDS, SESSIONS, detectable_effects, detectable_effects_of_pairs,
};
use self::judge::{ALPHA, CheckJudge, Evidence};
pub use self::judge::{CheckLine, Outcome};
pub(super) use self::judge::{log_limit, neither_proved};
use super::facts::{CellFacts, RunFacts};
use super::family::measure;
use super::{compare, values};
use crate::stats;

/// The change for the worse that is allowed for a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowed {
    /// `wall_ns` stands for the measure of all lines: the time without the wait for a CPU where one
    /// method waited and all have that value.
    pub metric: String,
    pub percent: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    pub outcome: Outcome,
    pub lines: Vec<CheckLine>,
}

/// The two sides of a check.
#[derive(Clone, Copy)]
pub struct Check<'a> {
    pub baseline: &'a Run,
    /// The same methods, measured again.
    pub now: &'a [Run],
    /// Runs of the same job on this machine, the oldest first: they show how much runs differ.
    pub before: &'a [Run],
    pub allowed: &'a [Allowed],
    /// Whether times are compared absolutely instead of relative to the reference.
    pub absolute: bool,
}

/// Every contender of the baseline in every metric that has a limit.
pub fn check(request: &Check<'_>) -> Checked {
    let baseline = RunFacts::new(request.baseline);
    let now: Vec<RunFacts<'_>> = request.now.iter().map(RunFacts::new).collect();
    let before: &[RunFacts<'_>] = &request.before.iter().map(RunFacts::new).collect::<Vec<_>>();
    let contenders = contenders(&baseline, &now, request.absolute);
    let judged =
        || contenders.iter().map(|contender| &contender.cell).filter(|c| c.wrong.is_none());
    // One measure for all lines, as for the methods of a table.
    let cells = judged().flat_map(|cell| cell.now.iter().chain([&cell.baseline]));
    let time = measure(&cells.copied().collect::<Vec<&CellFacts<'_>>>());
    // The outcome `slower` of one line is that of the whole check: the level is such that all lines
    // hold together.
    let alpha = ALPHA / (judged().count() * request.allowed.len()).max(1) as f64;
    let lines: Vec<CheckLine> = contenders
        .iter()
        .flat_map(|contender| request.allowed.iter().map(move |allowed| (contender, allowed)))
        .map(|(contender, allowed)| {
            ContenderMetric { request, before, contender, allowed, time, alpha }.line()
        })
        .collect();
    Checked { outcome: outcome(&lines), lines }
}

/// The outcome of all lines together: the worst of them. If nothing was checked, it is not ok.
pub(super) fn outcome(lines: &[CheckLine]) -> Outcome {
    use Outcome::{Faster, Missing, Ok, Slower, Undecided};
    let any = |outcome: &Outcome| lines.iter().any(|line| line.outcome == *outcome);
    [Slower, Missing, Undecided, Faster, Ok].into_iter().find(any).unwrap_or(Missing)
}

/// A contender of the baseline in one metric.
struct ContenderMetric<'a> {
    request: &'a Check<'a>,
    before: &'a [RunFacts<'a>],
    contender: &'a Contender<'a>,
    allowed: &'a Allowed,
    /// Wall time, or wall time without the wait for a CPU.
    time: &'static str,
    alpha: f64,
}

impl ContenderMetric<'_> {
    fn line(&self) -> CheckLine {
        let Contender { cell: RemeasuredCell { baseline, now, wrong }, reference } = self.contender;
        let metric = self.metric();
        let is_time = is_time(metric);
        let relative = reference.as_ref().filter(|_| self.is_relative(metric));
        let mut line = CheckLine::new(&[baseline], now, metric, self.allowed.percent);
        line.reference = relative.map(|reference| reference.baseline.stored.method.clone());
        line.reason.clone_from(wrong);
        if line.reason.is_some() {
            return line;
        }
        let judge = CheckJudge { alpha: self.alpha, runs: self.request.now.len() };
        if let Some(counts) = constants(metric, [&[baseline], now]) {
            judge.counts(&mut line, counts);
            return line;
        }
        match self.sessions(metric, relative.is_some()) {
            Ok(found) => {
                judge.line(&mut line, &found);
                self.doubt_the_reference(&mut line, &found);
            }
            Err(reason) => (line.outcome, line.reason) = (Outcome::Undecided, Some(reason)),
        }
        if is_time && relative.is_none() && !self.same_machine() {
            let (outcome, what) = if self.contender.is_reference() {
                (Outcome::Reference, "whether it got slower itself cannot be known")
            } else {
                let what = "only a method beside it in the same rounds can be compared";
                (Outcome::Undecided, what)
            };
            let reason = format!("the baseline is of another machine: {what}");
            (line.outcome, line.reason) = (outcome, Some(reason));
        }
        line
    }

    /// Whether the metric is relative to the reference, which was in the same rounds.
    fn is_relative(&self, metric: &str) -> bool {
        is_time(metric) && self.contender.reference.is_some() && !self.contender.is_reference()
    }

    fn same_machine(&self) -> bool {
        let machine = &self.request.baseline.environment.fingerprint;
        self.request.now.iter().all(|run| run.environment.fingerprint == *machine)
    }

    fn metric(&self) -> &str {
        if self.allowed.metric == WALL { self.time } else { &self.allowed.metric }
    }

    /// All differences between runs on this machine are in the reference's time: where they are not
    /// known, an interval can only show that the reference may still be ok.
    fn doubt_the_reference(&self, line: &mut CheckLine, found: &Evidence) {
        let is_known = matches!(found, Evidence::Apart { run_sd: Some(_), .. });
        if !self.contender.is_reference() || !is_time(&line.metric) || is_known {
            return;
        }
        match line.outcome {
            Outcome::Faster => line.outcome = Outcome::Ok,
            Outcome::Slower => {
                line.outcome = Outcome::Undecided;
                line.reason = Some(format!(
                    "more than is allowed, but it is not known how much runs on this machine \
                     differ: measure the job until the store has {} runs of it, or check with \
                     --absolute",
                    stats::RUNS_A_SIDE
                ));
            }
            _ => {}
        }
    }

    /// Logs: one value per session, for the baseline and for each new run.
    fn sessions(&self, metric: &str, relative: bool) -> Result<Evidence, String> {
        let Contender { cell: RemeasuredCell { baseline, now, .. }, reference } = self.contender;
        let of = |cell: &CellFacts<'_>, reference: Option<&CellFacts<'_>>| {
            match reference.filter(|_| relative) {
                Some(reference) => compare::relative(cell, reference, metric),
                // The whole counting pass is one session: there the samples are the unit.
                None if cell.pass_of(metric) == Pass::Counting => values::of_samples(cell, metric),
                None => values::absolute(cell, metric),
            }
        };
        let beside = |run: usize| reference.as_ref().and_then(|r| r.now.get(run).copied());
        let after = now.iter().enumerate().map(|(run, cell)| of(cell, beside(run)));
        let runs = self.before.iter().filter_map(|run| {
            let cell = run.find(&baseline.stored.method, &baseline.stored.point)?;
            let reference = reference.as_ref().map(|reference| reference.baseline.stored);
            let reference = reference.and_then(|cell| run.find(&cell.method, &cell.point));
            // Without its reference a run has no relative values.
            (reference.is_some() || !relative).then(|| of(cell, reference).ok())?
        });
        let runs: Vec<f64> = runs.map(|sessions| values::mean(&sessions)).collect();
        Ok(Evidence::Apart {
            before: of(baseline, reference.as_ref().map(|r| r.baseline))?,
            after: after.collect::<Result<_, String>>()?,
            run_sd: stats::neighbour_sd(&runs),
        })
    }
}

pub(super) fn is_time(metric: &str) -> bool {
    matches!(unit(metric), "ns" | "bytes/s")
}

/// A count that is equal in all samples of each side.
fn constants(metric: &str, sides: [&[&CellFacts<'_>]; 2]) -> Option<[f64; 2]> {
    if !matches!(unit(metric), "count" | "bytes") {
        return None;
    }
    let [before, after] = sides.map(|cells| values::constant(cells.iter().copied(), metric));
    Some([before?, after?])
}

// Which cells are checked: the contenders of a baseline, matched with the new runs, each with
// its reference.

/// A cell of the baseline and the matching cells of the new runs.
#[derive(Clone)]
struct RemeasuredCell<'a> {
    baseline: &'a CellFacts<'a>,
    now: Vec<&'a CellFacts<'a>>,
    /// Why it cannot be checked: it was not measured, or its answer differs from that of the
    /// baseline.
    wrong: Option<String>,
}

struct Contender<'a> {
    cell: RemeasuredCell<'a>,
    /// The reference of its point, which may be the cell itself; none where the point has only one
    /// method, or where times are compared absolutely.
    reference: Option<RemeasuredCell<'a>>,
}

impl Contender<'_> {
    /// Whether it is the reference to which the others are compared, while it is itself compared
    /// absolutely without a request for that.
    fn is_reference(&self) -> bool {
        let is_it = |other: &RemeasuredCell<'_>| other.baseline.index == self.cell.baseline.index;
        self.reference.as_ref().is_some_and(is_it)
    }
}

/// The cells that the baseline measured with the right answer.
fn contenders<'a>(
    baseline: &'a RunFacts<'a>,
    now: &'a [RunFacts<'a>],
    absolute: bool,
) -> Vec<Contender<'a>> {
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for point in &baseline.run.points {
        let fit = |cell: &&CellFacts<'_>| {
            cell.stored.role == Role::Contender
                && cell.stored.status == Status::Measured
                && cell.wrong.is_none()
                && cell.unusable.is_none()
                && cell.stored.point.is_part_of(point)
        };
        let cells = baseline.cells.iter().filter(fit);
        let family: Vec<RemeasuredCell<'a>> = cells.map(|cell| again(cell, now)).collect();
        let first = family.iter().find(|cell| cell.wrong.is_none());
        let reference = first.filter(|_| family.len() > 1 && !absolute).cloned();
        let new = family.into_iter().filter(|cell| known.insert(cell.baseline.index));
        all.extend(new.map(|cell| Contender { cell, reference: reference.clone() }));
    }
    all
}

fn again<'a>(baseline: &'a CellFacts<'a>, now: &'a [RunFacts<'a>]) -> RemeasuredCell<'a> {
    let mut cells = Vec::new();
    let mut why = None;
    for run in now {
        let Some(cell) = run.find(&baseline.stored.method, &baseline.stored.point) else {
            why.get_or_insert_with(|| "it was not measured again".to_owned());
            continue;
        };
        let (answer, before) = (cell.answers.single(), baseline.answers.single());
        let reason = match &cell.stored.status {
            Status::Skipped(reason) => Some(format!("skipped: {reason}")),
            Status::Failed(reason) => Some(format!("failed: {reason}")),
            Status::Measured if cell.wrong.is_some() => cell.wrong.clone(),
            Status::Measured if answer != before => Some(format!(
                "its answer is {} and was {}",
                answer.unwrap_or("none"),
                before.unwrap_or("none")
            )),
            Status::Measured if cell.stored.digest != baseline.stored.digest => {
                Some("it hands over other bytes than the baseline did".to_owned())
            }
            Status::Measured => {
                (!cell.has(WALL)).then(|| "it has no sample that counts".to_owned())
            }
        };
        why = why.or(reason);
        cells.push(cell);
    }
    RemeasuredCell { baseline, now: cells, wrong: why }
}

// Old and new in the same rounds: each method is compared only with its own old side, and no
// earlier run is needed.

/// A method and its old side in each run.
struct BaselinePair<'a> {
    new: Vec<&'a CellFacts<'a>>,
    old: Vec<&'a CellFacts<'a>>,
    /// Why the two cannot be compared.
    wrong: Option<String>,
}

/// Checks every contender that has an old side, in every metric that has a limit. All runs are of
/// the same job.
pub fn check_pairs(runs: &[Run], allowed: &[Allowed]) -> Checked {
    let runs: Vec<RunFacts<'_>> = runs.iter().map(RunFacts::new).collect();
    let pairs = pairs(&runs);
    let judged = || pairs.iter().filter(|pair| pair.wrong.is_none());
    // One measure for all lines, as for the methods of a table.
    let cells = judged().flat_map(|pair| pair.new.iter().chain(&pair.old));
    let time = measure(&cells.copied().collect::<Vec<&CellFacts<'_>>>());
    let alpha = ALPHA / (judged().count() * allowed.len()).max(1) as f64;
    let judge = CheckJudge { alpha, runs: runs.len() };
    let lines: Vec<CheckLine> = pairs
        .iter()
        .flat_map(|pair| allowed.iter().map(move |allowed| (pair, allowed)))
        .map(|(pair, allowed)| {
            let metric = if allowed.metric == WALL { time } else { &allowed.metric };
            pair.line(metric, allowed.percent, &judge)
        })
        .collect();
    Checked { outcome: outcome(&lines), lines }
}

/// The pairs of which at least one side was started: a method that both sides do not support on
/// this machine did not get slower.
fn pairs<'a>(runs: &'a [RunFacts<'a>]) -> Vec<BaselinePair<'a>> {
    let Some(first) = runs.first().map(|facts| facts.run) else { return Vec::new() };
    let mut known: Vec<[usize; 2]> = Vec::new();
    for point in &first.points {
        let at = |name: &str| {
            let is_it = |cell: &Cell| cell.method == name && cell.point.is_part_of(point);
            first.cells.iter().position(is_it)
        };
        for cell in first.cells.iter().filter(|cell| cell.role == Role::Contender) {
            let found = at(&cell.method).zip(at(&format!("{}{OLD_SUFFIX}", cell.method)));
            if let Some((new, old)) = found.filter(|_| cell.point.is_part_of(point))
                && !known.contains(&[new, old])
            {
                known.push([new, old]);
            }
        }
    }
    // Grouped by method, as in a table.
    known.sort_unstable();
    let in_all = |cell: &Cell| -> Vec<&'a CellFacts<'a>> {
        runs.iter().filter_map(|run| run.find(&cell.method, &cell.point)).collect()
    };
    let pairs = known.into_iter().map(|[new, old]| {
        let (new, old) = (in_all(&first.cells[new]), in_all(&first.cells[old]));
        let wrong = wrong(&new, &old, runs.len());
        BaselinePair { new, old, wrong }
    });
    let is_skipped = |cells: &[&CellFacts<'_>]| {
        cells.iter().all(|cell| matches!(cell.stored.status, Status::Skipped(_)))
    };
    pairs.filter(|pair| !(is_skipped(&pair.new) && is_skipped(&pair.old))).collect()
}

fn wrong(new: &[&CellFacts<'_>], old: &[&CellFacts<'_>], runs: usize) -> Option<String> {
    if new.len() < runs || old.len() < runs {
        return Some("it was not measured in each run".to_owned());
    }
    let of_side = |cells: &[&CellFacts<'_>], side: &str| {
        cells.iter().find_map(|cell| match &cell.stored.status {
            Status::Skipped(reason) => Some(format!("{side}skipped: {reason}")),
            Status::Failed(reason) => Some(format!("{side}failed: {reason}")),
            Status::Measured if !cell.has(WALL) => {
                Some(format!("{side}it has no sample that counts"))
            }
            Status::Measured => cell.answers.contradiction().map(|why| format!("{side}{why}")),
        })
    };
    of_side(new, "").or_else(|| of_side(old, "old: ")).or_else(|| {
        let differ = |(new, old): (&&CellFacts<'_>, &&CellFacts<'_>)| {
            let (now, before) = (new.answers.single(), old.answers.single());
            let (now_text, text) = (now.unwrap_or("none"), before.unwrap_or("none"));
            if now != before {
                return Some(format!("its answer is {now_text}, and that of the old one {text}"));
            }
            let (new, old) = (&new.stored.digest, &old.stored.digest);
            let same_bytes = new == old || old.is_none();
            (!same_bytes).then(|| "it hands over other bytes than the old one".to_owned())
        };
        new.iter().zip(old).find_map(differ)
    })
}

impl BaselinePair<'_> {
    fn line(&self, metric: &str, percent: f64, judge: &CheckJudge) -> CheckLine {
        let mut line = CheckLine::new(&self.old, &self.new, metric, percent);
        line.method.clone_from(&self.new[0].stored.method);
        line.point = self.new[0].stored.point.clone();
        line.reference = Some(self.old[0].stored.method.clone());
        line.reason.clone_from(&self.wrong);
        if line.reason.is_some() {
            return line;
        }
        if let Some(counts) = constants(metric, [&self.old, &self.new]) {
            judge.counts(&mut line, counts);
            return line;
        }
        match self.evidence(metric) {
            Ok(evidence) => judge.line(&mut line, &evidence),
            Err(reason) => {
                (line.outcome, line.reason) = (Outcome::Undecided, Some(reason));
            }
        }
        line
    }

    fn evidence(&self, metric: &str) -> Result<Evidence, String> {
        let of_samples = |cell: &&CellFacts<'_>| values::of_samples(cell, metric);
        // The whole counting pass is one session without rounds: there the samples are the unit.
        if self.new.iter().any(|cell| cell.pass_of(metric) == Pass::Counting) {
            let before = self.old.iter().map(of_samples).collect::<Result<Vec<_>, _>>()?.concat();
            let after = self.new.iter().map(of_samples).collect::<Result<Vec<_>, _>>()?;
            return Ok(Evidence::Apart { before, after, run_sd: None });
        }
        let both = self.new.iter().zip(&self.old);
        let runs = both.map(|(new, old)| compare::relative(new, old, metric));
        Ok(Evidence::SameRounds(runs.collect::<Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests;
