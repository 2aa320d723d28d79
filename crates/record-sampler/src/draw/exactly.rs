//! Exactly n of N without replacement, in order, in constant memory: the hidden shuffle.
//!
//! Shekelyan and Cormode, "Sequential Random Sampling Revisited: Hidden Shuffle Method", AISTATS
//! 2021. A Fisher–Yates shuffle would swap place i with a random place j ≥ i, for i from 0 to n.
//! Only how often j is high (at least n) needs to be known. High places are then drawn in order;
//! one that is drawn twice yields a low record instead, and which low ones is a small selection of
//! its own.

use crate::random::{Rng, ln, ln_one_minus};
use crate::simd::{LANES, roots};

/// `n` of `total` ranks, each set with the same probability, in ascending order. Takes constant
/// memory and time proportional to `n`.
///
/// Takes constant memory and time proportional to `n`.
///
/// ```
/// use record_sampler::{Exactly, Rng};
/// let ranks: Vec<u64> = Exactly::new(Rng::new(1), 3, 1_000_000).collect();
/// assert_eq!(ranks, [92_610, 712_839, 785_715]);
/// ```
#[derive(Clone, Debug)]
pub struct Exactly {
    rng: Rng,
    /// Ranks count down in here; the last record is returned as the first.
    last: u64,
    /// The number of low records; then, the number left to choose from.
    low: u64,
    /// The number of high records: all but the low ones.
    high: f64,
    high_left: u64,
    low_left: u64,
    /// The last high draw, as a share of the high records.
    at: f64,
    previous: u64,
    /// The distance of each of the next high draws to the one before it, as a factor.
    steps: [f64; LANES],
    step: usize,
}

impl Exactly {
    /// If `n` is larger than `total`, all are chosen.
    ///
    /// ```
    /// use record_sampler::{Exactly, Rng};
    /// assert_eq!(Exactly::new(Rng::new(1), 9, 3).collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    pub fn new(mut rng: Rng, n: u64, total: u64) -> Exactly {
        let n = n.min(total);
        let low_left = low_swaps(&mut rng, n, total);
        Exactly {
            rng,
            last: total.wrapping_sub(1),
            low: n,
            high: (total - n) as f64,
            high_left: n - low_left,
            low_left,
            at: 1.0,
            previous: total - n,
            steps: [1.0; LANES],
            step: LANES,
        }
    }

    /// The next rank from the high end.
    #[inline]
    fn next_down(&mut self) -> Option<u64> {
        while self.high_left > 0 {
            if self.step == LANES {
                self.fill();
            }
            self.at *= self.steps[self.step];
            self.step += 1;
            self.high_left -= 1;
            let place = (self.at * self.high) as u64;
            // `at` may be 1.
            if place < self.previous {
                self.previous = place;
                return Some(self.low_count() + place);
            }
            self.low_left += 1;
        }
        self.next_low()
    }

    /// The largest of k uniform numbers is the k-th root of one. Only numbers of the high draws are
    /// consumed.
    fn fill(&mut self) {
        let mut units = [1.0; LANES];
        for unit in units.iter_mut().take(self.high_left.min(LANES as u64) as usize) {
            *unit = self.rng.unit();
        }
        self.steps = roots(&units, self.high_left);
        self.step = 0;
    }

    fn low_count(&self) -> u64 {
        // No low record is drawn while high ones are.
        self.low
    }

    /// Selection sampling by inversion (Vitter's method A) among the low records.
    fn next_low(&mut self) -> Option<u64> {
        if self.low_left == 0 {
            return None;
        }
        let u = self.rng.unit();
        let mut skipped = 0;
        let spare = self.low - self.low_left;
        // The probability that more than `skipped` are skipped.
        let mut more = spare as f64 / self.low as f64;
        while more >= u && skipped < spare {
            skipped += 1;
            more *= (spare - skipped) as f64 / (self.low - skipped) as f64;
        }
        self.low_left -= 1;
        self.low -= skipped + 1;
        Some(self.low)
    }
}

/// The number of swaps of the shuffle, out of n, that stay low: swap i does with probability (n −
/// i)/(N − i). As that falls with i, geometric jumps at the current probability are thinned.
fn low_swaps(rng: &mut Rng, n: u64, total: u64) -> u64 {
    if n == total {
        return n;
    }
    let probability = |i: u64| (n - i) as f64 / (total - i) as f64;
    let (mut i, mut swaps) = (0, 0);
    while i < n {
        let assumed = probability(i);
        let jump = ln(rng.unit()) / ln_one_minus(assumed);
        if jump >= (n - i) as f64 {
            break;
        }
        i += jump as u64;
        if rng.unit() * assumed <= probability(i) {
            swaps += 1;
        }
        i += 1;
    }
    swaps
}

impl Iterator for Exactly {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.next_down().map(|rank| self.last - rank)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.high_left + self.low_left) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Exactly {}
