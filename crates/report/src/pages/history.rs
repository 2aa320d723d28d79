//! Stored runs as text: their list, one method over time or at each commit, and what got slower
//! lately.

use analysis::stats::{CHANGE_ALPHA, LEAST_FOR_CHANGE, median};
use analysis::{CommitSeries, CommitValue, HistoryPoint, NEWEST, Series, SeriesKey};
use model::facts::Difference;
use model::metric;
use model::run::Machine;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::document::Document;
use crate::text::PageLayout;
use crate::views::history::{Alert, HistoryLine, SlowdownWithChanges};
use crate::views::table::{Style, Table, TableColumn, TooWide};
use crate::views::units::{self, NONE, Unit, amount, ns, point as shown, ratio};
use crate::views::words::{
    cache, constraints, escape_controls, fitting, joined, minute, shortened,
};

/// In the given order. A machine or a state that all runs have is left out.
pub fn table(lines: &[HistoryLine], layout: &PageLayout) -> String {
    let Some(first) = lines.first() else { return "no runs yet".to_owned() };
    let is_named = |line: &HistoryLine| line.run.label.is_some();
    let is_elsewhere = |line: &HistoryLine| line.run.machine != first.run.machine;
    let wrapped = |name| TableColumn { too_wide: TooWide::Cut, ..TableColumn::left(name) };
    let all: [(TableColumn, bool); 8] = [
        (TableColumn::left("id"), true),
        (TableColumn::left("started (UTC)"), true),
        (wrapped("machine"), lines.iter().any(is_elsewhere)),
        (wrapped("label"), lines.iter().any(is_named)),
        (wrapped("measured"), true),
        (TableColumn::right("took"), lines.iter().any(|line| line.took_ns.is_some())),
        (wrapped("fastest"), lines.iter().any(|line| !line.fastest.is_empty())),
        (TableColumn::left("complete"), lines.iter().any(|line| !line.run.complete)),
    ];
    let kept = all.each_ref().map(|(_, is_kept)| *is_kept);
    let columns = all.into_iter().enumerate().filter(|(_, (_, is_kept))| *is_kept);
    let columns =
        columns.map(|(at, (column, _))| TableColumn { gap: usize::from(at > 0), ..column });
    let mut table = Table::new(columns.collect());
    for line in lines {
        let cells = row(line).into_iter().zip(kept).filter(|(_, is_kept)| *is_kept);
        table.row(Style::Plain, cells.map(|(cell, _)| cell));
    }
    // The last column of a terminal stays free.
    let layout = PageLayout { width: layout.width.saturating_sub(1), colour: false };
    let mut page = Document::new(layout.width);
    page.headed(table, Style::Plain);
    page.text(&layout).trim_end().to_owned()
}

fn row(line: &HistoryLine) -> [String; 8] {
    let run = &line.run;
    [
        run.id.clone(),
        escape_controls(&minute_without_zone(&run.started)).chars().take(MINUTE).collect(),
        limited(&machine(&run.machine), SHORT),
        limited(run.label.as_deref().unwrap_or(""), SHORT),
        limited(&line.measured, LONG),
        line.took_ns.map(|took_ns| units::ns(took_ns as f64)).unwrap_or_default(),
        limited(&line.fastest, LONG),
        if run.complete { "yes" } else { "no" }.to_owned(),
    ]
}

/// The letters of `2026-01-02 03:04`.
const MINUTE: usize = 16;

/// `2026-01-02 03:04` from an RFC 3339 time.
fn minute_without_zone(started: &str) -> String {
    started.chars().take(MINUTE).collect::<String>().replacen('T', " ", 1)
}

/// The CPU without uninformative words, and the start of the fingerprint.
fn machine(machine: &Machine) -> String {
    let cpu = machine.cpu_model.as_deref().unwrap_or("").replace("(R)", "").replace("(TM)", "");
    let cpu = cpu.split(" @ ").next().unwrap_or("");
    let distinguishes = |word: &&str| {
        !matches!(*word, "AMD" | "CPU" | "Intel" | "Processor") && !word.ends_with("-Core")
    };
    let fingerprint: String = machine.fingerprint.chars().take(8).collect();
    let words = cpu.split_whitespace().filter(distinguishes).chain([&*fingerprint]);
    words.collect::<Vec<_>>().join(" ")
}

