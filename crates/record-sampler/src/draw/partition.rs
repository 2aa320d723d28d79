//! Assigns each record to one of several parts.

use crate::random::Rng;

/// The part of each record in turn, such that each part gets exactly its size: a part is chosen
/// with the probability of what it still lacks among what is left.
pub(crate) struct Partition {
    rng: Rng,
    lacking: Vec<u64>,
    left: u64,
}

impl Partition {
    pub(crate) fn new(rng: Rng, sizes: Vec<u64>) -> Partition {
        let left = sizes.iter().sum();
        Partition { rng, lacking: sizes, left }
    }
}

impl Iterator for Partition {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        let mut place = self.rng.below(self.left);
        self.left -= 1;
        for (part, lacking) in self.lacking.iter_mut().enumerate() {
            if place < *lacking {
                *lacking -= 1;
                return Some(part);
            }
            place -= *lacking;
        }
        None
    }
}

/// Divides `total` into whole shares proportional to the weights, by the largest remainders; of
/// equal ones the first wins.
pub(crate) fn shares(total: u64, weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let exact: Vec<f64> = weights.iter().map(|w| total as f64 * w / sum).collect();
    let mut shares: Vec<u64> = exact.iter().map(|share| *share as u64).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    // An unstable sort needs no buffer.
    order.sort_unstable_by(|a, b| {
        exact[*b].fract().total_cmp(&exact[*a].fract()).then_with(|| a.cmp(b))
    });
    let missing = total.saturating_sub(shares.iter().sum());
    for part in order.into_iter().cycle().take(missing as usize) {
        shares[part] += 1;
    }
    shares
}

/// As `shares`, but what is left of whole numbers goes to parts at random, with probabilities
/// proportional to their fractions, so that each part gets its share of many small totals.
pub(crate) fn random_shares(rng: &mut Rng, total: u64, weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    let exact: Vec<f64> = weights.iter().map(|w| total as f64 * w / sum).collect();
    let mut shares: Vec<u64> = exact.iter().map(|share| *share as u64).collect();
    // At equal distances from a random start on a line of all fractions.
    let (mut end, mut next) = (0.0, rng.unit());
    for (share, exact) in shares.iter_mut().zip(&exact) {
        end += exact.fract();
        if next <= end {
            *share += 1;
            next += 1.0;
        }
    }
    // Fractions do not add up to a whole number to the last bit.
    if let Some(last) = (0..shares.len()).rev().find(|part| weights[*part] > 0.0) {
        let others = shares.iter().sum::<u64>() - shares[last];
        shares[last] = total.saturating_sub(others);
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_total() {
        assert_eq!(shares(10, &[0.8, 0.2]), [8, 2]);
        assert_eq!(shares(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(shares(0, &[1.0, 2.0]), [0, 0]);
        assert_eq!(shares(1, &[0.1, 0.9]), [0, 1]);
    }

    #[test]
    fn what_is_left_goes_to_each_part_as_often_as_its_fraction_says() {
        const TIMES: u64 = 10_000;
        let (mut rng, mut sums) = (Rng::new(3), [0u64; 3]);
        for _ in 0..TIMES {
            let shares = random_shares(&mut rng, 3, &[0.7, 0.2, 0.1]);
            assert_eq!(shares.iter().sum::<u64>(), 3);
            assert!([2, 3].contains(&shares[0]) && shares[1] <= 1 && shares[2] <= 1);
            sums.iter_mut().zip(&shares).for_each(|(sum, share)| *sum += share);
        }
        for (sum, expected) in sums.into_iter().zip([21_000, 6000, 3000]) {
            assert!(sum.abs_diff(expected) < 250, "{sums:?}");
        }
        assert_eq!(random_shares(&mut rng, 4, &[1.0, 0.0, 1.0]), [2, 0, 2]);
        assert_eq!(random_shares(&mut rng, 0, &[1.0]), [0]);
    }

    #[test]
    fn each_part_gets_its_size() {
        let parts: Vec<usize> = Partition::new(Rng::new(4), vec![3, 0, 5]).collect();
        let count = |part| parts.iter().filter(|p| **p == part).count();
        assert_eq!((parts.len(), count(0), count(1), count(2)), (8, 3, 0, 5));
    }
}
