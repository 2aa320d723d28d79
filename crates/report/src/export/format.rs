//! What the formats share: the definition of a format; the cells of a run, with figures or the
//! reason why there are none; all counted samples as one wide table; and JSON that is written entry
//! by entry.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use analysis::{Analysis, Summary};
use anyhow::Result;
use model::metric::METRICS;
use model::param::{ParamValue, Point};
use model::run::{Cell, MetricColumn, Pass, Role, Run, Sample};
use serde::Serialize;

use crate::json::to as write_json;
use crate::views::VaryingParams;
use crate::views::rows::{self, Parameters, TableOptions};
use crate::views::words::{escape_controls, is_control};

/// A format: its name, and the function that writes a run.
pub struct ExportFormat {
    pub name: &'static str,
    pub about: &'static str,
    /// Extensions of files that contain this format and no other one listed here.
    pub extensions: &'static [&'static str],
    pub kind: FormatKind,
    /// Whether it has samples and no figure that is computed from them: of the analysis it needs
    /// only whether the answers are right.
    pub is_of_samples: bool,
    /// Returns a sentence for each item that the format cannot represent.
    pub(super) write: fn(&Exported<'_>, &mut (dyn Write + Send)) -> Result<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatKind {
    Text,
    Json,
    /// Not suitable for a terminal.
    Binary,
}

/// The cells of a run for the formats of other programs: with a name, and with figures or the
/// reason why there are none.
pub(super) struct Exported<'a> {
    pub(super) run: &'a Run,
    pub(super) analysis: &'a Analysis,
    pub(super) options: ExportOptions<'a>,
    /// The cells in the order of the run.
    pub(super) cells: Vec<ExportedCell<'a>>,
}

pub(super) struct ExportedCell<'a> {
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
        let varying = VaryingParams::of_run(run);
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
            ExportedCell {
                index,
                cell,
                name: format!("{}{}", cell.method, varying.in_parentheses(&cell.point)),
                summaries: summary.map_or(&[], |summary| &summary.metrics),
                wrong_answer,
                refused,
            }
        });
        let options = ExportOptions::default();
        Exported { run, analysis, options, cells: cells.collect() }
    }

    /// The cells with figures.
    pub(super) fn measured(&self) -> impl Iterator<Item = &ExportedCell<'a>> {
        self.cells.iter().filter(|entry| entry.refused.is_none())
    }

    /// A sentence for each cell that is left out.
    pub(super) fn left_out(&self) -> Vec<String> {
        let sentence = |entry: &ExportedCell<'a>| Some(entry.left_out(entry.refused.as_deref()?));
        self.cells.iter().filter_map(sentence).collect()
    }

    /// The metrics of the cells with figures: first those that reports define, in their order, then
    /// others by name.
    pub(super) fn metrics(&self) -> Vec<&'a str> {
        self.metrics_of(|entry| entry.refused.is_none())
    }

    /// The metrics that any of these cells has.
    pub(super) fn metrics_of(&self, which: impl Fn(&ExportedCell<'a>) -> bool) -> Vec<&'a str> {
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

impl ExportedCell<'_> {
    pub(super) fn left_out(&self, why: &str) -> String {
        format!("{} is left out: {}", self.name, escape_controls(why))
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
        if c == '%' || c.is_whitespace() || is_control(c) || reserved(c) {
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
pub(super) struct PortableNumber(pub(super) f64);

/// Up to here whole numbers have no point.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl fmt::Display for PortableNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PortableNumber(value) = *self;
        if value.fract() == 0.0 && value.abs() <= EXACT {
            write!(f, "{}", value as i64)
        } else {
            write!(f, "{value:?}")
        }
    }
}

impl PortableNumber {
    /// Appends the same text as that of `Display`, which takes several times as long.
    pub(super) fn append_to(self, text: &mut Vec<u8>) {
        let PortableNumber(value) = self;
        if value.fract() == 0.0 && value.abs() <= EXACT {
            append_number(&(value as i64), text);
        } else if (1e-4..1e16).contains(&value.abs()) {
            // Here JSON has no exponent, and neither has `Display`.
            append_number(&value, text);
        } else {
            text.extend_from_slice(self.to_string().as_bytes());
        }
    }
}

/// Appends a number as JSON has it.
pub(super) fn append_number(number: &impl Serialize, text: &mut Vec<u8>) {
    // Writing a number to memory does not fail.
    let _ = serde_json::to_writer(text, number);
}

impl serde::Serialize for PortableNumber {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        crate::json::JsonNumber(self.0).serialize(serializer)
    }
}

/// The options of an export, from flags or from the definition of the run.
#[derive(Clone, Copy, Default)]
pub struct ExportOptions<'a> {
    /// The options of the formats that are tables.
    pub table: TableOptions<'a>,
    /// The parameters, for formats that write them apart from commands.
    pub parameters: Option<&'a Parameters>,
    /// Whether a page has its notes, too.
    pub notes: bool,
}

/// All counted samples as one wide table: the identifiers of the run, the cell and the sample,
/// the params, the metrics. It is passed on in parts, row by row.
pub(super) struct SampleTable<'a> {
    exported: &'a Exported<'a>,
    pub(super) names: Vec<String>,
    pub(super) kinds: Vec<ColumnKind>,
    params: Vec<&'a str>,
    metrics: Vec<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text,
    Whole,
    Number,
    Flag,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum FieldValue<'a> {
    None,
    Text(&'a str),
    Owned(String),
    Whole(u64),
    Number(f64),
    Flag(bool),
}

/// A row of the table: the fields of a cell, which are equal in the rows of all of its samples, and
/// those of a sample.
pub(super) struct SampleRow<'a> {
    pub(super) of_cell: &'a [FieldValue<'a>],
    pub(super) of_sample: &'a [FieldValue<'a>],
    /// Whether it is the first one of its part.
    pub(super) is_first: bool,
}

