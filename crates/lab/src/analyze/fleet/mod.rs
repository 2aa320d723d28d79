//! What runs of many machines say together: the ratio of each method to the reference in each group
//! of runs, all groups pooled, which groups disagree, and which facts go with that.

mod effects;
mod facts;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::Serialize;

use self::effects::{effect, interval};
pub use self::facts::{GROUPS_TESTED, GoesWith};
use super::family::measure;
use super::{ALPHA, Unusable, answers};
use crate::metric::WALL;
use crate::param::Point;
use crate::run::{Cell, Role, Run, Status};
use crate::stats::{self, GroupEffect, RandomEffects};

/// Runs that have something in common, such as their machine.
#[derive(Clone, Debug)]
pub struct RunGroup {
    pub name: String,
    /// There is at least one.
    pub runs: Vec<Run>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Fleet {
    pub points: Vec<FleetPoint>,
}

/// All groups at one point.
#[derive(Clone, Debug, Serialize)]
pub struct FleetPoint {
    pub point: Point,
    /// The metric of the ratios.
    pub metric: &'static str,
    pub reference: String,
    pub methods: Vec<FleetMethod>,
    /// The method with the smallest pooled ratio, or the reference.
    pub best: String,
    pub disagreements: Vec<Disagreement>,
    /// Below [`GROUPS_TESTED`] groups: the facts that all disagreeing groups share and no other
    /// group has.
    pub shared_facts: Vec<String>,
    /// Whether all runs gave the same answer; others read other data.
    pub same_answers: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct FleetMethod {
    pub method: String,
    /// By group, none where it was not measured.
    pub groups: Vec<Option<GroupRatio>>,
    /// None for fewer than two groups with an interval.
    pub pooled: Option<PooledRatio>,
    /// The facts that go with the differences between the groups, the first explains the most.
    pub facts: Vec<GoesWith>,
}

/// method / reference in one group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupRatio {
    pub runs: usize,
    pub ratio: f64,
    /// The 95 % interval; none if the runs and their sessions are too few.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// method / reference over all groups that have an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PooledRatio {
    pub groups: usize,
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// The prediction interval: the ratio of a further group that is measured in the same way.
    pub prediction_low: Option<f64>,
    pub prediction_high: Option<f64>,
    /// The standard deviation of the logs of the true ratios of the groups.
    pub tau: f64,
    pub i_squared: f64,
    /// The p of the test that all groups have the same ratio.
    pub heterogeneity_p: f64,
}

/// A group in which another method is shown to be better than the one that is best over all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    /// Its index.
    pub group: usize,
    pub best: String,
    /// The ratio of the method that is best here to the one that is best over all, with its
    /// interval at the level 1 − 0.05 / (groups × other methods).
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

/// `places` are the params that name where a job is done: they differ between machines.
/// `is_lasting` says which facts are not those of a moment.
pub fn compare_groups(
    groups: &[RunGroup],
    places: &[&str],
    is_lasting: &dyn Fn(&str) -> bool,
) -> Fleet {
    let runs = || groups.iter().flat_map(|group| &group.runs);
    let several = |place: &str, run: &Run| {
        let values: BTreeSet<String> =
            run.points.iter().map(|point| format!("{:?}", point.get(place))).collect();
        values.len() > 1
    };
    let moved: Vec<&str> =
        places.iter().copied().filter(|place| !runs().any(|run| several(place, run))).collect();
    let mut points: Vec<Point> = Vec::new();
    for point in runs().flat_map(|run| &run.points) {
        let point = point.only(|name| !moved.contains(&name));
        if !points.contains(&point) {
            points.push(point);
        }
    }
    let cells: Vec<Vec<Vec<ComparableCell<'_>>>> = groups
        .iter()
        .map(|group| group.runs.iter().map(|run| comparable_cells(run, &moved)).collect())
        .collect();
    let of_runs = groups.iter().map(|group| group.runs.iter().map(|run| &run.environment.facts));
    let of_runs: Vec<Vec<_>> = of_runs.map(Iterator::collect).collect();
    let facts = facts::of_groups(&of_runs, is_lasting);
    let points = points.into_iter().filter_map(|point| at_point(point, &cells, &facts));
    Fleet { points: points.collect() }
}

/// A cell that may be compared, with its point without the places.
struct ComparableCell<'a> {
    cell: &'a Cell,
    point: Point,
}

fn comparable_cells<'a>(run: &'a Run, moved: &[&str]) -> Vec<ComparableCell<'a>> {
    if !run.in_rounds() {
        return Vec::new();
    }
    let fit = |(cell, wrong): &(&Cell, Option<String>)| {
        cell.role == Role::Contender
            && cell.status == Status::Measured
            && wrong.is_none()
            && Unusable::of(cell).is_none()
            && cell.counted(WALL).next().is_some()
    };
    let cells = run.cells.iter().zip(answers::wrong(run)).filter(fit);
    let point = |cell: &Cell| cell.point.only(|name| !moved.contains(&name));
    cells.map(|(cell, _)| ComparableCell { cell, point: point(cell) }).collect()
}

/// The cells of one point, by group and run.
type AtPoint<'a> = Vec<Vec<Vec<&'a Cell>>>;

