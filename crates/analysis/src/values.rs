//! The values of a cell: one per session in logs, those of the sessions that it shares with another
//! cell, and the distribution of each metric.

use model::metric::{METRICS, WALL, unit};
use model::run::Plan;

use super::analysis::{ALPHA, CellSummary, Family, Percentile, Summary};
use super::facts::{CellFacts, Rounds, RunFacts, SampleKey, place};
use crate::stats::{
    LOOKS, Pooled, RUNS_A_SIDE, SESSIONS_NEEDED, last_look, median, nearest_rank, pseudomedian,
};

/// The same number as the sessions of a worker have.
const ROUNDS_OF_A_BLOCK: usize = 5;

/// The median of the logs of each session.
pub(crate) fn absolute(cell: &CellFacts<'_>, metric: &str) -> Result<Vec<f64>, String> {
    let sessions = sessions(logs(cell, metric)?.into_iter());
    Ok(in_blocks(sessions).iter().map(|logs| median(logs)).collect())
}

/// Where a round is a session, five consecutive rounds make one value, so that an outlier in one of
/// them does not stand alone; fewer rounds are used where fewer than five values would remain.
fn in_blocks(sessions: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let block = (sessions.len() / RUNS_A_SIDE).min(ROUNDS_OF_A_BLOCK);
    if block < 2 || sessions.iter().any(|rounds| rounds.len() > 1) {
        return sessions;
    }
    let starts = (0..=sessions.len() - block).step_by(block);
    // Remaining rounds belong to the last block.
    let end =
        |start| if start + 2 * block > sessions.len() { sessions.len() } else { start + block };
    starts.map(|start| sessions[start..end(start)].concat()).collect()
}

/// The shift from the reference in each session, round by round.
pub(crate) fn relative(
    cell: &CellFacts<'_>,
    reference: &CellFacts<'_>,
    metric: &str,
) -> Result<Vec<f64>, String> {
    let sessions = log_ratios(cell, reference, metric)?;
    let sessions = in_blocks(sessions);
    let shifts: Vec<f64> = sessions.iter().filter_map(|rounds| pseudomedian(rounds)).collect();
    if shifts.is_empty() {
        let what = if metric == WALL { "measured" } else { metric };
        return Err(format!("there is no round in which both were {what}"));
    }
    Ok(shifts)
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The logs of all samples.
pub(crate) fn of_samples(cell: &CellFacts<'_>, metric: &str) -> Result<Vec<f64>, String> {
    Ok(logs(cell, metric)?.into_iter().map(|(_, log)| log).collect())
}

fn logs(cell: &CellFacts<'_>, metric: &str) -> Result<Vec<(SampleKey, f64)>, String> {
    ensure_usable(cell)?;
    let log = |(key, value): (SampleKey, f64)| {
        let log = value.ln();
        let why = || format!("{metric} is {value} in a sample, which gives no ratio");
        log.is_finite().then_some((key, log)).ok_or_else(why)
    };
    let logs = cell.counted(metric).map(log).collect::<Result<Vec<_>, String>>()?;
    if logs.is_empty() { Err(format!("{metric} was not measured")) } else { Ok(logs) }
}

/// The values of each session.
pub(crate) fn sessions(counted: impl Iterator<Item = (SampleKey, f64)>) -> Vec<Vec<f64>> {
    let counted = counted.map(|(key, value)| (key.session, value));
    Sessions::new(counted).slices().into_iter().map(<[f64]>::to_vec).collect()
}

/// The values of all sessions, one session after the other.
pub(crate) struct Sessions {
    values: Vec<f64>,
    /// By session, where its values end.
    ends: Vec<usize>,
}

impl Sessions {
    /// From values with the numbers of their sessions.
    pub(crate) fn new(counted: impl Iterator<Item = (u32, f64)>) -> Sessions {
        let mut counted: Vec<(u32, f64)> = counted.collect();
        // Those of a run are nearly always in order, which is known faster than sorted.
        if !counted.is_sorted_by_key(|(session, _)| *session) {
            counted.sort_by_key(|(session, _)| *session);
        }
        let lens = counted.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len);
        let ends = lens.scan(0, |end, len| {
            *end += len;
            Some(*end)
        });
        let ends = ends.collect();
        Sessions { values: counted.into_iter().map(|(_, value)| value).collect(), ends }
    }

    pub(crate) fn slices(&self) -> Vec<&[f64]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.values[start..*end]).collect()
    }
}

/// [`numbered_log_ratios`] without the numbers of the sessions.
pub(crate) fn log_ratios(
    cell: &CellFacts<'_>,
    reference: &CellFacts<'_>,
    metric: &str,
) -> Result<Vec<Vec<f64>>, String> {
    let sessions = numbered_log_ratios([(cell, metric), (reference, metric)])?;
    Ok(sessions.into_iter().map(|(_, logs)| logs).collect())
}

