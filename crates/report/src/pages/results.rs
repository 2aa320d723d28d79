//! The table of a family: a line per method, the best first, the yardsticks below a rule.

use analysis::Comparison;
use model::metric;
use unicode_width::UnicodeWidthStr;

use super::names::{self, RowNames};
use crate::text::grid;
use crate::views::answer;
use crate::views::rows::{
    ALLOCATIONS, CPU, ExtraColumn, PEAK_RSS, Row, Rows, THROUGHPUT, WALL, WALL_LESS_WAIT, heading,
};
use crate::views::table::{
    CellKind, ColumnWithCells, RowRole, Style, Table, TableCell, TableColumn,
};
use crate::views::units::{NONE, Unit, amount, count, ratio};

/// The mark for an n that is too small for an interval.
pub(crate) const TOO_SMALL: &str = "?";

/// What a reader of a table that was fitted to a page needs to know.
pub(crate) struct TableFit {
    /// The lines above it, by which its names are understood.
    pub(crate) above: Vec<String>,
    /// The columns for which the page is too narrow.
    pub(crate) omitted: Vec<&'static str>,
    /// Whether the interval of the time is shown as ± percent.
    pub(crate) half_widths: bool,
}

/// The table with as much content as fits this width, and what it omits.
pub(super) fn fitted(rows: &Rows<'_>, width: usize) -> (Table, TableFit) {
    let of_width = |(name_width, last): (usize, TablePart)| {
        let parts = PARTS.into_iter().take_while(move |part| *part <= last).map(Some);
        let given_up = std::iter::once(None).chain(parts);
        given_up.map(move |given_up| Shape { given_up, name_width })
    };
    let mut shapes = NAME_WIDTHS.into_iter().flat_map(of_width);
    let mut shape = Shape { given_up: None, name_width: usize::MAX };
    let (mut table, mut names) = table(rows, shape);
    while grid::width(&table) > width
        && let Some(next) = shapes.next()
    {
        shape = next;
        (table, names) = self::table(rows, shape);
    }
    let half_widths = !shape.shows(TablePart::TimeBounds) && shape.shows(TablePart::TimeInterval);
    (table, TableFit { above: names.above, omitted: omitted(rows, shape), half_widths })
}

/// What a table omits, one after the other, until it fits: first what other columns also show, and
/// last the basis of the answer. At 80 columns there is mostly room for all from `TimeBounds` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TablePart {
    TimeLessWait,
    Allocations,
    SystemCalls,
    System,
    User,
    /// The least and the greatest time.
    Range,
    Throughput,
    /// The name of the reference in the heading of the ratio.
    Reference,
    /// The interval of the time from bound to bound; otherwise it is shown as ± percent.
    TimeBounds,
    TimeInterval,
    Cpu,
    PeakRss,
    /// The time before the first touch, and the sum.
    Fresh,
    RatioInterval,
}

const PARTS: [TablePart; 14] = [
    TablePart::TimeLessWait,
    TablePart::Allocations,
    TablePart::SystemCalls,
    TablePart::System,
    TablePart::User,
    TablePart::Range,
    TablePart::Throughput,
    TablePart::Reference,
    TablePart::TimeBounds,
    TablePart::TimeInterval,
    TablePart::Cpu,
    TablePart::PeakRss,
    TablePart::Fresh,
    TablePart::RatioInterval,
];

/// The widths that names may have, each with the last part that is omitted in their favour.
const NAME_WIDTHS: [(usize, TablePart); 4] = [
    (usize::MAX, TablePart::TimeBounds),
    (24, TablePart::Fresh),
    (12, TablePart::RatioInterval),
    (6, TablePart::RatioInterval),
];

/// Shows everything that comes after the last omitted part.
#[derive(Clone, Copy, Debug)]
struct Shape {
    given_up: Option<TablePart>,
    name_width: usize,
}

impl Shape {
    fn shows(self, part: TablePart) -> bool {
        self.given_up.is_none_or(|given_up| part > given_up)
    }
}

fn has(rows: &Rows<'_>, name: &str) -> bool {
    rows.iter().any(|row| row.p50(name).is_some())
}

/// Whether samples were taken in new processes.
fn is_fresh(rows: &Rows<'_>) -> bool {
    has(rows, "total_ns")
}

fn part_of(count: &str) -> TablePart {
    if count == ALLOCATIONS { TablePart::Allocations } else { TablePart::SystemCalls }
}

