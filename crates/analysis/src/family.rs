//! The cells of one point: which cells are compared, with which other cell, by which metric, which
//! methods are best, and which no other one beats.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use model::metric::{CPU, PEAK_RSS, WALL, WALL_LESS_WAIT};
use model::param::Point;
use model::run::{Design, Measure, Pass, Plan, Role, Status};

use super::analysis::{ALPHA, Comparison, Family, Verdict};
use super::compare::Pair;
use super::facts::{CellFacts, RunFacts, SampleKey, VERDICT_METRICS};
use super::parallel::map_each;
use crate::stats::{self, nearest_rank};

/// The tables of a run, with what is known about the best of each.
pub(crate) struct Tables {
    pub families: Vec<Family>,
    pub comparisons: Vec<Comparison>,
    pub best: Vec<Best>,
}

impl Family {
    /// The metric that decides between two of its cells.
    pub(crate) fn metric_between(&self, cells: [usize; 2]) -> &'static str {
        if cells.iter().any(|cell| self.by_wall.contains(cell)) { WALL } else { self.metric }
    }
}

/// A pair of cells that is in several families is compared in the first of them.
pub(crate) fn compare_all(facts: &RunFacts<'_>) -> Tables {
    let mut families = families(facts);
    let mut all_best = Vec::new();
    let mut comparisons: Vec<Comparison> = Vec::new();
    let mut of_pair: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for family in &mut families {
        let table: &Family = family;
        let pairs = pairs(facts, table);
        let cells = |pair: &Pair<'_>| (pair.cell.index, pair.reference.index);
        let new = pairs.iter().copied().filter(|pair| !of_pair.contains_key(&cells(pair)));
        let new: Vec<Pair<'_>> = new.collect();
        let compared = map_each(&new, facts.samples(), |pair| compare(pair, table));
        for (pair, compared) in new.iter().zip(compared) {
            let start = comparisons.len();
            comparisons.extend(compared);
            of_pair.insert(cells(pair), (start..comparisons.len()).collect());
        }
        let own = pairs.iter().flat_map(|pair| &of_pair[&cells(pair)]);
        let own: Vec<usize> = own.copied().collect();
        correct(&mut comparisons, &own);
        let own = own.iter().map(|i| &comparisons[*i]);
        let best = best(facts, family, &own.collect::<Vec<_>>());
        family.best.clone_from(&best.winners);
        family.undecided.clone_from(&best.undecided);
        all_best.push(best);
    }
    Tables { families, comparisons, best: all_best }
}

/// By point, with the measure of each.
pub(crate) fn families(facts: &RunFacts<'_>) -> Vec<Family> {
    let families = facts.run.points.iter().map(|point| family(facts, point));
    let mut families: Vec<Family> = families.collect();
    choose_measures(facts, &mut families);
    families
}

/// The measure by which each point is compared.
pub(crate) fn choose(facts: &RunFacts<'_>) -> Vec<Measure> {
    let name = |cell: &usize| facts.cells[*cell].stored.method.clone();
    let measure = |family: Family| Measure {
        metric: family.metric.to_owned(),
        by_wall: family.by_wall.iter().map(name).collect(),
        why: family.why,
    };
    families(facts).into_iter().map(measure).collect()
}

fn family(facts: &RunFacts<'_>, point: &Point) -> Family {
    let at_point = facts.cells.iter().filter(|cell| cell.stored.point.is_part_of(point));
    let compared = at_point.clone().filter(|cell| cell.is_comparable());
    let compared: Vec<&CellFacts<'_>> = compared.collect();
    // A method that died, or has left, shares few rounds with the others.
    let measured = || compared.iter().filter(|cell| cell.stored.status == Status::Measured);
    let is_fixed = facts.run.plan.design.is_fixed();
    let staying = measured().find(|cell| is_fixed || cell.stays());
    let whole = staying.or_else(|| measured().next()).or(compared.first());
    Family {
        point: point.clone(),
        cells: at_point.map(|cell| cell.index).collect(),
        reference: whole.map(|cell| cell.index),
        metric: WALL,
        compared: compared.iter().map(|cell| cell.index).collect(),
        ..Family::default()
    }
}

