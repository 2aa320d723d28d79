//! A published study beside runs of ours: each line of its table with the methods that answer the
//! same, what differs, and the verdict on each claim. The figures of other machines decide nothing.

pub(crate) mod figures;
mod table;
mod verdicts;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use lab::analyze::Analysis;
use lab::metric::{CPU, WALL};
use lab::param::{Value, bytes};
use lab::run::{Role, Run};

use super::rows::{metric, percentile};
use super::varying::Varying;
use crate::numbers;
use crate::reference::{Published, Row, Study};

pub(crate) use self::verdicts::{Judgement, Outcome, Tested};

/// A run of ours with its analysis.
pub(crate) type Analyzed<'a> = (&'a Run, &'a Analysis);

pub(crate) struct StudyReport<'a> {
    pub(crate) study: &'a Study,
    /// Of one machine each.
    pub(crate) published: &'a [Published],
    pub(crate) runs: Vec<Analyzed<'a>>,
    /// Methods that cannot be measured on this machine, each with the reason.
    pub(crate) absent: &'a BTreeMap<String, String>,
}

/// Whose figures a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose<'a> {
    /// The machine of the author.
    Author(&'a str),
    /// A method that measures the same quantity by the same means.
    Same(&'a str),
    /// A method that does the same job in the same way.
    InItsPlace(&'a str),
}

/// A line of figures below the label of a row.
pub(crate) struct StudyLine<'a> {
    pub(crate) whose: Whose<'a>,
    /// The p50 of each column of the study.
    pub(crate) figures: Vec<Option<f64>>,
    /// To the first row of the same quantity, on the same machine.
    pub(crate) ratio: Option<f64>,
}

pub(crate) struct Block<'a> {
    pub(crate) key: &'a str,
    pub(crate) label: &'a str,
    pub(crate) lines: Vec<StudyLine<'a>>,
}

/// A cell of one of the runs.
#[derive(Clone, Copy)]
struct CellIndex {
    run: usize,
    cell: usize,
}

