//! The values of a cell as a whole: one value per session, in logs.

use std::collections::BTreeSet;

use super::unusable::Unusable;
use crate::metric::WALL;
use crate::run::{Cell, Sample};
use crate::stats::{RUNS_A_SIDE, median, pseudomedian};

/// The same number as the sessions of a worker have.
const ROUNDS_OF_A_BLOCK: usize = 5;

/// The median of the logs of each session.
pub(super) fn absolute(cell: &Cell, metric: &str) -> Result<Vec<f64>, String> {
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
pub(super) fn relative(cell: &Cell, reference: &Cell, metric: &str) -> Result<Vec<f64>, String> {
    let sessions = log_ratios(cell, reference, metric)?;
    let sessions = in_blocks(sessions);
    let shifts: Vec<f64> = sessions.iter().filter_map(|rounds| pseudomedian(rounds)).collect();
    if shifts.is_empty() {
        let what = if metric == WALL { "measured" } else { metric };
        return Err(format!("there is no round in which both were {what}"));
    }
    Ok(shifts)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The logs of all samples.
pub(super) fn of_samples(cell: &Cell, metric: &str) -> Result<Vec<f64>, String> {
    Ok(logs(cell, metric)?.into_iter().map(|(_, log)| log).collect())
}

fn logs<'a>(cell: &'a Cell, metric: &'a str) -> Result<Vec<(&'a Sample, f64)>, String> {
    ensure_usable(cell)?;
    let log = |(sample, value): (&'a Sample, f64)| {
        let log = value.ln();
        let why = || format!("{metric} is {value} in a sample, which gives no ratio");
        log.is_finite().then_some((sample, log)).ok_or_else(why)
    };
    let logs = cell.counted(metric).map(log).collect::<Result<Vec<_>, String>>()?;
    if logs.is_empty() { Err(format!("{metric} was not measured")) } else { Ok(logs) }
}

/// The values of each session.
pub(super) fn sessions<'a>(counted: impl Iterator<Item = (&'a Sample, f64)>) -> Vec<Vec<f64>> {
    let counted = counted.map(|(sample, value)| (sample.session, value));
    Sessions::new(counted).slices().into_iter().map(<[f64]>::to_vec).collect()
}

/// The values of all sessions, one session after the other.
pub(super) struct Sessions {
    values: Vec<f64>,
    /// By session, where its values end.
    ends: Vec<usize>,
}

impl Sessions {
    /// From values with the numbers of their sessions.
    pub(super) fn new(counted: impl Iterator<Item = (u32, f64)>) -> Sessions {
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

    pub(super) fn slices(&self) -> Vec<&[f64]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.values[start..*end]).collect()
    }
}

/// [`numbered_log_ratios`] without the numbers of the sessions.
pub(super) fn log_ratios(
    cell: &Cell,
    reference: &Cell,
    metric: &str,
) -> Result<Vec<Vec<f64>>, String> {
    let sessions = numbered_log_ratios([(cell, metric), (reference, metric)])?;
    Ok(sessions.into_iter().map(|(_, logs)| logs).collect())
}

/// ln(method / reference) of the rounds in which both have a sample that counts, by the number of
/// the session. A value that is not above 0 has no logarithm. Leaving out its round would be a
/// selection by the result, so the metric is then not compared at all.
pub(super) fn numbered_log_ratios(
    [(cell, metric), (reference, of_reference)]: [(&Cell, &str); 2],
) -> Result<Vec<(u32, Vec<f64>)>, String> {
    ensure_usable(cell)?;
    ensure_usable(reference)?;
    ratios([Rounds::of(cell, metric), Rounds::of(reference, of_reference)], metric)
}

/// Fails if its figures cannot be compared.
fn ensure_usable(cell: &Cell) -> Result<(), String> {
    Unusable::of(cell).map_or(Ok(()), |why| Err(format!("{} {why}", cell.method)))
}

/// The same of values that are not those of a metric.
pub(super) fn ratios(
    [ours, theirs]: [Rounds; 2],
    metric: &str,
) -> Result<Vec<(u32, Vec<f64>)>, String> {
    let mut theirs = theirs.0.into_iter().peekable();
    let mut sessions: Vec<(u32, Vec<f64>)> = Vec::new();
    for (round, y) in ours.0 {
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

/// Values by session and round, in order, one of each round.
pub(super) struct Rounds(Vec<((u32, u32), f64)>);

impl Rounds {
    pub(super) fn new(values: impl Iterator<Item = ((u32, u32), f64)>) -> Rounds {
        let mut values: Vec<_> = values.collect();
        values.sort_by_key(|(place, _)| *place);
        values.dedup_by_key(|(place, _)| *place);
        Rounds(values)
    }

    /// Those of a metric, of the samples that count.
    pub(super) fn of(cell: &Cell, metric: &str) -> Rounds {
        Rounds::new(cell.counted(metric).map(|(s, value)| ((s.session, s.round), value)))
    }

    /// In how many of the rounds that both have of `all` only the first of these two has a value,
    /// and in how many only the second one, as far as a round counts.
    pub(super) fn only_one(
        all: [&Rounds; 2],
        these: [&Rounds; 2],
        counts: impl Fn((u32, u32)) -> bool,
    ) -> [u64; 2] {
        let set = |rounds: &Rounds| -> BTreeSet<(u32, u32)> {
            rounds.0.iter().map(|(round, _)| *round).collect()
        };
        let ([x, y], [ours, theirs]) = (all.map(set), these.map(set));
        let shared = x.intersection(&y).filter(|round| counts(**round));
        shared.fold([0, 0], |[a, b], round| match (ours.contains(round), theirs.contains(round)) {
            (true, false) => [a + 1, b],
            (false, true) => [a, b + 1],
            _ => [a, b],
        })
    }
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
        use crate::analyze::tests::cell;

        let of = |y: f64, x: f64| {
            let (cell, other) = (cell("a", [1.0, y]), cell("b", [1.0, x]));
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
        use crate::analyze::tests::cell;

        let mut other = cell("b", [1.0; 3]);
        other.samples.iter_mut().for_each(|sample| sample.round += 3);
        let of = |metric| relative(&cell("a", [1.0; 3]), &other, metric);
        let reason = |what| Err(format!("there is no round in which both were {what}"));
        assert_eq!(of(WALL), reason("measured"));
        assert_eq!(of("cpu_ns"), reason("cpu_ns"));
    }
}
