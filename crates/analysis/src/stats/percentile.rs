//! Percentiles: the value is a sample that was measured. The intervals cover the variation between
//! processes, not only within the processes that were started: the samples of a session depend on
//! each other.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

use super::median_of;
use super::sessions::{SESSIONS_NEEDED, students};

/// The interval of the percentile at 1 − α; a bound is None where it is not known.
///
/// * Where each session has one sample, and where there is one session, the ends are order
///   statistics. For one session, the interval does not include how much processes differ.
/// * p50: Student's interval of the sessions' medians, in logs where all are above 0.
/// * Others: order statistics of the number of independent samples that is worth as much as all of
///   these, which depend on each other (Woodruff 1952, Korn and Graubard 1998). Where fewer than
///   one session is expected beyond the percentile there is no bound, as for p99 of ten sessions.
///
/// With two to four sessions there is none.
pub fn percentile_interval(
    sessions: &[Vec<f64>],
    p: f64,
    alpha: f64,
) -> (Option<f64>, Option<f64>) {
    Pooled::new(sessions).interval(p, alpha)
}

/// The samples of all sessions, sorted once for all percentiles.
pub struct Pooled<'a> {
    /// Those that have samples.
    sessions: Vec<&'a [f64]>,
    sorted: Vec<f64>,
}

impl<'a> Pooled<'a> {
    pub fn new<S: AsRef<[f64]>>(sessions: &'a [S]) -> Pooled<'a> {
        let sessions = sessions.iter().map(AsRef::as_ref).filter(|session| !session.is_empty());
        let sessions: Vec<&[f64]> = sessions.collect();
        let mut sorted = sessions.concat();
        sorted.sort_unstable_by(f64::total_cmp);
        Pooled { sessions, sorted }
    }

    /// The samples in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The percentile, which is a sample; none if there are none.
    pub fn percentile(&self, p: f64) -> Option<f64> {
        Some(self.sorted[nearest_rank(self.sorted.len(), p)? - 1])
    }

    /// The same as [`percentile_interval`].
    pub fn interval(&self, p: f64, alpha: f64) -> (Option<f64>, Option<f64>) {
        let Pooled { sessions, sorted } = self;
        let is_middle = p.total_cmp(&50.0).is_eq();
        let single = sessions.iter().all(|session| session.len() == 1);
        if sessions.len() == 1 || single {
            let (low, high) = rank_interval(sorted.len(), p, alpha);
            if !is_middle || low.is_some() || sessions.len() == 1 {
                let at = |rank: usize| sorted[rank - 1];
                return (low.map(at), high.map(at));
            }
        }
        match sessions.len() {
            0..SESSIONS_NEEDED => (None, None),
            _ if is_middle => of_medians(sessions, sorted, alpha).unzip(),
            _ => of_worth(sessions, sorted, p, alpha),
        }
    }
}

/// Student's interval of the sessions' medians, extended to contain the p50 of all samples.
fn of_medians(sessions: &[&[f64]], sorted: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let mut buffer = Vec::new();
    let medians = sessions.iter().map(|session| {
        buffer.clear();
        buffer.extend_from_slice(session);
        median_of(&mut buffer)
    });
    let mut medians: Vec<f64> = medians.collect();
    let middle = sorted[nearest_rank(sorted.len(), 50.0)? - 1];
    if medians.iter().all(|x| x.total_cmp(&middle).is_eq()) {
        return Some((middle, middle));
    }
    let in_logs = medians.iter().all(|x| *x > 0.0);
    if in_logs {
        medians = medians.into_iter().map(f64::ln).collect();
    }
    let (low, high) = students(&medians, alpha)?.interval?;
    let (low, high) = if in_logs { (low.exp(), high.exp()) } else { (low, high) };
    (low.is_finite() && high.is_finite()).then(|| (low.min(middle), high.max(middle)))
}

/// The order statistics of the number of independent samples that would estimate the share below
/// the percentile equally well.
fn of_worth(sessions: &[&[f64]], sorted: &[f64], p: f64, alpha: f64) -> (Option<f64>, Option<f64>) {
    let (q, n, count) = (p / 100.0, sorted.len(), sessions.len() as f64);
    if count * q.min(1.0 - q) < 1.0 - 1e-9 {
        return (None, None);
    }
    let Some(value) = nearest_rank(n, p).map(|rank| sorted[rank - 1]) else { return (None, None) };
    let shares = sessions.iter().map(|session| {
        session.iter().filter(|x| **x <= value).count() as f64 / session.len() as f64
    });
    let shares: Vec<f64> = shares.collect();
    let mean = shares.iter().sum::<f64>() / count;
    let squares: f64 = shares.iter().map(|share| (share - mean).powi(2)).sum();
    let variance = squares / (count - 1.0) / count;
    let quantile = |freedom: f64| {
        StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |null| null.inverse_cdf(alpha / 2.0))
    };
    // The variation between sessions is estimated from few of them.
    let freedom = (quantile(n as f64 - 1.0) / quantile(count - 1.0)).powi(2);
    // Sessions that happen to agree are worth no more than independent samples.
    let worth = (q * (1.0 - q) / variance * freedom).min(n as f64) as usize;
    let (low, high) = rank_interval(worth, p, alpha);
    let scale = n as f64 / worth as f64;
    let low = low.map(|rank| sorted[((rank as f64 * scale) as usize).clamp(1, n) - 1]);
    let high = high.map(|rank| sorted[((rank as f64 * scale).ceil() as usize).clamp(1, n) - 1]);
    (low, high)
}

