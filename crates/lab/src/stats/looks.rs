//! Looks at a run that goes on until it is decided. The intervals of all looks hold together
//! (repeated confidence intervals, Jennison and Turnbull 1989), so that the run may stop after any
//! of them, for any reason.

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
/// at most the level, for levels from 5 % to 0.05 / 351 (`cargo bench -p bytelab-lab --bench
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
pub fn p_of_all_looks(p: f64, sessions: usize) -> f64 {
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
