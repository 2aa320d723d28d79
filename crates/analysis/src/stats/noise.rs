//! Doubts about a series of samples: two modes, a start that differs, an effect of the
//! position in the round, a pass that ran at another speed. All functions take logarithms of times,
//! so that a difference is a ratio.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::median;

/// A difference of less than 1 % is no reason for a doubt, however small the spread is.
const RELEVANT: f64 = 0.01;

/// If there are few sessions, up to this many samples at the start of one may be warm-up that was
/// not marked.
const FIRST: usize = 5;

/// With fewer sessions than this, the first sample of each is not sufficient.
const SESSIONS: usize = 5;

/// The start of a session is compared with at most this many of its samples.
const BESIDE: usize = 50;

/// From this number of sessions on, a sum of their ranks is nearly normal.
const NEAR_NORMAL: usize = 20;

/// Fewer samples have such gaps by chance, and so have fewer samples on one side of the gap: of 14
/// methods of pure noise with 30 samples each, one had two modes in 4.5 % of runs when a mode had
/// three samples.
const MODES_MIN: usize = 22;
const MODE_MIN: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Share of the samples in the upper mode.
    pub(crate) upper_share: f64,
    /// Median of the upper mode minus that of the lower one.
    pub distance: f64,
}

/// Two groups of samples with a gap of more than 5 median deviations between them, each of at least
/// 10 % (and 5) of the samples. The deviation is computed within the groups: over both it would
/// grow with the gap and hide modes of equal size.
pub(crate) fn two_modes(logs: &[f64]) -> Option<Modes> {
    let mut sorted = logs.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    if n < MODES_MIN {
        return None;
    }
    let least = n.div_ceil(10).max(MODE_MIN);
    let gap = |i: &usize| sorted[*i] - sorted[*i - 1];
    let cut = (least..=n.checked_sub(least)?).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    let (lower, upper) = sorted.split_at(cut);
    let centers = (median(lower), median(upper));
    let distances: Vec<f64> = lower
        .iter()
        .map(|x| (x - centers.0).abs())
        .chain(upper.iter().map(|x| (x - centers.1).abs()))
        .collect();
    (gap(&cut) > 5.0 * median(&distances) && gap(&cut) > RELEVANT).then(|| Modes {
        upper_share: upper.len() as f64 / n as f64,
        distance: centers.1 - centers.0,
    })
}

/// The first samples of the sessions compared with the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// By how much the first samples exceed the median of the others, in the median session.
    pub excess: f64,
    /// The p of the one-sided test.
    pub p: f64,
}

/// Whether sessions begin with slow samples: the ranks of the first samples among the samples of
/// their own session, summed over the sessions (van Elteren 1960). By chance alone, each rank is
/// equally likely, whatever the shape of the noise and whatever constant cost a process has. The
/// first sample of each session is used, and up to five of each if there are fewer than five
/// sessions. None where no session has other samples beside them.
pub fn start(sessions: &[&[f64]]) -> Option<Start> {
    let long = sessions.iter().filter(|logs| logs.len() > 1);
    let long: Vec<&[f64]> = long.map(|logs| &logs[..logs.len().min(BESIDE)]).collect();
    let first = |n: usize| if long.len() < SESSIONS { (n / 4).clamp(1, FIRST) } else { 1 };
    let excess: Vec<f64> = long
        .iter()
        .map(|logs| {
            let (start, rest) = logs.split_at(first(logs.len()));
            median(start) - median(rest)
        })
        .collect();
    // The smallest rank of equal values, because equality is no sign of a slow start.
    let rank = |logs: &[f64], x: f64| 1 + logs.iter().filter(|y| **y < x).count();
    let rank_sum =
        |logs: &[f64]| -> usize { logs[..first(logs.len())].iter().map(|x| rank(logs, *x)).sum() };
    let sum: usize = long.iter().map(|logs| rank_sum(logs)).sum();
    let designs: Vec<(usize, usize)> =
        long.iter().map(|logs| (logs.len(), first(logs.len()))).collect();
    (!long.is_empty()).then(|| Start { excess: median(&excess), p: at_least(&designs, sum) })
}

