//! Systematic sampling: records at equal distances from a random start.

use crate::random::Rng;

/// `n` of `total` ranks at equal distances, as nearly as whole numbers allow, from a random start:
/// each rank has the probability n/N exactly. Neighbours are never chosen together, so that pairs
/// of ranks do not have the same probability.
///
/// ```
/// use record_sampler::{Rng, Systematic};
/// let ranks: Vec<u64> = Systematic::new(Rng::new(1), 4, 20).collect();
/// assert!(ranks.windows(2).all(|two| two[1] - two[0] == 5));
/// ```
#[derive(Clone, Debug)]
pub struct Systematic {
    n: u64,
    total: u64,
    /// Of the n·N numbers from 0 on, every N-th from this one is chosen; rank k has the n numbers
    /// from k·n on.
    start: u64,
    next: u64,
}

impl Systematic {
    /// If `n` is larger than `total`, all are chosen.
    ///
    /// ```
    /// use record_sampler::{Rng, Systematic};
    /// assert_eq!(Systematic::new(Rng::new(1), 9, 3).collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    pub fn new(mut rng: Rng, n: u64, total: u64) -> Systematic {
        Systematic { n: n.min(total), total, start: rng.below(total), next: 0 }
    }
}

impl Iterator for Systematic {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.next == self.n {
            return None;
        }
        let number = u128::from(self.start) + u128::from(self.next) * u128::from(self.total);
        self.next += 1;
        Some((number / u128::from(self.n)) as u64)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.n - self.next) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Systematic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_the_same_number_of_starts_and_the_distances_are_equal() {
        for total in 1..=30 {
            for n in 1..=total {
                let mut counts = vec![0; total as usize];
                for start in 0..total {
                    let ranks: Vec<u64> = Systematic { n, total, start, next: 0 }.collect();
                    assert_eq!(ranks.len() as u64, n);
                    assert!(ranks.iter().all(|rank| *rank < total));
                    let distances = ranks.windows(2).map(|two| two[1] - two[0]);
                    let allowed = [total / n, total.div_ceil(n)];
                    assert!(distances.into_iter().all(|d| d > 0 && allowed.contains(&d)));
                    for rank in &ranks {
                        counts[*rank as usize] += 1;
                    }
                }
                assert!(counts.iter().all(|count| *count == n), "{n} of {total}");
            }
        }
    }

    #[test]
    fn each_start_is_equally_probable_and_drawn_by_the_seed() {
        const SEEDS: u64 = 60_000;
        let mut counts = [0u64; 12];
        for seed in 0..SEEDS {
            for rank in Systematic::new(Rng::new(seed), 3, 12) {
                counts[rank as usize] += 1;
            }
        }
        let expected = (SEEDS * 3) as f64 / 12.0;
        let chi: f64 = counts.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
        // Each start adds to three counts: three times a chi-square with 3 degrees of freedom.
        assert!(chi < 3.0 * 45.0, "{chi}");
        assert_eq!(Systematic::new(Rng::new(1), 0, 5).count(), 0);
        assert_eq!(Systematic::new(Rng::new(1), 5, 0).count(), 0);
        let last = Systematic::new(Rng::new(1), u64::MAX, u64::MAX).nth(1 << 20);
        assert_eq!(last, Some(1 << 20));
    }
}
