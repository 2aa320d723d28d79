//! The table of `bytelab numbers`: a line per row, in units that fit it, with published figures.

use lab::analyze::Analysis;
use lab::run::Run;

use super::grid::{self, Head};
use super::page::{Layout, Page};
use crate::report::model::numbers::{Column, LAYOUTS, Number, legend, notes, numbers, table};
use crate::report::model::table::Style;
use crate::report::model::words::minute;

fn fitting(numbers: &[Number], width: usize) -> Vec<Column> {
    let fits = |columns: &&&[Column]| grid::width(&table(numbers, columns)) <= width;
    LAYOUTS.iter().find(fits).unwrap_or(&LAYOUTS[LAYOUTS.len() - 1]).to_vec()
}

/// The table as text; if no columns are given, as many as fit.
pub(crate) fn text(run: &Run, analysis: &Analysis, columns: &[Column], layout: &Layout) -> String {
    let numbers = numbers(run);
    let mut page = Page::new(layout);
    head(&mut page, run);
    let columns =
        if columns.is_empty() { fitting(&numbers, page.width()) } else { columns.to_vec() };
    page.blank();
    grid::write(&mut page, &table(&numbers, &columns), Head::Ruled);
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
        minute(&run.started),
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
