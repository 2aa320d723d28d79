//! The table of a sweep: the time of each method at each value of a param, and the fastest of each
//! value; and the latency of memory by the size of the set.

use analysis::Verdict;
use analysis::size_sweep::{self, SizeSweep, announced};
use model::metric;
use model::param::bytes;
use model::run::Run;

use super::names::{self, RowNames};
use crate::document::Document;
use crate::views::answer;
use crate::views::rows::{Row, Rows};
use crate::views::sweep::{self, Sweep};
use crate::views::table::{
    CellKind, ColumnWithCells, RowRole, Style, Table, TableCell, TableColumn,
};
use crate::views::units::{NONE, Unit, amount};
use crate::views::words::{escape_controls, shortened};

/// Longer names of methods are not shown whole: where they are headings, and where they are in the
/// first column.
const HEADING_MAX: usize = 16;
const NAME_MAX: usize = 24;

/// The table, in several parts if it is wider than the page, and the answer at each value.
pub(crate) fn compose(page: &mut Document, sweep: &Sweep<'_, '_>, all_notes: bool) {
    if !sweep.title.is_empty() {
        page.title(&sweep.title);
    }
    let mut said: Vec<String> = Vec::new();
    let all_judged = sweep.points.iter().filter_map(|rows| rows.judged_by());
    for judged_by in all_judged.filter(|_| all_notes) {
        if !said.contains(&judged_by) {
            page.paragraph(Style::Dim, "", &judged_by);
            said.push(judged_by);
        }
    }
    let max = if values_are_lines(sweep) { HEADING_MAX } else { NAME_MAX };
    let names = method_names(sweep, max);
    for line in &names.above {
        page.paragraph(Style::Plain, "", line);
    }
    page.table(named_table(sweep, &names));
    page.paragraph(Style::Plain, "", &legend(sweep));
    page.gap();
    if let Some(table) = about(sweep) {
        page.table(table);
        page.gap();
    }
    for rows in &sweep.points {
        page.hanging(&format!("{}: ", sweep.value(rows)), &answer::of_family(rows));
    }
}

/// Names of methods, which are shorter where one is longer than this.
fn method_names(sweep: &Sweep<'_, '_>, max: usize) -> RowNames {
    let whole = sweep.methods().into_iter().map(|name| escape_controls(name).into_owned());
    let whole: Vec<String> = whole.collect();
    let order: Vec<usize> = (0..whole.len()).collect();
    names::fitting(whole, &order, None, max)
}

/// The metrics that the experiment is about, those of its own, and those of `--columns`: a line for
/// each method and value, or for each method where no value makes a difference. None where it is
/// about the time alone.
fn about(sweep: &Sweep<'_, '_>) -> Option<Table> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for rows in &sweep.points {
        for (name, heading) in rows.further() {
            if !names.contains(&(name, heading)) {
                names.push((name, heading));
            }
        }
    }
    let figures = |rows: &Rows<'_>, method: &str| -> Vec<Option<f64>> {
        let row = rows.iter().find(|row| row.name() == method);
        names.iter().map(|(name, _)| Some(row?.p50(name)?.value)).collect()
    };
    let mut lines: Vec<(&str, String, Vec<Option<f64>>)> = Vec::new();
    for method in sweep.methods() {
        let own = sweep.points.iter().map(|rows| (sweep.value(rows), figures(rows, method)));
        let own = own.filter(|(_, figures)| figures.iter().any(Option::is_some));
        lines.extend(own.map(|(value, figures)| (method, value, figures)));
    }
    let varies = lines.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].2 != pair[1].2);
    if !varies {
        lines.dedup_by_key(|line| line.0);
    }
    let first = TableColumn { gap: 0, ..TableColumn::left("").unit("method") };
    let mut columns = vec![
        first.with_cells(lines.iter(), |(name, ..)| shortened(&escape_controls(name), NAME_MAX)),
    ];
    if varies {
        columns.push(
            TableColumn::left("")
                .unit(sweep.param)
                .with_cells(lines.iter(), |line| line.1.as_str()),
        );
    }
    for (at, (name, heading)) in names.iter().enumerate() {
        let stored = metric::unit(name);
        let unit = Unit::common(stored, lines.iter().filter_map(|line| line.2[at]));
        let text = |line: &(&str, String, Vec<Option<f64>>)| match (line.2[at], unit) {
            (None, _) => NONE.to_owned(),
            (Some(value), Some(unit)) => unit.number(value),
            (Some(value), None) => amount(stored, value),
        };
        let column = TableColumn::right(heading).unit(unit.map_or("", |unit| unit.name));
        columns.push(column.with_cells(lines.iter(), text));
    }
    (!names.is_empty()).then(|| Table::of_columns(columns))
}

/// The longer one of the two has a line each.
fn values_are_lines(sweep: &Sweep<'_, '_>) -> bool {
    sweep.points.len() > sweep.methods().len()
}

/// The table of the times while they are measured, without lines above it.
pub(crate) fn table(sweep: &Sweep<'_, '_>) -> Table {
    let max = if values_are_lines(sweep) { HEADING_MAX } else { NAME_MAX };
    let methods = sweep.methods().into_iter();
    let texts = methods.map(|name| shortened(&escape_controls(name), max)).collect();
    named_table(sweep, &RowNames { texts, above: Vec::new() })
}

