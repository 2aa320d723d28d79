//! The table of a family: a line per method, the best first, the yardsticks below a rule.

use analysis::Comparison;
use model::metric;

use crate::text::grid;
use crate::views::rows::{
    ALLOCATIONS, CPU, PEAK_RSS, Row, Rows, THROUGHPUT, WALL, WALL_LESS_WAIT, heading,
};
use crate::views::table::{ColumnWithCells, Style, Table, TableColumn};
use crate::views::units::{NONE, Unit, amount, count, ratio};
use crate::views::words::{escape_controls, shortened};

/// The mark for an n that is too small for an interval.
pub(crate) const TOO_SMALL: &str = "?";

/// The parts that were omitted from a table, so that the page can mention them.
#[derive(Default)]
pub(crate) struct Omitted {
    pub columns: Vec<&'static str>,
    /// Shortened names, each with the full one.
    pub names: Vec<(String, String)>,
    /// Whether the interval of the wall time is shown as ± percent.
    pub(crate) half_widths: bool,
}

/// The table with as much content as fits this width, and what it omits.
pub(super) fn fitted(rows: &Rows<'_>, width: usize) -> (Table, Omitted) {
    let mut shape = Shape::default();
    let mut parts = PARTS.into_iter();
    let mut table = table(rows, shape);
    while grid::width(&table) > width
        && let Some(part) = parts.next()
    {
        shape.given_up = Some(part);
        table = self::table(rows, shape);
    }
    (table, left(rows, shape))
}

/// What a table omits, one after the other, until it fits: first what other columns also show, and
/// last the basis of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TablePart {
    LongHeadings,
    /// The interval of the wall time from bound to bound; otherwise it is shown as ± percent.
    WallBounds,
    Throughput,
    Allocations,
    SystemCalls,
    WallInterval,
    /// Names of more than 24 columns.
    LongNames,
    Cpu,
    PeakRss,
    /// The time before the first touch, and the sum.
    Fresh,
    /// Names of more than 12 columns.
    Names,
    RatioInterval,
    /// Names of more than 6 columns.
    ShortNames,
}

const PARTS: [TablePart; 13] = [
    TablePart::LongHeadings,
    TablePart::WallBounds,
    TablePart::Throughput,
    TablePart::Allocations,
    TablePart::SystemCalls,
    TablePart::WallInterval,
    TablePart::LongNames,
    TablePart::Cpu,
    TablePart::PeakRss,
    TablePart::Fresh,
    TablePart::Names,
    TablePart::RatioInterval,
    TablePart::ShortNames,
];

/// Shows everything that comes after the last omitted part.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    given_up: Option<TablePart>,
}

impl Shape {
    fn shows(self, part: TablePart) -> bool {
        self.given_up.is_none_or(|given_up| part > given_up)
    }

    fn name_width(self) -> usize {
        let limits =
            [(TablePart::ShortNames, 6), (TablePart::Names, 12), (TablePart::LongNames, 24)];
        limits.iter().find(|(part, _)| !self.shows(*part)).map_or(usize::MAX, |(_, width)| *width)
    }
}

/// A job without payload has no throughput, which is then not missing.
fn has_throughput(rows: &Rows<'_>) -> bool {
    rows.iter().any(|row| row.p50(THROUGHPUT).is_some())
}

/// Whether samples were taken in new processes.
fn is_fresh(rows: &Rows<'_>) -> bool {
    rows.iter().any(|row| row.p50("total_ns").is_some())
}

fn part_of(count: &str) -> TablePart {
    if count == ALLOCATIONS { TablePart::Allocations } else { TablePart::SystemCalls }
}