/// The maximum width of the cells of a list of runs.
const SHORT: usize = 60;
const LONG: usize = 130;

/// Texts come from stores that other people may have created: no text may control the terminal or
/// fill it.
fn limited(text: &str, width: usize) -> String {
    let text = escape_controls(text);
    let shown = fitting(text.chars(), width);
    if shown.len() < text.len() { shown + "…" } else { shown }
}

/// One method at each commit: a line for each, with the runs in which it was measured.
pub fn by_commit(
    method: &str,
    metric: &str,
    all: &[CommitSeries],
    without_commit: usize,
    layout: &PageLayout,
) -> String {
    let mut page = Document::new(layout.width);
    for series in all {
        page.gap();
        heading(&mut page, method, metric, &series.place);
        page.table(commit_table(&series.commits, metric::unit(metric)));
    }
    page.gap();
    page.paragraph(
        Style::Dim,
        "ratio: ",
        "the p50 divided by that of the line above. It is not a verdict: the runs were at \
         different times, and what the machine did then is in it. `bytelab bench --rev A,B` measures two commits in the same rounds.",
    );
    if without_commit > 0 {
        let runs = if without_commit == 1 { "run is" } else { "runs are" };
        let text = format!("{without_commit} {runs} left out: no commit is known");
        page.paragraph(Style::Dim, "note: ", &text);
    }
    let unknown = all.iter().flat_map(|series| &series.commits);
    let unknown: usize = unknown.map(|one| one.runs_of_unknown_tree).sum();
    if unknown > 0 {
        let text = format!(
            "for {unknown} of the runs git did not say in time whether the tree had changes; \
             they count as runs of the commit"
        );
        page.paragraph(Style::Dim, "note: ", &text);
    }
    page.text(layout)
}

fn commit_table(commits: &[CommitValue], unit: &'static str) -> Table {
    let values = || commits.iter().flat_map(|one| &one.runs).map(|run| run.p50);
    let unit = Unit::for_values(unit, values());
    let range = |one: &CommitValue| {
        let all = || one.runs.iter().map(|run| run.p50);
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::MIN, f64::max));
        match one.runs.len() {
            0 | 1 => String::new(),
            _ => format!("{}–{}", unit.number(low), unit.number(high)),
        }
    };
    let subject = |one: &CommitValue| one.commit.subject.clone().unwrap_or_default();
    let heading = match unit.name {
        "" => "p50".to_owned(),
        name => format!("p50, {name}"),
    };
    let last = TableColumn { too_wide: TooWide::Wrap, ..TableColumn::left("subject") };
    Table::of_columns(vec![
        (TableColumn { gap: 0, ..TableColumn::left("commit") })
            .with_cells(commits.iter(), |one| one.commit.described()),
        TableColumn::right(&heading).with_cells(commits.iter(), |one| unit.number(one.p50)),
        TableColumn::right("range").with_cells(commits.iter(), range),
        TableColumn::right("runs").with_cells(commits.iter(), |one| one.runs.len().to_string()),
        TableColumn::right("ratio").with_cells(commits.iter(), |one| {
            one.ratio.map_or(NONE.to_owned(), |value| ratio(value, 3))
        }),
        last.with_cells(commits.iter(), subject),
    ])
}

// One method over time, drawn with characters: a dot per run, a line per level, and the points
// at which it changed.

const HEIGHT: usize = 12;
/// Larger differences are shown on a logarithmic axis.
const LINEAR_MAX: f64 = 10.0;

pub fn over_time(method: &str, metric: &str, all: &[Series], layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    for series in all {
        page.gap();
        heading(&mut page, method, metric, &series.place);
        plot(&mut page, series, metric::unit(metric));
        write_changes(&mut page, series);
    }
    page.text(layout)
}

