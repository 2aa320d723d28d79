//! Whether what was measured again is slower than a baseline by more than is allowed. Decided by bounds of
//! an interval, and `slower` only by each of two runs.

mod family;
#[cfg(test)]
mod tests;

use serde::Serialize;

use self::family::{Contender, contenders};
use super::compare::WALL;
use super::family::measure;
use super::sides::sign;
use super::{summary, values};
use crate::metric::{is_counted_apart, unit};
use crate::param::Point;
use crate::run::{Cell, Run};
use crate::stats::{self, Shift};

/// Of the interval by which a line is ok, and of all lines together for one to be slower.
const ALPHA: f64 = 0.05;
/// So many runs must each show that something is slower.
const CONFIRMED: usize = 2;

/// By how much a metric may get worse.
#[derive(Clone, Debug, PartialEq)]
pub struct Allowed {
    /// `wall_ns` stands for the measure of all lines: without the wait for a CPU where one waited and all have that.
    pub metric: String,
    pub percent: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The whole interval is within what is allowed.
    Ok,
    /// More than is allowed, in each of two runs.
    Slower,
    /// Neither can be said.
    Undecided,
    /// It was not measured, or its answer is wrong.
    Missing,
    /// The reference, by which the speed of the machine is taken out of the others, where the baseline is of
    /// another machine: whether it got slower itself cannot be known.
    Reference,
}

/// One method at one point in one metric.
#[derive(Clone, Debug, Serialize)]
pub struct CheckLine {
    pub method: String,
    pub point: Point,
    pub metric: String,
    pub allowed_percent: f64,
    /// What the ratio is relative to: the method that was in the same rounds; none if it is absolute.
    pub reference: Option<String>,
    /// The p50 of the baseline and of now.
    pub baseline: Option<f64>,
    pub now: Option<f64>,
    /// Now / baseline, with the interval that decides: of all runs of now, or of the one that shows the least.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The level of that interval.
    pub level: Option<f64>,
    pub outcome: Outcome,
    /// Why there is no interval, or why it is not decided.
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    pub outcome: Outcome,
    pub lines: Vec<CheckLine>,
}

/// What is held against what.
#[derive(Clone, Copy)]
pub struct Check<'a> {
    pub baseline: &'a Run,
    /// The same, measured again.
    pub now: &'a [Run],
    /// Runs of the same job on this machine, the oldest first: they tell what runs differ by.
    pub before: &'a [Run],
    pub allowed: &'a [Allowed],
    /// Times are compared as they are, and not relative to the reference.
    pub absolute: bool,
}

/// Every contender of the baseline in every metric that has a limit.
pub fn check(asked: &Check<'_>) -> Checked {
    let contenders = contenders(asked.baseline, asked.now, asked.absolute);
    let judged = || contenders.iter().filter(|contender| contender.wrong.is_none());
    // One measure for all lines, as for the methods of a table.
    let cells = judged().flat_map(|contender| contender.now.iter().chain([&contender.baseline]));
    let time = measure(&cells.copied().collect::<Vec<&Cell>>());
    // `slower` of one line is that of all: the level is such that all of them hold together.
    let alpha = ALPHA / (judged().count() * asked.allowed.len()).max(1) as f64;
    let lines: Vec<CheckLine> = contenders
        .iter()
        .flat_map(|contender| asked.allowed.iter().map(move |allowed| (contender, allowed)))
        .map(|(contender, allowed)| Judge { asked, contender, allowed, time, alpha }.line())
        .collect();
    let any = |outcome| lines.iter().any(|line| line.outcome == outcome);
    let worst = [Outcome::Slower, Outcome::Missing, Outcome::Undecided];
    let outcome = worst.into_iter().find(|outcome| any(*outcome));
    let nothing = !any(Outcome::Ok);
    let outcome = outcome.unwrap_or(if nothing { Outcome::Missing } else { Outcome::Ok });
    Checked { outcome, lines }
}

