//! Compares two sides of runs: first the differences of their environments, then the values of each
//! method on both sides, and the verdicts.

use std::collections::HashMap;

use analysis::{
    Checked, Effect, Mean, MetricChange, OverallChange, RunComparison, SideSummary, Verdict,
};
use model::facts::Difference;
use model::metric::{
    ALLOCATIONS, CPU, PEAK_RSS, SYSCALLS, THROUGHPUT, WALL, WALL_LESS_WAIT, short_heading, unit,
};
use model::param::Point;
use model::run::{Role, Run};

use super::check::check_lines;
use crate::document::Document;
use crate::text::PageLayout;
use crate::views::compare::{
    Side, bounds, different, is_of_the_moment, notes, outcome_word, verdict_word,
};
use crate::views::table::{Style, Table};
use crate::views::units::{NONE, Unit, amount, point as shown, ratio};
use crate::views::words::{minute, shortened};

/// The maximum width of a value in the list of differences.
const VALUE_WIDTH: usize = 40;
/// Further differences are only counted.
const DIFFERENCES_MAX: usize = 20;

pub fn text(
    a: &Side,
    b: &Side,
    sides: &RunComparison,
    gated: Option<&Checked>,
    layout: &PageLayout,
) -> String {
    let mut page = Document::new(layout.width);
    let question = &a.runs[0].question;
    page.heading(&a.runs[0].experiment, question);
    for (letter, side) in [("A: ", a), ("B: ", b)] {
        page.paragraph(Style::Plain, letter, &about(side));
    }
    page.gap();
    environments(&mut page, a, b);
    let families = families(sides);
    for family in &families {
        page.gap();
        if families.len() > 1 {
            page.title(&shown(family.point));
        }
        deciding(&mut page, family);
        page.gap();
        distributions(&mut page, family);
    }
    if families.len() > 1 {
        across_points(&mut page, &families);
        over_points(&mut page, &sides.overall);
    }
    across_metrics(&mut page, &families);
    foot(&mut page, a, b, sides);
    legend(&mut page, &families);
    if let Some(gated) = gated {
        page.gap();
        check_lines(&mut page, gated, &[]);
        let (word, style) = outcome_word(gated.outcome);
        page.line(&[(Style::Plain, "compare --fail: "), (style, word)]);
    }
    page.text(layout)
}

fn about(side: &Side) -> String {
    let ids: Vec<&str> = side.runs.iter().map(|run| run.id.as_str()).collect();
    let first = &side.runs[0];
    let model = |run: &Run| match run.environment.facts.get("cpu_model") {
        Some(serde_json::Value::String(model)) => model.clone(),
        _ if run.environment.fingerprint.is_empty() => "machine not known".to_owned(),
        _ => run.environment.fingerprint.clone(),
    };
    let mut parts = vec![side.name.clone()];
    let runs = if ids.len() == 1 { "run" } else { "runs" };
    let listed = format!("{runs} {}", shortened(&ids.join(", "), VALUE_WIDTH));
    if listed != side.name {
        parts.push(listed);
    }
    parts.push(minute(&first.started));
    parts.push(model(first));
    parts.join(" · ")
}

fn environments(page: &mut Document, a: &Side, b: &Side) {
    let (of_the_moment, different): (Vec<_>, Vec<_>) =
        different(a, b).into_iter().partition(is_of_the_moment);
    let count = of_the_moment.len();
    let left = format!("Facts of the moment that differ (load, free memory …): {count}, in --json");
    if different.is_empty() {
        let text = "The environments do not differ in any lasting fact.";
        page.paragraph(Style::Plain, "", &format!("{text} {left}"));
        return;
    }
    page.title("Differences of the environments");
    let mut table = Table::plain(&["fact", "A", "B"], true);
    for difference in different.iter().take(DIFFERENCES_MAX) {
        let Difference { fact, a, b } = difference;
        table.row(Style::Plain, vec![fact.clone(), fact_value(fact, a), fact_value(fact, b)]);
    }
    page.table(table);
    if let Some(more) = different.len().checked_sub(DIFFERENCES_MAX).filter(|more| *more > 0) {
        page.paragraph(Style::Dim, "", &format!("and {more} more, which --json has"));
    }
    if count > 0 {
        page.paragraph(Style::Dim, "", &left);
    }
}

