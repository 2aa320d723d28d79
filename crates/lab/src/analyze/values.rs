//! What a run says of a cell as a whole: a value per session, in logs.

use super::compare::{WALL, log_ratios};
use super::summary::sessions;
use crate::run::{Cell, Sample};
use crate::stats::{RUNS_A_SIDE, median, pseudomedian};

/// As many as the sessions of a worker have.
const ROUNDS_OF_A_BLOCK: usize = 5;

/// The median of the logs of each session.
pub(super) fn absolute(cell: &Cell, metric: &str) -> Result<Vec<f64>, String> {
    let sessions = sessions(logs(cell, metric)?.into_iter());
    Ok(in_blocks(sessions).iter().map(|logs| median(logs)).collect())
}

/// Where a round is a session, five of them in a row make one value, so that what is odd in one of them does not
/// stand for itself; fewer, where fewer than five values would be left.
fn in_blocks(sessions: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let block = (sessions.len() / RUNS_A_SIDE).min(ROUNDS_OF_A_BLOCK);
    if block < 2 || sessions.iter().any(|rounds| rounds.len() > 1) {
        return sessions;
    }
    let starts = (0..=sessions.len() - block).step_by(block);
    // What is left over belongs to the last one.
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
    let log = |(sample, value): (&'a Sample, f64)| {
        let log = value.ln();
        let why = || format!("{metric} is {value} in a sample, which gives no ratio");
        log.is_finite().then_some((sample, log)).ok_or_else(why)
    };
    let logs = cell.counted(metric).map(log).collect::<Result<Vec<_>, String>>()?;
    if logs.is_empty() { Err(format!("{metric} was not measured")) } else { Ok(logs) }
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
}
