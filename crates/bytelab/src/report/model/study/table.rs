//! The table of a study: each row of the author, with the figures of the author's machines and
//! those of here below it.

use lab::metric;

use super::words::small_ratio;
use super::{StudyReport, Whose};
use crate::report::model::rows::heading;
use crate::report::model::table::{Column, Style, Table, TooWide};
use crate::report::model::units::{NONE, Unit, amount};

impl StudyReport<'_> {
    /// The table, and whether it has any ratio. All columns are for wide pages.
    pub(crate) fn table(&self, is_wide: bool) -> (Table, bool) {
        let (blocks, alone) = (self.blocks(), self.alone());
        let all = || {
            let lines = blocks.iter().flat_map(|block| &block.lines).map(|line| &line.figures);
            lines.chain(alone.iter().map(|(_, figures)| figures))
        };
        let columns = &self.study.columns;
        // A column without a figure is left out.
        let has_room = |at: &usize| is_wide || !self.study.wide.contains(&columns[*at]);
        let is_used = |at: &usize| all().any(|figures| figures[*at].is_some());
        let used = (0..columns.len()).filter(has_room).filter(is_used);
        let used: Vec<usize> = used.collect();
        let values = |at: usize| all().filter_map(move |figures| figures[at]);
        let units: Vec<Option<Unit>> = (0..columns.len())
            .map(|at| Unit::common(metric::unit(&columns[at]), values(at)))
            .collect();
        let first = Column { gap: 0, too_wide: TooWide::Wrap, ..Column::left("").unit("") };
        let column = |at: &usize| {
            Column::right(title(&columns[*at])).unit(units[*at].map_or("", |unit| unit.name))
        };
        let last = Column::right("ratio").unit("");
        let heads = used.iter().map(column);
        let mut table = Table::new(std::iter::once(first).chain(heads).chain([last]).collect());
        let cells = |name: String, figures: &[Option<f64>], own: Option<f64>| {
            let figure = |at: &usize| match (figures[*at], units[*at]) {
                (None, _) => NONE.to_owned(),
                (Some(value), Some(unit)) => unit.number(value),
                (Some(value), None) => amount(metric::unit(&columns[*at]), value),
            };
            let own = own.map_or_else(String::new, small_ratio);
            std::iter::once(name).chain(used.iter().map(figure)).chain([own]).collect::<Vec<_>>()
        };
        for block in blocks.iter().filter(|block| !block.lines.is_empty()) {
            table.row(Style::Plain, [block.label]).is_title = true;
            for line in &block.lines {
                let name = format!("  {}", line.whose.name());
                table.row(Style::Plain, cells(name, &line.figures, line.ratio));
            }
        }
        if !alone.is_empty() {
            let row = table.row(Style::Plain, ["in no row of the study"]);
            (row.is_title, row.is_ruled) = (true, true);
            for (name, figures) in &alone {
                table.row(Style::Dim, cells(format!("  here: {name}"), figures, None));
            }
        }
        let has_ratios =
            blocks.iter().flat_map(|block| &block.lines).any(|line| line.ratio.is_some());
        (table, has_ratios)
    }
}

impl Whose<'_> {
    pub(crate) fn name(self) -> String {
        // The rows of `numbers` are all of one method.
        let plain = |method| if method == "row" { "bytelab numbers" } else { method };
        match self {
            Whose::Author(machine) => machine.to_owned(),
            Whose::Same(method) => format!("here: {}", plain(method)),
            Whose::InItsPlace(method) => format!("in its place: {}", plain(method)),
        }
    }
}

pub(super) fn title(name: &str) -> &str {
    match name {
        metric::THROUGHPUT => "",
        name => heading(name),
    }
}