/// The probability of this sum of ranks or a larger one; each part is the number of samples, and
/// how many of them are in the sum.
fn at_least(parts: &[(usize, usize)], sum: usize) -> f64 {
    if parts.len() >= NEAR_NORMAL {
        let part = |(n, first): &(usize, usize)| {
            let (n, first) = (*n as f64, *first as f64);
            (first * (n + 1.0) / 2.0, first * (n - first) * (n + 1.0) / 12.0)
        };
        let (mean, variance) =
            parts.iter().map(part).fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        return Normal::standard().sf((sum as f64 - 0.5 - mean) / variance.sqrt());
    }
    let mut all = vec![1.0];
    for (n, first) in parts {
        let one = rank_sums(*n, *first);
        let mut both = vec![0.0; all.len() + one.len() - 1];
        for (i, x) in all.iter().enumerate().filter(|(_, x)| **x > 0.0) {
            for (j, y) in one.iter().enumerate() {
                both[i + j] += x * y;
            }
        }
        all = both;
    }
    all.iter().skip(sum).sum()
}

/// By sum, the probability that `first` of the ranks 1 to n have it.
fn rank_sums(n: usize, first: usize) -> Vec<f64> {
    let most = first * n;
    // By the number of ranks that were taken and their sum.
    let mut ways = vec![vec![0.0; most + 1]; first + 1];
    ways[0][0] = 1.0;
    for rank in 1..=n {
        for taken in (1..=first).rev() {
            for sum in (rank..=most).rev() {
                ways[taken][sum] += ways[taken - 1][sum - rank];
            }
        }
    }
    let all: f64 = ways[first].iter().sum();
    ways[first].iter().map(|ways| ways / all).collect()
}

/// How another session differs from these, and the two-sided p of no difference: it must differ by
/// more than sessions do among each other (Student's prediction interval). `other` are the logs of
/// its samples. None for fewer than five sessions.
pub(crate) fn another_session(sessions: &[&[f64]], other: &[f64]) -> Option<(f64, f64)> {
    let medians: Vec<f64> = sessions.iter().map(|logs| median(logs)).collect();
    let n = medians.len() as f64;
    if medians.len() < SESSIONS || other.is_empty() {
        return None;
    }
    let mean = medians.iter().sum::<f64>() / n;
    let variance = medians.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // If it has fewer samples, its median varies more than theirs: by π/2 of the variance of a
    // sample divided by their number.
    let within = sessions
        .iter()
        .zip(&medians)
        .map(|(logs, center)| logs.iter().map(|x| (x - center).powi(2)).sum::<f64>());
    let samples: usize = sessions.iter().map(|logs| logs.len()).sum();
    let freedom = (samples as f64 - n).max(1.0);
    let of_sample = within.sum::<f64>() / freedom;
    let fewer = (1.0 / other.len() as f64 - n / samples as f64).max(0.0);
    let more = std::f64::consts::FRAC_PI_2 * of_sample * fewer;
    let difference = median(other) - mean;
    let error = (variance * (1.0 + 1.0 / n) + more).sqrt();
    let null = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    let t = difference.abs() / error;
    let p = if t.is_nan() { 1.0 } else { (2.0 * null.sf(t)).min(1.0) };
    Some((difference, p))
}

