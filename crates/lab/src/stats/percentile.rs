//! Percentiles as order statistics: the value is a sample that was measured, and so are the ends of
//! its interval. No distribution is assumed.

use statrs::distribution::{Binomial, DiscreteCDF};

/// The rank (from 1) whose sample is the percentile: the smallest at which at least p percent of the
/// n samples are reached. p0 is the first, p100 the last; the p50 of an even n is the lower of the
/// middle two. None without samples.
pub fn nearest_rank(n: usize, p: f64) -> Option<usize> {
    // The small subtrahend: 99.9 % of 1000 is 999 and not, as floats have it, a little more.
    let rank = (n as f64 * p / 100.0 - 1e-9).ceil().max(1.0) as usize;
    (n > 0).then(|| rank.min(n))
}

/// The ranks (from 1) between whose samples the percentile of the whole distribution lies with
/// probability ≥ 1 − α, equal tails; None where n is too small for that end. The number of samples
/// below the true percentile is Binomial(n, p).
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

/// The first number below n for which it holds, else n; it must hold for all that follow.
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
}
