//! The estimate of a shift from paired differences (Hodges and Lehmann 1963) with the interval that
//! inverts the signed-rank test; the null distribution of that test, and the Walsh averages that
//! both select from.

use std::sync::{Arc, OnceLock};

use statrs::distribution::{ContinuousCDF, Normal};

use super::median_of;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    pub n: usize,
    pub estimate: f64,
    /// None if n is too small for the level.
    pub interval: Option<(f64, f64)>,
    /// The p of the two-sided test that the interval inverts. In the signed-rank test a tie with 0
    /// counts against a difference, so that p ≤ α exactly if the interval excludes 0, whatever ties
    /// there are.
    pub p: f64,
}

/// None if there is no value, or one that is not finite.
pub fn hodges_lehmann(differences: &[f64], alpha: f64) -> Option<Shift> {
    let n = differences.len();
    let walsh = Walsh::new(differences)?;
    let null = SignedRank::new(n);
    let k = null.bound(alpha);
    let interval = (k > 0).then(|| (walsh.nth(k), walsh.nth(walsh.count() + 1 - k)));
    let (below, above) = walsh.signs();
    let p = null.p_value(walsh.count() - below.max(above));
    Some(Shift { n, estimate: walsh.median(), interval, p })
}

/// The median of the Walsh averages (Hodges and Lehmann 1963): for symmetric values, their median.
/// None if there is no value, or one that is not finite.
pub fn pseudomedian(values: &[f64]) -> Option<f64> {
    match values.len() {
        1..=FEW => of_few(values),
        _ => Some(Walsh::new(values)?.median()),
    }
}

/// The rounds of a session are nearly always at most this many, and a run may have many sessions.
const FEW: usize = 8;

/// The pseudomedian of at most [`FEW`] values, without heap memory.
fn of_few(values: &[f64]) -> Option<f64> {
    let mut averages = [0.0; FEW * (FEW + 1) / 2];
    let mut n = 0;
    for (i, x) in values.iter().enumerate() {
        if !is_ordinary(*x) {
            return None;
        }
        for y in &values[..=i] {
            averages[n] = (x + y) / 2.0;
            n += 1;
        }
    }
    Some(median_of(&mut averages[..n]))
}

