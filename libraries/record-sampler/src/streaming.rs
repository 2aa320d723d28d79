//! Inputs that can be read only once, and choices that examine every record: keys, weights and
//! groups. For a file, only the places of the chosen records are kept; for a stream, the records
//! themselves.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::draw::{
    Bernoulli, PartShares, Partition, Quota, ReplacementSlots, Reservoir, Strata, StratumSizes,
    WeightedReservoir, key_seed,
};
use crate::fetch::{FetchMethod, fetch_places};
use crate::input::{Column, Picker, Population, Scan, Scanned};
use crate::random::Rng;
use crate::random_access::{too_few, too_few_weighted};
use crate::sampler::{Amount, Sampler, Stats, Weight};
use crate::shuffle::{Shuffle, Shuffler, Spool, random_order};
use crate::sink::{Output, Place, PlaceSink, Probabilities, Sink};
use crate::{Error, ErrorKind, Result};

/// The data of a record that is kept until all are chosen.
trait KeptRecord: Clone {
    fn keep(record: &Scanned<'_>) -> Self;

    /// A number that sorts records in the order of the population.
    fn order(&self) -> u64;
}

/// Only the place is kept of a record of a file.
impl KeptRecord for Place {
    fn keep(record: &Scanned<'_>) -> Place {
        place(record)
    }

    fn order(&self) -> u64 {
        self.at
    }
}

/// A record of a stream.
#[derive(Clone)]
struct CopiedRecord {
    /// Twice its rank, which preserves the order, and 1 if it follows CRLF: a line end is added on
    /// writing if the record has none.
    rank: u64,
    bytes: Box<[u8]>,
}

impl KeptRecord for CopiedRecord {
    fn keep(record: &Scanned<'_>) -> CopiedRecord {
        let rank = record.rank << 1 | u64::from(record.is_after_crlf);
        CopiedRecord { rank, bytes: record.bytes.into() }
    }

