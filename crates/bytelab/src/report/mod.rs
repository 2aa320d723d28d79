//! What a reader sees: text generated from runs and analyses. Pure: reads no clock, file or
//! environment.

mod across;
mod answer;
mod charts;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod export;
mod foot;
mod head;
pub(crate) mod history;
mod html;
mod json;
mod list;
mod markdown;
pub(crate) mod numbers;
pub(crate) mod over_time;
mod page;
mod percentiles;
mod plot;
pub(crate) mod published;
mod results;
mod rows;
mod size_sweep;
mod standing;
mod svg;
mod table;
mod text;
mod text_table;
mod thresholds;
pub(crate) mod units;
mod varying;
pub(crate) mod view;

#[cfg(test)]
mod tests;
#[cfg(test)]
use self::tests::fixture;

use std::io;

use lab::analyze::Analysis;
use lab::experiment::Experiment;
use lab::run::Run;

use self::page::Page;
use self::varying::Varying;

pub(crate) use self::page::Layout;
pub(crate) use self::rows::More;
pub(crate) use self::text::text;

/// Every metric of every cell: p0 to p100, with intervals.
pub(crate) fn percentiles(run: &Run, analysis: &Analysis, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    percentiles::write(&mut page, run, analysis, &Varying::of_run(run));
    page.into_text()
}

/// One self-contained HTML file of one or several runs of an experiment.
pub(crate) fn html(shown: &[(Run, Analysis)]) -> String {
    html::html(shown)
}

/// The same charts as SVG: the names of the files, and their content.
pub(crate) fn svg(shown: &[(Run, Analysis)], metric: &str) -> Vec<(String, String)> {
    svg::files(shown, metric)
}

/// The samples of each method as a line and as a histogram of characters.
pub(crate) fn plot(run: &Run, analysis: &Analysis, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    plot::write(&mut page, run, analysis, &Varying::of_run(run));
    page.into_text()
}

/// One JSON document, on one line and without an end of line.
pub(crate) fn json(run: &Run, analysis: &Analysis, out: impl io::Write) -> io::Result<()> {
    json::write(run, analysis, out)
}

/// The experiments, one on each line.
pub(crate) fn experiments(experiments: &[Experiment]) -> String {
    list::experiments(experiments)
}

/// The params and the methods of an experiment, and whether each language of its workers is
/// installed.
pub(crate) fn methods(experiment: &Experiment, languages: &[(&str, String)]) -> String {
    list::methods(experiment, languages)
}
