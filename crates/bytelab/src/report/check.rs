//! The result of a check: a line per method and metric, the same as Markdown for GitHub's step
//! summary, and as JSON.

use std::fmt::Write as _;

use anyhow::Result;
use lab::analyze::{CheckLine, Checked, Foreseen, Outcome};
use lab::metric;
use lab::param::Point;
use lab::run::SCHEMA;
use serde::Serialize;

use super::json::compact;
use super::markdown;
use super::page::Layout;
use super::page::{Page, Style, clean};
use super::table::{Column, Table};
use super::text_table::{self, Head};
use super::units::{amount, point as shown, ratio};

/// What was checked, and against what.
pub(crate) struct Asked<'a> {
    pub(crate) against: Against<'a>,
    /// The runs that were measured by this check.
    pub(crate) now: Vec<&'a str>,
}

pub(crate) enum Against<'a> {
    /// The name as the user gave it, and the id of the run.
    Baseline { name: &'a str, id: &'a str },
    /// The old side, which was measured in the same rounds.
    Old(&'a str),
}

pub(crate) fn text(asked: &Asked<'_>, checked: &Checked, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    lines(&mut page, checked);
    let (word, style) = word(checked.outcome);
    page.line(&[(Style::Plain, "check: "), (style, word), (Style::Plain, &against(asked))]);
    page.into_text()
}

/// A line per method and metric.
pub(super) fn lines(page: &mut Page, checked: &Checked) {
    let points = points(checked);
    for line in &checked.lines {
        let (word, style) = word(line.outcome);
        page.line(&[(style, &format!("{word:<10}")), (Style::Plain, &told(line, points > 1))]);
    }
}

fn points(checked: &Checked) -> usize {
    let mut points: Vec<&Point> = checked.lines.iter().map(|line| &line.point).collect();
    points.sort_by_key(ToString::to_string);
    points.dedup();
    points.len()
}

pub(super) fn word(outcome: Outcome) -> (&'static str, Style) {
    match outcome {
        Outcome::Ok => ("ok", Style::Green),
        Outcome::Faster => ("faster", Style::Green),
        Outcome::Slower => ("slower", Style::Red),
        Outcome::Undecided => ("undecided", Style::Plain),
        Outcome::Missing => ("missing", Style::Red),
        Outcome::Reference => ("reference", Style::Dim),
    }
}

fn against(asked: &Asked<'_>) -> String {
    let runs = if asked.now.len() == 1 { "run" } else { "runs" };
    let now = asked.now.join(" and ");
    match asked.against {
        Against::Baseline { name, id } if name == id => format!(" ({runs} {now} against run {id})"),
        Against::Baseline { name, id } => format!(" ({runs} {now} against {name}, run {id})"),
        Against::Old(old) => format!(" ({runs} {now}, in the same rounds as {old})"),
    }
}

/// `mmap wall_ns: 6.1 ms → 6.2 ms, 1.012 of read's (0.995–1.030; allowed 1.05)`
fn told(line: &CheckLine, several: bool) -> String {
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

/// `0.995–1.030 at 95 %`; a count has none.
fn interval(line: &CheckLine) -> Option<String> {
    let (low, high) = line.low.zip(line.high)?;
    let level = line.level?;
    // 99.75 % must not be shown as 100 %.
    let level = 100.0 * level;
    let digits = usize::from(level > 95.05) + usize::from(level > 99.05);
    Some(format!("{}–{} at {level:.digits$} %", ratio(low, 3), ratio(high, 3)))
}

/// A section to append to `GITHUB_STEP_SUMMARY`.
pub(crate) fn markdown(asked: &Asked<'_>, checked: &Checked) -> String {
    let mut text = format!("### bytelab check: {}\n\n", word(checked.outcome).0);
    text += &escaped(against(asked).trim());
    let [before, now] = match asked.against {
        Against::Baseline { .. } => ["baseline", "now"],
        Against::Old(_) => ["old", "new"],
    };
    let left = ["outcome", "method", "point", "metric"].map(Column::left);
    let right = [before, now, "ratio"].map(Column::right);
    let last = [Column::left("interval"), Column::right("allowed"), Column::left("")];
    let mut table = Table::new(left.into_iter().chain(right).chain(last).collect());
    for line in &checked.lines {
        let unit = metric::unit(&line.metric);
        let value = |value: Option<f64>| value.map_or(String::new(), |value| amount(unit, value));
        let cells = [
            word(line.outcome).0.to_owned(),
            line.method.clone(),
            shown(&line.point),
            line.metric.clone(),
            value(line.baseline),
            value(line.now),
            line.ratio.map_or(String::new(), |value| ratio(value, 3)),
            interval(line).unwrap_or_default(),
            format!("{} %", line.allowed_percent),
            match (&line.reason, &line.reference) {
                (Some(reason), _) => reason.clone(),
                (None, Some(reference)) => format!("beside {reference}"),
                (None, None) => String::new(),
            },
        ];
        table.row(Style::Plain, cells);
    }
    format!("{text}\n\n{}\n", markdown::table(&table, escaped))
}

/// Escapes line ends, column separators, tags and Markdown markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in clean(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '!' | '@' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Names and the ids of their runs.
pub(crate) fn baselines(named: &[(&str, &str)]) -> String {
    let mut page = Page::new(&Layout { width: 80, colour: false });
    let mut table = Table::plain(&["baseline", "run"], false);
    for (name, id) in named {
        table.row(Style::Plain, [*name, *id]);
    }
    text_table::write(&mut page, &table, Head::Ruled);
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
        let told = match line.found_percent {
            Some(percent) => format!("+{percent:.1} % would be found in four of five checks"),
            None => "what would be found is not known".to_owned(),
        };
        let why = line.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        let text = format!("{at} {metric}: {told} (allowed {allowed_percent} %; from {runs}){why}");
        page.line(&[(Style::Bold, method), (Style::Plain, &text)]);
    }
    if found.is_empty() {
        page.line(&[(Style::Plain, "no method would be checked")]);
    }
    page.into_text()
}

