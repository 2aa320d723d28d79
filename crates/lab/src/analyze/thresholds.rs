//! The limits that a run must not exceed, and whether it did. Pure.

use super::compare::{Pair, at_level, too_few};
use super::values::sessions;
use super::{CellSummary, Comparison, Family, ThresholdOutcome, ThresholdVerdict, Unusable};
use crate::metric::{WALL, is_counted_apart};
use crate::param::Point;
use crate::run::{Cell, RATIO, Role, Run, Status, Threshold};
use crate::stats::{SESSIONS_NEEDED, percentile_interval};

/// The outcomes of all thresholds of the run's definition, at each point.
pub(super) fn check(
    run: &Run,
    cells: &[CellSummary],
    families: &[Family],
    comparisons: &[Comparison],
) -> Vec<ThresholdOutcome> {
    let lines = lines(run, families);
    let alpha = ALPHA / lines.len().max(1) as f64;
    let outcome = |line: &ThresholdLine<'_>| {
        let cell = &run.cells[line.cell];
        let (point, figure) = match line.family {
            Some(family) => (&family.point, ratio(run, line.cell, family, comparisons, alpha)),
            None => (&cell.point, value(line.threshold, cell, &cells[line.cell], alpha)),
        };
        outcome(line.threshold, cell, point, figure, alpha)
    };
    lines.iter().map(outcome).collect()
}

/// The probability that any of the outcomes of a run is false.
const ALPHA: f64 = 0.05;

/// A threshold applied to a cell, and the reference for the ratio.
struct ThresholdLine<'a> {
    threshold: &'a Threshold,
    cell: usize,
    family: Option<&'a Family>,
}

fn lines<'a>(run: &'a Run, families: &'a [Family]) -> Vec<ThresholdLine<'a>> {
    let thresholds = run.plan.definition.iter().flat_map(|definition| &definition.thresholds);
    let mut lines = Vec::new();
    for threshold in thresholds {
        for (index, cell) in run.cells.iter().enumerate() {
            let chosen = match threshold.methods.as_slice() {
                [] => cell.role == Role::Contender,
                names => names.contains(&cell.method),
            };
            if !chosen {
                continue;
            }
            let line = |family| ThresholdLine { threshold, cell: index, family };
            if threshold.metric == RATIO {
                let own = families.iter().filter(|family| family.cells.contains(&index));
                let own = own.filter(|family| family.reference != Some(index));
                lines.extend(own.map(|family| line(Some(family))));
            } else {
                lines.push(line(None));
            }
        }
    }
    lines
}

/// A value with its interval, or the reason why it has none.
#[derive(Default)]
struct Figure {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    reason: Option<String>,
}

fn value(threshold: &Threshold, cell: &Cell, summary: &CellSummary, alpha: f64) -> Figure {
    let metric = threshold.metric.as_str();
    if let Some(why) = Unusable::of(cell) {
        return Figure { reason: Some(format!("it {why}")), ..Figure::default() };
    }
    let found = summary.metrics.iter().find(|summary| summary.metric == metric);
    let middle = found.and_then(|summary| {
        let middle = summary.percentiles.iter().find(|known| known.p.total_cmp(&50.0).is_eq());
        Some((summary, middle?.value))
    });
    let Some((summary, middle)) = middle else { return Figure::default() };
    let value = Some(middle);
    if summary.constant {
        return Figure { value, low: value, high: value, reason: None };
    }
    // The counting pass is one session: there the samples are the unit.
    if summary.sessions < SESSIONS_NEEDED && !is_counted_apart(metric) {
        return Figure {
            value,
            reason: Some(too_few(summary.sessions, SESSIONS_NEEDED)),
            ..Figure::default()
        };
    }
    let (low, high) = percentile_interval(&sessions(cell.counted(metric)), 50.0, alpha);
    Figure { value, low, high, reason: None }
}

