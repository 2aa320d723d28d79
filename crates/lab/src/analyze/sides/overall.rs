//! One figure for each method over all points of two sides: the geometric mean of its ratios.

use serde::Serialize;

use super::cells::Match;
use super::judge::{Effect, Judge, Values};
use crate::analyze::ALPHA;
use crate::analyze::values::{absolute, mean, relative};
use crate::metric::WALL;
use crate::param::Point;
use crate::run::Role;

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
pub(super) struct AtPoint<'r, 'a> {
    pub(super) found: &'r Match<'a>,
    pub(super) reference: Option<&'r Match<'a>>,
    pub(super) metric: &'r str,
}

impl<'a> AtPoint<'_, 'a> {
    fn reference_name(&self) -> Option<&'a str> {
        self.reference.map(|reference| reference.method)
    }
}

/// The contenders that both sides measured at every point, at two or more, with the right answer.
pub(super) fn overall(all: &[AtPoint<'_, '_>], in_rounds: bool) -> Vec<OverallChange> {
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
    let of_method = |method: &&str| -> Vec<&AtPoint<'_, '_>> {
        contenders().filter(|at| at.found.method == *method).collect()
    };
    let mut whole: Vec<Vec<&AtPoint<'_, '_>>> = methods.iter().map(of_method).collect();
    let is_right = |at: &&AtPoint<'_, '_>| at.found.wrong.is_none();
    whole.retain(|own| own.len() > 1 && own.iter().all(is_right));
    // A method that does not read a param has fewer cells, and is at each point all the same.
    whole.retain(|own| points.iter().all(|point| own.iter().any(|at| at.found.is_at(point))));
    let judge = Judge { alpha: ALPHA / whole.len().max(1) as f64, sign: 1.0 };
    whole.iter().map(|own| of_points(own, &judge, in_rounds)).collect()
}

fn of_points(own: &[&AtPoint<'_, '_>], judge: &Judge, in_rounds: bool) -> OverallChange {
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

fn mean_of(judge: &Judge, sides: [Values; 2]) -> Mean {
    let Effect { ratio, low, high, level, reason, verdict: _ } = judge.change(sides);
    Mean { ratio, low, high, level, reason }
}

/// For each run of a side that has all of the points, the mean over them.
fn of_runs(
    own: &[&AtPoint<'_, '_>],
    side: usize,
    value: impl Fn(&AtPoint<'_, '_>, usize) -> Option<Result<Vec<f64>, String>>,
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
