//! Ranks of a known number of records, ascending, in constant memory: exactly n of them, each with
//! the same probability, at equal distances, with replacement, and all but those of a sample.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use std::ops::Range;

use super::reserve;
use crate::Result;
use crate::random::{Rng, exp, ln, ln_one_minus};
use crate::simd::{LANES, roots};

// The hidden shuffle: Shekelyan and Cormode, "Sequential Random Sampling Revisited: Hidden Shuffle
// Method", AISTATS 2021. A Fisher–Yates shuffle would swap place i with a random place j ≥ i, for i
// from 0 to n. Only how often j is high (at least n) needs to be known. High places are then drawn
// in order; one that is drawn twice yields a low record instead, and which low ones is a small
// selection of its own.

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

// Each record is chosen independently with the same probability: the gaps between chosen records
// are geometric.

/// An endless, ascending sequence of chosen ranks, each with probability `p`.
///
/// ```
/// use record_sampler::{Bernoulli, Rng};
/// let chosen = Bernoulli::new(Rng::new(5), 0.01).take_while(|rank| *rank < 100_000).count();
/// assert!((900..1100).contains(&chosen));
/// assert_eq!(Bernoulli::new(Rng::new(5), 1.0).take(3).collect::<Vec<_>>(), [0, 1, 2]);
/// assert_eq!(Bernoulli::new(Rng::new(5), 0.0).next(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Bernoulli {
    rng: Rng,
    /// ln(1 − p); −∞ chooses all, 0 chooses none.
    scale: f64,
    next: u64,
}

impl Bernoulli {
    /// `p` below 0 counts as 0, above 1 as 1.
    ///
    /// ```
    /// use record_sampler::{Bernoulli, Rng};
    /// assert_eq!(Bernoulli::new(Rng::new(5), 7.0).next(), Some(0));
    /// ```
    pub fn new(rng: Rng, p: f64) -> Bernoulli {
        let scale = match p {
            p if p >= 1.0 => f64::NEG_INFINITY,
            p if p > 0.0 => ln_one_minus(p),
            _ => 0.0,
        };
        Bernoulli { rng, scale, next: 0 }
    }
}

impl Iterator for Bernoulli {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.scale == 0.0 {
            return None;
        }
        let gap = ln(self.rng.unit()) / self.scale;
        // Beyond what any file holds; the conversion saturates.
        let rank = self.next.checked_add(gap as u64)?;
        self.next = rank.checked_add(1)?;
        Some(rank)
    }
}

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

// Sampling with replacement: n independent draws, returned in order. There is one form for a known
// total, and one for a stream of unknown length.

/// `n` independent uniform draws of `total` ranks, ascending, with repetitions, in constant memory.
///
/// ```
/// use record_sampler::{Rng, WithReplacement};
/// let ranks: Vec<u64> = WithReplacement::new(Rng::new(1), 5, 2).collect();
/// assert_eq!(ranks.len(), 5);
/// assert!(ranks.is_sorted() && ranks.iter().all(|rank| *rank < 2));
/// ```
#[derive(Clone, Debug)]
pub struct WithReplacement {
    rng: Rng,
    left: u64,
    total: u64,
    at: f64,
}

impl WithReplacement {
    /// Nothing can be drawn if `total` is 0.
    ///
    /// ```
    /// use record_sampler::{Rng, WithReplacement};
    /// assert_eq!(WithReplacement::new(Rng::new(1), 5, 0).count(), 0);
    /// ```
    pub fn new(rng: Rng, n: u64, total: u64) -> WithReplacement {
        WithReplacement { rng, left: if total == 0 { 0 } else { n }, total, at: 1.0 }
    }
}

impl Iterator for WithReplacement {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.left == 0 {
            return None;
        }
        // The largest of k uniform numbers is the k-th root of one.
        self.at *= exp(ln(self.rng.unit()) / self.left as f64);
        self.left -= 1;
        let down = ((self.at * self.total as f64) as u64).min(self.total - 1);
        Some(self.total - 1 - down)
    }
}

/// `n` slots, each of which holds an independent uniform draw of all records seen so far. After t
/// records a slot keeps what it holds up to record m with probability t/m, so that its next change
/// is known in advance.
pub(crate) struct ReplacementSlots<T> {
    rng: Rng,
    held: Vec<Option<T>>,
    changes: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<T: Clone> ReplacementSlots<T> {
    pub(crate) fn new(rng: Rng, n: u64) -> Result<ReplacementSlots<T>> {
        let (mut held, mut changes) = (Vec::new(), Vec::new());
        reserve(&mut held, n)?;
        reserve(&mut changes, n)?;
        held.resize(n as usize, None);
        changes.extend((0..n as usize).map(|slot| Reverse((0, slot))));
        Ok(ReplacementSlots { rng, held, changes: changes.into() })
    }

    /// The rank of the next record that is needed.
    pub(crate) fn next_rank(&self) -> Option<u64> {
        self.changes.peek().map(|Reverse((rank, _))| *rank)
    }

    /// Takes the record of that rank.
    pub(crate) fn offer(&mut self, item: &T) {
        let Some(rank) = self.next_rank() else { return };
        while self.next_rank() == Some(rank) {
            let Some(Reverse((_, slot))) = self.changes.pop() else { return };
            self.held[slot] = Some(item.clone());
            let passed = (rank + 1) as f64;
            let next = (passed / self.rng.unit()) as u64;
            self.changes.push(Reverse((next.max(rank + 1), slot)));
        }
    }

    pub(crate) fn into_held(self) -> Vec<T> {
        self.held.into_iter().flatten().collect()
    }
}

/// All ranks but those of a sample.
pub(crate) struct UndrawnRanks<I: Iterator<Item = u64>> {
    all: Range<u64>,
    without: Peekable<I>,
}

impl<I: Iterator<Item = u64>> UndrawnRanks<I> {
    /// `without` must be ascending; it may hold a rank several times.
    pub(crate) fn new(total: u64, without: I) -> UndrawnRanks<I> {
        UndrawnRanks { all: 0..total, without: without.peekable() }
    }
}

impl<I: Iterator<Item = u64>> Iterator for UndrawnRanks<I> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            let rank = self.all.next()?;
            let mut is_chosen = false;
            while self.without.next_if_eq(&rank).is_some() {
                is_chosen = true;
            }
            if !is_chosen {
                return Some(rank);
            }
        }
    }
}

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
