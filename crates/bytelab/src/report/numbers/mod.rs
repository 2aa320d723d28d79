//! The table of `bytelab numbers`: a line per row, in units that fit it, with published figures.

mod column;
mod notes;
mod row;

use lab::analyze::Analysis;
use lab::run::Run;
use serde::Serialize;

use self::column::FOR_MARKDOWN;
use self::row::{Number, numbers};
use super::markdown::{self, escaped};
use super::page::Layout;
use super::page::{Page, Style};
use super::table::Table;
use super::text_table::{self, Head};
use super::units::amount;
use super::view::{View, view};
use crate::numbers::Row;
use crate::reference::published;

pub(crate) use self::column::{COLUMNS, Column};

/// The table as text; if no columns are given, as many as fit.
pub(crate) fn text(run: &Run, analysis: &Analysis, columns: &[Column], layout: &Layout) -> String {
    let numbers = numbers(run);
    let mut page = Page::new(layout);
    head(&mut page, run);
    let columns =
        if columns.is_empty() { column::fitting(&numbers, page.width()) } else { columns.to_vec() };
    page.blank();
    text_table::write(&mut page, &column::table(&numbers, &columns), Head::Ruled);
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
        super::head::minute(&run.started),
        fact("cpu_model").unwrap_or_default().to_owned(),
        sessions,
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    page.paragraph(Style::Plain, "", &facts.join(" · "));
    if !run.complete {
        page.paragraph(Style::Red, "not complete: ", "it was stopped before all was measured");
    }
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
    let columns = if columns.is_empty() { FOR_MARKDOWN } else { columns };
    let numbers = numbers(run);
    let table = column::table(&numbers, columns);
    let mut text = markdown::table(&table, |cell| cell.replace('|', "\\|"));
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

/// The machine, the program and the date, on one line.
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
        super::head::minute(&run.started),
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    format!("Measured on: {}.", facts.join(" · "))
}

/// The table with the columns of the Markdown version.
pub(super) fn whole(run: &Run) -> Table {
    column::table(&numbers(run), FOR_MARKDOWN)
}

/// The answer in one sentence, and what reduces the grades.
pub(super) fn answers(run: &Run) -> Vec<String> {
    let numbers = numbers(run);
    std::iter::once(answer(&numbers)).chain(notes::own(run, &numbers)).collect()
}

/// From the smallest to the largest value.
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

/// A row for other programs. Times in ns.
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
pub(super) fn json(run: &Run) -> Option<Vec<RowJson>> {
    (view(run) == View::Rows).then(|| numbers(run).iter().map(row_json).collect())
}

/// The warnings about the rows of a run of `numbers`; `None` for any other run.
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
        published: published(row.published, row.published_on).into_iter().collect(),
    }
}

/// The p50 of each measured row, and the number of its samples.
pub(crate) fn p50s(run: &Run) -> Vec<(&'static Row, f64, usize)> {
    let numbers = row::numbers(run).into_iter();
    numbers.filter_map(|n| n.figures.ok().map(|figures| (n.row, figures.p50, figures.n))).collect()
}

#[cfg(test)]
mod tests;
