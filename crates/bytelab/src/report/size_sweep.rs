//! The latency of memory by the size of the set: a line per size instead of a table per size, and
//! its plateaus.

use lab::analyze::size_sweep::{self, Column, Level, SizeSweep, announced, levels};
use lab::param::{Point, bytes};
use lab::run::Run;

use super::page::{Page, Style};
use super::table::{self, Table};
use super::text_table::{self, Head};
use super::units::{NONE, ns};
use super::view::{View, view};

/// Whether the point is shown in a sweep, so that it needs no table.
pub(super) fn holds(run: &Run, point: &Point) -> bool {
    view(run) == View::SizeSweep && size_sweep::holds(run, point)
}

fn of_run(run: &Run) -> Option<SizeSweep<'_>> {
    if view(run) == View::SizeSweep { size_sweep::size_sweep(run) } else { None }
}

pub(super) fn write(page: &mut Page, run: &Run) {
    let Some(SizeSweep { sizes, columns }) = of_run(run) else { return };
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
    text_table::write(page, &table, Head::Styled(Style::Bold));
    for column in columns.iter().filter(|column| column.method == "random") {
        page.blank();
        for line in lines(column, &sizes, &announced(run)) {
            page.hanging(&format!("{} pages: ", column.pages), &line);
        }
    }
}

/// The plateaus, one sentence for each kind of pages; none if the run has no sweep.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let Some(SizeSweep { sizes, columns }) = of_run(run) else { return Vec::new() };
    let random = columns.iter().filter(|column| column.method == "random");
    let sentence = |column: &Column<'_>| {
        format!("{} pages: {}.", column.pages, lines(column, &sizes, &announced(run)).join(", "))
    };
    random.map(sentence).collect()
}

/// A line for each level that was detected, and for each cache that the system reports and that was
/// not detected.
fn lines(column: &Column<'_>, sizes: &[u64], caches: &[(&'static str, u64)]) -> Vec<String> {
    let (found, missing) = levels(column, sizes, caches);
    let found = found.into_iter().map(|found| {
        let name = match found.level {
            Level::Cache(name) => name,
            Level::Memory => "memory",
            Level::Unannounced => "a level that is not announced",
        };
        format!("{name} {} ({} to {})", ns(found.ns), bytes(found.from), bytes(found.to))
    });
    let missing = missing.into_iter().map(|(name, size)| {
        format!("{name}: no plateau seen, though {} are announced", bytes(size))
    });
    found.chain(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ns: &[f64], caches: &[(&'static str, u64)], expected: &[&str]) {
        let sizes: Vec<u64> = (0..ns.len()).map(|i| 4096 << i).collect();
        let ns = ns.iter().copied().map(Some).collect();
        let column = Column { method: "random", pages: "huge", ns };
        assert_eq!(lines(&column, &sizes, caches), expected);
    }

    #[test]
    fn plateaus_are_named_after_the_announced_caches() {
        let ladder = [1.2, 1.2, 1.2, 1.2, 3.8, 3.8, 3.8, 9.0, 30.0, 60.0, 110.0, 111.0, 110.0];
        check(
            &ladder,
            &[("L1", 32 << 10), ("L2", 512 << 10), ("L3", 2 << 20)],
            &[
                "L1 1.2 ns (4KiB to 32KiB)",
                "L2 3.8 ns (64KiB to 256KiB)",
                "memory 110 ns (4MiB to 16MiB)",
                "L3: no plateau seen, though 2MiB are announced",
            ],
        );
        check(
            &ladder,
            &[],
            &[
                "a level that is not announced 1.2 ns (4KiB to 32KiB)",
                "a level that is not announced 3.8 ns (64KiB to 256KiB)",
                "memory 110 ns (4MiB to 16MiB)",
            ],
        );
    }
}
