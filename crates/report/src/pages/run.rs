//! The page of a run: the lines above the tables, the table of each point or sweep, the answer, and
//! the notes.

use analysis::{Analysis, Why};
use model::run::{CacheState, Run, Status};

use super::foot::{self, Footnotes};
use super::results::{self, TableFit};
use super::{factorial, numbers, overview, report, sweep as sweeps, why};
use crate::document::Document;
use crate::text::PageLayout;
use crate::views::rows::{self, Rows, TableOptions};
use crate::views::sweep::{self, PointOrSweep};
use crate::views::table::Style;
use crate::views::words::{
    self, cache, constraints, joined, machine, margin, measured, minute, revisions, rounds_taken,
    taken,
};
use crate::views::{VaryingParams, View, answer, made_of, view};

/// The options of the page of a run.
#[derive(Clone, Copy, Default)]
pub struct TextOptions<'a> {
    pub table: TableOptions<'a>,
    /// All notes, and not only the one that could change the answer most.
    pub all_notes: bool,
    /// How the page is read, below it.
    pub explain: bool,
    pub extent: PageExtent,
}

/// How much of a run a page shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageExtent {
    /// The sentence that answers the question.
    Answer,
    /// The tables; of a run that has many, what they say.
    #[default]
    Summary,
    /// All tables.
    All,
}

pub fn text(run: &Run, analysis: &Analysis, shown: TextOptions<'_>, layout: &PageLayout) -> String {
    let document = match view(run) {
        _ if shown.extent == PageExtent::Answer => answers(run, analysis, layout.width),
        View::Rows => numbers::document(run, analysis, &[], shown, layout.width),
        View::Tables | View::SizeSweep => document(run, analysis, shown, layout.width),
    };
    document.text(layout)
}

/// The answer alone.
fn answers(run: &Run, analysis: &Analysis, width: usize) -> Document {
    let mut page = Document::new(width);
    for sentence in report::answers(run, analysis, &VaryingParams::of_run(run)) {
        page.answer(sentence);
    }
    page
}

/// More tables than these are shown on request; else what they say.
const TABLES_MAX: usize = 3;

/// What the head says, the tables with their answers, and what there is to doubt.
pub(crate) fn document(
    run: &Run,
    analysis: &Analysis,
    shown: TextOptions<'_>,
    width: usize,
) -> Document {
    let mut page = Document::new(width);
    let varying = &VaryingParams::of_run(run);
    head(&mut page, run, varying, shown.all_notes);
    // The line about the load stands directly above the figures that it disturbed.
    if words::noise(run).is_none() || shown.all_notes {
        page.gap();
    }
    let all = rows::arranged(run, analysis, shown.table);
    let fitted = body(&mut page, run, analysis, shown, &all);
    if shown.all_notes || run.cells.iter().any(|cell| cell.status != Status::Measured) {
        page.gap();
    }
    Footnotes { run, analysis, all: &all, varying, fitted: &fitted, shown }.compose(&mut page);
    page
}

/// The tables and answers; below them, folded, all that is known about them.
pub(crate) fn markdown(run: &Run, analysis: &Analysis, shown: TextOptions<'_>) -> Document {
    let mut page = Document::new(Document::UNLIMITED);
    let varying = &VaryingParams::of_run(run);
    let all = rows::arranged(run, analysis, shown.table);
    let fitted = body(&mut page, run, analysis, shown, &all);
    if shown.all_notes {
        page.details("How it was measured, and all notes", |page| {
            head(page, run, varying, true);
            let shown = TextOptions { explain: true, ..shown };
            Footnotes { run, analysis, all: &all, varying, fitted: &fitted, shown }.compose(page);
        });
    }
    page
}

