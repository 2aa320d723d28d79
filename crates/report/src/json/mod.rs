//! A run and its results as one JSON document, written directly from the data: nothing is copied,
//! however many samples there are.

pub(crate) mod compare;
pub(crate) mod history;
pub(crate) mod study;
pub(crate) mod suite;

use std::collections::BTreeMap;
use std::io;

use analysis::{
    Analysis, CellSummary, Comparison, CustomMetricComparison, Factorial, Family, MadeOf, Overall,
    ParamComparison, StoppingDecision, Summary, ThresholdOutcome, Verdict, Why,
};
use model::param::Point;
use model::run::{
    Cell, Environment, MetricColumn, Pass, Plan, Role, Run, SCHEMA, Sample, Uncounted, Warning,
};
use serde::{Serialize, Serializer};

use crate::published::published_values;
use crate::views::numbers::{self, numbers};
use crate::views::{View, rows, view};

pub fn write(run: &Run, analysis: &Analysis, out: impl io::Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, EscapingFormatter);
    RunDocument::new(run, analysis).serialize(&mut serializer)?;
    io::Write::flush(&mut out)
}

/// Any other document, on one line.
pub(crate) fn compact(document: &impl Serialize) -> anyhow::Result<String> {
    let mut out = Vec::new();
    to(&mut out, document)?;
    Ok(String::from_utf8(out)?)
}

/// Writes any other document, on one line and without an end of line.
pub(crate) fn to(out: impl io::Write, document: &impl Serialize) -> io::Result<()> {
    Ok(document.serialize(&mut serde_json::Serializer::with_formatter(out, EscapingFormatter))?)
}

/// The keys of the document are stable; more may be added.
#[derive(Serialize)]
struct RunDocument<'a> {
    schema: u32,
    id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    uuid: &'a str,
    experiment: &'a str,
    question: &'a str,
    label: Option<&'a str>,
    started: &'a str,
    complete: bool,
    environment: &'a Environment,
    plan: &'a Plan,
    points: &'a [Point],
    cells: CellsJson<'a>,
    comparisons: &'a [Comparison],
    /// What each difference is made of, where that is known, whether it is decided or not.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    made_of: &'a [MadeOf],
    /// Which functions the differences are in, of a run with a profile.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    why: &'a [Why],
    /// The effects of the factors, of a full factorial experiment.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    factorial: &'a [Factorial],
    across: &'a [ParamComparison],
    /// The geometric mean over all points, for each method.
    overall: &'a [Overall],
    /// Only where methods report metrics of their own.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    own: &'a [CustomMetricComparison],
    /// Only for the user's own experiments.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    thresholds: &'a [ThresholdOutcome],
    families: Families<'a>,
    notes: Notes<'a>,
    /// Only for a run of `numbers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<NumbersRowJson>>,
    /// The warnings about the rows, in the words of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    row_notes: Option<Vec<String>>,
}

impl<'a> RunDocument<'a> {
    fn new(run: &'a Run, analysis: &'a Analysis) -> RunDocument<'a> {
        RunDocument {
            schema: SCHEMA,
            id: &run.id,
            uuid: &run.uuid,
            experiment: &run.experiment,
            question: &run.question,
            label: run.label.as_deref(),
            started: &run.started,
            complete: run.complete,
            environment: &run.environment,
            plan: &run.plan,
            points: &run.points,
            cells: CellsJson(run, analysis),
            comparisons: &analysis.comparisons,
            made_of: &analysis.made_of,
            why: &analysis.why,
            factorial: &analysis.factorial,
            across: &analysis.param_effects,
            overall: &analysis.overall,
            own: &analysis.custom_metrics,
            thresholds: &analysis.thresholds,
            families: Families(run, analysis),
            notes: Notes(&analysis.notes),
            rows: number_rows(run),
            row_notes: row_notes(run, analysis),
        }
    }
}

struct CellsJson<'a>(&'a Run, &'a Analysis);

impl Serialize for CellsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CellsJson(run, analysis) = self;
        let cells = run.cells.iter().enumerate();
        serializer
            .collect_seq(cells.map(|(i, cell)| CellJson::new(cell, rows::summary(analysis, i))))
    }
}

