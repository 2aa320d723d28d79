//! The latency of memory as a function of the size of the data set, and its plateaus, named after
//! the caches that the system reports.

use crate::param::{Point, Value};
use crate::run::{Cell, Run};
use crate::stats::{Plateau, plateaus};

/// Fewer sizes are not a sweep.
const LEAST_SIZES: usize = 6;

/// A run's latencies, by method, kind of pages and size.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeSweep<'a> {
    /// In bytes, in ascending order.
    pub sizes: Vec<u64>,
    pub columns: Vec<Column<'a>>,
}

/// A method with one kind of pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Column<'a> {
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
    let latency = Value::from("latency");
    point.get("job") == Some(&latency) && point.get("size").is_some()
}

fn sizes(run: &Run) -> Vec<u64> {
    let points = run.points.iter().filter(|point| is_of_sweep(point));
    let mut sizes: Vec<u64> = points.filter_map(|point| point.number("size").ok()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn columns<'a>(run: &'a Run, sizes: &[u64]) -> Vec<Column<'a>> {
    let mut columns: Vec<Column<'a>> = Vec::new();
    for cell in run.cells.iter().filter(|cell| is_of_sweep(&cell.point)) {
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
    column: &Column<'_>,
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

    #[test]
    fn plateaus_are_named_after_the_announced_caches() {
        let ladder = [1.2, 1.2, 1.2, 1.2, 3.8, 3.8, 3.8, 9.0, 30.0, 60.0, 110.0, 111.0, 110.0];
        let sizes: Vec<u64> = (0..ladder.len()).map(|i| 4096 << i).collect();
        let ns = ladder.into_iter().map(Some).collect();
        let column = Column { method: "random", pages: "huge", ns };
        let of = |caches: &[(&'static str, u64)]| {
            let (found, missing) = levels(&column, &sizes, caches);
            let found = found.into_iter().map(|found| (found.level, found.from, found.to));
            (found.collect::<Vec<_>>(), missing)
        };
        let [first, second, last] =
            [(4 << 10, 32 << 10), (64 << 10, 256 << 10), (4 << 20, 16 << 20)];
        assert_eq!(
            of(&[("L1", 32 << 10), ("L2", 512 << 10), ("L3", 2 << 20)]),
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
            of(&[]),
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
}
