//! The result of a check: a line per method and metric.

use std::fmt::Write as _;

use lab::analyze::{CheckLine, Checked, Foreseen};
use lab::metric;
use lab::param::Point;

use super::grid::{self, Head};
use super::page::{Layout, Page};
use crate::report::model::compare::{Sides, against, interval, outcome_word};
use crate::report::model::table::{Style, Table};
use crate::report::model::units::{amount, point as shown, ratio};

pub(crate) fn text(sides: &Sides<'_>, checked: &Checked, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    lines(&mut page, checked);
    for busy in &sides.busy {
        page.paragraph(Style::Plain, "busy: ", busy);
    }
    let (word, style) = outcome_word(checked.outcome);
    page.line(&[(Style::Plain, "check: "), (style, word), (Style::Plain, &against(sides))]);
    page.into_text()
}

/// A line per method and metric.
pub(crate) fn lines(page: &mut Page, checked: &Checked) {
    let points = points(checked);
    for line in &checked.lines {
        let (word, style) = outcome_word(line.outcome);
        page.line(&[(style, &format!("{word:<10}")), (Style::Plain, &outcome(line, points > 1))]);
    }
}

fn points(checked: &Checked) -> usize {
    let mut points: Vec<&Point> = checked.lines.iter().map(|line| &line.point).collect();
    points.sort_by_key(ToString::to_string);
    points.dedup();
    points.len()
}

/// `mmap wall_ns: 6.1 ms → 6.2 ms, 1.012 of read's (0.995–1.030; allowed 1.05)`
fn outcome(line: &CheckLine, several: bool) -> String {
    let at = if several { format!(" ({})", shown(&line.point)) } else { String::new() };
    let unit = metric::unit(&line.metric);
    let mut text = format!("{}{at} {}", line.method, line.metric);
    if let (Some(baseline), Some(now)) = (line.baseline, line.now) {
        let _ = write!(text, ": {} → {}", amount(unit, baseline), amount(unit, now));
    }
    if let Some(value) = line.ratio {
        let _ = write!(text, ", {}", ratio(value, 3));
    }
    if let Some(reference) = &line.reference {
        let _ = write!(text, " beside {reference}");
    }
    let bounds = interval(line);
    let allowed = format!("allowed {} %", line.allowed_percent);
    let inside: Vec<String> = bounds.into_iter().chain([allowed]).collect();
    let _ = write!(text, " ({})", inside.join("; "));
    if let Some(reason) = &line.reason {
        let _ = write!(text, ": {reason}");
    }
    text
}

/// Names and the ids of their runs.
pub(crate) fn baselines(named: &[(&str, &str)]) -> String {
    let mut page = Page::new(&Layout { width: 80, colour: false });
    let mut table = Table::plain(&["baseline", "run"], false);
    for (name, id) in named {
        table.row(Style::Plain, [*name, *id]);
    }
    grid::write(&mut page, &table, Head::Ruled);
    page.into_text()
}

/// What a check could detect: a line per method and metric.
pub(crate) fn foreseen(found: &[Foreseen], layout: &Layout) -> String {
    let mut page = Page::new(layout);
    let mut points: Vec<String> = found.iter().map(|line| line.point.to_string()).collect();
    points.sort_unstable();
    points.dedup();
    for line in found {
        let at =
            if points.len() > 1 { format!(" ({})", shown(&line.point)) } else { String::new() };
        let Foreseen { method, metric, allowed_percent, runs, .. } = line;
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
    page.into_text()
}
