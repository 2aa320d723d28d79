//! The result of a check against a baseline, and the differences that a check could detect.

use std::fmt::Write as _;

use analysis::{
    CheckLine, Checked, DetectableEffect, MadeOf, Outcome, analyze, is_time_of_parts, made_of_sides,
};
use model::metric;
use model::param::Point;
use model::run::Run;

use super::why;
use crate::document::Document;
use crate::export::markdown::STEP_SUMMARY;
use crate::text::PageLayout;
use crate::views::compare::{CheckBaseline, Sides, against, interval, outcome_word};
use crate::views::made_of;
use crate::views::table::{Style, Table, TableColumn};
use crate::views::units::{amount, point as shown, ratio};

/// The result of a check: a line per method and metric.
pub fn text(sides: &Sides<'_>, checked: &Checked, layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    check_lines(&mut page, checked, &sides.now);
    for busy in &sides.busy {
        page.paragraph(Style::Plain, "busy: ", busy);
    }
    let (word, style) = outcome_word(checked.outcome);
    page.line(&[(Style::Plain, "check: "), (style, word), (Style::Plain, &against(sides))]);
    page.text(layout)
}

/// What the differences between the two sides of the last run are made of, where a line shows one
/// in the same direction; of a profiled run also the functions that they are in. Empty where there
/// is nothing to say.
pub fn causes(runs: &[Run], checked: &Checked, layout: &PageLayout) -> String {
    let Some(run) = runs.last() else { return String::new() };
    let mut page = Document::new(layout.width);
    // The lines are of all runs.
    let of = if runs.len() > 1 { "in the last run, " } else { "" };
    let made = made_of_sides(run);
    for made in made.iter().filter(|made| checked.lines.iter().any(|line| has_cause(line, made))) {
        let text = format!("{of}{}", made_of::sentence(made));
        page.paragraph(Style::Plain, made_of::MARK, &text);
    }
    if let Some(profile) = &run.plan.profile {
        why::compose_all(&mut page, profile, &analyze(run).why);
    }
    page.text(layout)
}

fn has_cause(line: &CheckLine, made: &MadeOf) -> bool {
    let is_of_pair = line.method == made.method && line.point == made.point;
    let has_direction = match line.outcome {
        Outcome::Faster => made.total.mean_ns < 0.0,
        Outcome::Slower => made.total.mean_ns > 0.0,
        _ => false,
    };
    is_of_pair && has_direction && is_time_of_parts(&line.metric)
}

/// A section to append to `GITHUB_STEP_SUMMARY`.
pub fn markdown(sides: &Sides<'_>, checked: &Checked) -> String {
    let mut page = Document::new(Document::UNLIMITED);
    page.heading("bytelab check", outcome_word(checked.outcome).0);
    page.paragraph(Style::Plain, "", &against(sides));
    let [before, now] = match sides.against {
        CheckBaseline::Baseline { .. } => ["baseline", "now"],
        CheckBaseline::Old(_) => ["old", "new"],
    };
    let left = ["outcome", "method", "point", "metric"].map(TableColumn::left);
    let right = [before, now, "ratio"].map(TableColumn::right);
    let last =
        [TableColumn::left("interval"), TableColumn::right("allowed"), TableColumn::left("")];
    let mut table = Table::new(left.into_iter().chain(right).chain(last).collect());
    for line in &checked.lines {
        let unit = metric::unit(&line.metric);
        let value = |value: Option<f64>| value.map_or(String::new(), |value| amount(unit, value));
        let cells = [
            outcome_word(line.outcome).0.to_owned(),
            line.method.clone(),
            shown(&line.point),
            line.metric.clone(),
            value(line.baseline),
            value(line.now),
            line.ratio.map_or(String::new(), |value| ratio(value, 3)),
            interval(line).unwrap_or_default(),
            format!("{} %", line.allowed_percent),
            remarks(line, &sides.now),
        ];
        table.row(Style::Plain, cells);
    }
    page.table(table);
    STEP_SUMMARY.render(&page) + "\n"
}

/// A line per method and metric; the runs are those whose ratios a line may have.
pub(crate) fn check_lines(page: &mut Document, checked: &Checked, runs: &[&str]) {
    let points = points(checked);
    for line in &checked.lines {
        let (word, style) = outcome_word(line.outcome);
        let text = outcome(line, points > 1, runs);
        page.line(&[(style, &format!("{word:<10}")), (Style::Plain, &text)]);
    }
}

