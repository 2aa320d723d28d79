//! The page of a run: the lines above the tables, the table of each point or sweep, the answer, and
//! the notes.

use analysis::Analysis;
use model::run::Run;

use super::foot::{self, Footnotes};
use super::results::{self, Omitted};
use super::{numbers, sweep as sweeps};
use crate::document::Document;
use crate::text::PageLayout;
use crate::views::rows::{self, Rows, TableOptions};
use crate::views::sweep::{self, PointOrSweep};
use crate::views::table::Style;
use crate::views::words::{self, cache, joined, margin, measured, minute, revisions, taken};
use crate::views::{VaryingParams, View, answer, view};

/// The options of the page of a run.
#[derive(Clone, Copy, Default)]
pub struct TextOptions<'a> {
    pub table: TableOptions<'a>,
    /// All notes, and not only those that could change the answer.
    pub all_notes: bool,
}

pub fn text(run: &Run, analysis: &Analysis, shown: TextOptions<'_>, layout: &PageLayout) -> String {
    if view(run) == View::Rows {
        return numbers::text(run, analysis, &[], layout);
    }
    document(run, analysis, shown, layout.width).text(layout)
}

/// The table of each point or sweep, the answer in one sentence, and the warnings.
pub(crate) fn document(
    run: &Run,
    analysis: &Analysis,
    shown: TextOptions<'_>,
    width: usize,
) -> Document {
    let mut page = Document::new(width);
    let varying = &VaryingParams::of_run(run);
    head(&mut page, run, varying);
    let all = rows::arranged(run, analysis, shown.table);
    let mut left = Vec::new();
    page.columns(|page| sweeps::compose_size_sweep(page, run));
    let (rungs, tables): (Vec<_>, Vec<_>) =
        all.iter().partition(|rows| sweep::size_sweep_holds(run, &rows.family.point));
    let mut has_points = false;
    for group in sweep::groups(tables, varying) {
        page.gap();
        match group {
            PointOrSweep::Sweep(sweep) => {
                left.push(page.columns(|page| sweeps::compose(page, &sweep)));
            }
            PointOrSweep::Point(rows) => {
                has_points = true;
                let title =
                    if all.len() > 1 { varying.shown(&rows.family.point) } else { String::new() };
                left.extend(point(&mut page, rows, &title));
            }
        }
    }
    if all.len() != 1 && rungs.is_empty() {
        page.gap();
        page.answer(answer::of_all(&all, varying));
    }
    if rungs.is_empty() {
        page.answer(answer::over_points(&analysis.overall));
    }
    page.columns(|page| foot::custom_metrics(page, analysis, shown.table.own, varying));
    page.columns(|page| foot::param_effects(page, analysis, varying));
    page.columns(|page| foot::thresholds(page, analysis, varying));
    page.gap();
    let all_notes = shown.all_notes;
    Footnotes { run, analysis, all: &all, varying, left: &left, has_points, all_notes }
        .compose(&mut page);
    page
}

/// The question, and the table and the answer of each point.
pub(crate) fn tables(run: &Run, analysis: &Analysis, options: TableOptions<'_>) -> Document {
    let mut page = Document::new(Document::UNLIMITED);
    let varying = VaryingParams::of_run(run);
    heading(&mut page, run);
    let all = rows::arranged(run, analysis, options);
    for rows in &all {
        let title = if all.len() > 1 { varying.shown(&rows.family.point) } else { String::new() };
        point(&mut page, rows, &title);
    }
    page
}

/// The table of a point, and its answer.
fn point(page: &mut Document, rows: &Rows<'_>, title: &str) -> Option<Omitted> {
    if !title.is_empty() {
        page.title(title);
    }
    let mut left = None;
    if rows.iter().next().is_some() {
        let (table, omitted) = results::fitted(rows, page.width());
        page.captioned(&rows.judged_by().unwrap_or_default(), table);
        left = Some(omitted);
        page.gap();
    }
    page.answer(answer::of_family(rows));
    left
}

/// The lines above the tables: the question, the date, and how it was measured.
fn head(page: &mut Document, run: &Run, varying: &VaryingParams<'_>) {
    let fixed = run.points.first().map(|point| varying.fixed(point)).unwrap_or_default();
    let fact = match taken(run) {
        Some(taken) if run.plan.design.is_fixed() => {
            format!("{} · {taken}{}", cache(run.plan.cache), margin(&run.plan))
        }
        Some(taken) => format!("{} · {taken}", measured(&run.plan)),
        None => measured(&run.plan),
    };
    head_with(page, run, [fact, fixed]);
    let revisions = revisions(run);
    if !revisions.is_empty() {
        page.paragraph(Style::Plain, "revisions: ", &revisions);
    }
}

pub(super) fn heading(page: &mut Document, run: &Run) {
    let question = if run.question.is_empty() { &run.experiment } else { &run.question };
    page.heading(&run.experiment, question);
}

/// The head of the page, with two more facts about the run.
pub(super) fn head_with(page: &mut Document, run: &Run, [fact, last]: [String; 2]) {
    heading(page, run);
    let facts = [
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
        run.label.clone().unwrap_or_default(),
        minute(&run.started),
        fact,
        last,
    ];
    page.facts(&joined(facts));
    if let Some(noise) = words::noise(run) {
        page.paragraph(Style::Bold, "busy: ", &noise);
    }
    if !run.complete {
        page.paragraph(Style::Red, "not complete: ", "it was stopped before all was measured");
    }
}
