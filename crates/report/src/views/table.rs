//! Tables as data. The folders of the kinds of text have a renderer each.

use std::ops::Range;

use analysis::Verdict;

use super::units::NONE;

/// How a line or a part of it stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
}

/// How the headings of a table are written, in text.
#[derive(Clone, Copy)]
pub(crate) enum HeadingStyle {
    /// In bold, above a rule.
    Ruled,
    Styled(Style),
}

/// Cells and the columns that they belong to.
#[derive(Clone)]
pub struct Table {
    pub columns: Vec<TableColumn>,
    pub rows: Vec<TableRow>,
    /// Its name in a page of HTML; empty if it needs none.
    pub(crate) id: &'static str,
    /// If it may be shown in several parts, in text: how many columns after the first one stay
    /// together.
    pub(crate) splits_every: Option<usize>,
}

#[derive(Clone)]
pub struct TableColumn {
    /// One element per line; all columns of a table have the same number. The second one is the
    /// unit.
    pub heading: Vec<String>,
    pub is_left: bool,
    /// The number of spaces before it, in text.
    pub gap: usize,
    /// The smallest width, in text.
    pub(crate) width_min: usize,
    pub(crate) too_wide: TooWide,
}

/// A column with its cells.
pub(crate) type ColumnWithCells = (TableColumn, Vec<TableCell>);

/// How a column becomes narrower, in text, if the table is wider than the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooWide {
    Stay,
    /// The middle of its cells is left out.
    Shorten,
    /// Its cells become several lines.
    Wrap,
    /// Its cells become two lines at most.
    Cut,
}

#[derive(Clone)]
pub struct TableRow {
    pub cells: Vec<TableCell>,
    pub style: Style,
    /// Whether a rule separates it from the row above it.
    pub(crate) is_ruled: bool,
    /// Whether its first cell is a title of the rows below it, as wide as the page.
    pub(crate) is_title: bool,
}

#[derive(Clone)]
pub struct TableCell {
    pub text: String,
    /// The value by which a reader may sort the rows.
    pub key: Option<f64>,
    pub kind: CellKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellKind {
    Text,
    /// A name or a command, which markup shows as it is typed.
    Code,
    Number,
    Verdict(RowRole),
}

/// Narrower names cannot be recognized.
pub(crate) const NAME_MIN: usize = 8;

impl Table {
    pub fn new(columns: Vec<TableColumn>) -> Table {
        Table { columns, rows: Vec::new(), id: "", splits_every: None }
    }

    /// Its first column, and these.
    pub(crate) fn with_columns(&self, range: Range<usize>) -> Table {
        let cells = |row: &TableRow| TableRow { cells: first_and(&row.cells, &range), ..*row };
        Table {
            columns: first_and(&self.columns, &range),
            rows: self.rows.iter().map(cells).collect(),
            ..*self
        }
    }

    /// The first column contains names, which are shortened if need be, the others are aligned to
    /// the right, except the last one if it is a word.
    pub fn plain(headings: &[&str], last_is_word: bool) -> Table {
        let last = headings.len().saturating_sub(1);
        let column = |(at, text): (usize, &&str)| match at {
            0 => {
                let too_wide = TooWide::Shorten;
                TableColumn { gap: 0, width_min: NAME_MIN, too_wide, ..TableColumn::left(text) }
            }
            at if at == last && last_is_word => TableColumn::left(text),
            _ => TableColumn::right(text),
        };
        Table::new(headings.iter().enumerate().map(column).collect())
    }

    /// All columns have the same number of cells.
    pub(crate) fn of_columns(columns: Vec<ColumnWithCells>) -> Table {
        let (columns, cells): (Vec<TableColumn>, Vec<Vec<TableCell>>) = columns.into_iter().unzip();
        let mut cells: Vec<_> = cells.into_iter().map(Vec::into_iter).collect();
        let mut table = Table::new(columns);
        let rows = cells.first().map_or(0, ExactSizeIterator::len);
        for _ in 0..rows {
            table.row(Style::Plain, cells.iter_mut().filter_map(Iterator::next));
        }
        table
    }

    pub fn row(
        &mut self,
        style: Style,
        cells: impl IntoIterator<Item = impl Into<TableCell>>,
    ) -> &mut TableRow {
        let cells = cells.into_iter().map(Into::into).collect();
        let at = self.rows.len();
        self.rows.push(TableRow { cells, style, is_ruled: false, is_title: false });
        &mut self.rows[at]
    }
}

fn first_and<T: Clone>(all: &[T], range: &Range<usize>) -> Vec<T> {
    all.iter().take(1).chain(&all[range.clone()]).cloned().collect()
}

impl TableColumn {
    pub fn left(heading: &str) -> TableColumn {
        let heading = vec![heading.to_owned()];
        TableColumn { heading, is_left: true, gap: 2, width_min: 0, too_wide: TooWide::Stay }
    }

    pub fn right(heading: &str) -> TableColumn {
        TableColumn { is_left: false, ..TableColumn::left(heading) }
    }

    /// The second line of the heading.
    pub fn unit(mut self, unit: &str) -> TableColumn {
        self.heading.push(unit.to_owned());
        self
    }

    /// The column with a cell for each of `rows`.
    pub fn with_cells<T, C: Into<TableCell>>(
        self,
        rows: impl Iterator<Item = T>,
        cell: impl Fn(T) -> C,
    ) -> ColumnWithCells {
        (self, rows.map(|row| cell(row).into()).collect())
    }
}

impl TableCell {
    pub fn number(text: String, key: f64) -> TableCell {
        TableCell { text, key: Some(key).filter(|key| key.is_finite()), kind: CellKind::Number }
    }

    /// A number that is not available.
    pub fn none() -> TableCell {
        TableCell::number(NONE.to_owned(), f64::NAN)
    }
}

impl<T: Into<String>> From<T> for TableCell {
    fn from(text: T) -> TableCell {
        TableCell { text: text.into(), key: None, kind: CellKind::Text }
    }
}

/// The role of a row in its table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowRole {
    Yardstick,
    Reference,
    /// It has no sample that counts, and is shown by the one that warmed it up.
    Estimate,
    /// Its figures cannot be compared: it leaves processes running, or has impossible ones.
    Unusable,
    /// There is a ratio, and no interval: it was measured too few times, or not in rounds.
    NoInterval,
    /// A difference was found, and is not trusted: something else may explain it.
    InDoubt,
    Compared(Verdict),
}

impl RowRole {
    pub fn word(self) -> &'static str {
        match self {
            RowRole::Yardstick => "yardstick",
            RowRole::Reference => "reference",
            RowRole::Estimate => "estimate",
            RowRole::Unusable | RowRole::NoInterval => "no verdict",
            RowRole::InDoubt => "in doubt",
            RowRole::Compared(verdict) => verdict.word(),
        }
    }
}
