//! A published study beside runs of ours: each line of its table with the methods that answer the
//! same, what differs, and the verdict on each claim. The figures of other machines decide nothing.

pub(crate) mod by_figures;
pub(crate) mod words;

use std::collections::BTreeMap;

use analysis::stats::nearest_rank;
use analysis::{Analysis, Basis, CellMetric, Claimed, Ratio, judge_claim, judge_difference};
use model::metric::{ALLOCATIONS, CPU, SYSCALLS, WALL};
use model::numbers;
use model::param::{ParamValue, bytes};
use model::run::{Role, Run};
use serde::Serialize;

use super::VaryingParams;
use super::rows::{metric, percentile};
use crate::published::{Claim, Drawing, DrawingKind, Published, Relation, Study, StudyRow, Test};
use crate::views::charts;

/// A run of ours with its analysis.
pub(crate) type Analyzed<'a> = (&'a Run, &'a Analysis);

pub struct StudyReport<'a> {
    pub study: &'a Study,
    /// The published results, one for each machine.
    pub published: &'a [Published],
    pub runs: Vec<Analyzed<'a>>,
    /// Methods that cannot be measured on this machine, by name.
    pub absent: &'a BTreeMap<String, AbsentMethod>,
}

/// Why a method cannot be measured on a machine.
pub struct AbsentMethod {
    pub reason: String,
    /// What would change that; empty if nothing does.
    pub remedy: String,
}

/// The origin of the figures of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureOrigin<'a> {
    /// The machine of the author.
    Author(&'a str),
    /// A method that measures the same quantity by the same means.
    Same(&'a str),
    /// A method that does the same job in the same way.
    InItsPlace(&'a str),
}

/// A line of figures below the label of a row.
pub struct StudyLine<'a> {
    pub whose: FigureOrigin<'a>,
    /// The p50 of each column of the study.
    pub figures: Vec<Option<f64>>,
    /// To the first row of the same quantity, on the same machine.
    pub ratio: Option<f64>,
}

/// Methods that were not measured, for the same reason.
#[derive(Serialize)]
pub struct NotMeasured<'a> {
    pub reason: String,
    /// What would change that; empty if nothing does.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub remedy: &'a str,
    pub methods: Vec<&'a str>,
}

/// What is counted of a chunk, besides its system calls by name.
pub(crate) const CHUNK_COUNTS: [&str; 4] =
    [SYSCALLS, ALLOCATIONS, "allocated_bytes", "copied_bytes"];

/// What was counted of a method.
pub(crate) struct MethodCounts<'a> {
    pub method: &'a str,
    /// Whether the counts are those of a chunk, and not of an operation.
    pub is_chunk: bool,
    /// Of [`CHUNK_COUNTS`].
    pub figures: [Option<f64>; 4],
    /// The system calls by name, the most frequent one first.
    pub calls: Vec<(String, f64)>,
}

pub struct StudyBlock<'a> {
    pub key: &'a str,
    pub label: String,
    pub lines: Vec<StudyLine<'a>>,
}

/// A cell of one of the runs.
#[derive(Clone, Copy)]
struct CellIndex {
    run: usize,
    cell: usize,
}

