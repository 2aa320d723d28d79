//! The table of results: a row for each method at each point of each run.

use lab::analyze::{Analysis, Verdict};
use lab::metric::{heading, unit};
use lab::param::{Point, Value};
use lab::run::Run;

use super::super::rows::{self, ALLOCATIONS, CPU, PEAK_RSS, Row, Rows, SYSCALLS, THROUGHPUT, WALL};
use super::super::table::Standing;
use super::super::units::{NONE, Unit, amount, ratio};
use super::super::{Varying, charts, numbers, table};
use super::Html;

/// More rows than these make a page too slow for browsers.
pub(super) const ROWS_MAX: usize = 3000;

/// A column: its heading, and for each row the text and the sort key.
pub(super) struct Column {
    pub(super) heading: String,
    pub(super) unit: String,
    pub(super) cells: Vec<Cell>,
}

pub(super) struct Cell {
    pub(super) text: String,
    pub(super) key: Option<f64>,
    /// The class of a word that is highlighted.
    pub(super) class: &'static str,
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), key: None, class: "" }
    }

    pub(super) fn number(text: String, key: f64) -> Cell {
        Cell { text, key: Some(key).filter(|key| key.is_finite()), class: "number" }
    }

    fn none() -> Cell {
        Cell { text: NONE.to_owned(), key: None, class: "number" }
    }
}

impl Column {
    pub(super) fn new(heading: &str, unit: &str, cells: impl Iterator<Item = Cell>) -> Column {
        Column { heading: heading.to_owned(), unit: unit.to_owned(), cells: cells.collect() }
    }
}

/// One row with the run and the point that it belongs to.
struct Line<'a> {
    run: &'a Run,
    rows: &'a Rows<'a>,
    row: &'a Row<'a>,
}

pub(super) fn results(html: &mut Html, shown: &[(Run, Analysis)]) {
    let all: Vec<(&Run, Vec<Rows<'_>>)> =
        shown.iter().map(|(run, analysis)| (run, rows::all(run, analysis))).collect();
    let lines: Vec<Line<'_>> = (all.iter())
        .flat_map(|(run, all)| all.iter().map(move |rows| (*run, rows)))
        .flat_map(|(run, rows)| rows.iter().map(move |row| Line { run, rows, row }))
        .collect();
    if lines.is_empty() {
        html.raw("<p>Nothing was measured.</p>\n");
    } else {
        filter(html);
        let points: Vec<&Point> = shown.iter().flat_map(|(run, _)| &run.points).collect();
        let caption = "p50 of each method; intervals are at 95 %, those of the ratios for all of a point \
                       together. Yardsticks stand beside the contenders and have no verdict.";
        let left = lines.len().saturating_sub(ROWS_MAX);
        let lines = &lines[..lines.len() - left];
        write(
            html,
            "results",
            caption,
            &columns(lines, &Varying::of_points(&points), shown.len() > 1),
        );
        left_out(html, left);
    }
    not_measured(html, shown);
}

pub(super) fn numbers(html: &mut Html, shown: &[(Run, Analysis)]) {
    filter(html);
    for (i, (run, _)) in shown.iter().enumerate() {
        let (headings, lines) = numbers::cells(run);
        let columns: Vec<Column> = (headings.iter().enumerate())
            .map(|(at, (heading, is_left))| {
                let class = if *is_left { "" } else { "number" };
                let cell = |line: &Vec<String>| Cell { class, ..Cell::text(line[at].trim()) };
                let heading = if heading.is_empty() { "grade" } else { *heading };
                Column::new(heading, "", lines.iter().map(cell))
            })
            .collect();
        let id = if i == 0 { "results" } else { "" };
        write(html, id, &charts::name(run), &columns);
    }
}

fn filter(html: &mut Html) {
    html.raw("<p class=\"filter\" hidden><label for=\"filter\">Only methods with </label>");
    html.raw("<input id=\"filter\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\" ");
    html.raw("placeholder=\"read, mmap\"> <output for=\"filter\" id=\"filtered\"></output></p>\n");
}

pub(super) fn left_out(html: &mut Html, rows: usize) {
    if rows > 0 {
        let text = format!("{rows} more rows are left out; bytelab show --json has all of them.");
        html.element("<p class=\"small\">", &text, "</p>\n");
    }
}

/// The first column is the row's heading.
pub(super) fn write(html: &mut Html, id: &str, caption: &str, columns: &[Column]) {
    html.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\">\n<table");
    if !id.is_empty() {
        html.element(" id=\"", id, "\"");
    }
    html.element(">\n<caption>", caption, "</caption>\n<thead>\n<tr>");
    for column in columns {
        html.element("<th scope=\"col\">", &column.heading, "");
        if !column.unit.is_empty() {
            html.element(" <small>", &column.unit, "</small>");
        }
        html.raw("</th>");
    }
    html.raw("</tr>\n</thead>\n<tbody>\n");
    for at in 0..columns.first().map_or(0, |column| column.cells.len()) {
        html.raw("<tr>");
        for (i, column) in columns.iter().enumerate() {
            cell(html, &column.cells[at], i == 0);
        }
        html.raw("</tr>\n");
    }
    html.raw("</tbody>\n</table>\n</div>\n");
}

fn cell(html: &mut Html, cell: &Cell, heads: bool) {
    html.raw(if heads { "<th scope=\"row\"" } else { "<td" });
    if let Some(key) = cell.key {
        html.element(" data-key=\"", &key.to_string(), "\"");
    }
    if !cell.class.is_empty() {
        html.element(" class=\"", cell.class, "\"");
    }
    html.element(">", &cell.text, if heads { "</th>" } else { "</td>" });
}

