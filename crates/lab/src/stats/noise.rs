//! What makes a series of samples doubtful: two modes, a start that differs, a place in the round
//! that matters. All take logarithms of times, so that a difference is a ratio.

use super::{median, spread};

/// What differs by less than 1 % is no reason for a doubt, however small the spread.
const RELEVANT: f64 = 0.01;

/// How many samples at the start may be warm-up that was not marked.
const FIRST: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Share of the samples in the upper mode.
    pub upper_share: f64,
    /// Median of the upper mode less that of the lower one.
    pub distance: f64,
}

/// Two groups of samples with a gap of more than 5 median deviations between them, each of at least
/// 10 % (and 3) of the samples. The deviation is taken within the groups: over both it would grow
/// with the gap and hide modes of equal size.
pub fn two_modes(logs: &[f64]) -> Option<Modes> {
    let mut sorted = logs.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let least = n.div_ceil(10).max(3);
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

/// How many of the first five samples are slower than the median by a modified z (Iglewicz and
/// Hoaglin 1993) of more than 5. It is 0 if more than 5 % of the later ones are so too: then spikes
/// are common, and those at the start are no warm-up.
pub fn first_samples_slow(logs: &[f64]) -> usize {
    let center = median(logs);
    let deviation = spread(logs, center);
    let slow = |x: &&f64| {
        let distance = **x - center;
        0.6745 * distance > 5.0 * deviation && distance > RELEVANT
    };
    let (start, rest) = logs.split_at(logs.len().min(FIRST));
    let later = rest.iter().filter(slow).count();
    if later * 20 > rest.len() { 0 } else { start.iter().filter(slow).count() }
}

/// Of one round: the mean of the second half of the places less that of the first half. `places` are
/// place and value; with an odd number of places the one in the middle is left out. None if the places
/// do not tell the halves apart.
pub fn half_difference(places: &mut [(u32, f64)]) -> Option<f64> {
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
    fn a_slow_start_is_seen_and_common_spikes_are_not() {
        let mut logs = bell(100, 0.0, 0.01);
        assert_eq!(first_samples_slow(&logs), 0);
        logs[0] += 0.5;
        logs[1] += 0.2;
        assert_eq!(first_samples_slow(&logs), 2);
        logs.iter_mut().skip(1).step_by(10).for_each(|x| *x += 0.5);
        assert_eq!(first_samples_slow(&logs), 0);
        let mut fast = bell(100, 0.0, 0.01);
        fast[0] -= 0.5;
        assert_eq!(first_samples_slow(&fast), 0);
        assert_eq!(first_samples_slow(&[]), 0);
    }

    #[test]
    fn the_second_half_of_a_round_less_the_first() {
        assert_eq!(half_difference(&mut [(1, 5.0), (0, 3.0)]), Some(2.0));
        assert_eq!(half_difference(&mut [(4, 9.0), (0, 1.0), (2, 100.0)]), Some(8.0));
        assert_eq!(half_difference(&mut [(0, 1.0)]), None);
        assert_eq!(half_difference(&mut [(7, 5.0), (7, 3.0)]), None);
        assert_eq!(half_difference(&mut []), None);
    }
}
