//! Two sides that were not measured in the same rounds: before and after, or two machines. What
//! differs between them besides the method does not vary within their rounds, so that a whole run
//! counts as one value.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::paired::Shift;
use super::sessions::students;

/// Fewer runs per side give no interval: Student's would be useless, and the differences between
/// days or between starts of the machine would not have been observed.
pub const RUNS_A_SIDE: usize = 5;

/// The mean of `after` minus that of `before`, each with one value per run, with the interval of
/// Welch (1947) and the degrees of freedom of Satterthwaite (1946). None if a side has no value, or
/// one that is not finite.
pub fn between(before: &[f64], after: &[f64], alpha: f64) -> Option<Shift> {
    let (x, y) = (Side::from_values(before)?, Side::from_values(after)?);
    let estimate = y.mean - x.mean;
    if x.n.min(y.n) < RUNS_A_SIDE {
        return Some(Shift { n: x.n + y.n, estimate, interval: None, p: 1.0 });
    }
    Some(shift(
        x.n + y.n,
        estimate,
        [x, y].map(|side| (side.variance / side.n as f64, side.n)),
        alpha,
    ))
}

/// The same for a single run before and one or more after, of which only the sessions are known:
/// runs are assumed to differ at least as much as sessions do, and at least by `run_sd` where that
/// is known. None if one of them has fewer than five sessions.
pub fn between_single(
    before: &[f64],
    after: &[Vec<f64>],
    run_sd: Option<f64>,
    alpha: f64,
) -> Option<Shift> {
    let x = Side::from_values(before)?;
    let runs: Vec<Side> = after.iter().map(|run| Side::from_values(run)).collect::<Option<_>>()?;
    let fewest = runs.iter().map(|run| run.n).min()?.min(x.n);
    if fewest < RUNS_A_SIDE {
        return None;
    }
    let count = runs.len() as f64;
    let mean = |of: fn(&Side) -> f64| runs.iter().map(of).sum::<f64>() / count;
    let least = run_sd.unwrap_or_default().powi(2);
    let n = runs.iter().map(|run| run.n).sum();
    let sides = [(x.variance.max(least), x.n), (mean(|run| run.variance).max(least) / count, n)];
    Some(shift(x.n + n, mean(|run| run.mean) - x.mean, sides, alpha))
}

/// The mean of one value per session, each a shift between two cells in the same rounds, with
/// Student's interval. None for fewer than five sessions.
pub fn mean_shift(sessions: &[f64], alpha: f64) -> Option<Shift> {
    students(sessions, alpha).filter(|shift| shift.interval.is_some())
}

/// How much neighbouring values of a series differ, as the standard deviation of one value: a
/// single step in the series, such as a change of the program, hardly affects it. None for fewer
/// than five values.
pub fn neighbour_sd(values: &[f64]) -> Option<f64> {
    if values.len() < RUNS_A_SIDE {
        return None;
    }
    // The median of |x| is 0.6745 standard deviations; a difference has √2 standard deviations of a
    // value.
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    Some(super::median(&steps) / 0.674_489_750_196_081_7 / std::f64::consts::SQRT_2)
}

/// `sides`: the variance of each side's mean, and the number of values from which it was estimated.
fn shift(n: usize, estimate: f64, sides: [(f64, usize); 2], alpha: f64) -> Shift {
    let variance: f64 = sides.iter().map(|(variance, _)| variance).sum();
    let spent: f64 = sides.iter().map(|(v, n)| v * v / (*n as f64 - 1.0)).sum();
    let error = variance.sqrt();
    // Values that are all equal have an interval of width zero.
    let Ok(null) = StudentsT::new(0.0, 1.0, variance * variance / spent) else {
        let p = if estimate == 0.0 { 1.0 } else { 0.0 };
        return Shift { n, estimate, interval: Some((estimate, estimate)), p };
    };
    let half_width = -null.inverse_cdf(alpha / 2.0) * error;
    let p = (2.0 * null.sf(estimate.abs() / error)).min(1.0);
    Shift { n, estimate, interval: Some((estimate - half_width, estimate + half_width)), p }
}

struct Side {
    n: usize,
    mean: f64,
    /// The variance of one value; 0 for a single one.
    variance: f64,
}

