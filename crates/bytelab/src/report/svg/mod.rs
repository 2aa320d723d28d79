//! The charts of a report as SVG files, for papers: the same figures as those of the page.

mod axis;
mod canvas;
mod distributions;
pub(super) mod fleet;
mod frame;
mod numbers;
pub(super) mod study;
mod sweeps;

#[cfg(test)]
mod tests;

use lab::analyze::Analysis;
use lab::run::Run;

use crate::report::model::charts::Charts;
use crate::report::model::{View, view};

/// More points than these have no separate files: the sweeps show them.
const POINTS_MAX: usize = 40;

/// The name and the content of each file.
pub(crate) fn files(shown: &[(Run, Analysis)], metric: &str) -> Vec<(String, String)> {
    if let [(run, _), ..] = shown
        && view(run) == View::Rows
    {
        let picture = numbers::picture(run);
        return picture.map(|svg| ("numbers.svg".to_owned(), svg)).into_iter().collect();
    }
    let charts = Charts::from_runs(shown);
    let Some(metric) = charts.metrics.iter().find(|known| known.name == metric) else {
        return Vec::new();
    };
    let mut files: Vec<(String, String)> = Vec::new();
    let mut add = |name: String, svg: Option<String>| {
        let Some(svg) = svg else { return };
        let taken = |name: &str| files.iter().any(|(known, _)| known == name);
        let mut free = format!("{name}.svg");
        let mut number = 2;
        while taken(&free) {
            free = format!("{name}-{number}.svg");
            number += 1;
        }
        files.push((free, svg));
    };
    for sweep in &charts.sweeps {
        let by =
            if sweep.ladder { "ladder".to_owned() } else { format!("by-{}", slug(&sweep.param)) };
        add(format!("line-{by}"), sweeps::lines(&charts, sweep, metric));
        if !sweep.ladder {
            add(format!("box-{by}"), sweeps::boxes(&charts, sweep, metric));
        }
    }
    for place in charts.points.iter().take(POINTS_MAX) {
        let at = if place.at.is_empty() { String::new() } else { format!("-{}", slug(&place.at)) };
        add(format!("ecdf{at}"), distributions::ecdf(&charts, place, metric));
        add(format!("box{at}"), distributions::boxes(&charts, place, metric));
        add(format!("order{at}"), distributions::order(&charts, place, metric));
        add(format!("ratio{at}"), distributions::ratios(&charts, place));
    }
    files
}

/// The characters of a text that are allowed in a file's name.
fn slug(text: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = text.chars().map(kept).take(60).collect();
    let words: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "other".to_owned() } else { words.join("-") }
}
