//! The page of a run of `bytelab numbers`: a line per row, in units that fit it, with published
//! figures.

use analysis::Analysis;
use model::run::Run;

use super::run::head_with;
use crate::document::Document;
use crate::export::markdown::OWN_CELLS;
use crate::text::{PageLayout, grid};
use crate::views::numbers::{
    FOR_MARKDOWN, LAYOUTS, MeasuredNumber, NumbersColumn, all_notes, legend, measured_on, numbers,
    table,
};
use crate::views::table::Style;
use crate::views::words;

/// The table as text; if no columns are given, as many as fit.
pub fn text(
    run: &Run,
    analysis: &Analysis,
    columns: &[NumbersColumn],
    layout: &PageLayout,
) -> String {
    let numbers = numbers(run);
    let mut page = Document::new(layout.width);
    let cpu = run.environment.facts.get("cpu_model").and_then(|model| model.as_str());
    let sessions = if run.plan.design.is_fixed() {
        format!("{} sessions of up to {} rounds", run.plan.sessions, run.plan.rounds)
    } else {
        words::rounds(&run.plan)
    };
    head_with(&mut page, run, [cpu.unwrap_or_default().to_owned(), sessions]);
    let columns = if columns.is_empty() { fitting(&numbers, page.width()) } else { columns };
    page.gap();
    page.table(table(&numbers, columns));
    page.gap();
    notes(&mut page, run, analysis, &numbers, "note: ");
    page.paragraph(Style::Plain, "", &legend(columns));
    page.text(layout)
}

/// The table in Markdown, for a wiki.
pub fn markdown(run: &Run, analysis: &Analysis, columns: &[NumbersColumn]) -> String {
    let numbers = numbers(run);
    let columns = if columns.is_empty() { FOR_MARKDOWN } else { columns };
    let mut page = Document::new(Document::UNLIMITED);
    page.table(table(&numbers, columns));
    page.paragraph(Style::Plain, "", &format!("Measured on: {}.", measured_on(run)));
    notes(&mut page, run, analysis, &numbers, "");
    page.paragraph(Style::Plain, "", &legend(columns));
    OWN_CELLS.render(&page)
}

fn fitting(numbers: &[MeasuredNumber], width: usize) -> &'static [NumbersColumn] {
    let fits = |columns: &&'static [NumbersColumn]| grid::width(&table(numbers, columns)) <= width;
    LAYOUTS.into_iter().find(fits).unwrap_or(LAYOUTS[LAYOUTS.len() - 1])
}

/// Why rows were not measured, and the warnings, each after this mark.
fn notes(
    page: &mut Document,
    run: &Run,
    analysis: &Analysis,
    numbers: &[MeasuredNumber],
    mark: &str,
) {
    for number in numbers {
        if let Err(reason) = &number.figures {
            page.note(Style::Red, &format!("{}: ", number.row.title.trim()), reason);
        }
    }
    for (about, text) in all_notes(run, analysis, numbers) {
        page.note(Style::Plain, mark, &format!("{about}{text}"));
    }
}
