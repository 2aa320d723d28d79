//! A sample of n records of a stream of unknown length: a reservoir that knows which record it
//! needs next.

use crate::random::{Rng, exp, ln, ln_one_minus};

/// A uniform sample without replacement of all records seen so far: algorithm L (Li,
/// "Reservoir-Sampling Algorithms of Time Complexity O(n(1 + log(N/n)))", 1994).
///
/// Only records whose rank is `next_rank` need to be read.
///
/// ```
/// use record_sampler::{Reservoir, Rng};
/// let mut reservoir = Reservoir::new(Rng::new(1), 10);
/// let mut offered = 0;
/// for rank in 0..1_000_000 {
///     if rank == reservoir.next_rank() {
///         reservoir.offer(rank);
///         offered += 1;
///     }
/// }
/// assert_eq!(reservoir.into_items().len(), 10);
/// assert!(offered < 250);
/// ```
#[derive(Clone, Debug)]
pub struct Reservoir<T> {
    rng: Rng,
    n: usize,
    items: Vec<T>,
    next: u64,
    /// ln W, where W is distributed as the largest of the n smallest of as many uniform numbers as
    /// records have passed.
    ln_w: f64,
}

impl<T> Reservoir<T> {
    /// An empty reservoir for `n` records.
    ///
    /// ```
    /// use record_sampler::{Reservoir, Rng};
    /// let empty: Reservoir<u8> = Reservoir::new(Rng::new(1), 0);
    /// assert_eq!(empty.next_rank(), u64::MAX);
    /// ```
    pub fn new(rng: Rng, n: usize) -> Reservoir<T> {
        let next = if n == 0 { u64::MAX } else { 0 };
        // There may be millions of strata with one record each, and a growing vector starts with a
        // capacity of four.
        let items = Vec::with_capacity(n.min(4));
        Reservoir { rng, n, items, next, ln_w: 0.0 }
    }

    /// The rank of the next record that is needed; all before it can be skipped.
    ///
    /// ```
    /// use record_sampler::{Reservoir, Rng};
    /// let mut reservoir = Reservoir::new(Rng::new(1), 1);
    /// assert_eq!(reservoir.next_rank(), 0);
    /// reservoir.offer("first");
    /// assert!(reservoir.next_rank() > 0);
    /// ```
    pub fn next_rank(&self) -> u64 {
        self.next
    }

    /// Takes the record whose rank is `next_rank`.
    ///
    /// ```
    /// use record_sampler::{Reservoir, Rng};
    /// let mut reservoir = Reservoir::new(Rng::new(1), 2);
    /// reservoir.offer('a');
    /// assert_eq!(reservoir.into_items(), ['a']);
    /// ```
    pub fn offer(&mut self, item: T) {
        if self.n == 0 {
            return;
        }
        if self.items.len() < self.n {
            self.items.push(item);
            self.next += 1;
            if self.items.len() < self.n {
                return;
            }
        } else {
            let slot = self.rng.below(self.n as u64) as usize;
            self.items[slot] = item;
            self.next += 1;
        }
        self.ln_w += ln(self.rng.unit()) / self.n as f64;
        let gap = ln(self.rng.unit()) / ln_one_minus(exp(self.ln_w));
        self.next = self.next.saturating_add(gap as u64);
    }

    /// The content, in no order: fewer than `n` if fewer records were seen.
    ///
    /// ```
    /// use record_sampler::{Reservoir, Rng};
    /// assert!(Reservoir::<u8>::new(Rng::new(1), 2).into_items().is_empty());
    /// ```
    pub fn into_items(self) -> Vec<T> {
        self.items
    }
}