fn columns(lines: &[Line<'_>], varying: &Varying<'_>, several: bool) -> Vec<Column> {
    let mut columns =
        vec![Column::new("method", "", lines.iter().map(|line| Cell::text(line.row.name())))];
    if several {
        columns.push(Column::new("run", "", lines.iter().map(|l| Cell::text(charts::name(l.run)))));
    }
    for name in &varying.names {
        let value = |line: &Line<'_>| match line.rows.family.point.get(name) {
            Some(Value::Number(n)) => Cell::number(charts::value(&Value::Number(*n)), *n as f64),
            Some(text) => Cell::text(charts::value(text)),
            None => Cell::text(""),
        };
        columns.push(Column::new(name, "", lines.iter().map(value)));
    }
    columns.extend(figures(lines, WALL));
    columns.push(interval(lines));
    columns.extend(ratios(lines));
    for name in
        [CPU, PEAK_RSS, THROUGHPUT, SYSCALLS, ALLOCATIONS, "startup_ns", "prepare_ns", "total_ns"]
    {
        columns.extend(figures(lines, name));
    }
    let n = |line: &Line<'_>| {
        let n = rows::metric(line.row.summary, WALL).map_or(0, |summary| summary.n);
        Cell::number(n.to_string(), n as f64)
    };
    columns.push(Column::new("n", "", lines.iter().map(n)));
    columns
}

/// The column of a metric, if a row has it; in one unit unless some values would be unreadable.
fn figures(lines: &[Line<'_>], name: &str) -> Option<Column> {
    let values: Vec<Option<f64>> =
        lines.iter().map(|line| line.row.p50(name).map(|p50| p50.value)).collect();
    values.iter().flatten().next()?;
    let unit = common_unit(name, &values);
    let cell = |value: &Option<f64>| match (value, unit) {
        (None, _) => Cell::none(),
        (Some(value), Some(unit)) => Cell::number(unit.number(*value), *value),
        (Some(value), None) => Cell::number(amount(self::unit(name), *value), *value),
    };
    let shown = unit.map_or("", |unit| unit.name);
    Some(Column::new(heading(name), shown, values.iter().map(cell)))
}

/// `None` if each value has its own unit.
fn common_unit(name: &str, values: &[Option<f64>]) -> Option<Unit> {
    let sizes = || values.iter().flatten().map(|value| value.abs()).filter(|size| *size > 0.0);
    let spread = sizes().fold(0.0, f64::max) / sizes().fold(f64::INFINITY, f64::min);
    (spread < 1e4 || unit(name) == "count").then(|| Unit::of(unit(name), sizes()))
}

fn interval(lines: &[Line<'_>]) -> Column {
    let values: Vec<_> = lines.iter().map(|line| line.row.p50(WALL).map(|p50| p50.value)).collect();
    let unit = common_unit(WALL, &values);
    let number = |value| unit.map_or_else(|| amount("ns", value), |unit| unit.number(value));
    let cell = |line: &Line<'_>| match line.row.p50(WALL).map(|p50| (p50.low, p50.high)) {
        Some((Some(low), Some(high))) => {
            Cell::number(format!("{}–{}", number(low), number(high)), (high - low) / (high + low))
        }
        _ => Cell::number("n too small".to_owned(), f64::NAN),
    };
    Column::new("interval", unit.map_or("", |unit| unit.name), lines.iter().map(cell))
}

/// The deciding values: the ratio to the reference, its interval, the verdict.
fn ratios(lines: &[Line<'_>]) -> Vec<Column> {
    let value = |line: &Line<'_>| match line.row.comparison.and_then(|c| c.ratio) {
        _ if line.rows.is_reference(line.row) => Cell::number(ratio(1.0, 3), 1.0),
        Some(value) if !line.row.wrong() => Cell::number(ratio(value, 3), value),
        _ => Cell::none(),
    };
    let interval = |line: &Line<'_>| match line.row.comparison.map(|c| (c.low, c.high)) {
        Some((Some(low), Some(high))) if !line.row.wrong() => {
            Cell::number(format!("{}–{}", ratio(low, 3), ratio(high, 3)), high - low)
        }
        _ => Cell::text(""),
    };
    let verdict = |line: &Line<'_>| {
        let class = match Standing::of(line.rows, line.row) {
            Standing::Compared(Verdict::Faster) => "faster",
            Standing::Compared(Verdict::Slower) => "slower",
            Standing::Compared(Verdict::WrongAnswer) => "wrong",
            _ => "quiet",
        };
        Cell { text: table::verdict(line.rows, line.row).0, key: None, class }
    };
    vec![
        Column::new("ratio", "", lines.iter().map(value)),
        Column::new("interval of it", "", lines.iter().map(interval)),
        Column::new("verdict", "", lines.iter().map(verdict)),
    ]
}

fn not_measured(html: &mut Html, shown: &[(Run, Analysis)]) {
    let mut lines: Vec<String> = Vec::new();
    for (run, _) in shown {
        let varying = Varying::of_run(run);
        let of = if shown.len() > 1 { format!(" in {}", charts::name(run)) } else { String::new() };
        for cell in &run.cells {
            let Some(reason) = cell.status.reason() else { continue };
            let at = varying.of(&cell.point);
            lines.push(format!("{}{at}{of}: {}, {reason}", cell.method, cell.status.word()));
        }
    }
    if lines.is_empty() {
        return;
    }
    html.raw("<h3>Not measured</h3>\n<ul>\n");
    for line in lines.iter().take(ROWS_MAX) {
        html.element("<li>", line, "</li>\n");
    }
    html.raw("</ul>\n");
    left_out(html, lines.len().saturating_sub(ROWS_MAX));
}