/// The method and the metric, and what is equal for all values.
fn heading(page: &mut Document, method: &str, metric: &str, place: &SeriesKey) {
    let head = format!("{method}, p50 of {metric}");
    page.line(&[(Style::Bold, &head), (Style::Plain, &about(place))]);
}

/// What is equal for all values, to follow a method's name.
fn about(place: &SeriesKey) -> String {
    let cache = joined([
        cache(place.cache).to_owned(),
        constraints(place.memory_limit_bytes, place.medium.as_deref()),
    ]);
    let fresh = if place.fresh { " · fresh processes" } else { "" };
    let machine: String = match place.machine.as_str() {
        "" => "not known".to_owned(),
        known => known.chars().take(8).collect(),
    };
    let at = shown(&place.point);
    let at = if at.is_empty() { at } else { format!(" · {at}") };
    format!(" · {}{at} · {cache}{fresh} · machine {machine}", place.experiment)
}

fn plot(page: &mut Document, series: &Series, unit: &'static str) {
    let values: Vec<f64> = series.values.iter().map(|value| value.p50).collect();
    let axis = ValueScale::from_values(&values);
    let labels: Vec<String> = (0..HEIGHT)
        .map(|row| match row {
            0 | 5 | 11 => amount(unit, axis.value(row)),
            _ => String::new(),
        })
        .collect();
    let margin = labels.iter().map(|label| label.width()).max().unwrap_or_default();
    let width = page.width().saturating_sub(margin + 3).max(10);
    let canvas = canvas(series, &axis, width);
    for (row, label) in labels.iter().enumerate() {
        let fill = " ".repeat(margin - label.width());
        let line: String = canvas[row].iter().collect();
        page.line(&[(Style::Dim, &format!("{fill}{label} ┤")), (Style::Plain, line.trim_end())]);
    }
    let ends =
        |value: Option<&HistoryPoint>| value.map_or(String::new(), |value| minute(&value.started));
    let (first, last) = (ends(series.values.first()), ends(series.values.last()));
    let used = column(values.len().saturating_sub(1), values.len(), width) + 1;
    let gap = used.saturating_sub(first.width() + last.width()).max(1);
    let fill = " ".repeat(margin + 2);
    page.line(&[(Style::Dim, &format!("{fill}{first}{}{last}", " ".repeat(gap)))]);
}

/// The column of the value with this index.
fn column(index: usize, n: usize, width: usize) -> usize {
    // Up to three columns for each run, so that a few runs do not look like many.
    let used = width.min(3 * n.saturating_sub(1) + 1);
    if n < 2 { 0 } else { index * (used - 1) / (n - 1) }
}

fn canvas(series: &Series, axis: &ValueScale, width: usize) -> Vec<Vec<char>> {
    let values: Vec<f64> = series.values.iter().map(|value| value.p50).collect();
    let n = values.len();
    let mut canvas = vec![vec![' '; width]; HEIGHT];
    let mut starts = vec![0];
    starts.extend(series.changes.iter().map(|change| change.at));
    for (level, from) in starts.iter().enumerate() {
        let to = starts.get(level + 1).copied().unwrap_or(n);
        let row = axis.row(median(&values[*from..to]));
        for cell in &mut canvas[row][column(*from, n, width)..=column(to - 1, n, width)] {
            *cell = '─';
        }
    }
    for change in &series.changes {
        let at = column(change.at, n, width);
        let before = column(change.at - 1, n, width);
        for row in &mut canvas {
            row[(before + 1).min(at)] = '│';
        }
    }
    for (index, value) in values.iter().enumerate() {
        canvas[axis.row(*value)][column(index, n, width)] = '•';
    }
    canvas
}

struct ValueScale {
    low: f64,
    high: f64,
    logarithms: bool,
}

impl ValueScale {
    fn from_values(values: &[f64]) -> ValueScale {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        ValueScale { low, high, logarithms: low > 0.0 && high / low > LINEAR_MAX }
    }

