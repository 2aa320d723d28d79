//! The values of a cell by itself: one per session in logs, and the distribution of each metric.

use model::metric::{METRICS, unit};

use super::analysis::{ALPHA, CellSummary, Family, Percentile, Summary};
use super::facts::{CellFacts, RunFacts, SampleKey};
use crate::stats::{Pooled, RUNS_A_SIDE, median, nearest_rank};

/// The same number as the sessions of a worker have.
const ROUNDS_OF_A_BLOCK: usize = 5;

/// The median of the logs of each session.
pub(crate) fn absolute(cell: &CellFacts<'_>, metric: &str) -> Result<Vec<f64>, String> {
    let sessions = sessions(logs(cell, metric)?.into_iter());
    Ok(in_blocks(sessions).iter().map(|logs| median(logs)).collect())
}

/// Where a round is a session, five consecutive rounds make one value, so that an outlier in one of
/// them does not stand alone; fewer rounds are used where fewer than five values would remain.
pub(crate) fn in_blocks(sessions: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let block = (sessions.len() / RUNS_A_SIDE).min(ROUNDS_OF_A_BLOCK);
    if block < 2 || sessions.iter().any(|rounds| rounds.len() > 1) {
        return sessions;
    }
    let starts = (0..=sessions.len() - block).step_by(block);
    // Remaining rounds belong to the last block.
    let end =
        |start| if start + 2 * block > sessions.len() { sessions.len() } else { start + block };
    starts.map(|start| sessions[start..end(start)].concat()).collect()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The logs of all samples.
pub(crate) fn of_samples(cell: &CellFacts<'_>, metric: &str) -> Result<Vec<f64>, String> {
    Ok(logs(cell, metric)?.into_iter().map(|(_, log)| log).collect())
}

fn logs(cell: &CellFacts<'_>, metric: &str) -> Result<Vec<(SampleKey, f64)>, String> {
    ensure_usable(cell)?;
    let log = |(key, value): (SampleKey, f64)| {
        let log = value.ln();
        let why = || format!("{metric} is {value} in a sample, which gives no ratio");
        log.is_finite().then_some((key, log)).ok_or_else(why)
    };
    let logs = cell.counted(metric).map(log).collect::<Result<Vec<_>, String>>()?;
    if logs.is_empty() { Err(format!("{metric} was not measured")) } else { Ok(logs) }
}

/// Fails if its figures cannot be compared.
pub(crate) fn ensure_usable(cell: &CellFacts<'_>) -> Result<(), String> {
    cell.unusable.map_or(Ok(()), |why| Err(format!("{} {why}", cell.stored.method)))
}

/// The values of each session.
pub(crate) fn sessions(counted: impl Iterator<Item = (SampleKey, f64)>) -> Vec<Vec<f64>> {
    let counted = counted.map(|(key, value)| (key.session, value));
    Sessions::new(counted).slices().into_iter().map(<[f64]>::to_vec).collect()
}

/// The values of all sessions, one session after the other.
pub(crate) struct Sessions {
    values: Vec<f64>,
    /// By session, where its values end.
    ends: Vec<usize>,
}

impl Sessions {
    /// From values with the numbers of their sessions.
    pub(crate) fn new(counted: impl Iterator<Item = (u32, f64)>) -> Sessions {
        let mut counted: Vec<(u32, f64)> = counted.collect();
        // Those of a run are nearly always in order, which is known faster than sorted.
        if !counted.is_sorted_by_key(|(session, _)| *session) {
            counted.sort_by_key(|(session, _)| *session);
        }
        let lens = counted.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len);
        let ends = lens.scan(0, |end, len| {
            *end += len;
            Some(*end)
        });
        let ends = ends.collect();
        Sessions { values: counted.into_iter().map(|(_, value)| value).collect(), ends }
    }

    pub(crate) fn slices(&self) -> Vec<&[f64]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.values[start..*end]).collect()
    }
}

// The distribution of each metric of a cell.

const PERCENTILES: [f64; 7] = [0.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0];