impl<'a> StudyReport<'a> {
    /// The rows of the author, in the author's order.
    pub fn blocks(&self) -> Vec<StudyBlock<'a>> {
        self.study.rows.iter().map(|row| self.block(row)).collect()
    }

    fn block(&self, row: &'a StudyRow) -> StudyBlock<'a> {
        let author =
            self.published.iter().map(|published| FigureOrigin::Author(&published.machine));
        let own = row.method.iter().map(|method| FigureOrigin::Same(method));
        let stand_in = row.stand_in.iter().map(|method| FigureOrigin::InItsPlace(method));
        let lines = author.chain(own).chain(stand_in).filter_map(|whose| self.line(row, whose));
        StudyBlock { key: &row.key, label: self.label(row), lines: lines.collect() }
    }

    /// The label of a row, with the directory that it is about.
    fn label(&self, row: &StudyRow) -> String {
        let place = row.at.get(DIRECTORY).and_then(|value| self.place(row, value));
        let place = place.map(|place| format!(", in {place}")).unwrap_or_default();
        format!("{}{place}", row.label())
    }

    /// The directory that `#1` or `#2` stands for in the run of a row, with its file system.
    fn place(&self, row: &StudyRow, value: &ParamValue) -> Option<String> {
        let number = [FIRST, SECOND].iter().position(|word| *value == ParamValue::from(*word))?;
        let experiment = self.study.experiment(row);
        let (run, _) = self.runs.iter().find(|(run, _)| run.experiment == experiment)?;
        let facts = &run.environment.facts;
        let named = |fact: &str| {
            let name = match number {
                0 => format!("data_{fact}"),
                n => format!("data_{}_{fact}", n + 1),
            };
            facts.get(&name)?.as_str().map(str::to_owned)
        };
        let given = distinct(run, DIRECTORY).get(number).map(ToString::to_string);
        let directory = given.filter(|path| !path.is_empty()).or_else(|| named("directory"))?;
        Some(match named("file_system") {
            Some(kind) => format!("{directory} ({kind})"),
            None => directory,
        })
    }

    /// The runs of which an author published each one: the values of each column.
    pub(crate) fn author_runs(&self, key: &str, machine: &str) -> Vec<Vec<Option<f64>>> {
        let published = self.published.iter().find(|published| published.machine == machine);
        let (Some(row), Some(published)) = (self.study.row(key), published) else {
            return Vec::new();
        };
        let columns = self.study.columns.iter();
        let columns: Vec<&[f64]> =
            columns.map(|column| row.runs(published, &column.metric)).collect();
        let runs = columns.iter().map(|runs| runs.len()).max().unwrap_or_default();
        let run = |at: usize| columns.iter().map(|runs| runs.get(at).copied()).collect();
        (0..runs).map(run).collect()
    }

    /// `None` if the line has no figure at all.
    fn line(&self, row: &'a StudyRow, whose: FigureOrigin<'a>) -> Option<StudyLine<'a>> {
        let columns = self.study.columns.iter();
        let figures = columns.map(|column| self.figure(row, whose, &column.metric));
        let figures: Vec<Option<f64>> = figures.collect();
        figures.iter().any(Option::is_some).then(|| {
            let ratio = self.ratio(row, whose);
            StudyLine { whose, figures, ratio }
        })
    }

    pub(crate) fn figure(
        &self,
        row: &StudyRow,
        whose: FigureOrigin<'_>,
        column: &str,
    ) -> Option<f64> {
        match whose {
            FigureOrigin::Author(machine) => {
                let own = self.published.iter().find(|published| published.machine == machine)?;
                row.figure(own, column)
            }
            FigureOrigin::Same(method) | FigureOrigin::InItsPlace(method) => {
                let cell_index = self.find_cell(row, method).ok().filter(|_| row.shows(column))?;
                self.p50(cell_index, row.metric(column))
            }
        }
    }

    fn p50(&self, cell_index: CellIndex, name: &str) -> Option<f64> {
        let (_, analysis) = self.runs[cell_index.run];
        let summary = analysis.cells.iter().find(|summary| summary.cell == cell_index.cell);
        let p50 = percentile(metric(summary, name)?, 50)?.value;
        Some(p50).filter(|value| value.is_finite())
    }

    /// Of the first time among the row's columns, or else of their first one. Rows of other
    /// quantities, and rows without a group, have none.
    fn ratio(&self, row: &'a StudyRow, whose: FigureOrigin<'a>) -> Option<f64> {
        let columns = || self.study.columns.iter().map(|column| column.metric.as_str());
        let is_shown = |column: &&str| row.shows(column);
        let time = columns().filter(is_shown).find(|column| [WALL, CPU].contains(column));
        let column = time.or_else(|| columns().find(is_shown))?;
        let mut group = self.study.rows.iter().filter(|other| other.group == row.group);
        let first = group.find_map(|other| {
            let same = match whose {
                FigureOrigin::Author(_) => Some(whose),
                FigureOrigin::InItsPlace(_) if other.stand_in.is_some() => {
                    other.stand_in.as_deref().map(FigureOrigin::InItsPlace)
                }
                _ => other.method.as_deref().map(FigureOrigin::Same),
            };
            self.figure(other, same?, column)
        })?;
        let own = self.figure(row, whose, column)?;
        Some(own / first).filter(|ratio| ratio.is_finite() && !row.group.is_empty())
    }

    /// The number of cells that belong to no row of the study and are drawn over a param.
    pub(crate) fn drawn_alone(&self) -> usize {
        let cells = self.runs.iter().enumerate().flat_map(|(at, (_, analysis))| {
            analysis.cells.iter().map(move |summary| CellIndex { run: at, cell: summary.cell })
        });
        cells.filter(|cell| self.is_drawn(*cell) && !self.has_row(*cell)).count()
    }

    /// Whether a figure shows the cell over the values of a param.
    fn is_drawn(&self, cell_index: CellIndex) -> bool {
        let point = &self.runs[cell_index.run].0.cells[cell_index.cell].point;
        let mut sweeps = self.study.figures.iter().filter(|d| d.kind == DrawingKind::Sweep);
        sweeps.any(|drawing| {
            let is_at = drawing.at.iter().all(|(name, value)| point.get(name) == Some(value));
            is_at && point.get(&drawing.by).is_some()
        })
    }

    /// The cells of the runs that belong to no row of the study and are not drawn over a param,
    /// with the params that vary.
    pub fn alone(&self) -> Vec<(String, Vec<Option<f64>>)> {
        let mut found = Vec::new();
        for (at, (run, analysis)) in self.runs.iter().enumerate() {
            let varying = VaryingParams::of_run(run);
            for summary in &analysis.cells {
                let cell = &run.cells[summary.cell];
                let cell_index = CellIndex { run: at, cell: summary.cell };
                let is_shown = self.has_row(cell_index) || self.is_drawn(cell_index);
                if cell.role == Role::Yardstick || summary.wrong_answer || is_shown {
                    continue;
                }
                let columns = self.study.columns.iter();
                let figures = columns.map(|column| self.p50(cell_index, &column.metric));
                let figures: Vec<Option<f64>> = figures.collect();
                let title = cell.point.text("row").ok().and_then(numbers::row);
                let name = title.map_or_else(
                    || format!("{}{}", cell.method, varying.in_parentheses(&cell.point)),
                    |row| row.title.trim().to_owned(),
                );
                if figures.iter().any(Option::is_some) {
                    found.push((name, figures));
                }
            }
        }
        found
    }

    fn has_row(&self, cell_index: CellIndex) -> bool {
        self.study.rows.iter().any(|row| {
            let mut methods = row.method.iter().chain(&row.stand_in);
            methods.any(|method| {
                self.find_cell(row, method)
                    .is_ok_and(|found| (found.run, found.cell) == (cell_index.run, cell_index.cell))
            })
        })
    }

    /// The cell of a method at the values of a row, or why there is none.
    fn find_cell(&self, row: &StudyRow, method: &str) -> Result<CellIndex, String> {
        let experiment = self.study.experiment(row);
        let mut reason = None;
        for (at, (run, analysis)) in self.runs.iter().enumerate() {
            if run.experiment != experiment {
                continue;
            }
            let mut cells: Vec<usize> =
                (0..run.cells.len()).filter(|cell| is_at(run, *cell, row, method)).collect();
            cells.sort_by_key(|cell| !self.is_theirs(run, *cell));
            for cell in cells {
                let wrong = analysis.cells.iter().any(|s| s.cell == cell && s.wrong_answer);
                let status = &run.cells[cell].status;
                if !run.cells[cell].has_figures() {
                    reason = reason.or(status.reason().map(str::to_owned));
                } else if wrong {
                    reason = Some("its answer is not that of most methods".to_owned());
                } else {
                    return Ok(CellIndex { run: at, cell });
                }
            }
        }
        let second = row.at.iter().find(|(_, value)| **value == ParamValue::from(SECOND));
        let needs = second.map(|(name, _)| format!("it needs two values of --{name}"));
        let absent = self.absent.get(method).map(|absent| absent.reason.clone());
        Err(reason.or(absent).or(needs).unwrap_or_else(|| NOT_IN_THE_RUN.to_owned()))
    }

    /// Whether the cell is at the author's values.
    fn is_theirs(&self, run: &Run, cell: usize) -> bool {
        let part = self.study.parts.iter().find(|part| part.experiment == run.experiment);
        let point = &run.cells[cell].point;
        part.is_none_or(|part| {
            part.theirs.iter().all(|(name, value)| point.get(name).is_none_or(|own| own == value))
        })
    }

    /// The methods of the study that were not measured, by reason; none where only published
    /// results are compared.
    pub fn not_measured(&self) -> Vec<NotMeasured<'a>> {
        let mut found: Vec<NotMeasured<'_>> = Vec::new();
        let only_published = self.runs.is_empty() && self.absent.is_empty();
        for row in self.study.rows.iter().filter(|_| !only_published) {
            for method in row.method.iter().chain(&row.stand_in) {
                let Err(reason) = self.find_cell(row, method) else { continue };
                let at = found.iter().position(|known| known.reason == reason);
                let at = at.unwrap_or_else(|| {
                    let remedy =
                        self.absent.get(method).map_or("", |absent| absent.remedy.as_str());
                    found.push(NotMeasured { reason, remedy, methods: Vec::new() });
                    found.len() - 1
                });
                if !found[at].methods.contains(&method.as_str()) {
                    found[at].methods.push(method);
                }
            }
        }
        found
    }

    /// The differences between the study and the runs, the amount of work first.
    pub fn differs(&self) -> Vec<String> {
        let mut found = self.other_work();
        if !self.runs.is_empty() {
            found.push(format!("replicates: {}", self.study.replicates));
            found.extend(self.study.differs.iter().cloned());
            let files = self.runs.iter().flat_map(|(run, _)| distinct(run, "file"));
            let files: Vec<String> = files.map(ToString::to_string).collect();
            match files.as_slice() {
                [] => found.extend(self.study.differs_if_made.iter().cloned()),
                files => found.push(format!("the data: {}, as it is", files.join(", "))),
            }
        }
        found
    }

    /// The counts of the rows whose counts explain something, each method once.
    pub(crate) fn counts(&self) -> Vec<MethodCounts<'a>> {
        let rows = self.study.counts_of.iter().filter_map(|key| self.study.row(key));
        let methods = rows.flat_map(|row| {
            row.method.iter().chain(&row.stand_in).map(move |method| (row, method.as_str()))
        });
        let mut found: Vec<MethodCounts<'a>> = Vec::new();
        for (row, method) in methods {
            let Ok(cell_index) = self.find_cell(row, method) else { continue };
            if found.iter().any(|known| known.method == method) {
                continue;
            }
            let cell = &self.runs[cell_index.run].0.cells[cell_index.cell];
            let number = |name: &str| cell.point.number(name).ok().filter(|n| *n > 0);
            let chunks = number(&self.study.chunk).zip(number("size"));
            let chunks = chunks.map(|(chunk, size)| size as f64 / chunk as f64);
            let each = |count: f64| count / chunks.unwrap_or(1.0);
            let calls = cell.syscalls_by_name.iter().flatten();
            let mut calls: Vec<(String, f64)> =
                calls.map(|(name, n)| (name.clone(), each(*n))).collect();
            calls.sort_by(|(_, a), (_, b)| b.total_cmp(a));
            let figures = CHUNK_COUNTS.map(|name| self.p50(cell_index, name).map(each));
            let is_chunk = chunks.is_some();
            if !calls.is_empty() || figures.iter().any(Option::is_some) {
                found.push(MethodCounts { method, is_chunk, figures, calls });
            }
        }
        found
    }

    /// The params at which a run did another amount of work than the author's programs.
    pub fn other_work(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (run, _) in &self.runs {
            let part = self.study.parts.iter().find(|part| part.experiment == run.experiment);
            for (name, theirs) in part.iter().flat_map(|part| &part.theirs) {
                let mut here = distinct(run, name);
                here.retain(|value| *value != theirs);
                if !here.is_empty() {
                    let here: Vec<String> = here.into_iter().map(|v| shown(name, v)).collect();
                    found.push(format!(
                        "{name}: {} here, {} there; times, counts and memory are not those of the same work",
                        here.join(" and "),
                        shown(name, theirs)
                    ));
                }
            }
        }
        found
    }
}

