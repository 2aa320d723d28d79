//! The table of a family: a line per method, the best first, the yardsticks below a rule.

use lab::analyze::{Comparison, Verdict};
use lab::metric;
use lab::run::Role;
use unicode_width::UnicodeWidthStr;

use super::grid::{self, Table};
use super::page::{Page, Style, clean, shortened};
use super::rows::{ALLOCATIONS, CPU, PEAK_RSS, Row, Rows, THROUGHPUT, WALL, WALL_LESS_WAIT};
use super::units::{NONE, Unit, amount, count, ratio};

/// The mark for an n that is too small for an interval.
pub(super) const TOO_SMALL: &str = "?";

/// What was omitted from a table, so that the page can mention it.
#[derive(Default)]
pub(super) struct Left {
    pub(super) columns: Vec<&'static str>,
    /// Shortened names, each with the full one.
    pub(super) names: Vec<(String, String)>,
    /// Whether the interval of the wall time is shown as ± percent.
    pub(super) half_widths: bool,
}

/// Writes the table with as much content as fits the width of the page.
pub(super) fn write(page: &mut Page, rows: &Rows<'_>) -> Left {
    let (shape, lines) = fitted(rows, page.width());
    let rule = "─".repeat(lines.iter().map(|line| line.width()).max().unwrap_or_default());
    let (headings, body) = lines.split_at(HEADING_LINES.min(lines.len()));
    for line in headings {
        page.line(&[(Style::Bold, line)]);
    }
    page.line(&[(Style::Dim, &rule)]);
    for (i, (row, line)) in rows.iter().zip(body).enumerate() {
        if i > 0 && i == rows.contenders.len() {
            page.line(&[(Style::Dim, &rule)]);
        }
        let (verdict, style) = verdict(rows, row);
        let base = if row.cell.role == Role::Yardstick { Style::Dim } else { Style::Plain };
        // The verdict is the last column, so that it can be coloured independently of the layout.
        match line.strip_suffix(&verdict) {
            Some(start) => page.line(&[(base, start), (style, &verdict)]),
            None => page.line(&[(base, line)]),
        }
    }
    left(rows, shape)
}

/// The whole table, for other kinds of text.
pub(super) fn whole(rows: &Rows<'_>) -> Table {
    table(&columns(rows, Shape::default()))
}

/// What a table omits, one after the other, until it fits: first what other columns also show, and
/// last the basis of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    LongHeadings,
    /// The interval of the wall time from bound to bound; otherwise it is shown as ± percent.
    WallBounds,
    Throughput,
    WallInterval,
    Allocations,
    SystemCalls,
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

const PARTS: [Part; 13] = [
    Part::LongHeadings,
    Part::WallBounds,
    Part::Throughput,
    Part::WallInterval,
    Part::Allocations,
    Part::SystemCalls,
    Part::LongNames,
    Part::Cpu,
    Part::PeakRss,
    Part::Fresh,
    Part::Names,
    Part::RatioInterval,
    Part::ShortNames,
];

/// Shows everything that comes after the last omitted part.
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    given_up: Option<Part>,
}

impl Shape {
    fn shows(self, part: Part) -> bool {
        self.given_up.is_none_or(|given_up| part > given_up)
    }

    fn name_width(self) -> usize {
        let limits = [(Part::ShortNames, 6), (Part::Names, 12), (Part::LongNames, 24)];
        limits.iter().find(|(part, _)| !self.shows(*part)).map_or(usize::MAX, |(_, width)| *width)
    }
}

const HEADING_LINES: usize = 2;

struct Column {
    /// The heading, on two lines.
    heading: [String; HEADING_LINES],
    cells: Vec<String>,
    is_left: bool,
    /// Whether it belongs to the next column.
    close: bool,
}

fn fitted(rows: &Rows<'_>, width: usize) -> (Shape, Vec<String>) {
    let mut shape = Shape::default();
    let mut lines = drawn(&columns(rows, shape));
    for part in PARTS {
        if lines.iter().all(|line| line.width() <= width) {
            break;
        }
        shape.given_up = Some(part);
        lines = drawn(&columns(rows, shape));
    }
    (shape, lines)
}

/// A job without payload has no throughput, which is then not missing.
fn has_throughput(rows: &Rows<'_>) -> bool {
    rows.iter().any(|row| row.p50(THROUGHPUT).is_some())
}

/// Whether samples were taken in new processes.
fn is_fresh(rows: &Rows<'_>) -> bool {
    rows.iter().any(|row| row.p50("total_ns").is_some())
}

fn part_of(count: &str) -> Part {
    if count == ALLOCATIONS { Part::Allocations } else { Part::SystemCalls }
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
    shape.shows(Part::Cpu) && (!rows.less_wait() || shape.shows(Part::WallInterval))
}

