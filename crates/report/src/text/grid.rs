//! Tables as text in columns.

use std::borrow::Cow;
use std::collections::BTreeSet;

use analysis::Verdict;
use unicode_width::UnicodeWidthStr;

use super::{Page, wrapped};
use crate::views::table::{
    CellKind, HeadingStyle, RowRole, Style, Table, TableColumn, TableRow, TooWide,
};
use crate::views::words::{escape_controls, fitting, shortened};

/// Writes a table that is as wide as its widest cells. If the page is narrower, the columns that
/// allow it become narrower.
pub(super) fn write(page: &mut Page, table: &Table, head: HeadingStyle) {
    let widths = fitted(table, page.width);
    let rule = "─".repeat(total(table, &widths).min(page.width));
    let style = match head {
        HeadingStyle::Ruled => Style::Bold,
        HeadingStyle::Styled(style) => style,
    };
    for at in 0..table.columns.first().map_or(0, |column| column.heading.len()) {
        let cells = table.columns.iter().map(|column| column.heading[at].as_str().into());
        let heading = TableRow { cells: cells.collect(), style, is_ruled: false, is_title: false };
        lines(page, &heading, &table.columns, &widths);
    }
    if matches!(head, HeadingStyle::Ruled) {
        page.line(&[(Style::Dim, &rule)]);
    }
    for row in &table.rows {
        if row.is_ruled {
            page.line(&[(Style::Dim, &rule)]);
        }
        match row.cells.first().filter(|_| row.is_title) {
            Some(title) => page.wrap(row.style, "", &title.text, 0),
            None => lines(page, row, &table.columns, &widths),
        }
    }
}

/// The table in as many parts as a page of this width requires, if it allows that: each has the
/// first column.
pub(crate) fn parts(table: &Table, page: usize) -> Vec<Table> {
    let Some(together) = table.splits_every.filter(|_| width(table) > page) else {
        return vec![table.clone()];
    };
    let columns = table.columns.len();
    let mut parts = Vec::new();
    let mut start = 1;
    while start < columns {
        let mut end = columns;
        let mut part = table.with_columns(start..end);
        while end > start + together && width(&part) > page {
            end -= together;
            part = table.with_columns(start..end);
        }
        parts.push(part);
        start = end;
    }
    parts
}

/// The width of the table on a page of any width.
pub(crate) fn width(table: &Table) -> usize {
    total(table, &natural(table))
}

fn total(table: &Table, widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + table.columns.iter().map(|column| column.gap).sum::<usize>()
}

/// The width of each column, which is that of its widest cell.
fn natural(table: &Table) -> Vec<usize> {
    let width = |(at, column): (usize, &TableColumn)| {
        let widths = texts(table, at).map(|text| escape_controls(text).width());
        widths.max().unwrap_or(0).max(column.width_min)
    };
    table.columns.iter().enumerate().map(width).collect()
}

fn fitted(table: &Table, page: usize) -> Vec<usize> {
    let mut widths = natural(table);
    let excess = total(table, &widths).saturating_sub(page);
    if excess == 0 {
        return widths;
    }
    let columns = || table.columns.iter().enumerate();
    for (at, column) in columns().filter(|(_, column)| column.too_wide == TooWide::Shorten) {
        let least = widths[at].saturating_sub(excess).max(column.width_min);
        let differ = |width: &usize| count_different(table, at, *width);
        let all = differ(&widths[at]);
        widths[at] = (least..widths[at]).find(|width| differ(width) == all).unwrap_or(widths[at]);
    }
    let is_wrapped = |column: &TableColumn| matches!(column.too_wide, TooWide::Wrap | TooWide::Cut);
    let wraps = columns().filter(|(_, column)| is_wrapped(column));
    share(table, wraps.map(|(at, _)| at).collect(), excess, &mut widths);
    widths
}

/// The number of different texts of a column that is shortened to this width.
fn count_different(table: &Table, at: usize, width: usize) -> usize {
    texts(table, at)
        .map(|text| shortened(&escape_controls(text), width))
        .collect::<BTreeSet<_>>()
        .len()
}

