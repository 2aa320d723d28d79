//! Identities that must hold exactly for any data.

use analysis::stats::{Walsh, by_session, hodges_lehmann};
use proptest::prelude::*;

/// The two-sided p by enumeration of all signs: how often the smaller rank sum is at most the
/// observed one. The values must be untied and not 0.
fn p_of_all_signs(differences: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let rank = |d: f64| 1 + sizes.iter().position(|size| *size >= d.abs()).unwrap();
    let n = differences.len();
    let all = n * (n + 1) / 2;
    let positive: usize = differences.iter().filter(|d| **d > 0.0).map(|d| rank(*d)).sum();
    let seen = positive.min(all - positive);
    let extreme = (0u32..1 << n)
        .filter(|signs| {
            let sum: usize = (0..n).filter(|i| signs >> i & 1 == 1).map(|i| i + 1).sum();
            sum.min(all - sum) <= seen
        })
        .count();
    extreme as f64 / f64::from(1u32 << n)
}

fn values(n: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(-1.0..1.0f64, n)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_interval_excludes_0_exactly_if_the_p_of_all_signs_is_below_5_percent(
        values in values(1..=12), shift in -0.5..0.5f64,
    ) {
        let values: Vec<f64> = values.iter().map(|x| x + shift).collect();
        let shift = hodges_lehmann(&values, 0.05).unwrap();
        let p = p_of_all_signs(&values);
        prop_assert!((shift.p - p).abs() < 1e-12, "{shift:?}, by enumeration {p}");
        let excludes = shift.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        prop_assert_eq!(excludes, p < 0.05);
    }

    #[test]
    fn turned_round_all_turns_round(values in values(1..80), rounds in 1usize..6) {
        let sessions = |sign: f64| -> Vec<Vec<f64>> {
            values.chunks(rounds).map(|part| part.iter().map(|x| sign * x).collect()).collect()
        };
        let [there, back] = [1.0, -1.0].map(|sign| by_session(&sessions(sign), 0.05).unwrap());
        prop_assert!((there.estimate + back.estimate).abs() < 1e-12);
        prop_assert!((there.p - back.p).abs() < 1e-12);
        let turned = back.interval.map(|(low, high)| (-high, -low));
        let ends = there.interval.zip(turned);
        prop_assert!(ends.is_none_or(|(a, b)| (a.0 - b.0).abs() < 1e-9 && (a.1 - b.1).abs() < 1e-9));
        prop_assert_eq!(there.interval.is_some(), values.len().div_ceil(rounds) >= 5);
    }

    #[test]
    fn the_interval_by_session_excludes_0_exactly_if_p_is_below_5_percent(
        values in values(5..60), shift in -0.5..0.5f64,
    ) {
        let sessions: Vec<Vec<f64>> = values.iter().map(|x| vec![x + shift]).collect();
        let found = by_session(&sessions, 0.05).unwrap();
        let (low, high) = found.interval.unwrap();
        prop_assert!(low <= found.estimate && found.estimate <= high);
        prop_assert_eq!(low > 0.0 || high < 0.0, found.p <= 0.05, "{:?}", found);
    }

    #[test]
    fn a_ratio_does_not_know_the_unit(a in values(6..40), factor in 1e-3..1e6f64) {
        // y = e^a against e^0, both in another unit: the logs differ only by rounding.
        let other: Vec<f64> =
            a.iter().map(|x| (x.exp() * factor).ln() - (1.0 * factor).ln()).collect();
        let (one, other) = (hodges_lehmann(&a, 0.05).unwrap(), hodges_lehmann(&other, 0.05).unwrap());
        let (low, high) = one.interval.unwrap();
        let (other_low, other_high) = other.interval.unwrap();
        for (x, y) in [(one.estimate, other.estimate), (low, other_low), (high, other_high)] {
            prop_assert!((x - y).abs() < 1e-12, "{x} {y}");
        }
    }

    #[test]
    fn a_shift_shifts_and_a_scale_scales(values in values(6..80), shift in -2i32..3, scale in 0i32..5) {
        // Powers of two and short fractions, so that nothing is rounded.
        let values: Vec<f64> = values.iter().map(|x| (x * 65536.0).round() / 65536.0).collect();
        let (shift, scale) = (f64::from(shift), f64::from(1 << scale));
        let moved: Vec<f64> = values.iter().map(|x| x * scale + shift).collect();
        let (one, other) = (hodges_lehmann(&values, 0.05).unwrap(), hodges_lehmann(&moved, 0.05).unwrap());
        let there = |x: f64| x * scale + shift;
        prop_assert_eq!(Some(other.estimate), Some(there(one.estimate)));
        let both = |(low, high)| (there(low), there(high));
        prop_assert_eq!(other.interval, one.interval.map(both));
    }

    #[test]
    fn six_rounds_give_the_smallest_and_the_largest_average(values in values(6)) {
        let walsh = Walsh::new(&values).unwrap();
        let interval = hodges_lehmann(&values, 0.05).unwrap().interval;
        prop_assert_eq!(interval, Some((walsh.nth(1), walsh.nth(21))));
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        prop_assert_eq!(interval, Some((smallest, largest)));
    }

    #[test]
    fn the_estimate_lies_in_the_interval_and_a_higher_level_is_wider(values in values(0..120)) {
        let Some(shift) = hodges_lehmann(&values, 0.05) else {
            prop_assert!(values.is_empty());
            return Ok(());
        };
        prop_assert_eq!(shift.interval.is_some(), values.len() >= 6);
        if let Some((low, high)) = shift.interval {
            prop_assert!(low <= shift.estimate && shift.estimate <= high);
            if let Some(wide) = hodges_lehmann(&values, 0.01).unwrap().interval {
                prop_assert!(wide.0 <= low && high <= wide.1);
            }
        }
    }

    #[test]
    fn ties_and_zeros_keep_p_and_interval_in_step(values in prop::collection::vec(-3i32..4, 6..40)) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let shift = hodges_lehmann(&values, 0.05).unwrap();
        let (low, high) = shift.interval.unwrap();
        prop_assert_eq!(low > 0.0 || high < 0.0, shift.p <= 0.05, "{:?}", shift);
    }
}