// The null distribution of the signed-rank statistic T⁺ (Wilcoxon 1945): the sum of the ranks of
// the positive differences, where each rank is positive with probability ½.

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
            return (mean - z(alpha) * sd).max(0.0) as u64;
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
    pub(crate) fn p_value(&self, smaller: u64) -> f64 {
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

// The Walsh averages (xᵢ + xⱼ)/2, i ≤ j, of n values: selects any of the n(n+1)/2 in order,
// without storing them. It takes O(n log n) steps and O(n) memory.

/// When at most this many candidates remain, or as many as there are values, they are collected
/// instead of choosing another pivot.
const GATHER: u64 = 64;

/// Halving the distance separates ordinary values in a few steps; after this number of steps the
/// distance in representable numbers is halved, which ends after 64 steps for any values.
const ORDINARY_STEPS: u32 = 24;

pub struct Walsh {
    sorted: Vec<f64>,
}

impl Walsh {
    /// None if there is no value, or one that is not a number of ordinary size.
    pub fn new(values: &[f64]) -> Option<Walsh> {
        if values.is_empty() || !values.iter().copied().all(is_ordinary) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Walsh { sorted })
    }

    pub fn count(&self) -> u64 {
        let n = self.sorted.len() as u64;
        n * (n + 1) / 2
    }

    pub fn median(&self) -> f64 {
        let count = self.count();
        let [middle, next] = self.nth_and_next(count.div_ceil(2));
        if count % 2 == 1 { middle } else { f64::midpoint(middle, next) }
    }

    /// The k-th smallest average, counted from 1; k is limited to the valid range.
    pub fn nth(&self, k: u64) -> f64 {
        self.nth_and_next(k)[0]
    }

    /// The k-th smallest average and the one after it.
    fn nth_and_next(&self, k: u64) -> [f64; 2] {
        let k = k.clamp(1, self.count());
        let n = self.sorted.len();
        // All values are sums of two; those in (low, high] are the candidates.
        let mut low = (2.0 * self.sorted[0]).next_down();
        let mut high = 2.0 * self.sorted[n - 1];
        let (mut up_to_low, mut up_to_high) = (0, self.count());
        let mut step = 0;
        while up_to_high - up_to_low > GATHER.max(n as u64) {
            // The share of the candidates is about that of the distance, but not with outliers.
            let share = (k - up_to_low) as f64 / (up_to_high - up_to_low) as f64;
            let pivot = match step {
                ORDINARY_STEPS.. => middle_number(low, high),
                _ if step % 2 == 0 => low + (high - low) * share,
                _ => f64::midpoint(low, high),
            };
            step += 1;
            if pivot <= low || pivot >= high {
                if step <= ORDINARY_STEPS {
                    step = ORDINARY_STEPS;
                    continue;
                }
                // There is no number between the bounds: all candidates equal the upper end.
                let next = if k < up_to_high { high } else { self.smallest_above(high) };
                return [high / 2.0, next / 2.0];
            }
            let up_to_pivot = self.sums_up_to(pivot);
            if up_to_pivot >= k {
                (high, up_to_high) = (pivot, up_to_pivot);
            } else {
                (low, up_to_low) = (pivot, up_to_pivot);
            }
        }
        let mut candidates = self.sums_between(low, high);
        let index = (k - up_to_low - 1) as usize;
        let (_, nth, above) = candidates.select_nth_unstable_by(index, f64::total_cmp);
        let next = above.iter().copied().min_by(f64::total_cmp);
        [*nth / 2.0, next.unwrap_or_else(|| self.smallest_above(high)) / 2.0]
    }

    /// The smallest sum of two above this one; infinity if there is none.
    fn smallest_above(&self, limit: f64) -> f64 {
        let next = |(i, x, end): (usize, f64, usize)| Some(x + self.sorted.get(end.max(i))?);
        self.ends(limit).filter_map(next).fold(f64::INFINITY, f64::min)
    }

    /// How many averages are below 0, and how many above. Averages of exactly 0 are in neither.
    pub fn signs(&self) -> (u64, u64) {
        (self.sums_up_to(0.0f64.next_down()), self.count() - self.sums_up_to(0.0))
    }

    /// How many sums of two are ≤ limit.
    fn sums_up_to(&self, limit: f64) -> u64 {
        let ends = self.ends(limit).take_while(|(i, _, end)| end > i);
        ends.map(|(i, _, end)| (end - i) as u64).sum()
    }

    /// By first value, its index, and the end of the second values, from that index on, with which
    /// the sum is ≤ limit. Rounded addition is monotone, so that the matching second values are a
    /// prefix, and the prefixes shrink.
    fn ends(&self, limit: f64) -> impl Iterator<Item = (usize, f64, usize)> {
        let mut end = self.sorted.len();
        self.sorted.iter().enumerate().map(move |(i, x)| {
            while end > i && x + self.sorted[end - 1] > limit {
                end -= 1;
            }
            (i, *x, end)
        })
    }

    /// The sums of two in (low, high].
    fn sums_between(&self, low: f64, high: f64) -> Vec<f64> {
        let mut sums = Vec::new();
        for (i, x, end) in self.ends(high).take_while(|(i, _, end)| end > i) {
            let fitting = self.sorted[i..end].iter().rev().map(|y| x + y);
            sums.extend(fitting.take_while(|sum| *sum > low));
        }
        sums
    }
}

/// Whether sums of two such numbers are finite.
pub(super) fn is_ordinary(x: f64) -> bool {
    x.abs() < f64::MAX / 4.0
}

/// The number with equally many representable numbers between it and each bound.
fn middle_number(low: f64, high: f64) -> f64 {
    let (low, high) = (order(low.to_bits() as i64), order(high.to_bits() as i64));
    let middle = (low & high) + ((low ^ high) >> 1);
    f64::from_bits(order(middle) as u64)
}

