//! The text below the tables of two sides: what only one of them has, what has no ratio and why,
//! and the warnings.

use lab::analyze::{Effect, RunComparison, Verdict};

use crate::report::model::compare::{Side, notes};
use crate::report::model::table::Style;
use crate::report::model::units::point as shown;
use crate::report::text::page::Page;

pub(crate) fn write(page: &mut Page, a: &Side, b: &Side, sides: &RunComparison) {
    page.blank();
    for alone in &sides.alone {
        let side = alone.side.to_uppercase();
        let why = alone.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        let text = format!("{} ({}){why}", alone.method, shown(&alone.point));
        page.paragraph(Style::Dim, &format!("only on {side}: "), &text);
    }
    let mut written: Vec<&str> = Vec::new();
    for line in sides.lines.iter().filter(|line| line.decides) {
        let wrong =
            |change: &&Effect| matches!(change.verdict, Verdict::WrongAnswer | Verdict::Missing);
        let changes = [Some(&line.absolute), line.relative.as_ref()];
        for change in changes.into_iter().flatten().filter(wrong) {
            let reason = change.reason.as_deref().unwrap_or("not available");
            if !written.contains(&reason) {
                written.push(reason);
                page.paragraph(Style::Red, &format!("{}: ", line.method), reason);
            }
        }
    }
    for note in notes(a, b) {
        page.paragraph(Style::Plain, "note: ", &note);
    }
    let legend = "B/A: what B takes for what A takes. To ref.: the same of the ratio to the reference, \
                  which ran in the same rounds, so that the speed of the machine is out of it.";
    page.paragraph(Style::Dim, "", legend);
}