/// The value of a fact; a share in percent.
fn fact_value(fact: &str, value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => NONE.to_owned(),
        serde_json::Value::String(text) => shortened(text, VALUE_WIDTH),
        other => match other.as_f64().filter(|_| fact.split('_').any(|word| word == "share")) {
            Some(share) => format!("{:.0} %", 100.0 * share),
            None => shortened(&other.to_string(), VALUE_WIDTH),
        },
    }
}

/// The lines of one point.
struct PointLines<'a> {
    point: &'a Point,
    lines: Vec<&'a MetricChange>,
}

impl<'a> PointLines<'a> {
    /// A line per method.
    fn deciding(&self) -> impl Iterator<Item = &'a MetricChange> {
        self.lines.iter().copied().filter(|line| line.decides)
    }

    /// Whether its times are without the wait for a CPU.
    fn less_wait(&self) -> bool {
        self.deciding().any(|line| line.metric == WALL_LESS_WAIT)
    }
}

/// In the order of the points.
fn families(sides: &RunComparison) -> Vec<PointLines<'_>> {
    let mut families: Vec<PointLines<'_>> = Vec::new();
    let mut known: HashMap<&Point, usize> = HashMap::new();
    for line in &sides.lines {
        let point = &line.point;
        let at = *known.entry(point).or_insert_with(|| {
            families.push(PointLines { point, lines: Vec::new() });
            families.len() - 1
        });
        families[at].lines.push(line);
    }
    families
}

fn deciding(page: &mut Document, family: &PointLines<'_>) {
    let sides = family.deciding().flat_map(|line| [&line.a, &line.b]);
    let p50s: Vec<f64> = sides.filter_map(|half| percentile(half, 50.0)).collect();
    // All deciding metrics are times.
    let common = Unit::common("ns", p50s.into_iter());
    let name = common.map_or("", |unit| unit.name);
    let wait = if family.less_wait() { "− wait" } else { "" };
    let mut table = Table::plain(&["", "A p50", "B p50", "B/A", "", "relative", "", ""], true);
    below(&mut table, ["", wait, wait, "by", "", "to the", "", ""]);
    below(&mut table, ["method", name, name, "mean", "95 %", "reference", "95 %", "verdict"]);
    for line in family.deciding() {
        let text = |value: f64| {
            common.map_or_else(|| amount(unit(&line.metric), value), |unit| unit.number(value))
        };
        let mut cells = vec![line.method.clone()];
        for half in [&line.a, &line.b] {
            cells.push(percentile(half, 50.0).map_or(NONE.to_owned(), text));
        }
        let is_reference = line.role == Role::Contender && line.reference.is_none();
        let (judged, style) = judged(&line.absolute, line.relative.as_ref(), is_reference);
        cells.extend(judged);
        table.row(style, cells);
    }
    page.table(table);
}

/// Adds a line to the heading.
fn below<const N: usize>(table: &mut Table, line: [&str; N]) {
    for (column, text) in table.columns.iter_mut().zip(line) {
        column.heading.push(text.to_owned());
    }
}

/// The ratios, their intervals and the verdict.
fn judged(absolute: &Effect, relative: Option<&Effect>, is_ref: bool) -> ([String; 5], Style) {
    let [ratio, interval] = match relative {
        Some(relative) => of_effect(relative),
        None if is_ref => ["1".to_owned(), String::new()],
        None => [NONE.to_owned(), String::new()],
    };
    let (verdict, style) = verdict(absolute, relative);
    let [of_absolute, its_interval] = of_effect(absolute);
    ([of_absolute, its_interval, ratio, interval, verdict], style)
}

fn of_effect(effect: &Effect) -> [String; 2] {
    [of_ratio(effect.ratio), bounds(effect.low, effect.high)]
}