#[derive(Serialize)]
struct CellJson<'a> {
    method: &'a str,
    about: &'a str,
    point: &'a Point,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'a str>,
    role: Role,
    pareto: bool,
    wrong_answer: bool,
    answer: Option<&'a str>,
    digest: Option<&'a str>,
    /// The counts are per operation.
    syscalls_by_name: Option<&'a BTreeMap<String, f64>>,
    metrics: Metrics<'a>,
    /// Only counted samples, in the order in which they were taken; null if a sample lacks the
    /// metric, so that all columns are as long as `sessions`, `rounds` and `ops`.
    samples: ColumnsJson<'a>,
    sessions: SampleFacts<'a, u32>,
    rounds: SampleFacts<'a, u32>,
    /// The number of operations of which the sample is the mean.
    ops: SampleFacts<'a, u64>,
    warm_up: ExcludedSamples<'a>,
    not_counted: ExcludedSamples<'a>,
    /// The samples of the counting pass.
    counting: ExcludedSamples<'a>,
}

impl<'a> CellJson<'a> {
    fn new(cell: &'a Cell, summary: Option<&'a CellSummary>) -> CellJson<'a> {
        CellJson {
            method: &cell.method,
            about: &cell.about,
            point: &cell.point,
            status: cell.status.word(),
            reason: cell.status.reason(),
            language: cell.language.as_deref(),
            role: cell.role,
            pareto: summary.is_some_and(|summary| summary.pareto),
            wrong_answer: summary.is_some_and(|summary| summary.wrong_answer),
            answer: summary.and_then(|summary| summary.answer.as_deref()),
            digest: cell.digest.as_deref(),
            syscalls_by_name: cell.syscalls_by_name.as_ref(),
            metrics: Metrics(summary.map_or(&[], |summary| &summary.metrics)),
            samples: ColumnsJson(cell, Sample::counts),
            sessions: SampleFacts(cell, Sample::counts, |sample| sample.session),
            rounds: SampleFacts(cell, Sample::counts, |sample| sample.round),
            ops: SampleFacts(cell, Sample::counts, |sample| sample.ops),
            warm_up: ExcludedSamples::new(cell, |sample| {
                sample.pass == Pass::Timing && sample.warm_up
            }),
            not_counted: ExcludedSamples::new(cell, |sample| {
                !sample.warm_up && sample.not_counted.is_some()
            }),
            counting: ExcludedSamples::new(cell, |sample| sample.counts_in(Pass::Counting)),
        }
    }
}

/// Samples that are not counted.
#[derive(Serialize)]
struct ExcludedSamples<'a> {
    sessions: SampleFacts<'a, u32>,
    rounds: SampleFacts<'a, u32>,
    ops: SampleFacts<'a, u64>,
    reasons: SampleFacts<'a, Option<&'a str>>,
    samples: ColumnsJson<'a>,
}

impl<'a> ExcludedSamples<'a> {
    fn new(cell: &'a Cell, which: SampleFilter) -> ExcludedSamples<'a> {
        ExcludedSamples {
            sessions: SampleFacts(cell, which, |sample| sample.session),
            rounds: SampleFacts(cell, which, |sample| sample.round),
            ops: SampleFacts(cell, which, |sample| sample.ops),
            reasons: SampleFacts(cell, which, |sample| sample.not_counted.as_deref()),
            samples: ColumnsJson(cell, which),
        }
    }
}

type SampleFilter = fn(&Sample) -> bool;

/// The same fact of each sample.
struct SampleFacts<'a, T>(&'a Cell, SampleFilter, fn(&'a Sample) -> T);

impl<T: Serialize> Serialize for SampleFacts<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SampleFacts(cell, which, fact) = self;
        serializer.collect_seq(cell.samples.iter().filter(|sample| which(sample)).map(fact))
    }
}

/// The values of each metric that any of the samples has.
struct ColumnsJson<'a>(&'a Cell, SampleFilter);

impl Serialize for ColumnsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ColumnsJson(cell, which) = *self;
        let columns =
            cell.values.iter().map(|(name, values)| (name, ColumnJson { cell, which, values }));
        serializer.collect_map(columns.filter(|(_, column)| column.iter().any(f64::is_finite)))
    }
}

struct ColumnJson<'a> {
    cell: &'a Cell,
    which: SampleFilter,
    values: &'a MetricColumn,
}

impl ColumnJson<'_> {
    fn iter(&self) -> impl Iterator<Item = f64> {
        let values = self.values.iter().copied().chain(std::iter::repeat(f64::NAN));
        let samples = self.cell.samples.iter().zip(values);
        samples.filter(|(sample, _)| (self.which)(sample)).map(|(_, value)| value)
    }
}

