//! The methods that no other one of the table beats in time, CPU time and peak memory at once.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::metric::{CPU, PEAK_RSS};
use crate::run::{Cell, Pass, Run, Sample};
use crate::stats::nearest_rank;

/// The limits of what counts as equal in time and in memory. The peak of a small process varies by
/// some pages between starts.
const EQUAL_TIME: f64 = 0.01;
const EQUAL_MEMORY: f64 = 0.05;

/// The methods for which no other is at least as good in all metrics and better in one, by the p50
/// of the sessions that both have: what the machine did in the others is no difference between
/// them. A method that lacks a metric of another one is not among them, and beats no method that
/// has it.
pub(super) fn pareto(run: &Run, compared: &[usize], time: &str) -> Vec<usize> {
    let metrics = [(time, EQUAL_TIME), (CPU, EQUAL_TIME), (PEAK_RSS, EQUAL_MEMORY)];
    let all: Vec<Method> = compared
        .iter()
        .map(|cell| Method::of(&run.cells[*cell], metrics.map(|(name, _)| name)))
        .collect();
    let is_beaten = |one: &Method| {
        let by = |other: &Method| {
            let orders: Vec<Ordering> = (metrics.iter().enumerate())
                .map(|(m, (_, equal))| order(one.middle(m, other), other.middle(m, one), *equal))
                .collect();
            orders.contains(&Ordering::Greater) && !orders.contains(&Ordering::Less)
        };
        all.iter().any(by)
    };
    let is_known = |one: &Method| {
        let is_lacked = |m: usize, method: &Method| method.metrics[m].is_empty();
        (0..metrics.len())
            .all(|m| !is_lacked(m, one) || all.iter().all(|other| is_lacked(m, other)))
    };
    let unbeaten = compared.iter().zip(&all).filter(|(_, one)| is_known(one) && !is_beaten(one));
    unbeaten.map(|(cell, _)| *cell).collect()
}

struct Method {
    sessions: BTreeSet<u32>,
    /// By metric, the values in ascending order with their sessions; none for a value of the
    /// counting pass, which follows all sessions.
    metrics: [Vec<(Option<u32>, f64)>; 3],
}

impl Method {
    fn of(cell: &Cell, metrics: [&str; 3]) -> Method {
        let values = |metric: &str| {
            let session = |sample: &Sample| match sample.pass {
                Pass::Timing => Some(sample.session),
                Pass::Counting => None,
            };
            let values = cell.counted(metric).map(|(sample, value)| (session(sample), value));
            let mut values: Vec<(Option<u32>, f64)> = values.collect();
            values.sort_by(|a, b| a.1.total_cmp(&b.1));
            values
        };
        let timed = cell.samples.iter().filter(|sample| sample.counts());
        Method { sessions: timed.map(|s| s.session).collect(), metrics: metrics.map(values) }
    }

    /// The p50 of the sessions that the other one has, too.
    fn middle(&self, metric: usize, other: &Method) -> Option<f64> {
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
