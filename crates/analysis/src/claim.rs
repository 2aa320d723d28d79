//! Whether what is stated about a run holds: the claim that somebody published, and the limits that
//! its definition sets.

use model::metric::{self, WALL, is_counting_metric};
use model::param::Point;
use model::run::{Cell, Pass, Plan, RATIO, Role, Run, Sample, Status, Threshold};
use serde::Serialize;

use super::analysis::{
    CellSummary, Comparison, Family, ThresholdOutcome, ThresholdVerdict, decision,
};
use super::compare::{Compared, Pair, at_last_look, log_ratios, sessions_needed, too_few};
use super::facts::{Answers, CellFacts, Rounds, RunFacts};
use super::values::{absolute, ensure_usable, of_samples, sessions};
use crate::stats::{self, SESSIONS_NEEDED, Shift, median, percentile_interval};

// Judges a claim about a run: whether the ratio of two quantities, of any cells and metrics, lies
// in a range. The intervals are those of the verdicts: round by round, a session is one value.

/// A metric of a cell, by the index of the cell in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellMetric<'a> {
    pub cell: usize,
    pub metric: &'a str,
}

/// What a quantity is divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis<Q> {
    Of(Q),
    /// A known value, such as the size of the file. It is above 0.
    Value(f64),
}

/// A ratio with its interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ratio {
    /// `None` where there is no ratio.
    pub ratio: Option<f64>,
    /// The bounds of the interval; equal to the ratio where both quantities are exact counts.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Why there is no ratio or no interval, or why the interval decides nothing.
    pub reason: Option<String>,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Claimed {
    /// The whole interval lies in the claimed range.
    Confirmed,
    /// The whole interval lies outside of it, on one side.
    Refuted,
    Undecided,
}

/// Judges whether `a` divided by `b` lies between these bounds, at the level 1 − α.
pub fn judge_claim(
    run: &Run,
    a: CellMetric<'_>,
    b: Basis<CellMetric<'_>>,
    range: [f64; 2],
    alpha: f64,
) -> (Claimed, Ratio) {
    let cell = facts(run, a.cell);
    let a = (&cell, a.metric);
    match b {
        Basis::Of(b) => judge(run, a, Basis::Of((&facts(run, b.cell), b.metric)), range, alpha),
        Basis::Value(value) => judge(run, a, Basis::Value(value), range, alpha),
    }
}

