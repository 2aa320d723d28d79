//! The data of the charts in a report, for HTML and SVG: names, figures and samples of one or
//! several runs of an experiment, downsampled to what a screen can show. Independent of colours and
//! pixels.

use std::collections::BTreeMap;

use analysis::size_sweep::announced;
use analysis::stats::Pooled;
use analysis::{Analysis, Comparison, map_each};
use model::metric::{METRICS, WALL_LESS_WAIT, title, unit};
use model::param::{ParamValue, Point};
use model::run::{self, Role, Run};
use serde::Serialize;

use crate::views::units::{self, Unit};
use crate::views::words::{escape_controls, noise};
use crate::views::{VaryingParams, rows};

/// More cells than these are not drawn: the table of the page lists them all.
const CELLS_MAX: usize = 2000;

/// The maximum number of drawn values, however many samples there are; it is divided among the
/// columns.
const VALUES_MAX: usize = 300_000;

#[derive(Serialize)]
pub(crate) struct Charts {
    /// The name of each run.
    pub runs: Vec<String>,
    pub metrics: Vec<ChartMetric>,
    pub cells: Vec<ChartCell>,
    /// The number of cells that are not drawn.
    pub left_out: usize,
    pub points: Vec<ChartPoint>,
    pub(crate) sweeps: Vec<SweepChart>,
    /// What else the machine did, for each run in which it was busy: for files, as the page says it
    /// beside the answer.
    #[serde(skip)]
    pub busy: Vec<String>,
}

/// A metric in which samples differ.
#[derive(Serialize)]
pub(crate) struct ChartMetric {
    pub name: String,
    pub title: String,
    /// The units in which it is shown, the smallest first: the unit's name, and its size in the
    /// stored unit.
    pub units: Vec<(&'static str, f64)>,
}

/// One method at one point of one run.
#[derive(Serialize)]
pub(crate) struct ChartCell {
    pub run: usize,
    /// The number of the method among those that are drawn: it has the colour of this number.
    pub number: usize,
    pub method: String,
    pub yardstick: bool,
    /// The indexes, among the counted samples from 0, of the first sample of each session.
    pub sessions: Vec<usize>,
    /// The columns by metric.
    pub columns: BTreeMap<String, ChartColumn>,
}

/// One metric of one cell.
#[derive(Serialize)]
pub(crate) struct ChartColumn {
    pub n: usize,
    /// The percentiles of [`PERCENTILES`].
    pub p: [f64; PERCENTILES.len()],
    /// The 95 % interval of the p50, where n allows one.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub drawn: Downsampled,
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
    pub at: String,
    pub cells: Vec<usize>,
    pub ratios: Vec<ChartRatio>,
}

impl ChartPoint {
    /// The time of which the ratios are.
    pub(crate) fn time(&self) -> &'static str {
        let less_wait = self.ratios.iter().filter(|ratio| ratio.less_wait).count();
        match self.ratios.len() - less_wait {
            _ if less_wait == 0 => "time",
            0 => "time without the wait for a CPU",
            _ => "time without the wait for a CPU, where that is known,",
        }
    }
}

/// A method's time relative to that of its reference in the same rounds.
#[derive(Serialize)]
pub(crate) struct ChartRatio {
    pub cell: usize,
    pub reference: String,
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: &'static str,
    /// Whether the waits for a CPU are left out.
    pub less_wait: bool,
}

