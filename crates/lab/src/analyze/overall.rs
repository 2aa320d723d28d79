//! One figure for each method over all points: the geometric mean of its ratios to the reference.

use std::collections::BTreeMap;

use super::look::at_last_look;
use super::values::numbered_log_ratios;
use super::{ALPHA, Family, Overall};
use crate::metric::WALL;
use crate::run::Run;
use crate::stats::{self, pseudomedian};

/// The methods that were compared with one reference at every point of the run, the smallest ratio
/// first. A run of one point has none.
pub(super) fn overall(run: &Run, families: &[Family]) -> Vec<Overall> {
    if families.len() < 2 || !run.in_rounds() {
        return Vec::new();
    }
    let name = |cell: usize| run.cells[cell].method.as_str();
    let mut pairs: BTreeMap<&str, Vec<[usize; 2]>> = BTreeMap::new();
    let mut reference = None;
    for family in families {
        let Some(of_family) = family.reference else { return Vec::new() };
        if *reference.get_or_insert(name(of_family)) != name(of_family) {
            return Vec::new();
        }
        for cell in family.compared.iter().filter(|cell| **cell != of_family) {
            pairs.entry(name(*cell)).or_default().push([*cell, of_family]);
        }
    }
    let metric = families[0].metric;
    let metric = if families.iter().all(|f| f.metric == metric) { metric } else { WALL };
    pairs.retain(|_, pairs| pairs.len() == families.len());
    let alpha = ALPHA / pairs.len().max(1) as f64;
    let mut all: Vec<Overall> = pairs
        .into_values()
        .filter_map(|mut pairs| {
            pairs.sort_unstable();
            pairs.dedup();
            of_pairs(run, &pairs, metric, alpha)
        })
        .collect();
    all.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    all
}

/// The value of a session is the mean over the points of the pseudomedians of the logs of its
/// rounds' ratios.
fn of_pairs(run: &Run, pairs: &[[usize; 2]], metric: &'static str, alpha: f64) -> Option<Overall> {
    if pairs.len() < 2 {
        return None;
    }
    let mut sums: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for [cell, reference] in pairs {
        let logs =
            numbered_log_ratios([*cell, *reference].map(|cell| (&run.cells[cell], metric))).ok()?;
        for (session, logs) in logs {
            let (points, sum) = sums.entry(session).or_default();
            *points += 1;
            *sum += pseudomedian(&logs)?;
        }
    }
    let shared = sums.into_iter().filter(|(_, (points, _))| *points == pairs.len());
    let mut shared: Vec<(u32, f64)> =
        shared.map(|(session, (points, sum))| (session, sum / points as f64)).collect();
    let level = at_last_look(run, &mut shared, alpha);
    let values: Vec<f64> = shared.into_iter().map(|(_, value)| value).collect();
    let shift = stats::of_values(&values, level.unwrap_or(alpha)).filter(|shift| shift.n > 0)?;
    let interval = shift.interval.filter(|_| level.is_some());
    let [cell, reference] = pairs[0];
    Some(Overall {
        method: run.cells[cell].method.clone(),
        reference: run.cells[reference].method.clone(),
        metric,
        points: pairs.len(),
        sessions: shift.n,
        ratio: shift.estimate.exp(),
        low: interval.map(|(low, _)| low.exp()),
        high: interval.map(|(_, high)| high.exp()),
        level: 1.0 - level.unwrap_or(alpha),
    })
}
