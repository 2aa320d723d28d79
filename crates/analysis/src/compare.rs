//! Compares one cell with another in one metric, round by round.

use model::metric::{CPU, WALL, WALL_LESS_WAIT};
use model::param::Point;
use model::run::{Design, Plan, Run, Sample};

use super::values::{self, Compared, Rounds, of_samples, sessions_needed};
use super::wait::{blocks, bounds, knows_delays, waited};
use super::{ALPHA, Comparison, Doubt, Verdict};
use crate::stats::{self, Shift, median};

/// A smaller difference, in percent, is not relevant.
pub(crate) const RELEVANT_PERCENT: f64 = 1.0;

/// The same for the verdicts of a run whose plan may give another limit.
pub fn margin_percent(plan: &Plan) -> f64 {
    plan.margin_percent.unwrap_or(RELEVANT_PERCENT)
}

/// Two cells of a family, and the α at which they are compared.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub run: &'a Run,
    pub point: &'a Point,
    pub cell: usize,
    pub reference: usize,
    pub alpha: f64,
}

impl Pair<'_> {
    /// The wall time, and the other metrics that both have. The one in the family's metric decides,
    /// also where one of the two lacks it, or else the wall time.
    pub(crate) fn comparisons(&self, deciding: &str) -> Vec<Comparison> {
        let mut comparisons = [WALL, WALL_LESS_WAIT, CPU].map(|m| self.compare(m)).to_vec();
        // The pair has a verdict and its reason also where there is no ratio.
        let kept = if self.run.plan.design.is_fixed() { WALL } else { deciding };
        comparisons.retain(|c| [WALL, kept].contains(&c.metric.as_str()) || c.ratio.is_some());
        let decides = comparisons.iter().position(|c| c.metric == deciding).unwrap_or(0);
        comparisons[decides].decides = true;
        if comparisons[0].decides {
            self.doubt(&mut comparisons[0]);
        }
        comparisons
    }

    /// The one of [`Pair::comparisons`] that decides, without computing the others unless it may be
    /// doubted.
    pub(crate) fn decision(&self, deciding: &str) -> Comparison {
        let is_fixed = self.run.plan.design.is_fixed();
        if deciding != WALL {
            let own = self.compare(deciding);
            if own.ratio.is_some() || !is_fixed {
                return Comparison { decides: true, ..own };
            }
        }
        let mut wall = Comparison { decides: true, ..self.compare(WALL) };
        self.doubt(&mut wall);
        wall
    }

    /// Whether the interval claims something that a wait for a CPU may have made. Where it is not
    /// known how long the methods waited, there must be a sign that one did.
    fn may_be_doubted(&self, wall: &Comparison) -> bool {
        let claims = matches!(wall.verdict, Verdict::Faster | Verdict::Slower | Verdict::Same);
        claims && self.may_have_waited()
    }

    /// Whether a wait for a CPU may be in the wall times that are compared: it is known how long
    /// the waits were, or there is a sign of one.
    pub(crate) fn may_have_waited(&self) -> bool {
        let Ok(compared) = values::compared(self.run, self.cells(), WALL, 1.0) else {
            return false;
        };
        let counts = |sample: &Sample| compared.is_before_end(self.run, sample);
        let waited = |cell: &usize| waited(&self.run.cells[*cell], counts);
        self.knows_delays() || self.cells().iter().any(waited)
    }

    /// The interval of the ratio of wall times that holds with the waits for a CPU and without
    /// them, whatever part of them was in vain.
    pub(crate) fn with_and_without_wait(&self) -> Option<(f64, f64)> {
        bounds(self.run, self.cells(), self.alpha).map(|(low, high)| (low.exp(), high.exp()))
    }

    fn knows_delays(&self) -> bool {
        self.cells().iter().all(|cell| knows_delays(&self.run.cells[*cell]))
    }

    /// A wall time that may include a wait for a CPU decides what holds without the wait, whatever
    /// part of the known waits was in vain; or else what the CPU time shows, too, of methods that
    /// wait for nothing else: that is a verdict about the time beside this load. How long each
    /// method waits depends on the other processes of the machine and on how the scheduler treats
    /// new processes.
    fn doubt(&self, wall: &mut Comparison) {
        if !self.may_be_doubted(wall) {
            return;
        }
        let margin = margin_percent(&self.run.plan);
        let limit = (margin / 100.0).ln_1p();
        let holds = |(low, high): (f64, f64)| match wall.verdict {
            Verdict::Faster => high < 0.0,
            Verdict::Slower => low > 0.0,
            _ => -limit <= low && high <= limit,
        };
        if bounds(self.run, self.cells(), self.alpha).is_some_and(holds) {
            return;
        }
        if wall.verdict != Verdict::Same
            && self.compare(CPU).verdict == wall.verdict
            && !self.one_blocks(wall)
        {
            wall.beside_load = true;
            return;
        }
        let doubt = if self.knows_delays() { Doubt::Wait } else { Doubt::UnknownWait };
        wall.verdict = Verdict::Undecided;
        wall.below_relevance = false;
        wall.doubt = Some(doubt);
        wall.reason = Some(match doubt {
            Doubt::UnknownWait => "a method waited for a CPU, how long is not known, and the CPU \
                                   time does not show the same"
                .to_owned(),
            _ => "the methods' waits for a CPU may be the difference, and the CPU time does not \
                  show the same"
                .to_owned(),
        });
    }

    /// Whether one of the two waits for something else than a CPU, so that their CPU time says
    /// nothing about their wall time.
    fn one_blocks(&self, wall: &Comparison) -> bool {
        let compared =
            values::compared(self.run, [wall.cell, wall.reference_cell], WALL, self.alpha);
        let Ok(compared) = compared else { return true };
        let counts = |sample: &Sample| compared.is_before_end(self.run, sample);
        self.cells().iter().any(|cell| blocks(&self.run.cells[*cell], counts))
    }

    /// A comparison that cannot be made.
    pub(crate) fn without_ratio(&self, verdict: Verdict, reason: String) -> Comparison {
        let name = |cell: usize| self.run.cells[cell].method.clone();
        Comparison {
            method: name(self.cell),
            reference: name(self.reference),
            point: self.point.clone(),
            metric: WALL.to_owned(),
            cell: self.cell,
            reference_cell: self.reference,
            decides: true,
            n: 0,
            sessions: 0,
            ratio: None,
            low: None,
            high: None,
            level: 1.0 - self.alpha,
            p: None,
            p_holm: None,
            verdict,
            beside_load: false,
            doubt: None,
            reason: Some(reason),
            below_relevance: false,
            found_percent: None,
            sessions_for_1_percent: None,
        }
    }

    fn cells(&self) -> [usize; 2] {
        [self.cell, self.reference]
    }

    pub(crate) fn compare(&self, metric: &str) -> Comparison {
        if !self.run.in_rounds() {
            return self.one_after_the_other(metric);
        }
        let compared = values::compared(self.run, self.cells(), metric, self.alpha);
        let found = compared.and_then(|compared| {
            let alpha = compared.alpha.unwrap_or(self.alpha);
            let shift = stats::by_session(&compared.logs, alpha)
                .ok_or_else(|| self.no_shared_round(metric))?;
            Ok((shift, compared))
        });
        let mut comparison = match found {
            Ok((shift, compared)) => {
                let mut comparison = self.judge(shift, &compared);
                if metric == WALL_LESS_WAIT {
                    self.doubt_missing(&mut comparison, &compared);
                }
                comparison
            }
            Err(reason) => self.without_ratio(Verdict::Missing, reason),
        };
        metric.clone_into(&mut comparison.metric);
        comparison.decides = false;
        comparison
    }

    fn no_shared_round(&self, metric: &str) -> String {
        let cells = self.cells().map(|cell| &self.run.cells[cell]);
        let lacks = cells.into_iter().find(|cell| cell.counted(metric).next().is_none());
        match lacks.filter(|cell| metric == WALL_LESS_WAIT && cell.counted(WALL).next().is_some()) {
            Some(cell) => {
                format!("the time of {} without the wait for a CPU is not known", cell.method)
            }
            None => "there is no round in which both were measured".to_owned(),
        }
    }

    /// A round that lacks the time without the wait of one of the two is left out. Where that
    /// happens more often to one of them, what is left out depends on what it took.
    fn doubt_missing(&self, comparison: &mut Comparison, compared: &Compared) {
        let cells = self.cells().map(|cell| &self.run.cells[cell]);
        let of = |metric: &str| cells.map(|cell| Rounds::of_metric(cell, metric));
        let (all, known) = (of(WALL), of(WALL_LESS_WAIT));
        let counts = |(session, _)| compared.has_session(self.run, session);
        let [ours, theirs] = Rounds::only_one(all.each_ref(), known.each_ref(), counts);
        if stats::mcnemar(ours, theirs) >= ALPHA {
            return;
        }
        // The second one lacks it where only the first one has it.
        let [method, other] = cells.map(|cell| &cell.method);
        let reason = format!(
            "the time without the wait for a CPU is missing of {method} alone in {theirs} rounds and \
             of {other} alone in {ours}: what is missing depends on what it took"
        );
        if comparison.low.is_some() {
            comparison.doubt = Some(Doubt::Missing);
            comparison.verdict = Verdict::Undecided;
            comparison.below_relevance = false;
            comparison.reason = Some(reason);
        }
    }

    /// The ratio of the medians, which includes the drift of the machine: it decides nothing.
    fn one_after_the_other(&self, metric: &str) -> Comparison {
        let middle = |cell: usize| Ok(median(&of_samples(&self.run.cells[cell], metric)?));
        let tool = self.run.plan.imported.as_ref().map_or("", |imported| imported.tool.as_str());
        let (verdict, reason, ratio) = match (middle(self.cell), middle(self.reference)) {
            (Ok(y), Ok(x)) => {
                let reason = format!("{tool} did not measure the methods in rounds");
                (
                    Verdict::Undecided,
                    reason,
                    Some(f64::exp(y - x)).filter(|ratio| ratio.is_finite()),
                )
            }
            (Err(reason), _) | (_, Err(reason)) => (Verdict::Missing, reason, None),
        };
        let mut comparison = self.without_ratio(verdict, reason);
        comparison.ratio = ratio;
        metric.clone_into(&mut comparison.metric);
        comparison.decides = false;
        comparison
    }

    fn judge(&self, shift: Shift, compared: &Compared) -> Comparison {
        let interval = shift.interval.filter(|_| compared.alpha.is_some());
        let alpha = compared.alpha.unwrap_or(self.alpha);
        let (verdict, below_relevance) = verdict(interval, margin_percent(&self.run.plan));
        let at_its_level = Pair { alpha, ..*self };
        let mut comparison = at_its_level.without_ratio(verdict, String::new());
        let needed = sessions_needed(self.run);
        comparison.n = compared.logs.iter().map(Vec::len).sum();
        // Commands have sessions of one round, for which a user has a word.
        let noun = if comparison.n == shift.n { "round" } else { "session" };
        comparison.reason = interval.is_none().then(|| few(shift.n, noun, needed));
        comparison.sessions = shift.n;
        comparison.ratio = Some(shift.estimate.exp());
        comparison.below_relevance = below_relevance;
        if let Some((low, high)) = interval {
            comparison.low = Some(low.exp());
            comparison.high = Some(high.exp());
            comparison.p = Some(match self.run.plan.design {
                Design::Fixed => shift.p,
                Design::Sequential => stats::p_of_all_looks(shift.p, shift.n),
            });
            let percent = stats::found_percent((high - low) / 2.0, alpha);
            comparison.found_percent = Some(percent);
            let sessions = stats::sessions_needed(shift.n, percent, RELEVANT_PERCENT);
            comparison.sessions_for_1_percent = Some(sessions);
        }
        comparison
    }
}

