//! The page of groups of runs beside each other. It needs no script.

use super::document::Html;
use super::{head_without_script, table};
use crate::report::model::fleet::{FleetReport, caption, sentences, table as rows};
use crate::report::model::units::point as shown;

/// The whole file. `figures` has the SVG of each point: what is unknown in it is escaped text.
pub(crate) fn page(report: &FleetReport<'_>, figures: &[String]) -> String {
    let title = format!("{} by {}", report.experiment, report.by);
    let mut html = Html(String::new());
    head_without_script(&mut html, &title);
    html.raw("<header>\n<p class=\"kicker\">bytelab</p>\n");
    html.element("<h1>", &title, "</h1>\n");
    html.element("<p>", report.question, "</p>\n</header>\n");
    for (point, figure) in report.fleet.points.iter().zip(figures) {
        html.raw("<section>\n");
        html.element("<h2>", &caption(report, point), "</h2>\n");
        html.element("<p class=\"facts\">", &shown(&point.point), "</p>\n");
        html.raw("<ul>\n");
        for sentence in sentences(report, point) {
            html.element("<li>", &sentence, "</li>\n");
        }
        html.raw("</ul>\n<figure>\n<div class=\"scroll\">\n");
        html.0 += figure;
        html.raw("</div>\n<figcaption>Dot: the ratio; line: its 95 % interval.");
        html.raw("</figcaption>\n</figure>\n");
        table::write(&mut html, "", "ratios to the reference", &rows(report, point));
        html.raw("</section>\n");
    }
    html.raw("</main>\n</body>\n</html>\n");
    html.0
}