    fn at(&self, value: f64) -> f64 {
        if self.logarithms { value.ln() } else { value }
    }

    /// The row of a value; the top row is 0.
    fn row(&self, value: f64) -> usize {
        let span = self.at(self.high) - self.at(self.low);
        let share = (self.at(self.high) - self.at(value)) / span;
        // Equal values are drawn in the middle.
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 };
        (share * (HEIGHT - 1) as f64).round() as usize
    }

    fn value(&self, row: usize) -> f64 {
        let share = row as f64 / (HEIGHT - 1) as f64;
        let value = self.at(self.high) - share * (self.at(self.high) - self.at(self.low));
        if self.logarithms { value.exp() } else { value }
    }
}

fn write_changes(page: &mut Document, series: &Series) {
    let n = series.values.len();
    for change in &series.changes {
        let was = &series.values[change.at];
        let by = change.ratio.map_or(String::new(), |ratio| {
            let word = if ratio >= 1.0 { "more" } else { "less" };
            format!(": {:.1} % {word}", 100.0 * (ratio - 1.0).abs())
        });
        let label = was.label.as_ref().map_or(String::new(), |label| format!(", {label}"));
        let text = format!("from run {} ({}{label}) on{by}", was.id, minute(&was.started));
        page.paragraph(Style::Plain, "change: ", &text);
    }
    let found = match (n, series.changes.len()) {
        (0..LEAST_FOR_CHANGE, _) => {
            format!("{n} runs are too few to see a change: at least eight are needed")
        }
        (_, 0) => format!("no change is shown in {n} runs"),
        (_, count) => format!("{count} in {n} runs"),
    };
    let looked = if n > NEWEST {
        format!(", of which the newest {NEWEST} were examined")
    } else {
        String::new()
    };
    let chance = 100.0 * CHANGE_ALPHA;
    let text = format!("{found}{looked}; expect a false change in {chance:.0} of 100 such charts");
    page.paragraph(Style::Dim, "changes: ", &text);
}

// Recent slowdowns, as text.

/// More facts are only in JSON.
const FACTS_MAX: usize = 8;
/// The maximum width of the value of a fact.
const VALUE_WIDTH: usize = 40;

pub fn alert(found: &Alert, layout: &PageLayout) -> String {
    let mut page = Document::new(layout.width);
    for slowdown in &found.slowdowns {
        one(&mut page, slowdown);
        page.gap();
    }
    let series = |n: usize| format!("{n} series");
    let slower = match found.slowdowns.len() {
        0 => "nothing is shown to have become slower".to_owned(),
        1 => "one change for the worse".to_owned(),
        n => format!("{n} changes for the worse"),
    };
    let short = match found.series_too_short {
        0 => String::new(),
        n => format!(
            "; {} more have fewer than {LEAST_FOR_CHANGE} runs, which cannot show a change",
            series(n)
        ),
    };
    let text = format!(
        "{slower} in the last {} days, in {} (a method at a point on a machine){short}. \
         Expect a false change in {:.0} of 100 such series.",
        found.days,
        series(found.series_examined),
        100.0 * CHANGE_ALPHA,
    );
    page.paragraph(Style::Dim, "", &text);
    page.text(layout)
}

