//! The tables for GitHub: separated by pipes, with the Markdown and HTML markup in names escaped.

use std::io::{self, Write};

use lab::run::Run;

use super::cells::Exported;
use super::markup::{self, escaped};
use super::{Format, Kind};
use crate::report::model::rows::{self, Rows};
use crate::report::model::sweep::{self, Group};
use crate::report::model::{Varying, View, answer, view};
use crate::report::text::foot::{self, Footnotes};
use crate::report::text::{self, Layout, Page, results};

pub(super) const FORMAT: Format = Format {
    name: "markdown",
    about: "the tables as they are shown",
    extensions: &["md", "markdown"],
    kind: Kind::Text,
    write: |exported, out| Ok(write(exported, out)?),
};

fn write(exported: &Exported<'_>, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let Exported { run, analysis, options, .. } = *exported;
    let varying = Varying::of_run(run);
    if view(run) == View::Rows {
        out.write_all(super::numbers::markdown(run, analysis, &[]).as_bytes())?;
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
            Group::Sweep(sweep) => as_it_is(out, |page| {
                text::sweep::write(page, &sweep);
            })?,
            Group::Point(rows) => {
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
    as_it_is(out, |page| foot::own(page, analysis, options.table.own, &varying))?;
    as_it_is(out, |page| foot::across(page, analysis, &varying))?;
    as_it_is(out, |page| foot::thresholds(page, analysis, &varying))?;
    // The page has unlimited width, so that each paragraph is one line, which Markdown wraps.
    let mut page = Page::new(&Layout { width: usize::MAX / 2, colour: false });
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
        write!(out, "\n{}", markup::table(&results::whole(rows), escaped))?;
    }
    writeln!(out, "\n{}", escaped(&answer::of_family(rows)))
}

fn head(run: &Run, varying: &Varying<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(&Layout { width: usize::MAX / 2, colour: false });
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
    let mut page = Page::new(&Layout { width: 100, colour: false });
    write(&mut page);
    let text = page.into_text();
    if text.trim().is_empty() {
        return Ok(());
    }
    let ticks = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(ticks.max(2) + 1);
    writeln!(out, "\n{fence}text\n{}\n{fence}", text.trim_matches('\n'))
}