/// For one round: the mean of the second half of the positions minus that of the first half.
/// `places` are position and value; with an odd number of positions the middle one is left out.
/// None if the positions do not allow two halves.
pub(crate) fn half_difference(places: &mut [(u32, f64)]) -> Option<f64> {
    places.sort_unstable_by_key(|(slot, _)| *slot);
    let half = places.len() / 2;
    let (first, second) = (places.get(..half)?, places.get(places.len() - half..)?);
    let mean = |part: &[(u32, f64)]| part.iter().map(|(_, x)| x).sum::<f64>() / half as f64;
    (first.last()?.0 < second.first()?.0).then(|| mean(second) - mean(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bell-shaped series around `center`, the same for every call.
    fn bell(n: usize, center: f64, sd: f64) -> Vec<f64> {
        (0..n)
            .map(|i| {
                let unit = |k: usize| ((i + 1) * k % 1009) as f64 / 1009.0;
                let sum: f64 = [389, 557, 743, 907, 211, 631].map(unit).iter().sum();
                center + sd * (sum - 3.0) * 2f64.sqrt()
            })
            .collect()
    }

    #[test]
    fn two_modes_are_seen_at_any_share_from_a_tenth() {
        for (lower, upper) in [(90, 10), (70, 30), (50, 50), (20, 80)] {
            let mut logs = bell(lower, 0.0, 0.01);
            logs.extend(bell(upper, 0.2, 0.01));
            let modes = two_modes(&logs).unwrap();
            assert!((modes.upper_share - f64::from(upper as u32) / 100.0).abs() < 1e-9);
            assert!((modes.distance - 0.2).abs() < 0.02, "{modes:?}");
        }
    }

    #[test]
    fn one_mode_and_outliers_are_not_two() {
        for n in [0, 1, 5, 6, 10, 30, 100, 1000] {
            assert_eq!(two_modes(&bell(n, 0.0, 0.05)), None, "n={n}");
        }
        let mut outliers = bell(95, 0.0, 0.01);
        outliers.extend([1.0; 5]);
        assert_eq!(two_modes(&outliers), None);
        // The steps of a coarse clock, 0.1 % apart.
        let steps: Vec<f64> = (0..100).map(|i| f64::from(i % 2) * 0.001).collect();
        assert_eq!(two_modes(&steps), None);
    }

    #[test]
    fn a_slow_start_of_every_session_is_seen() {
        let mut logs = bell(30, 0.0, 0.01);
        let of = |logs: &[f64]| start(&logs.chunks(3).collect::<Vec<_>>()).unwrap();
        assert!(of(&logs).p > 0.01, "{:?}", of(&logs));
        logs.iter_mut().step_by(3).for_each(|x| *x += 0.1);
        let found = of(&logs);
        // All ten first samples are the slowest of three.
        assert!((found.p - 3f64.powi(-10)).abs() < 1e-12, "{found:?}");
        assert!((0.08..0.12).contains(&found.excess), "{found:?}");
        let logs: Vec<f64> = logs.iter().map(|x| -x).collect();
        assert!(of(&logs).p > 0.99);
    }

    #[test]
    fn a_slow_start_of_one_long_session_is_seen() {
        let mut logs = bell(100, 0.0, 0.01);
        assert!(start(&[&logs]).unwrap().p > 0.01);
        logs[..4].iter_mut().for_each(|x| *x += 0.2);
        assert!(start(&[&logs]).unwrap().p < 0.001);
        assert_eq!(start(&[&[1.0], &[]]), None);
        assert_eq!(start(&[]), None);
        assert!(start(&[&[1.0; 10][..]; 6]).unwrap().p > 0.99, "equal samples");
    }

    #[test]
    fn sums_of_ranks_have_their_chances() {
        // Two of four ranks: 3 and 4 once, 5 twice, 6 and 7 once, of six.
        let chances = rank_sums(4, 2);
        let sixths: Vec<f64> = chances[3..8].iter().map(|x| (x * 6.0).round()).collect();
        assert_eq!(sixths, [1.0, 1.0, 2.0, 1.0, 1.0]);
        assert!((at_least(&[(4, 2)], 6) - 2.0 / 6.0).abs() < 1e-12);
        assert!((at_least(&[(3, 1), (3, 1)], 6) - 1.0 / 9.0).abs() < 1e-12);
        // The normal approximation begins where the exact chances end.
        let exact = at_least(&[(4, 1); 19], 57);
        assert!((at_least(&[(4, 1); 20], 60) / exact - 1.0).abs() < 0.3, "{exact}");
    }

    #[test]
    fn a_session_differs_only_by_more_than_sessions_do() {
        let process = |i: u32| f64::from(i * 7 % 10) * 0.02;
        let sessions: Vec<Vec<f64>> = (0..10).map(|i| bell(4, process(i), 0.01)).collect();
        let sessions: Vec<&[f64]> = sessions.iter().map(Vec::as_slice).collect();
        let p = |other: f64| another_session(&sessions, &bell(5, other, 0.01)).unwrap().1;
        assert!(p(0.2) > 0.02 && p(0.09) > 0.5, "{} {}", p(0.2), p(0.09));
        let (difference, p) = another_session(&sessions, &bell(5, 0.6, 0.01)).unwrap();
        assert!(p < 1e-4 && (difference - 0.5).abs() < 0.03, "{difference} {p}");
        assert_eq!(another_session(&sessions[..4], &[0.0]), None);
        assert_eq!(another_session(&sessions, &[]), None);
    }

    #[test]
    fn the_second_half_of_a_round_less_the_first() {
        assert_eq!(half_difference(&mut [(1, 5.0), (0, 3.0)]), Some(2.0));
        assert_eq!(half_difference(&mut [(4, 9.0), (0, 1.0), (2, 100.0)]), Some(8.0));
        assert_eq!(half_difference(&mut [(0, 1.0)]), None);
        assert_eq!(half_difference(&mut [(7, 5.0), (7, 3.0)]), None);
        assert_eq!(half_difference(&mut []), None);
    }

    #[test]
    fn the_p_of_another_session_is_that_of_a_prediction_interval() {
        // By hand: P(|t| > x) for 4 degrees of freedom is 1 − s (1 + (1 − s²)/2), where
        // s² = x²/(x² + 4).
        let close = |got: Option<(f64, f64)>, square: f64| {
            let (difference, p) = got.unwrap();
            let s = (square / (square + 4.0)).sqrt();
            assert!((difference - 4.0).abs() < 1e-12, "{difference}");
            assert!((p - (1.0 - s * (1.0 + (1.0 - s * s) / 2.0))).abs() < 1e-9, "{p}");
        };
        // The mean of the medians is 3, their variance 2.5, so that t² is 16/(2.5 · 1.2).
        let single = [[1.0], [2.0], [3.0], [4.0], [5.0]];
        close(another_session(&single.each_ref().map(|x| &x[..]), &[7.0]), 16.0 / 3.0);
        // The variance within sessions is 2. One sample beside sessions of two adds π/2 · 2 · ½.
        let double = [1.0, 2.0, 3.0, 4.0, 5.0].map(|x| [x - 1.0, x + 1.0]);
        let more = std::f64::consts::FRAC_PI_2;
        close(another_session(&double.each_ref().map(|x| &x[..]), &[7.0]), 16.0 / (3.0 + more));
        close(another_session(&double.each_ref().map(|x| &x[..]), &[6.0, 8.0]), 16.0 / 3.0);
    }

    #[test]
    fn two_modes_take_enough_samples_and_a_gap_beyond_the_limits() {
        let of = |lower: usize, upper: usize, distance: f64| {
            let logs = [vec![0.0; lower], vec![distance; upper]].concat();
            two_modes(&logs).is_some()
        };
        assert_eq!([of(10, 11, 1.0), of(11, 11, 1.0)], [false, true]);
        assert_eq!([of(50, 50, 0.01), of(50, 50, 0.0101)], [false, true]);
        // The median of the deviations is 1, and the gap 2 less than the distance.
        let mode = |center: f64| {
            [-1.0, -1.0, -1.0, -1.0, -1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(|x| center + x)
        };
        let beside = |distance: f64| two_modes(&[mode(0.0), mode(distance)].concat()).is_some();
        assert_eq!([beside(7.0), beside(7.5)], [false, true]);
    }

    #[test]
    fn of_five_sessions_the_first_sample_of_each_is_the_start() {
        let session = [3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let found = start(&[&session[..]; 5]).unwrap();
        assert!((found.excess - 2.0).abs() < 1e-12, "{found:?}");
        assert!((found.p - 8f64.powi(-5)).abs() < 1e-12, "{found:?}");
        // Of four sessions a quarter of the samples are: 3 and 1, and 1 beside them.
        let found = start(&[&session[..]; 4]).unwrap();
        assert!((found.excess - 1.0).abs() < 1e-12, "{found:?}");
    }
}
