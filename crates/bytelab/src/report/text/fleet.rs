//! Groups of runs beside each other, as text.

use crate::report::model::fleet::{FleetReport, caption, sentences, table};
use crate::report::model::table::Style;
use crate::report::model::units::point as shown;
use crate::report::text::grid::{self, Head};
use crate::report::text::page::{Layout, Page};

pub(crate) fn text(report: &FleetReport<'_>, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    page.paragraph(Style::Bold, &format!("{}: ", report.experiment), report.question);
    for point in &report.fleet.points {
        page.blank();
        if report.fleet.points.len() > 1 {
            page.line(&[(Style::Bold, &shown(&point.point))]);
        }
        page.paragraph(Style::Plain, "", &caption(report, point));
        grid::write(&mut page, &table(report, point), Head::Ruled);
        page.blank();
        for sentence in sentences(report, point) {
            page.paragraph(Style::Plain, "* ", &sentence);
        }
    }
    page.into_text()
}
