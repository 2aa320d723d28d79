//! A plain table of texts, as wide as its widest cells; if that is too wide, the first column gives.

use unicode_width::UnicodeWidthStr;

use super::page::{Page, Style, clean, shortened};

/// Narrower names tell nothing.
const FIRST_MIN: usize = 8;

/// The first column is on the left, the others are on the right but for the last, if it is a word.
pub(super) struct Grid {
    pub(super) heading: Vec<String>,
    pub(super) rows: Vec<Row>,
    pub(super) last_is_word: bool,
}

pub(super) struct Row {
    pub(super) cells: Vec<String>,
    pub(super) style: Style,
}

impl Grid {
    pub(super) fn new(heading: &[&str], last_is_word: bool) -> Grid {
        let heading = heading.iter().map(|text| (*text).to_owned()).collect();
        Grid { heading, rows: Vec::new(), last_is_word }
    }

    pub(super) fn row(&mut self, style: Style, cells: Vec<String>) {
        let cells = cells.into_iter().map(|cell| clean(&cell).into_owned()).collect();
        self.rows.push(Row { cells, style });
    }

    pub(super) fn write(&self, page: &mut Page) {
        let columns = self.heading.len();
        let all = || std::iter::once(&self.heading).chain(self.rows.iter().map(|row| &row.cells));
        let mut widths: Vec<usize> = (0..columns)
            .map(|at| all().filter_map(|cells| cells.get(at)).map(|c| c.width()).max().unwrap_or(0))
            .collect();
        let total: usize = widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1);
        if let Some(first) = widths.first_mut() {
            *first = first.saturating_sub(total.saturating_sub(page.width())).max(FIRST_MIN);
        }
        let line = |cells: &[String]| {
            let mut line = String::new();
            for (at, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                let cell = if at == 0 { shortened(cell, *width) } else { cell.clone() };
                let fill = " ".repeat(width.saturating_sub(cell.width()));
                let left = at == 0 || self.last_is_word && at + 1 == columns;
                let gap = if at == 0 { "" } else { "  " };
                line += gap;
                line += &if left { cell + &fill } else { fill + &cell };
            }
            line.trim_end().to_owned()
        };
        page.line(&[(Style::Bold, &line(&self.heading))]);
        let rule = widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1);
        page.line(&[(Style::Dim, &"─".repeat(rule))]);
        for row in &self.rows {
            page.line(&[(row.style, &line(&row.cells))]);
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
