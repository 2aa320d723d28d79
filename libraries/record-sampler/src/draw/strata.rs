//! Draws a number of records of each stratum (the records with the same key), and divides records
//! among several parts. It knows keys, not their origin.

use std::collections::HashMap;
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

    /// The number of records of each stratum, if this share of all records is drawn.
    pub(crate) fn quota(self, seed: u64, share: RecordShare) -> Quota {
        let shares = fair_shares(seed, self.0, share);
        Quota::Of(shares.filter(|(_, n)| *n > 0).collect())
    }
}

/// The share of all records that is drawn, as a fraction of whole numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordShare {
    part: u128,
    whole: u128,
}

/// A probability is a whole number of parts of this.
const TWO_TO_64: u128 = 1 << 64;

impl RecordShare {
    /// `n` of `total` records, or all of them if there are fewer.
    pub(crate) fn from_number(n: u64, total: u64) -> RecordShare {
        RecordShare { part: n.min(total).into(), whole: total.into() }
    }

    /// A probability from 0 to 1, to the nearest multiple of 2⁻⁶⁴.
    pub(crate) fn from_probability(p: f64) -> RecordShare {
        RecordShare { part: (p * TWO_TO_64 as f64).round() as u128, whole: TWO_TO_64 }
    }
}

// The share of a stratum is rarely a whole number of records. Rounding by a rule would favour the
// same strata in every sample, so it is systematic sampling of strata in random order (Madow, "On
// the Theory of Systematic Sampling, II", 1949; Hartley and Rao, "Sampling with Unequal
// Probabilities and without Replacement", 1962): the exact shares lie behind each other on a line,
// and a stratum gets as many records as there are marks in its share, at the distance of one
// record from each other and from a random start. Each stratum gets its share rounded down, or one
// more, and has its exact share in expectation; n of all records are exactly n.

/// The number of records of each stratum, in no order: its share in whole records. It depends on
/// nothing but the seed and the sizes.
pub(crate) fn fair_shares<K: AsRef<[u8]>>(
    seed: u64,
    sizes: impl IntoIterator<Item = (K, u64)>,
    share: RecordShare,
) -> impl Iterator<Item = (K, u64)> {
    let mut rng = Rng::new(seed);
    let spread = rng.next_u64();
    let rounding = SystematicRounding::new(&mut rng, share.whole);
    // Other numbers than those that draw the records of a stratum.
    let number = |key: &K| Rng::new(spread ^ key_seed(key.as_ref())).next_u64();
    let sizes = sizes.into_iter().map(|(key, size)| (number(&key), key, size));
    let mut strata: Vec<(u64, K, u64)> = sizes.collect();
    strata.sort_unstable_by(|a, b| (a.0, a.1.as_ref()).cmp(&(b.0, b.1.as_ref())));
    let (mut sum, mut before) = (0u64, 0);
    strata.into_iter().map(move |(_, key, size)| {
        // Sizes that a damaged sketch claims may exceed 64 bits.
        sum = sum.saturating_add(size);
        let end = rounding.whole_part(share.part, sum.into());
        let n = end - before;
        before = end;
        (key, n)
    })
}

/// The whole part of a share, rounded from a random start.
struct SystematicRounding {
    start: u128,
    whole: u128,
}

impl SystematicRounding {
    /// `whole` is at most 2⁶⁴.
    fn new(rng: &mut Rng, whole: u128) -> SystematicRounding {
        let start = match u64::try_from(whole) {
            Ok(whole) => rng.below(whole),
            Err(_) => rng.next_u64(),
        };
        SystematicRounding { start: start.into(), whole }
    }

