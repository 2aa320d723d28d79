//! The cells of a run for the formats of other programs: with a name, and with figures or the
//! reason why there are none.

use std::fmt;

use lab::analyze::{Analysis, Summary};
use lab::metric::METRICS;
use lab::param::Point;
use lab::run::{Cell, Run, Sample};

use super::options::Options;
use crate::report::model::words::{clean, steers};
use crate::report::model::{Varying, rows};

pub(super) struct Exported<'a> {
    pub(super) run: &'a Run,
    pub(super) analysis: &'a Analysis,
    pub(super) options: Options<'a>,
    /// The cells in the order of the run.
    pub(super) cells: Vec<Entry<'a>>,
}

pub(super) struct Entry<'a> {
    /// Index into `Run::cells`.
    pub(super) index: usize,
    pub(super) cell: &'a Cell,
    /// The method, and the values of its point that vary in the run: `read (buffer=64Ki)`.
    pub(super) name: String,
    pub(super) summaries: &'a [Summary],
    pub(super) wrong_answer: bool,
    /// The reason why it has no usable figures.
    pub(super) refused: Option<String>,
}

pub(super) const WALL: &str = rows::WALL;
pub(super) const CPU: &str = "cpu_ns";

impl<'a> Exported<'a> {
    pub(super) fn new(run: &'a Run, analysis: &'a Analysis) -> Exported<'a> {
        let varying = Varying::of_run(run);
        let cells = run.cells.iter().enumerate().map(|(index, cell)| {
            let summary = rows::summary(analysis, index);
            let wrong_answer = summary.is_some_and(|summary| summary.wrong_answer);
            let refused = match &cell.status {
                status if !cell.has_figures() => {
                    Some(format!("{}: {}", status.word(), status.reason().unwrap_or_default()))
                }
                _ if wrong_answer => Some("wrong answer".to_owned()),
                _ => {
                    let has_time = finite(cell, WALL).next().is_some();
                    (!has_time).then(|| "no sample of it counts".to_owned())
                }
            };
            Entry {
                index,
                cell,
                name: format!("{}{}", cell.method, varying.of(&cell.point)),
                summaries: summary.map_or(&[], |summary| &summary.metrics),
                wrong_answer,
                refused,
            }
        });
        let options = Options::default();
        Exported { run, analysis, options, cells: cells.collect() }
    }

    /// The cells with figures.
    pub(super) fn measured(&self) -> impl Iterator<Item = &Entry<'a>> {
        self.cells.iter().filter(|entry| entry.refused.is_none())
    }

    /// A sentence for each cell that is left out.
    pub(super) fn left_out(&self) -> Vec<String> {
        let sentence = |entry: &Entry<'a>| Some(entry.left_out(entry.refused.as_deref()?));
        self.cells.iter().filter_map(sentence).collect()
    }

    /// The metrics of the cells with figures: first those that reports define, in their order, then
    /// others by name.
    pub(super) fn metrics(&self) -> Vec<&'a str> {
        self.metrics_of(|entry| entry.refused.is_none())
    }

    /// The metrics that any of these cells has.
    pub(super) fn metrics_of(&self, which: impl Fn(&Entry<'a>) -> bool) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for entry in self.cells.iter().filter(|entry| which(entry)) {
            let known = |name: &&'a str| finite(entry.cell, name).next().is_some();
            let new: Vec<&str> = (entry.cell.values.keys().map(String::as_str))
                .filter(|name| !names.contains(name))
                .filter(known)
                .collect();
            names.extend(new);
        }
        let place = |name: &str| METRICS.iter().position(|metric| metric.name == name);
        names.sort_by_key(|name| (place(name).unwrap_or(usize::MAX), *name));
        names
    }

    /// A fact of the environment as text; empty if it is unknown.
    pub(super) fn fact(&self, name: &str) -> String {
        match self.run.environment.facts.get(name) {
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(serde_json::Value::Null) | None => String::new(),
            Some(value) => value.to_string(),
        }
    }
}

impl Entry<'_> {
    pub(super) fn left_out(&self, why: &str) -> String {
        format!("{} is left out: {}", self.name, clean(why))
    }

    pub(super) fn summary(&self, metric: &str) -> Option<&Summary> {
        self.summaries.iter().find(|summary| summary.metric == metric && summary.n > 0)
    }

    /// The samples that have the metric, in their order, with its values.
    pub(super) fn finite(&self, metric: &str) -> impl Iterator<Item = (&Sample, f64)> {
        finite(self.cell, metric)
    }

    pub(super) fn values(&self, metric: &str) -> Vec<f64> {
        self.finite(metric).map(|(_, value)| value).collect()
    }
}

fn finite<'a>(cell: &'a Cell, metric: &str) -> impl Iterator<Item = (&'a Sample, f64)> + use<'a> {
    cell.shown(metric).filter(|(_, value)| value.is_finite())
}

/// `method/size=65536`, with the parts escaped by `escape`.
pub(super) fn path(
    method: &str,
    point: &Point,
    between: char,
    escape: impl Fn(&str) -> String,
) -> String {
    point.iter().fold(escape(method), |path, (name, value)| {
        format!("{path}/{}{between}{}", escape(name), escape(&value.to_string()))
    })
}

/// The text with `%` and every character of `reserved` percent-encoded, as in URLs.
pub(super) fn percent_encoded(text: &str, reserved: impl Fn(char) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '%' || c.is_whitespace() || steers(c) || reserved(c) {
            let bytes = c.to_string().into_bytes();
            encoded.extend(bytes.iter().map(|byte| format!("%{byte:02X}")));
        } else {
            encoded.push(c);
        }
    }
    encoded
}

/// A finite number in a form that every reader accepts: whole numbers without a point, very small
/// and very large ones with an exponent.
#[derive(Clone, Copy)]
pub(super) struct Number(pub(super) f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let Number(value) = *self;
        if value.fract() == 0.0 && value.abs() <= EXACT {
            write!(f, "{}", value as i64)
        } else {
            write!(f, "{value:?}")
        }
    }
}

impl serde::Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        super::super::json::Number(self.0).serialize(serializer)
    }
}
