//! A run as text for a terminal.

use lab::analyze::Analysis;
use lab::run::Run;

use super::foot::Footnotes;
use super::page::{Layout, Page};
use super::results::{self, Omitted};
use super::{across, head, own, thresholds};
use crate::report::model::rows::{self, Rows, TableOptions};
use crate::report::model::sweep::{self, Group};
use crate::report::model::table::Style;
use crate::report::model::{Varying, View, answer, view};

/// What a reader wants to see of a run.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shown<'a> {
    pub(crate) table: TableOptions<'a>,
    /// All notes, and not only those that could change the answer.
    pub(crate) all_notes: bool,
}

/// The table of each point or sweep, the answer in one sentence, and the warnings.
pub(crate) fn text(run: &Run, analysis: &Analysis, shown: Shown<'_>, layout: &Layout) -> String {
    if view(run) == View::Rows {
        return super::numbers::text(run, analysis, &[], layout);
    }
    let mut page = Page::new(layout);
    let varying = Varying::of_run(run);
    head::write(&mut page, run, &varying);
    let all = rows::arranged(run, analysis, shown.table);
    let mut left = Vec::new();
    super::size_sweep::write(&mut page, run);
    let (rungs, tables): (Vec<_>, Vec<_>) =
        all.iter().partition(|rows| sweep::size_sweep_holds(run, &rows.family.point));
    let mut has_points = false;
    for group in sweep::groups(tables, &varying) {
        page.blank();
        match group {
            Group::Sweep(sweep) => left.push(super::sweep::write(&mut page, &sweep)),
            Group::Point(rows) => {
                has_points = true;
                let title =
                    if all.len() > 1 { varying.shown(&rows.family.point) } else { String::new() };
                left.extend(point(&mut page, rows, &title));
            }
        }
    }
    if all.len() != 1 && rungs.is_empty() {
        page.blank();
        page.paragraph(Style::Plain, "", &answer::of_all(&all, &varying));
    }
    if rungs.is_empty() {
        page.paragraph(Style::Plain, "", &answer::over_points(&analysis.overall));
    }
    own::write(&mut page, analysis, shown.table.own, &varying);
    across::write(&mut page, analysis, &varying);
    thresholds::write(&mut page, analysis, &varying);
    page.blank();
    let all_notes = shown.all_notes;
    let foot = Footnotes {
        run,
        analysis,
        all: &all,
        varying: &varying,
        left: &left,
        has_points,
        all_notes,
    };
    foot.write(&mut page);
    page.into_text()
}

/// The table of a point, and its answer.
fn point(page: &mut Page, rows: &Rows<'_>, title: &str) -> Option<Omitted> {
    if !title.is_empty() {
        page.line(&[(Style::Bold, title)]);
    }
    let mut left = None;
    if rows.iter().next().is_some() {
        if let Some(judged_by) = rows.judged_by() {
            page.paragraph(Style::Dim, "", &judged_by);
        }
        left = Some(results::write(page, rows));
        page.blank();
    }
    page.paragraph(Style::Plain, "", &answer::of_family(rows));
    left
}