/// Judges whether the first of two quantities less the second one, as a multiple of this known
/// amount, lies between these bounds, at the level 1 − α. The amount is above 0.
pub fn judge_difference(
    run: &Run,
    [a, b]: [CellMetric<'_>; 2],
    amount: f64,
    range: [f64; 2],
    alpha: f64,
) -> (Claimed, Ratio) {
    let (first, second) = (facts(run, a.cell), facts(run, b.cell));
    let found = difference(run, [(&first, a.metric), (&second, b.metric)], amount, alpha)
        .unwrap_or_else(|reason| Ratio { reason: Some(reason), ..Ratio::default() });
    (verdict(&found, range), found)
}

fn difference(
    run: &Run,
    [a, b]: [CellQuantity<'_>; 2],
    amount: f64,
    alpha: f64,
) -> Result<Ratio, String> {
    if let (Some(a), Some(b)) = (constant(a), constant(b)) {
        let exact = Some((a - b) / amount);
        return Ok(Ratio { ratio: exact, low: exact, high: exact, reason: None });
    }
    let [(cell, metric), (other, of_other)] = [a, b];
    ensure_usable(cell)?;
    ensure_usable(other)?;
    if !run.in_rounds() {
        return Err("the methods were not measured in rounds".to_owned());
    }
    let mut shared = differences([&cell.rounds(metric), &other.rounds(of_other)]);
    let level = at_last_look(&run.plan, &mut shared, alpha);
    let values: Vec<Vec<f64>> = shared.into_iter().map(|(_, values)| values).collect();
    let shift = stats::by_session(&values, level.unwrap_or(alpha))
        .ok_or_else(|| "there is no round in which both were measured".to_owned())?;
    let interval = shift.interval.filter(|_| level.is_some());
    Ok(Ratio {
        ratio: Some(shift.estimate / amount),
        low: interval.map(|(low, _)| low / amount),
        high: interval.map(|(_, high)| high / amount),
        reason: interval.is_none().then(|| too_few(shift.n, sessions_needed(&run.plan))),
    })
}

/// The differences of the rounds that both have, by session.
fn differences([ours, theirs]: [&Rounds<'_>; 2]) -> Vec<(u32, Vec<f64>)> {
    let mut theirs = theirs.iter().peekable();
    let mut sessions: Vec<(u32, Vec<f64>)> = Vec::new();
    for (round, a) in ours.iter() {
        while theirs.next_if(|(other, _)| *other < round).is_some() {}
        let Some((_, b)) = theirs.next_if(|(other, _)| *other == round) else { continue };
        match sessions.last_mut() {
            Some((session, values)) if *session == round.0 => values.push(a - b),
            _ => sessions.push((round.0, vec![a - b])),
        }
    }
    sessions
}

fn facts(run: &Run, index: usize) -> CellFacts<'_> {
    let cell = &run.cells[index];
    CellFacts::new(index, cell, Answers::from_cell(cell))
}

/// A metric of a cell.
type CellQuantity<'a> = (&'a CellFacts<'a>, &'a str);
type Divisor<'a> = Basis<CellQuantity<'a>>;

fn judge(
    run: &Run,
    a: CellQuantity<'_>,
    b: Divisor<'_>,
    range: [f64; 2],
    alpha: f64,
) -> (Claimed, Ratio) {
    let mut found = ratio(run, a, b, alpha);
    let verdict = verdict(&found, range);
    if verdict != Claimed::Undecided && is_doubtful(run, a, b, (verdict, range), alpha) {
        found.reason = Some(
            "a method waited for a CPU, and its time without the wait does not show the same"
                .to_owned(),
        );
        return (Claimed::Undecided, found);
    }
    (verdict, found)
}

fn verdict(found: &Ratio, [min, max]: [f64; 2]) -> Claimed {
    match (found.low, found.high) {
        (Some(low), Some(high)) if min <= low && high <= max => Claimed::Confirmed,
        (Some(low), Some(high)) if high < min || max < low => Claimed::Refuted,
        _ => Claimed::Undecided,
    }
}

/// Whether a wait for a CPU may have made this verdict: the ratio is one of wall times, and the
/// interval that holds with the waits and without them does not show the same.
fn is_doubtful(
    run: &Run,
    a: CellQuantity<'_>,
    b: Divisor<'_>,
    (found, range): (Claimed, [f64; 2]),
    alpha: f64,
) -> bool {
    let ((cell, metric), Basis::Of((reference, of_reference))) = (a, b) else { return false };
    let pair = Pair { run, point: &cell.stored.point, cell, reference, alpha };
    if [metric, of_reference] != [WALL, WALL] || !pair.may_have_waited() {
        return false;
    }
    let (low, high) = pair.with_and_without_wait().unzip();
    verdict(&Ratio { low, high, ..Ratio::default() }, range) != found
}

fn ratio(run: &Run, a: CellQuantity<'_>, b: Divisor<'_>, alpha: f64) -> Ratio {
    if let Some(ratio) = exact(a, b) {
        return Ratio { ratio: Some(ratio), low: Some(ratio), high: Some(ratio), reason: None };
    }
    let found = if run.in_rounds() {
        match b {
            Basis::Of(b) => by_round(&run.plan, [a, b], alpha),
            Basis::Value(value) => of_value(&run.plan, a, value, alpha),
        }
    } else {
        of_medians(&run.plan, a, b)
    };
    found.unwrap_or_else(|reason| Ratio { reason: Some(reason), ..Ratio::default() })
}

/// The ratio of two counts that were the same in all samples of two or more.
fn exact(a: CellQuantity<'_>, b: Divisor<'_>) -> Option<f64> {
    let basis = match b {
        Basis::Of(b) => constant(b)?,
        Basis::Value(value) => value,
    };
    Some(constant(a)? / basis).filter(|ratio| ratio.is_finite())
}

fn constant((cell, name): CellQuantity<'_>) -> Option<f64> {
    if !["count", "bytes"].contains(&metric::unit(name)) {
        return None;
    }
    let values: Vec<f64> = cell.values(name).collect();
    let (first, others) = values.split_first()?;
    let is_first = |value: &f64| value.to_bits() == first.to_bits();
    // The counting pass takes one sample if it agrees with the warm-up.
    let is_confirmed =
        !others.is_empty() || warm_up_count(cell.stored, name).is_some_and(|n| is_first(&n));
    (is_confirmed && others.iter().all(is_first)).then_some(*first)
}

/// What the last warm-up of the counting pass counted.
fn warm_up_count(cell: &Cell, name: &str) -> Option<f64> {
    let is_of_pass = |sample: &Sample| sample.pass == Pass::Counting && sample.warm_up;
    let mut counts = cell.samples.iter().zip(cell.column(name).iter()).rev();
    let (_, count) = counts.find(|(sample, count)| is_of_pass(sample) && !count.is_nan())?;
    Some(*count)
}

fn by_round(plan: &Plan, both: [CellQuantity<'_>; 2], alpha: f64) -> Result<Ratio, String> {
    let found = Compared::new(plan, log_ratios(both)?, alpha);
    let shift = stats::by_session(&found.logs, found.alpha.unwrap_or(alpha))
        .ok_or_else(|| "there is no round in which both were measured".to_owned())?;
    Ok(of_shift(&shift, 0.0, found.alpha.is_some(), sessions_needed(plan)))
}

fn of_value(plan: &Plan, a: CellQuantity<'_>, value: f64, alpha: f64) -> Result<Ratio, String> {
    let (cell, metric) = a;
    let shift = stats::of_values(&absolute(cell, metric)?, alpha)
        .ok_or_else(|| format!("{metric} was not measured"))?;
    // The level of several looks is for pairs of methods only.
    let mut ratio = of_shift(&shift, value.ln(), plan.design.is_fixed(), SESSIONS_NEEDED);
    if !plan.design.is_fixed() {
        ratio.reason = Some("it needs a run with a fixed number of rounds: --rounds".to_owned());
    }
    Ok(ratio)
}

fn of_shift(shift: &Shift, log_of_basis: f64, has_level: bool, needed: usize) -> Ratio {
    let interval = shift.interval.filter(|_| has_level);
    let of = |log: f64| (log - log_of_basis).exp();
    Ratio {
        ratio: Some(of(shift.estimate)),
        low: interval.map(|(low, _)| of(low)),
        high: interval.map(|(_, high)| of(high)),
        reason: interval.is_none().then(|| too_few(shift.n, needed)),
    }
}

/// The ratio of what another program measured, without an interval: it has no rounds.
fn of_medians(plan: &Plan, a: CellQuantity<'_>, b: Divisor<'_>) -> Result<Ratio, String> {
    let middle =
        |(cell, metric): CellQuantity<'_>| Ok::<f64, String>(median(&of_samples(cell, metric)?));
    let log_of_basis = match b {
        Basis::Of(b) => middle(b)?,
        Basis::Value(value) => value.ln(),
    };
    let tool = plan.imported.as_ref().map_or("", |imported| imported.tool.as_str());
    Ok(Ratio {
        ratio: Some((middle(a)? - log_of_basis).exp()),
        reason: Some(format!("{tool} did not measure the methods in rounds")),
        ..Ratio::default()
    })
}

// The limits that a run must not exceed, and whether it did.

/// The outcomes of all thresholds of the run's definition, at each point.
pub(crate) fn check_thresholds(
    facts: &RunFacts<'_>,
    cells: &[CellSummary],
    families: &[Family],
    comparisons: &[Comparison],
) -> Vec<ThresholdOutcome> {
    let lines = lines(facts.run, families);
    let alpha = ALPHA / lines.len().max(1) as f64;
    let outcome = |line: &ThresholdLine<'_>| {
        let cell = &facts.cells[line.cell];
        let (point, figure) = match line.family {
            Some(family) => {
                let found = decision(comparisons, family, line.cell);
                (&family.point, threshold_ratio(facts, found, alpha))
            }
            None => (&cell.stored.point, value(line.threshold, cell, &cells[line.cell], alpha)),
        };
        outcome(line.threshold, cell.stored, point, figure, alpha)
    };
    lines.iter().map(outcome).collect()
}

/// The probability that any of the outcomes of a run is false.
const ALPHA: f64 = 0.05;

/// A threshold applied to a cell, and the reference for the ratio.
struct ThresholdLine<'a> {
    threshold: &'a Threshold,
    cell: usize,
    family: Option<&'a Family>,
}