/// The table of each point or sweep, and the answers.
fn body(
    page: &mut Document,
    run: &Run,
    analysis: &Analysis,
    shown: TextOptions<'_>,
    all: &[Rows<'_>],
) -> Vec<TableFit> {
    let varying = &VaryingParams::of_run(run);
    let (rungs, tables): (Vec<_>, Vec<_>) =
        all.iter().partition(|rows| sweep::size_sweep_holds(run, &rows.family.point));
    let is_summary = shown.extent == PageExtent::Summary;
    let plateaus = if is_summary { sweep::plateaus(run) } else { Vec::new() };
    let mut hidden = usize::from(!plateaus.is_empty());
    if plateaus.is_empty() {
        page.columns(|page| sweeps::compose_size_sweep(page, run));
    }
    for sentence in plateaus {
        page.answer(sentence);
    }
    let mut fitted = Vec::new();
    let groups = sweep::groups(tables, varying);
    if is_summary && groups.len() > TABLES_MAX {
        let tables: Vec<&Rows<'_>> =
            all.iter().filter(|rows| !sweep::size_sweep_holds(run, &rows.family.point)).collect();
        overview::compose(page, &tables, varying);
        hidden += groups.len();
    } else {
        for group in groups {
            page.gap();
            match group {
                PointOrSweep::Sweep(sweep) => {
                    page.columns(|page| sweeps::compose(page, &sweep, shown.all_notes));
                }
                PointOrSweep::Point(rows) => {
                    let several = all.len() > 1;
                    let title =
                        if several { varying.shown(&rows.family.point) } else { String::new() };
                    fitted.extend(point(page, (run, analysis), rows, &title, shown.all_notes));
                }
            }
        }
        if all.len() != 1 && rungs.is_empty() {
            page.gap();
            page.answer(answer::of_all(all, varying));
        }
    }
    if rungs.is_empty() {
        page.answer(answer::over_points(&analysis.overall));
    }
    if hidden > 0 {
        let tables = if hidden == 1 { "a table".to_owned() } else { format!("{hidden} tables") };
        let how = run.show_command("--all");
        page.paragraph(Style::Dim, "", &format!("{how} shows {tables}."));
    }
    page.columns(|page| foot::custom_metrics(page, analysis, shown.table.own, varying));
    page.columns(|page| foot::param_effects(page, analysis, varying));
    page.columns(|page| foot::thresholds(page, analysis, varying));
    fitted
}

/// The question, and the table and the answer of each point.
pub(crate) fn tables(run: &Run, analysis: &Analysis, options: TableOptions<'_>) -> Document {
    let mut page = Document::new(Document::UNLIMITED);
    let varying = VaryingParams::of_run(run);
    heading(&mut page, run);
    let all = rows::arranged(run, analysis, options);
    for rows in &all {
        let title = if all.len() > 1 { varying.shown(&rows.family.point) } else { String::new() };
        point(&mut page, (run, analysis), rows, &title, false);
    }
    page
}

/// The table of a point, its answer, what the differences are made of, and the effects of factors.
fn point(
    page: &mut Document,
    (run, analysis): (&Run, &Analysis),
    rows: &Rows<'_>,
    title: &str,
    all_notes: bool,
) -> Option<TableFit> {
    if !title.is_empty() {
        page.title(title);
    }
    let mut shown = None;
    if rows.iter().next().is_some() {
        let (table, fit) = results::fitted(rows, page.width());
        for line in &fit.above {
            page.paragraph(Style::Plain, "", line);
        }
        let judged_by = rows.judged_by().filter(|_| all_notes);
        page.captioned(&judged_by.unwrap_or_default(), table);
        shown = Some(fit);
        page.gap();
    }
    page.answer(answer::of_family(rows));
    made_of_lines(page, analysis, rows, all_notes);
    functions(page, (run, analysis), rows, all_notes);
    for found in analysis.factorial.iter().filter(|found| found.point == rows.family.point) {
        factorial::compose(page, found);
    }
    shown
}

/// More lines than these are shown on request.
const MADE_OF_MAX: usize = 3;

/// What each decided difference is made of.
fn made_of_lines(page: &mut Document, analysis: &Analysis, rows: &Rows<'_>, all_notes: bool) {
    let most = if all_notes { usize::MAX } else { MADE_OF_MAX };
    for made in made_of::of_rows(&analysis.made_of, rows).take(most) {
        page.paragraph(Style::Plain, made_of::MARK, &made_of::sentence(made));
    }
}

/// The functions that the differences are in, of a run with a profile.
fn functions(
    page: &mut Document,
    (run, analysis): (&Run, &Analysis),
    rows: &Rows<'_>,
    all_notes: bool,
) {
    let Some(profile) = &run.plan.profile else { return };
    let most = if all_notes { usize::MAX } else { MADE_OF_MAX };
    // Of a check of two sides the reference of a method is its old side.
    let is_here =
        |why: &&Why| [why.cell, why.reference_cell].iter().all(|i| rows.get(*i).is_some());
    for why in analysis.why.iter().filter(is_here).take(most) {
        why::compose(page, profile, why);
    }
}

/// The lines above the tables: what was measured, where, and how often.
fn head(page: &mut Document, run: &Run, varying: &VaryingParams<'_>, all_notes: bool) {
    let fixed = run.points.first().map(|point| varying.fixed(point)).unwrap_or_default();
    let fact = match (rounds_taken(run), taken(run)) {
        (_, Some(taken)) if all_notes && run.plan.design.is_fixed() => {
            let state = cache(run.plan.cache).to_owned();
            joined([
                state,
                constraints(run.plan.memory_limit_bytes, run.plan.medium.as_deref()),
                taken,
            ]) + &margin(&run.plan)
        }
        (_, Some(taken)) if all_notes => format!("{} · {taken}", measured(&run.plan)),
        (Some(rounds), _) => {
            let state = match run.plan.cache {
                CacheState::AsIs => String::new(),
                state => cache(state).to_owned(),
            };
            joined([
                state,
                constraints(run.plan.memory_limit_bytes, run.plan.medium.as_deref()),
                rounds,
            ]) + &margin(&run.plan)
        }
        _ => measured(&run.plan),
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

/// The head of the page, with two more facts about the run. The question of typed commands is
/// always the same, and needs no line.
pub(super) fn head_with(page: &mut Document, run: &Run, [fact, last]: [String; 2]) {
    if !run.is_bench() {
        heading(page, run);
    }
    let facts = [
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
        run.label.clone().unwrap_or_default(),
        minute(&run.started),
        fact,
        machine(run),
        last,
    ];
    page.facts(&joined(facts));
    if let Some(noise) = words::noise_with_advice(run) {
        page.paragraph(Style::Bold, "busy: ", &noise);
    }
    if !run.complete {
        page.paragraph(Style::Red, "not complete: ", "it was stopped before all was measured");
    }
}
