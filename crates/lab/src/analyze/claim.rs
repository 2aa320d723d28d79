//! Judges a claim about a run: whether the ratio of two quantities, of any cells and metrics, lies
//! in a range. The intervals are those of the verdicts: round by round, a session is one value.

use serde::Serialize;

use super::compare::{Pair, too_few};
use super::look::{compared_metrics, sessions_needed};
use super::values::{absolute, of_samples};
use crate::metric::{self, WALL};
use crate::run::{Cell, Pass, Run, Sample};
use crate::stats::{self, SESSIONS_NEEDED, Shift, median};

/// A metric of a cell, by the index of the cell in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellMetric<'a> {
    pub cell: usize,
    pub metric: &'a str,
}

/// What a quantity is divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Basis<'a> {
    Of(CellMetric<'a>),
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
    b: Basis<'_>,
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
    a: CellMetric<'_>,
    b: Basis<'_>,
    (found, range): (Claimed, [f64; 2]),
    alpha: f64,
) -> bool {
    let Basis::Of(b) = b else { return false };
    let point = &run.cells[a.cell].point;
    let pair = Pair { run, point, cell: a.cell, reference: b.cell, alpha };
    if [a.metric, b.metric] != [WALL, WALL] || !pair.may_have_waited() {
        return false;
    }
    let (low, high) = pair.with_and_without_wait().unzip();
    verdict(&Ratio { low, high, ..Ratio::default() }, range) != found
}

fn ratio(run: &Run, a: CellMetric<'_>, b: Basis<'_>, alpha: f64) -> Ratio {
    if let Some(ratio) = exact(run, a, b) {
        return Ratio { ratio: Some(ratio), low: Some(ratio), high: Some(ratio), reason: None };
    }
    let found = if run.in_rounds() {
        match b {
            Basis::Of(b) => by_round(run, a, b, alpha),
            Basis::Value(value) => of_value(run, a, value, alpha),
        }
    } else {
        of_medians(run, a, b)
    };
    found.unwrap_or_else(|reason| Ratio { reason: Some(reason), ..Ratio::default() })
}

/// The ratio of two counts that were the same in all samples of two or more.
fn exact(run: &Run, a: CellMetric<'_>, b: Basis<'_>) -> Option<f64> {
    let count = |of: CellMetric<'_>| constant(&run.cells[of.cell], of.metric);
    let basis = match b {
        Basis::Of(b) => count(b)?,
        Basis::Value(value) => value,
    };
    Some(count(a)? / basis).filter(|ratio| ratio.is_finite())
}

fn constant(cell: &Cell, name: &str) -> Option<f64> {
    if !["count", "bytes"].contains(&metric::unit(name)) {
        return None;
    }
    let values: Vec<f64> = cell.counted(name).map(|(_, value)| value).collect();
    let (first, others) = values.split_first()?;
    let is_first = |value: &f64| value.to_bits() == first.to_bits();
    // The counting pass takes one sample if it agrees with the warm-up.
    let is_confirmed =
        !others.is_empty() || warm_up_count(cell, name).is_some_and(|n| is_first(&n));
    (is_confirmed && others.iter().all(is_first)).then_some(*first)
}

/// What the last warm-up of the counting pass counted.
fn warm_up_count(cell: &Cell, name: &str) -> Option<f64> {
    let is_of_pass = |sample: &Sample| sample.pass == Pass::Counting && sample.warm_up;
    let mut counts = cell.samples.iter().zip(cell.values.get(name)?).rev();
    let (_, count) = counts.find(|(sample, count)| is_of_pass(sample) && !count.is_nan())?;
    Some(*count)
}

fn by_round(run: &Run, a: CellMetric<'_>, b: CellMetric<'_>, alpha: f64) -> Result<Ratio, String> {
    let found = compared_metrics(run, [(a.cell, a.metric), (b.cell, b.metric)], alpha)?;
    let shift = stats::by_session(&found.logs, found.alpha.unwrap_or(alpha))
        .ok_or_else(|| "there is no round in which both were measured".to_owned())?;
    Ok(of_shift(&shift, 0.0, found.alpha.is_some(), sessions_needed(run)))
}

fn of_value(run: &Run, a: CellMetric<'_>, value: f64, alpha: f64) -> Result<Ratio, String> {
    let sessions = absolute(&run.cells[a.cell], a.metric)?;
    let shift = stats::of_values(&sessions, alpha)
        .ok_or_else(|| format!("{} was not measured", a.metric))?;
    // The level of several looks is for pairs of methods only.
    let mut ratio = of_shift(&shift, value.ln(), run.plan.design.is_fixed(), SESSIONS_NEEDED);
    if !run.plan.design.is_fixed() {
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
fn of_medians(run: &Run, a: CellMetric<'_>, b: Basis<'_>) -> Result<Ratio, String> {
    let middle = |of: CellMetric<'_>| {
        Ok::<f64, String>(median(&of_samples(&run.cells[of.cell], of.metric)?))
    };
    let log_of_basis = match b {
        Basis::Of(b) => middle(b)?,
        Basis::Value(value) => value.ln(),
    };
    let tool = run.plan.imported.as_ref().map_or("", |imported| imported.tool.as_str());
    Ok(Ratio {
        ratio: Some((middle(a)? - log_of_basis).exp()),
        reason: Some(format!("{tool} did not measure the methods in rounds")),
        ..Ratio::default()
    })
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
