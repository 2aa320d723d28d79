//! What a run says of a cell as a whole: a value per session, in logs.

use super::compare::{WALL, log_ratios};
use crate::run::Cell;
use crate::stats::{median, pseudomedian};

/// The median of the logs of each session.
pub(super) fn absolute(cell: &Cell, metric: &str) -> Result<Vec<f64>, String> {
    let mut sessions: Vec<(u32, Vec<f64>)> = Vec::new();
    for (sample, value) in cell.counted(metric) {
        let log = value.ln();
        if !log.is_finite() {
            return Err(format!("{metric} is {value} in a sample, which gives no ratio"));
        }
        match sessions.iter_mut().find(|(session, _)| *session == sample.session) {
            Some((_, logs)) => logs.push(log),
            None => sessions.push((sample.session, vec![log])),
        }
    }
    if sessions.is_empty() {
        return Err(format!("{metric} was not measured"));
    }
    Ok(sessions.iter().map(|(_, logs)| median(logs)).collect())
}

/// The shift from the reference in each session, round by round.
pub(super) fn relative(cell: &Cell, reference: &Cell, metric: &str) -> Result<Vec<f64>, String> {
    let sessions = log_ratios(cell, reference, metric)?;
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
    let log = |value: f64| {
        let log = value.ln();
        let why = || format!("{metric} is {value} in a sample, which gives no ratio");
        log.is_finite().then_some(log).ok_or_else(why)
    };
    let logs = cell.counted(metric).map(|(_, value)| log(value));
    let logs = logs.collect::<Result<Vec<f64>, String>>()?;
    if logs.is_empty() { Err(format!("{metric} was not measured")) } else { Ok(logs) }
}
