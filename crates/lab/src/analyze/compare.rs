//! Compares one cell with another in one metric, round by round.

use super::look::{self, Compared, sessions_needed};
use super::values::of_samples;
use super::wait::waited;
use super::{Comparison, Verdict};
use crate::metric::{CPU, WALL, WALL_LESS_WAIT};
use crate::param::Point;
use crate::run::{Cell, Design, Plan, Run, Sample};
use crate::stats::{self, LOOKS, Shift, median};

/// A smaller difference, in percent, is not relevant.
pub const RELEVANT_PERCENT: f64 = 1.0;

/// The same for the verdicts of a run whose plan may give another limit.
pub fn margin_percent(plan: &Plan) -> f64 {
    plan.margin_percent.unwrap_or(RELEVANT_PERCENT)
}

/// Two cells of a family, and the α at which they are compared.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) run: &'a Run,
    pub(super) point: &'a Point,
    pub(super) cell: usize,
    pub(super) reference: usize,
    pub(super) alpha: f64,
}

impl Pair<'_> {
    /// The wall time, and the other metrics that both have. The one in the family's metric decides,
    /// also where one of the two lacks it, or else the wall time.
    pub(super) fn comparisons(&self, deciding: &str) -> Vec<Comparison> {
        let mut comparisons = [WALL, WALL_LESS_WAIT, CPU].map(|m| self.compare(m)).to_vec();
        // The pair has a verdict and its reason also where there is no ratio.
        let kept = if self.run.plan.design.is_fixed() { WALL } else { deciding };
        comparisons.retain(|c| [WALL, kept].contains(&c.metric.as_str()) || c.ratio.is_some());
        let decides = comparisons.iter().position(|c| c.metric == deciding).unwrap_or(0);
        comparisons[decides].decides = true;
        if let [wall, rest @ ..] = &mut comparisons[..]
            && wall.decides
        {
            self.doubt(wall, rest.first());
        }
        comparisons
    }

    /// The one of [`Pair::comparisons`] that decides, without computing the others unless it may be
    /// doubted.
    pub(super) fn decision(&self, deciding: &str) -> Comparison {
        let is_fixed = self.run.plan.design.is_fixed();
        if deciding != WALL {
            let own = self.compare(deciding);
            if own.ratio.is_some() || !is_fixed {
                return Comparison { decides: true, ..own };
            }
        }
        let mut wall = Comparison { decides: true, ..self.compare(WALL) };
        if self.may_be_doubted(&wall) {
            let mut others = [WALL_LESS_WAIT, CPU].into_iter().map(|metric| self.compare(metric));
            self.doubt(&mut wall, others.find(|other| other.ratio.is_some()).as_ref());
        }
        wall
    }

    fn may_be_doubted(&self, wall: &Comparison) -> bool {
        let claims = matches!(wall.verdict, Verdict::Faster | Verdict::Slower);
        claims && waited_for_a_cpu(self.run, wall)
    }

    /// A wall time that may include a wait for a CPU decides only what is also seen without the
    /// wait: in the time without the wait, or in the CPU time where the wait is not known. How long
    /// each method waits depends on the other processes of the machine and on how the scheduler
    /// treats new processes.
    fn doubt(&self, wall: &mut Comparison, without_wait: Option<&Comparison>) {
        if self.may_be_doubted(wall)
            && without_wait.is_none_or(|known| known.verdict != wall.verdict)
        {
            wall.verdict = Verdict::Undecided;
            wall.below_relevance = false;
            let known =
                without_wait.map_or("time without the wait", |known| match known.metric.as_str() {
                    WALL_LESS_WAIT => "time less the wait",
                    _ => "CPU time",
                });
            wall.reason =
                Some(format!("a method waited for a CPU, and the {known} does not show the same"));
        }
    }

    /// A comparison that cannot be made.
    pub(super) fn without_ratio(&self, verdict: Verdict, reason: String) -> Comparison {
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
            reason: Some(reason),
            below_relevance: false,
            found_percent: None,
            sessions_for_1_percent: None,
        }
    }

    fn cells(&self) -> [usize; 2] {
        [self.cell, self.reference]
    }

    pub(super) fn compare(&self, metric: &str) -> Comparison {
        if !self.run.in_rounds() {
            return self.one_after_the_other(metric);
        }
        let compared = look::compared(self.run, self.cells(), metric, self.alpha);
        let found = compared.and_then(|compared| {
            if metric == WALL_LESS_WAIT {
                self.ensure_without_wait(&compared)?;
            }
            let alpha = compared.alpha.unwrap_or(self.alpha);
            let shift = stats::by_session(&compared.logs, alpha)
                .ok_or_else(|| "there is no round in which both were measured".to_owned())?;
            Ok((shift, compared))
        });
        let mut comparison = match found {
            Ok((shift, compared)) => self.judge(shift, &compared),
            Err(reason) => self.without_ratio(Verdict::Missing, reason),
        };
        metric.clone_into(&mut comparison.metric);
        comparison.decides = false;
        comparison
    }

    /// Fails if one of the two lacks the time without the wait until the end of the last session
    /// that is compared.
    fn ensure_without_wait(&self, compared: &Compared) -> Result<(), String> {
        let counts = |sample: &Sample| compared.is_before_end(self.run, sample);
        for cell in self.cells().map(|cell| &self.run.cells[cell]) {
            let [known, of] = with_and_without_wait(cell, counts);
            if !nearly_all(known, of) {
                let method = &cell.method;
                return Err(format!(
                    "the time of {method} without the wait for a CPU is known of {known} of {of} samples"
                ));
            }
        }
        Ok(())
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
        comparison.reason = interval.is_none().then(|| too_few(shift.n, needed));
        comparison.n = compared.logs.iter().map(Vec::len).sum();
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

/// Whether the comparison is by wall time and a wait for a CPU may be in it, by the samples until
/// the end of the last session that is compared.
pub(super) fn waited_for_a_cpu(run: &Run, found: &Comparison) -> bool {
    let cells = [found.cell, found.reference_cell];
    let Ok(compared) = look::compared(run, cells, WALL, 1.0) else { return false };
    let counts = |sample: &Sample| compared.is_before_end(run, sample);
    found.metric == WALL && cells.iter().any(|cell| waited(&run.cells[*cell], counts))
}

/// The same comparison at another level.
pub(super) fn at_level(run: &Run, found: &Comparison, alpha: f64) -> Comparison {
    let (cell, reference) = (found.cell, found.reference_cell);
    Pair { run, point: &found.point, cell, reference, alpha }.compare(&found.metric)
}

/// The verdict of an interval of logs, and whether a shown difference is too small to be relevant.
pub(super) fn verdict(interval: Option<(f64, f64)>, margin_percent: f64) -> (Verdict, bool) {
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
pub(super) fn too_few(sessions: usize, needed: usize) -> String {
    let (noun, are) = if sessions == 1 { ("session", "is") } else { ("sessions", "are") };
    format!("{sessions} {noun} {are} too few, at least {needed} are needed")
}

/// Whether the run-queue wait can be subtracted: the counted samples have the time without it. It
/// may be missing in one sample of ten, where the two clocks contradict each other, or where the
/// machine below a virtual one took the CPU away.
pub(super) fn is_single_threaded(cell: &Cell) -> bool {
    let [known, of] = with_and_without_wait(cell, |_| true);
    nearly_all(known, of)
}

/// All but one of ten, or but one where there are as many as a look needs: a single disturbed
/// sample does not take the verdict from a method.
fn nearly_all(known: usize, of: usize) -> bool {
    let may_lack = if of >= LOOKS[0] { (of / 10).max(1) } else { 0 };
    of > 0 && known >= of - may_lack
}

/// In how many of these samples that count the time without the wait is known, and their number.
fn with_and_without_wait(cell: &Cell, counts: impl Fn(&Sample) -> bool) -> [usize; 2] {
    [WALL_LESS_WAIT, WALL].map(|m| cell.counted(m).filter(|(sample, _)| counts(sample)).count())
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
    fn one_sample_of_ten_may_lack_the_time_without_the_wait_and_one_of_a_look() {
        let few = [(0, 0, false), (1, 1, true), (4, 5, false), (5, 5, true)];
        let look = [(5, 6, true), (4, 6, false), (9, 10, true), (8, 10, false)];
        let more = [(18, 20, true), (17, 20, false)];
        for (known, of, expected) in few.into_iter().chain(look).chain(more) {
            assert_eq!(nearly_all(known, of), expected, "{known} of {of}");
        }
    }

    #[test]
    fn a_plan_may_have_its_own_margin() {
        assert_eq!(Some(margin_percent(&Plan::default())), Some(RELEVANT_PERCENT));
        let plan = Plan { margin_percent: Some(5.0), ..Plan::default() };
        assert_eq!(Some(margin_percent(&plan)), Some(5.0));
    }

    /// The time of half of the methods without the wait is not known, so that the table is by wall
    /// time.
    #[test]
    fn a_wall_time_that_the_time_less_the_wait_contradicts_is_doubted() {
        use crate::analyze::analyze;
        use crate::analyze::tests::{cell, noisy, run, times, waited, with};

        let slow = cell("b", times(&noisy(2, 0.01), 1.5));
        let slow = with(slow, "run_queue_wait_ns", |wall_ns| 0.4 * wall_ns);
        let slow = with(slow, "wall_less_wait_ns", |wall_ns| 0.8 * wall_ns / 1.5);
        let [c, d] = [("c", 3), ("d", 4)].map(|(name, seed)| cell(name, noisy(seed, 0.01)));
        let cells = vec![waited(cell("a", noisy(1, 0.01))), slow, c, d];
        let found = analyze(&run(cells)).comparisons.into_iter().find(|c| c.decides).unwrap();
        assert_eq!((&*found.method, &*found.metric), ("b", WALL));
        let reason = "a method waited for a CPU, and the time less the wait does not show the same";
        assert_eq!((found.verdict, found.reason.as_deref()), (Verdict::Undecided, Some(reason)));
    }
}
