//! A family of the analysis for the reports: its measured cells, the best first.

use std::collections::BTreeMap;

use analysis::{
    Analysis, CellSummary, Comparison, Family, Percentile, Summary, Unusable, Verdict,
    margin_percent,
};
use model::descriptor::Descriptor;
pub(crate) use model::metric::{
    ALLOCATIONS, CPU, PEAK_RSS, SYSCALLS, THROUGHPUT, WALL, WALL_LESS_WAIT,
};
use model::run::{Cell, Design, Role, Run};

use super::VaryingParams;
use super::table::{self, CellKind, RowRole};
use super::units::Unit;

pub(crate) struct Rows<'a> {
    pub family: &'a Family,
    /// The best first; those with a wrong answer last.
    pub contenders: Vec<Row<'a>>,
    pub yardsticks: Vec<Row<'a>>,
    /// The columns of counts: those that a row has, or whose absence in all rows has a known
    /// reason.
    pub counts: Vec<&'static str>,
    pub options: TableOptions<'a>,
    /// The metrics that the experiment is about, of those that a row has.
    pub about: Vec<&'a str>,
    /// While the run is measured: by cell of the run, whether it is measured no further.
    pub left: Option<&'a [bool]>,
    /// The difference up to which two methods are the same.
    pub margin_percent: f64,
    /// Whether its methods are commands that a user typed.
    pub(crate) is_bench: bool,
}

/// By method, the values that were put in its command.
pub type Parameters = BTreeMap<String, BTreeMap<String, String>>;

/// How the user wants the tables.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions<'a> {
    /// Further columns.
    pub more: &'a [ExtraColumn],
    /// Metrics of this experiment alone.
    pub own: &'a [String],
    /// The parameters of commands, which name the rows where there is no room for the commands.
    pub parameters: Option<&'a Parameters>,
    /// The unit of all times; none: each column has the one that fits.
    pub time_unit: Option<TimeUnit>,
    pub order: RowOrder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TimeUnit {
    Microsecond,
    Millisecond,
    Second,
}

impl TimeUnit {
    /// The unit of this name; `None` for a metric that is no time.
    pub fn find(self, stored: &str) -> Option<Unit> {
        let name = match self {
            TimeUnit::Microsecond => "µs",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Second => "s",
        };
        Unit::ladder(stored).iter().find(|unit| unit.name == name).copied()
    }
}

/// The order of the lines of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RowOrder {
    /// By time, the best first
    #[default]
    Auto,
    /// As the commands were given
    Command,
    /// By time, the best first
    MeanTime,
}

/// A column that is shown on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExtraColumn {
    /// The CPU time in user mode
    User,
    /// The CPU time in the kernel
    Sys,
}

impl ExtraColumn {
    pub fn metric(self) -> &'static str {
        match self {
            ExtraColumn::User => "user_ns",
            ExtraColumn::Sys => "system_ns",
        }
    }
}

/// The metrics that have a column in all tables.
const EVERYWHERE: [&str; 5] = [WALL, WALL_LESS_WAIT, CPU, PEAK_RSS, THROUGHPUT];

/// The columns of counts.
pub(crate) const COUNTS: [&str; 2] = [SYSCALLS, ALLOCATIONS];

#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    /// Index into `Run::cells`.
    pub index: usize,
    pub cell: &'a Cell,
    pub summary: Option<&'a CellSummary>,
    /// The comparison that decides between this cell and the reference.
    pub comparison: Option<&'a Comparison>,
}

/// The rows of each point of the run, in the order of the points.
pub(crate) fn all<'a>(run: &'a Run, analysis: &'a Analysis) -> Vec<Rows<'a>> {
    let decisions = decisions(analysis);
    let mut all: Vec<Rows<'_>> =
        analysis.families.iter().map(|family| rows(run, analysis, family, &decisions)).collect();
    let had = |count: &&str| {
        all.iter().flat_map(Rows::iter).any(|row| row.p50(count).is_some())
            || missing(analysis).any(|(metric, _, _)| metric == *count)
    };
    let counts: Vec<&str> = COUNTS.into_iter().filter(had).collect();
    let about = Descriptor::of(run).primary_metrics;
    for rows in &mut all {
        rows.counts.clone_from(&counts);
        let is_there = |name: &&str| rows.iter().any(|row| row.p50(name).is_some());
        let has_column = |name: &&str| EVERYWHERE.contains(name) || COUNTS.contains(name);
        rows.about =
            about.iter().copied().filter(|name| is_there(name) && !has_column(name)).collect();
    }
    all
}