pub(crate) fn foreseen_json(found: &[Foreseen]) -> Result<String> {
    compact(&serde_json::json!({ "schema": SCHEMA, "dry_run": true, "lines": found }))
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a str>,
    runs: &'a [&'a str],
    #[serde(flatten)]
    checked: &'a Checked,
}

pub(crate) fn json(asked: &Asked<'_>, checked: &Checked) -> Result<String> {
    let (baseline, baseline_id, against) = match asked.against {
        Against::Baseline { name, id } => (Some(name), Some(id), None),
        Against::Old(old) => (None, None, Some(old)),
    };
    compact(&Document { schema: SCHEMA, baseline, baseline_id, against, runs: &asked.now, checked })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(method: &str, outcome: Outcome) -> CheckLine {
        CheckLine {
            method: method.to_owned(),
            point: Point::default(),
            metric: "wall_ns".to_owned(),
            allowed_percent: 5.0,
            reference: Some("read".to_owned()),
            baseline: Some(6.1e6),
            now: Some(6.2e6),
            ratio: Some(1.012),
            low: Some(0.995),
            high: Some(1.0304),
            level: Some(0.95),
            outcome,
            reason: None,
        }
    }

    fn asked() -> Asked<'static> {
        Asked { against: Against::Baseline { name: "main", id: "7" }, now: vec!["8", "9"] }
    }

    #[test]
    fn a_line_per_metric_and_the_outcome_last() {
        let mut hostile = line("a|<b>\u{1b}", Outcome::Undecided);
        hostile.level = Some(0.9975);
        hostile.reason = Some("a\nreason".to_owned());
        let lines = vec![line("mmap", Outcome::Ok), hostile];
        let checked = Checked { outcome: Outcome::Undecided, lines };
        let layout = Layout { width: 80, colour: false };
        insta::assert_snapshot!(text(&asked(), &checked, &layout), @r"
        ok        mmap wall_ns: 6.1 ms → 6.2 ms, 1.012 beside read (0.995–1.030 at 95 %; allowed 5 %)
        undecided a|<b>\u{1b} wall_ns: 6.1 ms → 6.2 ms, 1.012 beside read (0.995–1.030 at 99.75 %; allowed 5 %): a reason
        check: undecided (runs 8 and 9 against main, run 7)
        ");
        let markdown = markdown(&asked(), &checked);
        assert!(markdown.contains("| ok | mmap |  | wall&#95;ns | 6.1 ms | 6.2 ms | 1.012 | 0.995–1.030 at 95 % | 5 % | beside read |"), "{markdown}");
        assert!(markdown.contains("a&#124;&lt;b&gt;&#92;u{1b}"), "{markdown}");
        assert!(!markdown.contains("<b>") && !markdown.contains('\u{1b}'));
        let json: serde_json::Value =
            serde_json::from_str(&json(&asked(), &checked).unwrap()).unwrap();
        assert_eq!(json["outcome"], "undecided");
        assert_eq!(json["lines"][0]["ratio"], 1.012);
    }
}
