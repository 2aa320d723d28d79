//! The distribution of each metric of a cell.

use super::values::sessions;
use super::{ALPHA, CellSummary, Percentile, Summary, answers};
use crate::metric::{METRICS, unit};
use crate::run::{Cell, Run, Sample};
use crate::stats::{nearest_rank, percentile_interval};

const PERCENTILES: [f64; 7] = [0.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0];

pub(super) fn cell(run: &Run, index: usize, wrong_answer: bool, pareto: bool) -> CellSummary {
    let cell = &run.cells[index];
    let known = METRICS.iter().map(|metric| metric.name);
    let custom = cell.values.keys().map(String::as_str);
    let custom = custom.filter(|name| METRICS.iter().all(|metric| metric.name != *name));
    let taken_in_vain = |s: &&Sample| !s.warm_up && s.not_counted.is_some();
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
    let sessions = sessions(cell.counted(metric));
    let n = sorted.len();
    Some(Summary {
        metric: metric.to_owned(),
        unit: unit(metric),
        n,
        sessions: sessions.len(),
        ops: most_ops(cell, metric),
        constant: n > 1 && sorted[0] >= sorted[n - 1],
        percentiles: percentiles(&sessions)?,
    })
}

/// Maximum number of operations per sample.
pub(super) fn most_ops(cell: &Cell, metric: &str) -> u64 {
    cell.counted(metric).map(|(sample, _)| sample.ops).max().unwrap_or(1)
}

/// p0 p25 p50 p75 p90 p99 p100; none if there are no values.
pub(super) fn percentiles(sessions: &[Vec<f64>]) -> Option<Vec<Percentile>> {
    let mut values = sessions.concat();
    values.sort_unstable_by(f64::total_cmp);
    let percentile = |p: f64| {
        let (low, high) = percentile_interval(sessions, p, ALPHA);
        let value = values[nearest_rank(values.len(), p)? - 1];
        Some(Percentile { p, value, low, high })
    };
    PERCENTILES.into_iter().map(percentile).collect()
}

/// The p50 of a metric.
pub(super) fn middle(cell: &Cell, metric: &str) -> Option<f64> {
    let mut values: Vec<f64> = cell.counted(metric).map(|(_, value)| value).collect();
    let rank = nearest_rank(values.len(), 50.0)?;
    Some(*values.select_nth_unstable_by(rank - 1, f64::total_cmp).1)
}

fn sorted(cell: &Cell, metric: &str) -> Vec<f64> {
    let mut values: Vec<f64> = cell.counted(metric).map(|(_, value)| value).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}
