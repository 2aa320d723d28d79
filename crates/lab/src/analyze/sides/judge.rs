//! How a change from side a to side b is judged.

use serde::Serialize;

use super::cells::{InRun, Match};
use crate::analyze::Verdict;
use crate::analyze::compare::{RELEVANT_PERCENT, verdict};
use crate::analyze::values::{absolute, mean, relative};
use crate::stats::{self, RUNS_A_SIDE, Shift};

/// The change from side a to side b.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// 1 − 0.05 / (methods at the point).
    pub level: f64,
    /// The verdict on b; `undecided` where either side has fewer than five runs.
    pub verdict: Verdict,
    /// Why there is no ratio, or no interval.
    pub reason: Option<String>,
}

/// The parameters by which a line is judged.
pub(super) struct Judge {
    pub(super) alpha: f64,
    pub(super) sign: f64,
}

/// One value per run, or why there is none.
pub(super) type Values = Result<Vec<f64>, String>;

impl Judge {
    pub(super) fn absolute(&self, found: &Match<'_>, metric: &str) -> Effect {
        if let Some(reason) = &found.wrong {
            return self.without_ratio(Verdict::WrongAnswer, reason.clone());
        }
        if let Some([a, b]) = found.constant(metric) {
            return self.exact(a, b);
        }
        let of_runs = |side: &Vec<InRun<'_>>| -> Values {
            side.iter().map(|(_, cell)| Ok(mean(&absolute(cell, metric)?))).collect()
        };
        self.change(found.sides.each_ref().map(of_runs))
    }

    /// The ratio to the reference of the same run.
    pub(super) fn relative(
        &self,
        found: &Match<'_>,
        reference: &Match<'_>,
        metric: &str,
    ) -> Effect {
        if let Some(reason) = &found.wrong {
            return self.without_ratio(Verdict::WrongAnswer, reason.clone());
        }
        let of_runs = |side: usize| -> Values {
            let own = found.sides[side].iter();
            let pairs = own.filter_map(|(run, cell)| Some((cell, reference.cell(side, *run)?)));
            pairs.map(|(cell, other)| Ok(mean(&relative(cell, other, metric)?))).collect()
        };
        self.change([of_runs(0), of_runs(1)])
    }

    pub(super) fn change(&self, [a, b]: [Values; 2]) -> Effect {
        let (a, b) = match (a, b) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(reason), _) | (_, Err(reason)) => {
                return self.without_ratio(Verdict::Missing, reason);
            }
        };
        let Some(Shift { estimate, interval, .. }) = stats::between(&a, &b, self.alpha) else {
            return self.without_ratio(Verdict::Missing, "no run has both".to_owned());
        };
        let turned = interval.map(|(low, high)| {
            let (low, high) = (self.sign * low, self.sign * high);
            (low.min(high), low.max(high))
        });
        let mut change = self.without_ratio(verdict(turned, RELEVANT_PERCENT).0, String::new());
        change.ratio = Some(estimate.exp());
        change.reason = interval.is_none().then(|| too_few(a.len(), b.len()));
        if let Some((low, high)) = interval {
            (change.low, change.high) = (Some(low.exp()), Some(high.exp()));
        }
        change
    }

    /// For counts that are equal in all samples of a side: chance plays no role.
    fn exact(&self, a: f64, b: f64) -> Effect {
        let verdict = match (b - a) * self.sign {
            d if d < 0.0 => Verdict::Faster,
            d if d > 0.0 => Verdict::Slower,
            _ => Verdict::Same,
        };
        let ratio = if verdict == Verdict::Same { 1.0 } else { b / a };
        if !(ratio.is_finite() && ratio > 0.0) {
            return self.without_ratio(verdict, format!("from {a} to {b}, which has no ratio"));
        }
        let bound = Some(ratio);
        let (level, reason) = (1.0 - self.alpha, None);
        Effect { ratio: bound, low: bound, high: bound, level, verdict, reason }
    }

    fn without_ratio(&self, verdict: Verdict, reason: String) -> Effect {
        let (ratio, low, high, level) = (None, None, None, 1.0 - self.alpha);
        Effect { ratio, low, high, level, verdict, reason: Some(reason) }
    }
}

fn too_few(a: usize, b: usize) -> String {
    let runs = |n: usize| format!("{n} run{}", if n == 1 { "" } else { "s" });
    format!("{} and {}: a verdict takes {RUNS_A_SIDE} a side", runs(a), runs(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_count_is_judged_without_chance() {
        let of = |sign: f64, a: f64, b: f64| {
            let found = Judge { alpha: 0.05, sign }.exact(a, b);
            assert_eq!((found.low, found.high, found.level), (found.ratio, found.ratio, 0.95));
            (found.verdict, found.ratio, found.reason)
        };
        assert_eq!(of(1.0, 10.0, 8.0), (Verdict::Faster, Some(0.8), None));
        assert_eq!(of(-1.0, 10.0, 8.0), (Verdict::Slower, Some(0.8), None));
        assert_eq!(of(1.0, 10.0, 12.0), (Verdict::Slower, Some(1.2), None));
        assert_eq!(of(1.0, 0.0, 0.0), (Verdict::Same, Some(1.0), None));
        let reason = |from, to| Some(format!("from {from} to {to}, which has no ratio"));
        assert_eq!(of(1.0, 5.0, 0.0), (Verdict::Faster, None, reason(5, 0)));
        assert_eq!(of(1.0, 0.0, 5.0), (Verdict::Slower, None, reason(0, 5)));
    }
}
