//! Markdown: the tables for GitHub, separated by pipes, with the Markdown and HTML markup in names
//! escaped; the table of `bytelab numbers`; and the result of a check.

use std::fmt::Write as _;
use std::io::{self, Write};

use analysis::{Analysis, Checked};
use model::metric;
use model::run::Run;

use super::format::Exported;
use super::{ExportFormat, FormatKind};
use crate::text::foot::{self, Footnotes};
use crate::text::{self, Page, PageLayout, results};
use crate::views::compare::{CheckBaseline, Sides, against, interval, outcome_word};
use crate::views::numbers::{self, FOR_MARKDOWN, legend, measured_on, numbers, table};
use crate::views::rows::{self, Rows};
use crate::views::sweep::{self, PointOrSweep};
use crate::views::table::{Style, Table, TableColumn, TableRow};
use crate::views::units::{amount, point as shown, ratio};
use crate::views::words::escape_controls;
use crate::views::{VaryingParams, View, answer, view};

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "markdown",
    about: "the tables as they are shown",
    extensions: &["md", "markdown"],
    kind: FormatKind::Text,
    write: |exported, out| Ok(write(exported, out)?),
};

fn write(exported: &Exported<'_>, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let Exported { run, analysis, options, .. } = *exported;
    let varying = VaryingParams::of_run(run);
    if view(run) == View::Rows {
        out.write_all(numbers_table(run, analysis, &[]).as_bytes())?;
        return Ok(Vec::new());
    }
    head(run, &varying, out)?;
    let all = rows::arranged(run, analysis, options.table);
    let (rungs, tables): (Vec<_>, Vec<_>) =
        all.iter().partition(|rows| sweep::size_sweep_holds(run, &rows.family.point));
    as_it_is(out, |page| text::sweep::write_size_sweep(page, run))?;
    let mut has_points = false;
    for group in sweep::groups(tables, &varying) {
        match group {
            PointOrSweep::Sweep(sweep) => as_it_is(out, |page| {
                text::sweep::write(page, &sweep);
            })?,
            PointOrSweep::Point(rows) => {
                has_points = true;
                let title =
                    if all.len() > 1 { varying.shown(&rows.family.point) } else { String::new() };
                point(rows, &title, out)?;
            }
        }
    }
    if all.len() != 1 && rungs.is_empty() {
        writeln!(out, "\n{}", escaped(&answer::of_all(&all, &varying)))?;
    }
    let over_points = answer::over_points(&analysis.overall);
    if rungs.is_empty() && !over_points.is_empty() {
        writeln!(out, "\n{}", escaped(&over_points))?;
    }
    as_it_is(out, |page| foot::custom_metrics(page, analysis, options.table.own, &varying))?;
    as_it_is(out, |page| foot::param_effects(page, analysis, &varying))?;
    as_it_is(out, |page| foot::thresholds(page, analysis, &varying))?;
    // The page has unlimited width, so that each paragraph is one line, which Markdown wraps.
    let mut page = Page::new(&PageLayout { width: usize::MAX / 2, colour: false });
    let varying = &varying;
    let foot =
        Footnotes { run, analysis, all: &all, varying, left: &[], has_points, all_notes: true };
    foot.write(&mut page);
    let foot = page.into_text();
    let mut lines = foot.lines().filter(|line| !line.trim().is_empty()).peekable();
    if lines.peek().is_some() {
        writeln!(out)?;
    }
    lines.try_for_each(|line| writeln!(out, "- {}", escaped(line.trim())))?;
    Ok(Vec::new())
}

/// The table of a point, and its answer.
fn point(rows: &Rows<'_>, title: &str, out: &mut dyn Write) -> io::Result<()> {
    if !title.is_empty() {
        writeln!(out, "\n**{}**", escaped(title))?;
    }
    if rows.iter().next().is_some() {
        write!(out, "\n{}", markdown_table(&results::whole(rows), escaped))?;
    }
    writeln!(out, "\n{}", escaped(&answer::of_family(rows)))
}

