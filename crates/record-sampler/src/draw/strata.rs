//! So many of each stratum: of the records with the same key. It knows keys, and nothing of where they come from.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::{Reservoir, shares};
use crate::random::Rng;
use crate::{Error, ErrorKind, Result};

/// How many records have each key.
#[derive(Default)]
pub(crate) struct Sizes(BTreeMap<Vec<u8>, u64>);

impl Sizes {
    pub(crate) fn count(&mut self, key: &[u8]) {
        match self.0.get_mut(key) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(key.to_vec(), 1)),
        }
    }

    /// The share `p` of all, in whole records of each stratum, by the largest remainders.
    pub(crate) fn quota(self, p: f64) -> Quota {
        let total: u64 = self.0.values().sum();
        let wanted = (p * total as f64).round() as u64;
        let sizes: Vec<f64> = self.0.values().map(|count| *count as f64).collect();
        Quota::Of(self.0.into_keys().zip(shares(wanted, &sizes)).collect())
    }
}

/// How many records are wanted of each stratum.
pub(crate) enum Quota {
    Each(u64),
    Of(BTreeMap<Vec<u8>, u64>),
}

/// A reservoir for each key that has come, with the number of records that have come with it.
pub(crate) struct Strata<T> {
    seed: u64,
    quota: Quota,
    by_key: BTreeMap<Vec<u8>, (u64, Reservoir<T>)>,
}

impl<T> Strata<T> {
    pub(crate) fn new(seed: u64, quota: Quota) -> Strata<T> {
        Strata { seed, quota, by_key: BTreeMap::new() }
    }

    /// The next record has this key; it is made only if it is wanted.
    pub(crate) fn offer(&mut self, key: &[u8], record: impl FnOnce() -> T) {
        if !self.by_key.contains_key(key) {
            let quota = match &self.quota {
                Quota::Each(n) => *n,
                Quota::Of(quotas) => quotas.get(key).copied().unwrap_or(0),
            };
            let rng = Rng::new(self.seed ^ key_seed(key));
            self.by_key.insert(key.to_vec(), (0, Reservoir::new(rng, quota as usize)));
        }
        let Some((seen, reservoir)) = self.by_key.get_mut(key) else { return };
        if *seen == reservoir.next_rank() {
            reservoir.offer(record());
        }
        *seen += 1;
    }

    /// What is held of all, in no order. It is an error if one of them has fewer records than `least`.
    pub(crate) fn into_items(self, column: &dyn Display, least: u64) -> Result<Vec<T>> {
        let mut items = Vec::new();
        for (key, (seen, reservoir)) in self.by_key {
            if seen < least {
                let key = String::from_utf8_lossy(&key);
                let text = format!(
                    "{least} records are wanted of each {column}, of {key:?} there are {seen}"
                );
                return Err(Error::new(ErrorKind::TooFew, text));
            }
            items.extend(reservoir.into_items());
        }
        Ok(items)
    }
}

/// Gives each stratum a generator of its own, so that what is drawn from it does not depend on the others.
fn key_seed(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
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
        let mut sizes = Sizes::default();
        for key in ["a", "b", "a", "c", "a", "b", "a", "b"] {
            sizes.count(key.as_bytes());
        }
        let Quota::Of(quotas) = sizes.quota(0.5) else { panic!("not of each") };
        assert_eq!(quotas.into_values().collect::<Vec<u64>>(), [2, 2, 0]);
    }

    #[test]
    fn too_small_a_stratum_is_named() {
        let mut strata = Strata::new(0, Quota::Each(2));
        strata.offer(b"few", || ());
        let error = strata.into_items(&"kind", 2).unwrap_err();
        assert_eq!(error.to_string(), "2 records are wanted of each kind, of \"few\" there are 1");
    }
}