/// ln(method / reference) of the rounds in which both have a sample that counts, by the number of
/// the session. A value that is not above 0 has no logarithm. Leaving out its round would be a
/// selection by the result, so the metric is then not compared at all.
pub(crate) fn numbered_log_ratios(
    [(cell, metric), (reference, of_reference)]: [(&CellFacts<'_>, &str); 2],
) -> Result<Vec<(u32, Vec<f64>)>, String> {
    ensure_usable(cell)?;
    ensure_usable(reference)?;
    ratios([&cell.rounds(metric), &reference.rounds(of_reference)], metric)
}

/// Fails if its figures cannot be compared.
fn ensure_usable(cell: &CellFacts<'_>) -> Result<(), String> {
    cell.unusable.map_or(Ok(()), |why| Err(format!("{} {why}", cell.stored.method)))
}

/// The same of values that are not those of a metric.
fn ratios([ours, theirs]: [&Rounds; 2], metric: &str) -> Result<Vec<(u32, Vec<f64>)>, String> {
    let mut theirs = theirs.iter().peekable();
    let mut sessions: Vec<(u32, Vec<f64>)> = Vec::new();
    for (round, y) in ours.iter() {
        while theirs.next_if(|(other, _)| *other < round).is_some() {}
        let Some((_, x)) = theirs.next_if(|(other, _)| *other == round) else { continue };
        let log = (y / x).ln();
        if !(x > 0.0 && y > 0.0 && log.is_finite()) {
            return Err(format!("{metric} is {y} and {x} in a round, which gives no ratio"));
        }
        match sessions.last_mut() {
            Some((session, logs)) if *session == round.0 => logs.push(log),
            _ => sessions.push((round.0, vec![log])),
        }
    }
    Ok(sessions)
}

// Which of the sessions that two cells share are compared, and at which level: all of them, or
// those of the last look of a run whose results decide when it ends.

/// The sessions by which two cells are compared.
pub(crate) struct Compared {
    /// ln(method / reference) of each round, by session.
    pub logs: Vec<Vec<f64>>,
    /// The α of the interval; none where the sessions are too few for one.
    pub alpha: Option<f64>,
    /// The place of the last of these sessions in the run, where later ones do not count.
    last: Option<u32>,
}

/// The first sessions that both share, as many as the last look has; all of them in a run of a
/// fixed design.
pub(crate) fn compared(
    plan: &Plan,
    cells: [&CellFacts<'_>; 2],
    metric: &str,
    alpha: f64,
) -> Result<Compared, String> {
    compared_metrics(plan, cells.map(|cell| (cell, metric)), alpha)
}

/// The same where each of the two cells has a metric of its own.
pub(crate) fn compared_metrics(
    plan: &Plan,
    both: [(&CellFacts<'_>, &str); 2],
    alpha: f64,
) -> Result<Compared, String> {
    Ok(until_look(plan, numbered_log_ratios(both)?, alpha))
}

/// The same of values that are not those of a metric.
pub(crate) fn compared_rounds(
    plan: &Plan,
    rounds: [&Rounds; 2],
    metric: &str,
    alpha: f64,
) -> Result<Compared, String> {
    Ok(until_look(plan, ratios(rounds, metric)?, alpha))
}

fn until_look(plan: &Plan, mut shared: Vec<(u32, Vec<f64>)>, alpha: f64) -> Compared {
    let alpha = at_last_look(plan, &mut shared, alpha);
    let last = shared.last().filter(|_| !plan.design.is_fixed());
    let last = last.map(|(session, _)| place(plan, *session));
    let logs = shared.into_iter().map(|(_, logs)| logs).collect();
    Compared { logs, alpha, last }
}

/// Keeps, of the values of sessions, those that the last look has, all in a run of a fixed design.
/// Returns the α of their interval; none where the sessions are too few for one.
pub(crate) fn at_last_look<T>(plan: &Plan, shared: &mut Vec<(u32, T)>, alpha: f64) -> Option<f64> {
    if plan.design.is_fixed() {
        return Some(alpha);
    }
    shared.sort_by_key(|(session, _)| place(plan, *session));
    let look = last_look(shared.len(), alpha)?;
    shared.truncate(look.sessions);
    Some(look.alpha)
}

impl Compared {
    /// Whether the session is not a later one.
    pub(crate) fn has_session(&self, plan: &Plan, session: u32) -> bool {
        self.last.is_none_or(|last| place(plan, session) <= last)
    }
}

/// The number of sessions that an interval needs.
pub(crate) fn sessions_needed(plan: &Plan) -> usize {
    if plan.design.is_fixed() { SESSIONS_NEEDED } else { LOOKS[0] }
}

// The distribution of each metric of a cell.

const PERCENTILES: [f64; 7] = [0.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0];

/// The summaries of all cells, in their order.
pub(crate) fn cell_summaries(facts: &RunFacts<'_>, families: &[Family]) -> Vec<CellSummary> {
    let of_cell = |cell: &CellFacts<'_>| {
        let known = METRICS.iter().map(|metric| metric.name);
        let metrics = known.chain(cell.custom_metrics()).filter_map(|name| summary(cell, name));
        cell_summary(cell, families, metrics.collect())
    };
    facts.cells.iter().map(of_cell).collect()
}

/// The summary of a cell from those of its metrics.
pub(crate) fn cell_summary(
    cell: &CellFacts<'_>,
    families: &[Family],
    metrics: Vec<Summary>,
) -> CellSummary {
    CellSummary {
        cell: cell.index,
        metrics,
        not_counted: cell.not_counted,
        pareto: families.iter().any(|family| family.pareto.contains(&cell.index)),
        answer: cell.answers.single().map(str::to_owned),
        wrong_answer: cell.wrong.is_some(),
        left_running: cell.left_running,
        unusable: cell.unusable,
    }
}

/// None if no sample that is shown has the metric.
fn summary(cell: &CellFacts<'_>, metric: &str) -> Option<Summary> {
    let samples = cell.shown(metric);
    let sessions = Sessions::new(samples.iter().map(|(key, value)| (key.session, *value)));
    let sessions = sessions.slices();
    let pooled = Pooled::new(&sessions);
    let sorted = pooled.sorted();
    let n = sorted.len();
    Some(Summary {
        metric: metric.to_owned(),
        unit: unit(metric),
        n,
        sessions: sessions.len(),
        ops: samples.iter().map(|(key, _)| key.ops).max().unwrap_or(1),
        constant: n > 1 && sorted[0] >= sorted[n - 1],
        percentiles: percentiles(&pooled)?,
    })
}

/// Maximum number of operations per sample.
pub(crate) fn most_ops(cell: &CellFacts<'_>, metric: &str) -> u64 {
    cell.counted(metric).map(|(key, _)| key.ops).max().unwrap_or(1)
}

/// p0 p25 p50 p75 p90 p99 p100; none if there are no values.
pub(crate) fn percentiles(pooled: &Pooled<'_>) -> Option<Vec<Percentile>> {
    let percentile = |p: f64| {
        let (low, high) = pooled.interval(p, ALPHA);
        Some(Percentile { p, value: pooled.percentile(p)?, low, high })
    };
    PERCENTILES.into_iter().map(percentile).collect()
}

/// The p50.
pub(crate) fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    let rank = nearest_rank(values.len(), 50.0)?;
    Some(*values.select_nth_unstable_by(rank - 1, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_round_is_a_session_five_make_a_value() {
        let rounds = |n: u32| (0..n).map(|i| vec![f64::from(i)]).collect::<Vec<_>>();
        let lens = |n| in_blocks(rounds(n)).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lens(50), [5; 10]);
        assert_eq!(lens(27), [5, 5, 5, 5, 7]);
        assert_eq!(lens(12), [2, 2, 2, 2, 2, 2]);
        assert_eq!(lens(9), [1; 9]);
        assert_eq!(lens(0), [0; 0]);
        assert_eq!(in_blocks(rounds(12)).concat().len(), 12, "none is left out");
        let of_workers = vec![vec![1.0, 2.0]; 50];
        assert_eq!(in_blocks(of_workers.clone()), of_workers);
    }

    #[test]
    fn a_value_that_is_not_above_0_gives_no_ratio() {
        use crate::tests::{cell, facts_of};

        let of = |y: f64, x: f64| {
            let cells = [cell("a", [1.0, y]), cell("b", [1.0, x])];
            let [cell, other] = cells.each_ref().map(facts_of);
            numbered_log_ratios([(&cell, WALL), (&other, WALL)])
        };
        assert_eq!(of(1.0, 1.0), Ok(vec![(0, vec![0.0, 0.0])]));
        for (y, x) in [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (0.0, 1.0), (1.0, 0.0)] {
            let reason = format!("wall_ns is {y} and {x} in a round, which gives no ratio");
            assert_eq!(of(y, x), Err(reason));
        }
    }

    #[test]
    fn methods_without_a_shared_round_have_a_reason_for_each_metric() {
        use crate::tests::{cell, facts_of};

        let mut other = cell("b", [1.0; 3]);
        other.samples.iter_mut().for_each(|sample| sample.round += 3);
        let of = |metric| relative(&facts_of(&cell("a", [1.0; 3])), &facts_of(&other), metric);
        let reason = |what| Err(format!("there is no round in which both were {what}"));
        assert_eq!(of(WALL), reason("measured"));
        assert_eq!(of("cpu_ns"), reason("cpu_ns"));
    }
}

#[cfg(test)]
mod summary_tests {
    use super::*;
    use crate::tests::{cell, facts_of};

    #[test]
    fn one_sample_is_no_constant() {
        let is_constant = |walls: &[f64]| {
            let cell = cell("a", walls.iter().copied());
            summary(&facts_of(&cell), "wall_ns").unwrap().constant
        };
        assert!(is_constant(&[2.0, 2.0]));
        assert!(!is_constant(&[2.0]) && !is_constant(&[2.0, 3.0]));
    }

    #[test]
    fn the_largest_number_of_operations_of_a_sample_is_found() {
        let mut cell = cell("a", [1.0; 3]);
        for (sample, ops) in cell.samples.iter_mut().zip([4, 7, 5]) {
            sample.ops = ops;
        }
        let cell = facts_of(&cell);
        assert_eq!([most_ops(&cell, "wall_ns"), most_ops(&cell, "syscalls")], [7, 1]);
    }
}