/// Converts the bits of a number to an integer with the same order, and back.
fn order(bits: i64) -> i64 {
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// The two-sided normal quantile: 1.96 at α = 0.05.
pub(super) fn z(alpha: f64) -> f64 {
    -Normal::standard().inverse_cdf((alpha / 2.0).clamp(0.0, 0.5))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn few_values_have_the_same_median_as_many(
            values in prop::collection::vec(prop_oneof![-1.0..1.0f64, Just(0.0), any::<f64>()], 1..=FEW),
        ) {
            let expected = Walsh::new(&values).map(|walsh| walsh.median().to_bits());
            prop_assert_eq!(pseudomedian(&values).map(f64::to_bits), expected);
        }
    }
}

#[cfg(test)]
mod signed_rank_tests {
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

#[cfg(test)]
mod walsh_tests {
    use proptest::prelude::*;

    use super::*;

    fn check(values: &[f64]) {
        let walsh = Walsh::new(values).unwrap();
        let mut all: Vec<f64> = (0..values.len())
            .flat_map(|i| (i..values.len()).map(move |j| (i, j)))
            .map(|(i, j)| f64::midpoint(values[i], values[j]))
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        assert_eq!(walsh.count(), all.len() as u64);
        for (k, expected) in (1..).zip(&all) {
            let next = all.get(k as usize).copied().unwrap_or(f64::INFINITY);
            let found = (k, walsh.nth_and_next(k));
            assert_eq!(found, (k, [*expected, next]), "{values:?}");
        }
        let signs = all.iter().fold((0, 0), |(below, above), x| {
            (below + u64::from(*x < 0.0), above + u64::from(*x > 0.0))
        });
        assert_eq!(walsh.signs(), signs, "{values:?}");
    }

    #[test]
    fn hostile_values_are_ordered_too() {
        check(&[0.0]);
        check(&[0.0; 40]);
        check(&[-0.0, 0.0, 0.0, -0.0]);
        check(&[f64::MIN_POSITIVE; 30]);
        let extremes: Vec<f64> =
            (0..40).map(|i| if i % 3 == 0 { 1e300 } else { 1e-300 * f64::from(i) }).collect();
        check(&extremes);
        let steps: Vec<f64> = (0..60).map(|i| f64::from(i % 4) - 1.5).collect();
        check(&steps);
        let powers: Vec<f64> = (0..50).map(|i| (-1f64).powi(i) * 2f64.powi(i * 10 - 250)).collect();
        check(&powers);
    }

    #[test]
    fn what_is_no_ordinary_number_is_refused() {
        for values in [&[][..], &[1.0, f64::NAN], &[f64::INFINITY], &[-f64::MAX, 0.0]] {
            assert!(Walsh::new(values).is_none(), "{values:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn every_average_is_the_one_of_the_sorted_list(
            values in prop::collection::vec(prop_oneof![-1.0..1.0f64, -1e3..1e3f64, -1e-9..1e-9f64], 1..40),
        ) {
            check(&values);
        }
    }

    #[test]
    fn the_median_of_the_averages_is_between_two_where_their_number_is_even() {
        let median = |values: &[f64]| Walsh::new(values).map(|walsh| walsh.median());
        assert_eq!(median(&[3.0]), Some(3.0));
        // 1, 1.5, 2, 2.5, 3 and 4.
        assert_eq!(median(&[1.0, 2.0, 4.0]), Some(2.25));
        // The eighth of 1, 1.5, 2, 2.5, 3, 4, 4.5, 5, 6, 8, 8.5, 9, 10, 12 and 16.
        assert_eq!(median(&[1.0, 2.0, 4.0, 8.0, 16.0]), Some(5.0));
        // The largest ordinary number.
        let limit = f64::MAX / 4.0;
        assert_eq!((median(&[limit]), median(&[-limit])), (None, None));
        assert_eq!(median(&[limit.next_down()]), Some(limit.next_down()));
    }
}