fn lines<'a>(run: &'a Run, families: &'a [Family]) -> Vec<ThresholdLine<'a>> {
    let thresholds = run.plan.definition.iter().flat_map(|definition| &definition.thresholds);
    let mut lines = Vec::new();
    for threshold in thresholds {
        for (index, cell) in run.cells.iter().enumerate() {
            let chosen = match threshold.methods.as_slice() {
                [] => cell.role == Role::Contender,
                names => names.contains(&cell.method),
            };
            if !chosen {
                continue;
            }
            let line = |family| ThresholdLine { threshold, cell: index, family };
            if threshold.metric == RATIO {
                let own = families.iter().filter(|family| family.cells.contains(&index));
                let own = own.filter(|family| family.reference != Some(index));
                lines.extend(own.map(|family| line(Some(family))));
            } else {
                lines.push(line(None));
            }
        }
    }
    lines
}

/// A value with its interval, or the reason why it has none.
#[derive(Default)]
struct Figure {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    reason: Option<String>,
}

fn value(threshold: &Threshold, cell: &CellFacts<'_>, summary: &CellSummary, alpha: f64) -> Figure {
    let metric = threshold.metric.as_str();
    if let Some(why) = cell.unusable {
        return Figure { reason: Some(format!("it {why}")), ..Figure::default() };
    }
    let found = summary.metrics.iter().find(|summary| summary.metric == metric);
    let middle = found.and_then(|summary| {
        let middle = summary.percentiles.iter().find(|known| known.p.total_cmp(&50.0).is_eq());
        Some((summary, middle?.value))
    });
    let Some((summary, middle)) = middle else { return Figure::default() };
    let value = Some(middle);
    if summary.constant {
        return Figure { value, low: value, high: value, reason: None };
    }
    // The counting pass is one session: there the samples are the unit.
    if summary.sessions < SESSIONS_NEEDED && !is_counting_metric(metric) {
        return Figure {
            value,
            reason: Some(too_few(summary.sessions, SESSIONS_NEEDED)),
            ..Figure::default()
        };
    }
    let (low, high) = percentile_interval(&sessions(cell.counted(metric)), 50.0, alpha);
    Figure { value, low, high, reason: None }
}