/// The geometric mean of each method over all points.
fn over_points(page: &mut Document, all: &[OverallChange]) {
    let Some(first) = all.first() else { return };
    page.gap();
    let heading = format!("Over all {} points, the geometric mean", first.points);
    page.title(&heading);
    let mut table = Table::plain(&["", "B/A", "", "relative to", ""], false);
    below(&mut table, ["method", "by mean", "95 %", "the reference", "95 %"]);
    let shown = |mean: &Mean| [of_ratio(mean.ratio), bounds(mean.low, mean.high)];
    for one in all {
        let is_reference = all.iter().any(|other| other.reference.as_ref() == Some(&one.method));
        let none = if is_reference { "1" } else { NONE };
        let relative = one.relative.as_ref().map_or([none.to_owned(), String::new()], shown);
        let mut cells = vec![one.method.clone()];
        cells.extend(shown(&one.absolute).into_iter().chain(relative));
        table.row(Style::Plain, cells);
    }
    page.table(table);
}

/// The distributions of both sides, which are shown even without a verdict.
fn distributions(page: &mut Document, family: &PointLines<'_>) {
    let values = family.deciding().flat_map(|line| [&line.a, &line.b]);
    let values = values.filter_map(|half| percentile(half, 50.0));
    let unit = Unit::for_values("ns", values);
    let heads: Vec<String> = PERCENTILES.iter().map(|p| format!("p{p:.0}")).collect();
    let wait = if family.less_wait() { " − wait" } else { "" };
    let name = format!("samples{wait}, {}", unit.name);
    let mut heading = vec![name.as_str(), ""];
    heading.extend(heads.iter().map(String::as_str).chain(["n"]));
    let mut table = Table::plain(&heading, false);
    for line in family.deciding() {
        for (name, letter, half) in [(line.method.as_str(), "A", &line.a), ("", "B", &line.b)] {
            let mut cells = vec![name.to_owned(), letter.to_owned()];
            let value = |p: &f64| percentile(half, *p).map(|value| unit.number(value));
            cells.extend(PERCENTILES.iter().map(|p| value(p).unwrap_or(NONE.to_owned())));
            cells.push(half.n.to_string());
            table.row(Style::Plain, cells);
        }
    }
    page.table(table);
}

const PERCENTILES: [f64; 7] = [0.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0];

fn percentile(half: &SideSummary, p: f64) -> Option<f64> {
    half.percentiles.iter().find(|percentile| (percentile.p - p).abs() < 0.01).map(|p| p.value)
}

fn of_ratio(value: Option<f64>) -> String {
    value.map_or(NONE.to_owned(), |value| ratio(value, 3))
}

/// Relative to the reference if there is one: the machine's speed does not affect that ratio.
fn verdict(absolute: &Effect, relative: Option<&Effect>) -> (String, Style) {
    let change = relative.unwrap_or(absolute);
    let style = match change.verdict {
        Verdict::Faster => Style::Green,
        Verdict::Slower | Verdict::WrongAnswer => Style::Red,
        Verdict::Same | Verdict::Undecided => Style::Plain,
        Verdict::Missing => Style::Dim,
    };
    let is_ratio = matches!(change.verdict, Verdict::Faster | Verdict::Slower | Verdict::Same);
    let absolute = if is_ratio && relative.is_none() { " (absolute)" } else { "" };
    (format!("{}{absolute}", verdict_word(change)), style)
}

