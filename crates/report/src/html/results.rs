//! The sections of the page: the table of results, with a row for each method at each point of each
//! run; the answer of several runs; all percentiles, the warnings, and the machines and systems.

use std::collections::BTreeMap;

use analysis::{Analysis, Effect, MetricChange, Summary, compare_sides, refusal};
use model::metric::{self, heading, unit};
use model::param::{ParamValue, Point};
use model::run::{Role, Run};

use super::Html;
use super::document::{self, ROWS_MAX};
use crate::views::compare::{Side, answer, bounds, notes, verdict_word};
use crate::views::rows::{
    self, ALLOCATIONS, CPU, PEAK_RSS, Row, Rows, SYSCALLS, THROUGHPUT, WALL, WALL_LESS_WAIT,
    measured_for,
};
use crate::views::table::{CellKind, ColumnWithCells, RowRole, Table, TableCell, TableColumn};
use crate::views::units::{NONE, Unit, amount, ratio};
use crate::views::words::shortened;
use crate::views::{VaryingParams, charts, numbers};

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
        let table = results_table(lines, &VaryingParams::of_points(&points), shown.len() > 1);
        document::write_table(html, "results", caption, &table);
        document::left_out(html, left);
    }
    for (run, analysis) in shown {
        if let Some(text) = measured_for(run, analysis, &VaryingParams::of_run(run)) {
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
        document::write_table(html, id, &charts::name(run), &table);
    }
}

fn filter(html: &mut Html) {
    html.raw("<p class=\"filter\" hidden><label for=\"filter\">Only methods with </label>");
    html.raw("<input id=\"filter\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\" ");
    html.raw("placeholder=\"read, mmap\"> <output for=\"filter\" id=\"filtered\"></output></p>\n");
}

fn results_table(lines: &[ResultRow<'_>], varying: &VaryingParams<'_>, several: bool) -> Table {
    let mut columns =
        vec![TableColumn::left("method").with_cells(lines.iter(), |line| line.row.name())];
    if several {
        columns
            .push(TableColumn::left("run").with_cells(lines.iter(), |line| charts::name(line.run)));
    }
    for name in &varying.names {
        let value = |line: &ResultRow<'_>| match line.rows.family.point.get(name) {
            Some(ParamValue::Number(n)) => {
                TableCell::number(charts::value(&ParamValue::Number(*n)), *n as f64)
            }
            Some(text) => charts::value(text).into(),
            None => "".into(),
        };
        columns.push(TableColumn::left(name).with_cells(lines.iter(), value));
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
        TableCell::number(n.to_string(), n as f64)
    };
    columns.push(TableColumn::right("n").with_cells(lines.iter(), n));
    Table::of_columns(columns)
}

fn p50(line: &ResultRow<'_>, name: &str) -> Option<f64> {
    line.row.p50(name).map(|p50| p50.value)
}

