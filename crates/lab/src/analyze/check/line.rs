//! One line of a check.

use serde::Serialize;

use crate::analyze::summary;
use crate::param::Point;
use crate::run::Cell;
use crate::stats;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The whole interval is within what is allowed.
    Ok,
    /// The whole interval is below 1, at the level of all lines.
    Faster,
    /// More than is allowed, in each of two runs.
    Slower,
    /// The data does not decide between the others.
    Undecided,
    /// The method was not measured, or its answer is wrong.
    Missing,
    /// The reference, by which the others are normalized for the speed of the machine, where the
    /// baseline is from another machine: whether the reference itself got slower cannot be known.
    Reference,
}

/// One method at one point in one metric.
#[derive(Clone, Debug, Serialize)]
pub struct CheckLine {
    pub method: String,
    pub point: Point,
    pub metric: String,
    pub allowed_percent: f64,
    /// The method to which the ratio is relative and which was in the same rounds; none if the
    /// ratio is absolute.
    pub reference: Option<String>,
    /// The p50 of the baseline and of the new runs.
    pub baseline: Option<f64>,
    pub now: Option<f64>,
    /// New / baseline, with the interval that decides: that of all new runs, or of the one with the
    /// smallest change.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// The level of that interval.
    pub level: Option<f64>,
    pub outcome: Outcome,
    /// Why there is no interval, or why the line is undecided.
    pub reason: Option<String>,
}

impl CheckLine {
    /// A line without anything to compare.
    pub(in crate::analyze) fn without_ratio(
        method: &str,
        point: &Point,
        metric: &str,
        allowed_percent: f64,
    ) -> CheckLine {
        CheckLine {
            method: method.to_owned(),
            point: point.clone(),
            metric: metric.to_owned(),
            allowed_percent,
            reference: None,
            baseline: None,
            now: None,
            ratio: None,
            low: None,
            high: None,
            level: None,
            outcome: Outcome::Missing,
            reason: None,
        }
    }

    /// A line that is not decided yet.
    pub(super) fn new(
        before: &[&Cell],
        now: &[&Cell],
        metric: &str,
        allowed_percent: f64,
    ) -> CheckLine {
        let p50 = |cells: &[&Cell]| {
            let middles = cells.iter().filter_map(|cell| summary::middle(cell, metric));
            Some(stats::median(&middles.collect::<Vec<_>>())).filter(|value| !value.is_nan())
        };
        let Cell { method, point, .. } = before[0];
        CheckLine {
            baseline: p50(before),
            now: p50(now),
            ..CheckLine::without_ratio(method, point, metric, allowed_percent)
        }
    }
}
