//! The latency of memory by the size of the set, and its plateaus.

use lab::analyze::size_sweep::{self, Column, Level, SizeSweep, announced, levels};
use lab::param::{Point, bytes};
use lab::run::Run;

use super::units::ns;
use super::view::{View, view};

/// Whether the point is shown in a sweep, so that it needs no table.
pub(crate) fn holds(run: &Run, point: &Point) -> bool {
    view(run) == View::SizeSweep && size_sweep::holds(run, point)
}

pub(crate) fn of_run(run: &Run) -> Option<SizeSweep<'_>> {
    if view(run) == View::SizeSweep { size_sweep::size_sweep(run) } else { None }
}

/// The plateaus, one sentence for each kind of pages; none if the run has no sweep.
pub(crate) fn sentences(run: &Run) -> Vec<String> {
    let Some(SizeSweep { sizes, columns }) = of_run(run) else { return Vec::new() };
    let random = columns.iter().filter(|column| column.method == "random");
    let sentence = |column: &Column<'_>| {
        format!("{} pages: {}.", column.pages, lines(column, &sizes, &announced(run)).join(", "))
    };
    random.map(sentence).collect()
}

/// A line for each level that was detected, and for each cache that the system reports and that was
/// not detected.
pub(crate) fn lines(
    column: &Column<'_>,
    sizes: &[u64],
    caches: &[(&'static str, u64)],
) -> Vec<String> {
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