/// The rank (from 1) of the sample that is the percentile: the smallest rank at which at least p
/// percent of the n samples are reached. p0 is the first, p100 the last; the p50 of an even n is
/// the lower of the middle two. None without samples.
pub fn nearest_rank(n: usize, p: f64) -> Option<usize> {
    // The small subtrahend corrects rounding: 99.9 % of 1000 is 999 and not slightly more, as in
    // floats.
    let rank = (n as f64 * p / 100.0 - 1e-9).ceil().max(1.0) as usize;
    (n > 0).then(|| rank.min(n))
}

/// The ranks (from 1) between whose samples the percentile of the whole distribution lies with
/// probability ≥ 1 − α, with equal tails; None where n is too small for that end. The number of
/// samples below the true percentile is Binomial(n, p).
pub fn rank_interval(n: usize, p: f64, alpha: f64) -> (Option<usize>, Option<usize>) {
    let q = p / 100.0;
    if !(q > 0.0 && q < 1.0) {
        return (None, None);
    }
    let Ok(below) = Binomial::new(q, n as u64) else { return (None, None) };
    let low = first(n, |k| below.cdf(k) > alpha / 2.0);
    let high = first(n, |k| below.cdf(k) >= 1.0 - alpha / 2.0) + 1;
    ((low > 0).then_some(low), (high <= n).then_some(high))
}

