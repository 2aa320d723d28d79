//! The table of `bytelab numbers` in Markdown.

use lab::analyze::Analysis;
use lab::run::Run;

use super::markup::{self, escaped};
use crate::report::model::numbers::{Column, FOR_MARKDOWN, legend, notes, numbers, table};
use crate::report::model::words::minute;

/// The table in Markdown, for a wiki.
pub(crate) fn markdown(run: &Run, analysis: &Analysis, columns: &[Column]) -> String {
    let columns = if columns.is_empty() { FOR_MARKDOWN } else { columns };
    let numbers = numbers(run);
    let table = table(&numbers, columns);
    let mut text = markup::table(&table, |cell| cell.replace('|', "\\|"));
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
        minute(&run.started),
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    format!("Measured on: {}.", facts.join(" · "))
}