fn one(page: &mut Document, SlowdownWithChanges { slowdown, changed }: &SlowdownWithChanges) {
    let cpu = slowdown.cpu_model.as_ref().map_or(String::new(), |cpu| format!(" {cpu}"));
    let about = about(&slowdown.place) + &cpu;
    page.line(&[(Style::Bold, &slowdown.method), (Style::Plain, &about)]);
    let more = |ns: f64| 100.0 * (ns / slowdown.before_ns - 1.0);
    let label = slowdown.label.as_ref().map_or(String::new(), |label| format!(", {label}"));
    let (before, after) = (ns(slowdown.before_ns), ns(slowdown.after_ns));
    let now = if slowdown.now_ns.total_cmp(&slowdown.after_ns).is_eq() {
        String::new()
    } else {
        format!("; now {} ({:.1} % more)", ns(slowdown.now_ns), more(slowdown.now_ns))
    };
    let text = format!(
        "from run {} ({}{label}) on: {:.1} % more, {before} → {after}{now}",
        slowdown.run,
        minute(&slowdown.started),
        more(slowdown.after_ns),
    );
    page.paragraph(Style::Red, "slower: ", &text);
    let named = |changed: &Difference| {
        format!("{} {} → {}", changed.fact, value(&changed.a), value(&changed.b))
    };
    let mut facts: Vec<String> = changed.iter().take(FACTS_MAX).map(named).collect();
    match changed.len().saturating_sub(FACTS_MAX) {
        0 => {}
        more => facts.push(format!("{more} more in --json")),
    }
    let text = match facts.as_slice() {
        [] => format!("no known fact of the environment since run {}", slowdown.run_before),
        _ => format!(
            "since run {}: {} (which need not be the cause)",
            slowdown.run_before,
            facts.join(", ")
        ),
    };
    page.paragraph(Style::Plain, "changed: ", &text);
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => "not known".to_owned(),
        Value::String(text) => shortened(text, VALUE_WIDTH),
        other => shortened(&other.to_string(), VALUE_WIDTH),
    }
}

#[cfg(test)]
mod tests {
    use model::run::Listed;

    use super::*;
    use crate::json::history::runs as json;
    use crate::views::history::HistoryEntry;

    fn listed(id: &str, label: Option<&str>, cpu: Option<&str>) -> Listed {
        Listed {
            id: id.to_owned(),
            uuid: String::new(),
            experiment: "reading".to_owned(),
            label: label.map(str::to_owned),
            started: "2026-01-02T03:04:05Z".to_owned(),
            machine: Machine {
                fingerprint: "0123456789abcdef".to_owned(),
                cpu_model: cpu.map(str::to_owned),
            },
            complete: id != "12",
            cells: 16,
            samples: 1632,
        }
    }

    fn line(run: Listed, took_ns: u64, measured: &str, fastest: &str) -> HistoryLine {
        let (measured, fastest) = (measured.to_owned(), fastest.to_owned());
        HistoryLine { run, took_ns: Some(took_ns), measured, fastest }
    }

    fn shown(lines: &[HistoryLine], width: usize) -> String {
        table(lines, &PageLayout { width, colour: false })
    }

    fn two() -> [HistoryLine; 2] {
        [
            line(
                listed("1", None, None),
                600_000_000,
                "gzip -c x, gzip -9c x",
                "gzip -c x; the next takes 30 % more",
            ),
            line(
                listed("13", Some("before"), None),
                54_200_000_000,
                "reading size=64Ki: read, mmap",
                "mmap; 41 % less than read",
            ),
        ]
    }

    #[test]
    fn it_says_what_was_measured_and_what_is_the_fastest() {
        let expected = "
id started (UTC)    label  measured                        took fastest
1  2026-01-02 03:04        gzip -c x, gzip -9c x         600 ms gzip -c x; the next takes 30 % more
13 2026-01-02 03:04 before reading size=64Ki: read, mmap 54.2 s mmap; 41 % less than read";
        assert_eq!(shown(&two(), 120), expected.trim_start_matches('\n'));
    }

    #[test]
    fn the_table_fits_80_columns() {
        let expected = "
id started (UTC)    label  measured                 took fastest
1  2026-01-02 03:04        gzip -c x, gzip -9c x  600 ms gzip -c x; the next
                                                         takes 30 % more
13 2026-01-02 03:04 before reading size=64Ki:     54.2 s mmap; 41 % less than
                           read, mmap                    read";
        assert_eq!(shown(&two(), 80), expected.trim_start_matches('\n'));
    }

