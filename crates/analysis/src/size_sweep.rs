//! The latency of memory as a function of the size of the data set, and its plateaus, named after
//! the caches that the system reports.

use model::param::{ParamValue, Point};
use model::run::{Cell, Run};

use crate::stats::{Plateau, plateaus};

/// Fewer sizes are not a sweep.
const LEAST_SIZES: usize = 6;

/// A run's latencies, by method, kind of pages and size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeSweep<'a> {
    /// In bytes, in ascending order.
    pub sizes: Vec<u64>,
    pub columns: Vec<SweepColumn<'a>>,
}

/// The latencies of a method with one kind of pages.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepColumn<'a> {
    pub method: &'a str,
    pub pages: &'a str,
    /// By size: the 10th percentile.
    pub ns: Vec<Option<f64>>,
}

/// The memory level of a plateau.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Cache(&'static str),
    Memory,
    /// No reported cache ends there.
    Unannounced,
}

/// Sizes of the same latency.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelFound {
    pub level: Level,
    pub ns: f64,
    /// In bytes.
    pub from: u64,
    pub to: u64,
}

/// Whether the point belongs to a sweep of the run.
pub fn holds(run: &Run, point: &Point) -> bool {
    is_of_sweep(point) && sizes(run).len() >= LEAST_SIZES
}

/// None where the run has no sweep.
pub fn size_sweep(run: &Run) -> Option<SizeSweep<'_>> {
    let sizes = sizes(run);
    (sizes.len() >= LEAST_SIZES).then(|| SizeSweep { columns: columns(run, &sizes), sizes })
}

fn is_of_sweep(point: &Point) -> bool {
    let latency = ParamValue::from("latency");
    point.get("job").is_none_or(|job| *job == latency) && point.get("size").is_some()
}

