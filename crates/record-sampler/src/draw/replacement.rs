//! Sampling with replacement: n independent draws, returned in order. One form for a known total,
//! one for a stream of unknown length.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::reserve;
use crate::Result;
use crate::random::{Rng, exp, ln};

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
pub(crate) struct Slots<T> {
    rng: Rng,
    held: Vec<Option<T>>,
    changes: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<T: Clone> Slots<T> {
    pub(crate) fn new(rng: Rng, n: u64) -> Result<Slots<T>> {
        let (mut held, mut changes) = (Vec::new(), Vec::new());
        reserve(&mut held, n)?;
        reserve(&mut changes, n)?;
        held.resize(n as usize, None);
        changes.extend((0..n as usize).map(|slot| Reverse((0, slot))));
        Ok(Slots { rng, held, changes: changes.into() })
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