fn head(run: &Run, varying: &VaryingParams<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(&PageLayout { width: usize::MAX / 2, colour: false });
    text::run::head(&mut page, run, varying);
    let text = page.into_text();
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}{}", if at == 0 { "### " } else { "" }, escaped(line.trim()))?;
    }
    Ok(())
}

/// Text in columns, in a code block that no text in it can end.
fn as_it_is(out: &mut dyn Write, write: impl FnOnce(&mut Page)) -> io::Result<()> {
    let mut page = Page::new(&PageLayout { width: 100, colour: false });
    write(&mut page);
    let text = page.into_text();
    if text.trim().is_empty() {
        return Ok(());
    }
    let ticks = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(ticks.max(2) + 1);
    writeln!(out, "\n{fence}text\n{}\n{fence}", text.trim_matches('\n'))
}

/// A table with each text escaped by `escaped`.
pub(super) fn markdown_table(table: &Table, escaped: impl Fn(&str) -> String) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heading = |column: &TableColumn| escaped(column.heading.join(" ").trim());
    let rule = |column: &TableColumn| if column.is_left { "---" } else { "---:" }.to_owned();
    let cells =
        |row: &TableRow| line(row.cells.iter().map(|cell| escaped(cell.text.trim())).collect());
    line(table.columns.iter().map(heading).collect())
        + &line(table.columns.iter().map(rule).collect())
        + &table.rows.iter().map(cells).collect::<String>()
}

/// One line in which no text is markup, a link, or a mention that would notify a user.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in escape_controls(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '|' | '~' | '$' => {
                escaped.extend(['\\', c]);
            }
            c => escaped.push(c),
        }
    }
    // Otherwise both would become links.
    escaped.replace("://", ":&#47;&#47;").replace("www.", "www&#46;")
}

/// The table in Markdown, for a wiki.
pub fn numbers_table(run: &Run, analysis: &Analysis, columns: &[numbers::NumbersColumn]) -> String {
    let columns = if columns.is_empty() { FOR_MARKDOWN } else { columns };
    let numbers = numbers(run);
    let table = table(&numbers, columns);
    let mut text = markdown_table(&table, |cell| cell.replace('|', "\\|"));
    text.extend(["\n", &escaped(&format!("Measured on: {}.", measured_on(run))), "\n"]);
    let refused = numbers.iter().filter_map(|number| {
        let reason = number.figures.as_ref().err()?;
        Some((format!("{}: ", number.row.title.trim()), reason.clone()))
    });
    let mut notes = refused.chain(numbers::all_notes(run, analysis, &numbers)).peekable();
    if notes.peek().is_some() {
        text.push('\n');
    }
    for (about, note) in notes {
        text.extend(["- ", &escaped(&about), &escaped(&note), "\n"]);
    }
    text.extend(["\n", &escaped(&legend(columns)), "\n"]);
    text
}

/// The result of a check as Markdown for GitHub's step summary.
/// A section to append to `GITHUB_STEP_SUMMARY`.
pub fn check(sides: &Sides<'_>, checked: &Checked) -> String {
    let mut text = format!("### bytelab check: {}\n\n", outcome_word(checked.outcome).0);
    text += &escaped_for_summary(against(sides).trim());
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
            match (&line.reason, &line.reference) {
                (Some(reason), _) => reason.clone(),
                (None, Some(reference)) => format!("beside {reference}"),
                (None, None) => String::new(),
            },
        ];
        table.row(Style::Plain, cells);
    }
    format!("{text}\n\n{}\n", markdown_table(&table, escaped_for_summary))
}

/// Escapes line ends, column separators, tags and Markdown markup.
fn escaped_for_summary(text: &str) -> String {
    let mut escaped = String::new();
    for c in escape_controls(text).chars() {
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
