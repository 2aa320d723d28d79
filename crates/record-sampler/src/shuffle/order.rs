//! The order of shuffled records: a key for each record in turn, by which they are sorted.

use crate::random::{Rng, shuffle};

/// Up to here keys are places, which are held in memory: 4 bytes each.
pub(super) const MOST_PLACES: u64 = 1 << 24;

/// Draws the keys. They depend on the seed and on the number of records, and on nothing else.
pub(super) enum Order {
    /// The place of each record, by the shuffle of Fisher and Yates.
    Places { places: Vec<u32>, next: usize },
    /// A random number for each record.
    Numbers(Rng),
}

impl Order {
    pub(super) fn new(n: u64, seed: u64) -> Order {
        if n > MOST_PLACES {
            return Order::numbers(seed);
        }
        let mut places: Vec<u32> = (0..n as u32).collect();
        shuffle(&mut places, seed);
        invert(&mut places);
        Order::Places { places, next: 0 }
    }

    pub(super) fn numbers(seed: u64) -> Order {
        // Other numbers than those that chose the records.
        Order::Numbers(Rng::new(seed ^ 0x5eed_5eed_5eed_5eed))
    }

    /// The key of the next record.
    #[inline]
    pub(super) fn next_key(&mut self) -> u64 {
        match self {
            Order::Places { places, next } => {
                let key = places.get(*next).copied().map_or(*next as u64, u64::from);
                *next += 1;
                key
            }
            Order::Numbers(rng) => rng.next_u64(),
        }
    }

    /// All keys are below this.
    pub(super) fn span(&self) -> u128 {
        match self {
            Order::Places { places, .. } => places.len() as u128,
            Order::Numbers(_) => 1 << 64,
        }
    }
}

/// Turns the record of each place into the place of each record, cycle by cycle.
fn invert(items: &mut [u32]) {
    const IS_DONE: u32 = 1 << 31;
    for start in 0..items.len() {
        let mut at = start;
        let mut item = items[at];
        while item & IS_DONE == 0 {
            let next = item as usize;
            item = items[next];
            items[next] = at as u32 | IS_DONE;
            at = next;
        }
    }
    for item in items {
        *item &= !IS_DONE;
    }
}

/// Sorts entries by their keys. Those with the same key, which random numbers have once in a while,
/// are shuffled among themselves, as their order would otherwise be that of the file.
pub(super) fn sort(entries: &mut [(u64, u64)], seed: u64) {
    entries.sort_unstable();
    let equal = |two: &(u64, u64), other: &(u64, u64)| two.0 == other.0;
    for run in entries.chunk_by_mut(equal).filter(|run| run.len() > 1) {
        let key = run[0].0;
        // Other numbers than the keys.
        shuffle(run, seed ^ key ^ 0x0e9a_1000_0e9a_1000);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn places_are_those_of_the_shuffle() {
        for n in [0, 1, 2, 3, 10, 1000] {
            let mut expected: Vec<u64> = (0..n).collect();
            shuffle(&mut expected, 7);
            let mut order = Order::new(n, 7);
            let mut got = vec![u64::MAX; n as usize];
            for record in 0..n {
                got[order.next_key() as usize] = record;
            }
            assert_eq!(got, expected);
        }
    }

    /// The probability of each order of four records, by chi-square.
    fn check(keys: impl Fn(&mut Order, u64) -> u64) {
        const SEEDS: u64 = 48_000;
        let mut counts: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
        for seed in 0..SEEDS {
            let mut order = Order::numbers(seed);
            let mut entries: Vec<_> = (0..4).map(|i| (keys(&mut order, i), i)).collect();
            sort(&mut entries, seed);
            *counts.entry(entries.into_iter().map(|(_, record)| record).collect()).or_default() +=
                1;
        }
        assert_eq!(counts.len(), 24);
        let expected = SEEDS as f64 / 24.0;
        let chi: f64 = counts.values().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
        // 23 degrees of freedom: beyond this once in 10⁹.
        assert!(chi < 90.0, "{chi}");
    }

    #[test]
    fn every_order_is_equally_probable_also_where_keys_are_equal() {
        check(|order, _| order.next_key());
        check(|order, _| order.next_key() >> 63);
        check(|_, _| 5);
    }
}
