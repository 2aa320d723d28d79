//! The estimate of a shift from paired differences (Hodges and Lehmann 1963) with the interval that
//! inverts the signed-rank test, and the guard against rounds that depend on their neighbours.

use super::sessions;
use super::signed_rank::SignedRank;
use super::walsh::Walsh;

/// How many neighbouring rounds are averaged at most.
const BLOCK_MAX: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    pub n: usize,
    /// The median of the Walsh averages.
    pub estimate: f64,
    /// None where n is too small for the level.
    pub interval: Option<(f64, f64)>,
    /// Of the two-sided signed-rank test. A tie with 0 counts against a difference, so that
    /// p ≤ α exactly if the interval excludes 0, whatever the ties.
    pub p: f64,
}

/// None if there is no value or one that is not finite.
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

/// A shift from rounds that may depend on their neighbours and on the processes they were taken from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Rounds that entered.
    pub rounds: usize,
    /// So many neighbouring rounds were averaged.
    pub block: usize,
    /// The sessions were compared as wholes, as they differ by more than their rounds do, or as these are too few.
    pub by_session: bool,
    /// Neighbouring blocks still depend on each other: there is no interval and no p.
    pub dependent: bool,
    /// Its `n` is the number of blocks, or of sessions.
    pub shift: Shift,
}

/// The shift over the rounds of all sessions, each session in order. What a process costs for all its
/// life (where its memory lies, on which CPU it sits) makes the rounds of a session alike; where that
/// is seen, or the rounds are too few for an interval, the session is the unit. Within them the signed-rank test takes its values as
/// independent; where neighbours are alike, blocks of 2, 4, 8 rounds are averaged until they are not.
pub fn paired(sessions: &[Vec<f64>], alpha: f64) -> Option<Paired> {
    let found = in_blocks(&sessions.concat(), alpha)?;
    if found.shift.interval.is_some() && sessions::alike(sessions) {
        return Some(found);
    }
    let Some(shift) = sessions::shift(sessions, alpha) else { return Some(found) };
    Some(Paired { block: 1, by_session: true, dependent: false, shift, ..found })
}

fn in_blocks(differences: &[f64], alpha: f64) -> Option<Paired> {
    let rounds = differences.len();
    let mut block = 1;
    loop {
        let means = blocks(differences, block);
        let dependent = autocorrelation(&means) > 2.0 / (means.len() as f64).sqrt();
        if !dependent || block == BLOCK_MAX {
            let mut shift = hodges_lehmann(&means, alpha)?;
            if dependent {
                (shift.interval, shift.p) = (None, 1.0);
            }
            return Some(Paired { rounds, block, by_session: false, dependent, shift });
        }
        block *= 2;
    }
}

/// The fewest pairs that give an interval at this level.
pub fn pairs_needed(alpha: f64) -> usize {
    (0..=60).find(|n| SignedRank::new(*n).bound(alpha) > 0).unwrap_or(usize::MAX)
}

/// Means of ⌊n / block⌋ runs of neighbours, some of them one longer than others, so that no round is
/// left out.
fn blocks(values: &[f64], block: usize) -> Vec<f64> {
    let count = (values.len() / block).max(1);
    let start = |i: usize| i * values.len() / count;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    (0..count).map(|i| mean(&values[start(i)..start(i + 1)])).collect()
}

/// The correlation of each value with the next; 0 for a constant or too short series.
pub fn autocorrelation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    let covariance: f64 = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    if variance > 0.0 && variance.is_finite() { covariance / variance } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_neighbours_are_averaged_until_they_are_independent() {
        // Runs of equal values and no pattern beyond: a block must swallow a run.
        let noise = (0..40u32).map(|i| f64::from((i * i * 17 + i * 5) % 101));
        let runs = |len: usize| -> Vec<f64> {
            noise.clone().flat_map(|x| std::iter::repeat_n(x, len)).collect()
        };
        for (len, block) in [(1, 1), (2, 2), (4, 4), (8, 8)] {
            let found = paired(&[runs(len)], 0.05).unwrap();
            assert_eq!((found.block, found.dependent), (block, false), "runs of {len}");
            assert_eq!((found.rounds, found.shift.n), (40 * len, 40));
        }
    }

    #[test]
    fn a_drift_of_the_differences_gives_no_interval() {
        let drift: Vec<f64> = (0..100).map(f64::from).collect();
        let found = paired(&[drift], 0.05).unwrap();
        assert!(found.dependent);
        assert_eq!((found.block, found.shift.interval, found.shift.p), (8, None, 1.0));
    }

    #[test]
    fn sessions_that_differ_are_compared_as_wholes() {
        // 1 % up or down for the life of a process, and rounds that hardly vary.
        let session = |i: u32| -> Vec<f64> {
            let process = if i.is_multiple_of(2) { 0.01 } else { -0.01 };
            (0..10).map(|round| process + f64::from((i * 10 + round) * 7 % 11) * 1e-5).collect()
        };
        let sessions: Vec<Vec<f64>> = (0..10).map(session).collect();
        let found = paired(&sessions, 0.05).unwrap();
        assert!(found.by_session);
        assert_eq!((found.rounds, found.shift.n), (100, 10));
        let (low, high) = found.shift.interval.unwrap();
        assert!(low < -0.007 && 0.007 < high, "{low} to {high}");
        // All rounds of one session: the difference between processes cannot be seen.
        assert!(!paired(&sessions[..1], 0.05).unwrap().by_session);
    }

    #[test]
    fn a_drift_does_not_hide_a_difference_that_every_session_shows() {
        let session = |i: u32| (0..10).map(|r| 1.0 + f64::from(10 * i + r) * 1e-3).collect();
        let found = paired(&(0..10).map(session).collect::<Vec<_>>(), 0.05).unwrap();
        assert!(found.by_session && found.shift.interval.unwrap().0 > 1.0);
    }

    #[test]
    fn where_rounds_are_too_few_the_sessions_decide() {
        let sessions: Vec<Vec<f64>> =
            (0..6).map(|i| vec![3.0 + f64::from(i * 5 % 6) * 0.01]).collect();
        let alpha = 0.05 / 26.0;
        let found = paired(&sessions, alpha).unwrap();
        assert!(found.by_session && found.shift.interval.unwrap().0 > 2.9, "{found:?}");
        // The same rounds of fewer sets of processes.
        assert_eq!(paired(&[sessions.concat()], alpha).unwrap().shift.interval, None);
        assert_eq!(paired(&sessions[..4], alpha).unwrap().shift.interval, None);
    }

    #[test]
    fn blocks_leave_no_round_out() {
        let values: Vec<f64> = (1..=11).map(f64::from).collect();
        assert_eq!(blocks(&values, 1), values);
        assert_eq!(blocks(&values, 4), [3.0, 8.5]);
        assert_eq!(blocks(&values, 20), [6.0]);
        assert!(paired(&[], 0.05).is_none());
    }

    #[test]
    fn the_fewest_pairs_grow_with_the_comparisons() {
        let needs =
            [1.0, 2.0, 13.0, 14.0, 1e30].map(|comparisons| pairs_needed(0.05 / comparisons));
        assert_eq!(needs, [6, 7, 10, 10, usize::MAX]);
    }
}
