//! The power of an interval: the difference that it would have found, the number of sessions that
//! it would take, and the correction for several comparisons.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::normal::z;

/// The normal quantile that is exceeded with probability 0.2: a difference is found 4 times out of
/// 5.
const POWER: f64 = 0.841_621_233_572_914_2;

/// The smallest difference, in percent, that would have been found 4 times out of 5 by an interval
/// of this half width (in logs). At α = 0.05 the factor is 1.43.
pub fn found_percent(half_width: f64, alpha: f64) -> f64 {
    let z = z(alpha);
    100.0 * (half_width * (z + POWER) / z).exp_m1()
}

/// The number of sessions that finding `target_percent` would take, where n sessions found
/// `found_percent`: the width of an interval shrinks with the square root of n. More rounds per
/// session would not help where processes differ.
pub fn sessions_needed(n: usize, found_percent: f64, target_percent: f64) -> u64 {
    let needed = (n as f64 * (found_percent / target_percent).powi(2)).ceil() as u64;
    needed.max(super::SESSIONS_NEEDED as u64)
}

/// Holm's adjusted p of each of several tests (Holm 1979): those ≤ α are significant together.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_unstable_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0f64;
    for (i, index) in order.into_iter().enumerate() {
        largest = largest.max(p[index] * (p.len() - i) as f64).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// The exact, two-sided p that of two that stand in the same rounds one is missing as often as the
/// other (`McNemar` 1947): of the rounds in which just one is missing, in how many it is which.
pub fn mcnemar(only_first: u64, only_second: u64) -> f64 {
    let all = Binomial::new(0.5, only_first + only_second);
    all.map_or(1.0, |all| (2.0 * all.cdf(only_first.min(only_second))).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_of_one_alone_is_tested_by_the_binomial_distribution() {
        // scipy.stats.binomtest(k, n, 0.5).pvalue
        let table =
            [(0, 0, 1.0), (3, 3, 1.0), (0, 5, 0.0625), (6, 0, 0.031_25), (2, 10, 0.038_574)];
        for (a, b, p) in table {
            assert!((mcnemar(a, b) - p).abs() < 1e-6, "{a} {b} {}", mcnemar(a, b));
            assert_eq!(mcnemar(a, b).to_bits(), mcnemar(b, a).to_bits());
        }
    }

    fn check(got: f64, expected: f64) {
        assert!((got - expected).abs() < 5e-4 * expected, "{got}, expected {expected}");
    }

    #[test]
    fn a_half_width_shows_what_would_have_been_found() {
        check(found_percent(0.01, 0.05), 100.0 * (0.01f64 * 1.4294).exp_m1());
        // At a higher level, the same width can find less beyond its own half.
        check(found_percent(0.01, 0.05 / 14.0), 100.0 * (0.01f64 * 1.2888).exp_m1());
        check(found_percent(1.0, 0.05), 317.6);
        assert!(found_percent(0.0, 0.05).abs() < 1e-12);
    }

    #[test]
    fn sessions_grow_with_the_square() {
        assert_eq!(sessions_needed(100, 1.5, 1.0), 225);
        assert_eq!(sessions_needed(30, 3.0, 1.0), 270);
        assert_eq!(sessions_needed(100, 0.0, 1.0), 5);
        assert_eq!(sessions_needed(100, f64::INFINITY, 1.0), u64::MAX);
    }

    #[test]
    fn holm_agrees_with_p_adjust() {
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.8), "holm")
        let got = holm(&[0.01, 0.04, 0.03, 0.005, 0.8]);
        for (got, expected) in got.iter().zip([0.04, 0.09, 0.09, 0.025, 0.8]) {
            check(*got, expected);
        }
        assert_eq!(holm(&[]), [0.0; 0]);
        assert_eq!(holm(&[0.9, 0.9]), [1.0, 1.0]);
    }

    #[test]
    fn a_larger_target_takes_fewer_sessions() {
        assert_eq!(sessions_needed(100, 3.0, 2.0), 225);
        assert_eq!(sessions_needed(100, 3.0, 6.0), 25);
    }
}