/// A line per point, a column per method: the ratio of B to A.
fn across_points(page: &mut Document, families: &[PointLines<'_>]) {
    let mut methods: Vec<&str> = Vec::new();
    for line in families.iter().flat_map(PointLines::deciding) {
        if !methods.contains(&line.method.as_str()) {
            methods.push(&line.method);
        }
    }
    page.gap();
    page.title("B/A by point");
    let mut table = Table::plain(&[&["point"][..], &methods].concat(), false);
    for family in families {
        let ratio_of_method = |method: &&str| {
            let line = family.deciding().find(|line| line.method == **method);
            line.map_or(NONE.to_owned(), |line| of_ratio(line.absolute.ratio))
        };
        let cells = std::iter::once(shown(family.point)).chain(methods.iter().map(ratio_of_method));
        table.row(Style::Plain, cells);
    }
    page.table(table);
}

/// The other metrics that readers use for decisions.
const METRICS: [&str; 6] = [WALL, CPU, THROUGHPUT, PEAK_RSS, SYSCALLS, ALLOCATIONS];

/// A line per method, a column per metric.
fn across_metrics(page: &mut Document, families: &[PointLines<'_>]) {
    let all = || families.iter().flat_map(|family| &family.lines);
    let there = |name: &str| all().any(|line| line.metric == name);
    let metrics: Vec<&str> = METRICS.into_iter().filter(|name| there(name)).collect();
    if metrics.len() < 2 {
        return;
    }
    page.gap();
    page.title("B/A by metric (* shown to differ)");
    let headings: Vec<&str> = metrics.iter().map(|name| short_heading(name)).collect();
    let mut table = Table::plain(&[&["method"][..], &headings].concat(), false);
    for family in families {
        for line in family.deciding() {
            let ratio_of_metric = |name: &&str| {
                let mut own = family.lines.iter();
                let own = own.find(|own| own.metric == *name && own.method == line.method);
                own.map_or(NONE.to_owned(), |own| {
                    let differs = matches!(own.absolute.verdict, Verdict::Faster | Verdict::Slower);
                    of_ratio(own.absolute.ratio) + if differs { "*" } else { " " }
                })
            };
            let several = families.len() > 1;
            let at = if several { format!(" ({})", shown(family.point)) } else { String::new() };
            let name = format!("{}{at}", line.method);
            table.row(
                Style::Plain,
                std::iter::once(name).chain(metrics.iter().map(ratio_of_metric)),
            );
        }
    }
    page.table(table);
}

/// The text below the tables of two sides: what only one of them has, what has no ratio and why,
/// and the warnings.
fn foot(page: &mut Document, a: &Side, b: &Side, sides: &RunComparison) {
    page.gap();
    for alone in &sides.alone {
        let side = alone.side.to_uppercase();
        let why = alone.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        let text = format!("{} ({}){why}", alone.method, shown(&alone.point));
        page.paragraph(Style::Dim, &format!("only on {side}: "), &text);
    }
    let mut written: Vec<&str> = Vec::new();
    for line in sides.lines.iter().filter(|line| line.decides) {
        let wrong =
            |change: &&Effect| matches!(change.verdict, Verdict::WrongAnswer | Verdict::Missing);
        let changes = [Some(&line.absolute), line.relative.as_ref()];
        for change in changes.into_iter().flatten().filter(wrong) {
            let reason = change.reason.as_deref().unwrap_or("not available");
            if !written.contains(&reason) {
                written.push(reason);
                page.paragraph(Style::Red, &format!("{}: ", line.method), reason);
            }
        }
    }
    for note in notes(a, b) {
        page.paragraph(Style::Plain, "note: ", &note);
    }
}

/// What the columns are, and why a ratio is not the quotient of the times beside it.
fn legend(page: &mut Document, families: &[PointLines<'_>]) {
    let mut text = "p50: of all samples of a side. B/A: the mean of B's sessions divided by that \
                    of A's, not the quotient of the p50s. Relative to the reference: the same of \
                    the ratio to the reference, which ran in the same rounds, so that the speed \
                    of the machine cancels."
        .to_owned();
    if families.iter().any(PointLines::less_wait) {
        text += " − wait: the times are without the wait for a CPU.";
        let lines = families.iter().filter(|family| family.less_wait());
        let whole = lines.flat_map(PointLines::deciding).filter(|line| line.metric == WALL);
        let mut names: Vec<&str> = whole.map(|line| line.method.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            text = format!("{text} Whole times: {}.", names.join(", "));
        }
    }
    page.paragraph(Style::Dim, "", &text);
}

#[cfg(test)]
mod tests;
