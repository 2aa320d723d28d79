//! Inference by session: an effect that a process has for its whole life (its memory layout, its
//! CPU) is in all of its rounds, so that a session counts as one value, however many rounds it has.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::paired::{Shift, hodges_lehmann, pseudomedian};
use super::signed_rank::SignedRank;

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
pub fn of_values(values: &[f64], alpha: f64) -> Option<Shift> {
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