/// The summaries of all cells, in their order, with these of the metrics of each.
pub(crate) fn cell_summaries(
    facts: &RunFacts<'_>,
    families: &[Family],
    metrics: Vec<Vec<Summary>>,
) -> Vec<CellSummary> {
    let of_cell = |(cell, metrics): (&CellFacts<'_>, Vec<Summary>)| CellSummary {
        cell: cell.index,
        metrics,
        not_counted: cell.not_counted,
        pareto: families.iter().any(|family| family.pareto.contains(&cell.index)),
        answer: cell.answers.single().map(str::to_owned),
        wrong_answer: cell.wrong.is_some(),
        left_running: cell.left_running,
        unusable: cell.unusable,
    };
    facts.cells.iter().zip(metrics).map(of_cell).collect()
}

/// All metrics of a cell.
pub(crate) fn summaries(cell: &CellFacts<'_>) -> Vec<Summary> {
    let known = METRICS.iter().map(|metric| metric.name);
    let measured = known.filter(|name| cell.stored.values.contains_key(*name));
    measured.chain(cell.custom_metrics()).filter_map(|name| summary(cell, name)).collect()
}

/// None if no sample that is shown has the metric.
fn summary(cell: &CellFacts<'_>, metric: &str) -> Option<Summary> {
    let mut ops: Option<u64> = None;
    let samples = cell.shown(metric).inspect(|(key, _)| ops = ops.max(Some(key.ops)));
    let sessions = Sessions::new(samples.map(|(key, value)| (key.session, value)));
    let sessions = sessions.slices();
    let pooled = Pooled::new(&sessions);
    let sorted = pooled.sorted();
    let n = sorted.len();
    Some(Summary {
        metric: metric.to_owned(),
        unit: unit(metric),
        n,
        sessions: sessions.len(),
        ops: ops.unwrap_or(1),
        constant: n > 1 && sorted[0] >= sorted[n - 1],
        percentiles: percentiles(&pooled)?,
    })
}

/// The value of a metric that is equal in all samples of these cells.
pub(crate) fn constant<'c, 'a: 'c>(
    cells: impl Iterator<Item = &'c CellFacts<'a>>,
    metric: &str,
) -> Option<f64> {
    let mut values = cells.flat_map(|cell| cell.values(metric));
    let first = values.next()?;
    values.all(|value| value.total_cmp(&first).is_eq()).then_some(first)
}

/// p0 p25 p50 p75 p90 p99 p100; none if there are no values.
pub(crate) fn percentiles(pooled: &Pooled<'_>) -> Option<Vec<Percentile>> {
    let percentile = |p: f64| {
        let (low, high) = pooled.interval(p, ALPHA);
        Some(Percentile { p, value: pooled.percentile(p)?, low, high })
    };
    PERCENTILES.into_iter().map(percentile).collect()
}

/// The p50.
pub(crate) fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    let rank = nearest_rank(values.len(), 50.0)?;
    Some(*values.select_nth_unstable_by(rank - 1, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_round_is_a_session_five_make_a_value() {
        let rounds = |n: u32| (0..n).map(|i| vec![f64::from(i)]).collect::<Vec<_>>();
        let lens = |n| in_blocks(rounds(n)).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lens(50), [5; 10]);
        assert_eq!(lens(27), [5, 5, 5, 5, 7]);
        assert_eq!(lens(12), [2, 2, 2, 2, 2, 2]);
        assert_eq!(lens(9), [1; 9]);
        assert_eq!(lens(0), [0; 0]);
        assert_eq!(in_blocks(rounds(12)).concat().len(), 12, "none is left out");
        let of_workers = vec![vec![1.0, 2.0]; 50];
        assert_eq!(in_blocks(of_workers.clone()), of_workers);
    }
}

#[cfg(test)]
mod summary_tests {
    use super::*;
    use crate::tests::{cell, facts_of};

    #[test]
    fn one_sample_is_no_constant() {
        let is_constant = |walls: &[f64]| {
            let cell = cell("a", walls.iter().copied());
            summary(&facts_of(&cell), "wall_ns").unwrap().constant
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
        assert_eq!(summary(&facts_of(&cell), "wall_ns").unwrap().ops, 7);
    }
}