fn sizes(run: &Run) -> Vec<u64> {
    let points = run.points.iter().filter(|point| is_of_sweep(point));
    let mut sizes: Vec<u64> = points.filter_map(|point| point.number("size").ok()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn columns<'a>(run: &'a Run, sizes: &[u64]) -> Vec<SweepColumn<'a>> {
    let mut columns: Vec<SweepColumn<'a>> = Vec::new();
    for cell in run.cells.iter().filter(|cell| is_of_sweep(&cell.point)) {
        let pages = cell.point.text("pages").unwrap_or_default();
        let method = cell.method.as_str();
        let known = columns.iter().position(|c| c.method == method && c.pages == pages);
        let column = known.unwrap_or_else(|| {
            columns.push(SweepColumn { method, pages, ns: vec![None; sizes.len()] });
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
pub fn announced(run: &Run) -> Vec<(&'static str, u64)> {
    let names = [("L1", "l1d"), ("L2", "l2"), ("L3", "l3")];
    let size = |fact: &str| {
        let bytes = run.environment.facts.get(&format!("cache_{fact}_bytes"))?.as_u64()?;
        (bytes > 0).then_some(bytes)
    };
    names.iter().filter_map(|(name, fact)| Some((*name, size(fact)?))).collect()
}

/// The plateaus of a column, and the caches for which none was found. A plateau has a cache's name
/// if its end lies between a quarter of that cache's size and 1.2 times it; it is that of main
/// memory if it begins beyond all caches.
pub fn levels(
    column: &SweepColumn<'_>,
    sizes: &[u64],
    caches: &[(&'static str, u64)],
) -> (Vec<LevelFound>, Vec<(&'static str, u64)>) {
    let measured: Vec<(u64, f64)> =
        sizes.iter().zip(&column.ns).filter_map(|(size, ns)| Some((*size, (*ns)?))).collect();
    let values: Vec<f64> = measured.iter().map(|(_, ns)| *ns).collect();
    let mut found: Vec<LevelFound> = Vec::new();
    for Plateau { first, last, value } in plateaus(&values) {
        let (from, to) = (measured[first].0, measured[last].0);
        let range = |bytes: u64| bytes / 4..=bytes + bytes / 5;
        let ends_here = caches
            .iter()
            .find(|(name, size)| !is_found(&found, name) && range(*size).contains(&to));
        let beyond = caches.iter().all(|(_, size)| from > *size) && last + 1 == measured.len();
        let level = match ends_here {
            Some((name, _)) => Level::Cache(name),
            None if beyond => Level::Memory,
            None => Level::Unannounced,
        };
        found.push(LevelFound { level, ns: value, from, to });
    }
    let missing = caches.iter().filter(|(name, _)| !is_found(&found, name)).copied().collect();
    (found, missing)
}

fn is_found(found: &[LevelFound], cache: &str) -> bool {
    found.iter().any(|found| matches!(found.level, Level::Cache(name) if name == cache))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{cell, run};
    use model::run::Status;

    type Caches = [(&'static str, u64)];
    type Named = Vec<(Level, u64, u64)>;

    /// The levels with their sizes, and what is missing, of plateaus from 4 KiB to 32 KiB, from 64
    /// KiB to 256 KiB, and from 4 MiB to 16 MiB.
    fn named(caches: &Caches) -> (Named, Vec<(&'static str, u64)>) {
        let ladder = [1.2, 1.2, 1.2, 1.2, 3.8, 3.8, 3.8, 9.0, 30.0, 60.0, 110.0, 111.0, 110.0];
        let sizes: Vec<u64> = (0..ladder.len()).map(|i| 4096 << i).collect();
        let ns = ladder.into_iter().map(Some).collect();
        let column = SweepColumn { method: "random", pages: "huge", ns };
        let (found, missing) = levels(&column, &sizes, caches);
        (found.into_iter().map(|found| (found.level, found.from, found.to)).collect(), missing)
    }

    #[test]
    fn plateaus_are_named_after_the_announced_caches() {
        let [first, second, last] =
            [(4 << 10, 32 << 10), (64 << 10, 256 << 10), (4 << 20, 16 << 20)];
        assert_eq!(
            named(&[("L1", 32 << 10), ("L2", 512 << 10), ("L3", 2 << 20)]),
            (
                vec![
                    (Level::Cache("L1"), first.0, first.1),
                    (Level::Cache("L2"), second.0, second.1),
                    (Level::Memory, last.0, last.1),
                ],
                vec![("L3", 2 << 20)],
            )
        );
        assert_eq!(
            named(&[]),
            (
                vec![
                    (Level::Unannounced, first.0, first.1),
                    (Level::Unannounced, second.0, second.1),
                    (Level::Memory, last.0, last.1),
                ],
                Vec::new(),
            )
        );
    }

    #[test]
    fn a_plateau_ends_between_a_quarter_of_its_cache_and_a_fifth_beyond_it() {
        let level = |at: usize, bytes: u64| named(&[("L", bytes)]).0[at].0;
        let cache = Level::Cache("L");
        // The second plateau ends at a quarter of 1 MiB, the first one far below that.
        assert_eq!([0, 1].map(|at| level(at, 1 << 20)), [Level::Unannounced, cache]);
        assert_eq!(level(1, (1 << 20) + 4), Level::Unannounced);
        // The first one ends at 32768; a fifth beyond is 32768 and 32767.
        assert_eq!([27_307, 27_306].map(|bytes| level(0, bytes)), [cache, Level::Unannounced]);
        // The last one begins at 4 MiB, which is not beyond a cache of that size.
        let beyond = [(4 << 20) - 1, 4 << 20].map(|bytes| level(2, bytes));
        assert_eq!(beyond, [Level::Memory, Level::Unannounced]);
    }

    fn at(job: &str, size: Option<u64>) -> Point {
        let mut point = Point::default();
        point.set("job", job);
        if let Some(size) = size {
            point.set("size", size);
        }
        point
    }

    /// Eleven samples, of which the second smallest, the 10th percentile, is 1 more than `ns`.
    fn timed(method: &str, at: Point, pages: &str, ns: u32) -> Cell {
        let mut cell = cell(method, (0..11).rev().map(|more| f64::from(ns + more)));
        cell.point = at;
        cell.point.set("pages", pages);
        cell
    }

    /// A sample of the size 4 takes 400 ns and more.
    fn sweep(sizes: &[u32]) -> Run {
        let point = |size: &u32| at("latency", Some(u64::from(*size)));
        let of = |size: &u32| timed("random", point(size), "huge", 100 * size);
        let mut run = run(sizes.iter().map(of).collect());
        run.points = sizes.iter().map(point).collect();
        run
    }

    #[test]
    fn six_sizes_are_a_sweep() {
        let (point, other) = (at("latency", Some(4)), at("bandwidth", Some(4)));
        let run = sweep(&[4, 2, 1, 3, 2, 5, 6]);
        assert!(holds(&run, &point) && size_sweep(&run).is_some());
        assert!(!holds(&run, &other) && !holds(&run, &at("latency", None)));
        let run = sweep(&[1, 2, 3, 4, 5, 5]);
        assert!(!holds(&run, &point) && size_sweep(&run).is_none());
    }

    #[test]
    fn a_column_is_one_method_with_one_kind_of_pages() {
        let mut run = sweep(&[6, 5, 4, 3, 2, 1]);
        run.cells[3].status = Status::Failed("no".to_owned());
        run.cells.extend([
            timed("random", at("latency", Some(2)), "small", 7),
            timed("chase", at("latency", Some(6)), "huge", 8),
            timed("chase", at("bandwidth", Some(6)), "huge", 9),
        ]);
        run.points.push(at("bandwidth", Some(7)));
        let found = size_sweep(&run).unwrap();
        let column =
            |method, pages, ns: [Option<f64>; 6]| SweepColumn { method, pages, ns: ns.into() };
        let expected = vec![
            column(
                "random",
                "huge",
                [Some(101.0), Some(201.0), None, Some(401.0), Some(501.0), Some(601.0)],
            ),
            column("random", "small", [None, Some(8.0), None, None, None, None]),
            column("chase", "huge", [None, None, None, None, None, Some(9.0)]),
        ];
        assert_eq!((found.sizes, found.columns), (vec![1, 2, 3, 4, 5, 6], expected));
    }

    #[test]
    fn a_cache_without_a_size_is_not_announced() {
        let mut run = run(Vec::new());
        for (cache, bytes) in [("l1d", 32_768), ("l2", 0), ("l3", 1)] {
            run.environment.facts.insert(format!("cache_{cache}_bytes"), bytes.into());
        }
        assert_eq!(announced(&run), [("L1", 32_768), ("L3", 1)]);
    }
}