fn points(checked: &Checked) -> usize {
    let mut points: Vec<&Point> = checked.lines.iter().map(|line| &line.point).collect();
    points.sort_by_key(ToString::to_string);
    points.dedup();
    points.len()
}

/// The last cell of a line of a table.
fn remarks(line: &CheckLine, runs: &[&str]) -> String {
    let beside = match (&line.reason, &line.reference) {
        (Some(reason), _) => Some(reason.clone()),
        (None, Some(reference)) => Some(format!("beside {reference}")),
        (None, None) => None,
    };
    beside.into_iter().chain(of_runs(line, runs)).collect::<Vec<_>>().join("; ")
}

/// `run 11: +61 %, run 12: +40 %`, where there are several runs.
fn of_runs(line: &CheckLine, runs: &[&str]) -> Option<String> {
    let own = runs.iter().zip(&line.of_runs);
    let own = own.map(|(id, ratio)| format!("run {id}: {:+.*} %", digits(*ratio), change(*ratio)));
    (runs.len() > 1 && line.of_runs.len() == runs.len()).then(|| own.collect::<Vec<_>>().join(", "))
}

/// In percent.
fn change(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

fn digits(ratio: f64) -> usize {
    usize::from(change(ratio).abs() < 9.5)
}

/// `mmap wall_ns: 6.1 ms → 6.2 ms, 1.012 beside read (0.995–1.030 at 95 %; allowed 5 %)`. Where
/// there are several runs, the times are those of all, and the ratio of what is slower is that of
/// the run that shows the least.
fn outcome(line: &CheckLine, several: bool, runs: &[&str]) -> String {
    let at = if several { format!(" ({})", shown(&line.point)) } else { String::new() };
    let unit = metric::unit(&line.metric);
    let mut text = format!("{}{at} {}", line.method, line.metric);
    let of_runs = of_runs(line, runs);
    if let (Some(baseline), Some(now)) = (line.baseline, line.now) {
        let _ = write!(text, ": {} → {}", amount(unit, baseline), amount(unit, now));
        text += if of_runs.is_some() { " over all runs" } else { "" };
    }
    match line.ratio {
        Some(value) if of_runs.is_some() && line.outcome == Outcome::Slower => {
            let change = change(value).abs();
            let _ = write!(text, ", slower by {change:.*} % or more", digits(value));
        }
        Some(value) => {
            let _ = write!(text, ", {}", ratio(value, 3));
        }
        None => {}
    }
    if let Some(reference) = &line.reference {
        let _ = write!(text, " beside {reference}");
    }
    let bounds = interval(line);
    let allowed = format!("allowed {} %", line.allowed_percent);
    let inside: Vec<String> = of_runs.into_iter().chain(bounds).chain([allowed]).collect();
    let _ = write!(text, " ({})", inside.join("; "));
    if let Some(reason) = &line.reason {
        let _ = write!(text, ": {reason}");
    }
    text
}

/// Names and the ids of their runs.
pub fn baselines(named: &[(&str, &str)]) -> String {
    let layout = PageLayout { width: 80, colour: false };
    let mut page = Document::new(layout.width);
    let mut table = Table::plain(&["baseline", "run"], false);
    for (name, id) in named {
        table.row(Style::Plain, [*name, *id]);
    }
    page.table(table);
    page.text(&layout)
}

/// The differences that a check could detect: a line per method and metric.
pub fn detectable_effects(found: &[DetectableEffect], layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    let mut points: Vec<String> = found.iter().map(|line| line.point.to_string()).collect();
    points.sort_unstable();
    points.dedup();
    for line in found {
        let at =
            if points.len() > 1 { format!(" ({})", shown(&line.point)) } else { String::new() };
        let DetectableEffect { method, metric, allowed_percent, runs, .. } = line;
        let runs = format!("{runs} run{}", if *runs == 1 { "" } else { "s" });
        let difference = match line.found_percent {
            Some(percent) => format!("+{percent:.1} % would be found in four of five checks"),
            None => "what would be found is not known".to_owned(),
        };
        let why = line.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        let text =
            format!("{at} {metric}: {difference} (allowed {allowed_percent} %; from {runs}){why}");
        page.line(&[(Style::Bold, method), (Style::Plain, &text)]);
    }
    if found.is_empty() {
        page.line(&[(Style::Plain, "no method would be checked")]);
    }
    page.text(layout)
}
