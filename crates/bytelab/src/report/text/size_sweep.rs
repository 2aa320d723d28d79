//! The latency of memory by the size of the set: a line per size instead of a table per size, and
//! its plateaus.

use lab::analyze::size_sweep::{Column, SizeSweep, announced};
use lab::param::bytes;
use lab::run::Run;

use super::grid::{self, Head};
use super::page::Page;
use crate::report::model::sweep;
use crate::report::model::table::{self, Style, Table};
use crate::report::model::units::NONE;

pub(crate) fn write(page: &mut Page, run: &Run) {
    let Some(SizeSweep { sizes, columns }) = sweep::size_sweep_of(run) else { return };
    page.blank();
    page.line(&[(Style::Bold, "ns per load, p10 of all samples, by the size of the set")]);
    let of = |heading: &str, unit: &str, width_min| table::Column {
        gap: 0,
        width_min,
        ..table::Column::right(heading).unit(unit)
    };
    let methods = columns.iter().map(|column| of(column.method, column.pages, 11));
    let mut table = Table::new(std::iter::once(of("", "", 8)).chain(methods).collect());
    for (at, size) in sizes.iter().enumerate() {
        let cell = |column: &Column<'_>| match column.ns[at] {
            Some(ns) if ns < 100.0 => format!("{ns:.2}"),
            Some(ns) => format!("{ns:.0}"),
            None => NONE.to_owned(),
        };
        table.row(Style::Plain, std::iter::once(bytes(*size)).chain(columns.iter().map(cell)));
    }
    grid::write(page, &table, Head::Styled(Style::Bold));
    for column in columns.iter().filter(|column| column.method == "random") {
        page.blank();
        for line in sweep::plateau_lines(column, &sizes, &announced(run)) {
            page.hanging(&format!("{} pages: ", column.pages), &line);
        }
    }
}