/// The deciding metric is the first column, with its interval.
fn judged(rows: &Rows<'_>) -> (&'static str, [&'static str; 3]) {
    if rows.less_wait() {
        (WALL_LESS_WAIT, ["wall − wait", "−wait", "interval of wall − wait"])
    } else {
        (WALL, ["wall p50", "wall", "interval of wall"])
    }
}

/// If space is scarce, the time less the wait replaces it: for one thread they are nearly equal.
fn shows_cpu(rows: &Rows<'_>, shape: Shape) -> bool {
    shape.shows(TablePart::Cpu) && (!rows.less_wait() || shape.shows(TablePart::WallInterval))
}

fn table(rows: &Rows<'_>, shape: Shape) -> Table {
    let mut table = Table::of_columns(columns(rows, shape));
    let below = table.rows.iter_mut().skip(rows.contenders.len());
    for (i, row) in below.enumerate() {
        row.style = Style::Dim;
        row.is_ruled = i == 0 && !rows.contenders.is_empty();
    }
    table
}

fn columns(rows: &Rows<'_>, shape: Shape) -> Vec<ColumnWithCells> {
    let name = |row: &Row<'_>| name(row, shape);
    let mut columns = vec![
        TableColumn { gap: 0, ..TableColumn::left("").unit("  method") }
            .with_cells(rows.iter(), name),
    ];
    let long = |name: &'static str, short| {
        if shape.shows(TablePart::LongHeadings) { metric::heading(name) } else { short }
    };
    columns.extend(time(rows, shape));
    if rows.less_wait() {
        columns.push(figures(rows, WALL, metric::heading(WALL)).0);
    }
    if shape.shows(TablePart::Throughput) && has_throughput(rows) {
        columns.push(figures(rows, THROUGHPUT, long(THROUGHPUT, "")).0);
    }
    if shows_cpu(rows, shape) {
        columns.push(figures(rows, CPU, metric::heading(CPU)).0);
    }
    columns.extend(rows.further().map(|(name, heading)| figures(rows, name, heading).0));
    if shape.shows(TablePart::PeakRss) {
        columns.push(figures(rows, PEAK_RSS, long(PEAK_RSS, metric::short_heading(PEAK_RSS))).0);
    }
    if shape.shows(TablePart::Fresh) && is_fresh(rows) {
        let fresh = ["startup_ns", "prepare_ns", "total_ns"].into_iter();
        columns.extend(fresh.map(|name| figures(rows, name, heading(name)).0));
    }
    let shown = rows.counts.iter().filter(|count| shape.shows(part_of(count)));
    columns.extend(shown.map(|count| counts(rows, count)));
    columns.extend(ratios(rows, shape));
    columns.push(
        TableColumn::left("").unit("verdict").with_cells(rows.iter(), |row| rows.verdict(row)),
    );
    columns
}

fn name(row: &Row<'_>, shape: Shape) -> String {
    let mark = if row.pareto { "* " } else { "  " };
    format!("{mark}{}", shortened(&escape_controls(row.name()), shape.name_width()))
}

/// The p50 of the deciding time, and its interval: from bound to bound, or as ± percent.
fn time(rows: &Rows<'_>, shape: Shape) -> Vec<ColumnWithCells> {
    let (judged, [long, short, _]) = judged(rows);
    let is_narrow = rows.less_wait() && !shape.shows(TablePart::LongHeadings);
    let (mut p50, unit) = figures(rows, judged, if is_narrow { short } else { long });
    if !shape.shows(TablePart::WallInterval) {
        return vec![p50];
    }
    let headings = match (shape.shows(TablePart::LongHeadings), shape.shows(TablePart::WallBounds))
    {
        (true, _) => [long, "95 %", "interval"],
        // One heading above two narrow columns.
        (false, true) => [short, "p50", "95 %"],
        (false, false) => [short, "p50", "±"],
    };
    headings[0].clone_into(&mut p50.0.heading[0]);
    if rows.left.is_some() {
        // The intervals of percentiles are computed at the end of a run.
        return vec![p50];
    }
    let interval = |row: &Row<'_>| {
        let Some(p) = row.p50(judged) else { return String::new() };
        match (p.low, p.high, unit) {
            (Some(low), Some(high), Some(unit)) if shape.shows(TablePart::WallBounds) => {
                format!("{}–{}", unit.number(low), unit.number(high))
            }
            (Some(low), Some(high), _) => half_width((p.value - low).max(high - p.value), p.value),
            _ => TOO_SMALL.to_owned(),
        }
    };
    let column = TableColumn { gap: 1, ..TableColumn::left(headings[1]).unit(headings[2]) };
    vec![p50, column.with_cells(rows.iter(), interval)]
}