impl Side {
    fn from_values(values: &[f64]) -> Option<Side> {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        let variance = squares / (n.max(2) as f64 - 1.0);
        (n > 0 && mean.is_finite() && variance.is_finite()).then_some(Side { n, mean, variance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const X: [f64; 6] = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9];
    const Y: [f64; 5] = [27.1, 22.0, 20.8, 23.4, 23.4];

    #[test]
    fn the_interval_is_welchs() {
        // By hand: means 21, 23.34; variances 16.084, 5.598; W–S ν = 8.3064. R, t.test(Y, X).
        let found = between(&X, &Y, 0.05).unwrap();
        assert!((found.estimate - 2.34).abs() < 1e-9, "{found:?}");
        let (low, high) = found.interval.unwrap();
        let error = (16.084f64 / 6.0 + 5.598 / 5.0).sqrt();
        let t = (high - low) / 2.0 / error;
        // Student's quantile at 8.3064 degrees lies between those at 9 and 8.
        assert!((2.262..2.306).contains(&t), "{t}");
        assert!((f64::midpoint(low, high) - 2.34).abs() < 1e-9);
        assert!((0.2..0.3).contains(&found.p), "{}", found.p);
    }

    #[test]
    fn fewer_than_five_runs_a_side_have_no_interval() {
        assert_eq!(between(&X, &Y[..4], 0.05).unwrap().interval, None);
        assert_eq!(between(&X[..1], &Y[..1], 0.05).unwrap().interval, None);
        assert_eq!(between(&[], &Y, 0.05), None);
        assert_eq!(between(&[f64::NAN], &Y, 0.05), None);
        assert_eq!(between_single(&X, &[Y[..4].to_vec()], None, 0.05), None);
        assert_eq!(between_single(&X, &[], None, 0.05), None);
    }

    #[test]
    fn the_interval_of_one_side_is_students() {
        // scipy.stats.t.interval(0.95, 4, loc=3, scale=scipy.stats.sem([1, 2, 3, 4, 5]))
        let found = mean_shift(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.05).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!((low - 1.036_756_838_522_439).abs() < 1e-6, "{low}");
        assert!((high - 4.963_243_161_477_561).abs() < 1e-6, "{high}");
        assert_eq!(mean_shift(&[1.0; 4], 0.05), None);
        assert_eq!(mean_shift(&[0.5; 5], 0.05).unwrap().interval, Some((0.5, 0.5)));
    }

    #[test]
    fn equal_values_have_an_interval_without_width() {
        let found = between(&[1.0; 5], &[3.0; 5], 0.05).unwrap();
        assert_eq!((found.interval, found.p), (Some((2.0, 2.0)), 0.0));
        assert!(between(&[1.0; 5], &[1.0; 5], 0.05).unwrap().p > 0.999);
    }

    #[test]
    fn a_single_run_is_as_uncertain_as_one_of_its_sessions() {
        let half = |shift: Shift| shift.interval.map(|(low, high)| (high - low) / 2.0).unwrap();
        let one = between_single(&X, &[Y.to_vec()], None, 0.05).unwrap();
        // √(16.084 + 5.598) and Student's quantile of 8.06 to 9 degrees.
        assert!((2.2..2.32).contains(&(half(one) / 21.682f64.sqrt())), "{}", half(one));
        assert!(half(one) > 1.9 * half(between(&X, &Y, 0.05).unwrap()));
        // Twice the runs after: half of their variance.
        let two = between_single(&X, &[Y.to_vec(), Y.to_vec()], None, 0.05).unwrap();
        assert!(half(two) < half(one) && (two.estimate - one.estimate).abs() < 1e-12);
        // Runs that are known to differ more.
        let known = between_single(&X, &[Y.to_vec()], Some(20.0), 0.05).unwrap();
        assert!(half(known) > 2.0 * 20.0 * std::f64::consts::SQRT_2);
    }

    #[test]
    fn one_step_does_not_hide_what_neighbours_differ_by() {
        let noise = |i: u32| f64::from(i * 37 % 11) * 0.01;
        let calm: Vec<f64> = (0..20).map(noise).collect();
        let step: Vec<f64> = (0..20).map(|i| noise(i) + f64::from(i / 10)).collect();
        let (calm, step) = (neighbour_sd(&calm).unwrap(), neighbour_sd(&step).unwrap());
        assert!((0.5..2.0).contains(&(step / calm)), "{step} {calm}");
        assert_eq!(neighbour_sd(&[1.0; 4]), None);
        assert_eq!(neighbour_sd(&[1.0; 5]), Some(0.0));
    }

    proptest! {
        #[test]
        fn sides_that_are_exchanged_turn_the_interval_round(
            x in prop::collection::vec(-10.0..10.0f64, 5..9),
            y in prop::collection::vec(-10.0..10.0f64, 5..9),
        ) {
            let (there, back) = (between(&x, &y, 0.05).unwrap(), between(&y, &x, 0.05).unwrap());
            let ((low, high), (low_back, high_back)) = (there.interval.unwrap(), back.interval.unwrap());
            prop_assert!((low + high_back).abs() < 1e-9 && (high + low_back).abs() < 1e-9);
            prop_assert!(low <= there.estimate && there.estimate <= high);
            // The p agrees with the interval.
            prop_assert_eq!(there.p < 0.05, low > 0.0 || high < 0.0);
        }
    }

    #[test]
    fn the_values_of_both_sides_are_counted() {
        let n = |shift: Option<Shift>| shift.unwrap().n;
        assert_eq!(n(between(&X, &Y, 0.05)), 11);
        assert_eq!(n(between(&X, &Y[..4], 0.05)), 10);
        assert_eq!(n(between_single(&X, &[Y.to_vec(), Y.to_vec()], None, 0.05)), 16);
    }

    #[test]
    fn neighbours_that_differ_by_1_have_the_deviation_of_a_normal_value() {
        // 1 / 0.67449 / 1.41421
        let found = neighbour_sd(&[0.0, 1.0, 0.0, 1.0, 0.0]).unwrap();
        assert!((found - 1.048_358).abs() < 1e-6, "{found}");
    }
}
