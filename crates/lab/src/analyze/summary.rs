//! The distribution of each metric of a cell.

use super::values::Sessions;
use super::{ALPHA, CellSummary, Percentile, Summary, answers};
use crate::metric::{METRICS, is_known, unit};
use crate::run::{Cell, Pass, Run, Sample};
use crate::stats::{Pooled, nearest_rank};

const PERCENTILES: [f64; 7] = [0.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0];

pub(super) fn cell(run: &Run, index: usize, wrong_answer: bool, pareto: bool) -> CellSummary {
    let cell = &run.cells[index];
    let known = METRICS.iter().map(|metric| metric.name);
    let custom = cell.values.keys().map(String::as_str);
    let custom = custom.filter(|name| !is_known(name));
    let taken_in_vain = |s: &&Sample| !s.warm_up && s.not_counted.is_some();
    let counted = Counted::new(cell);
    CellSummary {
        cell: index,
        metrics: known.chain(custom).filter_map(|name| summary(&counted, name)).collect(),
        not_counted: cell.samples.iter().filter(taken_in_vain).count(),
        pareto,
        answer: answers::answer(cell).map(str::to_owned),
        wrong_answer,
    }
}

/// None if no sample that is shown has the metric.
fn summary(counted: &Counted<'_>, metric: &str) -> Option<Summary> {
    let samples = counted.of(metric);
    let sessions = Sessions::new(samples.iter().map(|(sample, value)| (sample.session, *value)));
    let sessions = sessions.slices();
    let pooled = Pooled::new(&sessions);
    let sorted = pooled.sorted();
    let n = sorted.len();
    Some(Summary {
        metric: metric.to_owned(),
        unit: unit(metric),
        n,
        sessions: sessions.len(),
        ops: samples.iter().map(|(sample, _)| sample.ops).max().unwrap_or(1),
        constant: n > 1 && sorted[0] >= sorted[n - 1],
        percentiles: percentiles(&pooled)?,
    })
}

/// The samples of a cell whose figures are shown, found once for all of its metrics.
struct Counted<'a> {
    cell: &'a Cell,
    timing: Vec<SampleKey>,
    counting: Vec<SampleKey>,
}

/// What the summary of a metric needs of a sample: less memory to go through than the samples.
#[derive(Clone, Copy)]
struct SampleKey {
    index: usize,
    session: u32,
    ops: u64,
}

impl Counted<'_> {
    fn new(cell: &Cell) -> Counted<'_> {
        let key =
            |(index, s): (usize, &Sample)| SampleKey { index, session: s.session, ops: s.ops };
        let of_pass = |pass: Pass| {
            let samples = cell.samples.iter().enumerate();
            let samples = samples.filter(|(_, sample)| sample.counts_in(pass));
            samples.map(key).collect()
        };
        let mut timing: Vec<SampleKey> = of_pass(Pass::Timing);
        timing.extend(cell.estimate().map(|index| key((index, &cell.samples[index]))));
        Counted { cell, timing, counting: of_pass(Pass::Counting) }
    }

    /// The same as [`Cell::shown`].
    fn of(&self, metric: &str) -> Vec<(SampleKey, f64)> {
        let column = self.cell.values.get(metric).map_or(&[][..], Vec::as_slice);
        let values = |keys: &[SampleKey]| -> Vec<(SampleKey, f64)> {
            let value = |key: &SampleKey| Some((*key, *column.get(key.index)?));
            keys.iter().filter_map(value).filter(|(_, value)| !value.is_nan()).collect()
        };
        let counting = values(&self.counting);
        if counting.is_empty() { values(&self.timing) } else { counting }
    }
}

/// Maximum number of operations per sample.
pub(super) fn most_ops(cell: &Cell, metric: &str) -> u64 {
    cell.counted(metric).map(|(sample, _)| sample.ops).max().unwrap_or(1)
}

/// p0 p25 p50 p75 p90 p99 p100; none if there are no values.
pub(super) fn percentiles(pooled: &Pooled<'_>) -> Option<Vec<Percentile>> {
    let percentile = |p: f64| {
        let (low, high) = pooled.interval(p, ALPHA);
        Some(Percentile { p, value: pooled.percentile(p)?, low, high })
    };
    PERCENTILES.into_iter().map(percentile).collect()
}

/// The p50 of a metric.
pub(super) fn middle(cell: &Cell, metric: &str) -> Option<f64> {
    let mut values: Vec<f64> = cell.counted(metric).map(|(_, value)| value).collect();
    let rank = nearest_rank(values.len(), 50.0)?;
    Some(*values.select_nth_unstable_by(rank - 1, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::tests::cell;

    #[test]
    fn one_sample_is_no_constant() {
        let is_constant = |walls: &[f64]| {
            let cell = cell("a", walls.iter().copied());
            summary(&Counted::new(&cell), "wall_ns").unwrap().constant
        };
        assert!(is_constant(&[2.0, 2.0]));
        assert!(!is_constant(&[2.0]) && !is_constant(&[2.0, 3.0]));
    }

    #[test]
    fn the_largest_number_of_operations_of_a_sample_is_found() {
        let mut cell = cell("a", [1.0; 3]);
        for (sample, ops) in cell.samples.iter_mut().zip([4, 7, 5]) {
            sample.ops = ops;
        }
        assert_eq!([most_ops(&cell, "wall_ns"), most_ops(&cell, "syscalls")], [7, 1]);
    }
}