/// Some samples of a cell, in their order.
pub(super) struct SampleRows<'a> {
    entry: &'a ExportedCell<'a>,
    samples: Range<usize>,
}

/// No part has more samples.
const PART: usize = 2048;

/// The columns whose values are the same for all samples of a cell; the columns of a sample follow.
const OF_CELL: [(&str, ColumnKind); 9] = [
    ("run", ColumnKind::Text),
    ("experiment", ColumnKind::Text),
    ("label", ColumnKind::Text),
    ("started", ColumnKind::Text),
    ("machine", ColumnKind::Text),
    ("method", ColumnKind::Text),
    ("language", ColumnKind::Text),
    ("role", ColumnKind::Text),
    ("wrong_answer", ColumnKind::Flag),
];
const OF_SAMPLE: [(&str, ColumnKind); 7] = [
    ("pass", ColumnKind::Text),
    ("session", ColumnKind::Whole),
    ("round", ColumnKind::Whole),
    ("slot", ColumnKind::Whole),
    ("ops", ColumnKind::Whole),
    ("bytes", ColumnKind::Whole),
    ("answer", ColumnKind::Text),
];

impl<'a> SampleTable<'a> {
    pub(super) fn new(exported: &'a Exported<'a>) -> SampleTable<'a> {
        let (params, param_kinds): (Vec<&str>, Vec<ColumnKind>) =
            params(exported.run).into_iter().unzip();
        let metrics = exported.metrics_of(is_row);
        let mut columns = SampleTable {
            exported,
            names: Vec::new(),
            kinds: Vec::new(),
            params: params.clone(),
            metrics: metrics.clone(),
        };
        for (name, kind) in OF_CELL {
            columns.add(name.to_owned(), kind);
        }
        for (name, kind) in params.iter().zip(param_kinds) {
            columns.add(format!("param_{name}"), kind);
        }
        for (name, kind) in OF_SAMPLE {
            columns.add(name.to_owned(), kind);
        }
        for name in metrics {
            columns.add(name.to_owned(), ColumnKind::Number);
        }
        columns
    }

    /// Avoids duplicate names, as a method may give its own metric any name.
    fn add(&mut self, mut name: String, kind: ColumnKind) {
        while self.names.contains(&name) {
            name.insert_str(0, "metric_");
        }
        self.names.push(name);
        self.kinds.push(kind);
    }

    /// The samples of all cells that have rows.
    pub(super) fn parts(&self) -> Vec<SampleRows<'a>> {
        let entries = self.exported.cells.iter().filter(|entry| is_row(entry));
        let parts = entries.flat_map(|entry| {
            let n = entry.cell.samples.len();
            let samples = (0..n).step_by(PART).map(move |start| start..n.min(start + PART));
            samples.map(move |samples| SampleRows { entry, samples })
        });
        parts.collect()
    }

    /// Passes on each row of the part.
    pub(super) fn rows<E>(
        &self,
        SampleRows { entry, samples }: &SampleRows<'_>,
        mut row: impl FnMut(SampleRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let cell = entry.cell;
        let head = self.head(entry);
        let metrics: Vec<&MetricColumn> =
            self.metrics.iter().map(|name| cell.column(name)).collect();
        let (mut fields, mut is_first) = (Vec::new(), true);
        let samples = samples.clone().zip(&cell.samples[samples.clone()]);
        for (at, sample) in samples.filter(|(_, sample)| counts(sample)) {
            fields.clear();
            fields.extend(of_sample(sample));
            fields.extend(metrics.iter().map(|values| match values.get(at) {
                Some(value) if value.is_finite() => FieldValue::Number(*value),
                _ => FieldValue::None,
            }));
            row(SampleRow { of_cell: &head, of_sample: &fields, is_first })?;
            is_first = false;
        }
        Ok(())
    }

    fn head<'b>(&'b self, entry: &'b ExportedCell<'_>) -> Vec<FieldValue<'b>> {
        let (run, cell) = (self.exported.run, entry.cell);
        let text = |text: Option<&'b str>| text.map_or(FieldValue::None, FieldValue::Text);
        let role = match cell.role {
            Role::Contender => "contender",
            Role::Yardstick => "yardstick",
        };
        let fields = [
            text(Some(&run.id)),
            text(Some(&run.experiment)),
            text(run.label.as_deref()),
            text(Some(&run.started)),
            text(Some(&run.environment.fingerprint)),
            text(Some(&cell.method)),
            text(cell.language.as_deref()),
            text(Some(role)),
            FieldValue::Flag(entry.wrong_answer),
        ];
        let param = |(at, name): (usize, &&str)| match (cell.point.get(name), self.kinds[at]) {
            (None, _) => FieldValue::None,
            (Some(ParamValue::Number(n)), ColumnKind::Whole) => FieldValue::Whole(*n),
            (Some(value), _) => FieldValue::Owned(value.to_string()),
        };
        let params = self.params.iter().enumerate();
        let params = params.map(|(at, name)| param((at + OF_CELL.len(), name)));
        fields.into_iter().chain(params).collect()
    }

    /// The reason for each cell that has no rows.
    pub(super) fn left_out(&self) -> Vec<String> {
        let left = self.exported.cells.iter().filter(|entry| !is_row(entry));
        left.filter_map(|entry| Some(entry.left_out(entry.refused.as_deref()?))).collect()
    }
}

