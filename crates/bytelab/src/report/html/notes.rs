//! The warnings, and what to do about them.

use lab::analyze::Analysis;
use lab::run::Run;

use super::Html;
use super::table::ROWS_MAX;
use crate::report::model::{Varying, charts};

pub(super) fn write(html: &mut Html, shown: &[(Run, Analysis)]) {
    html.raw("<section aria-labelledby=\"notes-heading\">\n<h2 id=\"notes-heading\">Notes</h2>\n");
    for (run, analysis) in shown {
        if shown.len() > 1 {
            html.element("<h3>", &charts::name(run), "</h3>\n");
        }
        if analysis.notes.is_empty() {
            html.raw("<p>None.</p>\n");
            continue;
        }
        let varying = Varying::of_run(run);
        html.raw("<ul class=\"notes\">\n");
        for note in analysis.notes.iter().take(ROWS_MAX) {
            let at = note.point.as_ref().map(|point| varying.of(point)).unwrap_or_default();
            let about = format!("{}{at}", note.method.as_deref().unwrap_or_default());
            html.raw("<li>");
            if !about.trim().is_empty() {
                html.element("<b>", about.trim(), "</b>: ");
            }
            html.element("", &note.to_string(), "</li>\n");
        }
        html.raw("</ul>\n");
    }
    html.raw("</section>\n");
}
