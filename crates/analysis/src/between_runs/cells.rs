//! Which cells of the two sides are the same job, and which sides must not be compared at all.

use std::collections::{BTreeSet, HashMap};

use model::metric::METRICS;
use model::param::{ParamValue, Point, bytes};
use model::run::{Role, Run, Status};
use serde::Serialize;

use crate::facts::{CellFacts, RunFacts};
use crate::values::constant;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unmatched {
    pub method: String,
    pub role: Role,
    pub point: Point,
    /// `a` or `b`.
    pub side: &'static str,
    /// Why the other side lacks it, if it was started there.
    pub reason: Option<String>,
}

/// A cell, and the index of its run on its side.
pub(super) type InRun<'a> = (usize, &'a CellFacts<'a>);

/// One method at one point, on both sides.
pub(super) struct Match<'a> {
    pub(super) method: &'a str,
    pub(super) role: Role,
    /// The full point whose cells it is compared with, without the places that differ; if there are
    /// several, the first.
    pub(super) family: Point,
    /// The values of the params that it reads.
    point: Point,
    /// For side a and side b, a cell of each run that measured it.
    pub(super) sides: [Vec<InRun<'a>>; 2],
    /// Why the two are not the same job.
    pub(super) wrong: Option<String>,
    /// Whether its answer was already wrong on side a.
    pub(super) wrong_before: bool,
}

impl<'a> Match<'a> {
    /// Its cell in a run of a side.
    pub(super) fn cell(&self, side: usize, run: usize) -> Option<&'a CellFacts<'a>> {
        self.sides[side].iter().find(|(own, _)| *own == run).map(|(_, cell)| *cell)
    }

    /// Whether it is one of the cells of a full point.
    pub(super) fn is_at(&self, family: &Point) -> bool {
        self.point.is_part_of(family)
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &'a CellFacts<'a>> {
        self.sides.iter().flatten().map(|(_, cell)| *cell)
    }

    /// The value of each side if it is a count that is equal in all of its samples.
    pub(super) fn constant(&self, metric: &str) -> Option<[f64; 2]> {
        let exact = METRICS.iter().any(|known| known.name == metric && known.exact);
        let of = |side: &[InRun<'_>]| constant(side.iter().map(|(_, cell)| *cell), metric);
        exact.then(|| Some([of(&self.sides[0])?, of(&self.sides[1])?]))?
    }
}

/// One method at one point, and the data for it on both sides.
struct MethodOnSides<'a> {
    method: &'a str,
    point: Point,
    sides: [Vec<InRun<'a>>; 2],
}

pub(super) fn matches<'a>(
    a: &'a [RunFacts<'a>],
    b: &'a [RunFacts<'a>],
    places: &[&str],
) -> (Vec<Match<'a>>, Vec<Unmatched>) {
    let moved: Vec<&str> = places.iter().copied().filter(|place| moved(a, b, place)).collect();
    let mut full: Vec<Point> = Vec::new();
    for point in a.iter().chain(b).flat_map(|facts| &facts.run.points) {
        let point = point.only(|name| !moved.contains(&name));
        if !full.contains(&point) {
            full.push(point);
        }
    }
    let (mut matches, mut alone) = (Vec::new(), Vec::new());
    for group in groups(a, b, &moved) {
        let MethodOnSides { method, point, sides } = group;
        let family = full.iter().find(|full| point.is_part_of(full)).unwrap_or(&point).clone();
        let wrong = wrong(&sides);
        let wrong_before = sides[0].iter().any(|(_, cell)| cell.wrong.is_some());
        let measured = |side: &[InRun<'a>]| -> Vec<InRun<'a>> {
            let fit = side.iter().filter(|(_, cell)| {
                cell.stored.status == Status::Measured && !cell.stored.samples.is_empty()
            });
            fit.copied().collect()
        };
        let cells = [measured(&sides[0]), measured(&sides[1])];
        let first = cells.iter().flatten().next();
        let Some(role) = first.map(|(_, cell)| cell.stored.role) else { continue };
        let (side, other) = match (cells[0].first(), cells[1].first()) {
            (Some(_), Some(_)) => {
                let sides = cells;
                matches.push(Match { method, role, family, point, sides, wrong, wrong_before });
                continue;
            }
            (Some(_), None) => ("a", &sides[1]),
            (None, Some(_)) => ("b", &sides[0]),
            (None, None) => continue,
        };
        let reason = other.iter().find_map(|(_, cell)| match &cell.stored.status {
            Status::Skipped(reason) => Some(format!("skipped there: {reason}")),
            Status::Failed(reason) => Some(format!("failed there: {reason}")),
            Status::Measured => None,
        });
        alone.push(Unmatched { method: method.to_owned(), role, point, side, reason });
    }
    (matches, alone)
}

fn groups<'a>(
    a: &'a [RunFacts<'a>],
    b: &'a [RunFacts<'a>],
    moved: &[&str],
) -> Vec<MethodOnSides<'a>> {
    let mut groups: Vec<MethodOnSides<'a>> = Vec::new();
    let mut known: HashMap<(&str, Point), usize> = HashMap::new();
    for (side, runs) in [a, b].into_iter().enumerate() {
        for (run, facts) in runs.iter().enumerate() {
            for cell in &facts.cells {
                let method = cell.stored.method.as_str();
                let point = cell.stored.point.only(|name| !moved.contains(&name));
                let group = *known.entry((method, point.clone())).or_insert_with(|| {
                    let sides = [Vec::new(), Vec::new()];
                    groups.push(MethodOnSides { method, point, sides });
                    groups.len() - 1
                });
                groups[group].sides[side].push((run, cell));
            }
        }
    }
    groups
}