/// The deciding metric with its interval, then the wall time where it is another one. Of several
/// points that are decided by different metrics, each row names its own.
fn judged(lines: &[ResultRow<'_>]) -> Vec<ColumnWithCells> {
    let less_wait = lines.iter().filter(|line| line.rows.less_wait()).count();
    let mut columns = Vec::new();
    if less_wait > 0 && less_wait < lines.len() {
        let name = |line: &ResultRow<'_>| heading(line.judged());
        columns.push(TableColumn::left("judged by").with_cells(lines.iter(), name));
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
fn figures(lines: &[ResultRow<'_>], name: &str) -> Option<ColumnWithCells> {
    let values = lines.iter().filter_map(|line| p50(line, name));
    values.clone().next()?;
    let unit = Unit::common(unit(name), values);
    let cell = |line: &ResultRow<'_>| match (p50(line, name), unit) {
        (None, _) => TableCell::none(),
        (Some(value), Some(unit)) => TableCell::number(unit.number(value), value),
        (Some(value), None) => TableCell::number(amount(self::unit(name), value), value),
    };
    let column = TableColumn::right(heading(name)).unit(unit.map_or("", |unit| unit.name));
    Some(column.with_cells(lines.iter(), cell))
}

/// The interval of the deciding metric's p50.
fn interval(lines: &[ResultRow<'_>]) -> ColumnWithCells {
    let unit = Unit::common("ns", lines.iter().filter_map(|line| p50(line, line.judged())));
    let number = |value| unit.map_or_else(|| amount("ns", value), |unit| unit.number(value));
    let p50 = |line: &ResultRow<'_>| line.row.p50(line.judged()).map(|p50| (p50.low, p50.high));
    let cell = |line: &ResultRow<'_>| match p50(line) {
        Some((Some(low), Some(high))) => TableCell::number(
            format!("{}–{}", number(low), number(high)),
            (high - low) / (high + low),
        ),
        _ => TableCell::number("n too small".to_owned(), f64::NAN),
    };
    let column = TableColumn::right("interval").unit(unit.map_or("", |unit| unit.name));
    column.with_cells(lines.iter(), cell)
}

/// The answer: the ratio to the reference, the verdict, and the interval of the ratio. On a narrow
/// screen only the first of these columns are in sight.
fn ratios(lines: &[ResultRow<'_>]) -> [ColumnWithCells; 3] {
    let value = |line: &ResultRow<'_>| match line.row.comparison.and_then(|c| c.ratio) {
        _ if line.rows.is_reference(line.row) => TableCell::number(ratio(1.0, 3), 1.0),
        Some(value) if !line.row.wrong() => TableCell::number(ratio(value, 3), value),
        _ => TableCell::none(),
    };
    let interval = |line: &ResultRow<'_>| match line.row.comparison.map(|c| (c.low, c.high)) {
        Some((Some(low), Some(high))) if !line.row.wrong() => {
            TableCell::number(format!("{}–{}", ratio(low, 3), ratio(high, 3)), high - low)
        }
        _ => "".into(),
    };
    [
        TableColumn::right("ratio").with_cells(lines.iter(), value),
        TableColumn::left("verdict").with_cells(lines.iter(), |line| line.rows.verdict(line.row)),
        TableColumn::right("interval of the ratio").with_cells(lines.iter(), interval),
    ]
}

fn not_measured(html: &mut Html, shown: &[(Run, Analysis)]) {
    let mut lines: Vec<String> = Vec::new();
    for (run, _) in shown {
        let varying = VaryingParams::of_run(run);
        let of = if shown.len() > 1 { format!(" in {}", charts::name(run)) } else { String::new() };
        for cell in &run.cells {
            let Some(reason) = cell.status.reason() else { continue };
            let at = varying.in_parentheses(&cell.point);
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
    document::left_out(html, lines.len().saturating_sub(ROWS_MAX));
}

/// The answer of several runs: what one side takes for what the other takes.
/// `path_params` are the params in which the two sides may differ.
pub(super) fn verdict(html: &mut Html, shown: &[(Run, Analysis)], path_params: &[&str]) {
    let Some([a, b]) = sides(shown) else {
        html.raw(
            "<p class=\"warning\">Runs side by side, without a verdict between them: two runs, ",
        );
        html.raw("or runs of two labels, are compared.</p>\n");
        return;
    };
    if let Some(why) = refusal(&a.runs, &b.runs) {
        html.element("<p class=\"warning\">Not compared: ", &why, ".</p>\n");
        return;
    }
    let sides = compare_sides(&a.runs, &b.runs, path_params);
    html.element("<p class=\"answer\">", &answer(&a, &b, &sides), "</p>\n");
    let lines: Vec<&MetricChange> = sides.lines.iter().filter(|line| line.decides).collect();
    if !lines.is_empty() {
        let caption = format!("A: {}. B: {}.", a.name, b.name);
        let left = lines.len().saturating_sub(ROWS_MAX);
        document::write_table(html, "", &caption, &changes(&lines[..lines.len() - left]));
        document::left_out(html, left);
    }
    for note in notes(&a, &b) {
        html.element("<p class=\"small\">Note: ", &note, "</p>\n");
    }
}

/// Two runs, or the runs of two labels.
fn sides(shown: &[(Run, Analysis)]) -> Option<[Side; 2]> {
    let mut sides: Vec<(Option<&str>, Side)> = Vec::new();
    for (run, _) in shown {
        let label = run.label.as_deref();
        let known = sides.iter_mut().find(|(own, _)| shown.len() > 2 && *own == label);
        if let Some((_, side)) = known {
            side.runs.push(run.clone());
            continue;
        }
        let name = match label {
            _ if shown.len() == 2 => charts::name(run),
            Some(label) => format!("label {label}"),
            None => "without a label".to_owned(),
        };
        sides.push((label, Side { name, runs: vec![run.clone()] }));
    }
    let sides: Vec<Side> = sides.into_iter().map(|(_, side)| side).collect();
    sides.try_into().ok()
}

fn changes(lines: &[&MetricChange]) -> Table {
    let points: Vec<_> = lines.iter().map(|line| &line.point).collect();
    let varying = VaryingParams::of_points(&points);
    let method =
        |line: &&MetricChange| format!("{}{}", line.method, varying.in_parentheses(&line.point));
    let p50 = |line: &MetricChange, half: &analysis::SideSummary| {
        let p50 = half.percentiles.iter().find(|percentile| percentile.p >= 50.0);
        let unit = metric::unit(&line.metric);
        p50.map_or_else(TableCell::none, |p50| {
            TableCell::number(amount(unit, p50.value), p50.value)
        })
    };
    let value = |effect: Option<&Effect>| match effect.and_then(|effect| effect.ratio) {
        Some(value) => TableCell::number(ratio(value, 3), value),
        None => TableCell::none(),
    };
    let interval = |effect: Option<&Effect>| -> TableCell {
        let Some(effect) = effect else { return "".into() };
        let text = bounds(effect.low, effect.high);
        match effect.low.zip(effect.high) {
            Some((low, high)) => TableCell::number(text, high - low),
            None => text.into(),
        }
    };
    let judged = |line: &&MetricChange| -> TableCell {
        let effect = line.relative.as_ref().unwrap_or(&line.absolute);
        let role = if line.role == Role::Contender {
            RowRole::Compared(effect.verdict)
        } else {
            RowRole::Yardstick
        };
        TableCell { kind: CellKind::Verdict(role), ..TableCell::from(verdict_word(effect)) }
    };
    Table::of_columns(vec![
        TableColumn::left("method").with_cells(lines.iter(), method),
        TableColumn::right("B/A").with_cells(lines.iter(), |line| value(Some(&line.absolute))),
        TableColumn::left("verdict").with_cells(lines.iter(), judged),
        TableColumn::right("interval")
            .with_cells(lines.iter(), |line| interval(Some(&line.absolute))),
        TableColumn::right("to the reference")
            .with_cells(lines.iter(), |line| value(line.relative.as_ref())),
        TableColumn::right("its interval")
            .with_cells(lines.iter(), |line| interval(line.relative.as_ref())),
        TableColumn::right("A p50").with_cells(lines.iter(), |line| p50(line, &line.a)),
        TableColumn::right("B p50").with_cells(lines.iter(), |line| p50(line, &line.b)),
    ])
}

// Every metric of every cell: p0 to p100. Collapsed, because it is long.

struct PercentileRow<'a> {
    method: String,
    run: &'a Run,
    summary: &'a Summary,
}

pub(super) fn percentiles(html: &mut Html, shown: &[(Run, Analysis)]) {
    let mut lines: Vec<PercentileRow<'_>> = Vec::new();
    for (run, analysis) in shown {
        let varying = VaryingParams::of_run(run);
        for (index, cell) in run.cells.iter().enumerate() {
            let summaries = rows::summary(analysis, index).map(|own| own.metrics.iter());
            let method = format!("{}{}", cell.method, varying.in_parentheses(&cell.point));
            lines.extend(summaries.into_iter().flatten().map(|summary| {
                let method = method.clone();
                PercentileRow { method, run, summary }
            }));
        }
    }
    if lines.is_empty() {
        return;
    }
    let left = lines.len().saturating_sub(ROWS_MAX);
    lines.truncate(ROWS_MAX);
    html.raw("<section aria-labelledby=\"percentiles-heading\">\n");
    html.raw("<h2 id=\"percentiles-heading\">Percentiles</h2>\n<details>\n");
    html.raw("<summary>Every metric of every method</summary>\n");
    let caption = if is_batched(&lines) {
        "Percentiles are samples that were measured; where a sample is the mean of several operations, they are \
         those of means."
    } else {
        "Percentiles are samples that were measured."
    };
    document::write_table(html, "", caption, &table_of(&lines, shown));
    document::left_out(html, left);
    html.raw("</details>\n</section>\n");
}

fn is_batched(lines: &[PercentileRow<'_>]) -> bool {
    lines.iter().any(|line| line.summary.ops > 1)
}

fn table_of(lines: &[PercentileRow<'_>], shown: &[(Run, Analysis)]) -> Table {
    let mut columns =
        vec![TableColumn::left("method").with_cells(lines.iter(), |line| line.method.as_str())];
    if shown.len() > 1 {
        columns
            .push(TableColumn::left("run").with_cells(lines.iter(), |line| charts::name(line.run)));
    }
    columns.push(
        TableColumn::left("metric").with_cells(lines.iter(), |line| line.summary.metric.as_str()),
    );
    let n = |line: &PercentileRow<'_>| {
        TableCell::number(line.summary.n.to_string(), line.summary.n as f64)
    };
    columns.push(TableColumn::right("n").with_cells(lines.iter(), n));
    if is_batched(lines) {
        let ops = |line: &PercentileRow<'_>| {
            TableCell::number(line.summary.ops.to_string(), line.summary.ops as f64)
        };
        columns.push(TableColumn::right("operations a sample").with_cells(lines.iter(), ops));
    }
    for p in [0, 25, 50, 75, 90, 99, 100] {
        let value = |line: &PercentileRow<'_>| match rows::percentile(line.summary, p) {
            Some(found) => TableCell::number(amount(line.summary.unit, found.value), found.value),
            None => TableCell::none(),
        };
        columns.push(TableColumn::right(&format!("p{p}")).with_cells(lines.iter(), value));
    }
    Table::of_columns(columns)
}

/// The warnings, and what to do about them.
pub(super) fn warnings(html: &mut Html, shown: &[(Run, Analysis)]) {
    html.raw("<section aria-labelledby=\"notes-heading\">\n<h2 id=\"notes-heading\">Notes</h2>\n");
    for (run, analysis) in shown {
        if shown.len() > 1 {
            html.element("<h3>", &charts::name(run), "</h3>\n");
        }
        if analysis.notes.is_empty() {
            html.raw("<p>None.</p>\n");
            continue;
        }
        let varying = VaryingParams::of_run(run);
        html.raw("<ul class=\"notes\">\n");
        for note in analysis.notes.iter().take(ROWS_MAX) {
            let at =
                note.point.as_ref().map(|point| varying.in_parentheses(point)).unwrap_or_default();
            let about = format!("{}{at}", note.method.as_deref().unwrap_or_default());
            html.raw("<li>");
            if !about.trim().is_empty() {
                html.element("<b>", about.trim(), "</b>: ");
            }
            html.element("", &note.to_string(), "</li>\n");
        }
        html.raw("</ul>\n");
    }
    html.raw("</section>\n");
}

/// The machine and the system of each run, and the plan; for several runs, the differences come
/// first.
pub(super) fn environment(html: &mut Html, shown: &[(Run, Analysis)]) {
    html.raw("<section aria-labelledby=\"environment-heading\">\n");
    html.raw("<h2 id=\"environment-heading\">Environment</h2>\n");
    let facts: Vec<BTreeMap<String, String>> = shown.iter().map(|(run, _)| facts(run)).collect();
    let mut names: Vec<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
    names.sort_unstable();
    names.dedup();
    let differs = |name: &String| facts.iter().any(|run| run.get(name) != facts[0].get(name));
    let (differing, same): (Vec<&String>, Vec<&String>) =
        names.into_iter().partition(|n| differs(n));
    if shown.len() > 1 {
        if differing.is_empty() {
            html.raw("<p>All runs were measured in the same environment, by the same plan.</p>\n");
        } else {
            let caption = "In this the runs differ, and it may be why their numbers do.";
            facts_table(html, caption, shown, &facts, &differing);
        }
    }
    html.raw("<details>\n<summary>");
    html.raw(if shown.len() > 1 {
        "All that is the same"
    } else {
        "Machine, system, build and plan"
    });
    html.raw("</summary>\n");
    facts_table(html, "", &shown[..1], &facts, &same);
    html.raw("</details>\n</section>\n");
}

fn facts_table(
    html: &mut Html,
    caption: &str,
    shown: &[(Run, Analysis)],
    facts: &[BTreeMap<String, String>],
    names: &[&String],
) {
    let mut columns =
        vec![TableColumn::left("fact").with_cells(names.iter(), |name| name.as_str())];
    for ((run, _), facts) in shown.iter().zip(facts) {
        let value = |name: &&String| facts.get(*name).map_or(NONE, String::as_str);
        columns.push(TableColumn::left(&charts::name(run)).with_cells(names.iter(), value));
    }
    document::write_table(html, "", caption, &Table::of_columns(columns));
}

fn facts(run: &Run) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> =
        run.environment.facts.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    // The seed differs between runs by design.
    if let Ok(serde_json::Value::Object(plan)) = serde_json::to_value(&run.plan) {
        let plan = plan.iter().filter(|(name, _)| *name != "seed");
        facts.extend(plan.map(|(name, value)| (format!("plan: {name}"), text(value))));
    }
    facts
}

/// The definition is a whole file, in one line: of a long text both ends are shown.
const WIDEST: usize = 120;

fn text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => shortened(text, WIDEST),
        other => shortened(&other.to_string(), WIDEST),
    }
}
