//! The table of `bytelab numbers`: a line per row, in units that fit it, beside published figures.

mod column;
mod meanwhile;
mod notes;
mod row;

use lab::analyze::Analysis;
use lab::run::Run;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use self::column::{cell, heading};
use self::row::{Number, numbers};
use super::Layout;
use super::export::escaped;
use super::page::{Page, Style};
use super::units::{NONE, amount};
use super::view::{View, view};
use crate::numbers::Row;
use crate::reference::published;

pub(crate) use self::column::{COLUMNS, Column};

/// The table in text; without columns, as many as fit.
pub(crate) fn text(run: &Run, analysis: &Analysis, columns: &[Column], layout: &Layout) -> String {
    let numbers = numbers(run);
    let mut page = Page::new(layout);
    head(&mut page, run);
    let columns =
        if columns.is_empty() { column::fitting(&numbers, page.width()) } else { columns.to_vec() };
    page.blank();
    table(&mut page, &numbers, &columns);
    page.blank();
    foot(&mut page, run, analysis, &numbers, &columns);
    page.into_text()
}

fn head(page: &mut Page, run: &Run) {
    page.paragraph(Style::Bold, "numbers: ", &run.question);
    let fact = |name: &str| run.environment.facts.get(name).and_then(|fact| fact.as_str());
    let sessions = format!("{} sessions of up to {} rounds", run.plan.sessions, run.plan.rounds);
    let facts = [
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
        run.label.clone().unwrap_or_default(),
        super::minute(&run.started),
        fact("cpu_model").unwrap_or_default().to_owned(),
        sessions,
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    page.paragraph(Style::Plain, "", &facts.join(" · "));
    if !run.complete {
        page.paragraph(Style::Red, "not complete: ", "it was stopped before all was measured");
    }
}

fn table(page: &mut Page, numbers: &[Number], columns: &[Column]) {
    let widths = column::widths(numbers, columns);
    let title = column::title_width(numbers);
    let line = |title_text: &str, cells: &[String]| {
        let mut line = padded(title_text, title, true);
        for ((column, cell), width) in columns.iter().zip(cells).zip(&widths) {
            line += " ";
            line += &padded(cell, *width, column.is_left());
        }
        line.trim_end().to_owned()
    };
    let headings: Vec<String> = columns.iter().map(|column| heading(*column).to_owned()).collect();
    page.line(&[(Style::Bold, &line("operation", &headings))]);
    let mut experiment = "";
    for number in numbers {
        if number.row.experiment != experiment {
            experiment = number.row.experiment;
            let rule =
                "─".repeat(page.width().min(title + widths.iter().sum::<usize>() + widths.len()));
            page.line(&[(Style::Dim, &rule)]);
        }
        let cells: Vec<String> = columns.iter().map(|column| cell(number, *column)).collect();
        page.line(&[(Style::Plain, &line(number.row.title, &cells))]);
    }
}

fn padded(text: &str, width: usize, left: bool) -> String {
    let fill = " ".repeat(width.saturating_sub(text.width()));
    if left { format!("{text}{fill}") } else { format!("{fill}{text}") }
}

fn foot(page: &mut Page, run: &Run, analysis: &Analysis, numbers: &[Number], columns: &[Column]) {
    for number in numbers {
        if let Err(reason) = &number.figures {
            page.paragraph(Style::Red, &format!("{}: ", number.row.title.trim()), reason);
        }
    }
    for (about, text) in notes::all(run, analysis, numbers) {
        page.paragraph(Style::Plain, "note: ", &format!("{about}{text}"));
    }
    page.paragraph(Style::Plain, "", &legend(columns));
}

fn legend(columns: &[Column]) -> String {
    columns.iter().filter_map(|column| column.legend()).collect::<Vec<&str>>().join(" ")
}

/// The table in Markdown, for a wiki.
pub(crate) fn markdown(run: &Run, analysis: &Analysis, columns: &[Column]) -> String {
    let (headings, lines) = columns_of(run, columns);
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells: Vec<String> = cells.map(|cell| cell.trim().replace('|', "\\|")).collect();
        text.extend(["| ", &cells.join(" | "), " |\n"]);
    };
    line(&mut headings.iter().map(|(heading, _)| *heading));
    line(&mut headings.iter().map(|(_, is_left)| if *is_left { "---" } else { "---:" }));
    for cells in &lines {
        line(&mut cells.iter().map(String::as_str));
    }
    let columns = if columns.is_empty() { column::FOR_MARKDOWN } else { columns };
    let numbers = numbers(run);
    text.extend(["\n", &escaped(&measured_on(run)), "\n"]);
    let refused = numbers.iter().filter_map(|number| {
        let reason = number.figures.as_ref().err()?;
        Some((format!("{}: ", number.row.title.trim()), reason.clone()))
    });
    let mut notes = refused.chain(notes::all(run, analysis, &numbers)).peekable();
    if notes.peek().is_some() {
        text.push('\n');
    }
    for (about, note) in notes {
        text.extend(["- ", &escaped(&about), &escaped(&note), "\n"]);
    }
    text.extend(["\n", &escaped(&legend(columns)), "\n"]);
    text
}