impl Charts {
    pub(crate) fn from_runs(shown: &[(Run, Analysis)]) -> Charts {
        let points: Vec<&Point> = shown.iter().flat_map(|(run, _)| &run.points).collect();
        let varying = VaryingParams::of_points(&points);
        let metrics = metrics(shown);
        let all: usize = shown.iter().map(|(run, _)| measured(run).count()).sum();
        let share = VALUES_MAX / (all.min(CELLS_MAX) * metrics.len()).max(1);
        let runs = shown.iter().enumerate();
        let drawn =
            runs.flat_map(|(run, (of, _))| measured(of).map(move |(i, cell)| (run, i, cell)));
        let drawn: Vec<(usize, usize, &run::Cell)> = drawn.take(CELLS_MAX).collect();
        let samples = drawn.iter().map(|(.., cell)| cell.samples.len()).sum();
        let columns = map_each(&drawn, samples, |(.., cell)| columns(cell, &metrics, share));
        let (mut cells, mut methods, mut known) = (Vec::new(), Vec::new(), BTreeMap::new());
        for ((run, index, cell), columns) in drawn.into_iter().zip(columns) {
            known.insert((run, index), cells.len());
            cells.push(ChartCell::new(run, cell, columns, &mut methods));
        }
        let points = chart_points(shown, &varying, &known);
        let sweeps = sweeps(shown, &varying, &known, &cells);
        let runs = shown.iter().map(|(run, _)| name(run)).collect();
        let left_out = all - cells.len();
        let busy = shown.iter().filter_map(|(run, _)| {
            let noise = noise(run)?;
            let of = if shown.len() > 1 { format!("{}: ", name(run)) } else { String::new() };
            Some(format!("{of}busy: {noise}"))
        });
        let busy = busy.collect();
        Charts { runs, metrics, cells, left_out, points, sweeps, busy }
    }

