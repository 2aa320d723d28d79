//! Tables of texts: their content, separate from drawing.

use unicode_width::UnicodeWidthStr;

use super::page::{Page, Style, clean, shortened};

/// Cells and the columns that they belong to.
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
}

pub(super) struct Column {
    /// One element per line; all columns have the same number.
    pub(super) heading: Vec<String>,
    pub(super) is_left: bool,
    /// The number of spaces before it.
    pub(super) gap: usize,
}

impl Column {
    pub(super) fn new(heading: &str, is_left: bool, gap: usize) -> Column {
        Column { heading: vec![heading.to_owned()], is_left, gap }
    }
}

impl Table {
    /// The width of each column, which is that of its widest cell.
    pub(super) fn widths(&self) -> Vec<usize> {
        let width = |(at, column): (usize, &Column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).chain(&column.heading);
            cells.map(|text| text.width()).max().unwrap_or(0)
        };
        self.columns.iter().enumerate().map(width).collect()
    }

    /// The width of a line with columns of these widths.
    pub(super) fn width(&self, widths: &[usize]) -> usize {
        widths.iter().sum::<usize>() + self.columns.iter().map(|column| column.gap).sum::<usize>()
    }

    /// The lines of the heading, then a line for each row; a first cell that is too wide is
    /// shortened, the others never are.
    pub(super) fn lines(&self, widths: &[usize]) -> (Vec<String>, Vec<String>) {
        let line = |cells: &mut dyn Iterator<Item = &String>| {
            let mut line = String::new();
            for (at, ((cell, column), width)) in cells.zip(&self.columns).zip(widths).enumerate() {
                let cell = if at == 0 { shortened(cell, *width) } else { cell.clone() };
                let fill = " ".repeat(width.saturating_sub(cell.width()));
                line += &" ".repeat(column.gap);
                line += &if column.is_left { cell + &fill } else { fill + &cell };
            }
            line.trim_end().to_owned()
        };
        let headings = self.columns.first().map_or(0, |column| column.heading.len());
        let heading = |at: usize| line(&mut self.columns.iter().map(|column| &column.heading[at]));
        let rows = self.rows.iter().map(|row| line(&mut row.iter())).collect();
        ((0..headings).map(heading).collect(), rows)
    }

    /// The table for a wiki, with each text escaped by `escaped`.
    pub(super) fn markdown(&self, escaped: impl Fn(&str) -> String) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let heading = |column: &Column| escaped(column.heading.join(" ").trim());
        let rule = |column: &Column| if column.is_left { "---" } else { "---:" }.to_owned();
        let cells = |row: &Vec<String>| line(row.iter().map(|cell| escaped(cell.trim())).collect());
        line(self.columns.iter().map(heading).collect())
            + &line(self.columns.iter().map(rule).collect())
            + &self.rows.iter().map(cells).collect::<String>()
    }
}

/// Narrower names cannot be recognized.
const FIRST_MIN: usize = 8;

/// A plain table, as wide as its widest cells; if that is too wide, the first column is shortened.
pub(super) struct Grid {
    table: Table,
    /// The style of each row.
    styles: Vec<Style>,
}

impl Grid {
    /// The first column is aligned to the left, the others to the right, except the last one if it
    /// is a word.
    pub(super) fn new(heading: &[&str], last_is_word: bool) -> Grid {
        let last = heading.len().saturating_sub(1);
        let column = |(at, text): (usize, &&str)| {
            let is_left = at == 0 || last_is_word && at == last;
            Column::new(text, is_left, if at == 0 { 0 } else { 2 })
        };
        let columns = heading.iter().enumerate().map(column).collect();
        Grid { table: Table { columns, rows: Vec::new() }, styles: Vec::new() }
    }

    pub(super) fn row(&mut self, style: Style, cells: Vec<String>) {
        let cells = cells.into_iter().map(|cell| clean(&cell).into_owned()).collect();
        self.table.rows.push(cells);
        self.styles.push(style);
    }

    pub(super) fn write(&self, page: &mut Page) {
        let mut widths = self.table.widths();
        let total = self.table.width(&widths);
        if let Some(first) = widths.first_mut() {
            *first = first.saturating_sub(total.saturating_sub(page.width())).max(FIRST_MIN);
        }
        let (headings, rows) = self.table.lines(&widths);
        for heading in &headings {
            page.line(&[(Style::Bold, heading)]);
        }
        page.line(&[(Style::Dim, &"─".repeat(self.table.width(&widths)))]);
        for (style, row) in self.styles.iter().zip(&rows) {
            page.line(&[(*style, row)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Layout;

    fn written(width: usize) -> String {
        let mut grid = Grid::new(&["method", "wall", "verdict"], true);
        let name = "a-name-that-is-much-too-long".to_owned();
        grid.row(Style::Plain, vec![name, "1.5 ms".to_owned(), "same".to_owned()]);
        grid.row(Style::Dim, vec!["b\u{1b}".to_owned(), "12 ms".to_owned(), "slower".to_owned()]);
        let mut page = Page::new(&Layout { width, colour: false });
        grid.write(&mut page);
        page.into_text()
    }

    #[test]
    fn the_first_column_gives_what_the_page_lacks() {
        insta::assert_snapshot!(written(80), @r"
        method                          wall  verdict
        ─────────────────────────────────────────────
        a-name-that-is-much-too-long  1.5 ms  same
        b\u{1b}                        12 ms  slower
        ");
        insta::assert_snapshot!(written(30), @r"
        method           wall  verdict
        ──────────────────────────────
        a-name…o-long  1.5 ms  same
        b\u{1b}         12 ms  slower
        ");
        assert!(written(1).contains('…'));
    }
}
