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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::tests::{cell, close};
    use crate::metric::WALL;

    /// A method with these logs of its times, each in a session of its own, and one beside it whose
    /// logs are 0.
    fn run(logs: &[f64]) -> [Cell; 2] {
        ["new", "old"].map(|name| {
            let is_new = f64::from(u8::from(name == "new"));
            let mut cell = cell(name, logs.iter().map(|log| (is_new * log).exp()));
            for (i, sample) in (0..).zip(&mut cell.samples) {
                (sample.session, sample.round) = (i, 0);
            }
            cell
        })
    }

    fn check(runs: &[[Cell; 2]], expected: (usize, f64, f64, f64)) {
        let runs: Vec<Vec<&Cell>> = runs.iter().map(|cells| cells.iter().collect()).collect();
        let (n, found) = effect(&runs, ["new", "old"], WALL).unwrap();
        assert_eq!(n, expected.0);
        close(Some(found.estimate), expected.1, 1e-9);
        close(Some(found.variance), expected.2, 1e-9);
        close(Some(found.degrees), expected.3, 1e-9);
    }

    #[test]
    fn from_five_runs_on_each_is_a_value() {
        // The variance of 1 to 5 is 2.5.
        check(&[1.0, 2.0, 3.0, 4.0, 5.0].map(|log| run(&[log])), (5, 3.0, 2.5 / 5.0, 4.0));
    }

    #[test]
    fn fewer_runs_differ_at_least_as_much_as_their_sessions() {
        // The variance of the means of five sessions is 2.5 / 5, that of six 1.2 / 6, on average
        // 0.35. The means of the runs are equal.
        let runs = [run(&[1.0, 2.0, 3.0, 4.0, 5.0]), run(&[2.0, 2.0, 2.0, 4.0, 4.0, 4.0])];
        check(&runs, (2, 3.0, 0.35 / 2.0, 4.0 + 5.0));
        // The sessions do not differ, the means of the runs have a variance of 2.
        check(&[run(&[1.0; 5]), run(&[3.0; 5])], (2, 2.0, 2.0 / 2.0, 4.0 + 4.0));
        // Of one run four sessions are not enough.
        check(&[run(&[1.0; 5]), run(&[3.0; 4])], (2, 2.0, 0.0, 0.0));
    }

    #[test]
    fn the_interval_of_an_effect_is_students() {
        // t(0.975, 4) is 2.776445, and the standard deviation 2.
        let known = GroupEffect { estimate: 1.0, variance: 4.0, degrees: 4.0 };
        let (low, high) = interval(&known, 0.05).unwrap();
        close(Some(low), 1.0 - 2.0 * 2.776_445, 1e-5);
        close(Some(high), 1.0 + 2.0 * 2.776_445, 1e-5);
        assert_eq!(interval(&GroupEffect { degrees: 0.0, ..known }, 0.05), None);
    }
}