/// The missing metrics: the method, unless it applies to all, and the reason.
pub(crate) fn missing(analysis: &Analysis) -> impl Iterator<Item = (&str, Option<&str>, &str)> {
    analysis.notes.iter().filter_map(|warning| {
        let (metric, why) = warning.missing_metric()?;
        Some((metric, warning.method.as_deref(), why))
    })
}

/// The heading of a narrow column.
pub(crate) fn heading(name: &str) -> &str {
    if name == "size_bytes" { "size" } else { model::metric::short_heading(name) }
}

/// The heading of a metric that all tables have: the word that its readers use.
pub(crate) fn word(name: &str) -> &str {
    match name {
        WALL => "time",
        PEAK_RSS => "memory",
        name => model::metric::heading(name),
    }
}

/// The analysis of the run's cell with this index.
pub(crate) fn summary(analysis: &Analysis, index: usize) -> Option<&CellSummary> {
    analysis.cells.get(index).filter(|summary| summary.cell == index)
}

/// The summary of a metric, if any counted sample has it.
pub(crate) fn metric<'a>(summary: Option<&'a CellSummary>, name: &str) -> Option<&'a Summary> {
    summary?.metrics.iter().find(|summary| summary.metric == name && summary.n > 0)
}

pub(crate) fn percentile(summary: &Summary, p: u8) -> Option<&Percentile> {
    summary.percentiles.iter().find(|found| (found.p - f64::from(p)).abs() < 1e-9)
}

/// Like [`all`], with the order, columns and units of these options.
pub(crate) fn arranged<'a>(
    run: &'a Run,
    analysis: &'a Analysis,
    options: TableOptions<'a>,
) -> Vec<Rows<'a>> {
    let mut all = all(run, analysis);
    for rows in &mut all {
        rows.options = options;
        if options.order == RowOrder::Command {
            rows.contenders.sort_by_key(|row| row.index);
        }
    }
    all
}

impl<'a> Rows<'a> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Row<'a>> + Clone {
        self.contenders.iter().chain(&self.yardsticks)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Row<'a>> {
        self.iter().find(|row| row.index == index)
    }

    pub(crate) fn reference(&self) -> Option<&Row<'a>> {
        self.get(self.family.reference?)
    }

    /// Further metrics, each with its heading: those that the experiment is about, those that are
    /// requested, and those of this experiment alone.
    pub(crate) fn further(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let requested = self.options.more.iter().map(|more| more.metric());
        let requested = requested.filter(|name| !self.about.contains(name));
        let known = self.about.iter().copied().chain(requested).map(|name| (name, heading(name)));
        let own = self.options.own.iter().map(|name| (name.as_str(), name.as_str()));
        known.chain(own)
    }

    /// Whether the reference is this row.
    pub(crate) fn is_reference(&self, row: &Row<'_>) -> bool {
        self.family.reference == Some(row.index)
    }

    /// The deciding metric and the reason, for the notes.
    pub(crate) fn judged_by(&self) -> Option<String> {
        let Family { compared, why, by_wall, .. } = self.family;
        let metric =
            if self.less_wait() { "time without the wait for a CPU" } else { "whole time" };
        let rows = || self.contenders.iter().filter(|row| by_wall.contains(&row.index));
        let names = rows().map(Row::name).collect::<Vec<_>>().join(", ");
        let by_wall = match rows().count() {
            0 => String::new(),
            _ => format!(
                " By the whole time, because their wait is not known or they wait for something \
                 else, too: {names}."
            ),
        };
        (compared.len() > 1 && !why.is_empty())
            .then(|| format!("Verdicts are by the {metric}: {why}.{by_wall}"))
    }

    pub(crate) fn role(&self, row: &Row<'_>) -> RowRole {
        if row.wrong() {
            RowRole::Compared(Verdict::WrongAnswer)
        } else if row.cell.role == Role::Yardstick {
            RowRole::Yardstick
        } else if row.unusable().is_some() {
            RowRole::Unusable
        } else if self.left.is_none() && row.is_estimate() {
            RowRole::Estimate
        } else if self.is_reference(row) {
            RowRole::Reference
        } else {
            match row.comparison {
                None => RowRole::Compared(Verdict::Missing),
                // No look has decided anything yet.
                Some(one) if self.left.is_some() && is_without_interval(one) => {
                    RowRole::Compared(one.verdict)
                }
                Some(one) => role_of(one),
            }
        }
    }

    /// The verdict in words.
    pub(crate) fn verdict(&self, row: &Row<'_>) -> table::TableCell {
        let role = self.role(row);
        let shown = matches!(role, RowRole::Compared(Verdict::Faster | Verdict::Slower));
        let small = row.comparison.is_some_and(|comparison| comparison.below_relevance);
        let relevance = format!(" <{} %", self.margin_percent);
        let relevance = if shown && small { relevance.as_str() } else { "" };
        let beside = row.comparison.is_some_and(|comparison| comparison.beside_load);
        let beside = if shown && beside { " beside this load" } else { "" };
        let mut text = format!("{}{relevance}{beside}", role.word());
        if let Some(left) = self.left {
            if matches!(role, RowRole::Compared(Verdict::Undecided | Verdict::Missing))
                && row.comparison.is_none_or(|comparison| comparison.low.is_none())
            {
                // No look has decided anything yet.
                text.clear();
            }
            if left.get(row.index) == Some(&true) {
                text += ", done";
            }
        }
        table::TableCell { kind: CellKind::Verdict(role), ..text.into() }
    }

    /// Whether the deciding metric excludes waiting for a CPU.
    pub(crate) fn less_wait(&self) -> bool {
        self.family.metric == WALL_LESS_WAIT
    }
}

