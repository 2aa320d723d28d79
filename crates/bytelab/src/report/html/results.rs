//! The table of results: a row for each method at each point of each run.

use lab::analyze::Analysis;
use lab::metric::{heading, unit};
use lab::param::{Point, Value};
use lab::run::Run;

use super::Html;
use super::table::{self, ROWS_MAX};
use crate::report::model::rows::{
    self, ALLOCATIONS, CPU, PEAK_RSS, Row, Rows, SYSCALLS, THROUGHPUT, WALL, WALL_LESS_WAIT,
    measured_for,
};
use crate::report::model::table::{Cell, Column, Filled, Table};
use crate::report::model::units::{Unit, amount, ratio};
use crate::report::model::{Varying, charts, numbers};

/// One row with the run and the point that it belongs to.
struct ResultRow<'a> {
    run: &'a Run,
    rows: &'a Rows<'a>,
    row: &'a Row<'a>,
}

impl ResultRow<'_> {
    /// The metric by which the methods of its table are compared.
    fn judged(&self) -> &'static str {
        if self.rows.less_wait() { WALL_LESS_WAIT } else { WALL }
    }
}

pub(super) fn results(html: &mut Html, shown: &[(Run, Analysis)]) {
    let all: Vec<(&Run, Vec<Rows<'_>>)> =
        shown.iter().map(|(run, analysis)| (run, rows::all(run, analysis))).collect();
    let lines: Vec<ResultRow<'_>> = (all.iter())
        .flat_map(|(run, all)| all.iter().map(move |rows| (*run, rows)))
        .flat_map(|(run, rows)| rows.iter().map(move |row| ResultRow { run, rows, row }))
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
        let table = results_table(lines, &Varying::of_points(&points), shown.len() > 1);
        table::write(html, "results", caption, &table);
        table::left_out(html, left);
    }
    for (run, analysis) in shown {
        if let Some(text) = measured_for(run, analysis, &Varying::of_run(run)) {
            let of =
                if shown.len() > 1 { format!(", {}", charts::name(run)) } else { String::new() };
            html.element("<p class=\"small\">", &format!("Measured{of}: {text}"), "</p>\n");
        }
    }
    not_measured(html, shown);
}

pub(super) fn numbers(html: &mut Html, shown: &[(Run, Analysis)]) {
    filter(html);
    for (i, (run, _)) in shown.iter().enumerate() {
        let mut table = numbers::whole(run);
        let unnamed = table.columns.iter_mut().flat_map(|column| &mut column.heading);
        unnamed
            .filter(|heading| heading.is_empty())
            .for_each(|heading| "grade".clone_into(heading));
        let id = if i == 0 { "results" } else { "" };
        table::write(html, id, &charts::name(run), &table);
    }
}

fn filter(html: &mut Html) {
    html.raw("<p class=\"filter\" hidden><label for=\"filter\">Only methods with </label>");
    html.raw("<input id=\"filter\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\" ");
    html.raw("placeholder=\"read, mmap\"> <output for=\"filter\" id=\"filtered\"></output></p>\n");
}

fn results_table(lines: &[ResultRow<'_>], varying: &Varying<'_>, several: bool) -> Table {
    let mut columns = vec![Column::left("method").filled(lines.iter(), |line| line.row.name())];
    if several {
        columns.push(Column::left("run").filled(lines.iter(), |line| charts::name(line.run)));
    }
    for name in &varying.names {
        let value = |line: &ResultRow<'_>| match line.rows.family.point.get(name) {
            Some(Value::Number(n)) => Cell::number(charts::value(&Value::Number(*n)), *n as f64),
            Some(text) => charts::value(text).into(),
            None => "".into(),
        };
        columns.push(Column::left(name).filled(lines.iter(), value));
    }
    columns.extend(ratios(lines));
    columns.extend(judged(lines));
    for name in
        [CPU, PEAK_RSS, THROUGHPUT, SYSCALLS, ALLOCATIONS, "startup_ns", "prepare_ns", "total_ns"]
    {
        columns.extend(figures(lines, name));
    }
    let n = |line: &ResultRow<'_>| {
        let n = rows::metric(line.row.summary, WALL).map_or(0, |summary| summary.n);
        Cell::number(n.to_string(), n as f64)
    };
    columns.push(Column::right("n").filled(lines.iter(), n));
    Table::of_columns(columns)
}

