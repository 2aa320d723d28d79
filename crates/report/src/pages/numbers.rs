//! The page of a run of `bytelab numbers`: a line per row, in units that fit it, with published
//! figures.

use analysis::Analysis;
use model::run::Run;

use super::run::{PageExtent, TextOptions, head_with};
use crate::document::Document;
use crate::export::markdown::OWN_CELLS;
use crate::text::{PageLayout, grid};
use crate::views::numbers::{
    FOR_MARKDOWN, LAYOUTS, MeasuredNumber, NumbersColumn, all_notes, headlines, legend,
    measured_on, numbers, own_notes, table, times,
};
use crate::views::table::Style;
use crate::views::words::{self, rounds_taken};

/// The table as text; if no columns are given, as many as fit.
pub fn text(
    run: &Run,
    analysis: &Analysis,
    columns: &[NumbersColumn],
    layout: &PageLayout,
) -> String {
    let extent = PageExtent::All;
    let shown = TextOptions { all_notes: true, explain: true, extent, ..TextOptions::default() };
    document(run, analysis, columns, shown, layout.width).text(layout)
}

/// More rows than these are shown on request.
const ROWS_MAX: usize = 20;

/// The answer in a few lines, and the table.
pub(super) fn document(
    run: &Run,
    analysis: &Analysis,
    columns: &[NumbersColumn],
    shown: TextOptions<'_>,
    width: usize,
) -> Document {
    let numbers = numbers(run);
    let mut page = Document::new(width);
    let rounds = rounds_taken(run).unwrap_or_else(|| words::rounds(&run.plan));
    head_with(&mut page, run, [rounds, String::new()]);
    page.gap();
    for (name, line) in headlines(&numbers) {
        page.hanging(&format!("{name}: "), &line);
    }
    page.gap();
    let is_short = shown.extent == PageExtent::Summary && numbers.len() > ROWS_MAX;
    let columns = if columns.is_empty() { fitting(&numbers, page.width()) } else { columns };
    if is_short {
        let how = run.show_command("--all");
        let text = format!("{how} shows the table of {} rows.", numbers.len());
        page.paragraph(Style::Dim, "", &text);
    } else {
        page.table(table(&numbers, columns));
        page.gap();
    }
    if shown.all_notes {
        notes(&mut page, run, analysis, &numbers, "note: ");
    } else {
        refused(&mut page, &numbers);
        for note in own_notes(run, &numbers) {
            page.note(Style::Plain, "note: ", &note);
        }
    }
    if shown.explain {
        page.paragraph(Style::Plain, "", &legend(columns));
    } else if !is_short {
        let how = run.show_command("--explain");
        let text = format!("A, B, C: how well the sessions agree; {how} says how.");
        page.paragraph(Style::Dim, "", &text);
    }
    if !is_short {
        for (experiment, took) in times(run, &numbers) {
            page.paragraph(Style::Dim, &format!("time of {experiment}: "), &took);
        }
    }
    page
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
    refused(page, numbers);
    for (about, text) in all_notes(run, analysis, numbers) {
        page.note(Style::Plain, mark, &format!("{about}{text}"));
    }
}

/// Why rows were not measured.
fn refused(page: &mut Document, numbers: &[MeasuredNumber]) {
    for number in numbers {
        if let Err(reason) = &number.figures {
            page.note(Style::Red, &format!("{}: ", number.row.title.trim()), reason);
        }
    }
}