/// One measure for a family, and for families that share a cell, because a pair is compared only
/// once.
fn choose_measures(facts: &RunFacts<'_>, families: &mut [Family]) {
    let compared: Vec<Vec<usize>> = families.iter().map(|f| f.compared.clone()).collect();
    let choices = by_group(&compared, |points, cells| choice(facts, families, points, cells));
    for (family, choice) in families.iter_mut().zip(choices) {
        let by_wall = |cell: &&usize| choice.by_wall.contains(&facts.cells[**cell].stored.method);
        family.by_wall = family.compared.iter().filter(by_wall).copied().collect();
        (family.metric, family.why) = (choice.metric, choice.why);
        family.pareto = pareto(facts, &family.compared, family.metric);
    }
}

/// The metric that decides between methods, and why it was chosen.
#[derive(Clone)]
pub(crate) struct MeasureChoice {
    metric: &'static str,
    why: String,
    /// The methods that are compared by wall time all the same.
    by_wall: Vec<String>,
}

impl MeasureChoice {
    fn of_all(metric: &'static str, why: String) -> MeasureChoice {
        MeasureChoice { metric, why, by_wall: Vec::new() }
    }

    /// The metric by which this method is compared.
    pub(crate) fn metric_of(&self, method: &str) -> &'static str {
        if self.by_wall.iter().any(|name| name == method) { WALL } else { self.metric }
    }
}

/// The measure of the families of these points, whose cells are these: the one that the run has
/// stored, or one that is chosen now.
pub(crate) fn choice(
    facts: &RunFacts<'_>,
    families: &[Family],
    points: &[usize],
    cells: &[usize],
) -> MeasureChoice {
    if !facts.run.in_rounds() {
        // What another program measured has no verdict.
        return MeasureChoice::of_all(WALL, String::new());
    }
    let references = points.iter().filter_map(|point| families[*point].reference);
    let references: Vec<&CellFacts<'_>> = references.map(|cell| &facts.cells[cell]).collect();
    let cells: Vec<&CellFacts<'_>> = cells.iter().map(|cell| &facts.cells[*cell]).collect();
    kept(&facts.run.plan, points, &cells, &references)
        .unwrap_or_else(|| chosen(&cells, &references))
}