/// The reason of a method that could have been measured.
const NOT_IN_THE_RUN: &str = "not measured in this run";

/// The param that names the directory of the data.
const DIRECTORY: &str = "dir";

/// The words that stand for the first and for the second value of a param in a run.
const FIRST: &str = "#1";
const SECOND: &str = "#2";

fn is_at(run: &Run, cell: usize, row: &StudyRow, method: &str) -> bool {
    let cell = &run.cells[cell];
    let fits = |(name, value): (&String, &ParamValue)| {
        let nth = |n: usize| distinct(run, name).get(n).copied();
        let wanted = match value {
            ParamValue::Text(word) if word == FIRST => nth(0),
            ParamValue::Text(word) if word == SECOND => match nth(1) {
                Some(second) => Some(second),
                None => return false,
            },
            _ => Some(value),
        };
        // A param that the method does not read has no influence on it.
        cell.point.get(name).is_none_or(|own| wanted.is_none_or(|wanted| own == wanted))
    };
    cell.method == method && row.at.iter().all(fits)
}

/// The values of a param, in the order of the run's points.
fn distinct<'a>(run: &'a Run, name: &str) -> Vec<&'a ParamValue> {
    let mut values = Vec::new();
    for value in run.points.iter().filter_map(|point| point.get(name)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// `512 MB`, `8 MiB`, `1000`.
fn shown(name: &str, value: &ParamValue) -> String {
    let is_bytes = ["size", "buffer"].contains(&name);
    match value {
        ParamValue::Number(n) if is_bytes && *n > 0 && n.is_multiple_of(1_000_000) => {
            format!("{} MB", n / 1_000_000)
        }
        ParamValue::Number(n) if is_bytes => {
            let text = bytes(*n);
            let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let (number, unit) = text.split_at(digits);
            format!("{number} {}", if unit.is_empty() { "B" } else { unit })
        }
        value => value.to_string(),
    }
}

// The data of the figures of a study: the author's and our own, in the form that the author drew.

/// The percentiles that the curves join.
const PERCENTILES: [f64; 7] = [0.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0];

/// Each p in percent, with its value.
pub(crate) type Curve = Vec<(f64, f64)>;

/// The curves of one machine.
pub(crate) struct Curves {
    pub title: String,
    /// The number of the study's row, and its curve.
    pub lines: Vec<(usize, Curve)>,
}

/// A panel of distributions.
pub(crate) struct Boxes {
    pub title: String,
    /// The value of the param at the axis, and the box of the samples at it.
    pub(crate) boxes: Vec<(String, Spread)>,
}

/// The quartiles, the ends of the whiskers, and the samples beyond them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) quartiles: [f64; 3],
    /// The last samples within 1.5 times the distance of the quartiles.
    pub(crate) whiskers: [f64; 2],
    pub outliers: Vec<f64>,
}