    #[test]
    fn a_run_has_two_lines_at_most() {
        let names = "./work big.txt, ./work big.txt@old, ./work small.txt and 1 more";
        let fastest = "./work big.txt@old; 41 % less than ./work big.txt, the reference";
        let run = listed("7", Some("check against ../main/bench.toml"), None);
        let text = shown(&[line(run, 1_000_000, names, fastest)], 80);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("…"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() < 80), "{text}");
    }

    #[test]
    fn machines_and_states_are_there_where_they_differ() {
        let xeon = Some("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz");
        let epyc = Some("AMD EPYC 7763 64-Core Processor");
        let lines = [
            HistoryLine::unreadable(listed("1", None, xeon)),
            HistoryLine::unreadable(listed("12", None, epyc)),
        ];
        let expected = "
id started (UTC)    machine                      measured fastest        complete
1  2026-01-02 03:04 Xeon Platinum 8481C 01234567 reading  cannot be read yes
12 2026-01-02 03:04 EPYC 7763 01234567           reading  cannot be read no";
        assert_eq!(shown(&lines, 120), expected.trim_start_matches('\n'));
    }

    #[test]
    fn long_and_hostile_texts_neither_widen_it_nor_reach_the_terminal() {
        let long = "\u{1b}[2J\0\r\n".to_owned() + &"wide\u{5bbd} ".repeat(300);
        let mut run = listed("99999999", Some(&long), Some(&long));
        run.started.clone_from(&long);
        let other = line(run.clone(), 1, &long, &long);
        let text = shown(&[line(run, 1, &"x".repeat(200), ""), other], 80);
        assert!(!text.contains(['\u{1b}', '\0', '\r']));
        for line in text.lines() {
            let wide = line.matches('\u{5bbd}').count();
            assert!(line.chars().count() + wide <= 80, "{line}");
        }
        assert!(text.lines().count() < 60, "{text}");
    }

    #[test]
    fn an_empty_store_says_so() {
        assert_eq!(shown(&[], 80), "no runs yet");
        assert_eq!(json(&[]).unwrap(), "[]");
    }

    #[test]
    fn the_json_has_the_documented_keys() {
        let run = Listed { complete: false, ..listed("7", Some("\"a\""), None) };
        let flags = [("size".to_owned(), "1Mi".to_owned())].into();
        let json = json(&[HistoryEntry { run, took_ns: Some(5), flags }]).unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!([{
            "id": "7",
            "uuid": "",
            "experiment": "reading",
            "label": "\"a\"",
            "started": "2026-01-02T03:04:05Z",
            "machine": {"fingerprint": "0123456789abcdef", "cpu_model": null},
            "complete": false,
            "cells": 16,
            "samples": 1632,
            "took_ns": 5,
            "flags": {"size": "1Mi"}
        }]);
        assert_eq!(value, expected);
    }
}

#[cfg(test)]
mod by_commit_tests {
    use analysis::{HistoryPoint, SeriesKey};
    use model::param::Point;
    use model::run::{CacheState, ProjectCommit};

    use super::*;

    fn value(
        digit: &str,
        subject: &str,
        p50: f64,
        ratio: Option<f64>,
        runs: &[f64],
    ) -> CommitValue {
        let of_run = |p50: &f64| HistoryPoint {
            id: "1".to_owned(),
            started: "2026-01-01T10:00:00Z".to_owned(),
            label: None,
            n: 100,
            p50: *p50,
        };
        let subject = Some(subject.to_owned()).filter(|subject| !subject.is_empty());
        CommitValue {
            commit: ProjectCommit { commit: digit.repeat(40), subject, ..ProjectCommit::default() },
            p50,
            ratio,
            runs_of_unknown_tree: 0,
            runs: runs.iter().map(of_run).collect(),
        }
    }