impl Serialize for ColumnJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(JsonNumber))
    }
}

/// The summaries by their metric.
struct Metrics<'a>(&'a [Summary]);

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|summary| (&summary.metric, Percentiles(summary))))
    }
}

struct Percentiles<'a>(&'a Summary);

const PERCENTILES: [u8; 7] = [0, 25, 50, 75, 90, 99, 100];
/// The percentiles that can have an interval: the smallest and the largest sample never do.
const INNER: [u8; 5] = [25, 50, 75, 90, 99];

impl Serialize for Percentiles<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let Percentiles(summary) = self;
        let at = |p: u8| rows::percentile(summary, p);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("n", &summary.n)?;
        map.serialize_entry("sessions", &summary.sessions)?;
        map.serialize_entry("ops", &summary.ops)?;
        for p in PERCENTILES {
            map.serialize_entry(
                &format!("p{p}"),
                &JsonNumber(at(p).map_or(f64::NAN, |p| p.value)),
            )?;
        }
        map.serialize_entry("unit", summary.unit)?;
        map.serialize_entry("constant", &summary.constant)?;
        // Null if there are too few samples or sessions for that bound.
        let bounds = INNER.map(|p| {
            let bounds = at(p).map_or([None; 2], |p| [p.low, p.high]);
            (format!("p{p}"), bounds.map(|bound| bound.map(JsonNumber)))
        });
        map.serialize_entry("intervals", &BTreeMap::from(bounds))?;
        map.end()
    }
}

/// A whole number without `.0`, as other programs write it; null if it is not finite.
pub(crate) struct JsonNumber(pub f64);

impl Serialize for JsonNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let JsonNumber(value) = *self;
        if value.fract() == 0.0 && value.abs() <= EXACT {
            serializer.serialize_i64(value as i64)
        } else {
            serializer.serialize_f64(value)
        }
    }
}

/// The comparisons, with methods by name instead of by index.
struct Families<'a>(&'a Run, &'a Analysis);

impl Serialize for Families<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Family<'a> {
            point: &'a Point,
            reference: Option<&'a str>,
            metric: &'a str,
            /// The reason why the methods are compared by this metric.
            why: &'a str,
            /// Those that are compared by wall time all the same.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            by_wall: Vec<&'a str>,
            best: Vec<&'a str>,
            undecided: Vec<&'a str>,
            pareto: Vec<&'a str>,
        }
        let Families(run, analysis) = self;
        let name = |index: &usize| run.cells.get(*index).map(|cell| cell.method.as_str());
        serializer.collect_seq(analysis.families.iter().map(|family| Family {
            point: &family.point,
            reference: family.reference.as_ref().and_then(name),
            metric: family.metric,
            why: &family.why,
            by_wall: family.by_wall.iter().filter_map(name).collect(),
            best: family.best.iter().filter_map(name).collect(),
            undecided: family.undecided.iter().filter_map(name).collect(),
            pareto: family.pareto.iter().filter_map(name).collect(),
        }))
    }
}

struct Notes<'a>(&'a [Warning]);

impl Serialize for Notes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct NoteJson<'a> {
            text: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            method: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            point: Option<&'a Point>,
            /// Why the method was not counted, where a metric is missing for that reason.
            #[serde(skip_serializing_if = "Option::is_none")]
            uncounted: Option<Uncounted>,
        }
        serializer.collect_seq(self.0.iter().map(|note| NoteJson {
            text: note.to_string(),
            method: note.method.as_deref(),
            point: note.point.as_ref(),
            uncounted: note.uncounted,
        }))
    }
}

/// Compact JSON in which DEL and the controls U+0080 to U+009F are escaped, too: terminals
/// interpret them, and JSON does not require the escape.
struct EscapingFormatter;

