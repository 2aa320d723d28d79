//! Draws a number of records of each stratum (the records with the same key), and divides records
//! among several parts. It knows keys, not their origin.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;

use super::Reservoir;
use crate::random::Rng;
use crate::{Error, ErrorKind, Result};

/// A number for each key.
pub(crate) type KeyCounts = HashMap<Box<[u8]>, u64>;

/// The number of records of each key.
#[derive(Default)]
pub(crate) struct StratumSizes(KeyCounts);

impl StratumSizes {
    pub(crate) fn count(&mut self, key: &[u8]) {
        match self.0.get_mut(key) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(key.into(), 1)),
        }
    }

    /// The number of all records.
    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// The number of records of each key.
    pub(crate) fn into_counts(self) -> KeyCounts {
        self.0
    }

    /// Divides `wanted` records among the strata, in whole records, by the largest remainders.
    pub(crate) fn quota(self, wanted: u64) -> Quota {
        // Of equal remainders the first key wins.
        let counts: BTreeMap<Box<[u8]>, u64> = self.0.into_iter().collect();
        let sizes: Vec<f64> = counts.values().map(|count| *count as f64).collect();
        let quotas = counts.into_keys().zip(shares(wanted, &sizes));
        Quota::Of(quotas.filter(|(_, share)| *share > 0).collect())
    }
}

/// The number of records to draw of each stratum.
pub(crate) enum Quota {
    Each(u64),
    /// No records of keys that are not listed.
    Of(KeyCounts),
}

/// A reservoir for each key that was seen, with the number of its records.
pub(crate) struct Strata<T> {
    seed: u64,
    quota: Quota,
    /// The index of the stratum with each key.
    by_key: HashMap<Box<[u8]>, usize>,
    list: Vec<Stratum<T>>,
}

struct Stratum<T> {
    /// The number of its records so far.
    seen: u64,
    reservoir: Reservoir<T>,
}

impl<T> Strata<T> {
    pub(crate) fn new(seed: u64, quota: Quota) -> Strata<T> {
        Strata { seed, quota, by_key: HashMap::new(), list: Vec::new() }
    }

    /// Takes the next record of this key; it is materialised only if it is needed.
    pub(crate) fn offer(&mut self, key: &[u8], record: impl FnOnce() -> T) {
        let known = self.by_key.get(key).copied();
        let Some(index) = known.or_else(|| self.begin(key)) else { return };
        let stratum = &mut self.list[index];
        if stratum.seen == stratum.reservoir.next_rank() {
            stratum.reservoir.offer(record());
        }
        stratum.seen += 1;
    }

    /// A new stratum, if any of its records are wanted.
    fn begin(&mut self, key: &[u8]) -> Option<usize> {
        let (key, n) = match &mut self.quota {
            Quota::Each(0) => return None,
            Quota::Each(n) => (key.into(), *n),
            Quota::Of(counts) => counts.remove_entry(key)?,
        };
        let rng = Rng::new(self.seed ^ key_seed(&key));
        self.list.push(Stratum { seen: 0, reservoir: Reservoir::new(rng, n as usize) });
        self.by_key.insert(key, self.list.len() - 1);
        Some(self.list.len() - 1)
    }

    /// All records that are held, in no order. It is an error if a stratum has fewer records than
    /// `least`.
    pub(crate) fn into_items(self, column: &dyn Display, least: u64) -> Result<Vec<T>> {
        self.check(column, least)?;
        let items = self.list.into_iter();
        Ok(items.flat_map(|stratum| stratum.reservoir.into_items()).collect())
    }

    /// Like `into_items`, each with the probability with which it was drawn from its stratum.
    pub(crate) fn into_probable_items(
        self,
        column: &dyn Display,
        least: u64,
    ) -> Result<Vec<(T, f64)>> {
        self.check(column, least)?;
        let items = self.list.into_iter().flat_map(|stratum| {
            let items = stratum.reservoir.into_items();
            let probability = items.len() as f64 / stratum.seen.max(1) as f64;
            items.into_iter().map(move |item| (item, probability))
        });
        Ok(items.collect())
    }

    fn check(&self, column: &dyn Display, least: u64) -> Result<()> {
        let seen = |index: &usize| self.list[*index].seen;
        let few = self.by_key.iter().filter(|(_, index)| seen(index) < least);
        if let Some((key, index)) = few.min() {
            let (key, seen) = (String::from_utf8_lossy(key), seen(index));
            let text =
                format!("{least} records of each {column} were requested, but {key:?} has {seen}");
            return Err(Error::new(ErrorKind::TooFew, text));
        }
        Ok(())
    }
}

/// Gives each stratum its own generator, so that its draws do not depend on the other strata.
pub(crate) fn key_seed(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The part of each record in turn. Each part gets exactly its size: it is chosen with a
/// probability equal to the number of records that it still lacks, divided by the number of records
/// that are left.
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

/// Like `shares`, but the remainders are assigned to parts at random, with probabilities
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
    fn what_is_drawn_of_a_stratum_does_not_depend_on_the_others() {
        let draw = |keys: &[&str]| {
            let mut strata = Strata::new(3, Quota::Each(2));
            for rank in 0..900 {
                let key = keys[rank % keys.len()];
                strata.offer(key.as_bytes(), || (key.to_owned(), rank / keys.len()));
            }
            let items = strata.into_items(&"kind", 2).unwrap();
            items.into_iter().filter(|(key, _)| key == "a").collect::<Vec<_>>()
        };
        // 300 records of "a" each time.
        assert_eq!(draw(&["a", "b", "c"]), draw(&["x", "a", ""]));
        assert_eq!(draw(&["a", "b", "c"]).len(), 2);
    }

    #[test]
    fn a_share_is_of_each_stratum_and_of_all() {
        let mut sizes = StratumSizes::default();
        for key in ["a", "b", "a", "c", "a", "b", "a", "b"] {
            sizes.count(key.as_bytes());
        }
        let Quota::Of(quotas) = sizes.quota(4) else { panic!("not of each") };
        let mut quotas: Vec<(&[u8], u64)> = quotas.iter().map(|(key, n)| (&**key, *n)).collect();
        quotas.sort_unstable();
        assert_eq!(quotas, [(b"a".as_slice(), 2), (b"b", 2)]);
    }

    #[test]
    fn no_more_is_held_than_is_wanted() {
        let keys = ["a", "b", "a", "c", "a", "b", "a", "b"];
        let mut sizes = StratumSizes::default();
        for key in keys {
            sizes.count(key.as_bytes());
        }
        for (quota, held) in [(sizes.quota(4), 2), (Quota::Each(0), 0), (Quota::Each(1), 3)] {
            let mut strata = Strata::new(1, quota);
            for key in keys {
                strata.offer(key.as_bytes(), || ());
            }
            assert_eq!(strata.by_key.len(), held);
            let left = if let Quota::Of(counts) = &strata.quota { counts.len() } else { 0 };
            assert_eq!(left, 0);
        }
    }

    #[test]
    fn too_small_a_stratum_is_named() {
        let mut strata = Strata::new(0, Quota::Each(2));
        strata.offer(b"few", || ());
        let error = strata.into_items(&"kind", 2).unwrap_err();
        assert_eq!(error.to_string(), "2 records of each kind were requested, but \"few\" has 1");
    }
}

#[cfg(test)]
mod partition_tests {
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
