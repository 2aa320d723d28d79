//! What a run must not exceed, and whether it did. Pure.

use serde::{Deserialize, Serialize};

use crate::analyze::{CellSummary, Comparison, Family};
use crate::param::Point;
use crate::run::{Cell, Role, Run, Status};

/// A limit for one metric, or for the ratio to the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The methods that it holds for; none: all that compete.
    pub methods: Vec<String>,
    /// The name of a metric, or [`RATIO`].
    pub metric: String,
    pub max: f64,
}

/// In place of a metric: method / reference, in what decides between the two.
pub const RATIO: &str = "ratio";

/// A threshold held against one method at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    pub method: String,
    pub point: Point,
    pub metric: String,
    pub max: f64,
    /// The p50, or the ratio, with its 95 % interval.
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: Held,
    /// Why it is undecided.
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// The whole interval is within.
    Kept,
    /// The whole interval is beyond.
    Exceeded,
    Undecided,
}

/// All thresholds of the run's definition, at each point.
pub(crate) fn check(
    run: &Run,
    cells: &[CellSummary],
    families: &[Family],
    comparisons: &[Comparison],
) -> Vec<Outcome> {
    let thresholds = run.plan.definition.iter().flat_map(|definition| &definition.thresholds);
    let mut outcomes = Vec::new();
    for threshold in thresholds {
        for (index, cell) in run.cells.iter().enumerate() {
            let chosen = match threshold.methods.as_slice() {
                [] => cell.role == Role::Contender,
                names => names.contains(&cell.method),
            };
            if !chosen {
                continue;
            }
            if threshold.metric == RATIO {
                let own = families.iter().filter(|family| family.cells.contains(&index));
                let own = own.filter(|family| family.reference != Some(index));
                outcomes
                    .extend(own.map(|family| ratio(threshold, cell, index, family, comparisons)));
            } else {
                outcomes.push(value(threshold, cell, &cells[index]));
            }
        }
    }
    outcomes
}

fn value(threshold: &Threshold, cell: &Cell, summary: &CellSummary) -> Outcome {
    let found = summary.metrics.iter().find(|summary| summary.metric == threshold.metric);
    let middle = found.and_then(|summary| {
        summary.percentiles.iter().find(|known| known.p.total_cmp(&50.0).is_eq())
    });
    let constant = found.is_some_and(|summary| summary.constant);
    let [value, low, high] = match middle {
        Some(middle) if constant => [Some(middle.value); 3],
        Some(middle) => [Some(middle.value), middle.low, middle.high],
        None => [None; 3],
    };
    outcome(threshold, cell, &cell.point, [value, low, high])
}

fn ratio(
    threshold: &Threshold,
    cell: &Cell,
    index: usize,
    family: &Family,
    comparisons: &[Comparison],
) -> Outcome {
    let decides = |comparison: &&Comparison| {
        comparison.decides
            && comparison.cell == index
            && Some(comparison.reference_cell) == family.reference
    };
    let found = comparisons.iter().find(decides);
    let values = found.map_or([None; 3], |found| [found.ratio, found.low, found.high]);
    outcome(threshold, cell, &family.point, values)
}

fn outcome(
    threshold: &Threshold,
    cell: &Cell,
    point: &Point,
    [value, low, high]: [Option<f64>; 3],
) -> Outcome {
    let max = threshold.max;
    let verdict = match (low, high) {
        (_, Some(high)) if high <= max => Held::Kept,
        (Some(low), _) if low > max => Held::Exceeded,
        _ => Held::Undecided,
    };
    let reason = (verdict == Held::Undecided).then_some(match (&cell.status, value, low) {
        (Status::Skipped(_) | Status::Failed(_), ..) => "it was not measured",
        (_, None, _) => "there is no such figure of it",
        (_, _, None) => "too few samples for an interval",
        _ => "the limit lies within the interval",
    });
    Outcome {
        method: cell.method.clone(),
        point: point.clone(),
        metric: threshold.metric.clone(),
        max,
        value,
        low,
        high,
        verdict,
        reason: reason.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_decided_by_the_interval() {
        let threshold = Threshold { methods: Vec::new(), metric: "wall_ns".into(), max: 10.0 };
        let check = |values: [Option<f64>; 3], expected: Held, why: Option<&str>| {
            let cell = Cell {
                method: "a".into(),
                about: String::new(),
                role: Role::Contender,
                language: None,
                point: Point::default(),
                status: Status::Measured,
                digest: None,
                syscalls_by_name: None,
                samples: Vec::new(),
                values: std::collections::BTreeMap::new(),
            };
            let outcome = outcome(&threshold, &cell, &Point::default(), values);
            assert_eq!((outcome.verdict, outcome.reason.as_deref()), (expected, why), "{values:?}");
        };
        check([Some(9.0), Some(8.0), Some(10.0)], Held::Kept, None);
        check([Some(12.0), Some(10.5), Some(13.0)], Held::Exceeded, None);
        let within = Some("the limit lies within the interval");
        check([Some(9.0), Some(8.0), Some(10.5)], Held::Undecided, within);
        check([Some(9.0), None, None], Held::Undecided, Some("too few samples for an interval"));
        check([None; 3], Held::Undecided, Some("there is no such figure of it"));
    }
}