fn table(rows: &Rows<'_>, shape: Shape) -> (Table, RowNames) {
    let names = names::of_rows(rows, shape.name_width);
    let mut table = Table::of_columns(columns(rows, shape, &names));
    let below = table.rows.iter_mut().skip(rows.contenders.len());
    for (i, row) in below.enumerate() {
        row.style = Style::Dim;
        row.is_ruled = i == 0 && !rows.contenders.is_empty();
    }
    (table, names)
}

fn columns(rows: &Rows<'_>, shape: Shape, names: &RowNames) -> Vec<ColumnWithCells> {
    let mut columns = name(rows, names);
    columns.extend(time(rows, shape));
    if rows.iter().any(|row| row.comparison.is_some()) {
        columns.push(ratios(rows, shape, names));
    }
    if shows_verdicts(rows) {
        let verdict = TableColumn::left("").unit("verdict");
        columns.push(verdict.with_cells(rows.iter(), |row| rows.verdict(row)));
    }
    if shape.shows(TablePart::Cpu) {
        columns.push(figures(rows, CPU, metric::heading(CPU)));
    }
    if shape.shows(TablePart::PeakRss) {
        columns.push(figures(rows, PEAK_RSS, "memory"));
    }
    columns.extend(rows.further().map(|(name, heading)| figures(rows, name, heading)));
    if shape.shows(TablePart::Fresh) && is_fresh(rows) {
        let fresh = ["startup_ns", "prepare_ns", "total_ns"].into_iter();
        columns.extend(fresh.map(|name| figures(rows, name, heading(name))));
    }
    columns.extend(where_there_is_room(rows, shape));
    columns
}

/// The columns that a narrow page does not show, in the reverse order in which they are given up.
fn where_there_is_room(rows: &Rows<'_>, shape: Shape) -> Vec<ColumnWithCells> {
    let mut columns = Vec::new();
    if shape.shows(TablePart::Throughput) && has(rows, THROUGHPUT) {
        columns.push(figures(rows, THROUGHPUT, metric::heading(THROUGHPUT)));
    }
    if shape.shows(TablePart::Range) && rows.left.is_none() {
        columns.push(range(rows));
    }
    let parts = [(TablePart::User, ExtraColumn::User), (TablePart::System, ExtraColumn::Sys)];
    for (part, more) in parts {
        let name = more.metric();
        let stands_already = rows.further().any(|(known, _)| known == name);
        if shape.shows(part) && has(rows, name) && !stands_already {
            columns.push(figures(rows, name, metric::heading(name)));
        }
    }
    let shown = rows.counts.iter().filter(|count| shape.shows(part_of(count)));
    columns.extend(shown.map(|count| counts(rows, count)));
    if shape.shows(TablePart::TimeLessWait) && rows.less_wait() {
        columns.push(figures(rows, WALL_LESS_WAIT, TIME_LESS_WAIT));
    }
    columns
}

const TIME_LESS_WAIT: &str = "time − wait";

/// One method alone has none, unless something is wrong with it.
fn shows_verdicts(rows: &Rows<'_>) -> bool {
    let is_plain = |row: &Row<'_>| rows.role(row) == RowRole::Reference;
    rows.iter().count() > 1 || !rows.iter().all(is_plain)
}

/// Whether a table has stars: nothing has one where no method is shown to be the fastest.
pub(super) fn has_stars(rows: &Rows<'_>) -> bool {
    rows.left.is_none() && answer::fastest(rows).is_some()
}

/// The star of what is not shown slower than the fastest, and the name.
fn name(rows: &Rows<'_>, names: &RowNames) -> Vec<ColumnWithCells> {
    let fastest = answer::fastest(rows).filter(|_| rows.left.is_none());
    let star = |row: &Row<'_>| match fastest {
        Some(fastest) if fastest == row.index => "*",
        Some(_) if rows.family.best.contains(&row.index) => "*",
        Some(_) if rows.family.undecided.contains(&row.index) => "*",
        _ => "",
    };
    let code = |text: &String| TableCell { kind: CellKind::Code, ..text.as_str().into() };
    let mark = TableColumn { gap: 0, width_min: 1, ..TableColumn::left("").unit("") };
    let what = if rows.is_bench { "command" } else { "method" };
    let name = TableColumn { gap: 1, ..TableColumn::left("").unit(what) };
    vec![mark.with_cells(rows.iter(), star), name.with_cells(names.texts.iter(), code)]
}

