//! The effect of a method in one group of runs, by one value per run, or by the sessions of few
//! runs.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::analyze::values::{mean, relative};
use crate::run::Cell;
use crate::stats::{GroupEffect, RUNS_A_SIDE, SESSIONS_NEEDED, moments};

/// The number of runs with both methods, and the mean of the logs of their ratios. From five runs
/// on, each counts as one value. Fewer runs are assumed to differ at least as much as their
/// sessions do; where one of them has fewer than five sessions, the degrees of freedom are 0, and
/// the variance is not known. None if no run has both.
pub(super) fn effect(
    runs: &[Vec<&Cell>],
    methods: [&str; 2],
    metric: &str,
) -> Option<(usize, GroupEffect)> {
    let of_run = |cells: &Vec<&Cell>| {
        let [cell, to] = methods.map(|name| cells.iter().find(|cell| cell.method == name));
        relative(cell?, to?, metric).ok()
    };
    let sessions: Vec<Vec<f64>> = runs.iter().filter_map(of_run).collect();
    let values: Vec<f64> = sessions.iter().map(|sessions| mean(sessions)).collect();
    let n = values.len();
    let all = moments(&values)?;
    let between = all.standard_deviation.unwrap_or_default().powi(2);
    let (variance, degrees) = if n >= RUNS_A_SIDE {
        (between, n as f64 - 1.0)
    } else if sessions.iter().all(|sessions| sessions.len() >= SESSIONS_NEEDED) {
        let within = |sessions: &Vec<f64>| {
            let spread = moments(sessions).and_then(|found| found.standard_deviation);
            spread.unwrap_or_default().powi(2) / sessions.len() as f64
        };
        let within = sessions.iter().map(within).sum::<f64>() / n as f64;
        let degrees: usize = sessions.iter().map(|sessions| sessions.len() - 1).sum();
        (between.max(within), degrees as f64)
    } else {
        (0.0, 0.0)
    };
    Some((n, GroupEffect { estimate: all.mean, variance: variance / n as f64, degrees }))
}

/// Student's interval; none if the variance is not known.
pub(super) fn interval(effect: &GroupEffect, alpha: f64) -> Option<(f64, f64)> {
    let student = StudentsT::new(0.0, 1.0, effect.degrees).ok()?;
    let half_width = -student.inverse_cdf(alpha / 2.0) * effect.variance.sqrt();
    Some((effect.estimate - half_width, effect.estimate + half_width))
}
