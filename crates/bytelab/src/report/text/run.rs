//! A run as text for a terminal.

use lab::analyze::Analysis;
use lab::run::Run;

use super::foot::Foot;
use super::page::{Layout, Page};
use super::{across, head, results, thresholds};
use crate::report::model::rows::{self, More};
use crate::report::model::table::Style;
use crate::report::model::varying::Varying;
use crate::report::model::view::{View, view};
use crate::report::model::{answer, size_sweep};

/// The table of each point, the answer in one sentence, and the warnings.
pub(crate) fn text(run: &Run, analysis: &Analysis, more: &[More], layout: &Layout) -> String {
    if view(run) == View::Rows {
        return super::numbers::text(run, analysis, &[], layout);
    }
    let mut page = Page::new(layout);
    let varying = Varying::of_run(run);
    head::write(&mut page, run, &varying);
    let mut all = rows::all(run, analysis);
    for rows in &mut all {
        rows.more = more;
    }
    let mut left = Vec::new();
    super::size_sweep::write(&mut page, run);
    let (rungs, tables): (Vec<_>, Vec<_>) =
        all.iter().partition(|rows| size_sweep::holds(run, &rows.family.point));
    for rows in tables {
        page.blank();
        if all.len() > 1 {
            page.line(&[(Style::Bold, &varying.shown(&rows.family.point))]);
        }
        if rows.iter().next().is_some() {
            if let Some(judged_by) = rows.judged_by() {
                page.paragraph(Style::Dim, "", &judged_by);
            }
            left.push(results::write(&mut page, rows));
            page.blank();
        }
        page.paragraph(Style::Plain, "", &answer::of_family(rows));
    }
    if all.len() != 1 && rungs.is_empty() {
        page.blank();
        page.paragraph(Style::Plain, "", &answer::of_all(&all, &varying));
    }
    across::write(&mut page, analysis, &varying);
    thresholds::write(&mut page, analysis, &varying);
    page.blank();
    Foot { run, analysis, all: &all, varying: &varying, left: &left }.write(&mut page);
    page.into_text()
}