fn columns(rows: &Rows<'_>, shape: Shape) -> Vec<Column> {
    let all = || rows.iter();
    let mut columns =
        vec![text_column(["", "  method"], all().map(|row| name(row, shape)).collect())];
    let long = |name: &'static str, short| {
        if shape.shows(Part::LongHeadings) { metric::heading(name) } else { short }
    };
    columns.extend(time(rows, shape));
    if rows.less_wait() {
        columns.push(figures(rows, WALL, metric::heading(WALL)).0);
    }
    if shape.shows(Part::Throughput) && has_throughput(rows) {
        columns.push(figures(rows, THROUGHPUT, long(THROUGHPUT, "")).0);
    }
    if shows_cpu(rows, shape) {
        columns.push(figures(rows, CPU, metric::heading(CPU)).0);
    }
    for name in rows.more {
        columns.push(figures(rows, name.metric(), metric::heading(name.metric())).0);
    }
    if shape.shows(Part::PeakRss) {
        columns.push(figures(rows, PEAK_RSS, long(PEAK_RSS, metric::short_heading(PEAK_RSS))).0);
    }
    if shape.shows(Part::Fresh) && is_fresh(rows) {
        let fresh = ["startup_ns", "prepare_ns", "total_ns"].into_iter();
        columns.extend(fresh.map(|name| figures(rows, name, metric::heading(name)).0));
    }
    let shown = rows.counts.iter().filter(|count| shape.shows(part_of(count)));
    columns.extend(shown.map(|count| counts(rows, count)));
    columns.extend(ratios(rows, shape));
    columns.push(text_column(["", "verdict"], all().map(|row| verdict(rows, row).0).collect()));
    columns
}

fn name(row: &Row<'_>, shape: Shape) -> String {
    let mark = if row.pareto { "* " } else { "  " };
    format!("{mark}{}", shortened(&clean(row.name()), shape.name_width()))
}

/// The p50 of the deciding time, and its interval: from bound to bound, or as ± percent.
fn time(rows: &Rows<'_>, shape: Shape) -> Vec<Column> {
    let (judged, [long, short, _]) = judged(rows);
    let is_narrow = rows.less_wait() && !shape.shows(Part::LongHeadings);
    let (mut p50, unit) = figures(rows, judged, if is_narrow { short } else { long });
    if !shape.shows(Part::WallInterval) {
        return vec![p50];
    }
    let headings = match (shape.shows(Part::LongHeadings), shape.shows(Part::WallBounds)) {
        (true, _) => [long, "95 %", "interval"],
        // One heading above two narrow columns.
        (false, true) => [short, "p50", "95 %"],
        (false, false) => [short, "p50", "±"],
    };
    headings[0].clone_into(&mut p50.heading[0]);
    p50.close = true;
    let interval = |row: &Row<'_>| {
        let Some(p) = row.p50(judged) else { return String::new() };
        match (p.low, p.high, unit) {
            (Some(low), Some(high), Some(unit)) if shape.shows(Part::WallBounds) => {
                format!("{}–{}", unit.number(low), unit.number(high))
            }
            (Some(low), Some(high), _) => half_width((p.value - low).max(high - p.value), p.value),
            _ => TOO_SMALL.to_owned(),
        }
    };
    vec![p50, text_column([headings[1], headings[2]], rows.iter().map(interval).collect())]
}

fn half_width(half_width: f64, of: f64) -> String {
    let percent = 100.0 * half_width / of;
    match percent {
        p if !p.is_finite() => TOO_SMALL.to_owned(),
        p if p >= 9.95 => format!("±{p:.0}%"),
        p => format!("±{p:.1}%"),
    }
}

fn ratios(rows: &Rows<'_>, shape: Shape) -> Vec<Column> {
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
            None => TOO_SMALL.to_owned(),
        },
        _ => String::new(),
    };
    let mut columns = vec![Column {
        heading: ["ratio".to_owned(), String::new()],
        cells: rows.iter().map(point).collect(),
        is_left: false,
        close: shape.shows(Part::RatioInterval),
    }];
    if shape.shows(Part::RatioInterval) {
        columns.push(text_column(["95 %", "interval"], rows.iter().map(interval).collect()));
    }
    columns
}

/// The role of a row in its table.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Standing {
    Yardstick,
    Reference,
    Compared(Verdict),
}

impl Standing {
    pub(super) fn of(rows: &Rows<'_>, row: &Row<'_>) -> Standing {
        if row.wrong() {
            Standing::Compared(Verdict::WrongAnswer)
        } else if row.cell.role == Role::Yardstick {
            Standing::Yardstick
        } else if rows.is_reference(row) {
            Standing::Reference
        } else {
            Standing::Compared(row.comparison.map_or(Verdict::Missing, |c| c.verdict))
        }
    }
}

