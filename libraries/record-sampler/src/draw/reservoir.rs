//! A sample of n records of a stream of unknown length: a reservoir that knows which record it
//! needs next. With weights, its jumps are exponential.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

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

/// A weighted sample without replacement: A-ExpJ (Efraimidis and Spirakis, "Weighted random
/// sampling with a reservoir", 2006).
///
/// Records are chosen as if one after the other, each time with probabilities proportional to the
/// weights of those that are left. A record of weight 0 is never chosen.
///
/// ```
/// use record_sampler::{Rng, WeightedReservoir};
/// let mut reservoir = WeightedReservoir::new(Rng::new(1), 2);
/// for (word, weight) in [("rare", 0.001), ("often", 1000.0), ("never", 0.0), ("usual", 1000.0)] {
///     if reservoir.wants(weight)? {
///         reservoir.offer(word);
///     }
/// }
/// let mut words = reservoir.into_items();
/// words.sort();
/// assert_eq!(words, ["often", "usual"]);
/// # Ok::<(), record_sampler::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WeightedReservoir<T> {
    rng: Rng,
    n: usize,
    items: BinaryHeap<Reverse<Keyed<T>>>,
    /// The weight to skip before the next record is chosen.
    jump: f64,
    /// The weight of the record that is needed.
    weight: f64,
}

/// A weight that is negative or not finite is an error.
pub(crate) fn check_weight(weight: f64) -> crate::Result<()> {
    if weight.is_finite() && weight >= 0.0 {
        return Ok(());
    }
    let text = format!("a weight of {weight}: it must be 0 or more, and finite");
    Err(crate::Error::new(crate::ErrorKind::BadWeight, text))
}

/// A record and its key ln(u)/weight, which is at most 0; those with the largest keys stay.
#[derive(Clone, Debug)]
struct Keyed<T>(f64, T);

impl<T> PartialEq for Keyed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Keyed<T> {}

impl<T> PartialOrd for Keyed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Keyed<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl<T> WeightedReservoir<T> {
    /// An empty reservoir for `n` records.
    ///
    /// ```
    /// use record_sampler::{Rng, WeightedReservoir};
    /// assert!(!WeightedReservoir::<u8>::new(Rng::new(1), 0).wants(1.0).unwrap());
    /// ```
    pub fn new(rng: Rng, n: usize) -> WeightedReservoir<T> {
        WeightedReservoir { rng, n, items: BinaryHeap::new(), jump: 0.0, weight: 0.0 }
    }

    /// Whether the next record, which has this weight, must be passed to [`offer`](Self::offer).
    ///
    /// A weight that is negative or not finite is an error.
    ///
    /// ```
    /// use record_sampler::{Rng, WeightedReservoir};
    /// let mut reservoir = WeightedReservoir::<u8>::new(Rng::new(1), 3);
    /// assert!(reservoir.wants(0.5).unwrap());
    /// assert!(reservoir.wants(-0.5).is_err());
    /// ```
    pub fn wants(&mut self, weight: f64) -> crate::Result<bool> {
        check_weight(weight)?;
        if weight == 0.0 || self.n == 0 {
            return Ok(false);
        }
        self.weight = weight;
        if self.items.len() == self.n {
            self.jump -= weight;
            return Ok(self.jump <= 0.0);
        }
        Ok(true)
    }

    /// Takes the record that is needed.
    ///
    /// ```
    /// use record_sampler::{Rng, WeightedReservoir};
    /// let mut reservoir = WeightedReservoir::new(Rng::new(1), 1);
    /// if reservoir.wants(2.0)? {
    ///     reservoir.offer("it");
    /// }
    /// assert_eq!(reservoir.into_items(), ["it"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn offer(&mut self, item: T) {
        // The record was not needed.
        if self.weight <= 0.0 {
            return;
        }
        let smallest = self.smallest();
        let u = match smallest {
            // Its u^(1/w) is known to be above the smallest, so u is above that to the power of w.
            Some(key) => {
                let least = exp(key * self.weight);
                least + (1.0 - least) * self.rng.unit()
            }
            None => self.rng.unit(),
        };
        if smallest.is_some() {
            self.items.pop();
        }
        self.items.push(Reverse(Keyed(ln(u.max(f64::MIN_POSITIVE)) / self.weight, item)));
        self.weight = 0.0;
        if let Some(key) = self.smallest() {
            // A key of 0 would never be beaten; the quotient is then infinite, or NaN for u = 1.
            let jump = ln(self.rng.unit()) / key;
            self.jump = if jump.is_nan() { f64::INFINITY } else { jump };
        }
    }

    /// The smallest key of a full reservoir.
    fn smallest(&self) -> Option<f64> {
        let full = self.items.len() == self.n;
        self.items.peek().filter(|_| full).map(|Reverse(keyed)| keyed.0)
    }

    /// The content, in no order: fewer than `n` if fewer records with a weight above 0 were seen.
    ///
    /// ```
    /// use record_sampler::{Rng, WeightedReservoir};
    /// assert!(WeightedReservoir::<u8>::new(Rng::new(1), 2).into_items().is_empty());
    /// ```
    pub fn into_items(self) -> Vec<T> {
        self.items.into_iter().map(|Reverse(keyed)| keyed.1).collect()
    }
}
