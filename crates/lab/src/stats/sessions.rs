//! Sessions as wholes: whether they differ by more than their rounds do, and the shift with its
//! interval when each session is one value.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

use super::paired::{Shift, hodges_lehmann};

/// Sessions are taken as alike only if chance alone gives such a difference this often. The level is
/// mild: to overlook a difference costs more than to look at sessions needlessly. With 10 sessions of
/// 10 rounds and processes that differ by anything from nothing to 9 times the noise, at most 7 % of
/// equal programs are then called different, where rounds alone would give up to 52 %.
const ALIKE: f64 = 0.25;

const LEAST: usize = 5;

/// By the test of Kruskal and Wallis (1952).
pub(super) fn alike(sessions: &[Vec<f64>]) -> bool {
    let groups: Vec<&Vec<f64>> = sessions.iter().filter(|rounds| !rounds.is_empty()).collect();
    let mut all: Vec<(f64, usize)> = Vec::new();
    for (group, rounds) in groups.iter().enumerate() {
        all.extend(rounds.iter().map(|value| (*value, group)));
    }
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let n = all.len() as f64;
    let mut rank_sums = vec![0.0; groups.len()];
    let (mut first, mut ties) = (1.0, 0.0);
    for tied in all.chunk_by(|a, b| a.0 >= b.0) {
        let t = tied.len() as f64;
        for (_, group) in tied {
            rank_sums[*group] += first + (t - 1.0) / 2.0;
        }
        ties += t.powi(3) - t;
        first += t;
    }
    let sum: f64 = rank_sums.iter().zip(&groups).map(|(r, g)| r * r / g.len() as f64).sum();
    let h = (12.0 / (n * (n + 1.0)) * sum - 3.0 * (n + 1.0)) / (1.0 - ties / (n.powi(3) - n));
    // One session, or values that are all equal, have nothing to differ by.
    let Ok(null) = ChiSquared::new(groups.len() as f64 - 1.0) else { return true };
    !(h.is_finite() && null.sf(h) < ALIKE)
}

/// The mean of the sessions' own shifts with Student's interval. None for fewer than five
/// sessions: at the level of many comparisons its interval would then be of no use.
pub(super) fn shift(sessions: &[Vec<f64>], alpha: f64) -> Option<Shift> {
    let shifts: Vec<f64> = sessions
        .iter()
        .filter_map(|rounds| Some(hodges_lehmann(rounds, alpha)?.estimate))
        .collect();
    let n = shifts.len();
    if n < LEAST {
        return None;
    }
    let count = n as f64;
    let estimate = shifts.iter().sum::<f64>() / count;
    let variance = shifts.iter().map(|x| (x - estimate).powi(2)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    let null = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    let half_width = -null.inverse_cdf(alpha / 2.0) * error;
    let p = match estimate.abs() / error {
        t if t.is_nan() => 1.0,
        t => (2.0 * null.sf(t)).min(1.0),
    };
    Some(Shift { n, estimate, interval: Some((estimate - half_width, estimate + half_width)), p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // scipy.stats.t.interval(0.95, 4, loc=3, scale=scipy.stats.sem([1, 2, 3, 4, 5]))
        let sessions: Vec<Vec<f64>> = (1..=5).map(|x| vec![f64::from(x)]).collect();
        let found = shift(&sessions, 0.05).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!((low - 1.036_756_838_522_439).abs() < 1e-6, "{low}");
        assert!((high - 4.963_243_161_477_561).abs() < 1e-6, "{high}");
        // scipy.stats.ttest_1samp([1, 2, 3, 4, 5], 0).pvalue
        assert!((found.p - 0.013_235_6).abs() < 1e-6, "{}", found.p);
        assert_eq!(shift(&sessions[..4], 0.05), None);
    }

    #[test]
    fn equal_sessions_have_an_interval_without_width() {
        let found = shift(&vec![vec![0.5; 3]; 5], 0.05).unwrap();
        assert_eq!((found.interval, found.p), (Some((0.5, 0.5)), 0.0));
        let found = shift(&vec![vec![0.0; 3]; 5], 0.05).unwrap();
        assert_eq!((found.interval, found.p), (Some((0.0, 0.0)), 1.0));
    }

    #[test]
    fn sessions_are_alike_by_the_ranks_of_their_rounds() {
        // scipy.stats.kruskal gives p = 0.0273 and 0.2941.
        let differ = [vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0], vec![7.0, 8.0, 9.0]];
        let similar = [vec![1.0, 5.0, 6.0], vec![2.0, 4.0, 9.0], vec![3.0, 7.0, 8.0]];
        assert!(!alike(&differ));
        assert!(alike(&similar));
        assert!(alike(&differ[..1]));
        assert!(alike(&[vec![1.0; 5], vec![1.0; 5]]));
        assert!(alike(&[Vec::new(), vec![1.0]]));
        assert!(alike(&[]));
    }
}