struct Judge<'a> {
    asked: &'a Check<'a>,
    contender: &'a Contender<'a>,
    allowed: &'a Allowed,
    /// Wall time, or that less the wait for a CPU.
    time: &'static str,
    alpha: f64,
}

impl Judge<'_> {
    fn line(&self) -> CheckLine {
        let Contender { baseline, now, reference, .. } = self.contender;
        let metric = self.metric();
        let is_time = is_time(metric);
        let relative = reference.as_ref().filter(|_| is_time && !self.contender.is_reference);
        let p50 = |cells: &[&Cell]| {
            let middles = cells.iter().filter_map(|cell| summary::middle(cell, metric));
            Some(stats::median(&middles.collect::<Vec<_>>())).filter(|value| !value.is_nan())
        };
        let mut line = CheckLine {
            method: baseline.method.clone(),
            point: baseline.point.clone(),
            metric: metric.to_owned(),
            allowed_percent: self.allowed.percent,
            reference: relative.map(|reference| reference.baseline.method.clone()),
            baseline: p50(&[baseline]),
            now: p50(now),
            ratio: None,
            low: None,
            high: None,
            level: None,
            outcome: Outcome::Missing,
            reason: self.contender.wrong.clone(),
        };
        if line.reason.is_some() {
            return line;
        }
        if let Some([before, after]) = self.constants(metric) {
            self.judge_counts(&mut line, before, after);
            return line;
        }
        match self.sessions(metric, relative.is_some()) {
            Ok(found) => self.judge(&mut line, &found),
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

    fn same_machine(&self) -> bool {
        let machine = &self.asked.baseline.environment.fingerprint;
        self.asked.now.iter().all(|run| run.environment.fingerprint == *machine)
    }

    /// The others are compared relative to it; it is compared as it is, unasked.
    fn is_implied_reference(&self) -> bool {
        self.contender.is_reference && self.contender.reference.is_some()
    }

    fn metric(&self) -> &str {
        if self.allowed.metric == WALL { self.time } else { &self.allowed.metric }
    }

    /// The log of what is allowed, where more is worse.
    fn limit(&self, metric: &str) -> f64 {
        let share = self.allowed.percent / 100.0;
        if sign(metric) < 0.0 { -(-share.min(1.0)).ln_1p() } else { share.ln_1p() }
    }

    /// A count that is the same in all samples of each side.
    fn constants(&self, metric: &str) -> Option<[f64; 2]> {
        let constant = |cells: &[&Cell]| {
            let mut values = cells.iter().flat_map(|cell| cell.counted(metric)).map(|(_, v)| v);
            let first = values.next()?;
            values.all(|value| value.total_cmp(&first).is_eq()).then_some(first)
        };
        (unit(metric) == "count" || unit(metric) == "bytes").then(|| {
            Some([constant(&[self.contender.baseline])?, constant(&self.contender.now)?])
        })?
    }

    fn judge_counts(&self, line: &mut CheckLine, before: f64, after: f64) {
        let ratio = if before.total_cmp(&after).is_eq() { 1.0 } else { after / before };
        let exact = Some(ratio).filter(|ratio| ratio.is_finite());
        (line.ratio, line.low, line.high) = (exact, exact, exact);
        let within = after <= before * (1.0 + self.allowed.percent / 100.0);
        line.outcome = if within { Outcome::Ok } else { self.slower(line) };
    }

    /// Logs: a value per session, of the baseline and of each run of now.
    fn sessions(&self, metric: &str, relative: bool) -> Result<Sessions, String> {
        let Contender { baseline, now, reference, .. } = self.contender;
        let of = |cell: &Cell, reference: Option<&Cell>| match reference.filter(|_| relative) {
            Some(reference) => values::relative(cell, reference, metric),
            // All of the counting pass is one session: there the samples are the unit.
            None if is_counted_apart(metric) => values::of_samples(cell, metric),
            None => values::absolute(cell, metric),
        };
        let beside = |run: usize| reference.as_ref().and_then(|r| r.now.get(run).copied());
        let after = now.iter().enumerate().map(|(run, cell)| of(cell, beside(run)));
        let runs = self.asked.before.iter().filter_map(|run| {
            let cell = family::find(run, baseline)?;
            let reference = reference.as_ref().and_then(|r| family::find(run, r.baseline));
            // Without its reference a run tells nothing of what is relative to it.
            (reference.is_some() || !relative).then(|| of(cell, reference).ok())?
        });
        let runs: Vec<f64> = runs.map(|sessions| values::mean(&sessions)).collect();
        Ok(Sessions {
            before: of(baseline, reference.as_ref().map(|r| r.baseline))?,
            after: after.collect::<Result<_, String>>()?,
            run_sd: stats::neighbour_sd(&runs),
        })
    }

    fn judge(&self, line: &mut CheckLine, found: &Sessions) {
        let Sessions { before, after, run_sd } = found;
        let Some(all) = stats::between_single(before, after, *run_sd, ALPHA) else {
            let fewest = after.iter().map(Vec::len).min().unwrap_or_default().min(before.len());
            line.outcome = Outcome::Undecided;
            line.reason = Some(format!(
                "{fewest} sessions tell too little of what sessions differ by: measure the \
                 baseline with --sessions 5 or more"
            ));
            return;
        };
        let (limit, sign) = (self.limit(&line.metric), sign(&line.metric));
        let bounds = |shift: &Shift| {
            let (low, high) = shift.interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            ((sign * low).min(sign * high), (sign * low).max(sign * high))
        };
        let (least, most) = bounds(&all);
        show(line, &all, ALPHA);
        if most <= limit {
            line.outcome = Outcome::Ok;
            return;
        }
        line.outcome = Outcome::Undecided;
        if least <= limit {
            line.reason = Some("the interval holds what is allowed and more".to_owned());
            return;
        }
        // Each of the runs must show it, at the level of all lines; the one that shows it least decides.
        let each = after.iter().filter_map(|run| {
            stats::between_single(before, std::slice::from_ref(run), *run_sd, self.alpha)
        });
        let Some(one) = each.min_by(|a, b| bounds(a).0.total_cmp(&bounds(b).0)) else { return };
        show(line, &one, self.alpha);
        if bounds(&one).0 <= limit {
            let of = if after.len() > 1 { "in one of the runs " } else { "" };
            line.reason = Some(format!(
                "{of}the interval at the level that all lines together take holds what is allowed and more"
            ));
        } else if self.is_implied_reference() && is_time(&line.metric) && run_sd.is_none() {
            line.reason = Some(format!(
                "more than is allowed, but what runs on this machine differ by is not known: measure the \
                 job until the store has {} runs of it, or check with --absolute",
                stats::RUNS_A_SIDE
            ));
        } else {
            line.outcome = self.slower(line);
        }
    }

    /// What more than is allowed is called: that of one run is not confirmed.
    fn slower(&self, line: &mut CheckLine) -> Outcome {
        if self.asked.now.len() >= CONFIRMED {
            return Outcome::Slower;
        }
        line.reason = Some("slower in one run, which a second one has to confirm".to_owned());
        Outcome::Undecided
    }
}

fn is_time(metric: &str) -> bool {
    matches!(unit(metric), "ns" | "bytes/s")
}

fn show(line: &mut CheckLine, shift: &Shift, alpha: f64) {
    let (low, high) = shift.interval.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    line.ratio = Some(shift.estimate.exp());
    (line.low, line.high) = (Some(low.exp()), Some(high.exp()));
    line.level = Some(1.0 - alpha);
}

struct Sessions {
    before: Vec<f64>,
    after: Vec<Vec<f64>>,
    run_sd: Option<f64>,
}