fn ratio(
    run: &Run,
    cell: usize,
    family: &Family,
    comparisons: &[Comparison],
    alpha: f64,
) -> Figure {
    let decides = |comparison: &&Comparison| {
        comparison.decides
            && comparison.cell == cell
            && Some(comparison.reference_cell) == family.reference
    };
    let Some(found) = comparisons.iter().find(decides).filter(|found| found.ratio.is_some()) else {
        return Figure::default();
    };
    let Comparison { ratio, low, high, reason, .. } = at_level(run, found, alpha);
    let (cell, reference) = (found.cell, found.reference_cell);
    let pair = Pair { run, point: &found.point, cell, reference, alpha };
    if found.metric != WALL || low.is_none() || !pair.may_have_waited() {
        return Figure { value: ratio, low, high, reason };
    }
    let (low, high) = pair.with_and_without_wait().unzip();
    Figure { value: ratio, low, high, reason }
}

fn outcome(
    threshold: &Threshold,
    cell: &Cell,
    point: &Point,
    figure: Figure,
    alpha: f64,
) -> ThresholdOutcome {
    let Figure { value, low, high, reason } = figure;
    let max = threshold.max;
    let verdict = match (low, high) {
        (_, Some(high)) if high <= max => ThresholdVerdict::Kept,
        (Some(low), _) if low > max => ThresholdVerdict::Exceeded,
        _ => ThresholdVerdict::Undecided,
    };
    let why = || match (&cell.status, value, low) {
        (Status::Skipped(_) | Status::Failed(_), ..) => "it was not measured".to_owned(),
        (_, None, _) => reason.unwrap_or_else(|| "there is no such figure of it".to_owned()),
        (_, _, None) => reason.unwrap_or_else(|| "too few samples for an interval".to_owned()),
        _ => "the limit lies within the interval".to_owned(),
    };
    let reason = (verdict == ThresholdVerdict::Undecided).then(why);
    ThresholdOutcome {
        method: cell.method.clone(),
        point: point.clone(),
        metric: threshold.metric.clone(),
        max,
        value,
        low,
        high,
        level: 1.0 - alpha,
        verdict,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_decided_by_the_interval() {
        let threshold = Threshold { methods: Vec::new(), metric: "wall_ns".into(), max: 10.0 };
        let check = |values: [Option<f64>; 3], expected: ThresholdVerdict, why: Option<&str>| {
            let cell = Cell::new("a", Point::default());
            let [value, low, high] = values;
            let figure = Figure { value, low, high, reason: None };
            let outcome = outcome(&threshold, &cell, &Point::default(), figure, 0.05);
            assert_eq!((outcome.verdict, outcome.reason.as_deref()), (expected, why), "{values:?}");
        };
        check([Some(9.0), Some(8.0), Some(10.0)], ThresholdVerdict::Kept, None);
        check([Some(12.0), Some(10.5), Some(13.0)], ThresholdVerdict::Exceeded, None);
        let within = Some("the limit lies within the interval");
        check([Some(9.0), Some(8.0), Some(10.5)], ThresholdVerdict::Undecided, within);
        check(
            [Some(9.0), None, None],
            ThresholdVerdict::Undecided,
            Some("too few samples for an interval"),
        );
        check([None; 3], ThresholdVerdict::Undecided, Some("there is no such figure of it"));
    }

    #[test]
    fn a_threshold_that_is_reached_is_not_exceeded_and_a_method_without_samples_says_so() {
        let threshold = Threshold { methods: Vec::new(), metric: "wall_ns".into(), max: 10.0 };
        let of = |status: Status, low: Option<f64>| {
            let cell = Cell { status, ..Cell::new("a", Point::default()) };
            let figure = Figure { value: low, low, high: low.map(|low| low + 1.0), reason: None };
            let found = outcome(&threshold, &cell, &Point::default(), figure, 0.05);
            (found.verdict, found.reason.unwrap_or_default())
        };
        let undecided = |why: &str| (ThresholdVerdict::Undecided, why.to_owned());
        assert_eq!(
            of(Status::Measured, Some(10.0)),
            undecided("the limit lies within the interval")
        );
        assert_eq!(of(Status::Measured, Some(10.1)).0, ThresholdVerdict::Exceeded);
        for status in [Status::Skipped("no".to_owned()), Status::Failed("died".to_owned())] {
            assert_eq!(of(status, None), undecided("it was not measured"));
        }
        assert_eq!(of(Status::Measured, None), undecided("there is no such figure of it"));
    }
}