impl Spread {
    pub(crate) fn from_samples(mut samples: Vec<f64>) -> Option<Spread> {
        samples.retain(|value| value.is_finite());
        samples.sort_unstable_by(f64::total_cmp);
        let at = |p: f64| nearest_rank(samples.len(), p).map(|rank| samples[rank - 1]);
        let quartiles = [at(25.0)?, at(50.0)?, at(75.0)?];
        let reach = 1.5 * (quartiles[2] - quartiles[0]);
        let [low, high] = [quartiles[0] - reach, quartiles[2] + reach];
        let within = |value: &&f64| (low..=high).contains(*value);
        let mut inner = samples.iter().filter(within);
        let first = *inner.next()?;
        let whiskers = [first, inner.next_back().copied().unwrap_or(first)];
        let outliers = samples.iter().filter(|value| !within(value)).copied().collect();
        Some(Spread { quartiles, whiskers, outliers })
    }
}

impl<'a> StudyReport<'a> {
    /// One for each machine of the author, one for the methods of here, and one for those in the
    /// place of the author's.
    pub(crate) fn curves(&self, metric: &str) -> Vec<Curves> {
        let own: fn(&StudyRow) -> Option<&str> = |row| row.method.as_deref();
        let other: fn(&StudyRow) -> Option<&str> = |row| row.stand_in.as_deref();
        let machines = self.published.iter().map(|published| {
            let line = |row: &StudyRow| {
                let mut of_row = published
                    .figures
                    .iter()
                    .filter(|figure| figure.method == row.published && figure.metric == metric);
                of_row.next().map(|figure| figure.percentiles.clone())
            };
            self.curves_of(published.machine.clone(), &line)
        });
        let here = [("here", own), ("here, in their place", other)].map(|(title, method)| {
            let line = |row: &StudyRow| {
                let cell_index = self.find_cell(row, method(row)?).ok()?;
                let samples = self.samples(cell_index, row.metric(metric));
                let at = |p: f64| Some((p, samples[nearest_rank(samples.len(), p)? - 1]));
                PERCENTILES.into_iter().map(at).collect()
            };
            self.curves_of(title.to_owned(), &line)
        });
        machines.chain(here).filter(|curves| !curves.lines.is_empty()).collect()
    }

