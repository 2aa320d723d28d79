//! What runs of many machines say together: the ratio of each method to the reference in each group
//! of runs, all groups pooled, which groups disagree, and which facts go with that.

use std::collections::{BTreeMap, BTreeSet};

use model::facts::Facts;
use model::param::Point;
use model::random::SplitMix64;
use model::run::{Run, Status};
use serde::Serialize;
use serde_json::Value;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::analysis::ALPHA;
use super::compare::relative;
use super::facts::{CellFacts, RunFacts};
use super::family::measure;
use super::values::mean;
use crate::stats::{self, GroupEffect, RUNS_A_SIDE, RandomEffects, SESSIONS_NEEDED, moments};

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
    pub facts: Vec<CorrelatedFacts>,
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
    pub(crate) heterogeneity_p: f64,
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
    let analyzed: Vec<Vec<RunFacts<'_>>> =
        groups.iter().map(|group| group.runs.iter().map(RunFacts::new).collect()).collect();
    let cells: Vec<Vec<Vec<ComparableCell<'_>>>> = analyzed
        .iter()
        .map(|group| group.iter().map(|facts| comparable_cells(facts, &moved)).collect())
        .collect();
    let of_runs = groups.iter().map(|group| group.runs.iter().map(|run| &run.environment.facts));
    let of_runs: Vec<Vec<_>> = of_runs.map(Iterator::collect).collect();
    let facts = facts_of_groups(&of_runs, is_lasting);
    let points = points.into_iter().filter_map(|point| at_point(point, &cells, &facts));
    Fleet { points: points.collect() }
}

/// A cell that may be compared, with its point without the places.
type ComparableCell<'a> = (&'a CellFacts<'a>, Point);

fn comparable_cells<'a>(facts: &'a RunFacts<'a>, moved: &[&str]) -> Vec<ComparableCell<'a>> {
    if !facts.run.in_rounds() {
        return Vec::new();
    }
    let fit =
        |cell: &&CellFacts<'_>| cell.stored.status == Status::Measured && cell.is_comparable();
    let point = |cell: &CellFacts<'_>| cell.stored.point.only(|name| !moved.contains(&name));
    let cells = facts.cells.iter().filter(fit);
    cells.map(|cell| (cell, point(cell))).collect()
}

/// The cells of one point, by group and run.
type CellsByGroup<'a> = Vec<Vec<Vec<&'a CellFacts<'a>>>>;

fn cells_at<'a>(point: &Point, groups: &[Vec<Vec<ComparableCell<'a>>>]) -> CellsByGroup<'a> {
    let of_run = |run: &Vec<ComparableCell<'a>>| {
        let fit = run.iter().filter(|(_, of_cell)| of_cell.is_part_of(point));
        fit.map(|(cell, _)| *cell).collect()
    };
    groups.iter().map(|group| group.iter().map(of_run).collect()).collect()
}

