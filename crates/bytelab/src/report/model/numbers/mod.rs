//! The table of `bytelab numbers`: a line per row, in units that fit it, with published figures.

mod column;
pub(crate) mod notes;
mod row;

use lab::run::Run;

use super::table::Table;
use super::units::amount;
use crate::numbers::Row;

pub(crate) use self::column::{COLUMNS, Column, FOR_MARKDOWN, LAYOUTS, table};
pub(crate) use self::row::{Number, numbers};

pub(crate) fn legend(columns: &[Column]) -> String {
    columns.iter().filter_map(|column| column.legend()).collect::<Vec<&str>>().join(" ")
}

/// The table with the columns of the Markdown version.
pub(crate) fn whole(run: &Run) -> Table {
    table(&numbers(run), FOR_MARKDOWN)
}

/// The answer in one sentence, and what reduces the grades.
pub(crate) fn answers(run: &Run) -> Vec<String> {
    let numbers = numbers(run);
    std::iter::once(answer(&numbers)).chain(notes::own(run, &numbers)).collect()
}

/// From the smallest to the largest value.
fn answer(numbers: &[Number]) -> String {
    let measured = numbers.iter().filter_map(|number| {
        let figures = number.figures.as_ref().ok()?;
        Some((number.row.title, figures.p50))
    });
    let mut measured: Vec<(&str, f64)> = measured.collect();
    measured.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(least), Some(most)) = (measured.first(), measured.last()) else {
        return "Nothing was measured.".to_owned();
    };
    let [from, to] = [least, most].map(|(title, p50)| format!("{} ({title})", amount("ns", *p50)));
    format!("{} operations, from {from} to {to}.", measured.len())
}

/// The p50 of each measured row, and the number of its samples.
pub(crate) fn p50s(run: &Run) -> Vec<(&'static Row, f64, usize)> {
    let numbers = numbers(run).into_iter();
    numbers.filter_map(|n| n.figures.ok().map(|figures| (n.row, figures.p50, figures.n))).collect()
}
