//! How a change from side a to side b is judged: of one line, and of a method over all points.

use model::metric::WALL;
use model::param::Point;
use model::run::Role;
use serde::Serialize;

use super::cells::{InRun, Match};
use crate::analysis::{ALPHA, Verdict};
use crate::compare::{RELEVANT_PERCENT, relative, verdict};
use crate::stats::{self, RUNS_A_SIDE, Shift};
use crate::values::{absolute, mean};

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
pub(super) struct ChangeJudge {
    pub(super) alpha: f64,
    pub(super) sign: f64,
}

/// One value per run, or why there is none.
pub(super) type Values = Result<Vec<f64>, String>;

impl ChangeJudge {
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

// One figure for each method over all points of two sides: the geometric mean of its ratios.

/// A method over all points that both sides have, each of which has the same weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverallChange {
    pub method: String,
    pub metric: String,
    pub points: usize,
    /// b / a.
    pub absolute: Mean,
    /// The same for the ratio to the reference; none for the reference, and where a run has no
    /// rounds, or its points have several references.
    pub relative: Option<Mean>,
    pub reference: Option<String>,
}

/// The geometric mean of ratios. It has no verdict: points that are typical of nothing have no
/// typical mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mean {
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// 1 − 0.05 / (methods).
    pub level: f64,
    /// Why there is no ratio, or no interval.
    pub reason: Option<String>,
}

/// What is compared at one point.
pub(super) struct PointMatch<'r, 'a> {
    pub(super) found: &'r Match<'a>,
    pub(super) reference: Option<&'r Match<'a>>,
    pub(super) metric: &'r str,
}

impl<'a> PointMatch<'_, 'a> {
    fn reference_name(&self) -> Option<&'a str> {
        self.reference.map(|reference| reference.method)
    }
}

/// The contenders that both sides measured at every point, at two or more, with the right answer.
pub(super) fn overall(all: &[PointMatch<'_, '_>], in_rounds: bool) -> Vec<OverallChange> {
    let contenders = || all.iter().filter(|at| at.found.role == Role::Contender);
    let mut methods: Vec<&str> = Vec::new();
    let mut points: Vec<&Point> = Vec::new();
    for at in contenders() {
        if !methods.contains(&at.found.method) {
            methods.push(at.found.method);
        }
        if !points.contains(&&at.found.family) {
            points.push(&at.found.family);
        }
    }
    let of_method = |method: &&str| -> Vec<&PointMatch<'_, '_>> {
        contenders().filter(|at| at.found.method == *method).collect()
    };
    let mut whole: Vec<Vec<&PointMatch<'_, '_>>> = methods.iter().map(of_method).collect();
    let is_right = |at: &&PointMatch<'_, '_>| at.found.wrong.is_none();
    whole.retain(|own| own.len() > 1 && own.iter().all(is_right));
    // A method that does not read a param has fewer cells, and is at each point all the same.
    whole.retain(|own| points.iter().all(|point| own.iter().any(|at| at.found.is_at(point))));
    let judge = ChangeJudge { alpha: ALPHA / whole.len().max(1) as f64, sign: 1.0 };
    whole.iter().map(|own| of_points(own, &judge, in_rounds)).collect()
}

fn of_points(own: &[&PointMatch<'_, '_>], judge: &ChangeJudge, in_rounds: bool) -> OverallChange {
    let first = own[0];
    let metric = if own.iter().all(|at| at.metric == first.metric) { first.metric } else { WALL };
    let is_judged = in_rounds && own.iter().all(|at| at.reference_name() == first.reference_name());
    let reference =
        first.reference_name().filter(|reference| is_judged && *reference != first.found.method);
    let absolute = |side: usize| -> Values {
        of_runs(own, side, |at, run| Some(absolute(at.found.cell(side, run)?, metric)))
    };
    let relative = |side: usize| -> Values {
        of_runs(own, side, |at, run| {
            let other = at.reference?.cell(side, run)?;
            Some(relative(at.found.cell(side, run)?, other, metric))
        })
    };
    OverallChange {
        method: first.found.method.to_owned(),
        metric: metric.to_owned(),
        points: own.len(),
        absolute: mean_of(judge, [absolute(0), absolute(1)]),
        relative: reference.map(|_| mean_of(judge, [relative(0), relative(1)])),
        reference: reference.map(str::to_owned),
    }
}

fn mean_of(judge: &ChangeJudge, sides: [Values; 2]) -> Mean {
    let Effect { ratio, low, high, level, reason, verdict: _ } = judge.change(sides);
    Mean { ratio, low, high, level, reason }
}

/// For each run of a side that has all of the points, the mean over them.
fn of_runs(
    own: &[&PointMatch<'_, '_>],
    side: usize,
    value: impl Fn(&PointMatch<'_, '_>, usize) -> Option<Result<Vec<f64>, String>>,
) -> Values {
    let mut values = Vec::new();
    for (run, _) in &own[0].found.sides[side] {
        let at_points: Option<Vec<_>> = own.iter().map(|at| value(at, *run)).collect();
        let Some(at_points) = at_points else { continue };
        let at_points = at_points.into_iter().map(|logs| Ok(mean(&logs?)));
        values.push(mean(&at_points.collect::<Result<Vec<f64>, String>>()?));
    }
    if values.is_empty() { Err("no run has all points".to_owned()) } else { Ok(values) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_count_is_judged_without_chance() {
        let of = |sign: f64, a: f64, b: f64| {
            let found = ChangeJudge { alpha: 0.05, sign }.exact(a, b);
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