/// The same comparison at another level.
pub(crate) fn at_level(run: &Run, found: &Comparison, alpha: f64) -> Comparison {
    let (cell, reference) = (found.cell, found.reference_cell);
    Pair { run, point: &found.point, cell, reference, alpha }.compare(&found.metric)
}

/// The verdict of an interval of logs, and whether a shown difference is too small to be relevant.
pub(crate) fn verdict(interval: Option<(f64, f64)>, margin_percent: f64) -> (Verdict, bool) {
    let Some((low, high)) = interval else { return (Verdict::Undecided, false) };
    let limit = (margin_percent / 100.0).ln_1p();
    let within = -limit <= low && high <= limit;
    match (low, high) {
        (_, high) if high < 0.0 => (Verdict::Faster, within),
        (low, _) if low > 0.0 => (Verdict::Slower, within),
        _ if within => (Verdict::Same, false),
        _ => (Verdict::Undecided, false),
    }
}

/// Why this number of sessions gives no interval.
pub(crate) fn too_few(sessions: usize, needed: usize) -> String {
    few(sessions, "session", needed)
}

fn few(n: usize, noun: &str, needed: usize) -> String {
    let (plural, are) = if n == 1 { ("", "is") } else { ("s", "are") };
    format!("{n} {noun}{plural} {are} too few, at least {needed} are needed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_gives_the_verdict() {
        let of = |low: f64, high: f64| verdict(Some((low.ln(), high.ln())), 1.0);
        assert_eq!(of(0.8, 0.9), (Verdict::Faster, false));
        assert_eq!(of(0.98, 0.995), (Verdict::Faster, false));
        assert_eq!(of(0.992, 0.998), (Verdict::Faster, true));
        assert_eq!(of(1.002, 1.008), (Verdict::Slower, true));
        assert_eq!(of(1.002, 1.02), (Verdict::Slower, false));
        assert_eq!(of(0.995, 1.005), (Verdict::Same, false));
        assert_eq!(of(1.0, 1.0), (Verdict::Same, false));
        assert_eq!(of(0.98, 1.005), (Verdict::Undecided, false));
        assert_eq!(verdict(None, 1.0), (Verdict::Undecided, false));
        let within_5 = |low: f64, high: f64| verdict(Some((low.ln(), high.ln())), 5.0);
        assert_eq!(within_5(0.97, 1.04), (Verdict::Same, false));
        assert_eq!(within_5(1.01, 1.04), (Verdict::Slower, true));
        assert_eq!(within_5(0.94, 1.04), (Verdict::Undecided, false));
    }

    #[test]
    fn a_plan_may_have_its_own_margin() {
        assert_eq!(Some(margin_percent(&Plan::default())), Some(RELEVANT_PERCENT));
        let plan = Plan { margin_percent: Some(5.0), ..Plan::default() };
        assert_eq!(Some(margin_percent(&plan)), Some(5.0));
    }
}
