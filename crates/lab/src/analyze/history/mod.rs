//! One method over time: its p50 in each run, and where it changed.

mod by_commit;
mod slowdowns;
#[cfg(test)]
mod tests;

pub use self::by_commit::{AtCommit, CommitSeries, CommitValue, commits_of, series_by_commit};
pub use self::slowdowns::{Slowdown, Slowdowns, slowdowns};

use serde::Serialize;

use super::{answers, summary};
use crate::param::Point;
use crate::run::{CacheState, Cell, Run, Status};
use crate::stats;

/// What must be equal for two values to belong to one series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesKey {
    pub experiment: String,
    pub point: Point,
    /// The fingerprint of its environment.
    pub machine: String,
    pub cache: CacheState,
    pub fresh: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Series {
    #[serde(flatten)]
    pub place: SeriesKey,
    /// The oldest first.
    pub values: Vec<HistoryPoint>,
    pub changes: Vec<ChangePoint>,
}

/// The value of one run.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryPoint {
    pub id: String,
    pub started: String,
    pub label: Option<String>,
    pub n: usize,
    pub p50: f64,
}

/// A change of the level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangePoint {
    /// The first run of the new level.
    pub id: String,
    /// Its index in the values.
    pub at: usize,
    /// The ratio of the median of the new level to that of the previous one.
    pub ratio: Option<f64>,
}

/// The number of values of a series that are analyzed, the newest ones: the work grows with its
/// square.
pub const NEWEST: usize = 500;

/// One series for each combination of experiment, point, machine and cache state in which a run
/// measured the method and got the right answer.
pub fn series(runs: &[Run], method: &str, metric: &str) -> Vec<Series> {
    series_by(runs, method, metric, &|run| run.environment.fingerprint.clone())
}

fn series_by(
    runs: &[Run],
    method: &str,
    metric: &str,
    machine: &dyn Fn(&Run) -> String,
) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for run in runs {
        for (place, value) in values(run, method, metric, machine) {
            match all.iter_mut().find(|series| series.place == place) {
                Some(series) => series.values.push(value),
                None => all.push(Series { place, values: vec![value], changes: Vec::new() }),
            }
        }
    }
    for series in &mut all {
        series.values.sort_by(|a, b| a.started.cmp(&b.started));
        series.changes = steps(&series.values);
    }
    all
}

/// The value of the method at each point of a run where it was measured and got the right answer.
fn values(
    run: &Run,
    method: &str,
    metric: &str,
    machine: &dyn Fn(&Run) -> String,
) -> Vec<(SeriesKey, HistoryPoint)> {
    let wrong = answers::wrong(run);
    let value = |(cell, wrong): (&Cell, Option<_>)| {
        let fit = cell.method == method && cell.status == Status::Measured && wrong.is_none();
        let p50 = summary::middle(cell, metric).filter(|p50| fit && p50.is_finite())?;
        let place = SeriesKey {
            experiment: run.experiment.clone(),
            point: cell.point.clone(),
            machine: machine(run),
            cache: run.plan.cache,
            fresh: run.plan.fresh,
        };
        let value = HistoryPoint {
            id: run.id.clone(),
            started: run.started.clone(),
            label: run.label.clone(),
            n: cell.counted(metric).count(),
            p50,
        };
        Some((place, value))
    };
    run.cells.iter().zip(wrong).filter_map(value).collect()
}

fn steps(values: &[HistoryPoint]) -> Vec<ChangePoint> {
    let skipped = values.len().saturating_sub(NEWEST);
    let p50: Vec<f64> = values[skipped..].iter().map(|value| value.p50).collect();
    let changes = stats::changes(&p50);
    let mut ends = vec![0];
    ends.extend(&changes);
    ends.push(p50.len());
    let step = |ends: &[usize]| {
        let ratio = stats::median(&p50[ends[1]..ends[2]]) / stats::median(&p50[ends[0]..ends[1]]);
        let at = skipped + ends[1];
        let ratio = Some(ratio).filter(|ratio| ratio.is_finite());
        ChangePoint { id: values[at].id.clone(), at, ratio }
    };
    ends.windows(3).map(step).collect()
}
