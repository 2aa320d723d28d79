//! The distribution of each metric of a cell.

use super::{CellSummary, Percentile, Summary, answers};
use crate::metric::{METRICS, unit};
use crate::run::{Cell, Run};
use crate::stats::{nearest_rank, rank_interval};

const PERCENTILES: [f64; 7] = [0.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0];

pub(super) fn cell(run: &Run, index: usize, wrong_answer: bool, pareto: bool) -> CellSummary {
    let cell = &run.cells[index];
    let known = METRICS.iter().map(|metric| metric.name);
    let custom = cell.values.keys().map(String::as_str);
    let custom = custom.filter(|name| METRICS.iter().all(|metric| metric.name != *name));
    let taken_in_vain = |s: &&crate::run::Sample| !s.warm_up && s.not_counted.is_some();
    CellSummary {
        cell: index,
        metrics: known.chain(custom).filter_map(|name| summary(cell, name)).collect(),
        not_counted: cell.samples.iter().filter(taken_in_vain).count(),
        pareto,
        answer: answers::answer(cell).map(str::to_owned),
        wrong_answer,
    }
}

/// None if no counted sample has the metric.
fn summary(cell: &Cell, metric: &str) -> Option<Summary> {
    let sorted = sorted(cell, metric);
    let n = sorted.len();
    Some(Summary {
        metric: metric.to_owned(),
        unit: unit(metric),
        n,
        constant: n > 1 && sorted[0] >= sorted[n - 1],
        percentiles: percentiles(sorted)?,
    })
}

/// p0 p25 p50 p75 p90 p99 p100; none of no values.
pub(super) fn percentiles(mut values: Vec<f64>) -> Option<Vec<Percentile>> {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    let at = |rank: usize| values[rank - 1];
    let percentile = |p: f64| {
        let (low, high) = rank_interval(n, p, 0.05);
        let value = at(nearest_rank(n, p)?);
        Some(Percentile { p, value, low: low.map(at), high: high.map(at) })
    };
    PERCENTILES.into_iter().map(percentile).collect()
}

/// The p50 of a metric.
pub(super) fn middle(cell: &Cell, metric: &str) -> Option<f64> {
    let sorted = sorted(cell, metric);
    Some(sorted[nearest_rank(sorted.len(), 50.0)? - 1])
}

fn sorted(cell: &Cell, metric: &str) -> Vec<f64> {
    let mut values: Vec<f64> = cell.counted(metric).map(|(_, value)| value).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}
