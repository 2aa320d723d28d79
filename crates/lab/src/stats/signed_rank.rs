//! The null distribution of the signed-rank statistic T⁺ (Wilcoxon 1945): the sum of the ranks of
//! the positive differences, where each rank is positive with probability ½.

use std::sync::{Arc, OnceLock};

use statrs::distribution::{ContinuousCDF, Normal};

/// Up to this number the sign patterns are counted; beyond it, T⁺ is nearly normal.
const EXACT_MAX: usize = 300;

/// Below this number no interval is given, whatever the level.
const N_MIN: usize = 6;

/// The distribution for n differences.
pub struct SignedRank {
    n: usize,
    /// The probabilities of T⁺ = 0, 1, 2, … up to its mean; empty beyond the counted numbers.
    shares: Arc<[f64]>,
}

impl SignedRank {
    pub fn new(n: usize) -> SignedRank {
        SignedRank { n, shares: if n <= EXACT_MAX { known_shares(n) } else { Arc::default() } }
    }

    /// K of the interval [W(K), W(M+1−K)] over the M ordered Walsh averages: the largest integer
    /// with P(T⁺ ≤ K−1) ≤ α/2. It is 0 where n is too small for an interval at this level.
    pub fn bound(&self, alpha: f64) -> u64 {
        if self.n < N_MIN || alpha.is_nan() || alpha <= 0.0 {
            return 0;
        }
        if self.n > EXACT_MAX {
            let (mean, sd) = moments(self.n);
            return (mean - super::normal::z(alpha) * sd).max(0.0) as u64;
        }
        let limit = (alpha / 2.0).min(0.5);
        let mut sum = 0.0;
        let within = |share: &&f64| {
            sum += *share;
            sum <= limit
        };
        self.shares.iter().take_while(within).count() as u64
    }

    /// The two-sided p of the smaller of T⁺ and T⁻. From six differences on, an interval of level
    /// 1 − α excludes 0 exactly if this p ≤ α.
    pub fn p_value(&self, smaller: u64) -> f64 {
        if self.n > EXACT_MAX {
            let (mean, sd) = moments(self.n);
            // The correction is a whole step, as in the rounding down of K.
            let z = (mean - smaller as f64 - 1.0) / sd;
            return (2.0 * Normal::standard().sf(z)).min(1.0);
        }
        if smaller >= self.shares.len() as u64 {
            return 1.0;
        }
        // Summed from the smallest on, as for the bound, so that both round equally.
        let below =
            self.shares.iter().take(smaller as usize + 1).fold(0.0, |sum, share| sum + share);
        (2.0 * below).min(1.0)
    }
}

/// [`shares`], each computed once: for 300 differences that takes seven million steps.
fn known_shares(n: usize) -> Arc<[f64]> {
    static KNOWN: [OnceLock<Arc<[f64]>>; EXACT_MAX + 1] =
        [const { OnceLock::new() }; EXACT_MAX + 1];
    Arc::clone(KNOWN[n].get_or_init(|| shares(n).into()))
}

/// The share of the 2^n sign patterns in which T⁺ is 0, 1, 2, … up to its mean; the rest is the
/// mirror image. Powers of two are exact, so that up to n = 53 nothing is rounded.
fn shares(n: usize) -> Vec<f64> {
    let half = n * (n + 1) / 4;
    let mut shares = vec![0.0; half + 1];
    shares[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=half).rev() {
            let with = sum.checked_sub(rank).map_or(0.0, |rest| shares[rest]);
            shares[sum] = 0.5 * (shares[sum] + with);
        }
    }
    shares
}

/// Mean and standard deviation of T⁺.
fn moments(n: usize) -> (f64, f64) {
    let n = n as f64;
    (n * (n + 1.0) / 4.0, (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_agree_with_published_tables() {
        // Critical values of the two-sided test (T ≤ K−1): 5 % and 1 %, n = 6 … 20.
        let five = [0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 29, 34, 40, 46, 52];
        let one = [0, 1, 3, 5, 7, 9, 12, 15, 19, 23, 27, 32, 37];
        for (n, critical) in (6..).zip(five) {
            assert_eq!(SignedRank::new(n).bound(0.05), critical + 1, "n={n}");
        }
        for (n, critical) in (8..).zip(one) {
            assert_eq!(SignedRank::new(n).bound(0.01), critical + 1, "n={n}");
        }
    }

    #[test]
    fn too_few_pairs_have_no_interval() {
        for n in 0..6 {
            let null = SignedRank::new(n);
            assert_eq!((null.bound(0.05), null.bound(0.4)), (0, 0), "n={n}");
        }
        // With 14 comparisons ten pairs are needed: 2 / 2^9 > 0.05 / 14 > 2 / 2^10.
        assert_eq!([9, 10].map(|n| SignedRank::new(n).bound(0.05 / 14.0)), [0, 1]);
        assert_eq!([0.0, f64::NAN, 1e-300].map(|alpha| SignedRank::new(30).bound(alpha)), [0; 3]);
    }

    #[test]
    fn the_interval_excludes_0_exactly_if_p_is_at_most_alpha() {
        for n in [6, 7, 12, 29, 30, 59, 60, 61, 100, 299, 300, 301, 1000] {
            for alpha in [0.3, 0.05, 0.01, 0.05 / 14.0] {
                let null = SignedRank::new(n);
                let k = null.bound(alpha);
                assert!(null.p_value(k) > alpha, "n={n} alpha={alpha}");
                assert!(k == 0 || null.p_value(k - 1) <= alpha, "n={n} alpha={alpha}");
            }
        }
    }

    #[test]
    fn all_sign_patterns_are_counted() {
        for n in (1..=60).chain([100, 299, EXACT_MAX]) {
            let half = shares(n);
            let odd = n * (n + 1) / 2 % 2 == 1;
            // The sums up to the mean and their mirror images; an even number of sums has no
            // middle.
            let middle = if odd { 0.0 } else { half[half.len() - 1] };
            let total = 2.0 * half.iter().sum::<f64>() - middle;
            assert!((total - 1.0).abs() < 1e-12, "n={n}: {total}");
        }
    }

    /// P(T⁺ ≤ K − 1) ≤ α/2 < P(T⁺ ≤ K), counted in whole numbers by another program. The normal
    /// bounds are 672, 1954 and 18228.
    #[test]
    fn bounds_beyond_sixty_differences_are_exact() {
        let bounds = [(61, 0.05), (100, 0.05), (300, 0.05 / 13.0)];
        let bounds = bounds.map(|(n, alpha)| SignedRank::new(n).bound(alpha));
        assert_eq!(bounds, [673, 1956, 18_240]);
    }

    #[test]
    fn the_statistic_of_many_differences_has_the_moments_of_the_textbook() {
        // Wilcoxon's test in Conover: n (n + 1)/4 and n (n + 1)(2n + 1)/24.
        let (mean, sd) = moments(400);
        assert!((mean - 40_100.0).abs() < 1e-9, "{mean}");
        assert!((sd * sd - 5_353_350.0).abs() < 1e-3, "{sd}");
    }
}