/// The table of the times, which may be split between methods or values.
fn named_table(sweep: &Sweep<'_, '_>, names: &RowNames) -> Table {
    let methods = sweep.methods();
    let values: Vec<String> = sweep.points.iter().map(|rows| sweep.value(rows)).collect();
    let at = |rows: &'_ Rows<'_>, method: &str| -> Option<usize> {
        rows.iter().find(|row| row.name() == method).map(|row| row.index)
    };
    let first =
        |heading: &str, unit: &str| TableColumn { gap: 0, ..TableColumn::left(heading).unit(unit) };
    let mut filled: Vec<ColumnWithCells> = Vec::new();
    if values_are_lines(sweep) {
        filled.push(first("", sweep.param).with_cells(values.iter(), String::as_str));
        for (method, name) in methods.iter().zip(&names.texts) {
            let items: Vec<_> = sweep.points.iter().map(|rows| (*rows, at(rows, method))).collect();
            filled.extend(times(name, &items));
        }
    } else {
        let names = names.texts.iter();
        filled.push(first(sweep.param, "method").with_cells(names, String::as_str));
        for (rows, value) in sweep.points.iter().zip(&values) {
            let items: Vec<_> = methods.iter().map(|method| (*rows, at(rows, method))).collect();
            filled.extend(times(value, &items));
        }
    }
    Table { splits_every: Some(2), ..Table::of_columns(filled) }
}

/// A method at a point, by its index into the cells of the run; none where it was not measured.
type MethodCell<'r, 'a> = (&'r Rows<'a>, Option<usize>);

fn row_of<'r, 'a>((rows, index): MethodCell<'r, 'a>) -> Option<&'r Row<'a>> {
    rows.get(index?)
}

fn time_of(item: MethodCell<'_, '_>) -> Option<f64> {
    Some(row_of(item)?.p50(item.0.family.metric)?.value)
}

/// The times of some methods or values, and the sign of each verdict.
fn times(heading: &str, items: &[MethodCell<'_, '_>]) -> [ColumnWithCells; 2] {
    let unit = Unit::common("ns", items.iter().filter_map(|item| time_of(*item)));
    let figure = |item: &MethodCell<'_, '_>| -> TableCell {
        let Some(row) = row_of(*item) else { return "".into() };
        let Some(value) = time_of(*item) else { return TableCell::none() };
        let text = unit.map_or_else(|| amount("ns", value), |unit| unit.number(value));
        let mark = if answer::fastest(item.0) == Some(row.index) { "*" } else { "" };
        TableCell::number(format!("{mark}{text}"), value)
    };
    let sign = |item: &MethodCell<'_, '_>| -> TableCell {
        let Some(row) = row_of(*item) else { return "".into() };
        let role = item.0.role(row);
        TableCell { kind: CellKind::Verdict(role), ..sign(item.0, row, role).into() }
    };
    let figures = TableColumn::right(heading).unit(unit.map_or("", |unit| unit.name));
    [
        figures.with_cells(items.iter(), figure),
        TableColumn { gap: 1, width_min: 1, ..TableColumn::left("").unit("") }
            .with_cells(items.iter(), sign),
    ]
}

fn sign(rows: &Rows<'_>, row: &Row<'_>, role: RowRole) -> &'static str {
    match role {
        RowRole::Yardstick | RowRole::Reference => "",
        RowRole::Estimate | RowRole::Unusable | RowRole::NoInterval => NONE,
        // No look has decided anything yet.
        _ if rows.left.is_some() && row.comparison.is_none_or(|c| c.low.is_none()) => "",
        RowRole::InDoubt => "~",
        RowRole::Compared(verdict) => match verdict {
            Verdict::Faster => "<",
            Verdict::Slower => ">",
            Verdict::Same => "=",
            Verdict::Undecided => "~",
            Verdict::WrongAnswer => "!",
            Verdict::Missing => NONE,
        },
    }
}

fn legend(sweep: &Sweep<'_, '_>) -> String {
    let rows = sweep.points[0];
    let reference = rows.reference().map_or("", Row::name);
    let has_wrong = sweep.points.iter().any(|rows| rows.iter().any(Row::wrong));
    let wrong = if has_wrong { ", ! wrong answer" } else { "" };
    format!(
        "{}, p50; * fastest at its {}; beside {reference}: < faster, > slower, = same, ~ undecided\
         {wrong}.",
        if rows.less_wait() { "time without the wait for a CPU" } else { "time" },
        sweep.param
    )
}

/// The latency of memory by the size of the set: a line per size instead of a table per size, and
/// its plateaus.
pub(crate) fn compose_size_sweep(page: &mut Document, run: &Run) {
    let Some(SizeSweep { sizes, columns }) = sweep::size_sweep_of(run) else { return };
    page.gap();
    let heading = match run.plan.definition {
        None => "ns per load, p10 of all samples, by the size of the set",
        Some(_) => "ns per operation, p10 of all samples, by size",
    };
    page.title(heading);
    let new_column = |heading: &str, unit: &str, width_min| TableColumn {
        gap: 0,
        width_min,
        ..TableColumn::right(heading).unit(unit)
    };
    let methods = columns.iter().map(|column| new_column(column.method, column.pages, 11));
    let mut table = Table::new(std::iter::once(new_column("", "", 8)).chain(methods).collect());
    for (at, size) in sizes.iter().enumerate() {
        let cell = |column: &size_sweep::SweepColumn<'_>| match column.ns[at] {
            Some(ns) if ns < 100.0 => format!("{ns:.2}"),
            Some(ns) => format!("{ns:.0}"),
            None => NONE.to_owned(),
        };
        table.row(Style::Plain, std::iter::once(bytes(*size)).chain(columns.iter().map(cell)));
    }
    page.headed(table, Style::Bold);
    for column in columns.iter().filter(|column| column.method == "random") {
        page.gap();
        for line in sweep::plateau_lines(column, &sizes, &announced(run)) {
            page.hanging(&format!("{} pages: ", column.pages), &line);
        }
    }
}
