//! Groups of runs beside each other.

use crate::document::{Block, Document};
use crate::html;
use crate::text::PageLayout;
use crate::views::fleet::{FleetReport, caption, sentences, table};
use crate::views::table::Style;
use crate::views::units::point as shown;

pub fn text(report: &FleetReport<'_>, layout: &PageLayout) -> String {
    document(report, &[], layout.width).text(layout)
}

/// The whole file, which needs no script. `figures` has the SVG of each point: what is unknown in
/// it is escaped text.
pub fn page(report: &FleetReport<'_>, figures: &[String]) -> String {
    let title = format!("{} by {}", report.experiment, report.by);
    html::page(&title, &document(report, figures, Document::UNLIMITED))
}

fn document(report: &FleetReport<'_>, figures: &[String], width: usize) -> Document {
    let mut page = Document::new(width);
    page.heading(report.experiment, report.question);
    for (at, point) in report.fleet.points.iter().enumerate() {
        page.gap();
        if report.fleet.points.len() > 1 {
            page.title(&shown(&point.point));
        }
        page.paragraph(Style::Plain, "", &caption(report, point));
        if let Some(svg) = figures.get(at) {
            let caption = "Dot: the ratio; line: its 95 % interval.";
            page.blocks.push(Block::Figure { caption, svg: svg.clone() });
        }
        page.table(table(report, point));
        page.gap();
        page.blocks.extend(sentences(report, point).into_iter().map(Block::Item));
    }
    page
}
