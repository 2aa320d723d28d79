//! Published results as they are: the figures of one, and a list of all.

use super::grid::{self, Head};
use super::page::{Layout, Page};
use crate::reference::{PREFIX, Published, Study};
use crate::report::model::table::{Style, Table};
use crate::report::model::units::{NONE, amount};

/// The figures of one published result.
pub(crate) fn figures(published: &Published, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    let name = format!("{PREFIX}{} · {}", published.name, published.machine);
    page.paragraph(Style::Bold, "", &name);
    page.paragraph(Style::Plain, "", published.title);
    page.paragraph(Style::Plain, "source: ", published.source);
    page.paragraph(Style::Plain, "known against it: ", published.caveat);
    page.blank();
    let heads = ["method", "metric", "p0", "p25", "p50", "p75", "p90", "p99", "p100", "n"];
    let mut table = Table::plain(&heads, false);
    for figure in &published.figures {
        let shown = |p: f64| {
            let found = figure.percentiles.iter().find(|(known, _)| (known - p).abs() < 0.01);
            found.map_or(NONE.to_owned(), |(_, value)| amount(figure.unit, *value))
        };
        let mut cells = vec![figure.method.clone(), figure.metric.clone()];
        cells.extend([0.0, 25.0].map(shown));
        cells.push(amount(figure.unit, figure.p50));
        cells.extend([75.0, 90.0, 99.0, 100.0].map(shown));
        cells.push(figure.n.map_or(NONE.to_owned(), |n| n.to_string()));
        table.row(Style::Plain, cells);
    }
    grid::write(&mut page, &table, Head::Ruled);
    page.into_text()
}

/// All published results, each with its source and its known defects, and the studies.
pub(crate) fn list(all: &[Published], studies: &[Study], layout: &Layout) -> String {
    let mut page = Page::new(layout);
    for published in all {
        let name = format!("{PREFIX}{}", published.name);
        page.line(&[(Style::Bold, &name)]);
        let about = format!(
            "{}, on: {}; to stand beside a run of {}",
            published.title, published.machine, published.experiment
        );
        page.hanging("  ", &about);
        page.hanging("  source: ", published.source);
        page.hanging("  known against it: ", published.caveat);
    }
    page.blank();
    page.paragraph(Style::Bold, "", "Studies, which `bytelab run` measures here");
    for study in studies {
        let claims = study.claims.len();
        let about = format!("{}; a verdict on {claims} claims", study.title);
        page.hanging(&format!("  {PREFIX}{}: ", study.name), &about);
    }
    page.into_text()
}
