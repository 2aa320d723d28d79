//! Whether methods that were measured again are slower than a baseline by more than is allowed. It
//! is decided by the bounds of an interval, and `slower` only if each of two runs shows it.

mod family;
mod foreseen;
mod judge;
mod line;
mod pairs;
#[cfg(test)]
mod tests;

use serde::Serialize;

use self::family::{Contender, contenders};
pub use self::foreseen::{Foreseen, ROUNDS, SESSIONS, foresee, foresee_pairs};
pub(super) use self::judge::log_limit;
use self::judge::{ALPHA, Evidence, Judge};
pub use self::line::{CheckLine, Outcome};
pub use self::pairs::{OLD, check_pairs};
use super::family::measure;
use super::values;
use crate::metric::{WALL, unit};
use crate::run::{Cell, Pass, Run};
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
    let contenders = contenders(request.baseline, request.now, request.absolute);
    let judged = || contenders.iter().filter(|contender| contender.wrong.is_none());
    // One measure for all lines, as for the methods of a table.
    let cells = judged().flat_map(|contender| contender.now.iter().chain([&contender.baseline]));
    let time = measure(&cells.copied().collect::<Vec<&Cell>>());
    // The outcome `slower` of one line is that of the whole check: the level is such that all lines
    // hold together.
    let alpha = ALPHA / (judged().count() * request.allowed.len()).max(1) as f64;
    let lines: Vec<CheckLine> = contenders
        .iter()
        .flat_map(|contender| request.allowed.iter().map(move |allowed| (contender, allowed)))
        .map(|(contender, allowed)| OfBaseline { request, contender, allowed, time, alpha }.line())
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
struct OfBaseline<'a> {
    request: &'a Check<'a>,
    contender: &'a Contender<'a>,
    allowed: &'a Allowed,
    /// Wall time, or wall time without the wait for a CPU.
    time: &'static str,
    alpha: f64,
}

impl OfBaseline<'_> {
    fn line(&self) -> CheckLine {
        let Contender { baseline, now, reference, .. } = self.contender;
        let metric = self.metric();
        let is_time = is_time(metric);
        let relative = reference.as_ref().filter(|_| self.is_relative(metric));
        let mut line = CheckLine::new(&[baseline], now, metric, self.allowed.percent);
        line.reference = relative.map(|reference| reference.baseline.method.clone());
        line.reason.clone_from(&self.contender.wrong);
        if line.reason.is_some() {
            return line;
        }
        let judge = Judge { alpha: self.alpha, runs: self.request.now.len() };
        if let Some(counts) = constants(metric, &[baseline], now) {
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
            let (outcome, what) = if self.is_implied_reference() {
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
        is_time(metric) && self.contender.reference.is_some() && !self.contender.is_reference
    }

    fn same_machine(&self) -> bool {
        let machine = &self.request.baseline.environment.fingerprint;
        self.request.now.iter().all(|run| run.environment.fingerprint == *machine)
    }

    /// Whether this is the reference to which the others are compared, while it is itself compared
    /// absolutely without a request for that.
    fn is_implied_reference(&self) -> bool {
        self.contender.is_reference && self.contender.reference.is_some()
    }

    fn metric(&self) -> &str {
        if self.allowed.metric == WALL { self.time } else { &self.allowed.metric }
    }

    /// All differences between runs on this machine are in the reference's time: where they are not
    /// known, an interval can only show that the reference may still be ok.
    fn doubt_the_reference(&self, line: &mut CheckLine, found: &Evidence) {
        let is_known = matches!(found, Evidence::Apart { run_sd: Some(_), .. });
        if !self.is_implied_reference() || !is_time(&line.metric) || is_known {
            return;
        }
        match line.outcome {
            Outcome::Faster => line.outcome = Outcome::Ok,
            Outcome::Slower => {
                line.outcome = Outcome::Undecided;
                line.reason = Some(format!(
                    "more than is allowed, but what runs on this machine differ by is not known: measure the \
                     job until the store has {} runs of it, or check with --absolute",
                    stats::RUNS_A_SIDE
                ));
            }
            _ => {}
        }
    }

    /// Logs: one value per session, for the baseline and for each new run.
    fn sessions(&self, metric: &str, relative: bool) -> Result<Evidence, String> {
        let Contender { baseline, now, reference, .. } = self.contender;
        let of = |cell: &Cell, reference: Option<&Cell>| match reference.filter(|_| relative) {
            Some(reference) => values::relative(cell, reference, metric),
            // The whole counting pass is one session: there the samples are the unit.
            None if is_of_counting_pass(cell, metric) => values::of_samples(cell, metric),
            None => values::absolute(cell, metric),
        };
        let beside = |run: usize| reference.as_ref().and_then(|r| r.now.get(run).copied());
        let after = now.iter().enumerate().map(|(run, cell)| of(cell, beside(run)));
        let runs = self.request.before.iter().filter_map(|run| {
            let cell = family::find(run, baseline)?;
            let reference = reference.as_ref().and_then(|r| family::find(run, r.baseline));
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

/// A metric of the timing pass may also be taken in the counting pass: the peak of the processes
/// that a method starts.
fn is_of_counting_pass(cell: &Cell, metric: &str) -> bool {
    cell.counted(metric).next().is_some_and(|(sample, _)| sample.pass == Pass::Counting)
}

/// A count that is equal in all samples of each side.
fn constants(metric: &str, before: &[&Cell], after: &[&Cell]) -> Option<[f64; 2]> {
    let constant = |cells: &[&Cell]| {
        let mut values = cells.iter().flat_map(|cell| cell.counted(metric)).map(|(_, v)| v);
        let first = values.next()?;
        values.all(|value| value.total_cmp(&first).is_eq()).then_some(first)
    };
    let is_count = matches!(unit(metric), "count" | "bytes");
    is_count.then(|| Some([constant(before)?, constant(after)?]))?
}