/// The verdict in words; the colour only repeats it.
pub(super) fn verdict(rows: &Rows<'_>, row: &Row<'_>) -> (String, Style) {
    let standing = Standing::of(rows, row);
    let word = match standing {
        Standing::Yardstick => "yardstick",
        Standing::Reference => "reference",
        Standing::Compared(verdict) => verdict.word(),
    };
    let style = match standing {
        Standing::Compared(Verdict::Faster) => Style::Green,
        Standing::Compared(Verdict::WrongAnswer) => Style::Red,
        Standing::Yardstick | Standing::Compared(Verdict::Undecided | Verdict::Missing) => {
            Style::Dim
        }
        _ => Style::Plain,
    };
    let shown = matches!(standing, Standing::Compared(Verdict::Faster | Verdict::Slower));
    let small = row.comparison.is_some_and(|comparison| comparison.below_relevance);
    (if shown && small { format!("{word} <1 %") } else { word.to_owned() }, style)
}

/// The p50 of a metric in one unit, which is returned; or each value in its own unit, if one unit
/// would make some of them unreadable.
fn figures(rows: &Rows<'_>, name: &str, title: &str) -> (Column, Option<Unit>) {
    let stored = metric::unit(name);
    let values: Vec<Option<f64>> =
        rows.iter().map(|row| row.p50(name).map(|p50| p50.value)).collect();
    let sizes = || values.iter().flatten().map(|value| value.abs()).filter(|size| *size > 0.0);
    let spread = sizes().fold(0.0, f64::max) / sizes().fold(f64::INFINITY, f64::min);
    let unit = (spread < 1e4 || stored == "count").then(|| Unit::of(stored, sizes()));
    let text = |value: f64| unit.map_or_else(|| amount(stored, value), |unit| unit.number(value));
    let cells = values.iter().map(|value| value.map_or(NONE.to_owned(), text)).collect();
    let shown = unit.filter(|_| values.iter().any(Option::is_some));
    let heading = [title.to_owned(), shown.map_or("", |unit| unit.name).to_owned()];
    (Column { heading, cells, is_left: false, close: false }, unit)
}

/// The p50 of a count: the exact count if it is the same in all samples.
fn counts(rows: &Rows<'_>, name: &str) -> Column {
    let text = |row: &Row<'_>| match row.p50(name) {
        Some(p50) if row.is_constant(name) => count(p50.value).replace(' ', ""),
        Some(p50) => amount("count", p50.value).replace(' ', ""),
        None => NONE.to_owned(),
    };
    let heading = [metric::short_heading(name).to_owned(), String::new()];
    let cells = rows.iter().map(text).collect();
    Column { heading, cells, is_left: false, close: false }
}

fn text_column(heading: [&str; HEADING_LINES], cells: Vec<String>) -> Column {
    Column { heading: heading.map(str::to_owned), cells, is_left: true, close: false }
}

/// The lines of the table. No cell is ever wrapped: what does not fit was omitted before.
fn drawn(columns: &[Column]) -> Vec<String> {
    let table = table(columns);
    let (headings, rows) = table.lines(&table.widths());
    headings.into_iter().chain(rows).collect()
}

fn table(columns: &[Column]) -> Table {
    let row = |at: usize| columns.iter().map(|column| column.cells[at].clone()).collect();
    let rows = (0..columns.first().map_or(0, |column| column.cells.len())).map(row).collect();
    let gaps = columns.iter().map(|column| if column.close { 1 } else { 2 });
    let gaps = std::iter::once(0).chain(gaps);
    let column = |(column, gap): (&Column, usize)| {
        let heading = column.heading.to_vec();
        grid::Column { heading, is_left: column.is_left, gap }
    };
    Table { columns: columns.iter().zip(gaps).map(column).collect(), rows }
}

fn left(rows: &Rows<'_>, shape: Shape) -> Left {
    let parts = [
        (Part::Throughput, metric::heading(THROUGHPUT)),
        (Part::WallInterval, judged(rows).1[2]),
        (Part::Cpu, metric::heading(CPU)),
        (Part::PeakRss, metric::heading(PEAK_RSS)),
        (Part::Fresh, "start-up, prepare, total"),
        (Part::RatioInterval, "interval of ratio"),
    ];
    let left = |part: Part| match part {
        Part::Cpu => !shows_cpu(rows, shape),
        Part::Throughput => !shape.shows(part) && has_throughput(rows),
        Part::Fresh => !shape.shows(part) && is_fresh(rows),
        _ => !shape.shows(part),
    };
    let columns = parts.iter().filter(|(part, _)| left(*part)).map(|(_, name)| *name);
    let counts = rows.counts.iter().filter(|count| left(part_of(count)));
    let counts = counts.map(|name| metric::short_heading(name));
    let columns = columns.chain(counts).collect();
    let names = rows.iter().filter_map(|row| {
        let full = clean(row.name());
        let short = shortened(&full, shape.name_width());
        (short != *full).then(|| (short, full.into_owned()))
    });
    Left {
        columns,
        names: names.collect(),
        half_widths: !shape.shows(Part::WallBounds) && shape.shows(Part::WallInterval),
    }
}