fn cells_at<'a>(point: &Point, groups: &[Vec<Vec<ComparableCell<'a>>>]) -> AtPoint<'a> {
    let of_run = |run: &Vec<ComparableCell<'a>>| {
        let fit = run.iter().filter(|found| found.point.is_part_of(point));
        fit.map(|found| found.cell).collect()
    };
    groups.iter().map(|group| group.iter().map(of_run).collect()).collect()
}

/// None if no run measured two methods there.
fn at_point(
    point: Point,
    groups: &[Vec<Vec<ComparableCell<'_>>>],
    facts: &[facts::Fact],
) -> Option<FleetPoint> {
    let cells = cells_at(&point, groups);
    let all: Vec<&Cell> = cells.iter().flatten().flatten().copied().collect();
    let metric = measure(&all);
    let mut names: Vec<&str> = Vec::new();
    for cell in &all {
        if !names.contains(&cell.method.as_str()) {
            names.push(&cell.method);
        }
    }
    let (reference, others) = names.split_first()?;
    let of = |method: &str, to: &str| -> Vec<Option<GroupEffect>> {
        cells.iter().map(|runs| effect(runs, [method, to], metric).map(|found| found.1)).collect()
    };
    let methods: Vec<FleetMethod> = others
        .iter()
        .map(|method| {
            let found = cells.iter().map(|runs| effect(runs, [method, reference], metric));
            let found: Vec<Option<(usize, GroupEffect)>> = found.collect();
            let known: Vec<GroupEffect> =
                found.iter().flatten().map(|(_, e)| *e).filter(is_precise).collect();
            let pooled = stats::random_effects(&known, ALPHA).map(|all| PooledRatio::new(&all));
            let estimates = found.iter().map(|e| e.map(|(_, e)| e.estimate));
            FleetMethod {
                method: (*method).to_owned(),
                facts: facts::that_go_with(&estimates.collect::<Vec<_>>(), facts),
                groups: found.into_iter().map(|e| Some(GroupRatio::new(e?))).collect(),
                pooled,
            }
        })
        .filter(|method| method.groups.iter().any(Option::is_some))
        .collect();
    if methods.is_empty() {
        return None;
    }
    let best = best(&methods, reference);
    let disagreements = disagreements(&methods, reference, &best, &of);
    let shared_facts = if groups.len() < GROUPS_TESTED {
        let groups: Vec<usize> = disagreements.iter().map(|found| found.group).collect();
        facts::shared_by(&groups, facts)
    } else {
        Vec::new()
    };
    let answers: BTreeSet<&str> = all.iter().filter_map(|cell| answers::answer(cell)).collect();
    Some(FleetPoint {
        metric,
        reference: (*reference).to_owned(),
        best,
        disagreements,
        shared_facts,
        same_answers: answers.len() <= 1,
        methods,
        point,
    })
}

fn is_precise(effect: &GroupEffect) -> bool {
    effect.degrees > 0.0
}

fn best(methods: &[FleetMethod], reference: &str) -> String {
    let pooled = methods.iter().filter_map(|m| Some((m.pooled.as_ref()?.ratio, &m.method)));
    let first = pooled.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(ratio, _)| *ratio < 1.0);
    first.map_or(reference.to_owned(), |(_, method)| method.clone())
}

fn disagreements(
    methods: &[FleetMethod],
    reference: &str,
    best: &str,
    of: &dyn Fn(&str, &str) -> Vec<Option<GroupEffect>>,
) -> Vec<Disagreement> {
    let groups = methods.first().map_or(0, |method| method.groups.len());
    let alpha = ALPHA / (groups * methods.len()).max(1) as f64;
    let names = methods.iter().map(|method| method.method.as_str()).chain([reference]);
    let others: Vec<(&str, Vec<Option<GroupEffect>>)> =
        names.filter(|name| *name != best).map(|name| (name, of(name, best))).collect();
    let in_group = |group: usize| {
        let known = others.iter().filter_map(|(name, found)| Some((*name, found[group]?)));
        let shown = known.filter_map(|(name, effect)| {
            let (low, high) = interval(&effect, alpha).filter(|(_, high)| *high < 0.0)?;
            Some((name, effect.estimate, low, high))
        });
        let (name, estimate, low, high) = shown.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let [ratio, low, high] = [estimate, low, high].map(f64::exp);
        Some(Disagreement { group, best: name.to_owned(), ratio, low, high })
    };
    (0..groups).filter_map(in_group).collect()
}

impl GroupRatio {
    fn new((runs, effect): (usize, GroupEffect)) -> GroupRatio {
        let bounds = interval(&effect, ALPHA);
        GroupRatio {
            runs,
            ratio: effect.estimate.exp(),
            low: bounds.map(|(low, _)| low.exp()),
            high: bounds.map(|(_, high)| high.exp()),
        }
    }
}

impl PooledRatio {
    fn new(all: &RandomEffects) -> PooledRatio {
        PooledRatio {
            groups: all.groups,
            ratio: all.estimate.exp(),
            low: all.interval.0.exp(),
            high: all.interval.1.exp(),
            prediction_low: all.prediction.map(|(low, _)| low.exp()),
            prediction_high: all.prediction.map(|(_, high)| high.exp()),
            tau: all.tau,
            i_squared: all.i_squared,
            heterogeneity_p: all.heterogeneity_p,
        }
    }
}
