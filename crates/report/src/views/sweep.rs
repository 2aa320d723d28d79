//! Sweeps: the values of a param at which the same methods were measured, as one table of methods
//! and values instead of a table for each value; and the latency of memory by the size of the set.

use analysis::size_sweep::{self, Level, SizeSweep, SweepColumn, announced, levels};
use model::param::{Point, bytes};
use model::run::Run;

use super::rows::Rows;
use super::units::{self, ns};
use super::{VaryingParams, View, view};

pub(crate) enum PointOrSweep<'r, 'a> {
    /// A point that has a table of its own.
    Point(&'r Rows<'a>),
    Sweep(Sweep<'r, 'a>),
}

pub(crate) struct Sweep<'r, 'a> {
    /// The param that varies.
    pub param: &'r str,
    /// The values of the other params that vary in the run; empty if there are none.
    pub title: String,
    /// One for each value.
    pub points: Vec<&'r Rows<'a>>,
}

impl<'a> Sweep<'_, 'a> {
    /// The value of one of its points.
    pub(crate) fn value(&self, rows: &Rows<'_>) -> String {
        let shown = units::point(&rows.family.point.only(|name| name == self.param));
        shown.split_once('=').map_or(shown.clone(), |(_, value)| value.to_owned())
    }

    /// The names of its methods, in the order of the first point.
    pub(crate) fn methods(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        let contenders = self.points.iter().flat_map(|rows| &rows.contenders);
        let yardsticks = self.points.iter().flat_map(|rows| &rows.yardsticks);
        for row in contenders.chain(yardsticks) {
            if !names.contains(&row.name()) {
                names.push(row.name());
            }
        }
        names
    }
}

/// The tables of a run. Points that differ in one param and compare with the same method are a
/// sweep; if several params vary, the one with the most values is the one of the sweeps.
pub(crate) fn groups<'r, 'a>(
    all: impl IntoIterator<Item = &'r Rows<'a>>,
    varying: &'r VaryingParams<'r>,
) -> Vec<PointOrSweep<'r, 'a>>
where
    'a: 'r,
{
    let all: Vec<&Rows<'a>> = all.into_iter().collect();
    let mut params = varying.names.clone();
    params.sort_by_key(|param| std::cmp::Reverse(number_of_values(&all, param)));
    let by_param = params.into_iter().map(|param| (param, sets(&all, param)));
    let found = by_param.into_iter().find(|(_, sets)| sets.iter().any(|(_, set)| is_sweep(set)));
    let Some((param, sets)) = found else {
        return all.into_iter().map(PointOrSweep::Point).collect();
    };
    let group = |(others, points): (Point, Vec<&'r Rows<'a>>)| {
        if is_sweep(&points) {
            vec![PointOrSweep::Sweep(Sweep { param, title: varying.shown(&others), points })]
        } else {
            points.into_iter().map(PointOrSweep::Point).collect()
        }
    };
    sets.into_iter().flat_map(group).collect()
}

fn number_of_values(all: &[&Rows<'_>], param: &str) -> usize {
    let mut values: Vec<Point> = Vec::new();
    for rows in all {
        let value = rows.family.point.only(|name| name == param);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values.len()
}

/// The points that differ in this param alone, with the values that they have in common.
fn sets<'r, 'a>(all: &[&'r Rows<'a>], param: &str) -> Vec<(Point, Vec<&'r Rows<'a>>)> {
    let mut sets: Vec<(Point, Vec<&Rows<'a>>)> = Vec::new();
    for rows in all {
        let others = rows.family.point.only(|name| name != param);
        match sets.iter_mut().find(|(point, _)| *point == others) {
            Some((_, set)) => set.push(rows),
            None => sets.push((others, vec![rows])),
        }
    }
    sets
}

/// Whether the points compare with the same method. What does another job has another reference.
fn is_sweep(points: &[&Rows<'_>]) -> bool {
    let reference = |rows: &&Rows<'_>| rows.reference().map(|row| row.name().to_owned());
    let first = points.first().and_then(reference);
    points.len() > 1 && first.is_some() && points.iter().all(|rows| reference(rows) == first)
}

// The latency of memory by the size of the set, and its plateaus.

/// Whether the point is shown in a sweep, so that it needs no table.
pub(crate) fn size_sweep_holds(run: &Run, point: &Point) -> bool {
    view(run) == View::SizeSweep && size_sweep::holds(run, point)
}

pub(crate) fn size_sweep_of(run: &Run) -> Option<SizeSweep<'_>> {
    if view(run) == View::SizeSweep { size_sweep::size_sweep(run) } else { None }
}

/// The plateaus, one sentence for each kind of pages; none if the run has no sweep.
pub(crate) fn plateaus(run: &Run) -> Vec<String> {
    let Some(SizeSweep { sizes, columns }) = size_sweep_of(run) else { return Vec::new() };
    let random = columns.iter().filter(|column| column.method == "random");
    let sentence = |column: &SweepColumn<'_>| {
        format!(
            "{} pages: {}.",
            column.pages,
            plateau_lines(column, &sizes, &announced(run)).join(", ")
        )
    };
    random.map(sentence).collect()
}

/// A line for each level that was detected, and for each cache that the system reports and that was
/// not detected.
pub(crate) fn plateau_lines(
    column: &SweepColumn<'_>,
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
        let column = SweepColumn { method: "random", pages: "huge", ns };
        assert_eq!(plateau_lines(&column, &sizes, caches), expected);
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