/// Makes columns that wrap narrower, by this much in all. Those that need less than an equal share
/// of the width leave the rest to the others.
fn share(table: &Table, mut wraps: Vec<usize>, excess: usize, widths: &mut [usize]) {
    let mut room = wraps.iter().map(|at| widths[*at]).sum::<usize>().saturating_sub(excess);
    let longest = |at: usize, width: usize| {
        let lines =
            texts(table, at).flat_map(|text| wrapped_cell(&escape_controls(text), width, true));
        lines.map(|line| line.width()).max().unwrap_or(0)
    };
    while !wraps.is_empty() {
        let average = room / wraps.len();
        // Breaking at spaces may leave one or two columns, which are of no use to the others.
        let needs_less = |at: &usize| longest(*at, average) + 2 < average;
        if let Some(i) = wraps.iter().position(|at| widths[*at] <= average) {
            room -= widths[wraps.remove(i)];
        } else if let Some(at) = wraps.iter().copied().find(needs_less) {
            widths[at] = longest(at, average);
        } else {
            break;
        }
    }
    for (i, at) in wraps.iter().enumerate() {
        let own = room.div_ceil(wraps.len() - i);
        widths[*at] = own.max(1);
        room -= own;
    }
}

/// The texts of a column, with its heading.
fn texts(table: &Table, at: usize) -> impl Iterator<Item = &str> {
    let rows = table.rows.iter().filter(|row| !row.is_title);
    let cells = rows.filter_map(move |row| Some(row.cells.get(at)?.text.as_str()));
    cells.chain(table.columns[at].heading.iter().map(String::as_str))
}

/// The lines of a row: one, unless a column wraps.
fn lines(page: &mut Page, row: &TableRow, columns: &[TableColumn], widths: &[usize]) {
    let last = row.cells.len().saturating_sub(1);
    let cell = |(at, text): (usize, &str)| match columns[at].too_wide {
        // A long word of the last column moves no other column. It may be a path to copy.
        TooWide::Wrap if text.width() > widths[at] => wrapped_cell(text, widths[at], at < last),
        TooWide::Cut if text.width() > widths[at] => {
            cut(wrapped_cell(text, widths[at], true), widths[at])
        }
        TooWide::Shorten => vec![shortened(text, widths[at])],
        TooWide::Stay | TooWide::Wrap | TooWide::Cut => vec![text.to_owned()],
    };
    let cleaned: Vec<Cow<'_, str>> =
        row.cells.iter().map(|cell| escape_controls(&cell.text)).collect();
    let cells: Vec<Vec<String>> = cleaned.iter().map(AsRef::as_ref).enumerate().map(cell).collect();
    for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
        let text = cells.iter().map(|lines| lines.get(at).map_or("", String::as_str));
        let own = row.cells.iter().map(|cell| match cell.kind {
            CellKind::Verdict(role) => Some(style_of(role)),
            CellKind::Text | CellKind::Code | CellKind::Number => None,
        });
        line(page, row.style, text.zip(own).collect(), columns, widths);
    }
}

/// The first two of these lines of this width; of more, the rest is left out.
fn cut(mut lines: Vec<String>, width: usize) -> Vec<String> {
    if lines.len() > 2 {
        lines.truncate(2);
        lines[1] = fitting(lines[1].chars(), width.saturating_sub(1)) + "…";
    }
    lines
}

/// Its lines are all indented as the text is.
fn wrapped_cell(text: &str, width: usize, cuts: bool) -> Vec<String> {
    let (indent, text) = text.split_at(text.len() - text.trim_start_matches(' ').len());
    let lines = wrapped(text, width.saturating_sub(indent.len()), cuts);
    lines.into_iter().map(|line| format!("{indent}{line}")).collect()
}

/// One line of cells, some with a style of their own, and without spaces at its end.
fn line(
    page: &mut Page,
    style: Style,
    mut cells: Vec<(&str, Option<Style>)>,
    columns: &[TableColumn],
    widths: &[usize],
) {
    while cells.pop_if(|(text, _)| text.trim().is_empty()).is_some() {}
    let last = cells.len().saturating_sub(1);
    let (mut parts, mut part) = (Vec::new(), String::new());
    for (at, (text, own)) in cells.into_iter().enumerate() {
        let fill = " ".repeat(widths[at].saturating_sub(text.width()));
        part += &" ".repeat(columns[at].gap);
        if !columns[at].is_left {
            part += &fill;
        }
        let text = if at == last { text.trim_end() } else { text };
        match own {
            Some(own) => parts.extend([(style, std::mem::take(&mut part)), (own, text.to_owned())]),
            None => part += text,
        }
        if columns[at].is_left && at < last {
            part += &fill;
        }
    }
    parts.push((style, part));
    let parts: Vec<(Style, &str)> = parts.iter().map(|(style, part)| (*style, &**part)).collect();
    page.line(&parts);
}

