//! The table of `bytelab numbers`: a line per row, in units that fit it, with published figures.

mod column;
pub(crate) mod notes;
mod row;

use lab::run::Run;

use super::table::Table;
use super::units::amount;
use super::words::minute;
use crate::numbers::Row;

pub(crate) use self::column::{COLUMNS, Column, FOR_MARKDOWN, LAYOUTS, table};
pub(crate) use self::row::{Number, numbers};

pub(crate) fn legend(columns: &[Column]) -> String {
    columns.iter().filter_map(|column| column.legend()).collect::<Vec<&str>>().join(" ")
}

/// The table with the columns of the Markdown version.
pub(crate) fn whole(run: &Run) -> Table {
    table(&numbers(run), FOR_MARKDOWN)
}

/// The answer in one sentence, and what reduces the grades.
pub(crate) fn answers(run: &Run) -> Vec<String> {
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

/// The p50 of each measured row, and the number of its samples.
pub(crate) fn p50s(run: &Run) -> Vec<(&'static Row, f64, usize)> {
    let numbers = numbers(run).into_iter();
    numbers.filter_map(|n| n.figures.ok().map(|figures| (n.row, figures.p50, figures.n))).collect()
}

/// The machine, the program and the date, on one line.
pub(crate) fn measured_on(run: &Run) -> String {
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
        minute(&run.started),
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    facts.join(" · ")
}
