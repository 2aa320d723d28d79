//! Inference where a session or a whole run counts as one value: from the sessions of a run, from
//! two sides of runs, and how small a shift is found.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal, StudentsT};

use super::paired::{Shift, SignedRank, hodges_lehmann, pseudomedian};

// Inference by session: an effect that a process has for its whole life (its memory layout, its
// CPU) is in all of its rounds, so that a session counts as one value, however many rounds it has.

/// Fewer sessions give no interval: at the level of many comparisons it would be useless.
pub const SESSIONS_NEEDED: usize = 5;

/// From this number of sessions on, the interval is that of the exact signed-rank test. In the
/// simulation of the benchmark `statistics` both keep the level. With normal values Student's
/// interval finds a difference equally often; with the outliers of sessions of one round the signed
/// ranks find it two to five times as often. With fewer sessions the signed ranks cannot reach the
/// levels of many comparisons. Only the number decides, never the data.
const RANKED: usize = 20;

/// The shift of the sessions, each represented by the pseudomedian of its rounds; sessions without
/// a round are ignored. None if there is no value, or one that is not finite.
pub fn by_session(sessions: &[Vec<f64>], alpha: f64) -> Option<Shift> {
    let taken = sessions.iter().filter(|rounds| !rounds.is_empty());
    let values: Vec<f64> = taken.map(|rounds| pseudomedian(rounds)).collect::<Option<_>>()?;
    of_values(&values, alpha)
}

/// The shift of independent values. None if there is no value, or one that is not finite.
pub(crate) fn of_values(values: &[f64], alpha: f64) -> Option<Shift> {
    let n = values.len();
    if n >= RANKED && SignedRank::new(n).bound(alpha) > 0 {
        return hodges_lehmann(values, alpha);
    }
    students(values, alpha)
}