/// A wrong answer has a column here, so its rows need not be omitted.
fn is_row(entry: &ExportedCell<'_>) -> bool {
    entry.refused.is_none() || (entry.wrong_answer && entry.cell.has_figures())
}

fn counts(sample: &Sample) -> bool {
    sample.counts_in(sample.pass)
}

fn of_sample(sample: &Sample) -> [FieldValue<'_>; OF_SAMPLE.len()] {
    let pass = match sample.pass {
        Pass::Timing => "timing",
        Pass::Counting => "counting",
    };
    [
        FieldValue::Text(pass),
        FieldValue::Whole(sample.session.into()),
        FieldValue::Whole(sample.round.into()),
        FieldValue::Whole(sample.slot.into()),
        FieldValue::Whole(sample.ops),
        FieldValue::Whole(sample.bytes),
        sample.answer.as_deref().map_or(FieldValue::None, FieldValue::Text),
    ]
}

/// The params that any cell has, in the order of the points; numeric only if all values are
/// numbers.
fn params(run: &Run) -> Vec<(&str, ColumnKind)> {
    let mut params: Vec<(&str, ColumnKind)> = Vec::new();
    let points = run.points.iter().chain(run.cells.iter().map(|cell| &cell.point));
    for (name, value) in points.flat_map(Point::iter) {
        let kind = if matches!(value, ParamValue::Number(_)) {
            ColumnKind::Whole
        } else {
            ColumnKind::Text
        };
        match params.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) if kind == ColumnKind::Text => *known = ColumnKind::Text,
            Some(_) => {}
            None => params.push((name, kind)),
        }
    }
    params.retain(|(name, _)| run.cells.iter().any(|cell| cell.point.get(name).is_some()));
    params
}

/// JSON that is written entry by entry, so that a million entries need no memory.
/// A list with one entry on each line.
pub(super) struct Entries<W> {
    out: W,
    is_empty: bool,
}

impl<W: Write> Entries<W> {
    pub(super) fn begin(mut out: W) -> io::Result<Entries<W>> {
        out.write_all(b"[")?;
        Ok(Entries { out, is_empty: true })
    }

    pub(super) fn push(&mut self, entry: &impl Serialize) -> io::Result<()> {
        self.out.write_all(if self.is_empty { b"\n" } else { b",\n" })?;
        self.is_empty = false;
        write_json(&mut self.out, entry)
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        self.out.write_all(b"\n]")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(value: f64) {
        let mut text = Vec::new();
        PortableNumber(value).append_to(&mut text);
        assert_eq!(String::from_utf8(text).unwrap(), PortableNumber(value).to_string());
    }

    #[test]
    fn a_number_at_a_limit_of_a_form_is_appended_as_it_is_displayed() {
        for limit in [0.0, 1e-5, 1e-4, 1.0, 1e15, EXACT, 1e16, 1e17, 1e300] {
            for value in [limit, f64::next_up(limit), f64::next_down(limit), limit / 3.0] {
                check(value);
                check(-value);
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_is_appended_as_it_is_displayed(bits: u64, ns: u32, parts in 1u32..1000) {
            let any = f64::from_bits(bits);
            if any.is_finite() {
                check(any);
            }
            check(f64::from(ns) / f64::from(parts));
        }
    }
}