impl<'a> Row<'a> {
    pub(crate) fn name(&self) -> &'a str {
        &self.cell.method
    }

    pub(crate) fn p50(&self, name: &str) -> Option<&'a Percentile> {
        percentile(metric(self.summary, name)?, 50)
            .filter(|percentile| percentile.value.is_finite())
    }

    /// The least and the greatest value.
    pub(crate) fn range(&self, name: &str) -> Option<(f64, f64)> {
        let summary = metric(self.summary, name)?;
        let [least, most] = [0, 100].map(|p| percentile(summary, p).map(|found| found.value));
        least.zip(most).filter(|(least, most)| least.is_finite() && most.is_finite())
    }

    /// Whether its figures are those of the run that warmed it up.
    pub(crate) fn is_estimate(&self) -> bool {
        self.cell.estimate().is_some()
    }

    /// Whether all samples have the same value.
    pub(crate) fn is_constant(&self, name: &str) -> bool {
        metric(self.summary, name).is_some_and(|summary| summary.constant)
    }

    /// Why its figures cannot be compared, so that it has no verdict.
    pub(crate) fn unusable(&self) -> Option<Unusable> {
        self.summary?.unusable
    }

    pub(crate) fn wrong(&self) -> bool {
        self.summary.is_some_and(|summary| summary.wrong_answer)
    }

    /// Whether an interval of the table is missing because n is too small.
    pub(crate) fn lacks_interval(&self) -> bool {
        let lacks =
            |name| self.p50(name).is_some_and(|p50| p50.low.is_none() || p50.high.is_none());
        [WALL, WALL_LESS_WAIT].into_iter().any(lacks)
            || self.comparison.is_some_and(|c| c.ratio.is_some() && c.low.is_none())
    }
}

/// Whether a difference was found and is not trusted: the interval excludes 1, or is doubted.
pub(crate) fn is_kept_back(comparison: &Comparison) -> bool {
    let excludes_1 = comparison.low.is_some_and(|low| low > 1.0)
        || comparison.high.is_some_and(|high| high < 1.0);
    let undecided = comparison.verdict == Verdict::Undecided;
    comparison.doubt.is_some() || undecided && excludes_1
}

/// Whether nothing can be decided for want of an interval.
pub(crate) fn is_without_interval(comparison: &Comparison) -> bool {
    comparison.verdict == Verdict::Undecided && comparison.low.is_none()
}

/// What is said of a method that was compared with the reference.
pub(crate) fn role_of(comparison: &Comparison) -> RowRole {
    match comparison.verdict {
        _ if is_kept_back(comparison) => RowRole::InDoubt,
        _ if is_without_interval(comparison) => RowRole::NoInterval,
        verdict => RowRole::Compared(verdict),
    }
}

