//! The table of `bytelab numbers`: a line per row, in units that fit it, with published figures.

use lab::analyze::Analysis;
use lab::run::Run;

use super::grid::{self, Head};
use super::head;
use super::page::{Layout, Page};
use crate::report::model::numbers::{self, Column, LAYOUTS, Number, legend, numbers, table};
use crate::report::model::table::Style;
use crate::report::model::words;

fn fitting(numbers: &[Number], width: usize) -> Vec<Column> {
    let fits = |columns: &&&[Column]| grid::width(&table(numbers, columns)) <= width;
    LAYOUTS.iter().find(fits).unwrap_or(&LAYOUTS[LAYOUTS.len() - 1]).to_vec()
}

/// The table as text; if no columns are given, as many as fit.
pub(crate) fn text(run: &Run, analysis: &Analysis, columns: &[Column], layout: &Layout) -> String {
    let numbers = numbers(run);
    let mut page = Page::new(layout);
    let cpu = run.environment.facts.get("cpu_model").and_then(|model| model.as_str());
    let sessions = if run.plan.design.is_fixed() {
        format!("{} sessions of up to {} rounds", run.plan.sessions, run.plan.rounds)
    } else {
        words::rounds(&run.plan)
    };
    head::with(&mut page, run, [cpu.unwrap_or_default().to_owned(), sessions]);
    let columns =
        if columns.is_empty() { fitting(&numbers, page.width()) } else { columns.to_vec() };
    page.blank();
    grid::write(&mut page, &table(&numbers, &columns), Head::Ruled);
    page.blank();
    foot(&mut page, run, analysis, &numbers, &columns);
    page.into_text()
}

fn foot(page: &mut Page, run: &Run, analysis: &Analysis, numbers: &[Number], columns: &[Column]) {
    for number in numbers {
        if let Err(reason) = &number.figures {
            page.paragraph(Style::Red, &format!("{}: ", number.row.title.trim()), reason);
        }
    }
    for (about, text) in numbers::all_notes(run, analysis, numbers) {
        page.paragraph(Style::Plain, "note: ", &format!("{about}{text}"));
    }
    page.paragraph(Style::Plain, "", &legend(columns));
}
