//! Groups of runs beside each other.

use crate::document::Document;
use crate::text::PageLayout;
use crate::views::fleet::{FleetReport, caption, sentences, table};
use crate::views::table::Style;
use crate::views::units::point as shown;

pub fn text(report: &FleetReport<'_>, layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    page.heading(report.experiment, report.question);
    for point in &report.fleet.points {
        page.gap();
        if report.fleet.points.len() > 1 {
            page.title(&shown(&point.point));
        }
        page.paragraph(Style::Plain, "", &caption(report, point));
        page.table(table(report, point));
        page.gap();
        for sentence in sentences(report, point) {
            page.paragraph(Style::Plain, "* ", &sentence);
        }
    }
    page.text(layout)
}