    fn curves_of(&self, title: String, line: &dyn Fn(&StudyRow) -> Option<Curve>) -> Curves {
        let rows = self.study.rows.iter().enumerate();
        let lines = rows.filter_map(|(at, row)| Some((at, line(row)?)));
        Curves { title, lines: lines.filter(|(_, line)| !line.is_empty()).collect() }
    }

    /// In order.
    fn samples(&self, cell_index: CellIndex, metric: &str) -> Vec<f64> {
        let cell = &self.runs[cell_index.run].0.cells[cell_index.cell];
        let mut samples: Vec<f64> = cell.counted(metric).map(|(_, value)| value).collect();
        samples.sort_unstable_by(f64::total_cmp);
        samples
    }

    /// Our own distributions at each value of a param, a panel for each combination of the others.
    pub(crate) fn distributions(&self, drawing: &Drawing) -> Vec<Boxes> {
        let mut panels: Vec<Boxes> = Vec::new();
        for (run, _) in &self.runs {
            let cells = run.cells.iter().filter(|cell| cell.role == Role::Contender);
            for cell in cells.filter(|cell| cell.has_figures()) {
                let Some(at) = cell.point.get(&drawing.by) else { continue };
                let of_panel = drawing.panels.iter().filter_map(|name| cell.point.get(name));
                let words = of_panel.map(charts::value).chain([cell.method.clone()]);
                let title = words.collect::<Vec<String>>().join(" · ");
                let samples = cell.counted(&drawing.metric).map(|(_, value)| value).collect();
                let Some(spread) = Spread::from_samples(samples) else { continue };
                let entry = (label(at), spread);
                match panels.iter_mut().find(|panel| panel.title == title) {
                    Some(panel) => panel.boxes.push(entry),
                    None => panels.push(Boxes { title, boxes: vec![entry] }),
                }
            }
        }
        panels
    }

    /// The bars of one metric: the label of each row, and whose value each bar is.
    pub(crate) fn bars(&self, metric: &str) -> Vec<(String, Vec<(FigureOrigin<'a>, f64)>)> {
        let Some(column) = self.study.column(metric) else { return Vec::new() };
        let of_block = |block: StudyBlock<'a>| {
            let lines = block.lines.iter();
            let bars = lines.filter_map(|line| Some((line.whose, line.figures[column]?)));
            (block.label, bars.collect::<Vec<_>>())
        };
        let all = self.blocks().into_iter().map(of_block);
        all.filter(|(_, bars)| !bars.is_empty()).collect()
    }
}

