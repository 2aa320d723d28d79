//! The data of the charts in a report, for HTML and SVG: names, figures and samples of one or
//! several runs of an experiment, downsampled to what a screen can show. Independent of colours and
//! pixels.

pub(crate) mod downsampled;
pub(crate) mod sweep;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use lab::analyze::{Analysis, Comparison};
use lab::metric::{METRICS, title, unit};
use lab::param::{Point, Value};
use lab::run::{self, Role, Run};
use serde::Serialize;

use self::downsampled::{Downsampled, rounded};
use self::sweep::{CellIndexes, Sweep};
use crate::report::model::rows;
use crate::report::model::units::{self, Unit};
use crate::report::model::varying::Varying;
use crate::report::model::words::clean;

/// More cells than these are not drawn: the table of the page lists them all.
const CELLS_MAX: usize = 2000;

/// The maximum number of drawn values, however many samples there are; it is divided among the
/// columns.
const VALUES_MAX: usize = 300_000;

#[derive(Serialize)]
pub(crate) struct Charts {
    /// The name of each run.
    pub(crate) runs: Vec<String>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) cells: Vec<Cell>,
    /// The number of cells that are not drawn.
    pub(crate) left_out: usize,
    pub(crate) points: Vec<ChartPoint>,
    pub(crate) sweeps: Vec<Sweep>,
}

/// A metric in which samples differ.
#[derive(Serialize)]
pub(crate) struct Metric {
    pub(crate) name: String,
    pub(crate) title: String,
    /// The units in which it is shown, the smallest first: the unit's name, and its size in the
    /// stored unit.
    pub(crate) units: Vec<(&'static str, f64)>,
}

/// One method at one point of one run.
#[derive(Serialize)]
pub(crate) struct Cell {
    pub(crate) run: usize,
    pub(crate) method: String,
    pub(crate) yardstick: bool,
    /// The indexes, among the counted samples from 0, of the first sample of each session.
    pub(crate) sessions: Vec<usize>,
    /// The columns by metric.
    pub(crate) columns: BTreeMap<String, Column>,
}

/// One metric of one cell.
#[derive(Serialize)]
pub(crate) struct Column {
    pub(crate) n: usize,
    /// The percentiles of [`PERCENTILES`].
    pub(crate) p: [f64; PERCENTILES.len()],
    /// The 95 % interval of the p50, where n allows one.
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) drawn: Downsampled,
}

pub(crate) const PERCENTILES: [f64; 8] = [0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0];
/// Indexes into [`PERCENTILES`].
pub(crate) const P0: usize = 0;
pub(crate) const P10: usize = 1;
pub(crate) const P25: usize = 2;
pub(crate) const P50: usize = 3;
pub(crate) const P75: usize = 4;
pub(crate) const P100: usize = 7;

/// A point and the cells that are measured at it, in all runs; the best first.
#[derive(Serialize)]
pub(crate) struct ChartPoint {
    /// The values that distinguish it from the other points.
    pub(crate) at: String,
    pub(crate) cells: Vec<usize>,
    pub(crate) ratios: Vec<Relative>,
}

/// A method's time as a share of its reference's in the same rounds.
#[derive(Serialize)]
pub(crate) struct Relative {
    pub(crate) cell: usize,
    pub(crate) reference: String,
    pub(crate) ratio: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) verdict: &'static str,
}

impl Charts {
    pub(crate) fn from_runs(shown: &[(Run, Analysis)]) -> Charts {
        let points: Vec<&Point> = shown.iter().flat_map(|(run, _)| &run.points).collect();
        let varying = Varying::of_points(&points);
        let metrics = metrics(shown);
        let all: usize = shown.iter().map(|(run, _)| measured(run).count()).sum();
        let share = VALUES_MAX / (all.min(CELLS_MAX) * metrics.len()).max(1);
        let mut builder =
            Builder { cells: Vec::new(), known: BTreeMap::new(), metrics: &metrics, share };
        for (number, (run, _)) in shown.iter().enumerate() {
            for (index, cell) in measured(run) {
                builder.add(number, index, cell);
            }
        }
        let Builder { cells, known, .. } = builder;
        let points = places(shown, &varying, &known);
        let sweeps = sweep::all(shown, &varying, &known);
        let runs = shown.iter().map(|(run, _)| name(run)).collect();
        let left_out = all - cells.len();
        Charts { runs, metrics, cells, left_out, points, sweeps }
    }

    pub(crate) fn column(&self, cell: usize, metric: &str) -> Option<&Column> {
        self.cells.get(cell)?.columns.get(metric)
    }

    /// The method; with several runs, also the run.
    pub(crate) fn label(&self, cell: usize) -> String {
        let Some(cell) = self.cells.get(cell) else { return String::new() };
        match self.runs.as_slice() {
            [] | [_] => cell.method.clone(),
            runs => format!("{} · {}", cell.method, runs[cell.run]),
        }
    }
}

struct Builder<'a> {
    cells: Vec<Cell>,
    known: CellIndexes,
    metrics: &'a [Metric],
    /// The maximum number of values in a column.
    share: usize,
}