    #[test]
    fn each_commit_has_a_line() {
        let mut changed = value("b", "", 12e6, Some(0.96), &[12e6]);
        changed.commit.dirty = Some(true);
        let hostile = "Set \u{1b}[31m the colour of the words that are longer than a line has room";
        let series = CommitSeries {
            place: SeriesKey {
                experiment: "bench".to_owned(),
                point: Point::default(),
                machine: "0123456789".to_owned(),
                cache: CacheState::AsIs,
                fresh: false,
                memory_limit_bytes: None,
                medium: None,
            },
            commits: vec![
                value("a", "Add a tool", 10e6, None, &[9e6, 11e6]),
                value("b", hostile, 12.5e6, Some(1.25), &[12.5e6]),
                changed,
            ],
        };
        let layout = PageLayout { width: 80, colour: false };
        insta::assert_snapshot!(by_commit("./tool", "wall_ns", &[series], 2, &layout), @r"
        ./tool, p50 of wall_ns · bench · cache as is · machine 01234567
        commit         p50, ms      range  runs  ratio  subject
        ────────────────────────────────────────────────────────────────────────────────
        aaaaaaa           10.0  9.00–11.0     2      —  Add a tool
        bbbbbbb           12.5                1  1.250  Set \u{1b}[31m the colour of the
                                                        words that are longer than a
                                                        line has room
        bbbbbbb-dirty     12.0                1  0.960

        ratio: the p50 divided by that of the line above. It is not a verdict: the runs
          were at different times, and what the machine did then is in it. `bytelab
          bench --rev A,B` measures two commits in the same rounds.
        note: 2 runs are left out: no commit is known
        ");
    }
}

#[cfg(test)]
mod over_time_tests {
    use analysis::ChangePoint;
    use model::param::Point;
    use model::run::CacheState;

    use super::*;

    fn series(values: &[f64], changes: Vec<ChangePoint>) -> Series {
        let was = |(i, p50): (usize, &f64)| HistoryPoint {
            id: (i + 1).to_string(),
            started: format!("2026-01-{:02}T10:00:00Z", i + 1),
            label: None,
            n: 100,
            p50: *p50,
        };
        Series {
            place: SeriesKey {
                experiment: "reading".to_owned(),
                point: Point::default(),
                machine: "0123456789".to_owned(),
                cache: CacheState::Warm,
                fresh: false,
                memory_limit_bytes: None,
                medium: None,
            },
            values: values.iter().enumerate().map(was).collect(),
            changes,
        }
    }

    fn drawn(series: Series, width: usize) -> String {
        over_time("mmap", "wall_ns", &[series], &PageLayout { width, colour: false })
    }

    #[test]
    fn levels_and_their_change_are_drawn() {
        let values: Vec<f64> =
            (0..10).map(|i| if i < 5 { 10e6 } else { 12e6 } + f64::from(i * 7 % 3) * 1e5).collect();
        let change = ChangePoint { id: "6".to_owned(), at: 5, ratio: Some(1.2) };
        insta::assert_snapshot!(drawn(series(&values, vec![change]), 60), @r"
        mmap, p50 of wall_ns · reading · warm cache · machine 01234567
        12.2 ms ┤             │ •        •
                ┤             │ ───•──•─────•
                ┤             │
                ┤             │
                ┤             │
        11.2 ms ┤             │
                ┤             │
                ┤             │
                ┤             │
                ┤             │
                ┤      •      │
          10 ms ┤•──•─────•──•│
                 2026-01-01 10:00 UTC 2026-01-10 10:00 UTC
        change: from run 6 (2026-01-06 10:00 UTC) on: 20.0 % more
        changes: 1 in 10 runs; expect a false change in 2 of 100
          such charts
        ");
    }

    #[test]
    fn any_series_can_be_drawn() {
        for values in [&[1.0][..], &[5.0; 9], &[1e-300, 1e300, 1.0], &[0.0, 1.0, -1.0]] {
            for width in [1, 60, 200] {
                let text = drawn(series(values, Vec::new()), width);
                assert!(text.contains('•') && !text.contains("NaN"), "{text}");
            }
        }
        let many: Vec<f64> = (0..1000).map(|i| f64::from(i % 17)).collect();
        assert!(drawn(series(&many[..30], Vec::new()), 60).lines().all(|line| line.width() <= 80));
    }
}