/// The measure that the run has stored for these points; none for a run that has stored nothing. In
/// a fixed design a method that turned out to lack it is compared by wall time. In a sequential one
/// it decides in any case: another measure after a look would be another test.
fn kept(
    plan: &Plan,
    points: &[usize],
    cells: &[&CellFacts<'_>],
    references: &[&CellFacts<'_>],
) -> Option<MeasureChoice> {
    let mut kept = points.iter().filter_map(|point| plan.measures.get(*point)).peekable();
    let first = (*kept.peek()?).clone();
    let Some(measure) = kept.find(|measure| measure.metric == WALL_LESS_WAIT) else {
        return Some(MeasureChoice::of_all(WALL, first.why));
    };
    let mut by_wall = measure.by_wall.clone();
    if plan.design.is_fixed() {
        let lacks = |cell: &&CellFacts<'_>| !cell.waits.has_time_without;
        if let Some(cell) = references.iter().copied().find(lacks) {
            return Some(MeasureChoice::of_all(WALL, why_not(cell)));
        }
        by_wall.extend(measured(cells).filter(lacks).map(|cell| cell.stored.method.clone()));
    }
    Some(MeasureChoice { metric: WALL_LESS_WAIT, why: measure.why.clone(), by_wall })
}

/// The decision for each of these sets, made from all sets with which it shares an item, directly
/// or indirectly: from the indices of these sets and their items.
pub(crate) fn by_group<T>(sets: &[Vec<usize>], decide: impl Fn(&[usize], &[usize]) -> T) -> Vec<T> {
    let mut group: Vec<usize> = (0..sets.len()).collect();
    let mut of_item: HashMap<usize, usize> = HashMap::new();
    for (i, set) in sets.iter().enumerate() {
        for item in set {
            let (from, to) = (group[i], group[*of_item.entry(*item).or_insert(i)]);
            group.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        }
    }
    let of_group = |of_this: &usize| {
        let all: Vec<usize> = (0..sets.len()).filter(|i| group[*i] == *of_this).collect();
        let items: Vec<usize> = all.iter().flat_map(|i| &sets[*i]).copied().collect();
        decide(&all, &items)
    };
    group.iter().map(of_group).collect()
}

/// The measure by which all of these cells are compared: the time without the wait, where that is
/// the time that each takes alone; else the wall time. A cell without a sample that counts is
/// ignored.
pub(crate) fn measure(cells: &[&CellFacts<'_>]) -> &'static str {
    let all = measured(cells).next().is_some() && lacking(cells).next().is_none();
    if all { WALL_LESS_WAIT } else { WALL }
}

/// The measure of these cells, which follows from what kind of methods they are: the time without
/// the wait, where that is the time that the references and more than half of all cells take
/// alone. The others are compared by wall time.
fn chosen(cells: &[&CellFacts<'_>], references: &[&CellFacts<'_>]) -> MeasureChoice {
    let lack: Vec<&CellFacts<'_>> = lacking(cells).collect();
    let of_reference = lacking(references).next();
    if let Some(cell) = of_reference.or(lack.first().copied())
        && (of_reference.is_some() || 2 * lack.len() >= measured(cells).count())
    {
        return MeasureChoice::of_all(WALL, why_not(cell));
    }
    let by_wall = lack.into_iter().map(|cell| cell.stored.method.clone()).collect();
    let why = "the waits for a CPU are known and taken out".to_owned();
    MeasureChoice { metric: WALL_LESS_WAIT, why, by_wall }
}

fn why_not(cell: &CellFacts<'_>) -> String {
    let method = &cell.stored.method;
    if cell.waits.has_time_without {
        return format!("{method} also waits for something else than a CPU");
    }
    format!("{method} has no known time without its waits for a CPU")
}

/// Whether the time without the wait is known for all of these cells that have samples that count.
pub(crate) fn all_have_it(cells: &[&CellFacts<'_>]) -> bool {
    measured(cells).all(|cell| cell.waits.has_time_without)
}

/// Those of these cells for which the time without the wait is not known, or not the time that they
/// take alone.
fn lacking<'a>(cells: &[&'a CellFacts<'a>]) -> impl Iterator<Item = &'a CellFacts<'a>> {
    measured(cells).filter(|cell| !cell.waits.computes_alone)
}

/// Those of these cells that have samples that count.
fn measured<'a>(cells: &[&'a CellFacts<'a>]) -> impl Iterator<Item = &'a CellFacts<'a>> {
    cells.iter().copied().filter(|cell| cell.has(WALL))
}

/// Every contender except the reference, paired with the reference. The level is such that all
/// intervals of the family hold together.
fn pairs<'a>(facts: &'a RunFacts<'a>, family: &'a Family) -> Vec<Pair<'a>> {
    let Some(reference) = family.reference else { return Vec::new() };
    let alpha = ALPHA / family.compared.len().saturating_sub(1).max(1) as f64;
    let others = family.cells.iter().copied().filter(|cell| *cell != reference);
    others
        .filter(|cell| facts.cells[*cell].stored.role == Role::Contender)
        .map(|cell| Pair::new(facts, &family.point, [cell, reference], alpha))
        .collect()
}

fn compare(pair: &Pair<'_>, family: &Family) -> Vec<Comparison> {
    let cells = [pair.cell.index, pair.reference.index];
    if family.compared.contains(&cells[0]) {
        return pair.comparisons(family.metric_between(cells));
    }
    let missing = |reason: &str| vec![pair.without_ratio(Verdict::Missing, reason.to_owned())];
    let CellFacts { stored, wrong, unusable, .. } = pair.cell;
    match (&stored.status, wrong, unusable) {
        (Status::Skipped(reason), ..) => missing(&format!("skipped: {reason}")),
        (Status::Failed(reason), ..) => missing(&format!("failed: {reason}")),
        (_, Some(reason), _) => vec![pair.without_ratio(Verdict::WrongAnswer, reason.clone())],
        (_, _, Some(why)) => missing(&format!("{} {why}", stored.method)),
        (Status::Measured, None, None) => missing(stored.without_samples()),
    }
}

/// Holm's correction, for each metric over the comparisons of a family.
fn correct(comparisons: &mut [Comparison], family: &[usize]) {
    for metric in VERDICT_METRICS {
        let tests: Vec<(usize, f64)> = family
            .iter()
            .filter(|i| comparisons[**i].metric == metric)
            .filter_map(|i| Some((*i, comparisons[*i].p?)))
            .collect();
        let p: Vec<f64> = tests.iter().map(|(_, p)| *p).collect();
        for ((i, _), p) in tests.iter().zip(stats::holm(&p)) {
            // For a pair that is in several families, the more conservative value.
            let before = comparisons[*i].p_holm.unwrap_or_default();
            comparisons[*i].p_holm = Some(before.max(p));
        }
    }
}

// The best methods of a table: the winner, and those not shown slower.

#[derive(Default)]
pub(crate) struct Best {
    /// The winner, then the methods not shown slower.
    pub(crate) winners: Vec<usize>,
    /// Methods that are not shown slower either, but about which too little is known.
    pub undecided: Vec<usize>,
    /// In a run of sequential design, the methods that are shown slower than another.
    pub beaten: Vec<usize>,
    /// Whether some of the others may still be shown to differ.
    pub is_open: bool,
}

/// The best methods of a table, from its comparisons with the reference and between all others.
fn best(facts: &RunFacts<'_>, family: &Family, comparisons: &[&Comparison]) -> Best {
    match facts.run.plan.design {
        Design::Fixed => once(facts, family, comparisons),
        Design::Sequential => at_looks(facts, family, comparisons),
    }
}

/// The comparison that decides between two methods of a table, at the level at which all of its
/// pairs hold together.
fn directly(facts: &RunFacts<'_>, family: &Family, cells: [usize; 2]) -> Comparison {
    let k = family.compared.len() as f64;
    let alpha = ALPHA / (k * (k - 1.0) / 2.0).max(1.0);
    Pair::new(facts, &family.point, cells, alpha).decision(family.metric_between(cells))
}

/// With an upper bound from this value on, too little is known to call a method as fast as the
/// winner.
const MAY_TAKE: f64 = 2.0;

/// The winner and the methods not shown slower than it; then those for which too little is known in
/// comparison with it. The winner is the method with the smallest ratio of those shown faster than
/// the reference, or the reference. Which of several equal methods wins is chance, so that each of
/// the pairs has its share of the level.
fn once(facts: &RunFacts<'_>, family: &Family, comparisons: &[&Comparison]) -> Best {
    let Some(reference) = family.reference else { return Best::default() };
    let decided = comparisons.iter().copied().filter(|c| c.decides && c.ratio.is_some());
    let ratio = |c: &&Comparison| c.ratio.unwrap_or(f64::INFINITY);
    let faster = decided.clone().filter(|c| c.verdict == Verdict::Faster);
    let smallest = faster.min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let winner = smallest.map_or(reference, |c| c.cell);
    // Ratios by different metrics say nothing about each other.
    let is_alike = |c: &Comparison| smallest.is_none_or(|winner| winner.metric == c.metric);
    let bounds = |c: &Comparison| c.low.zip(c.high).filter(|_| c.doubt.is_none() && is_alike(c));
    let winner_bounds = smallest.map_or(Some((1.0, 1.0)), bounds);
    let others = std::iter::once((reference, Some((1.0, 1.0))))
        .chain(decided.map(|c| (c.cell, bounds(c))))
        .filter(|(cell, _)| *cell != winner);
    let others: Vec<(usize, Option<(f64, f64)>)> = others.collect();
    let verdicts = map_each(&others, facts.samples(), |(cell, bounds)| {
        // By the intervals of both relative to the reference, which hold together.
        let beside_reference = bounds.zip(winner_bounds).map(|(a, b)| (a.0 / b.1, a.1 / b.0));
        beside_winner(facts, family, [*cell, winner], beside_reference)
    });
    let (mut best, mut undecided) = (vec![winner], Vec::new());
    for ((cell, _), verdict) in others.into_iter().zip(verdicts) {
        match verdict {
            Some(Verdict::Slower) => {}
            Some(_) => best.push(cell),
            None => undecided.push(cell),
        }
    }
    Best { winners: best, undecided, ..Best::default() }
}

/// The verdict on a cell in comparison with the winner, none where too little is known. It is
/// decided by the sessions that both share, else by the comparisons of both with the reference.
fn beside_winner(
    facts: &RunFacts<'_>,
    family: &Family,
    cells: [usize; 2],
    beside_reference: Option<(f64, f64)>,
) -> Option<Verdict> {
    let direct = &directly(facts, family, cells);
    // A doubtful direct comparison is not replaced by one that would be equally doubtful.
    let by_reference = beside_reference.filter(|_| direct.doubt.is_none());
    let is_slower =
        direct.verdict == Verdict::Slower || by_reference.is_some_and(|(low, _)| low > 1.0);
    if is_slower {
        return Some(Verdict::Slower);
    }
    let bounds = direct.low.zip(direct.high).or(beside_reference);
    bounds.filter(|(_, high)| *high <= MAY_TAKE).map(|_| Verdict::Undecided)
}

/// What is shown slower than any other method is not the best, and this does not change when it has
/// left. The winner is the one of the others with the smallest ratio that is shown faster than the
/// reference, or the reference.
fn at_looks(facts: &RunFacts<'_>, family: &Family, comparisons: &[&Comparison]) -> Best {
    let Some(reference) = family.reference else { return Best::default() };
    let cells = &family.compared;
    let pairs = cells.iter().enumerate().flat_map(|(i, a)| cells[..i].iter().map(|b| [*a, *b]));
    let pairs: Vec<[usize; 2]> = pairs.collect();
    let pairs = map_each(&pairs, facts.samples(), |pair| directly(facts, family, *pair));
    let slower_one = |pair: &Comparison| match pair.verdict {
        Verdict::Slower => Some(pair.cell),
        Verdict::Faster => Some(pair.reference_cell),
        _ => None,
    };
    let beaten: Vec<usize> = pairs.iter().filter_map(slower_one).collect();
    let beaten: Vec<usize> = cells.iter().copied().filter(|cell| beaten.contains(cell)).collect();
    let may_win = |cell: usize| !beaten.contains(&cell);

    let ratio = |c: &&&Comparison| c.ratio.unwrap_or(f64::INFINITY);
    let faster = comparisons.iter().filter(|c| c.decides && c.verdict == Verdict::Faster);
    let smallest = |of: &dyn Fn(usize) -> bool| {
        let all = faster.clone().filter(|c| of(c.cell));
        all.min_by(|a, b| ratio(a).total_cmp(&ratio(b))).map(|c| c.cell)
    };
    let any_faster = || smallest(&|_| true).filter(|_| !may_win(reference));
    let winner = smallest(&may_win).or_else(any_faster).unwrap_or(reference);

    let mut found = Best { winners: vec![winner], beaten: beaten.clone(), ..Best::default() };
    let is_between = |c: &&Comparison, a: usize, b: usize| {
        [[a, b], [b, a]].contains(&[c.cell, c.reference_cell])
    };
    for cell in cells.iter().copied().filter(|cell| *cell != winner && may_win(*cell)) {
        let direct = pairs.iter().find(|c| is_between(c, cell, winner));
        let high =
            direct.and_then(|c| if c.cell == cell { c.high } else { c.low.map(|low| 1.0 / low) });
        if high.is_some_and(|high| high <= MAY_TAKE) {
            found.winners.push(cell);
        } else {
            found.undecided.push(cell);
        }
    }
    let is_measured = |cell: usize| facts.cells[cell].stored.status == Status::Measured;
    let goes_on = |cell: usize| may_win(cell) && is_measured(cell);
    found.is_open = pairs
        .iter()
        .any(|c| c.verdict == Verdict::Undecided && goes_on(c.cell) && goes_on(c.reference_cell));
    found
}

// The methods that no other one of the table beats in time, CPU time and peak memory at once.

/// The limits of what counts as equal in time and in memory. The peak of a small process varies by
/// some pages between starts.
const EQUAL_TIME: f64 = 0.01;
const EQUAL_MEMORY: f64 = 0.05;

/// The methods for which no other is at least as good in all metrics and better in one, by the p50
/// of the sessions that both have: what the machine did in the others is no difference between
/// them. A method that lacks a metric of another one is not among them, and beats no method that
/// has it.
fn pareto(facts: &RunFacts<'_>, compared: &[usize], time: &str) -> Vec<usize> {
    let metrics = [(time, EQUAL_TIME), (CPU, EQUAL_TIME), (PEAK_RSS, EQUAL_MEMORY)];
    let all: Vec<ParetoCandidate> = compared
        .iter()
        .map(|cell| ParetoCandidate::new(&facts.cells[*cell], metrics.map(|(name, _)| name)))
        .collect();
    let is_beaten = |one: &ParetoCandidate| {
        let by = |other: &ParetoCandidate| {
            let orders: Vec<Ordering> = (metrics.iter().enumerate())
                .map(|(m, (_, equal))| order(one.middle(m, other), other.middle(m, one), *equal))
                .collect();
            orders.contains(&Ordering::Greater) && !orders.contains(&Ordering::Less)
        };
        all.iter().any(by)
    };
    let is_known = |one: &ParetoCandidate| {
        let is_lacked = |m: usize, method: &ParetoCandidate| method.metrics[m].is_empty();
        (0..metrics.len())
            .all(|m| !is_lacked(m, one) || all.iter().all(|other| is_lacked(m, other)))
    };
    let unbeaten = compared.iter().zip(&all).filter(|(_, one)| is_known(one) && !is_beaten(one));
    unbeaten.map(|(cell, _)| *cell).collect()
}

/// The values of a contender in the metrics that decide which contenders no other one beats.
struct ParetoCandidate {
    sessions: BTreeSet<u32>,
    /// By metric, the values in ascending order with their sessions; none for a value of the
    /// counting pass, which follows all sessions.
    metrics: [Vec<(Option<u32>, f64)>; 3],
}

impl ParetoCandidate {
    fn new(cell: &CellFacts<'_>, metrics: [&str; 3]) -> ParetoCandidate {
        let values = |metric: &str| {
            let is_timed = cell.pass_of(metric) == Pass::Timing;
            let session = |key: SampleKey| is_timed.then_some(key.session);
            let values = cell.counted(metric).map(|(key, value)| (session(key), value));
            let mut values: Vec<(Option<u32>, f64)> = values.collect();
            values.sort_by(|a, b| a.1.total_cmp(&b.1));
            values
        };
        ParetoCandidate {
            sessions: cell.timing.iter().map(|key| key.session).collect(),
            metrics: metrics.map(values),
        }
    }

    /// The p50 of the sessions that the other one has, too.
    fn middle(&self, metric: usize, other: &ParetoCandidate) -> Option<f64> {
        let is_shared = |session: &Option<u32>| session.is_none_or(|s| other.sessions.contains(&s));
        let all = &self.metrics[metric];
        if self.sessions == other.sessions {
            return Some(all[nearest_rank(all.len(), 50.0)? - 1].1);
        }
        let shared = || all.iter().filter(|(session, _)| is_shared(session));
        let middle = nearest_rank(shared().count(), 50.0)? - 1;
        shared().nth(middle).map(|(_, value)| *value)
    }
}

fn order(one: Option<f64>, other: Option<f64>, equal: f64) -> Ordering {
    match (one, other) {
        (Some(one), Some(other)) if (one - other).abs() <= equal * other.abs() => Ordering::Equal,
        (Some(one), Some(other)) => one.total_cmp(&other),
        (Some(_), None) => Ordering::Less,
        (None, _) => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_share_an_item_directly_or_not_are_decided_together() {
        let sets = [vec![0, 1], vec![2], vec![3], vec![1, 2]];
        let groups = by_group(&sets, |sets, _| sets.to_vec());
        let together = vec![0, 1, 3];
        assert_eq!(groups, [together.clone(), together.clone(), vec![2], together]);
    }
}

#[cfg(test)]
mod best_tests {
    use super::*;
    use crate::tests::{cell, close, run};

    #[test]
    fn the_level_is_shared_by_all_pairs_of_a_table() {
        for (methods, pairs) in [(2, 1.0), (3, 3.0), (4, 6.0)] {
            let cells = (0..methods).map(|i| cell(&format!("m{i}"), [1.0; 10]));
            let run = run(cells.collect());
            let facts = RunFacts::new(&run);
            let family = families(&facts).remove(0);
            close(Some(directly(&facts, &family, [1, 0]).level), 1.0 - ALPHA / pairs, 1e-12);
        }
    }
}