/// A number as the author writes it.
fn label(value: &ParamValue) -> String {
    match value {
        ParamValue::Number(n) => super::units::count(*n as f64),
        ParamValue::Text(_) => charts::value(value),
    }
}

// The verdict on each claim of a study: by the methods that its author measured, and where these
// cannot be measured, by those that stand in their place.

/// The probability that any verdict of a study is wrong.
const ALPHA: f64 = 0.05;

pub(crate) struct JudgedClaim<'a> {
    pub claim: &'a Claim,
    pub own: ClaimOutcome<'a>,
    /// The outcome by methods that replace the author's; `None` if the author's were measured.
    pub in_their_place: Option<ClaimOutcome<'a>>,
}

pub(crate) enum ClaimOutcome<'a> {
    /// The reason.
    NotHere(String),
    Judged {
        verdict: ClaimVerdict,
        tests: Vec<TestResult<'a>>,
        missing: Vec<String>,
    },
}

/// The verdict on a claim, by all of its tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimVerdict {
    Confirmed,
    /// All tests that are possible here confirm it, and others are not possible.
    ConfirmedInPart,
    Refuted,
    Undecided,
}

/// A test of a claim with its result.
pub(crate) struct TestResult<'a> {
    pub test: &'a Test,
    /// The methods that were measured, or the name of what the first one is divided by.
    pub names: [String; 2],
    pub verdict: Claimed,
    pub found: Ratio,
}

/// Which methods of the rows are meant.
#[derive(Clone, Copy)]
enum RowMethods {
    Own,
    InTheirPlace,
}

/// A test whose cells were found.
struct MeasuredTest<'a> {
    test: &'a Test,
    names: [String; 2],
    run: usize,
    quantity: MeasuredQuantity<'a>,
}

/// What is held against the claimed range.
#[derive(Clone, Debug, PartialEq)]
enum MeasuredQuantity<'a> {
    Ratio {
        of: CellMetric<'a>,
        to: Basis<CellMetric<'a>>,
    },
    /// The first quantity less the second one, as a multiple of an amount.
    Difference {
        both: [CellMetric<'a>; 2],
        amount: f64,
    },
    /// The number of samples of these cells that lie beyond the whiskers.
    Outliers {
        cells: Vec<usize>,
        metric: &'a str,
    },
}

impl MeasuredTest<'_> {
    fn is_same(&self, other: &MeasuredTest<'_>) -> bool {
        self.run == other.run && self.quantity == other.quantity
    }

    /// Outliers are counted, and have none.
    fn has_interval(&self) -> bool {
        !matches!(self.quantity, MeasuredQuantity::Outliers { .. })
    }
}

/// The tests of a claim, and why the others cannot be made.
struct TestPlan<'a> {
    found: Vec<MeasuredTest<'a>>,
    missing: Vec<String>,
    /// Whether no test that decides is missing.
    is_whole: bool,
}

