//! The latency of memory over the size of the set: a line per size instead of a table per size, and the
//! plateaus in it, named after the caches that the system announces.

use lab::param::{Point, Value, bytes};
use lab::run::{Cell, Run};
use lab::stats::{Plateau, plateaus};

use super::page::{Page, Style};
use super::units::{NONE, ns};
use super::view::{View, view};

/// Fewer sizes are no ladder.
const LEAST_SIZES: usize = 6;

/// Whether the point is shown in a ladder, so that it needs no table.
pub(super) fn holds(run: &Run, point: &Point) -> bool {
    is_rung(run, point) && sizes(run).len() >= LEAST_SIZES
}

fn is_rung(run: &Run, point: &Point) -> bool {
    let latency = Value::from("latency");
    view(run) == View::SizeSweep
        && point.get("job") == Some(&latency)
        && point.get("size").is_some()
}

fn sizes(run: &Run) -> Vec<u64> {
    let rungs = run.points.iter().filter(|point| is_rung(run, point));
    let mut sizes: Vec<u64> = rungs.filter_map(|point| point.number("size").ok()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// One column of the ladder: a method in one kind of pages.
struct Column<'a> {
    method: &'a str,
    pages: &'a str,
    /// By size: the 10th percentile.
    ns: Vec<Option<f64>>,
}

pub(super) fn write(page: &mut Page, run: &Run) {
    let sizes = sizes(run);
    if sizes.len() < LEAST_SIZES {
        return;
    }
    let columns = columns(run, &sizes);
    page.blank();
    page.line(&[(Style::Bold, "ns per load, p10 of all samples, by the size of the set")]);
    let line = |size: &str, cells: &mut dyn Iterator<Item = String>| {
        cells.fold(format!("{size:>8}"), |line, cell| format!("{line}{cell:>11}"))
    };
    let head = line("", &mut columns.iter().map(|column| column.method.to_owned()));
    page.line(&[(Style::Bold, &head)]);
    let head = line("", &mut columns.iter().map(|column| column.pages.to_owned()));
    page.line(&[(Style::Bold, &head)]);
    for (at, size) in sizes.iter().enumerate() {
        let cell = |column: &Column<'_>| match column.ns[at] {
            Some(ns) if ns < 100.0 => format!("{ns:.2}"),
            Some(ns) => format!("{ns:.0}"),
            None => NONE.to_owned(),
        };
        page.line(&[(Style::Plain, &line(&bytes(*size), &mut columns.iter().map(cell)))]);
    }
    for column in columns.iter().filter(|column| column.method == "random") {
        page.blank();
        for line in levels(column, &sizes, &announced(run)) {
            page.hanging(&format!("{} pages: ", column.pages), &line);
        }
    }
}

/// The plateaus, a sentence for each kind of pages; none where the run holds no ladder.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let sizes = sizes(run);
    if sizes.len() < LEAST_SIZES {
        return Vec::new();
    }
    let columns = columns(run, &sizes);
    let random = columns.iter().filter(|column| column.method == "random");
    let sentence = |column: &Column<'_>| {
        format!("{} pages: {}.", column.pages, levels(column, &sizes, &announced(run)).join(", "))
    };
    random.map(sentence).collect()
}

fn columns<'a>(run: &'a Run, sizes: &[u64]) -> Vec<Column<'a>> {
    let mut columns: Vec<Column<'a>> = Vec::new();
    for cell in run.cells.iter().filter(|cell| is_rung(run, &cell.point)) {
        let pages = cell.point.text("pages").unwrap_or_default();
        let method = cell.method.as_str();
        let known = columns.iter().position(|c| c.method == method && c.pages == pages);
        let column = known.unwrap_or_else(|| {
            columns.push(Column { method, pages, ns: vec![None; sizes.len()] });
            columns.len() - 1
        });
        let size = cell.point.number("size").ok();
        if let Some(at) = size.and_then(|size| sizes.iter().position(|known| *known == size)) {
            columns[column].ns[at] = p10(cell);
        }
    }
    columns
}

fn p10(cell: &Cell) -> Option<f64> {
    let mut walls: Vec<f64> = cell.counted("wall_ns").map(|(_, ns)| ns).collect();
    walls.sort_unstable_by(f64::total_cmp);
    let at = walls.len().div_ceil(10).checked_sub(1)?;
    walls.get(at).copied().filter(|_| cell.has_figures())
}

/// Level and size of the data caches.
pub(super) fn announced(run: &Run) -> Vec<(&'static str, u64)> {
    let names = [("L1", "l1d"), ("L2", "l2"), ("L3", "l3")];
    let size = |fact: &str| {
        let bytes = run.environment.facts.get(&format!("cache_{fact}_bytes"))?.as_u64()?;
        (bytes > 0).then_some(bytes)
    };
    names.iter().filter_map(|(name, fact)| Some((*name, size(fact)?))).collect()
}

/// A plateau has a level's name if its end lies between a quarter of that level's size and 1.2 times it;
/// and it is memory's if it begins beyond all caches.
fn levels(column: &Column<'_>, sizes: &[u64], caches: &[(&str, u64)]) -> Vec<String> {
    let measured: Vec<(u64, f64)> =
        sizes.iter().zip(&column.ns).filter_map(|(size, ns)| Some((*size, (*ns)?))).collect();
    let values: Vec<f64> = measured.iter().map(|(_, ns)| *ns).collect();
    let mut seen: Vec<&str> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for plateau in plateaus(&values) {
        let Plateau { first, last, value } = plateau;
        let (from, to) = (measured[first].0, measured[last].0);
        let range = |bytes: u64| bytes / 4..=bytes + bytes / 5;
        let level =
            caches.iter().find(|(name, size)| !seen.contains(name) && range(*size).contains(&to));
        let beyond = caches.iter().all(|(_, size)| from > *size) && last + 1 == measured.len();
        let name = match level {
            Some((name, _)) => name,
            None if beyond => "memory",
            None => "a level that is not announced",
        };
        seen.extend(level.map(|(name, _)| *name));
        lines.push(format!("{name} {} ({} to {})", ns(value), bytes(from), bytes(to)));
    }
    let missing = caches.iter().filter(|(name, _)| !seen.contains(name));
    lines.extend(missing.map(|(name, size)| {
        format!("{name}: no plateau seen, though {} are announced", bytes(*size))
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ns: &[f64], caches: &[(&str, u64)], expected: &[&str]) {
        let sizes: Vec<u64> = (0..ns.len()).map(|i| 4096 << i).collect();
        let ns = ns.iter().copied().map(Some).collect();
        let column = Column { method: "random", pages: "huge", ns };
        assert_eq!(levels(&column, &sizes, caches), expected);
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
