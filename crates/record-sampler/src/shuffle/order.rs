//! The order of shuffled records: each in turn gets a random number, by which they are sorted.

use crate::random::{Rng, shuffle};

/// Draws the keys. They depend on the seed and on nothing else, so that the order is the same
/// wherever records are kept until it is their turn.
pub(super) struct Order(Rng);

impl Order {
    pub(super) fn new(seed: u64) -> Order {
        // Other numbers than those that chose the records.
        Order(Rng::new(seed ^ 0x5eed_5eed_5eed_5eed))
    }

    /// The key of the next record.
    #[inline]
    pub(super) fn next_key(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// The numbers of as many records, in random order: the same one as of records that are passed to a
/// `Shuffler`.
pub(crate) fn random_order(n: usize, seed: u64) -> impl Iterator<Item = usize> {
    let mut order = Order::new(seed);
    let mut entries: Vec<(u64, u64)> = (0..n as u64).map(|i| (order.next_key(), i)).collect();
    sort(&mut entries, seed);
    entries.into_iter().map(|(_, number)| number as usize)
}

/// Sorts entries by their keys. Those with the same key, which random numbers have once in a while,
/// are shuffled among themselves, as their order would otherwise be that of the file.
pub(super) fn sort(entries: &mut [(u64, u64)], seed: u64) {
    entries.sort_unstable_by_key(|(key, _)| *key);
    let equal = |two: &(u64, u64), other: &(u64, u64)| two.0 == other.0;
    for run in entries.chunk_by_mut(equal).filter(|run| run.len() > 1) {
        let key = run[0].0;
        run.sort_unstable();
        // Other numbers than the keys.
        shuffle(run, seed ^ key ^ 0x0e9a_1000_0e9a_1000);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_record_has_its_turn_once() {
        for n in [0, 1, 2, 1000] {
            let mut order: Vec<usize> = random_order(n, 7).collect();
            assert!(n < 3 || !order.is_sorted());
            order.sort_unstable();
            assert!(order.into_iter().eq(0..n));
        }
    }

    /// The probability of each order of four records, by chi-square.
    fn check(keys: impl Fn(&mut Order, u64) -> u64) {
        const SEEDS: u64 = 48_000;
        let mut counts: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
        for seed in 0..SEEDS {
            let mut order = Order::new(seed);
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