/// None if no run measured two methods there.
fn at_point(
    point: Point,
    groups: &[Vec<Vec<ComparableCell<'_>>>],
    facts: &[Fact],
) -> Option<FleetPoint> {
    let cells = cells_at(&point, groups);
    let all: Vec<&CellFacts<'_>> = cells.iter().flatten().flatten().copied().collect();
    let metric = measure(&all);
    let mut names: Vec<&str> = Vec::new();
    for cell in &all {
        if !names.contains(&cell.stored.method.as_str()) {
            names.push(&cell.stored.method);
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
                facts: facts_that_go_with(&estimates.collect::<Vec<_>>(), facts),
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
        facts_shared_by(&groups, facts)
    } else {
        Vec::new()
    };
    let answers: BTreeSet<&str> = all.iter().filter_map(|cell| cell.answers.single()).collect();
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

// The effect of a method in one group of runs, by one value per run, or by the sessions of few
// runs.

/// The number of runs with both methods, and the mean of the logs of their ratios. From five runs
/// on, each counts as one value. Fewer runs are assumed to differ at least as much as their
/// sessions do; where one of them has fewer than five sessions, the degrees of freedom are 0, and
/// the variance is not known. None if no run has both.
fn effect(
    runs: &[Vec<&CellFacts<'_>>],
    methods: [&str; 2],
    metric: &str,
) -> Option<(usize, GroupEffect)> {
    let of_run = |cells: &Vec<&CellFacts<'_>>| {
        let [cell, to] = methods.map(|name| cells.iter().find(|cell| cell.stored.method == name));
        relative(cell?, to?, metric).ok()
    };
    let sessions: Vec<Vec<f64>> = runs.iter().filter_map(of_run).collect();
    let values: Vec<f64> = sessions.iter().map(|sessions| mean(sessions)).collect();
    let n = values.len();
    let all = moments(&values)?;
    let between = all.standard_deviation.unwrap_or_default().powi(2);
    let (variance, degrees) = if n >= RUNS_A_SIDE {
        (between, n as f64 - 1.0)
    } else if sessions.iter().all(|sessions| sessions.len() >= SESSIONS_NEEDED) {
        let within = |sessions: &Vec<f64>| {
            let spread = moments(sessions).and_then(|found| found.standard_deviation);
            spread.unwrap_or_default().powi(2) / sessions.len() as f64
        };
        let within = sessions.iter().map(within).sum::<f64>() / n as f64;
        let degrees: usize = sessions.iter().map(|sessions| sessions.len() - 1).sum();
        (between.max(within), degrees as f64)
    } else {
        (0.0, 0.0)
    };
    Some((n, GroupEffect { estimate: all.mean, variance: variance / n as f64, degrees }))
}

/// Student's interval; none if the variance is not known.
fn interval(effect: &GroupEffect, alpha: f64) -> Option<(f64, f64)> {
    let student = StudentsT::new(0.0, 1.0, effect.degrees).ok()?;
    let half_width = -student.inverse_cdf(alpha / 2.0) * effect.variance.sqrt();
    Some((effect.estimate - half_width, effect.estimate + half_width))
}

// Which facts of the environment go with the differences between groups: a correlation, and no
// cause.

/// Below this number of groups, facts are not tested: there are too few orders of the groups.
pub const GROUPS_TESTED: usize = 8;
const PERMUTATIONS: u32 = 999;
const SEED: u64 = 0xf1ee7;
/// Further facts, which explain less, are not listed.
const LISTED: usize = 5;

/// Facts that divide the groups in the same way.
struct Fact {
    names: Vec<String>,
    /// By group, the number of its value.
    classes: Vec<usize>,
    values: Vec<Value>,
}

/// Facts, and how well they explain the ratios of a method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CorrelatedFacts {
    pub facts: Vec<String>,
    /// The share of the variance between the groups that their values explain, corrected for the
    /// number of values.
    pub explained: f64,
    /// How often the best of all facts explains as much where the ratios are shuffled (Westfall and
    /// Young 1993).
    pub p: f64,
}

/// The lasting facts that all runs of a group share, without those that are equal, or different, in
/// all groups.
fn facts_of_groups(groups: &[Vec<&Facts>], is_lasting: &dyn Fn(&str) -> bool) -> Vec<Fact> {
    let mut names: Vec<&String> = groups.iter().flatten().flat_map(|facts| facts.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut facts: Vec<Fact> = Vec::new();
    for name in names.into_iter().filter(|name| is_lasting(name)) {
        let of_group = |group: &Vec<&Facts>| {
            let mut values = group.iter().map(|facts| facts.get(name));
            let first = values.next().flatten();
            first.filter(|_| values.all(|value| value == first)).cloned().unwrap_or_default()
        };
        let mut values: Vec<Value> = Vec::new();
        let mut classes = Vec::new();
        for value in groups.iter().map(of_group) {
            let class = values.iter().position(|known| *known == value);
            classes.push(class.unwrap_or(values.len()));
            if class.is_none() {
                values.push(value);
            }
        }
        if values.len() < 2 || values.len() == groups.len() && groups.len() > 2 {
            continue;
        }
        match facts.iter_mut().find(|fact| fact.classes == classes) {
            Some(fact) => fact.names.push(name.clone()),
            None => facts.push(Fact { names: vec![name.clone()], classes, values }),
        }
    }
    facts
}

/// By how much they explain, of at least [`GROUPS_TESTED`] groups.
fn facts_that_go_with(logs: &[Option<f64>], facts: &[Fact]) -> Vec<CorrelatedFacts> {
    let known: Vec<usize> = (0..logs.len()).filter(|group| logs[*group].is_some()).collect();
    if known.len() < GROUPS_TESTED {
        return Vec::new();
    }
    let mut values: Vec<f64> = logs.iter().flatten().copied().collect();
    let classes: Vec<Vec<usize>> =
        facts.iter().map(|fact| known.iter().map(|group| fact.classes[*group]).collect()).collect();
    let explained: Vec<f64> = classes.iter().map(|classes| share(&values, classes)).collect();
    let mut as_large = vec![1; facts.len()];
    let mut random = SplitMix64(SEED);
    for _ in 0..PERMUTATIONS {
        random.shuffle(&mut values);
        let most = classes.iter().map(|classes| share(&values, classes)).fold(0.0, f64::max);
        for (count, own) in as_large.iter_mut().zip(&explained) {
            *count += u32::from(most >= *own);
        }
    }
    let p = as_large.into_iter().map(|count| f64::from(count) / f64::from(PERMUTATIONS + 1));
    let all = facts.iter().zip(explained).zip(p).filter(|((_, explained), _)| *explained > 0.0);
    let mut all: Vec<CorrelatedFacts> = all
        .map(|((fact, explained), p)| CorrelatedFacts { facts: fact.names.clone(), explained, p })
        .collect();
    all.sort_by(|a, b| b.explained.total_cmp(&a.explained));
    all.truncate(LISTED);
    all
}

/// The adjusted coefficient of determination of one mean per class; 0 where it is not above 0.
fn share(values: &[f64], classes: &[usize]) -> f64 {
    let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (value, class) in values.iter().zip(classes) {
        let (n, sum) = sums.entry(*class).or_default();
        (*n, *sum) = (*n + 1.0, *sum + value);
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let between: f64 = sums.values().map(|(n, sum)| n * (sum / n - mean).powi(2)).sum();
    let left = n - sums.len() as f64;
    if total <= 0.0 || left <= 0.0 {
        return 0.0;
    }
    (1.0 - (1.0 - between / total) * (n - 1.0) / left).max(0.0)
}

/// The facts that all of these groups share and no other group has, with their value.
fn facts_shared_by(groups: &[usize], facts: &[Fact]) -> Vec<String> {
    let is_theirs = |fact: &&Fact| {
        let mut inside = groups.iter().map(|group| fact.classes[*group]);
        let Some(first) = inside.next() else { return false };
        let mut outside = (0..fact.classes.len()).filter(|group| !groups.contains(group));
        inside.all(|class| class == first) && outside.all(|group| fact.classes[group] != first)
    };
    let named = |fact: &Fact| {
        let value = &fact.values[fact.classes[groups[0]]];
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let names = fact.names.iter();
        match fact.names.len() {
            1 => vec![format!("{} = {value}", fact.names[0])],
            _ => names.cloned().collect(),
        }
    };
    facts.iter().filter(is_theirs).flat_map(named).collect()
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod effects_tests {
    use super::*;
    use crate::tests::{cell, close, facts_of};
    use model::metric::WALL;
    use model::run::Cell;

    /// A method with these logs of its times, each in a session of its own, and one beside it whose
    /// logs are 0.
    fn run(logs: &[f64]) -> [Cell; 2] {
        ["new", "old"].map(|name| {
            let is_new = f64::from(u8::from(name == "new"));
            let mut cell = cell(name, logs.iter().map(|log| (is_new * log).exp()));
            for (i, sample) in (0..).zip(&mut cell.samples) {
                (sample.session, sample.round) = (i, 0);
            }
            cell
        })
    }

    fn check(runs: &[[Cell; 2]], expected: (usize, f64, f64, f64)) {
        let runs: Vec<[CellFacts<'_>; 2]> =
            runs.iter().map(|cells| cells.each_ref().map(facts_of)).collect();
        let runs: Vec<Vec<&CellFacts<'_>>> =
            runs.iter().map(|cells| cells.iter().collect()).collect();
        let (n, found) = effect(&runs, ["new", "old"], WALL).unwrap();
        assert_eq!(n, expected.0);
        close(Some(found.estimate), expected.1, 1e-9);
        close(Some(found.variance), expected.2, 1e-9);
        close(Some(found.degrees), expected.3, 1e-9);
    }

    #[test]
    fn from_five_runs_on_each_is_a_value() {
        // The variance of 1 to 5 is 2.5.
        check(&[1.0, 2.0, 3.0, 4.0, 5.0].map(|log| run(&[log])), (5, 3.0, 2.5 / 5.0, 4.0));
    }

    #[test]
    fn fewer_runs_differ_at_least_as_much_as_their_sessions() {
        // The variance of the means of five sessions is 2.5 / 5, that of six 1.2 / 6, on average
        // 0.35. The means of the runs are equal.
        let runs = [run(&[1.0, 2.0, 3.0, 4.0, 5.0]), run(&[2.0, 2.0, 2.0, 4.0, 4.0, 4.0])];
        check(&runs, (2, 3.0, 0.35 / 2.0, 4.0 + 5.0));
        // The sessions do not differ, the means of the runs have a variance of 2.
        check(&[run(&[1.0; 5]), run(&[3.0; 5])], (2, 2.0, 2.0 / 2.0, 4.0 + 4.0));
        // Of one run four sessions are not enough.
        check(&[run(&[1.0; 5]), run(&[3.0; 4])], (2, 2.0, 0.0, 0.0));
    }

    #[test]
    fn the_interval_of_an_effect_is_students() {
        // t(0.975, 4) is 2.776445, and the standard deviation 2.
        let known = GroupEffect { estimate: 1.0, variance: 4.0, degrees: 4.0 };
        let (low, high) = interval(&known, 0.05).unwrap();
        close(Some(low), 1.0 - 2.0 * 2.776_445, 1e-5);
        close(Some(high), 1.0 + 2.0 * 2.776_445, 1e-5);
        assert_eq!(interval(&GroupEffect { degrees: 0.0, ..known }, 0.05), None);
    }
}

#[cfg(test)]
mod facts_tests {
    use super::*;

    fn fact(name: &str, classes: &[usize]) -> Fact {
        let values = ["a", "b"].map(Value::from).to_vec();
        Fact { names: vec![name.to_owned()], classes: classes.to_vec(), values }
    }

    #[test]
    fn the_share_is_the_adjusted_coefficient_of_determination() {
        // By hand: the mean is 3, the squares around it sum to 16; the classes have the means 2 and
        // 4, which explain 3 · 1 + 3 · 1 of it. 1 − (1 − 6/16) · 5/4.
        let of_two = share(&[1.0, 2.0, 3.0, 2.0, 4.0, 6.0], &[0, 0, 0, 1, 1, 1]);
        // Means that are equal explain nothing, and so does a class of its own for each value: here
        // the two sums are of the same squares, but are rounded differently.
        let equal = share(&[1.0, 3.0, 1.0, 3.0], &[0, 0, 1, 1]);
        let large = f64::from(1 << 27);
        let values = [large, -large, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
        let own = share(&values, &[8, 9, 0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((of_two, equal, own), (0.218_75, 0.0, 0.0));
    }

    #[test]
    fn what_all_groups_share_and_what_differs_in_all_of_three_divides_none() {
        let facts = |values: &[(&str, &str)]| -> Facts {
            values.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect()
        };
        let of = |groups: &[Facts]| -> Vec<(Vec<String>, Vec<usize>)> {
            let groups: Vec<Vec<&Facts>> = groups.iter().map(|facts| vec![facts]).collect();
            let found = facts_of_groups(&groups, &|_| true).into_iter();
            found.map(|fact| (fact.names, fact.classes)).collect()
        };
        let one = facts(&[("cpu", "x"), ("kind", "p"), ("os", "l")]);
        let two = facts(&[("cpu", "y"), ("kind", "p"), ("os", "l")]);
        let three = facts(&[("cpu", "z"), ("kind", "q"), ("os", "l")]);
        assert_eq!(of(&[one.clone(), two.clone()]), [(vec!["cpu".to_owned()], vec![0, 1])]);
        assert_eq!(of(&[one, two, three]), [(vec!["kind".to_owned()], vec![0, 0, 1])]);
    }

    #[test]
    fn facts_are_tested_from_eight_groups_on() {
        let logs = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0].map(Some);
        let facts = [fact("cpu", &[0, 0, 0, 0, 1, 1, 1, 1])];
        let found = facts_that_go_with(&logs, &facts);
        assert_eq!((found.len(), found[0].explained), (1, 1.0));
        let mut seven = logs;
        seven[3] = None;
        assert!(facts_that_go_with(&seven, &facts).is_empty());
    }

    #[test]
    fn what_no_other_order_explains_as_well_has_the_smallest_p() {
        let logs: Vec<Option<f64>> = (0..24).map(|i| Some(f64::from(i / 12))).collect();
        let half: Vec<usize> = (0..24).map(|i| i / 12).collect();
        let alternating: Vec<usize> = (0..24).map(|i| i % 2).collect();
        let found = facts_that_go_with(&logs, &[fact("cpu", &half), fact("os", &alternating)]);
        // Of 2.7 million ways to divide the groups two are as good: the order itself is the only
        // one of a thousand.
        let expected = CorrelatedFacts { facts: vec!["cpu".to_owned()], explained: 1.0, p: 0.001 };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn a_fact_is_shared_if_all_of_the_groups_and_no_other_have_it() {
        let facts = [fact("cpu", &[0, 0, 1]), fact("os", &[0, 1, 1]), fact("kind", &[1, 1, 1])];
        assert_eq!(facts_shared_by(&[0, 1], &facts), ["cpu = a"]);
        assert_eq!(facts_shared_by(&[0], &facts), ["os = a"]);
    }
}