    fn order(&self) -> u64 {
        self.rank
    }
}

fn place(record: &Scanned<'_>) -> Place {
    Place { at: record.at, len: record.bytes.len() as u64 }
}

/// The chosen records.
enum ChosenRecords {
    Places(Vec<Place>),
    Copied(Vec<CopiedRecord>),
    Spool(Spool),
    /// They are written already.
    Nothing,
}

pub(crate) fn write(
    sampler: &Sampler,
    population: &mut Population,
    sink: &mut dyn Sink,
) -> Result<Stats> {
    if sampler.is_inverted && !matches!(sampler.amount, Amount::Share(_)) {
        let text = "the rest of a stream is known only at its end: give a file, or a probability";
        return Err(Error::new(ErrorKind::NeedsFile, text));
    }
    let is_file = population.files().is_some();
    let quota = match &sampler.key {
        Some(column) => Some(sampler.quota(|| sizes(sampler, population, column))?),
        None => None,
    };
    let mut scan = Scan::new(population, sampler.watch.clone())?;
    sink.header(scan.header())?;
    let mut chooser = Chooser { sampler, probabilities: sampler.inclusion(0) };
    let chosen = match sampler.amount {
        Amount::Share(p) if sampler.key.is_none() => {
            sink.set_probabilities(sampler.inclusion(0));
            chooser.by_chance(&mut scan, sink, p, is_file)?
        }
        _ if is_file => ChosenRecords::Places(chooser.choose(&mut scan, quota)?),
        _ => ChosenRecords::Copied(chooser.choose(&mut scan, quota)?),
    };
    let (seen, bytes_read) = (scan.rank(), scan.bytes_read());
    sink.set_probabilities(chooser.probabilities);
    let read_again = chosen.write(sampler, population, sink)?;
    Ok(Stats {
        seen: Some(seen),
        taken: 0,
        bytes_read: bytes_read + read_again,
        method: FetchMethod::Stream,
        reason: if is_file { "every record must be looked at" } else { "a stream passes by once" }
            .to_owned(),
        note: None,
    })
}

/// Divides each stratum among the outputs.
pub(crate) fn split_strata(
    sampler: &Sampler,
    population: &mut Population,
    column: &Column,
    weights: &[f64],
    outputs: &mut [Output<'_>],
) -> Result<Stats> {
    let counts = sizes(sampler, population, column)?.into_counts();
    let shares = PartShares::new(weights);
    let mut partitions: HashMap<Box<[u8]>, Partition> = HashMap::with_capacity(counts.len());
    for (key, count) in counts {
        let mut rng = Rng::new(sampler.seed ^ key_seed(&key));
        let sizes = shares.divide(&mut rng, count);
        partitions.insert(key, Partition::new(rng, sizes));
    }
    let mut scan = Scan::new(population, sampler.watch.clone())?;
    for output in outputs.iter_mut() {
        output.header(scan.header())?;
    }
    let picker = Picker::new(column, scan.format(), scan.names())?;
    while let Some(record) = scan.next()? {
        let key = picker.key(record.bytes).map_err(|error| record.named(error))?;
        let part = partitions.get_mut(&*key).and_then(Partition::next).unwrap_or(0);
        outputs[part].piece(record.bytes)?;
        outputs[part].end(place(&record), record.is_after_crlf)?;
    }
    let reason = "every key is looked at twice: to count strata, and to divide them".to_owned();
    let (seen, bytes_read) = (Some(scan.rank()), scan.bytes_read());
    Ok(Stats { seen, taken: 0, bytes_read, method: FetchMethod::Stream, reason, note: None })
}

/// Assigns each record to an output at random.
pub(crate) fn split(
    sampler: &Sampler,
    population: &mut Population,
    weights: &[f64],
    outputs: &mut [Output<'_>],
) -> Result<Stats> {
    if sampler.is_shuffled {
        let text = "a random order of all outputs needs the number of records: give files";
        return Err(Error::new(ErrorKind::BadRequest, text));
    }
    let mut scan = Scan::new(population, sampler.watch.clone())?;
    for output in outputs.iter_mut() {
        output.header(scan.header())?;
    }
    let mut rng = Rng::new(sampler.seed);
    let total: f64 = weights.iter().sum();
    while let Some(record) = scan.next()? {
        let mut u = rng.unit() * total;
        let part = weights.iter().position(|weight| {
            u -= weight;
            u <= 0.0
        });
        let output = &mut outputs[part.unwrap_or(weights.len() - 1)];
        output.piece(record.bytes)?;
        output.end(Place { at: 0, len: 0 }, record.is_after_crlf)?;
    }
    let reason = "a stream passes by once: each record is assigned by chance".to_owned();
    let (seen, bytes_read) = (Some(scan.rank()), scan.bytes_read());
    Ok(Stats { seen, taken: 0, bytes_read, method: FetchMethod::Stream, reason, note: None })
}

struct Chooser<'a> {
    sampler: &'a Sampler,
    /// The probabilities of the chosen records.
    probabilities: Probabilities,
}

impl Chooser<'_> {
    fn choose<K: KeptRecord>(
        &mut self,
        scan: &mut Scan<'_>,
        quota: Option<Quota>,
    ) -> Result<Vec<K>> {
        if let (Some(column), Some(quota)) = (&self.sampler.key, quota) {
            return self.strata(scan, column, quota);
        }
        let rng = Rng::new(self.sampler.seed);
        let (n, is_exact) = match self.sampler.amount {
            Amount::Exactly(n) => (n, true),
            Amount::AtMost(n) => (n, false),
            Amount::Share(_) => unreachable!("drawn by chance"),
        };
        let kept: Vec<K> = if self.sampler.weight.is_some() {
            self.weighted(scan, rng, n)?
        } else if self.sampler.with_replacement {
            slots(scan, rng, n)?
        } else {
            reservoir(scan, rng, n)?
        };
        self.probabilities = self.sampler.inclusion(scan.rank());
        if is_exact && (kept.len() as u64) < n {
            return Err(match self.sampler.weight {
                Some(_) => too_few_weighted(n, kept.len(), scan.rank()),
                None => too_few(n, scan.rank()),
            });
        }
        Ok(kept)
    }

    fn weighted<K: KeptRecord>(&self, scan: &mut Scan<'_>, rng: Rng, n: u64) -> Result<Vec<K>> {
        let weight = self.sampler.weight.as_ref();
        let picker = match weight {
            Some(Weight::Column(column)) => Some(Picker::new(column, scan.format(), scan.names())?),
            _ => None,
        };
        let mut reservoir = WeightedReservoir::new(rng, n as usize);
        while let Some(record) = scan.next()? {
            let of_record = |error: Error| record.named(error);
            let weight = match (weight, &picker) {
                (Some(Weight::Function(function)), _) => function(record.bytes),
                (_, Some(picker)) => picker.weight(record.bytes).map_err(of_record)?,
                _ => 1.0,
            };
            if reservoir.wants(weight).map_err(of_record)? {
                reservoir.offer(K::keep(&record));
            }
        }
        Ok(reservoir.into_items())
    }

    fn strata<K: KeptRecord>(
        &mut self,
        scan: &mut Scan<'_>,
        column: &Column,
        quota: Quota,
    ) -> Result<Vec<K>> {
        let picker = Picker::new(column, scan.format(), scan.names())?;
        let mut strata = Strata::new(self.sampler.seed, quota);
        while let Some(record) = scan.next()? {
            let key = picker.key(record.bytes).map_err(|error| record.named(error))?;
            strata.offer(&key, || K::keep(&record));
        }
        let least = self.sampler.least_of_each();
        if self.sampler.draws_shares() {
            self.probabilities = self.sampler.inclusion(scan.rank());
            return strata.into_items(column, least);
        }
        if !self.sampler.adds_probability {
            return strata.into_items(column, least);
        }
        let mut items = strata.into_probable_items(column, least)?;
        items.sort_unstable_by_key(|(item, _)| K::order(item));
        let (items, each): (Vec<K>, Vec<f64>) = items.into_iter().unzip();
        self.probabilities = Probabilities::Each(each.into_iter());
        Ok(items)
    }

    /// Chooses each record independently: nothing is kept, unless the order is to be changed.
    fn by_chance(
        &self,
        scan: &mut Scan<'_>,
        sink: &mut dyn Sink,
        p: f64,
        is_file: bool,
    ) -> Result<ChosenRecords> {
        let Sampler { is_shuffled, seed, memory, .. } = *self.sampler;
        if !is_shuffled {
            self.pass_by_chance(scan, sink, p)?;
            return Ok(ChosenRecords::Nothing);
        }
        if is_file {
            let mut places = PlaceSink::default();
            self.pass_by_chance(scan, &mut places, p)?;
            return Ok(ChosenRecords::Places(places.0));
        }
        let mut spool = Spool::new(seed, memory);
        self.pass_by_chance(scan, &mut spool, p)?;
        Ok(ChosenRecords::Spool(spool))
    }

    fn pass_by_chance(&self, scan: &mut Scan<'_>, sink: &mut dyn Sink, p: f64) -> Result<()> {
        let is_inverted = self.sampler.is_inverted;
        let mut chosen = Bernoulli::new(Rng::new(self.sampler.seed), p);
        let mut next = chosen.next().unwrap_or(u64::MAX);
        loop {
            if !is_inverted && !scan.go_to(next)? {
                return Ok(());
            }
            let Some(record) = scan.next()? else { return Ok(()) };
            let is_chosen = record.rank == next;
            if is_chosen {
                next = chosen.next().unwrap_or(u64::MAX);
            }
            if is_chosen != is_inverted {
                sink.piece(record.bytes)?;
                sink.end(place(&record), record.is_after_crlf)?;
            }
        }
    }
}

fn reservoir<K: KeptRecord>(scan: &mut Scan<'_>, rng: Rng, n: u64) -> Result<Vec<K>> {
    let mut reservoir = Reservoir::new(rng, n as usize);
    while scan.go_to(reservoir.next_rank())? {
        let Some(record) = scan.next()? else { break };
        reservoir.offer(K::keep(&record));
    }
    Ok(reservoir.into_items())
}

fn slots<K: KeptRecord>(scan: &mut Scan<'_>, rng: Rng, n: u64) -> Result<Vec<K>> {
    let mut slots = ReplacementSlots::new(rng, n)?;
    while scan.go_to(slots.next_rank().unwrap_or(u64::MAX))? {
        let Some(record) = scan.next()? else { break };
        slots.offer(&K::keep(&record));
    }
    Ok(slots.into_held())
}

/// The number of records of each stratum.
fn sizes(sampler: &Sampler, population: &mut Population, column: &Column) -> Result<StratumSizes> {
    if !population.can_be_reread() {
        let text = "a share of each stratum needs their sizes: give files that can be read twice";
        return Err(Error::new(ErrorKind::BadRequest, text));
    }
    let mut scan = Scan::new(population, sampler.watch.clone())?;
    let picker = Picker::new(column, scan.format(), scan.names())?;
    let mut sizes = StratumSizes::default();
    while let Some(record) = scan.next()? {
        let key = picker.key(record.bytes).map_err(|error| record.named(error))?;
        sizes.count(&key);
    }
    Ok(sizes)
}

impl ChosenRecords {
    /// Writes the records in the order of the population, or shuffled. Returns the number of bytes
    /// that were read again.
    fn write(self, sampler: &Sampler, population: &Population, sink: &mut dyn Sink) -> Result<u64> {
        let Sampler { is_shuffled, seed, memory, .. } = *sampler;
        match self {
            ChosenRecords::Nothing => Ok(0),
            ChosenRecords::Spool(spool) => spool.finish(sink).map(|()| 0),
            ChosenRecords::Places(mut places) => {
                places.sort_unstable();
                if !is_shuffled {
                    return fetch_places(population, &places, sink);
                }
                let bytes = places.iter().map(|place| place.len).sum();
                let records = places.len() as u64;
                let mut shuffler = Shuffler::new(&Shuffle { records, bytes, seed, memory }, true)?;
                let read = fetch_places(population, &places, &mut shuffler)?;
                drop(places);
                Ok(read + shuffler.finish(Some(population), sink)?)
            }
            ChosenRecords::Copied(mut records) => {
                records.sort_unstable_by_key(|record| record.rank);
                let mut pass_on = |record: &CopiedRecord| {
                    sink.piece(&record.bytes)?;
                    sink.end(Place { at: 0, len: 0 }, record.rank & 1 != 0)
                };
                if is_shuffled {
                    let mut order = random_order(records.len(), seed);
                    order.try_for_each(|number| pass_on(&records[number]))?;
                } else {
                    records.iter().try_for_each(pass_on)?;
                }
                Ok(0)
            }
        }
    }
}

/// The groups that are chosen: all records with the same key, or none of them. A group has a random
/// number of its own, which depends on nothing but the seed and its key.
enum GroupChoice {
    None,
    /// Each with this probability.
    Share(f64),
    /// Those with the least numbers, up to this one.
    UpTo(u64, Box<[u8]>),
}

impl GroupChoice {
    fn has(&self, number: u64, key: &[u8]) -> bool {
        match self {
            GroupChoice::None => false,
            GroupChoice::Share(p) => unit(number) <= *p,
            GroupChoice::UpTo(last, last_key) => (number, key) <= (*last, last_key),
        }
    }
}

/// Writes the records of the chosen groups, in the order of the files.
pub(crate) fn write_groups(
    sampler: &Sampler,
    population: &mut Population,
    column: &Column,
    sink: &mut dyn Sink,
) -> Result<Stats> {
    let mut bytes_read = 0;
    let chosen = match sampler.amount {
        Amount::Share(p) => {
            sink.set_probabilities(Probabilities::Same(p));
            GroupChoice::Share(p)
        }
        Amount::Exactly(n) | Amount::AtMost(n) => {
            let (chosen, groups, read) = least(sampler, population, column, n)?;
            sink.set_probabilities(sampler.inclusion(groups));
            bytes_read += read;
            chosen
        }
    };
    let mut scan = Scan::new(population, sampler.watch.clone())?;
    sink.header(scan.header())?;
    each(sampler, &mut scan, column, |number, key, record| {
        if chosen.has(number, key) {
            sink.piece(record.bytes)?;
            let place = Place { at: record.at, len: record.bytes.len() as u64 };
            sink.end(place, record.is_after_crlf)?;
        }
        Ok(())
    })?;
    bytes_read += scan.bytes_read();
    let reason = match sampler.amount {
        Amount::Share(_) => "the key of every record is looked at",
        _ => "every key is looked at twice: to choose groups, and to copy them",
    };
    let (seen, reason) = (Some(scan.rank()), reason.to_owned());
    Ok(Stats { seen, taken: 0, bytes_read, method: FetchMethod::Stream, reason, note: None })
}

/// The `n` groups with the least numbers, the number of all groups, if it is needed, and the bytes
/// that were read to find them.
fn least(
    sampler: &Sampler,
    population: &mut Population,
    column: &Column,
    n: u64,
) -> Result<(GroupChoice, u64, u64)> {
    if !population.can_be_reread() {
        let text = "a number of groups takes two passes: give files, or a probability";
        return Err(Error::new(ErrorKind::BadRequest, text));
    }
    let mut scan = Scan::new(population, sampler.watch.clone())?;
    let mut least: BTreeSet<(u64, Box<[u8]>)> = BTreeSet::new();
    let mut numbers = HashSet::new();
    each(sampler, &mut scan, column, |number, key, _| {
        if sampler.adds_probability {
            numbers.insert(number);
        }
        let is_full = least.len() as u64 >= n;
        if is_full && least.last().is_none_or(|(last, _)| number > *last) {
            return Ok(());
        }
        if least.insert((number, key.into())) && is_full {
            least.pop_last();
        }
        Ok(())
    })?;
    let found = least.len() as u64;
    if found < sampler.amount.least() {
        let text = format!("{n} groups by {column} were requested, but there are {found}");
        return Err(Error::new(ErrorKind::TooFew, text));
    }
    let chosen =
        least.pop_last().map_or(GroupChoice::None, |(last, key)| GroupChoice::UpTo(last, key));
    Ok((chosen, numbers.len() as u64, scan.bytes_read()))
}

/// Calls `take` with each record, its key and the number of its group.
fn each(
    sampler: &Sampler,
    scan: &mut Scan<'_>,
    column: &Column,
    mut take: impl FnMut(u64, &[u8], &crate::input::Scanned<'_>) -> Result<()>,
) -> Result<()> {
    let picker = Picker::new(column, scan.format(), scan.names())?;
    while let Some(record) = scan.next()? {
        let key = picker.key(record.bytes).map_err(|error| record.named(error))?;
        take(Rng::new(sampler.seed ^ key_seed(&key)).next_u64(), &key, &record)?;
    }
    Ok(())
}

/// A number in (0, 1] of 64 random bits.
fn unit(number: u64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    ((number >> 11) + 1) as f64 * STEP
}
