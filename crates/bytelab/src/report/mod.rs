//! What a reader sees: text made from runs and analyses. Pure: reads no clock, file or environment.

mod across;
mod answer;
pub(crate) mod beside;
mod charts;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod export;
mod foot;
mod grid;
pub(crate) mod history;
mod html;
mod json;
mod ladder;
mod list;
pub(crate) mod numbers;
pub(crate) mod over_time;
mod page;
mod percentiles;
mod plot;
mod rows;
mod svg;
mod table;
mod thresholds;
pub(crate) mod units;
pub(crate) mod view;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use std::io;

use lab::analyze::Analysis;
use lab::experiment::Experiment;
use lab::param::{Point, Value};
use lab::run::{CacheState, Imported, Plan, Run};

use self::foot::Foot;
use self::page::{Page, Style};
use self::view::{View, view};

/// What the output can show. Who prints decides it: it knows the terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// In columns.
    pub(crate) width: usize,
    pub(crate) colour: bool,
}

pub(crate) use self::rows::More;

/// The table of each point, the answer in one sentence, and what there is to doubt.
pub(crate) fn text(run: &Run, analysis: &Analysis, more: &[More], layout: &Layout) -> String {
    if view(run) == View::Rows {
        return numbers::text(run, analysis, &[], layout);
    }
    let mut page = Page::new(layout);
    let varying = Varying::of_run(run);
    head(&mut page, run, &varying);
    let mut all = rows::all(run, analysis);
    for rows in &mut all {
        rows.more = more;
    }
    let mut left = Vec::new();
    ladder::write(&mut page, run);
    let (rungs, tables): (Vec<_>, Vec<_>) =
        all.iter().partition(|rows| ladder::holds(run, &rows.family.point));
    for rows in tables {
        page.blank();
        if all.len() > 1 {
            page.line(&[(Style::Bold, &varying.shown(&rows.family.point))]);
        }
        if rows.iter().next().is_some() {
            if let Some(judged_by) = rows.judged_by() {
                page.paragraph(Style::Dim, "", &judged_by);
            }
            left.push(table::write(&mut page, rows));
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

/// The charts of the same as SVG: the names of the files, and what is in them.
pub(crate) fn svg(shown: &[(Run, Analysis)], metric: &str) -> Vec<(String, String)> {
    svg::files(shown, metric)
}

/// The samples of each method as a line and as a histogram of characters.
pub(crate) fn plot(run: &Run, analysis: &Analysis, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    plot::write(&mut page, run, analysis, &Varying::of_run(run));
    page.into_text()
}

/// One JSON document, in one line and without an end of line.
pub(crate) fn json(run: &Run, analysis: &Analysis, out: impl io::Write) -> io::Result<()> {
    json::write(run, analysis, out)
}

/// The experiments, a line each.
pub(crate) fn experiments(experiments: &[Experiment]) -> String {
    list::experiments(experiments)
}

/// The params and the methods of an experiment, and of each language of its workers whether it is here.
pub(crate) fn methods(experiment: &Experiment, languages: &[(&str, String)]) -> String {
    list::methods(experiment, languages)
}

/// The params that tell the points of a run apart.
struct Varying<'a> {
    names: Vec<&'a str>,
}

impl<'a> Varying<'a> {
    fn of_run(run: &'a Run) -> Varying<'a> {
        Varying::of_points(&run.points.iter().collect::<Vec<_>>())
    }

    fn of_points(points: &[&'a Point]) -> Varying<'a> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in points.iter().flat_map(|point| point.iter()) {
            let first: Option<&Value> = points.first().and_then(|point| point.get(name));
            if !names.contains(&name) && points.iter().any(|p| p.get(name) != first) {
                names.push(name);
            }
        }
        Varying { names }
    }

    /// `buffer=64Ki`: what of the point varies in the run; empty if nothing does.
    fn shown(&self, point: &Point) -> String {
        units::point(&point.only(|name| self.names.contains(&name)))
    }

    /// ` (buffer=64Ki)`, to stand behind a method; empty if nothing varies.
    fn of(&self, point: &Point) -> String {
        let shown = self.shown(point);
        if shown.is_empty() { shown } else { format!(" ({shown})") }
    }

    fn fixed(&self, point: &Point) -> String {
        units::point(&point.only(|name| !self.names.contains(&name)))
    }
}

fn head(page: &mut Page, run: &Run, varying: &Varying<'_>) {
    let fixed = run.points.first().map(|point| varying.fixed(point)).unwrap_or_default();
    let question = if run.question.is_empty() { &run.experiment } else { &run.question };
    page.paragraph(Style::Bold, &format!("{}: ", run.experiment), question);
    let facts = [
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
        run.label.clone().unwrap_or_default(),
        minute(&run.started),
        measured(&run.plan),
        fixed,
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    page.paragraph(Style::Plain, "", &facts.join(" · "));
    if !run.complete {
        page.paragraph(Style::Red, "not complete: ", "it was stopped before all was measured");
    }
}

/// By which plan, or by whom.
fn measured(plan: &Plan) -> String {
    match &plan.imported {
        Some(Imported { tool, file }) => {
            format!("measured by {tool}, not by bytelab · imported from {file}")
        }
        None => format!("{} · {}", cache(plan.cache), rounds(plan)),
    }
}

fn cache(state: CacheState) -> &'static str {
    match state {
        CacheState::Warm => "warm cache",
        CacheState::Cold => "cold cache",
        CacheState::AsIs => "cache as is",
    }
}

fn rounds(plan: &Plan) -> String {
    let sessions = match plan.sessions {
        0 | 1 => String::new(),
        n => format!(" in up to {n} sessions"),
    };
    let rounds = u64::from(plan.rounds) * u64::from(plan.sessions.max(1));
    format!("up to {rounds} rounds{sessions}")
}

/// `2026-01-02 03:04 UTC` of an RFC 3339 time in UTC.
fn minute(started: &str) -> String {
    let minute: String = started.chars().take(16).collect();
    if minute.is_empty() { minute } else { minute.replacen('T', " ", 1) + " UTC" }
}