/// The mean with Student's interval.
pub(super) fn students(values: &[f64], alpha: f64) -> Option<Shift> {
    let n = values.len();
    let count = n as f64;
    let estimate = values.iter().sum::<f64>() / count;
    if !estimate.is_finite() {
        return None;
    }
    if n < SESSIONS_NEEDED {
        return Some(Shift { n, estimate, interval: None, p: 1.0 });
    }
    let variance = values.iter().map(|x| (x - estimate).powi(2)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    let null = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    let half_width = -null.inverse_cdf(alpha / 2.0) * error;
    let p = match estimate.abs() / error {
        t if t.is_nan() => 1.0,
        t => (2.0 * null.sf(t)).min(1.0),
    };
    Some(Shift { n, estimate, interval: Some((estimate - half_width, estimate + half_width)), p })
}

// Two sides that were not measured in the same rounds: before and after, or two machines. What
// differs between them besides the method does not vary within their rounds, so that a whole run
// counts as one value.

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
pub(crate) fn between_single(
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
pub(crate) fn mean_shift(sessions: &[f64], alpha: f64) -> Option<Shift> {
    students(sessions, alpha).filter(|shift| shift.interval.is_some())
}

/// How much neighbouring values of a series differ, as the standard deviation of one value: a
/// single step in the series, such as a change of the program, hardly affects it. None for fewer
/// than five values.
pub(crate) fn neighbour_sd(values: &[f64]) -> Option<f64> {
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

// The smallest shift that a decision rule finds in four of five cases. A user should know it
// before relying on the rule.

/// The probability with which the shift is to be found.
pub(crate) const FOUND: f64 = 0.8;

/// The number of equally likely parts into which a distribution is divided.
const PARTS: usize = 400;

/// The shift, in units of the standard deviation of one value, that the lower bound of Student's
/// interval shows to be above 0 in each of `runs` runs of `n` values. None for fewer than five
/// values.
pub(crate) fn shift_found_by_each(n: usize, alpha: f64, runs: i32) -> Option<f64> {
    if n < RUNS_A_SIDE {
        return None;
    }
    let free = n as f64 - 1.0;
    let t = StudentsT::new(0.0, 1.0, free).ok()?.inverse_cdf(1.0 - alpha / 2.0);
    let (normal, spread) = (Normal::new(0.0, 1.0).ok()?, ChiSquared::new(free).ok()?);
    // The factor by which the standard deviation of the values is under- or overestimated.
    let estimated: Vec<f64> =
        parts().map(|part| (spread.inverse_cdf(part) / free).sqrt()).collect();
    let root = (n as f64).sqrt();
    smallest(|shift| {
        let one = estimated.iter().map(|sd| normal.cdf(shift * root - t * sd)).sum::<f64>();
        (one / PARTS as f64).powi(runs)
    })
}

/// The shift that the lower bound of an interval of this half width shows to be above 0 in each of
/// two runs, both compared with one earlier run, where runs differ by `run_sd`.
pub(crate) fn shift_found_from_baseline(half_width: f64, run_sd: f64) -> Option<f64> {
    if !half_width.is_finite() || run_sd <= 0.0 {
        return Some(half_width).filter(|shift| shift.is_finite());
    }
    let normal = Normal::new(0.0, 1.0).ok()?;
    // The deviation of the earlier run is in both comparisons.
    let earlier: Vec<f64> = parts().map(|part| normal.inverse_cdf(part)).collect();
    let half_width = half_width / run_sd;
    let found = smallest(|shift| {
        let both = |z: &f64| normal.cdf(shift - half_width - z).powi(2);
        earlier.iter().map(both).sum::<f64>() / PARTS as f64
    });
    found.map(|shift| shift * run_sd)
}

/// The midpoints of equally likely parts.
fn parts() -> impl Iterator<Item = f64> {
    (0..PARTS).map(|part| (part as f64 + 0.5) / PARTS as f64)
}

/// Where a probability that grows with the shift reaches [`FOUND`].
fn smallest(chance: impl Fn(f64) -> f64) -> Option<f64> {
    let mut high = 1.0;
    while chance(high) < FOUND {
        high *= 2.0;
        if high > 1e9 {
            return None;
        }
    }
    let mut low = 0.0;
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if chance(middle) < FOUND { low = middle } else { high = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // scipy.stats.t.interval(0.95, 4, loc=3, scale=scipy.stats.sem([1, 2, 3, 4, 5]))
        let sessions: Vec<Vec<f64>> = (1..=5).map(|x| vec![f64::from(x)]).collect();
        let found = by_session(&sessions, 0.05).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!((low - 1.036_756_838_522_439).abs() < 1e-6, "{low}");
        assert!((high - 4.963_243_161_477_561).abs() < 1e-6, "{high}");
        // scipy.stats.ttest_1samp([1, 2, 3, 4, 5], 0).pvalue
        assert!((found.p - 0.013_235_6).abs() < 1e-6, "{}", found.p);
    }

    #[test]
    fn equal_sessions_have_an_interval_without_width() {
        for n in [5, 20, 100] {
            let found = by_session(&vec![vec![0.5; 3]; n], 0.05).unwrap();
            assert_eq!(found.interval, Some((0.5, 0.5)), "{n} sessions");
            assert!(found.p < 0.001, "{found:?}");
            let found = by_session(&vec![vec![0.0; 3]; n], 0.05).unwrap();
            assert_eq!((found.interval, found.p), (Some((0.0, 0.0)), 1.0), "{n} sessions");
        }
    }

    #[test]
    fn fewer_than_five_sessions_have_no_interval_however_many_rounds_they_have() {
        for n in 1..5 {
            let found = by_session(&vec![vec![1.0; 100]; n], 0.05).unwrap();
            assert_eq!((found.n, found.estimate), (n, 1.0));
            assert_eq!((found.interval, found.p), (None, 1.0));
        }
        assert_eq!(by_session(&[], 0.05), None);
        assert_eq!(by_session(&[Vec::new()], 0.05), None);
        assert_eq!(by_session(&[vec![1.0, f64::NAN]], 0.05), None);
    }

    #[test]
    fn rounds_of_one_process_do_not_make_its_difference_sure() {
        // 1 % up or down for the life of a process, and rounds that hardly vary.
        let session = |i: u32| -> Vec<f64> {
            let process = if i.is_multiple_of(2) { 0.01 } else { -0.01 };
            (0..10).map(|round| process + f64::from((i * 10 + round) * 7 % 11) * 1e-5).collect()
        };
        let sessions: Vec<Vec<f64>> = (0..10).map(session).collect();
        let found = by_session(&sessions, 0.05).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!(low < -0.007 && 0.007 < high, "{low} to {high}");
    }

    #[test]
    fn a_drift_does_not_hide_a_difference_that_every_session_shows() {
        let session = |i: u32| (0..10).map(|r| 1.0 + f64::from(10 * i + r) * 1e-3).collect();
        let found = by_session(&(0..10).map(session).collect::<Vec<_>>(), 0.05).unwrap();
        assert!(found.interval.unwrap().0 > 1.0);
    }

    #[test]
    fn from_twenty_sessions_on_one_outlier_does_not_hide_a_difference() {
        let sessions = |n: u32| -> Vec<Vec<f64>> {
            let value = |i: u32| if i == 3 { 9.0 } else { 0.1 + f64::from(i * 7 % 13) * 1e-3 };
            (0..n).map(|i| vec![value(i)]).collect()
        };
        let alpha = 0.05 / 13.0;
        assert!(by_session(&sessions(19), alpha).unwrap().interval.unwrap().0 < 0.0);
        let found = by_session(&sessions(20), alpha).unwrap();
        assert!(found.interval.unwrap().0 > 0.1 && found.p < alpha, "{found:?}");
        // A level that twenty signs cannot reach.
        assert!(by_session(&sessions(20), 1e-7).unwrap().interval.unwrap().0 < 0.0);
    }
}

#[cfg(test)]
mod sides_tests {
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

#[cfg(test)]
mod power_tests {
    use super::*;

    #[test]
    fn the_power_is_that_of_students_test() {
        // R: power.t.test(n = 10, sd = 1, power = 0.8, type = "one.sample") gives delta 0.9964; n =
        // 20 0.6604.
        for (n, delta) in [(10, 0.9964), (20, 0.6604)] {
            let found = shift_found_by_each(n, 0.05, 1).unwrap();
            assert!((found / delta - 1.0).abs() < 0.01, "{n}: {found}");
        }
        assert_eq!(shift_found_by_each(4, 0.05, 1), None);
        // Two runs must both show it, at the level for more lines.
        let two = shift_found_by_each(10, 0.05, 2).unwrap();
        assert!(two > 1.1 && shift_found_by_each(10, 0.005, 2).unwrap() > two, "{two}");
    }

    #[test]
    fn of_a_baseline_the_interval_must_be_cleared_by_both_runs() {
        // Without noise, a shift of the half width is enough.
        assert_eq!(shift_found_from_baseline(0.1, 0.0), Some(0.1));
        let found = shift_found_from_baseline(3.0, 1.0).unwrap();
        // One run alone would need 3 + √2 · 0.8416.
        assert!((4.19..4.7).contains(&found), "{found}");
        assert_eq!(shift_found_from_baseline(f64::INFINITY, 0.0), None);
        assert_eq!(shift_found_from_baseline(f64::NAN, 1.0), None);
    }

    #[test]
    fn five_values_show_a_shift_and_its_unit_does_not_matter() {
        assert!(shift_found_by_each(5, 0.05, 1).is_some());
        let [one, two] = [(3.0, 1.0), (6.0, 2.0)]
            .map(|(half_width, run_sd)| shift_found_from_baseline(half_width, run_sd).unwrap());
        assert!((two / one - 2.0).abs() < 1e-9, "{one} {two}");
    }
}