fn threshold_ratio(facts: &RunFacts<'_>, found: Option<&Comparison>, alpha: f64) -> Figure {
    let Some(found) = found.filter(|found| found.ratio.is_some()) else {
        return Figure::default();
    };
    let pair = Pair::new(facts, &found.point, [found.cell, found.reference_cell], alpha);
    let Comparison { ratio, low, high, reason, .. } = pair.compare(&found.metric);
    if found.metric != WALL || low.is_none() || !pair.may_have_waited() {
        return Figure { value: ratio, low, high, reason };
    }
    let (low, high) = pair.with_and_without_wait().unzip();
    Figure { value: ratio, low, high, reason }
}

fn outcome(
    threshold: &Threshold,
    cell: &Cell,
    point: &Point,
    figure: Figure,
    alpha: f64,
) -> ThresholdOutcome {
    let Figure { value, low, high, reason } = figure;
    let max = threshold.max;
    let verdict = match (low, high) {
        (_, Some(high)) if high <= max => ThresholdVerdict::Kept,
        (Some(low), _) if low > max => ThresholdVerdict::Exceeded,
        _ => ThresholdVerdict::Undecided,
    };
    let why = || match (&cell.status, value, low) {
        (Status::Skipped(_) | Status::Failed(_), ..) => "it was not measured".to_owned(),
        (_, None, _) => reason.unwrap_or_else(|| "there is no such figure of it".to_owned()),
        (_, _, None) => reason.unwrap_or_else(|| "too few samples for an interval".to_owned()),
        _ => "the limit lies within the interval".to_owned(),
    };
    let reason = (verdict == ThresholdVerdict::Undecided).then(why);
    ThresholdOutcome {
        method: cell.method.clone(),
        point: point.clone(),
        metric: threshold.metric.clone(),
        max,
        value,
        low,
        high,
        level: 1.0 - alpha,
        verdict,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_touches_the_range_is_not_outside_of_it() {
        let of = |low, high| {
            let found = Ratio { low: Some(low), high: Some(high), ..Ratio::default() };
            verdict(&found, [1.0, 2.0])
        };
        assert_eq!([of(1.0, 2.0), of(1.5, 1.6)], [Claimed::Confirmed; 2]);
        assert_eq!([of(0.5, 1.0), of(2.0, 3.0), of(0.5, 3.0)], [Claimed::Undecided; 3]);
        assert_eq!([of(0.5, 0.99), of(2.01, 3.0)], [Claimed::Refuted; 2]);
    }
}

#[cfg(test)]
mod thresholds_tests {
    use super::*;

    #[test]
    fn a_threshold_is_decided_by_the_interval() {
        let threshold = Threshold { methods: Vec::new(), metric: "wall_ns".into(), max: 10.0 };
        let check = |values: [Option<f64>; 3], expected: ThresholdVerdict, why: Option<&str>| {
            let cell = Cell::new("a", Point::default());
            let [value, low, high] = values;
            let figure = Figure { value, low, high, reason: None };
            let outcome = outcome(&threshold, &cell, &Point::default(), figure, 0.05);
            assert_eq!((outcome.verdict, outcome.reason.as_deref()), (expected, why), "{values:?}");
        };
        check([Some(9.0), Some(8.0), Some(10.0)], ThresholdVerdict::Kept, None);
        check([Some(12.0), Some(10.5), Some(13.0)], ThresholdVerdict::Exceeded, None);
        let within = Some("the limit lies within the interval");
        check([Some(9.0), Some(8.0), Some(10.5)], ThresholdVerdict::Undecided, within);
        check(
            [Some(9.0), None, None],
            ThresholdVerdict::Undecided,
            Some("too few samples for an interval"),
        );
        check([None; 3], ThresholdVerdict::Undecided, Some("there is no such figure of it"));
    }

    #[test]
    fn a_threshold_that_is_reached_is_not_exceeded_and_a_method_without_samples_says_so() {
        let threshold = Threshold { methods: Vec::new(), metric: "wall_ns".into(), max: 10.0 };
        let of = |status: Status, low: Option<f64>| {
            let cell = Cell { status, ..Cell::new("a", Point::default()) };
            let figure = Figure { value: low, low, high: low.map(|low| low + 1.0), reason: None };
            let found = outcome(&threshold, &cell, &Point::default(), figure, 0.05);
            (found.verdict, found.reason.unwrap_or_default())
        };
        let undecided = |why: &str| (ThresholdVerdict::Undecided, why.to_owned());
        assert_eq!(
            of(Status::Measured, Some(10.0)),
            undecided("the limit lies within the interval")
        );
        assert_eq!(of(Status::Measured, Some(10.1)).0, ThresholdVerdict::Exceeded);
        for status in [Status::Skipped("no".to_owned()), Status::Failed("died".to_owned())] {
            assert_eq!(of(status, None), undecided("it was not measured"));
        }
        assert_eq!(of(Status::Measured, None), undecided("there is no such figure of it"));
    }
}