/// The deciding comparison of each cell with each reference. A sweep has thousands of comparisons:
/// they are searched once.
type Decisions<'a> = BTreeMap<(usize, usize), &'a Comparison>;

fn decisions(analysis: &Analysis) -> Decisions<'_> {
    let deciding = analysis.comparisons.iter().filter(|comparison| comparison.decides);
    deciding.map(|comparison| ((comparison.cell, comparison.reference_cell), comparison)).collect()
}

fn rows<'a>(
    run: &'a Run,
    analysis: &'a Analysis,
    family: &'a Family,
    decisions: &Decisions<'a>,
) -> Rows<'a> {
    let decision = |index| decisions.get(&(index, family.reference?)).copied();
    let mut rows: Vec<Row<'_>> = (family.cells.iter())
        .filter_map(|index| Some((*index, run.cells.get(*index)?)))
        .filter(|(_, cell)| cell.has_figures())
        .map(|(index, cell)| Row {
            index,
            cell,
            summary: summary(analysis, index),
            comparison: decision(index),
        })
        .collect();
    let rank = Rank::new(&rows, family, run.plan.design);
    rows.sort_by(|a, b| a.wrong().cmp(&b.wrong()).then(rank.of_row(a).total_cmp(&rank.of_row(b))));
    let (yardsticks, contenders) =
        rows.into_iter().partition(|row| row.cell.role == Role::Yardstick);
    let margin_percent = margin_percent(&run.plan);
    let (counts, about, left) = (Vec::new(), Vec::new(), None);
    let options = TableOptions::default();
    let is_bench = run.is_bench();
    Rows { family, contenders, yardsticks, counts, options, about, left, margin_percent, is_bench }
}

/// The sort key of rows: the deciding metric. A row without it is sorted by its wall time relative
/// to the reference's. Where methods leave, those that were compared are sorted by the ratio: their
/// p50s are of different sessions.
struct Rank {
    metric: &'static str,
    per_wall: f64,
    /// The p50 of the reference, by which a ratio is multiplied.
    of_reference: Option<f64>,
}

impl Rank {
    fn new(rows: &[Row<'_>], family: &Family, design: Design) -> Rank {
        let reference = rows.iter().find(|row| Some(row.index) == family.reference);
        let p50 = |name| Some(reference?.p50(name)?.value);
        let per_wall = match (p50(family.metric), p50(WALL)) {
            (Some(deciding), Some(wall)) if wall > 0.0 => deciding / wall,
            _ => 1.0,
        };
        let of_reference = p50(family.metric).filter(|_| !design.is_fixed());
        Rank { metric: family.metric, per_wall, of_reference }
    }

    fn of_row(&self, row: &Row<'_>) -> f64 {
        let ratio = row.comparison.and_then(|comparison| comparison.ratio);
        if let Some((of_reference, ratio)) = self.of_reference.zip(ratio) {
            return of_reference * ratio;
        }
        let wall = || Some(row.p50(WALL)?.value * self.per_wall);
        row.p50(self.metric).map(|p50| p50.value).or_else(wall).unwrap_or(f64::INFINITY)
    }
}

/// The number of sessions and rounds for which each method of a run was measured; `None` if all
/// methods took part in all sessions.
pub(crate) fn measured_for(
    run: &Run,
    analysis: &Analysis,
    varying: &VaryingParams<'_>,
) -> Option<String> {
    if run.plan.design.is_fixed() {
        return None;
    }
    let mut groups: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for (cell, summary) in run.cells.iter().zip(&analysis.cells) {
        if let Some(wall) = metric(Some(summary), WALL) {
            let name = format!("{}{}", cell.method, varying.in_parentheses(&cell.point));
            groups.entry((wall.sessions, wall.n)).or_default().push(name);
        }
    }
    let said = groups.iter().rev().map(|((sessions, rounds), names)| {
        format!("{} in {sessions} sessions ({rounds} rounds)", names.join(", "))
    });
    let said: Vec<String> = said.collect();
    let last = "decided methods are not measured any more.";
    (!said.is_empty()).then(|| format!("{}; {last}", said.join("; ")))
}