/// The colour repeats what the word states.
fn style_of(role: RowRole) -> Style {
    match role {
        RowRole::Compared(Verdict::Faster) => Style::Green,
        RowRole::Compared(Verdict::WrongAnswer) => Style::Red,
        RowRole::Yardstick
        | RowRole::Estimate
        | RowRole::Unusable
        | RowRole::NoInterval
        | RowRole::InDoubt
        | RowRole::Compared(Verdict::Undecided | Verdict::Missing) => Style::Dim,
        _ => Style::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::PageLayout;

    fn rendered(table: &Table, width: usize) -> String {
        let mut page = Page::new(&PageLayout { width, colour: false });
        write(&mut page, table, HeadingStyle::Ruled);
        page.text
    }

    #[test]
    fn the_first_column_gives_what_the_page_lacks() {
        let mut table = Table::plain(&["method", "wall", "verdict"], true);
        table.row(Style::Plain, ["a-name-that-is-much-too-long", "1.5 ms", "same"]);
        table.row(Style::Dim, ["b\u{1b}", "12 ms", "slower"]);
        insta::assert_snapshot!(rendered(&table, 80), @r"
        method                          wall  verdict
        ─────────────────────────────────────────────
        a-name-that-is-much-too-long  1.5 ms  same
        b\u{1b}                        12 ms  slower
        ");
        insta::assert_snapshot!(rendered(&table, 30), @r"
        method           wall  verdict
        ──────────────────────────────
        a-name…o-long  1.5 ms  same
        b\u{1b}         12 ms  slower
        ");
        let narrow = rendered(&table, 1);
        assert!(narrow.contains('…'));
        assert_eq!(narrow.lines().nth(1).unwrap().width(), 20, "a rule is not wider than the page");
    }

    #[test]
    fn lines_of_an_indented_text_are_indented() {
        let name = TableColumn { too_wide: TooWide::Wrap, ..TableColumn::left("name") };
        let mut table = Table::new(vec![name, TableColumn::right("n")]);
        table.row(Style::Plain, ["  here: a-long-name", "12"]);
        table.row(Style::Plain, ["  here: b", "3"]);
        insta::assert_snapshot!(rendered(&table, 20), @r"
          name             n
        ────────────────────
            here:         12
            a-long-name
            here: b        3
        ");
    }

    #[test]
    fn a_text_is_cut_after_two_lines() {
        let cuts = |heading| TableColumn { too_wide: TooWide::Cut, ..TableColumn::left(heading) };
        let mut table = Table::new(vec![cuts("a"), cuts("b")]);
        table.row(Style::Plain, ["some words and more words", "short"]);
        table.row(Style::Plain, ["two lines are all", "b"]);
        insta::assert_snapshot!(rendered(&table, 20), @r"
          a            b
        ────────────────────
          some words   short
          and more…
          two lines    b
          are all
        ");
    }

    #[test]
    fn different_names_stay_different() {
        let mut table = Table::plain(&["machine", "wall", "verdict"], true);
        for name in ["00abc001 CPU 1", "00abc004 CPU 1", "00abc004 CPU 1"] {
            table.row(Style::Plain, [name, "1.5 ms", "same"]);
        }
        insta::assert_snapshot!(rendered(&table, 20), @r"
        machine           wall  verdict
        ────────────────────
        00abc001 CPU 1  1.5 ms  same
        00abc004 CPU 1  1.5 ms  same
        00abc004 CPU 1  1.5 ms  same
        ");
    }

    #[test]
    fn columns_that_wrap_share_what_the_page_has() {
        let wraps = |heading| TableColumn { too_wide: TooWide::Wrap, ..TableColumn::left(heading) };
        let last = TableColumn { gap: 1, ..TableColumn::right("n") };
        let mut table = Table::new(vec![wraps("name"), wraps("text"), last]);
        table
            .row(Style::Plain, ["a-name-that-is-much-too-long", "some words and more words", "12"]);
        table.row(Style::Plain, ["b", "short", "3"]).is_ruled = true;
        insta::assert_snapshot!(rendered(&table, 31), @r"
          name          text          n
        ───────────────────────────────
          a-name-that-  some words   12
          is-much-too-  and more
          long          words
        ───────────────────────────────
          b             short         3
        ");
    }
}