fn p50(line: &ResultRow<'_>, name: &str) -> Option<f64> {
    line.row.p50(name).map(|p50| p50.value)
}

/// The deciding metric with its interval, then the wall time where it is another one. Of several
/// points that are decided by different metrics, each row names its own.
fn judged(lines: &[ResultRow<'_>]) -> Vec<Filled> {
    let less_wait = lines.iter().filter(|line| line.rows.less_wait()).count();
    let mut columns = Vec::new();
    if less_wait > 0 && less_wait < lines.len() {
        let name = |line: &ResultRow<'_>| heading(line.judged());
        columns.push(Column::left("judged by").filled(lines.iter(), name));
    }
    if less_wait > 0 {
        columns.extend(figures(lines, WALL_LESS_WAIT));
    }
    let wall = figures(lines, WALL);
    if less_wait == lines.len() {
        columns.push(interval(lines));
        columns.extend(wall);
    } else {
        columns.extend(wall);
        columns.push(interval(lines));
    }
    columns
}

/// The column of a metric, if a row has it; in one unit unless some values would be unreadable.
fn figures(lines: &[ResultRow<'_>], name: &str) -> Option<Filled> {
    let values = lines.iter().filter_map(|line| p50(line, name));
    values.clone().next()?;
    let unit = Unit::common(unit(name), values);
    let cell = |line: &ResultRow<'_>| match (p50(line, name), unit) {
        (None, _) => Cell::none(),
        (Some(value), Some(unit)) => Cell::number(unit.number(value), value),
        (Some(value), None) => Cell::number(amount(self::unit(name), value), value),
    };
    let column = Column::right(heading(name)).unit(unit.map_or("", |unit| unit.name));
    Some(column.filled(lines.iter(), cell))
}

/// The interval of the deciding metric's p50.
fn interval(lines: &[ResultRow<'_>]) -> Filled {
    let unit = Unit::common("ns", lines.iter().filter_map(|line| p50(line, line.judged())));
    let number = |value| unit.map_or_else(|| amount("ns", value), |unit| unit.number(value));
    let p50 = |line: &ResultRow<'_>| line.row.p50(line.judged()).map(|p50| (p50.low, p50.high));
    let cell = |line: &ResultRow<'_>| match p50(line) {
        Some((Some(low), Some(high))) => {
            Cell::number(format!("{}–{}", number(low), number(high)), (high - low) / (high + low))
        }
        _ => Cell::number("n too small".to_owned(), f64::NAN),
    };
    let column = Column::right("interval").unit(unit.map_or("", |unit| unit.name));
    column.filled(lines.iter(), cell)
}

/// The answer: the ratio to the reference, the verdict, and the interval of the ratio. On a narrow
/// screen only the first of these columns are in sight.
fn ratios(lines: &[ResultRow<'_>]) -> [Filled; 3] {
    let value = |line: &ResultRow<'_>| match line.row.comparison.and_then(|c| c.ratio) {
        _ if line.rows.is_reference(line.row) => Cell::number(ratio(1.0, 3), 1.0),
        Some(value) if !line.row.wrong() => Cell::number(ratio(value, 3), value),
        _ => Cell::none(),
    };
    let interval = |line: &ResultRow<'_>| match line.row.comparison.map(|c| (c.low, c.high)) {
        Some((Some(low), Some(high))) if !line.row.wrong() => {
            Cell::number(format!("{}–{}", ratio(low, 3), ratio(high, 3)), high - low)
        }
        _ => "".into(),
    };
    [
        Column::right("ratio").filled(lines.iter(), value),
        Column::left("verdict").filled(lines.iter(), |line| line.rows.verdict(line.row)),
        Column::right("interval of the ratio").filled(lines.iter(), interval),
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
    table::left_out(html, lines.len().saturating_sub(ROWS_MAX));
}
