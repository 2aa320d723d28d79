//! The lines above the tables: the question, the date, and how it was measured.

use lab::run::Run;

use super::page::Page;
use crate::report::model::Varying;
use crate::report::model::table::Style;
use crate::report::model::words::{self, cache, margin, measured, minute, revisions, taken};

pub(crate) fn write(page: &mut Page, run: &Run, varying: &Varying<'_>) {
    let fixed = run.points.first().map(|point| varying.fixed(point)).unwrap_or_default();
    let fact = match taken(run) {
        Some(taken) if run.plan.design.is_fixed() => {
            format!("{} · {taken}{}", cache(run.plan.cache), margin(&run.plan))
        }
        Some(taken) => format!("{} · {taken}", measured(&run.plan)),
        None => measured(&run.plan),
    };
    with(page, run, [fact, fixed]);
    let revisions = revisions(run);
    if !revisions.is_empty() {
        page.paragraph(Style::Plain, "revisions: ", &revisions);
    }
}

/// With two more facts about the run.
pub(super) fn with(page: &mut Page, run: &Run, [fact, last]: [String; 2]) {
    let question = if run.question.is_empty() { &run.experiment } else { &run.question };
    page.paragraph(Style::Bold, &format!("{}: ", run.experiment), question);
    let facts = [
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
        run.label.clone().unwrap_or_default(),
        minute(&run.started),
        fact,
        last,
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    page.paragraph(Style::Plain, "", &facts.join(" · "));
    if let Some(noise) = words::noise(run) {
        page.paragraph(Style::Bold, "busy: ", &noise);
    }
    if !run.complete {
        page.paragraph(Style::Red, "not complete: ", "it was stopped before all was measured");
    }
}
