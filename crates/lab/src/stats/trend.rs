//! Drift over the rounds: Kendall's τ against the round, and the round after which there is no
//! drift (Mann 1945, Kendall 1975).

use statrs::distribution::{ContinuousCDF, Normal};

/// The rest of a series must have at least this many values to be considered steady.
const STEADY_MIN: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// From −1 (always falling) to 1 (always rising).
    pub tau: f64,
    /// The two-sided p, from the normal approximation with correction for ties and for steps.
    pub p: f64,
}

/// Whether the values rise or fall with their index. NaN must not occur.
pub fn trend(values: &[f64]) -> Trend {
    trend_within(&[values])
}

/// The same within each of several series, combined (Hirsch, Slack and Smith 1982): a difference
/// between series is not a trend.
pub fn trend_within(series: &[&[f64]]) -> Trend {
    let sums = series.iter().map(|values| kendall(values));
    let [s, pairs, variance] =
        sums.fold([0.0; 3], |all, one| [all[0] + one[0], all[1] + one[1], all[2] + one[2]]);
    if variance <= 0.0 {
        return Trend { tau: 0.0, p: 1.0 };
    }
    let z = (s.abs() - 1.0).max(0.0) / variance.sqrt();
    Trend { tau: s / pairs, p: (2.0 * Normal::standard().sf(z)).min(1.0) }
}

/// Pairs in rising order minus those in falling order, all pairs, and the variance of the first
/// value under pure chance.
fn kendall(values: &[f64]) -> [f64; 3] {
    let n = values.len() as f64;
    let pairs = n * (n - 1.0) / 2.0;
    let mut sorted = values.to_vec();
    let falling = sort_and_count_falls(&mut sorted);
    let (mut tied_pairs, mut tie_variance) = (0.0, 0.0);
    // In rising order, a value that is not less than the previous one is equal to it.
    for group in sorted.chunk_by(|a, b| a >= b) {
        let t = group.len() as f64;
        tied_pairs += t * (t - 1.0) / 2.0;
        tie_variance += t * (t - 1.0) * (2.0 * t + 5.0);
    }
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - tie_variance) / 18.0;
    [pairs - tied_pairs - 2.0 * falling as f64, pairs, variance]
}

/// The first index from which on no trend remains (p > 0.1), to within 1 % of n; none if the series
/// never becomes steady while ten values remain.
pub fn steady_from(values: &[f64]) -> Option<usize> {
    let step = (values.len() / 100).max(1);
    let starts = (0..values.len()).step_by(step).take_while(|i| values.len() - i >= STEADY_MIN);
    starts.into_iter().find(|i| trend(&values[*i..]).p > 0.1)
}

/// Merge sort that counts the pairs whose first value is the larger one.
fn sort_and_count_falls(values: &mut [f64]) -> u64 {
    let n = values.len();
    if n < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(n / 2);
    let mut falls = sort_and_count_falls(left) + sort_and_count_falls(right);
    let mut merged = Vec::with_capacity(n);
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if left[i] > right[j] {
            falls += (left.len() - i) as u64;
            merged.push(right[j]);
            j += 1;
        } else {
            merged.push(left[i]);
            i += 1;
        }
    }
    merged.extend_from_slice(&left[i..]);
    merged.extend_from_slice(&right[j..]);
    values.copy_from_slice(&merged);
    falls
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(values: &[f64], tau: f64, p: f64) {
        let got = trend(values);
        assert!((got.tau - tau).abs() < 1e-9 && (got.p - p).abs() < 1e-6, "{values:?}: {got:?}");
    }

    #[test]
    fn trends_of_known_series() {
        check(&[], 0.0, 1.0);
        check(&[1.0], 0.0, 1.0);
        check(&[2.0; 20], 0.0, 1.0);
        // S = 10 of 10 pairs, variance 50/3: z = 9/4.0825.
        check(&[1.0, 2.0, 3.0, 4.0, 5.0], 1.0, 0.027_486_34);
        check(&[5.0, 4.0, 3.0, 2.0, 1.0], -1.0, 0.027_486_34);
        // With ties: S = 9 of 15 pairs, variance (510 − 2·18)/18.
        check(&[1.0, 1.0, 2.0, 3.0, 3.0, 2.5], 9.0 / 15.0, 0.119_004_07);
    }

    #[test]
    fn what_series_differ_by_is_no_trend() {
        let steps: [&[f64]; 4] =
            [&[1.0, 2.0, 1.5], &[11.0, 10.0, 10.5], &[21.0, 22.0, 20.0], &[31.0, 30.0, 32.0]];
        assert!(trend(&steps.concat()).p < 1e-3);
        assert!(trend_within(&steps).p > 0.5);
        let rising: Vec<Vec<f64>> =
            (0..6u32).map(|i| (0..4).map(|k| f64::from(i * 7 % 5 * 10 + k)).collect()).collect();
        let rising: Vec<&[f64]> = rising.iter().map(Vec::as_slice).collect();
        let found = trend_within(&rising);
        assert!((found.tau - 1.0).abs() < 1e-12 && found.p < 1e-4, "{found:?}");
    }

    #[test]
    fn the_steady_part_is_found() {
        let wobble = |i: u32| f64::from(i * 7919 % 101);
        let steady: Vec<f64> = (0..100).map(wobble).collect();
        assert_eq!(steady_from(&steady), Some(0));
        let warming: Vec<f64> =
            (0..100).map(|i| wobble(i) + 1000.0 * f64::from(20u32.saturating_sub(i))).collect();
        let from = steady_from(&warming).unwrap();
        assert!((5..=20).contains(&from), "{from}");
        let falling: Vec<f64> = (0..100).map(|i| -f64::from(i)).collect();
        assert_eq!(steady_from(&falling), None);
        assert_eq!(steady_from(&[1.0; 9]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn falls_are_the_pairs_in_the_wrong_order(values in prop::collection::vec(-5i32..5, 0..40)) {
            let mut values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let expected = (0..values.len())
                .map(|i| values[i + 1..].iter().filter(|y| values[i] > **y).count() as u64)
                .sum::<u64>();
            prop_assert_eq!(sort_and_count_falls(&mut values), expected);
            prop_assert!(values.is_sorted());
        }
    }

    #[test]
    fn three_equal_values_are_taken_out_of_the_variance() {
        // (6 · 5 · 17 - 3 · 2 · 11) / 18, and 3 of the 15 pairs are tied.
        let found = kendall(&[1.0, 1.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(Some(found), Some([12.0, 15.0, 444.0 / 18.0]));
    }

    #[test]
    fn the_steady_part_is_found_to_within_one_percent() {
        // The first nine of 200 values fall, and the steps are of two values.
        let falling: Vec<f64> = (0..200u32).map(|i| f64::from(9u32.saturating_sub(i))).collect();
        assert_eq!(steady_from(&falling), Some(10));
    }
}