/// Whether each side has a single value of the param, and the two differ.
fn moved(a: &[RunFacts<'_>], b: &[RunFacts<'_>], place: &str) -> bool {
    let values = |runs: &[RunFacts<'_>]| -> BTreeSet<Option<ParamValue>> {
        let points = runs.iter().flat_map(|facts| &facts.run.points);
        points.map(|point| point.get(place).cloned()).collect()
    };
    let (a, b) = (values(a), values(b));
    a.len() == 1 && b.len() == 1 && a != b
}

/// A wrong answer in one of the runs, or answers that differ between runs.
fn wrong(sides: &[Vec<InRun<'_>>; 2]) -> Option<String> {
    let cells = || sides.iter().flatten().map(|(_, cell)| *cell);
    if let Some(reason) = cells().find_map(|cell| cell.wrong.clone()) {
        return Some(reason);
    }
    let answers: BTreeSet<&str> = cells().filter_map(|cell| cell.answers.single()).collect();
    let digests: BTreeSet<&str> =
        cells().filter_map(|cell| cell.stored.digest.as_deref()).collect();
    let mut answers = answers.iter();
    if let (Some(one), Some(other)) = (answers.next(), answers.next()) {
        return Some(format!("the sides gave different answers, {one} and {other}: other data"));
    }
    (digests.len() > 1).then(|| "the sides handed over different bytes: other data".to_owned())
}

/// Why two sides are not the same job, in one line; none if they can be compared.
pub fn refusal(a: &[Run], b: &[Run]) -> Option<String> {
    let runs = || a.iter().chain(b);
    let several = |what: &str, value: fn(&Run) -> String| {
        let values: BTreeSet<String> = runs().map(value).collect();
        let values: Vec<String> = values.into_iter().collect();
        (values.len() > 1).then(|| format!("{what}: {}", values.join(" and ")))
    };
    if let Some(text) =
        several("the runs are of different experiments", |run| run.experiment.clone())
    {
        return Some(format!("{text}; only runs of one can be compared"));
    }
    let cache = several("the runs have different cache states", |run| {
        format!("{:?}", run.plan.cache).to_lowercase()
    });
    let fresh = several("the runs take their samples differently", |run| {
        let word = if run.plan.fresh { "each in a fresh process" } else { "in lasting processes" };
        word.to_owned()
    });
    let memory = several("the runs have different limits of memory", |run| {
        run.plan.memory_limit_bytes.map_or("none".to_owned(), bytes)
    });
    let medium = several("the files of the runs are on different media", |run| {
        run.plan.medium.clone().unwrap_or_else(|| "their own".to_owned())
    });
    cache.or(fresh).or(memory).or(medium)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{cell, facts_of, point, run, with};
    use model::run::Cell;

    #[test]
    fn only_a_count_that_is_exact_is_a_constant() {
        let cell = with(cell("a", [2.0; 3]), "syscalls", |_| 7.0);
        let cell = facts_of(&cell);
        let found = Match {
            method: "a",
            role: Role::Contender,
            family: Point::default(),
            point: point(&[("size", 1)]),
            sides: [vec![(0, &cell)], vec![(0, &cell)]],
            wrong: None,
            wrong_before: false,
        };
        assert_eq!(found.constant("syscalls"), Some([7.0, 7.0]));
        assert_eq!(found.constant("wall_ns"), None);
        assert_eq!([1, 2].map(|size| found.is_at(&point(&[("size", size)]))), [true, false]);
    }

    #[test]
    fn a_place_moved_if_each_side_has_one_and_another() {
        let side = |dirs: &[u64]| -> Vec<Run> {
            let of = |dir: &u64| Run { points: vec![point(&[("dir", *dir)])], ..run(Vec::new()) };
            dirs.iter().map(of).collect()
        };
        let of = |a: &[u64], b: &[u64]| {
            let (a, b) = (side(a), side(b));
            let [a, b] = [&a, &b].map(|side| side.iter().map(RunFacts::new).collect::<Vec<_>>());
            moved(&a, &b, "dir")
        };
        assert!(of(&[1, 1], &[2]));
        assert!(!of(&[1], &[1, 1]));
        assert!(!of(&[1, 2], &[3]) && !of(&[1], &[2, 3]) && !of(&[1, 2], &[1, 2]));
    }

    #[test]
    fn sides_that_hand_over_other_bytes_are_other_data() {
        let with_digest = |digest: &str| {
            let digest = Some(digest.to_owned());
            Cell { digest, ..cell("a", [1.0; 3]) }
        };
        let cells = ["d", "d", "e"].map(with_digest);
        let cells = cells.each_ref().map(facts_of);
        let of = |a: usize, b: usize| wrong(&[a, b].map(|at| vec![(0, &cells[at])]));
        assert_eq!(of(0, 1), None);
        let reason = "the sides handed over different bytes: other data";
        assert_eq!(of(0, 2).as_deref(), Some(reason));
    }
}