/// On which machine, by what and when, in one line.
fn measured_on(run: &Run) -> String {
    let fact = |name: &str| match run.environment.facts.get(name) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let with = |before: &str, name: &str, after: &str| match fact(name) {
        unknown if unknown.is_empty() || unknown == "none" => unknown.replace("none", ""),
        known => format!("{before}{known}{after}"),
    };
    let facts = [
        fact("cpu_model"),
        with("", "cpu_threads", " CPUs"),
        with("", "memory_gib", " GiB"),
        with("under ", "hypervisor", ""),
        fact("os_name"),
        with("kernel ", "kernel_release", ""),
        with("bytelab ", "bytelab_version", ""),
        super::minute(&run.started),
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    format!("Measured on: {}.", facts.join(" · "))
}

/// Each column's heading, and whether it is flush left; each row's cells. The first column is that of
/// the operations.
type Cells = (Vec<(&'static str, bool)>, Vec<Vec<String>>);

/// The table in cells, with the columns of the Markdown.
pub(super) fn cells(run: &Run) -> Cells {
    columns_of(run, &[])
}

fn columns_of(run: &Run, columns: &[Column]) -> Cells {
    let columns = if columns.is_empty() { column::FOR_MARKDOWN } else { columns };
    let headings = columns.iter().map(|column| (heading(*column), column.is_left()));
    let line = |number: &Number| {
        let title = std::iter::once(number.row.title.to_owned());
        title.chain(columns.iter().map(|column| cell(number, *column))).collect()
    };
    let headings = std::iter::once(("operation", true)).chain(headings).collect();
    (headings, numbers(run).iter().map(line).collect())
}

/// The answer in one sentence, and what its grades suffer from.
pub(super) fn answers(run: &Run) -> Vec<String> {
    let numbers = numbers(run);
    std::iter::once(answer(&numbers)).chain(notes::own(run, &numbers)).collect()
}

/// From the least to the greatest.
fn answer(numbers: &[Number]) -> String {
    let measured = numbers.iter().filter_map(|number| {
        let figures = number.figures.as_ref().ok()?;
        Some((number.row.title, figures.p50))
    });
    let mut measured: Vec<(&str, f64)> = measured.collect();
    measured.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(least), Some(most)) = (measured.first(), measured.last()) else {
        return "Nothing was measured.".to_owned();
    };
    let [from, to] = [least, most].map(|(title, p50)| format!("{} ({title})", amount("ns", *p50)));
    format!("{} operations, from {from} to {to}.", measured.len())
}

/// A row as programs get it. Times in ns.
#[derive(Serialize)]
pub(super) struct RowJson {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    experiment: &'static str,
    method: &'static str,
    point: &'static str,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<f64>,
    /// What two runs are best compared by.
    p10: Option<f64>,
    p25: Option<f64>,
    p50: Option<f64>,
    /// By session, at 95 %.
    p50_low: Option<f64>,
    p50_high: Option<f64>,
    p90: Option<f64>,
    n: usize,
    sessions: usize,
    disturbed: usize,
    grade: Option<char>,
    published: std::collections::BTreeMap<&'static str, f64>,
}

/// The rows of a run of `numbers`; none of any other.
pub(super) fn json(run: &Run) -> Option<Vec<RowJson>> {
    (view(run) == View::Rows).then(|| numbers(run).iter().map(row_json).collect())
}

/// What there is to doubt about the rows of a run of `numbers`; none of any other.
pub(super) fn doubts(run: &Run, analysis: &Analysis) -> Option<Vec<String>> {
    (view(run) == View::Rows).then(|| {
        let all = notes::all(run, analysis, &numbers(run)).into_iter();
        all.map(|(about, text)| about + &text).collect()
    })
}

fn row_json(number: &Number) -> RowJson {
    let row = number.row;
    let figures = number.figures.as_ref().ok();
    RowJson {
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
        published: published(row.published, row.only).into_iter().collect(),
    }
}

/// The p50 of each row that was measured, and of how many samples.
pub(crate) fn p50s(run: &Run) -> Vec<(&'static Row, f64, usize)> {
    let numbers = row::numbers(run).into_iter();
    numbers.filter_map(|n| n.figures.ok().map(|figures| (n.row, figures.p50, figures.n))).collect()
}

/// Stands where there is no figure.
fn none() -> String {
    NONE.to_owned()
}

#[cfg(test)]
mod tests;