/// The median time, and its interval: from bound to bound, or as ± percent.
fn time(rows: &Rows<'_>, shape: Shape) -> Vec<ColumnWithCells> {
    let unit = unit(rows, WALL);
    // The intervals of percentiles are computed at the end of a run.
    if !shape.shows(TablePart::TimeInterval) || rows.left.is_some() {
        return vec![figures(rows, WALL, "time p50")];
    }
    let bounds = shape.shows(TablePart::TimeBounds);
    let interval = |row: &Row<'_>| {
        let Some(p) = row.p50(WALL) else { return String::new() };
        match (p.low, p.high, unit) {
            (Some(low), Some(high), Some(unit)) if bounds => {
                format!("{}–{}", unit.number(low), unit.number(high))
            }
            (Some(low), Some(high), _) => half_width([low, high], p.value, unit),
            _ => TOO_SMALL.to_owned(),
        }
    };
    // One heading above both columns.
    let below = if bounds { "95 %" } else { "±" };
    let column = TableColumn { gap: 1, ..TableColumn::left("p50").unit(below) };
    vec![figures(rows, WALL, "time"), column.with_cells(rows.iter(), interval)]
}

/// From this many percent on, the bounds of an interval say more than its width.
const HALF_WIDTH_MAX: f64 = 50.0;

/// The longer half of an interval, in percent of the value; the bounds of a wide one.
fn half_width([low, high]: [f64; 2], of: f64, unit: Option<Unit>) -> String {
    let percent = 100.0 * (of - low).max(high - of) / of;
    match percent {
        p if !p.is_finite() => TOO_SMALL.to_owned(),
        p if p >= HALF_WIDTH_MAX => {
            let unit = unit.unwrap_or_else(|| Unit::for_values(metric::unit(WALL), [of]));
            format!("{}–{}", unit.number(low), unit.number(high))
        }
        p if p >= 9.95 => format!("±{p:.0}%"),
        p => format!("±{p:.1}%"),
    }
}

/// A longer name of the reference is not part of a heading.
const REFERENCE_WIDTH: usize = 8;

/// The ratio to the reference, and its interval.
fn ratios(rows: &Rows<'_>, shape: Shape, names: &RowNames) -> ColumnWithCells {
    let bounds = |c: &Comparison| Some((c.low?, c.high?));
    let decimals = decimals(rows);
    let point = |row: &Row<'_>| match row.comparison {
        _ if rows.is_reference(row) => ratio(1.0, decimals),
        Some(comparison) if !row.wrong() => {
            comparison.ratio.map_or(NONE.to_owned(), |value| ratio(value, decimals))
        }
        _ => String::new(),
    };
    let width = rows.iter().map(|row| point(row).width()).max().unwrap_or(0);
    let interval = |row: &Row<'_>| match row.comparison {
        Some(comparison) if comparison.ratio.is_some() => match bounds(comparison) {
            Some((low, high)) => format!("{}–{}", ratio(low, decimals), ratio(high, decimals)),
            None if rows.left.is_some() => String::new(),
            None => TOO_SMALL.to_owned(),
        },
        _ => String::new(),
    };
    let text = |row: &Row<'_>| {
        let point = point(row);
        let point = format!("{}{point}", " ".repeat(width - point.width()));
        let with_interval = format!("{point} {}", interval(row));
        let text = if shape.shows(TablePart::RatioInterval) { with_interval } else { point };
        text.trim_end().to_owned()
    };
    let reference = rows.iter().position(|row| rows.is_reference(row));
    let reference = reference.and_then(|at| names.texts.get(at));
    let column = if shape.shows(TablePart::RatioInterval) {
        let is_short = |name: &&String| name.width() <= REFERENCE_WIDTH;
        let heading = match reference.filter(is_short) {
            Some(name) if shape.shows(TablePart::Reference) => format!("× the time of {name}"),
            _ => "× the reference".to_owned(),
        };
        TableColumn::left(&heading).unit("by round, 95 %")
    } else {
        TableColumn::left("ratio").unit("")
    };
    column.with_cells(rows.iter(), text)
}

fn decimals(rows: &Rows<'_>) -> usize {
    let width = |comparison: &Comparison| Some(comparison.high? - comparison.low?);
    let widths = rows.iter().filter_map(|row| width(row.comparison?));
    if widths.fold(f64::INFINITY, f64::min) < 0.05 { 3 } else { 2 }
}

/// From this difference on, a reader sees that a ratio is not the quotient of two times.
const SEEN: f64 = 0.02;