impl<'a> StudyReport<'a> {
    pub(crate) fn judgements(&self) -> Vec<JudgedClaim<'a>> {
        let claims = self.study.claims.iter();
        let plans = claims.map(|claim| (claim, self.plans(claim))).collect::<Vec<_>>();
        let all = plans.iter().flat_map(|(_, (own, other))| own.iter().chain(other));
        let intervals = all.flat_map(|plan| &plan.found).filter(|found| found.has_interval());
        let alpha = ALPHA / intervals.count().max(1) as f64;
        let judged = plans.into_iter().map(|(claim, (own, other))| JudgedClaim {
            claim,
            own: own.map_or_else(
                || ClaimOutcome::NotHere(claim.not_here.clone()),
                |plan| self.outcome(plan, alpha),
            ),
            in_their_place: other.map(|plan| self.outcome(plan, alpha)),
        });
        judged.collect()
    }

    /// The tests by the author's methods, and those by their replacements if no test by the
    /// author's is possible.
    fn plans(&self, claim: &'a Claim) -> (Option<TestPlan<'a>>, Option<TestPlan<'a>>) {
        let own =
            claim.not_here.is_empty().then(|| self.plan(claim, &claim.tests, RowMethods::Own));
        let tests = claim.stand_in_tests.as_ref().unwrap_or(&claim.tests);
        let is_tested = own.as_ref().is_some_and(TestPlan::decides);
        let other = (!is_tested).then(|| self.plan(claim, tests, RowMethods::InTheirPlace));
        // A method without a replacement is named once.
        (own, other.filter(TestPlan::decides))
    }

    fn plan(&self, claim: &Claim, tests: &'a [Test], kind: RowMethods) -> TestPlan<'a> {
        let is_whole = claim.untested.is_empty();
        let mut plan = TestPlan { found: Vec::new(), missing: Vec::new(), is_whole };
        for test in tests {
            match self.found(test, kind) {
                // One method may replace two methods of the author.
                Ok(found) if plan.found.iter().any(|known| known.is_same(&found)) => {}
                Ok(found) => plan.found.push(found),
                Err(reason) => {
                    plan.is_whole &= test.beside;
                    if !plan.missing.contains(&reason) {
                        plan.missing.push(reason);
                    }
                }
            }
        }
        if !is_whole && !plan.found.is_empty() {
            plan.missing.push(claim.untested.clone());
        }
        plan
    }

    fn found(&self, test: &'a Test, kind: RowMethods) -> Result<MeasuredTest<'a>, String> {
        let (row, name, of) = self.cell_of(&test.of, kind)?;
        let quantity = |row: &'a StudyRow, cell_index: CellIndex, metric: &'a str| CellMetric {
            cell: cell_index.cell,
            metric: row.metric(metric),
        };
        if test.relation == Relation::Outliers {
            let others = test.among.iter().filter_map(|key| self.cell_of(key, kind).ok());
            let others = others.filter(|(.., cell_index)| cell_index.run == of.run);
            let cells = others.map(|(.., cell_index)| cell_index.cell);
            let cells: Vec<usize> = std::iter::once(of.cell).chain(cells).collect();
            let name = match cells.len() {
                1 => name,
                n => format!("{name} and {} more", n - 1),
            };
            let quantity = MeasuredQuantity::Outliers { cells, metric: row.metric(&test.metric) };
            return Ok(MeasuredTest { test, names: [name, String::new()], run: of.run, quantity });
        }
        let of_quantity = quantity(row, of, &test.metric);
        let second = |key: &str| -> Result<(&'a StudyRow, String, CellIndex), String> {
            let found = self.cell_of(key, kind)?;
            let is_one_run = found.2.run == of.run;
            is_one_run.then_some(found).ok_or_else(|| "its methods are of two runs".to_owned())
        };
        if let Some(less) = &test.less {
            let (row, other, cell_index) = second(less)?;
            let amount = self.amount(test, of, &name)?;
            let both = [of_quantity, quantity(row, cell_index, &test.metric)];
            let quantity = MeasuredQuantity::Difference { both, amount };
            return Ok(MeasuredTest { test, names: [name, other], run: of.run, quantity });
        }
        let (basis, basis_name) = match (&test.to, &test.to_param) {
            (Some(to), _) => {
                let (row, name, cell_index) = second(to)?;
                let metric = test.to_metric.as_ref().unwrap_or(&test.metric);
                (Basis::Of(quantity(row, cell_index, metric)), name)
            }
            (None, Some(param)) => (Basis::Value(self.amount(test, of, &name)?), param.clone()),
            (None, None) => (Basis::Value(1.0), String::new()),
        };
        let quantity = MeasuredQuantity::Ratio { of: of_quantity, to: basis };
        Ok(MeasuredTest { test, names: [name, basis_name], run: of.run, quantity })
    }

    /// The value of the param of a test at the point of this cell; 1 if the test names none.
    fn amount(&self, test: &Test, of: CellIndex, name: &str) -> Result<f64, String> {
        let Some(param) = &test.to_param else { return Ok(1.0) };
        let point = &self.runs[of.run].0.cells[of.cell].point;
        let value = point.number(param).ok().filter(|value| *value > 0);
        Ok(value.ok_or_else(|| format!("{name} has no --{param}"))? as f64)
    }

    fn cell_of(
        &self,
        key: &str,
        kind: RowMethods,
    ) -> Result<(&'a StudyRow, String, CellIndex), String> {
        let row = self.study.row(key).ok_or_else(|| format!("there is no row {key}"))?;
        let method = match kind {
            RowMethods::Own => row.method.as_deref(),
            RowMethods::InTheirPlace => row.stand_in.as_deref().or(row.method.as_deref()),
        };
        let why = if row.not_here.is_empty() { &self.study.not_here } else { &row.not_here };
        let method = method.ok_or_else(|| why.clone())?;
        let cell_index = self.find_cell(row, method).map_err(|reason| match reason.as_str() {
            NOT_IN_THE_RUN => format!("{method} was not measured"),
            _ => reason,
        })?;
        // Rows of one method at several points are distinguished by their labels.
        let shared = self.study.rows.iter().filter(|other| {
            other.method.as_deref() == Some(method) || other.stand_in.as_deref() == Some(method)
        });
        let is_shared = shared.filter(|other| other.at != row.at).count() > 0;
        let name = match (is_shared, method) {
            (false, method) => method.to_owned(),
            (true, "row") => row.label().to_owned(),
            (true, method) => format!("{method} ({})", self.label(row)),
        };
        Ok((row, name, cell_index))
    }

    fn outcome(&self, plan: TestPlan<'a>, alpha: f64) -> ClaimOutcome<'a> {
        if plan.found.is_empty() {
            return ClaimOutcome::NotHere(plan.missing.join("; "));
        }
        let tests = plan.found.into_iter().map(|found| {
            let MeasuredTest { test, names, run, quantity } = found;
            let (verdict, found) = judged(self.runs[run].0, quantity, test, alpha);
            TestResult { test, names, verdict, found }
        });
        let tests: Vec<TestResult<'_>> = tests.collect();
        let deciding = tests.iter().filter(|tested| !tested.test.beside);
        let verdicts: Vec<Claimed> = deciding.map(|tested| tested.verdict).collect();
        let verdict = combined(plan.is_whole, &verdicts);
        ClaimOutcome::Judged { verdict, tests, missing: plan.missing }
    }
}

impl TestPlan<'_> {
    /// Whether any of its tests decides.
    fn decides(&self) -> bool {
        self.found.iter().any(|found| !found.test.beside)
    }
}

fn judged(run: &Run, quantity: MeasuredQuantity<'_>, test: &Test, alpha: f64) -> (Claimed, Ratio) {
    let range = test.range();
    match quantity {
        MeasuredQuantity::Ratio { of, to } => judge_claim(run, of, to, range, alpha),
        MeasuredQuantity::Difference { both, amount } => {
            judge_difference(run, both, amount, range, alpha)
        }
        MeasuredQuantity::Outliers { cells, metric } => {
            let n: usize = cells.into_iter().map(|cell| outliers(run, cell, metric)).sum();
            let n = n as f64;
            let count = Ratio { ratio: Some(n), low: Some(n), high: Some(n), reason: None };
            // Those that are rare need not be among a few samples.
            (if n >= range[0] { Claimed::Confirmed } else { Claimed::Undecided }, count)
        }
    }
}

/// The number of samples beyond the whiskers.
fn outliers(run: &Run, cell: usize, metric: &str) -> usize {
    let samples = run.cells[cell].counted(metric).map(|(_, value)| value).collect();
    Spread::from_samples(samples).map_or(0, |spread| spread.outliers.len())
}

/// All tests are needed; those that are missing are open.
fn combined(is_whole: bool, tests: &[Claimed]) -> ClaimVerdict {
    if tests.contains(&Claimed::Refuted) {
        ClaimVerdict::Refuted
    } else if tests.is_empty() || tests.contains(&Claimed::Undecided) {
        ClaimVerdict::Undecided
    } else if is_whole {
        ClaimVerdict::Confirmed
    } else {
        ClaimVerdict::ConfirmedInPart
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod figures_tests {
    use super::*;

    #[test]
    fn outliers_are_beyond_one_and_a_half_times_the_distance_of_the_quartiles() {
        let samples = (1..=8).map(f64::from).chain([11.0, 12.1, f64::NAN]).collect();
        let spread = Spread::from_samples(samples).unwrap();
        // Quartiles 3 and 8: the whiskers end at most at 15.5 and at -4.5.
        let expected =
            Spread { quartiles: [3.0, 5.0, 8.0], whiskers: [1.0, 12.1], outliers: Vec::new() };
        assert_eq!(spread, expected);
        let samples = [5.0, 1.0, 6.0, 5.5, 9.0, 5.2].to_vec();
        let spread = Spread::from_samples(samples).unwrap();
        let expected =
            Spread { quartiles: [5.0, 5.2, 6.0], whiskers: [5.0, 6.0], outliers: vec![1.0, 9.0] };
        assert_eq!(spread, expected);
        assert_eq!(Spread::from_samples(vec![f64::NAN]), None);
        assert!(Spread::from_samples(vec![2.0]).is_some());
    }
}

#[cfg(test)]
mod verdicts_tests {
    use Claimed::{Confirmed, Refuted, Undecided};

    use super::*;

    #[test]
    fn a_claim_needs_all_of_its_tests() {
        assert_eq!(combined(true, &[Confirmed, Confirmed]), ClaimVerdict::Confirmed);
        assert_eq!(combined(false, &[Confirmed, Confirmed]), ClaimVerdict::ConfirmedInPart);
        assert_eq!(combined(true, &[Confirmed, Undecided]), ClaimVerdict::Undecided);
        assert_eq!(combined(false, &[Confirmed, Undecided]), ClaimVerdict::Undecided);
        assert_eq!(combined(false, &[Undecided, Refuted]), ClaimVerdict::Refuted);
        assert_eq!(combined(true, &[]), ClaimVerdict::Undecided);
    }
}
