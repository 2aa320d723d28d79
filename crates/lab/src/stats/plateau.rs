//! Where a series of measurements over sizes is level: the sizes at which a cache, or memory,
//! answers.

use super::median;

/// A sequence of neighbouring values that are equal within the noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Plateau {
    /// Indices of its first and its last value.
    pub first: usize,
    pub last: usize,
    /// The median of its values.
    pub value: f64,
}

/// The absolute deviation, in octaves, that another level must explain to be worth it.
const PENALTY: f64 = 0.25;
/// With fewer values it is a step between two plateaus.
const LEAST_RUNGS: usize = 3;
/// The largest value of a plateau is at most this multiple of the smallest.
const MAX_SPREAD: f64 = 1.35;
/// Neighbouring plateaus whose ratio is smaller are merged.
const DISTINCT: f64 = 1.15;

/// The plateaus of positive values; each belongs to larger sizes than the one before. The
/// logarithms are fitted by constant pieces with the least absolute deviation, by dynamic
/// programming.
pub fn plateaus(values: &[f64]) -> Vec<Plateau> {
    let logs: Vec<f64> = values.iter().map(|value| value.log2()).collect();
    let mut found: Vec<Plateau> = Vec::new();
    for (first, last) in pieces(&logs) {
        let part = &values[first..=last];
        let largest = part.iter().copied().fold(f64::MIN, f64::max);
        let smallest = part.iter().copied().fold(f64::MAX, f64::min);
        if part.len() < LEAST_RUNGS || largest / smallest > MAX_SPREAD {
            continue;
        }
        let value = median(part);
        match found.last_mut() {
            Some(before)
                if before.last + 1 == first && distance(before.value, value) < DISTINCT =>
            {
                before.last = last;
                before.value = median(&values[before.first..=last]);
            }
            _ => found.push(Plateau { first, last, value }),
        }
    }
    found
}

fn distance(a: f64, b: f64) -> f64 {
    (a / b).max(b / a)
}

/// First and last index of each piece.
fn pieces(logs: &[f64]) -> Vec<(usize, usize)> {
    // By the number of values that are explained: the cost, and where the last piece begins.
    let mut best: Vec<(f64, usize)> = vec![(0.0, 0)];
    for end in 1..=logs.len() {
        let cost = |start: usize| best[start].0 + deviation(&logs[start..end]) + PENALTY;
        let costs = (0..end).map(|start| (cost(start), start));
        let cheapest = costs.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0));
        best.push(cheapest);
    }
    let mut pieces = Vec::new();
    let mut end = logs.len();
    while end > 0 {
        let start = best[end].1;
        pieces.push((start, end - 1));
        end = start;
    }
    pieces.reverse();
    pieces
}

fn deviation(logs: &[f64]) -> f64 {
    let middle = median(logs);
    logs.iter().map(|log| (log - middle).abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], expected: &[(usize, usize, f64)]) {
        let found: Vec<(usize, usize, f64)> =
            plateaus(values).iter().map(|p| (p.first, p.last, p.value)).collect();
        assert_eq!(found, expected, "{values:?}");
    }

    #[test]
    fn levels_are_found_and_steps_are_not() {
        let ladder =
            [1.2, 1.2, 1.21, 1.2, 2.0, 3.7, 3.7, 3.8, 3.7, 9.0, 30.0, 60.0, 90.0, 91.0, 90.0];
        check(&ladder, &[(0, 3, 1.2), (5, 8, 3.7), (12, 14, 90.0)]);
    }

    #[test]
    fn noise_on_a_level_leaves_it_one() {
        check(&[4.0, 4.2, 3.9, 4.1, 4.0, 4.3, 4.0], &[(0, 6, 4.0)]);
    }

    #[test]
    fn a_slope_has_no_plateau() {
        check(&[1.0, 1.5, 2.25, 3.4, 5.1, 7.6, 11.4], &[]);
        check(&[], &[]);
        check(&[3.0], &[]);
    }

    #[test]
    fn all_levels_of_any_ladder_are_found_in_noise() {
        // A fixed sequence that does not differ between test runs.
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            1.0 + ((state >> 40) as f64 / 16_777_216.0 - 0.5) * 0.06
        };
        for _ in 0..200 {
            let levels = [1.2, 3.8, 15.0, 110.0];
            let ladder: Vec<f64> =
                levels.iter().flat_map(|level| [*level; 6]).map(|level| level * noise()).collect();
            let found = plateaus(&ladder);
            assert_eq!(found.len(), 4, "{ladder:?}");
            for (plateau, level) in found.iter().zip(levels) {
                assert!(distance(plateau.value, level) < 1.03, "{plateau:?}");
            }
        }
    }

    #[test]
    fn neighbours_are_one_plateau_if_they_differ_by_less_than_the_limit() {
        let [low, near, apart] = [1.0, 1.1, 1.15].map(|level| [level; 4]);
        check(&[low, near].concat(), &[(0, 7, 1.05)]);
        check(&[low, apart].concat(), &[(0, 3, 1.0), (4, 7, 1.15)]);
    }

    #[test]
    fn values_that_spread_more_than_a_level_are_none() {
        // All five are nearer to the middle than another piece costs, which is 2^0.25 = 1.189.
        check(&[1.0, 1.16, 1.16, 1.16, 1.35], &[(0, 4, 1.16)]);
        check(&[1.0, 1.18, 1.18, 1.18, 1.39], &[]);
    }
}