    /// The share `part`/`whole` of `sum`, or `sum`/`whole` of `part`: both are at most 2⁶⁴, and one
    /// of them is less, so that nothing overflows.
    fn whole_part(&self, part: u128, sum: u128) -> u64 {
        (part * sum + self.start).checked_div(self.whole).unwrap_or(0) as u64
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

/// The shares of several parts, to which many strata are divided: each part gets its share of all
/// strata together, however small they are.
pub(crate) struct PartShares {
    /// The end of the share of each part, of 2⁶⁴.
    ends: Vec<u128>,
}

impl PartShares {
    /// Shares proportional to the weights.
    pub(crate) fn new(weights: &[f64]) -> PartShares {
        let sum: f64 = weights.iter().sum();
        let mut end = 0.0;
        let ends = weights.iter().map(|weight| {
            end += weight;
            // The last one is exactly 1, as it is added up in the same order.
            (end / sum * TWO_TO_64 as f64) as u128
        });
        PartShares { ends: ends.collect() }
    }

    /// Divides the records of a stratum: each part gets its share rounded down, or one more.
    pub(crate) fn divide(&self, rng: &mut Rng, records: u64) -> Vec<u64> {
        let rounding = SystematicRounding::new(rng, TWO_TO_64);
        let mut before = 0;
        let sizes = self.ends.iter().map(|end| {
            let end = rounding.whole_part(records.into(), *end);
            let size = end - before;
            before = end;
            size
        });
        sizes.collect()
    }
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

    fn sizes_of(keys: &[&str]) -> StratumSizes {
        let mut sizes = StratumSizes::default();
        for key in keys {
            sizes.count(key.as_bytes());
        }
        sizes
    }

    #[test]
    fn a_share_is_of_each_stratum_and_of_all() {
        for seed in 0..100 {
            let sizes = sizes_of(&["a", "b", "a", "c", "a", "b", "a", "b"]);
            let total = sizes.total();
            let Quota::Of(quotas) = sizes.quota(seed, RecordShare::from_number(4, total)) else {
                panic!("not of each")
            };
            let quota = |key: &[u8]| quotas.get(key).copied().unwrap_or(0);
            let [a, b, c] = [quota(b"a"), quota(b"b"), quota(b"c")];
            assert!(a == 2 && [1, 2].contains(&b) && b + c == 2, "{a} {b} {c}");
            assert!(quotas.values().all(|n| *n > 0));
        }
    }

    #[test]
    fn no_more_is_held_than_is_wanted() {
        let keys = ["a", "b", "a", "c", "a", "b", "a", "b"];
        let all = sizes_of(&keys).quota(1, RecordShare::from_probability(1.0));
        for (quota, held) in [(all, 3), (Quota::Each(0), 0), (Quota::Each(1), 3)] {
            let mut strata = Strata::new(1, quota);
            for key in keys {
                strata.offer(key.as_bytes(), || ());
            }
            assert_eq!(strata.by_key.len(), held);
            let left = if let Quota::Of(counts) = &strata.quota { counts.len() } else { 0 };
            assert_eq!(left, 0);
        }
        let none = sizes_of(&keys).quota(1, RecordShare::from_probability(0.0));
        assert!(matches!(none, Quota::Of(counts) if counts.is_empty()));
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
mod share_tests {
    use super::*;
    use crate::draw::tests::binomial_p_value;

    const SEEDS: u64 = 20_000;

    /// Strata of these sizes, with keys whose order is that of the sizes.
    fn strata(sizes: &[u64]) -> Vec<(Vec<u8>, u64)> {
        (0..).zip(sizes).map(|(i, size)| (format!("k{i:02}").into_bytes(), *size)).collect()
    }

    /// The shares in the order of the strata.
    fn shares_of(seed: u64, strata: &[(Vec<u8>, u64)], share: RecordShare) -> Vec<u64> {
        let sizes = strata.iter().map(|(key, size)| (key.as_slice(), *size));
        let mut shares: Vec<(&[u8], u64)> = fair_shares(seed, sizes, share).collect();
        shares.sort_unstable();
        shares.into_iter().map(|(_, n)| n).collect()
    }

    /// Each stratum gets its share rounded down, or one more, with exactly the probability of one
    /// more that gives it its share: by the exact binomial distribution over many seeds, at a
    /// level of 1 % for all strata together.
    fn check(sizes: &[u64], share: RecordShare) {
        let strata = strata(sizes);
        let RecordShare { part, whole } = share;
        let all = part * u128::from(sizes.iter().sum::<u64>());
        let mut ups = vec![0u64; sizes.len()];
        for seed in 0..SEEDS {
            let shares = shares_of(seed, &strata, share);
            let total = u128::from(shares.iter().sum::<u64>());
            assert!(total == all / whole || total == all.div_ceil(whole), "{total}");
            for ((share, size), up) in shares.iter().zip(sizes).zip(&mut ups) {
                let down = (part * u128::from(*size) / whole) as u64;
                assert!(*share == down || *share == down + 1, "{share} of {size}");
                *up += share - down;
            }
        }
        for (size, up) in sizes.iter().zip(ups) {
            let fraction = (part * u128::from(*size) % whole) as f64 / whole as f64;
            if fraction == 0.0 {
                assert_eq!(up, 0, "{size}");
                continue;
            }
            let p = binomial_p_value(up, SEEDS, fraction);
            assert!(p > 0.01 / sizes.len() as f64, "{size}: {up} of {SEEDS}, {fraction}: {p}");
        }
    }

    #[test]
    fn no_stratum_is_favoured() {
        check(&[3; 10], RecordShare::from_number(3, 30));
        check(&[3; 10], RecordShare::from_probability(0.1));
        check(&[2, 3, 1], RecordShare::from_number(3, 6));
        let sizes: Vec<u64> = (1..=15).collect();
        check(&sizes, RecordShare::from_number(17, 120));
    }

    #[test]
    fn pairs_of_a_stratum_have_the_probability_of_the_formula() {
        // A share of 1.6 records of 4: a pair has 1 · (1 − 1 + 2 · 0.6) ÷ (4 · 3).
        let strata = strata(&[4, 3, 3]);
        let keys = strata.iter().flat_map(|(key, size)| vec![key.clone(); *size as usize]);
        let keys: Vec<Vec<u8>> = keys.collect();
        let mut pairs: HashMap<Vec<usize>, u64> = HashMap::new();
        for seed in 0..SEEDS {
            let sizes = strata.iter().map(|(key, size)| (key.as_slice().into(), *size)).collect();
            let quota = StratumSizes(sizes).quota(seed, RecordShare::from_number(4, 10));
            let mut drawn = Strata::new(seed, quota);
            for (rank, key) in keys.iter().enumerate() {
                drawn.offer(key, || rank);
            }
            let mut drawn = drawn.into_items(&"kind", 0).unwrap();
            assert_eq!(drawn.len(), 4);
            drawn.retain(|rank| *rank < 4);
            drawn.sort_unstable();
            if drawn.len() == 2 {
                *pairs.entry(drawn).or_default() += 1;
            }
        }
        assert_eq!(pairs.len(), 6);
        for (pair, times) in pairs {
            let p = binomial_p_value(times, SEEDS, 0.1);
            assert!(p > 0.01 / 6.0, "{pair:?}: {times} of {SEEDS}: {p}");
        }
    }

    #[test]
    fn shares_of_the_most_records_are_whole_numbers() {
        let sizes = [u64::MAX / 2, u64::MAX / 2, 1];
        let strata = strata(&sizes);
        for seed in 0..100 {
            let all = RecordShare::from_number(u64::MAX, u64::MAX);
            assert_eq!(shares_of(seed, &strata, all), sizes);
            assert_eq!(shares_of(seed, &strata, RecordShare::from_probability(1.0)), sizes);
            let less = RecordShare::from_number(u64::MAX - 1, u64::MAX);
            assert_eq!(shares_of(seed, &strata, less).iter().sum::<u64>(), u64::MAX - 1);
        }
        assert_eq!(shares_of(0, &[], RecordShare::from_number(3, 0)), [0; 0]);
        let none = [(b"k".to_vec(), 0)];
        assert_eq!(shares_of(0, &none, RecordShare::from_number(3, 0)), [0]);
    }

    #[test]
    fn the_order_of_the_sizes_does_not_matter() {
        let strata = strata(&[5, 1, 4, 2, 3, 3, 7]);
        let mut others = strata.clone();
        others.reverse();
        for seed in 0..100 {
            let share = RecordShare::from_number(9, 25);
            let sizes = others.iter().map(|(key, size)| (key.as_slice(), *size));
            let mut shares: Vec<(&[u8], u64)> = fair_shares(seed, sizes, share).collect();
            shares.sort_unstable();
            let shares: Vec<u64> = shares.into_iter().map(|(_, n)| n).collect();
            assert_eq!(shares, shares_of(seed, &strata, share));
        }
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
        let shares = PartShares::new(&[0.7, 0.2, 0.1]);
        for _ in 0..TIMES {
            let sizes = shares.divide(&mut rng, 3);
            assert_eq!(sizes.iter().sum::<u64>(), 3);
            assert!([2, 3].contains(&sizes[0]) && sizes[1] <= 1 && sizes[2] <= 1);
            sums.iter_mut().zip(&sizes).for_each(|(sum, size)| *sum += size);
        }
        for (sum, expected) in sums.into_iter().zip([21_000, 6000, 3000]) {
            assert!(sum.abs_diff(expected) < 250, "{sums:?}");
        }
        assert_eq!(PartShares::new(&[1.0, 0.0, 1.0]).divide(&mut rng, 4), [2, 0, 2]);
        assert_eq!(PartShares::new(&[1.0]).divide(&mut rng, 0), [0]);
        let most = PartShares::new(&[0.0, 3.0, 1.0, 0.0]).divide(&mut rng, u64::MAX);
        assert_eq!((most[0], most[3], most[1] + most[2]), (0, 0, u64::MAX));
    }

    #[test]
    fn each_part_gets_its_size() {
        let parts: Vec<usize> = Partition::new(Rng::new(4), vec![3, 0, 5]).collect();
        let count = |part| parts.iter().filter(|p| **p == part).count();
        assert_eq!((parts.len(), count(0), count(1), count(2)), (8, 3, 0, 5));
    }
}
