//! The power of a decision, the correction for several comparisons, and the levels of the looks at
//! a run that continues until its verdicts are known.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::paired::z;

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
pub(crate) fn sessions_needed(n: usize, found_percent: f64, target_percent: f64) -> u64 {
    let needed = (n as f64 * (found_percent / target_percent).powi(2)).ceil() as u64;
    needed.max(super::SESSIONS_NEEDED as u64)
}

/// Holm's adjusted p of each of several tests (Holm 1979): those ≤ α are significant together.
pub(crate) fn holm(p: &[f64]) -> Vec<f64> {
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
pub(crate) fn mcnemar(only_first: u64, only_second: u64) -> f64 {
    let all = Binomial::new(0.5, only_first + only_second);
    all.map_or(1.0, |all| (2.0 * all.cdf(only_first.min(only_second))).min(1.0))
}

// Looks at a run that goes on until it is decided. The intervals of all looks hold together
// (repeated confidence intervals, Jennison and Turnbull 1989), so that the run may stop after
// any of them, for any reason.

/// The numbers of sessions after which a pair of methods is compared. Between two looks nothing
/// changes.
pub const LOOKS: [usize; 12] = [6, 8, 11, 15, 22, 30, 42, 60, 85, 120, 170, 240];

/// The level is shared equally by this number of looks; each later one has the share of the one
/// before times `LATER`, so that a long run does not take the level from short ones.
const EQUAL: usize = 5;
const LATER: f64 = 0.7;

/// The share of each of the first looks if looks were independent of each other: one divided by the
/// sum of all shares. Looks at the same sessions agree often, so that each may have more. How much
/// more depends on the level, and was determined by simulation: with this, all looks together spend
/// at most the level, for levels from 5 % to 0.05 / 351 (`cargo bench -p bytelab-analysis --bench
/// statistics`).
const ALONE: f64 = 0.14;
const AGREEMENT: f64 = 0.092;
const EXPONENT: f64 = 0.3;
const ALPHA: f64 = 0.05;

/// A look at the sessions that two methods share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The number of sessions, which are the first ones.
    pub sessions: usize,
    /// The α of the interval.
    pub alpha: f64,
}

/// The last look that this number of sessions allows, with its part of the α of all looks; none
/// where the sessions are too few.
pub fn last_look(sessions: usize, alpha: f64) -> Option<Look> {
    let index = LOOKS.iter().rposition(|look| *look <= sessions)?;
    Some(Look { sessions: LOOKS[index], alpha: part(index, alpha) })
}

/// The part of α that a look has.
fn part(index: usize, alpha: f64) -> f64 {
    let later = (index + 1).saturating_sub(EQUAL) as i32;
    let first = ALONE + AGREEMENT * (alpha / ALPHA).min(1.0).powf(EXPONENT);
    alpha * first * LATER.powi(later)
}

/// The smallest α of all looks at which the look with this number of sessions excludes 0, if `p` is
/// the p of that look alone. 1 for a number of sessions without a look.
pub(crate) fn p_of_all_looks(p: f64, sessions: usize) -> f64 {
    let Some(index) = LOOKS.iter().position(|look| *look == sessions) else { return 1.0 };
    if p > part(index, 1.0) {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if part(index, middle) < p { low = middle } else { high = middle }
    }
    high
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

#[cfg(test)]
mod looks_tests {
    use super::*;

    #[test]
    fn nothing_changes_between_two_looks() {
        let at = |sessions| last_look(sessions, 0.05).map(|look| look.sessions);
        assert_eq!(
            [0, 5, 6, 7, 8, 10, 11, 21, 22].map(at),
            [None, None, Some(6), Some(6), Some(8), Some(8), Some(11), Some(15), Some(22)]
        );
        assert_eq!([239, 240, 1000].map(at), [170, 240, 240].map(Some));
    }

    #[test]
    fn the_level_of_a_look_is_known_beforehand() {
        let level = |sessions, alpha: f64| last_look(sessions, alpha).unwrap().alpha;
        for sessions in [6, 8, 11, 15, 22] {
            assert!((level(sessions, 0.05) - 0.0116).abs() < 1e-9);
        }
        assert!((level(30, 0.05) - 0.7 * 0.0116).abs() < 1e-9);
        assert!((level(240, 0.05) - 0.7f64.powi(7) * 0.0116).abs() < 1e-9);
        // A smaller α has less to gain from looks that agree.
        let share = |alpha: f64| level(6, alpha) / alpha;
        assert!((share(0.05 / 13.0) - 0.1826).abs() < 1e-4);
        assert!((share(1e-12) - 0.14).abs() < 1e-3);
    }

    #[test]
    fn however_small_the_level_all_looks_spend_no_more_than_independent_ones() {
        let spent = |alpha| -> f64 { (0..LOOKS.len()).map(|index| part(index, alpha)).sum() };
        assert!(spent(1e-15) <= 1.001e-15);
    }

    #[test]
    fn p_is_at_most_alpha_exactly_if_the_look_excludes_0() {
        for alpha in [0.05, 0.05 / 13.0, 0.05 / 91.0] {
            for sessions in LOOKS {
                let level = last_look(sessions, alpha).unwrap().alpha;
                assert!((p_of_all_looks(level, sessions) / alpha - 1.0).abs() < 1e-9);
                assert!(p_of_all_looks(level * 1.001, sessions) > alpha);
                assert!(p_of_all_looks(level * 0.999, sessions) < alpha);
            }
        }
        assert_eq!((p_of_all_looks(0.5, 6), p_of_all_looks(0.001, 7)), (1.0, 1.0));
        assert!(p_of_all_looks(0.0, 6) < 1e-15);
    }
}
