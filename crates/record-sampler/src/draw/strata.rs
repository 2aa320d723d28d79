//! A number of records of each stratum, which are the records with the same key. It knows keys, not
//! where they come from.

use std::collections::BTreeMap;
use std::fmt::Display;

use super::{Reservoir, shares};
use crate::random::Rng;
use crate::{Error, ErrorKind, Result};

/// The ids of the keys.
type Counts = BTreeMap<Box<[u8]>, u64>;

/// The number of records of each key.
#[derive(Default)]
pub(crate) struct Sizes(Counts);

impl Sizes {
    pub(crate) fn count(&mut self, key: &[u8]) {
        match self.0.get_mut(key) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(key.into(), 1)),
        }
    }

    /// The share `p` of all, in whole records of each stratum, by the largest remainders.
    pub(crate) fn quota(self, p: f64) -> Quota {
        let Sizes(mut counts) = self;
        let total: u64 = counts.values().sum();
        let wanted = (p * total as f64).round() as u64;
        let sizes: Vec<f64> = counts.values().map(|count| *count as f64).collect();
        for (count, share) in counts.values_mut().zip(shares(wanted, &sizes)) {
            *count = share;
        }
        counts.retain(|_, share| *share > 0);
        Quota::Of(counts)
    }
}

/// The number of records to draw of each stratum.
pub(crate) enum Quota {
    Each(u64),
    /// Nothing of keys that are not listed.
    Of(Counts),
}

/// A reservoir for each key that was seen, with the number of its records.
pub(crate) struct Strata<T> {
    seed: u64,
    quota: Quota,
    by_key: BTreeMap<Box<[u8]>, (u64, Reservoir<T>)>,
}

impl<T> Strata<T> {
    pub(crate) fn new(seed: u64, quota: Quota) -> Strata<T> {
        Strata { seed, quota, by_key: BTreeMap::new() }
    }

    /// Takes the next record of this key; it is materialised only if it is needed.
    pub(crate) fn offer(&mut self, key: &[u8], record: impl FnOnce() -> T) {
        if !self.by_key.contains_key(key) {
            let wanted = match &mut self.quota {
                Quota::Each(0) => None,
                Quota::Each(n) => Some((key.into(), *n)),
                Quota::Of(counts) => counts.remove_entry(key),
            };
            let Some((key, n)) = wanted else { return };
            let rng = Rng::new(self.seed ^ key_seed(&key));
            self.by_key.insert(key, (0, Reservoir::new(rng, n as usize)));
        }
        let Some((seen, reservoir)) = self.by_key.get_mut(key) else { return };
        if *seen == reservoir.next_rank() {
            reservoir.offer(record());
        }
        *seen += 1;
    }

    /// All records that are held, in no order. It is an error if a stratum has fewer records than
    /// `least`.
    pub(crate) fn into_items(self, column: &dyn Display, least: u64) -> Result<Vec<T>> {
        let mut items = Vec::new();
        for (key, (seen, reservoir)) in self.by_key {
            if seen < least {
                let key = String::from_utf8_lossy(&key);
                let text = format!(
                    "{least} records of each {column} were requested, but {key:?} has {seen}"
                );
                return Err(Error::new(ErrorKind::TooFew, text));
            }
            items.extend(reservoir.into_items());
        }
        Ok(items)
    }
}

/// Gives each stratum its own generator, so that its draws do not depend on the other strata.
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
        let quotas: Vec<(&[u8], u64)> = quotas.iter().map(|(key, n)| (&**key, *n)).collect();
        assert_eq!(quotas, [(b"a".as_slice(), 2), (b"b", 2)]);
    }

    #[test]
    fn no_more_is_held_than_is_wanted() {
        let keys = ["a", "b", "a", "c", "a", "b", "a", "b"];
        let mut sizes = Sizes::default();
        for key in keys {
            sizes.count(key.as_bytes());
        }
        for (quota, held) in [(sizes.quota(0.5), 2), (Quota::Each(0), 0), (Quota::Each(1), 3)] {
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