impl Builder<'_> {
    fn add(&mut self, run: usize, index: usize, cell: &run::Cell) {
        if self.cells.len() >= CELLS_MAX {
            return;
        }
        let column = |metric: &Metric| {
            let mut samples: Vec<f64> = Vec::new();
            let mut sessions: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            for (sample, value) in cell.shown(&metric.name).filter(|(_, x)| x.is_finite()) {
                samples.push(value);
                sessions.entry(sample.session).or_default().push(value);
            }
            let sessions: Vec<Vec<f64>> = sessions.into_values().collect();
            Some((metric.name.clone(), Column::from_samples(&samples, &sessions, self.share)?))
        };
        let sessions = cell.shown(rows::WALL).enumerate();
        let mut session = None;
        let first = |(i, (sample, _)): (usize, (&run::Sample, f64))| {
            (session.replace(sample.session) != Some(sample.session)).then_some(i)
        };
        self.known.insert((run, index), self.cells.len());
        self.cells.push(Cell {
            run,
            method: clean(&cell.method).into_owned(),
            yardstick: cell.role == Role::Yardstick,
            sessions: sessions.filter_map(first).collect(),
            columns: self.metrics.iter().filter_map(column).collect(),
        });
    }
}

impl Column {
    /// `None` if there is nothing to draw.
    fn from_samples(samples: &[f64], sessions: &[Vec<f64>], share: usize) -> Option<Column> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        let at = |rank: usize| rounded(sorted[rank - 1]);
        lab::stats::nearest_rank(n, 0.0)?;
        let p = PERCENTILES.map(|p| lab::stats::nearest_rank(n, p).map_or(f64::NAN, at));
        let (low, high) = lab::stats::percentile_interval(sessions, 50.0, 0.05);
        let drawn = Downsampled::from_samples(samples, &sorted, share);
        Some(Column { n, p, low: low.map(rounded), high: high.map(rounded), drawn })
    }
}

fn measured(run: &Run) -> impl Iterator<Item = (usize, &run::Cell)> {
    run.cells.iter().enumerate().filter(|(_, cell)| cell.has_figures())
}

/// `run 7 · before`.
pub(crate) fn name(run: &Run) -> String {
    let id = if run.id.is_empty() { "this run".to_owned() } else { format!("run {}", run.id) };
    let name = match &run.label {
        Some(label) => format!("{id} · {label}"),
        None => id,
    };
    clean(&name).into_owned()
}

/// The metrics in which the samples of some cell differ, in the order of the tables; always
/// includes the wall time.
fn metrics(shown: &[(Run, Analysis)]) -> Vec<Metric> {
    let cells = || shown.iter().flat_map(|(_, analysis)| &analysis.cells);
    let summaries = || cells().flat_map(|cell| &cell.metrics).filter(|summary| summary.n > 0);
    let differs =
        |name: &str| summaries().any(|summary| summary.metric == name && !summary.constant);
    let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let mut custom: Vec<&str> = summaries().map(|summary| summary.metric.as_str()).collect();
    custom.sort_unstable();
    custom.dedup();
    custom.retain(|name| !names.contains(name));
    names.extend(custom);
    names.retain(|name| *name == rows::WALL || differs(name));
    names.into_iter().map(metric).collect()
}

fn metric(name: &str) -> Metric {
    let title = clean(&title(name)).into_owned();
    let stored = unit(name);
    let units = match Unit::ladder(stored) {
        [] => vec![(stored, 1.0)],
        ladder => ladder.iter().map(|unit| (unit.name, unit.size())).collect(),
    };
    Metric { name: name.to_owned(), title, units }
}

fn places(
    shown: &[(Run, Analysis)],
    varying: &Varying<'_>,
    known: &CellIndexes,
) -> Vec<ChartPoint> {
    let mut places: Vec<ChartPoint> = Vec::new();
    for (number, (run, analysis)) in shown.iter().enumerate() {
        for rows in rows::all(run, analysis) {
            let at = clean(&varying.shown(&rows.family.point)).into_owned();
            let found = places.iter().position(|place| place.at == at).unwrap_or_else(|| {
                places.push(ChartPoint { at, cells: Vec::new(), ratios: Vec::new() });
                places.len() - 1
            });
            let place = &mut places[found];
            for row in rows.iter() {
                let Some(cell) = known.get(&(number, row.index)) else { continue };
                place.cells.push(*cell);
                place.ratios.extend(row.comparison.and_then(|c| ratio(*cell, c)));
            }
        }
    }
    places.retain(|place| !place.cells.is_empty());
    places
}

fn ratio(cell: usize, comparison: &Comparison) -> Option<Relative> {
    let ratio = comparison.ratio.filter(|ratio| ratio.is_finite())?;
    Some(Relative {
        cell,
        reference: clean(&comparison.reference).into_owned(),
        ratio,
        low: comparison.low,
        high: comparison.high,
        verdict: comparison.verdict.word(),
    })
}

/// Formats a value of a param for axes and tables.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Number(n) => units::short(*n),
        Value::Text(text) => clean(text).into_owned(),
    }
}