/// The first quotient of two times of the table that is visibly not the ratio beside it.
pub(super) fn other_quotient(rows: &Rows<'_>) -> Option<String> {
    let reference = rows.reference().and_then(|row| row.p50(WALL))?.value;
    let unit = unit(rows, WALL);
    let text = |time: f64| unit.map_or_else(|| amount("ns", time), |unit| unit.number(time));
    let differs = |row: &Row<'_>| {
        let ratio = row.comparison.and_then(|comparison| comparison.ratio)?;
        let time = row.p50(WALL)?.value;
        let is_seen = (time / reference / ratio).ln().abs() > SEEN;
        is_seen.then(|| format!("{} / {}", text(time), text(reference)))
    };
    rows.contenders.iter().filter(|row| !row.wrong()).find_map(differs)
}

/// The unit of a metric's column; none if each value has its own.
fn unit(rows: &Rows<'_>, name: &str) -> Option<Unit> {
    let stored = metric::unit(name);
    let given = rows.options.time_unit.and_then(|unit| unit.find(stored));
    let values = rows.iter().filter_map(|row| Some(row.p50(name)?.value));
    given.or_else(|| Unit::common(stored, values))
}

/// The p50 of a metric in one unit, or each value in its own unit.
fn figures(rows: &Rows<'_>, name: &str, title: &str) -> ColumnWithCells {
    let (stored, unit) = (metric::unit(name), unit(rows, name));
    let text = |value: f64| unit.map_or_else(|| amount(stored, value), |unit| unit.number(value));
    let shown = unit.filter(|_| has(rows, name));
    let column = TableColumn::right(title).unit(shown.map_or("", |unit| unit.name));
    let value = |row: &Row<'_>| row.p50(name).map_or(NONE.to_owned(), |p50| text(p50.value));
    column.with_cells(rows.iter(), value)
}

/// The least and the greatest time, in the unit of the median.
fn range(rows: &Rows<'_>) -> ColumnWithCells {
    let unit = unit(rows, WALL);
    let text = |value: f64| unit.map_or_else(|| amount("ns", value), |unit| unit.number(value));
    let cell = |row: &Row<'_>| match row.range(WALL) {
        Some((least, most)) => format!("{}–{}", text(least), text(most)),
        None => NONE.to_owned(),
    };
    let shown = unit.filter(|_| has(rows, WALL));
    let column = TableColumn::right("min … max").unit(shown.map_or("", |unit| unit.name));
    column.with_cells(rows.iter(), cell)
}

/// The p50 of a count: the exact count if it is the same in all samples.
fn counts(rows: &Rows<'_>, name: &str) -> ColumnWithCells {
    let text = |row: &Row<'_>| match row.p50(name) {
        Some(p50) if row.is_constant(name) => count(p50.value).replace(' ', ""),
        Some(p50) => amount("count", p50.value).replace(' ', ""),
        None => NONE.to_owned(),
    };
    TableColumn::right(metric::short_heading(name)).unit("").with_cells(rows.iter(), text)
}

fn omitted(rows: &Rows<'_>, shape: Shape) -> Vec<&'static str> {
    let parts = [
        (TablePart::TimeInterval, "interval of the time"),
        (TablePart::RatioInterval, "interval of the ratio"),
        (TablePart::Cpu, metric::heading(CPU)),
        (TablePart::PeakRss, "memory"),
        (TablePart::Fresh, "start-up, prepare, total"),
        (TablePart::Throughput, metric::heading(THROUGHPUT)),
        (TablePart::Range, "min … max"),
        (TablePart::User, "user"),
        (TablePart::System, "system"),
        (TablePart::TimeLessWait, TIME_LESS_WAIT),
    ];
    let is_there = |part: TablePart| match part {
        TablePart::Throughput => has(rows, THROUGHPUT),
        TablePart::Fresh => is_fresh(rows),
        TablePart::User => has(rows, ExtraColumn::User.metric()),
        TablePart::System => has(rows, ExtraColumn::Sys.metric()),
        TablePart::TimeLessWait => rows.less_wait(),
        _ => true,
    };
    let left = parts.iter().filter(|(part, _)| !shape.shows(*part) && is_there(*part));
    let counts = rows.counts.iter().filter(|count| !shape.shows(part_of(count)));
    let counts = counts.map(|name| metric::short_heading(name));
    left.map(|(_, name)| *name).chain(counts).collect()
}