/// The first number below n for which `holds` is true, else n; it must be true for all larger
/// numbers as well.
fn first(n: usize, holds: impl Fn(u64) -> bool) -> usize {
    let (mut from, mut to) = (0, n);
    while from < to {
        let middle = usize::midpoint(from, to);
        if holds(middle as u64) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The given number of sessions and samples, with each value one step above the previous one.
    fn stairs(sessions: u32, samples: u32) -> Vec<Vec<f64>> {
        let sample = |i: u32, k: u32| f64::from(1 + i * samples + (k * 7) % samples);
        (0..sessions).map(|i| (0..samples).map(|k| sample(i, k)).collect()).collect()
    }

    #[test]
    fn sessions_that_differ_widen_the_interval() {
        let mixed: Vec<Vec<f64>> =
            (0..10).map(|i| (0..10).map(|k| f64::from(1 + i + 10 * k)).collect()).collect();
        for p in [25.0, 50.0, 75.0] {
            let width = |sessions: &[Vec<f64>]| {
                let (low, high) = percentile_interval(sessions, p, 0.05);
                high.unwrap_or(100.0) - low.unwrap_or(1.0)
            };
            let (same, differ) = (width(&mixed), width(&stairs(10, 10)));
            assert!(differ > 1.8 * same, "p{p}: {differ} {same}");
        }
    }

    #[test]
    fn one_sample_a_session_is_an_order_statistic() {
        let sessions = stairs(100, 1);
        let at = |p| percentile_interval(&sessions, p, 0.05);
        assert_eq!(at(50.0), (Some(40.0), Some(61.0)));
        assert_eq!(at(99.0), (Some(97.0), None));
        // The samples of one session are treated the same way, because nothing better is known.
        assert_eq!(percentile_interval(&stairs(1, 100), 50.0, 0.05), (Some(40.0), Some(61.0)));
        // Five samples have no order statistics at this level.
        let (low, high) = percentile_interval(&sessions[..5], 50.0, 0.05);
        assert!(low.unwrap() < 3.0 && 3.0 < high.unwrap(), "{low:?} {high:?}");
    }

    #[test]
    fn few_sessions_know_neither_the_middle_nor_the_tail() {
        for n in 2..5 {
            assert_eq!(percentile_interval(&stairs(n, 50), 50.0, 0.05), (None, None), "{n}");
        }
        assert_eq!(percentile_interval(&stairs(10, 100), 99.0, 0.05), (None, None));
        assert_eq!(percentile_interval(&stairs(9, 100), 90.0, 0.05), (None, None));
        assert!(percentile_interval(&stairs(10, 100), 90.0, 0.05).0.is_some());
        assert_eq!(percentile_interval(&[], 50.0, 0.05), (None, None));
        assert_eq!(percentile_interval(&[vec![]], 50.0, 0.05), (None, None));
    }

    #[test]
    fn counts_have_an_interval_too() {
        let of = |values: [f64; 6]| {
            let sessions: Vec<Vec<f64>> = values.iter().map(|x| vec![*x; 3]).collect();
            percentile_interval(&sessions, 50.0, 0.05)
        };
        assert_eq!(of([7.0; 6]), (Some(7.0), Some(7.0)));
        let (low, high) = of([0.0, 1.0, 0.0, 2.0, 1.0, 1.0]);
        assert!(low.unwrap() < 0.5 && high.unwrap() > 1.0, "{low:?} {high:?}");
        assert_eq!(of([f64::INFINITY, 1.0, 1.0, 1.0, 1.0, 2.0]), (None, None));
    }

    #[test]
    fn ranks_of_a_hundred_samples() {
        let at = |p| rank_interval(100, p, 0.05);
        assert_eq!(at(25.0), (Some(17), Some(35)));
        assert_eq!(at(50.0), (Some(40), Some(61)));
        assert_eq!(at(75.0), (Some(66), Some(84)));
        assert_eq!(at(90.0), (Some(84), Some(96)));
        assert_eq!(at(99.0), (Some(97), None));
        for p in [0.0, 100.0, -1.0, f64::NAN] {
            assert_eq!(at(p), (None, None), "p{p}");
        }
    }

    #[test]
    fn the_smallest_n_with_both_ends() {
        let table =
            [(50.0, 6), (25.0, 13), (75.0, 13), (90.0, 36), (95.0, 72), (99.0, 368), (99.9, 3688)];
        for (p, smallest) in table {
            let both = |n| matches!(rank_interval(n, p, 0.05), (Some(_), Some(_)));
            assert!(both(smallest), "p{p} n={smallest}");
            assert!((0..smallest).all(|n| !both(n)), "p{p} below {smallest}");
        }
    }

    #[test]
    fn a_percentile_is_a_sample_within_its_interval() {
        for n in 1..=400 {
            for p in [0.0, 1.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0] {
                let rank = nearest_rank(n, p).unwrap();
                let (low, high) = rank_interval(n, p, 0.05);
                assert!((1..=n).contains(&rank), "n={n} p{p}");
                assert!(low.is_none_or(|low| low <= rank), "n={n} p{p}");
                assert!(high.is_none_or(|high| rank <= high), "n={n} p{p}");
            }
        }
    }

    #[test]
    fn nearest_ranks() {
        let ranks = |n| [0.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0].map(|p| nearest_rank(n, p));
        assert_eq!(ranks(0), [None; 7]);
        assert_eq!(ranks(1), [Some(1); 7]);
        assert_eq!(ranks(2), [1, 1, 1, 2, 2, 2, 2].map(Some));
        assert_eq!(ranks(100), [1, 25, 50, 75, 90, 99, 100].map(Some));
        assert_eq!(nearest_rank(1000, 99.9), Some(999));
        assert_eq!(nearest_rank(10, 90.0), Some(9));
    }

    #[test]
    fn the_ends_are_those_of_the_number_of_samples_that_is_worth_as_much() {
        // Five sessions have five of the lowest 25 samples each, the others have none: the variance
        // of the shares is 10 · 0.25² / 9, that of their mean a tenth of it. 0.25 · 0.75 divided by
        // it is 27, times (1.98422 / 2.26216)², the quantiles of 99 and 9 degrees, 20.8. Of 20
        // samples the ranks are 2 and 10, with five samples for each.
        let range = |from: u32, n: u32| (from..from + n).map(f64::from);
        let session = |i: u32| -> Vec<f64> {
            if i < 5 {
                range(1 + 5 * i, 5).chain(range(76 + 5 * i, 5)).collect()
            } else {
                range(26 + 10 * (i - 5), 10).collect()
            }
        };
        let sessions: Vec<Vec<f64>> = (0..10).map(session).collect();
        assert_eq!(percentile_interval(&sessions, 25.0, 0.05), (Some(10.0), Some(50.0)));
    }

    #[test]
    fn the_worth_of_few_samples_depends_on_their_degrees_of_freedom() {
        // The lowest six of 20 samples are those of three sessions: the variance of the mean is
        // 2.1 / 90. 0.258 · 0.742 divided by it is 8.204, times (2.09302 / 2.26216)², the
        // quantiles of 19 and 9 degrees, 7.02. Of seven samples the upper rank is 5 and there is no
        // lower one; 5 · 20 / 7 is 14.3.
        assert_eq!(percentile_interval(&stairs(10, 2), 25.8, 0.05), (None, Some(15.0)));
    }

    #[test]
    fn the_middle_is_in_its_interval_which_is_in_logs_where_it_can_be() {
        let middle = |sessions: &[Vec<f64>]| percentile_interval(sessions, 50.0, 0.05);
        let near = |got: Option<f64>, expected: f64| {
            assert!((got.unwrap() / expected - 1.0).abs() < 1e-5, "{got:?} {expected}");
        };
        // The p50 of an even number of samples is the lower of the middle two, the median between
        // them.
        let (low, high) = middle(&vec![vec![2.0, 3.0]; 5]);
        assert_eq!(low, Some(2.0));
        near(high, 2.5);
        // Of 1 to 5 the variance is 2.5; t(0.975, 4) is 2.776445.
        let half_width = 2.776_445 * 0.5f64.sqrt();
        let of = |value: fn(f64) -> f64| -> Vec<Vec<f64>> {
            (1..=5).map(|x| vec![value(f64::from(x)); 3]).collect()
        };
        let (low, high) = middle(&of(f64::exp));
        near(low, (3.0 - half_width).exp());
        near(high, (3.0 + half_width).exp());
        let (low, high) = middle(&of(|x| -x));
        near(low, -3.0 - half_width);
        near(high, -3.0 + half_width);
        // A bound that is too large for a number is not known, and the other one is of no use.
        let wide = [1e-300, 1e300, 1e-300, 1e300, 1.0].map(|x| vec![x; 3]);
        assert_eq!(middle(&wide), (None, None));
        // Four sessions are too few also where they are equal.
        assert_eq!(middle(&vec![vec![7.0; 3]; 4]), (None, None));
    }
}
