//! The table of `bytelab numbers` in Markdown.

use lab::analyze::Analysis;
use lab::run::Run;

use super::markup::{self, escaped};
use crate::report::model::numbers::{
    self, Column, FOR_MARKDOWN, legend, measured_on, numbers, table,
};

/// The table in Markdown, for a wiki.
pub(crate) fn markdown(run: &Run, analysis: &Analysis, columns: &[Column]) -> String {
    let columns = if columns.is_empty() { FOR_MARKDOWN } else { columns };
    let numbers = numbers(run);
    let table = table(&numbers, columns);
    let mut text = markup::table(&table, |cell| cell.replace('|', "\\|"));
    text.extend(["\n", &escaped(&format!("Measured on: {}.", measured_on(run))), "\n"]);
    let refused = numbers.iter().filter_map(|number| {
        let reason = number.figures.as_ref().err()?;
        Some((format!("{}: ", number.row.title.trim()), reason.clone()))
    });
    let mut notes = refused.chain(numbers::all_notes(run, analysis, &numbers)).peekable();
    if notes.peek().is_some() {
        text.push('\n');
    }
    for (about, note) in notes {
        text.extend(["- ", &escaped(&about), &escaped(&note), "\n"]);
    }
    text.extend(["\n", &escaped(&legend(columns)), "\n"]);
    text
}
