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
    fn each_part_gets_its_size() {
        let parts: Vec<usize> = Partition::new(Rng::new(4), vec![3, 0, 5]).collect();
        let count = |part| parts.iter().filter(|p| **p == part).count();
        assert_eq!((parts.len(), count(0), count(1), count(2)), (8, 3, 0, 5));
    }
}
