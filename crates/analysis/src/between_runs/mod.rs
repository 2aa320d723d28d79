//! Two sides of runs, such as before and after, or two machines: the ratio of each method's value
//! on one side to that on the other, absolutely and relative to the reference. A run is one value:
//! what differs between two starts of a run is the same in all of its rounds and sessions.

mod cells;
mod gate;
mod judge;

use std::collections::HashMap;

use model::metric::{Better, METRICS, Metric, WALL};
use model::param::Point;
use model::run::{Role, Run};
use serde::Serialize;

use self::cells::{InRun, Match, matches};
pub use self::cells::{Unmatched, refusal};
pub use self::gate::gate;
use self::judge::{ChangeJudge, PointMatch, overall};
pub use self::judge::{Effect, Mean, OverallChange};
use super::analysis::{ALPHA, Percentile};
use super::facts::{CellFacts, RunFacts, VERDICT_METRICS};
use super::family::{all_have_it, by_group, measure};
use super::values::{self, Sessions};
use crate::stats::Pooled;

/// Two sides of one experiment. Derived, never stored.
#[derive(Clone, Debug, Serialize)]
pub struct RunComparison {
    /// One line per method, point and metric that both sides have.
    pub lines: Vec<MetricChange>,
    /// What only one of the sides has: the method, the point, and the side.
    pub alone: Vec<Unmatched>,
    /// Each method over all points, if there are several.
    pub overall: Vec<OverallChange>,
}

/// One method at one point in one metric, on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct MetricChange {
    pub method: String,
    pub role: Role,
    /// The full point; for a method that does not read all of it, and is at several, the first.
    pub point: Point,
    pub metric: String,
    /// Exactly one metric of a method and point decides: the measure of all contenders there,
    /// chosen as [`super::Family::metric`] is; the wall time for cells that are not compared and
    /// lack that measure.
    pub decides: bool,
    pub a: SideSummary,
    pub b: SideSummary,
    /// b / a.
    pub absolute: Effect,
    /// The same for the ratio to the reference, which was in the same rounds; none for the
    /// reference, and where a run has no rounds.
    pub relative: Option<Effect>,
    pub reference: Option<String>,
    /// Whether its answer was already wrong on side a: it was in no comparison there.
    #[serde(skip)]
    pub(crate) wrong_before: bool,
}

/// The values of one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideSummary {
    /// The number of runs that have the metric.
    pub runs: usize,
    /// The number of samples in all of them.
    pub n: usize,
    /// The maximum number of operations per sample.
    pub ops: u64,
    /// p0 p25 p50 p75 p90 p99 p100 of all samples; bounds only for a single run, because runs
    /// differ.
    pub percentiles: Vec<Percentile>,
}

/// `places` are the params that name where a job is done (a file, a directory) and not which job it
/// is: where each side has one value of it, the values may differ.
pub fn compare_sides(a: &[Run], b: &[Run], places: &[&str]) -> RunComparison {
    let facts = [a, b].map(|runs| runs.iter().map(RunFacts::new).collect::<Vec<_>>());
    let (matches, alone) = matches(&facts[0], &facts[1], places);
    // At each full point the reference, and the number of competing methods.
    let mut families: HashMap<&Point, (Option<&Match<'_>>, usize)> = HashMap::new();
    for point in matches.iter().map(|found| &found.family) {
        families.entry(point).or_insert_with(|| {
            let at = || matches.iter().filter(|m| m.role == Role::Contender && m.is_at(point));
            (at().find(|found| found.wrong.is_none()), at().count())
        });
    }
    let deciding = deciding(&matches);
    let in_rounds = a.iter().chain(b).all(Run::in_rounds);
    let (mut lines, mut at_points) = (Vec::new(), Vec::new());
    for found in &matches {
        let (reference, contenders) = families.get(&found.family).copied().unwrap_or_default();
        let alpha = ALPHA / contenders.max(1) as f64;
        let deciding = deciding.get(&found.family).copied().unwrap_or(WALL);
        at_points.push(PointMatch { found, reference, metric: deciding });
        let mut of_method = lines_of(found, reference, deciding, alpha);
        if !in_rounds {
            for line in &mut of_method {
                line.relative = None;
            }
        }
        lines.extend(of_method);
    }
    let overall = overall(&at_points, in_rounds);
    RunComparison { lines, alone, overall }
}

fn lines_of(
    found: &Match<'_>,
    reference: Option<&Match<'_>>,
    deciding: &str,
    alpha: f64,
) -> Vec<MetricChange> {
    let reference = reference.filter(|reference| reference.method != found.method);
    // A yardstick or a wrong answer may lack it, but also has a line that decides.
    let has_it = deciding == WALL || all_have_it(&found.cells().collect::<Vec<&CellFacts<'_>>>());
    let deciding = if has_it { deciding } else { WALL };
    let metrics = METRICS.iter().map(|metric| metric.name);
    metrics
        .filter_map(|metric| {
            let [a, b] = found.sides.each_ref().map(|side| half(side, metric));
            let judge = ChangeJudge { alpha, sign: sign(metric) };
            let relative = reference.filter(|_| VERDICT_METRICS.contains(&metric));
            Some(MetricChange {
                method: found.method.to_owned(),
                role: found.role,
                point: found.family.clone(),
                metric: metric.to_owned(),
                decides: metric == deciding,
                a: a?,
                b: b?,
                absolute: judge.absolute(found, metric),
                relative: relative.map(|reference| judge.relative(found, reference, metric)),
                reference: reference.map(|reference| reference.method.to_owned()),
                wrong_before: found.wrong_before,
            })
        })
        .collect()
}

/// The sign of the logarithm of a ratio with which less is better.
pub(super) fn sign(metric: &str) -> f64 {
    let more = |known: &&Metric| known.better == Better::More;
    if METRICS.iter().filter(more).any(|known| known.name == metric) { -1.0 } else { 1.0 }
}

/// The measure at each point, as in a run: that of the contenders whose answer is right, and the
/// same at points that share one.
fn deciding<'a>(matches: &'a [Match<'_>]) -> HashMap<&'a Point, &'static str> {
    let mut points: Vec<&Point> = Vec::new();
    for found in matches {
        if !points.contains(&&found.family) {
            points.push(&found.family);
        }
    }
    let compared = |point: &&Point| -> Vec<usize> {
        let is_compared = |found: &Match<'_>| {
            found.role == Role::Contender && found.wrong.is_none() && found.is_at(point)
        };
        (0..matches.len()).filter(|i| is_compared(&matches[*i])).collect()
    };
    let sets: Vec<Vec<usize>> = points.iter().map(compared).collect();
    let measures = by_group(&sets, |_, found| {
        let cells = found.iter().flat_map(|i| matches[*i].cells());
        measure(&cells.collect::<Vec<&CellFacts<'_>>>())
    });
    points.into_iter().zip(measures).collect()
}

fn half(side: &[InRun<'_>], metric: &str) -> Option<SideSummary> {
    let counted = || side.iter().flat_map(|(_, cell)| cell.counted(metric));
    let sessions = Sessions::new(counted().map(|(key, value)| (key.session, value)));
    let sessions = sessions.slices();
    let pooled = Pooled::new(&sessions);
    let n = pooled.sorted().len();
    let mut percentiles = values::percentiles(&pooled)?;
    if side.len() > 1 {
        for percentile in &mut percentiles {
            (percentile.low, percentile.high) = (None, None);
        }
    }
    let ops = counted().map(|(key, _)| key.ops).max().unwrap_or(1);
    Some(SideSummary { runs: side.len(), n, ops, percentiles })
}

#[cfg(test)]
mod tests;