impl serde_json::ser::Formatter for EscapingFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| c.is_control()) {
            out.write_all(&rest.as_bytes()[..at])?;
            write!(out, "\\u{:04x}", u32::from(c))?;
            rest = &rest[at + c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

// The rows of a run of `numbers`.

/// A row for other programs. Times in ns.
#[derive(Serialize)]
pub(crate) struct NumbersRowJson {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    experiment: &'static str,
    method: &'static str,
    point: &'static str,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<f64>,
    /// The best value for comparing two runs.
    p10: Option<f64>,
    p25: Option<f64>,
    p50: Option<f64>,
    /// The interval by session, at 95 %.
    p50_low: Option<f64>,
    p50_high: Option<f64>,
    p90: Option<f64>,
    n: usize,
    sessions: usize,
    disturbed: usize,
    grade: Option<char>,
    published: std::collections::BTreeMap<&'static str, f64>,
}

/// The rows of a run of `numbers`; `None` for any other run.
pub(crate) fn number_rows(run: &Run) -> Option<Vec<NumbersRowJson>> {
    (view(run) == View::Rows).then(|| numbers(run).iter().map(row_json).collect())
}

/// The warnings about the rows of a run of `numbers`; `None` for any other run.
pub(crate) fn row_notes(run: &Run, analysis: &Analysis) -> Option<Vec<String>> {
    (view(run) == View::Rows).then(|| {
        let all = numbers::all_notes(run, analysis, &numbers(run)).into_iter();
        all.map(|(about, text)| about + &text).collect()
    })
}

fn row_json(number: &numbers::MeasuredNumber) -> NumbersRowJson {
    let row = number.row;
    let figures = number.figures.as_ref().ok();
    NumbersRowJson {
        name: row.name,
        title: row.title.trim(),
        unit: "ns",
        experiment: row.experiment,
        method: row.method,
        point: row.point,
        status: number.figures.as_ref().err().cloned().unwrap_or_else(|| "measured".to_owned()),
        size_bytes: number.size_bytes,
        p10: figures.map(|figures| figures.p10),
        p25: figures.map(|figures| figures.p25),
        p50: figures.map(|figures| figures.p50),
        p50_low: figures.and_then(|figures| Some(figures.interval?.0)),
        p50_high: figures.and_then(|figures| Some(figures.interval?.1)),
        p90: figures.map(|figures| figures.p90),
        n: figures.map_or(0, |figures| figures.n),
        sessions: figures.map_or(0, |figures| figures.sessions),
        disturbed: figures.map_or(0, |figures| figures.disturbed),
        grade: figures.map(|figures| figures.grade),
        published: published_values(row.published, row.published_on).into_iter().collect(),
    }
}

// A look at a run that is being measured, as one line of JSON.

/// The keys are stable; more may be added.
#[derive(Serialize)]
struct LookJson<'a> {
    event: &'static str,
    run: &'a str,
    /// Whether the run ends with this look.
    all_decided: bool,
    points: Vec<PointJson<'a>>,
}

#[derive(Serialize)]
struct PointJson<'a> {
    point: &'a Point,
    metric: &'a str,
    reference: Option<&'a str>,
    best: Vec<&'a str>,
    undecided: Vec<&'a str>,
    methods: Vec<MethodJson<'a>>,
}

#[derive(Serialize)]
struct MethodJson<'a> {
    method: &'a str,
    /// Whether it takes part in no later session.
    left: bool,
    /// The sessions that it shares with the reference, until the look.
    sessions: usize,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    verdict: Verdict,
}

pub fn look(run: &Run, decided: &StoppingDecision, left: &[bool]) -> anyhow::Result<String> {
    let points = decided.families.iter().map(|family| point(run, decided, left, family));
    let points = points.collect();
    compact(&LookJson { event: "look", run: &run.id, all_decided: decided.all, points })
}

fn point<'a>(
    run: &'a Run,
    decided: &'a StoppingDecision,
    left: &[bool],
    family: &'a Family,
) -> PointJson<'a> {
    let name = |cell: usize| run.cells.get(cell).map(|cell| cell.method.as_str());
    let names = |cells: &[usize]| cells.iter().filter_map(|cell| name(*cell)).collect();
    let method = |cell: &usize| {
        let found = decided.decision(family, *cell)?;
        Some(MethodJson {
            method: name(*cell)?,
            left: left.get(*cell) == Some(&true),
            sessions: found.sessions,
            ratio: found.ratio,
            low: found.low,
            high: found.high,
            verdict: found.verdict,
        })
    };
    PointJson {
        point: &family.point,
        metric: family.metric,
        reference: family.reference.and_then(name),
        best: names(&family.best),
        undecided: names(&family.undecided),
        methods: family.cells.iter().filter_map(method).collect(),
    }
}

#[cfg(test)]
mod tests;