fn half_width(half_width: f64, of: f64) -> String {
    let percent = 100.0 * half_width / of;
    match percent {
        p if !p.is_finite() => TOO_SMALL.to_owned(),
        p if p >= 9.95 => format!("±{p:.0}%"),
        p => format!("±{p:.1}%"),
    }
}

fn ratios(rows: &Rows<'_>, shape: Shape) -> Vec<ColumnWithCells> {
    let bounds = |c: &Comparison| Some((c.low?, c.high?));
    let narrowest = (rows.iter().filter_map(|row| bounds(row.comparison?)))
        .map(|(low, high)| high - low)
        .fold(f64::INFINITY, f64::min);
    let decimals = if narrowest < 0.05 { 3 } else { 2 };
    let point = |row: &Row<'_>| match row.comparison {
        _ if rows.is_reference(row) => ratio(1.0, decimals),
        Some(comparison) if !row.wrong() => {
            comparison.ratio.map_or(NONE.to_owned(), |value| ratio(value, decimals))
        }
        _ => String::new(),
    };
    let interval = |row: &Row<'_>| match row.comparison {
        Some(comparison) if comparison.ratio.is_some() => match bounds(comparison) {
            Some((low, high)) => format!("{}–{}", ratio(low, decimals), ratio(high, decimals)),
            None if rows.left.is_some() => String::new(),
            None => TOO_SMALL.to_owned(),
        },
        _ => String::new(),
    };
    let mut columns = vec![TableColumn::right("ratio").unit("").with_cells(rows.iter(), point)];
    if shape.shows(TablePart::RatioInterval) {
        let column = TableColumn { gap: 1, ..TableColumn::left("95 %").unit("interval") };
        columns.push(column.with_cells(rows.iter(), interval));
    }
    columns
}

/// The p50 of a metric in one unit, which is returned; or each value in its own unit.
fn figures(rows: &Rows<'_>, name: &str, title: &str) -> (ColumnWithCells, Option<Unit>) {
    let stored = metric::unit(name);
    let value = |row: &Row<'_>| row.p50(name).map(|p50| p50.value);
    let given = rows.options.time_unit.and_then(|unit| unit.find(stored));
    let unit = given.or_else(|| Unit::common(stored, rows.iter().filter_map(value)));
    let text = |value: f64| unit.map_or_else(|| amount(stored, value), |unit| unit.number(value));
    let shown = unit.filter(|_| rows.iter().any(|row| value(row).is_some()));
    let column = TableColumn::right(title).unit(shown.map_or("", |unit| unit.name));
    (column.with_cells(rows.iter(), |row| value(row).map_or(NONE.to_owned(), text)), unit)
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

fn left(rows: &Rows<'_>, shape: Shape) -> Omitted {
    let parts = [
        (TablePart::Throughput, metric::heading(THROUGHPUT)),
        (TablePart::WallInterval, judged(rows).1[2]),
        (TablePart::Cpu, metric::heading(CPU)),
        (TablePart::PeakRss, metric::heading(PEAK_RSS)),
        (TablePart::Fresh, "start-up, prepare, total"),
        (TablePart::RatioInterval, "interval of ratio"),
    ];
    let left = |part: TablePart| match part {
        TablePart::Cpu => !shows_cpu(rows, shape),
        TablePart::Throughput => !shape.shows(part) && has_throughput(rows),
        TablePart::Fresh => !shape.shows(part) && is_fresh(rows),
        _ => !shape.shows(part),
    };
    let columns = parts.iter().filter(|(part, _)| left(*part)).map(|(_, name)| *name);
    let counts = rows.counts.iter().filter(|count| left(part_of(count)));
    let counts = counts.map(|name| metric::short_heading(name));
    let columns = columns.chain(counts).collect();
    let names = rows.iter().filter_map(|row| {
        let full = escape_controls(row.name());
        let short = shortened(&full, shape.name_width());
        (short != *full).then(|| (short, full.into_owned()))
    });
    Omitted {
        columns,
        names: names.collect(),
        half_widths: !shape.shows(TablePart::WallBounds) && shape.shows(TablePart::WallInterval),
    }
}