impl<'a> StudyReport<'a> {
    /// The rows of the author, in the author's order.
    pub(crate) fn blocks(&self) -> Vec<Block<'a>> {
        self.study.rows.iter().map(|row| self.block(row)).collect()
    }

    fn block(&self, row: &'a Row) -> Block<'a> {
        let author = self.published.iter().map(|published| Whose::Author(&published.machine));
        let own = row.method.iter().map(|method| Whose::Same(method));
        let stand_in = row.stand_in.iter().map(|method| Whose::InItsPlace(method));
        let lines = author.chain(own).chain(stand_in).filter_map(|whose| self.line(row, whose));
        Block { key: &row.key, label: row.label(), lines: lines.collect() }
    }

    /// None where there is no figure at all.
    fn line(&self, row: &'a Row, whose: Whose<'a>) -> Option<StudyLine<'a>> {
        let columns = self.study.columns.iter();
        let figures = columns.map(|column| self.figure(row, whose, column));
        let figures: Vec<Option<f64>> = figures.collect();
        figures.iter().any(Option::is_some).then(|| {
            let ratio = self.ratio(row, whose);
            StudyLine { whose, figures, ratio }
        })
    }

    fn figure(&self, row: &Row, whose: Whose<'_>, column: &str) -> Option<f64> {
        match whose {
            Whose::Author(machine) => {
                let own = self.published.iter().find(|published| published.machine == machine)?;
                row.figure(own, column)
            }
            Whose::Same(method) | Whose::InItsPlace(method) => {
                let place = self.place(row, method).ok().filter(|_| row.shows(column))?;
                self.p50(place, row.metric(column))
            }
        }
    }

    fn p50(&self, place: CellIndex, name: &str) -> Option<f64> {
        let (_, analysis) = self.runs[place.run];
        let summary = analysis.cells.iter().find(|summary| summary.cell == place.cell);
        let p50 = percentile(metric(summary, name)?, 50)?.value;
        Some(p50).filter(|value| value.is_finite())
    }

    /// Of the first time among the row's columns, or else of their first one. Rows of other
    /// quantities, and rows without a group, have none.
    fn ratio(&self, row: &'a Row, whose: Whose<'a>) -> Option<f64> {
        let columns = &self.study.columns;
        let is_shown = |column: &&String| row.shows(column);
        let is_time = |column: &&String| [WALL, CPU].contains(&column.as_str());
        let time = columns.iter().filter(is_shown).find(is_time);
        let column = time.or_else(|| columns.iter().find(is_shown))?;
        let mut group = self.study.rows.iter().filter(|other| other.group == row.group);
        let first = group.find_map(|other| {
            let same = match whose {
                Whose::Author(_) => Some(whose),
                Whose::InItsPlace(_) if other.stand_in.is_some() => {
                    other.stand_in.as_deref().map(Whose::InItsPlace)
                }
                _ => other.method.as_deref().map(Whose::Same),
            };
            self.figure(other, same?, column)
        })?;
        let own = self.figure(row, whose, column)?;
        Some(own / first).filter(|ratio| ratio.is_finite() && !row.group.is_empty())
    }

    /// What the runs have besides the rows of the study, with the params that vary.
    pub(crate) fn alone(&self) -> Vec<(String, Vec<Option<f64>>)> {
        let mut found = Vec::new();
        for (at, (run, analysis)) in self.runs.iter().enumerate() {
            let varying = Varying::of_run(run);
            for summary in &analysis.cells {
                let cell = &run.cells[summary.cell];
                let place = CellIndex { run: at, cell: summary.cell };
                if cell.role == Role::Yardstick || summary.wrong_answer || self.has_row(place) {
                    continue;
                }
                let figures = self.study.columns.iter().map(|column| self.p50(place, column));
                let figures: Vec<Option<f64>> = figures.collect();
                let title = cell.point.text("row").ok().and_then(numbers::row);
                let name = title.map_or_else(
                    || format!("{}{}", cell.method, varying.of(&cell.point)),
                    |row| row.title.trim().to_owned(),
                );
                if figures.iter().any(Option::is_some) {
                    found.push((name, figures));
                }
            }
        }
        found
    }

    fn has_row(&self, place: CellIndex) -> bool {
        self.study.rows.iter().any(|row| {
            let mut methods = row.method.iter().chain(&row.stand_in);
            methods.any(|method| {
                self.place(row, method)
                    .is_ok_and(|found| (found.run, found.cell) == (place.run, place.cell))
            })
        })
    }

    /// The cell of a method at the values of a row, or why there is none.
    fn place(&self, row: &Row, method: &str) -> Result<CellIndex, String> {
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
        let second = row.at.iter().find(|(_, value)| **value == Value::from(SECOND));
        let needs = second.map(|(name, _)| format!("it needs two values of --{name}"));
        let absent = self.absent.get(method).cloned();
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
    pub(crate) fn not_measured(&self) -> Vec<(String, Vec<&'a str>)> {
        let mut found: Vec<(String, Vec<&str>)> = Vec::new();
        let only_published = self.runs.is_empty() && self.absent.is_empty();
        for row in self.study.rows.iter().filter(|_| !only_published) {
            for method in row.method.iter().chain(&row.stand_in) {
                let Err(reason) = self.place(row, method) else { continue };
                let at = found.iter().position(|(known, _)| *known == reason);
                let at = at.unwrap_or_else(|| {
                    found.push((reason, Vec::new()));
                    found.len() - 1
                });
                if !found[at].1.contains(&method.as_str()) {
                    found[at].1.push(method);
                }
            }
        }
        found
    }

    /// What differs between the study and the runs, the amount of work first.
    pub(crate) fn differs(&self) -> Vec<String> {
        let mut found = self.other_work();
        if !self.runs.is_empty() {
            found.push(format!("replicates: {}", self.study.replicates));
            found.extend(self.study.differs.iter().cloned());
        }
        found
    }

    /// The params at which a run did another amount of work than the author's programs.
    pub(crate) fn other_work(&self) -> Vec<String> {
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

/// The words that stand for the first and for the second value of a param in a run.
const FIRST: &str = "#1";
const SECOND: &str = "#2";

fn is_at(run: &Run, cell: usize, row: &Row, method: &str) -> bool {
    let cell = &run.cells[cell];
    let fits = |(name, value): (&String, &Value)| {
        let nth = |n: usize| distinct(run, name).get(n).copied();
        let wanted = match value {
            Value::Text(word) if word == FIRST => nth(0),
            Value::Text(word) if word == SECOND => match nth(1) {
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
fn distinct<'a>(run: &'a Run, name: &str) -> Vec<&'a Value> {
    let mut values = Vec::new();
    for value in run.points.iter().filter_map(|point| point.get(name)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// `512 MB`, `8 MiB`, `1000`.
fn shown(name: &str, value: &Value) -> String {
    let is_bytes = ["size", "buffer"].contains(&name);
    match value {
        Value::Number(n) if is_bytes && *n > 0 && n.is_multiple_of(1_000_000) => {
            format!("{} MB", n / 1_000_000)
        }
        Value::Number(n) if is_bytes => {
            let text = bytes(*n);
            let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let (number, unit) = text.split_at(digits);
            format!("{number} {}", if unit.is_empty() { "B" } else { unit })
        }
        value => value.to_string(),
    }
}