    pub(crate) fn column(&self, cell: usize, metric: &str) -> Option<&ChartColumn> {
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

/// The columns of the cell in each of these metrics, of at most about `share` values each.
fn columns(
    cell: &run::Cell,
    metrics: &[ChartMetric],
    share: usize,
) -> BTreeMap<String, ChartColumn> {
    let column = |metric: &ChartMetric| {
        let shown = cell.shown(&metric.name).filter(|(_, value)| value.is_finite());
        let mut shown: Vec<(u32, f64)> = shown.map(|(sample, x)| (sample.session, x)).collect();
        let samples: Vec<f64> = shown.iter().map(|(_, value)| *value).collect();
        // Nearly always they are in this order.
        shown.sort_by_key(|(session, _)| *session);
        let by_session: Vec<f64> = shown.iter().map(|(_, value)| *value).collect();
        let mut rest = &by_session[..];
        let sessions = shown.chunk_by(|a, b| a.0 == b.0).map(|session| {
            let (values, others) = rest.split_at(session.len());
            rest = others;
            values
        });
        let sessions: Vec<&[f64]> = sessions.collect();
        Some((metric.name.clone(), ChartColumn::from_samples(&samples, &sessions, share)?))
    };
    metrics.iter().filter_map(column).collect()
}

impl ChartCell {
    /// The method joins the names that are known, if it is new.
    fn new(
        run: usize,
        cell: &run::Cell,
        columns: BTreeMap<String, ChartColumn>,
        methods: &mut Vec<String>,
    ) -> ChartCell {
        let mut session = None;
        let first = |(i, (sample, _)): (usize, (&run::Sample, f64))| {
            (session.replace(sample.session) != Some(sample.session)).then_some(i)
        };
        let method = escape_controls(&cell.method).into_owned();
        ChartCell {
            run,
            number: number_of(methods, &method),
            method,
            yardstick: cell.role == Role::Yardstick,
            sessions: cell.shown(rows::WALL).enumerate().filter_map(first).collect(),
            columns,
        }
    }
}

impl ChartColumn {
    /// `None` if there is nothing to draw. `sessions` has the values of the samples by session.
    fn from_samples(samples: &[f64], sessions: &[&[f64]], share: usize) -> Option<ChartColumn> {
        let pooled = Pooled::new(sessions);
        let sorted = pooled.sorted();
        let n = sorted.len();
        let at = |rank: usize| rounded(sorted[rank - 1]);
        analysis::stats::nearest_rank(n, 0.0)?;
        let p = PERCENTILES.map(|p| analysis::stats::nearest_rank(n, p).map_or(f64::NAN, at));
        let (low, high) = pooled.interval(50.0, 0.05);
        let drawn = Downsampled::from_samples(samples, sorted, share);
        Some(ChartColumn { n, p, low: low.map(rounded), high: high.map(rounded), drawn })
    }
}

/// The index of a name among those that are known, which it joins if it is new.
fn number_of(known: &mut Vec<String>, name: &str) -> usize {
    known.iter().position(|other| other == name).unwrap_or_else(|| {
        known.push(name.to_owned());
        known.len() - 1
    })
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
    escape_controls(&name).into_owned()
}

/// The metrics in which the samples of some cell differ, in the order of the tables; always
/// includes the wall time.
fn metrics(shown: &[(Run, Analysis)]) -> Vec<ChartMetric> {
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

fn metric(name: &str) -> ChartMetric {
    let title = escape_controls(&title(name)).into_owned();
    let stored = unit(name);
    let units = match Unit::ladder(stored) {
        [] => vec![(stored, 1.0)],
        ladder => ladder.iter().map(|unit| (unit.name, unit.size())).collect(),
    };
    ChartMetric { name: name.to_owned(), title, units }
}

fn chart_points(
    shown: &[(Run, Analysis)],
    varying: &VaryingParams<'_>,
    known: &CellIndexes,
) -> Vec<ChartPoint> {
    let mut points: Vec<ChartPoint> = Vec::new();
    for (number, (run, analysis)) in shown.iter().enumerate() {
        for rows in rows::all(run, analysis) {
            let at = escape_controls(&varying.shown(&rows.family.point)).into_owned();
            let found = points.iter().position(|point| point.at == at).unwrap_or_else(|| {
                points.push(ChartPoint { at, cells: Vec::new(), ratios: Vec::new() });
                points.len() - 1
            });
            let point = &mut points[found];
            for row in rows.iter() {
                let Some(cell) = known.get(&(number, row.index)) else { continue };
                point.cells.push(*cell);
                point.ratios.extend(row.comparison.and_then(|c| ratio(*cell, c)));
            }
        }
    }
    points.retain(|point| !point.cells.is_empty());
    points
}

fn ratio(cell: usize, comparison: &Comparison) -> Option<ChartRatio> {
    let ratio = comparison.ratio.filter(|ratio| ratio.is_finite())?;
    Some(ChartRatio {
        cell,
        reference: escape_controls(&comparison.reference).into_owned(),
        ratio,
        low: comparison.low,
        high: comparison.high,
        verdict: rows::role_of(comparison).word(),
        less_wait: comparison.metric == WALL_LESS_WAIT,
    })
}

/// Formats a value of a param for axes and tables.
pub(crate) fn value(value: &ParamValue) -> String {
    match value {
        ParamValue::Number(n) => units::short(*n),
        ParamValue::Text(text) => escape_controls(text).into_owned(),
    }
}

// The samples of a column as a chart shows them: every sample, or, if there are more than a
// screen can show, groups of them in the order in which they were taken, and the quantiles of
// all.

/// More values than these in one line cannot be distinguished.
const LINE_MAX: usize = 2000;

/// Fewer show no shape.
const LINE_MIN: usize = 24;

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Downsampled {
    /// The number of consecutive samples in a group; 1: each sample is drawn.
    pub of: usize,
    /// Each group's least, middle and greatest sample, in the order in which they were taken. For
    /// groups of one, only the middle is given.
    pub least: Vec<f64>,
    pub middle: Vec<f64>,
    pub greatest: Vec<f64>,
    /// Samples of evenly spaced ranks, from the smallest to the greatest; empty if each sample is
    /// drawn.
    pub quantiles: Vec<f64>,
}

impl Downsampled {
    /// Takes samples in the order in which they were taken, and sorted; gives at most about `share`
    /// values.
    pub(crate) fn from_samples(samples: &[f64], sorted: &[f64], share: usize) -> Downsampled {
        let share = share.clamp(LINE_MIN, LINE_MAX);
        if samples.len() <= share {
            let middle = samples.iter().copied().map(rounded).collect();
            let none = Vec::new;
            return Downsampled {
                of: 1,
                least: none(),
                middle,
                greatest: none(),
                quantiles: none(),
            };
        }
        let of = samples.len().div_ceil(share / 4);
        let mut drawn = Downsampled {
            of,
            least: Vec::new(),
            middle: Vec::new(),
            greatest: Vec::new(),
            quantiles: quantiles(sorted, share / 4),
        };
        for group in samples.chunks(of) {
            let mut group = group.to_vec();
            group.sort_unstable_by(f64::total_cmp);
            drawn.least.push(rounded(group[0]));
            drawn.middle.push(rounded(group[(group.len() - 1) / 2]));
            drawn.greatest.push(rounded(group[group.len() - 1]));
        }
        drawn
    }

    /// The steps of the distribution: a value, and the share of the `n` samples that do not exceed
    /// it.
    pub(crate) fn steps(&self, n: usize) -> Vec<(f64, f64)> {
        if self.quantiles.is_empty() {
            let mut sorted = self.middle.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let share = |i: usize| (i + 1) as f64 / n as f64;
            return sorted.into_iter().enumerate().map(|(i, x)| (x, share(i))).collect();
        }
        let len = self.quantiles.len();
        let share = |i: usize| (rank(i, len, n) + 1) as f64 / n as f64;
        self.quantiles.iter().enumerate().map(|(i, x)| (*x, share(i))).collect()
    }
}

fn quantiles(sorted: &[f64], len: usize) -> Vec<f64> {
    (0..len).map(|i| rounded(sorted[rank(i, len, sorted.len())])).collect()
}

/// The rank, from 0, of the i-th of `len` quantiles of n samples.
fn rank(i: usize, len: usize, n: usize) -> usize {
    ((i as f64 * (n - 1) as f64) / (len - 1).max(1) as f64).round() as usize
}

/// Rounded to five significant digits; no chart shows more.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

// A sweep: how a metric depends on one numeric param. One panel for each combination of the
// other params that vary, one line for each method and run.

/// Maps an index of a run and of its cell to the index of the drawn cell.
pub(crate) type CellIndexes = BTreeMap<(usize, usize), usize>;

/// More panels than these are not drawn.
const PANELS_MAX: usize = 24;

#[derive(Serialize)]
pub(crate) struct SweepChart {
    pub param: String,
    /// Each value of the param, and its text.
    pub values: Vec<(u64, String)>,
    /// Whether it shows the latency of memory by the size of the set: then p10 is drawn, with the
    /// caches that the operating system reports.
    pub ladder: bool,
    pub caches: Vec<(&'static str, u64)>,
    pub(crate) panels: Vec<Panel>,
    pub(crate) panels_left_out: usize,
}

#[derive(Serialize)]
pub(crate) struct Panel {
    /// The other params' values; empty if no other param varies.
    pub title: String,
    pub lines: Vec<SweepLine>,
}

#[derive(Serialize)]
pub(crate) struct SweepLine {
    pub method: String,
    /// The label that distinguishes it from other lines of the method.
    pub kind: String,
    /// The number of its colour: that of the method, but each kind of a ladder has its own.
    pub number: usize,
    pub run: usize,
    /// A value of the param, and the index of the cell that is drawn there; sorted by value.
    pub cells: Vec<(u64, usize)>,
}

/// A chart for each param that has two or more numbers; the param with the most comes first.
pub(crate) fn sweeps(
    shown: &[(Run, Analysis)],
    varying: &VaryingParams<'_>,
    known: &CellIndexes,
    cells: &[ChartCell],
) -> Vec<SweepChart> {
    let mut sweeps: Vec<SweepChart> = Vec::new();
    for param in &varying.names {
        sweeps.extend(sweep(shown, param, varying, known, cells, false));
        sweeps.extend(sweep(shown, param, varying, known, cells, true));
    }
    sweeps.sort_by_key(|sweep| (!sweep.ladder, std::cmp::Reverse(sweep.values.len())));
    sweeps
}

fn sweep(
    shown: &[(Run, Analysis)],
    param: &str,
    varying: &VaryingParams<'_>,
    known: &CellIndexes,
    cells: &[ChartCell],
    is_ladder: bool,
) -> Option<SweepChart> {
    let mut panels: Vec<Panel> = Vec::new();
    let mut kinds: Vec<String> = Vec::new();
    for (at, (run, analysis)) in shown.iter().enumerate() {
        for family in &analysis.families {
            let Some(ParamValue::Number(x)) = family.point.get(param) else { continue };
            if is_ladder != (param == "size" && super::sweep::size_sweep_holds(run, &family.point))
            {
                continue;
            }
            let panel = panel(&mut panels, &panel_title(&family.point, param, varying, is_ladder));
            for index in &family.cells {
                let Some(drawn) = known.get(&(at, *index)) else { continue };
                let ChartCell { method, number, .. } = &cells[*drawn];
                let point = &run.cells[*index].point;
                let kind = if is_ladder { pages(point) } else { String::new() };
                let number = if is_ladder {
                    number_of(&mut kinds, &format!("{method} {kind}"))
                } else {
                    *number
                };
                let (method, cells) = (method.clone(), vec![(*x, *drawn)]);
                panel.add(SweepLine { method, kind, number, run: at, cells });
            }
        }
    }
    panels.retain(|panel| panel.values().len() > 1);
    let panels_left_out = panels.len().saturating_sub(PANELS_MAX);
    panels.truncate(PANELS_MAX);
    let mut values: Vec<u64> = panels.iter().flat_map(Panel::values).collect();
    values.sort_unstable();
    values.dedup();
    let values: Vec<_> = values.into_iter().map(|n| (n, words(n))).collect();
    let caches = shown.first().filter(|_| is_ladder).map(|(run, _)| announced(run));
    (!panels.is_empty()).then(|| SweepChart {
        param: escape_controls(param).into_owned(),
        values,
        ladder: is_ladder,
        caches: caches.unwrap_or_default(),
        panels,
        panels_left_out,
    })
}

/// `64Ki`, `100k`: exact, and short enough for a tick.
fn words(n: u64) -> String {
    let binary = units::short(n);
    if !binary.ends_with(|c: char| c.is_ascii_digit()) {
        return binary;
    }
    let decimal = [("G", 1_000_000_000), ("M", 1_000_000), ("k", 1000)];
    let found = decimal.into_iter().find(|(_, size)| n >= *size && n.is_multiple_of(*size));
    found.map_or(binary, |(letter, size)| format!("{}{letter}", n / size))
}

fn panel_title(point: &Point, param: &str, varying: &VaryingParams<'_>, is_ladder: bool) -> String {
    let other = |name: &str| name != param && !(is_ladder && name == "pages");
    escape_controls(&varying.shown(&point.only(other))).into_owned()
}

fn pages(point: &Point) -> String {
    point.text("pages").map(|pages| format!("{} pages", escape_controls(pages))).unwrap_or_default()
}

fn panel<'p>(panels: &'p mut Vec<Panel>, title: &str) -> &'p mut Panel {
    let found = panels.iter().position(|panel| panel.title == title).unwrap_or_else(|| {
        panels.push(Panel { title: title.to_owned(), lines: Vec::new() });
        panels.len() - 1
    });
    &mut panels[found]
}

impl Panel {
    fn add(&mut self, line: SweepLine) {
        let same = |known: &&mut SweepLine| {
            (&known.method, &known.kind, known.run) == (&line.method, &line.kind, line.run)
        };
        match self.lines.iter_mut().find(same) {
            Some(known) => {
                known.cells.extend(line.cells);
                known.cells.sort_unstable();
                known.cells.dedup_by_key(|(x, _)| *x);
            }
            None => self.lines.push(line),
        }
    }

    fn values(&self) -> Vec<u64> {
        let mut values: Vec<u64> =
            self.lines.iter().flat_map(|line| &line.cells).map(|(x, _)| *x).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

#[cfg(test)]
mod tests;
