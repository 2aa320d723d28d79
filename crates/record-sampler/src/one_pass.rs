//! Inputs that pass by once, and choices that need to look at every record: keys and weights. Of a file
//! only the places of the chosen records are kept, of a stream the records themselves.

use std::collections::BTreeMap;

use crate::draw::{Bernoulli, Reservoir, Slots, WeightedReservoir, shares};
use crate::fetch::{Method, fetch_places};
use crate::input::{Picker, Population, Scan};
use crate::random::Rng;
use crate::ranked::too_few;
use crate::sampler::{Amount, Sampler, Stats, Weight, shuffle};
use crate::sink::{Output, Place, Sink};
use crate::{Error, ErrorKind, Result};

/// A chosen record. The text after a stream's record without line end is added when it is written.
#[derive(Clone)]
enum Held {
    Place(Place),
    Bytes(Box<[u8]>, bool),
}

/// A record with its rank, by which the order is kept.
type Kept = (u64, Held);

pub(crate) fn write(
    sampler: &Sampler,
    population: &mut Population,
    sink: &mut dyn Sink,
) -> Result<Stats> {
    if sampler.is_inverted && !matches!(sampler.amount, Amount::Share(_)) {
        let text = "the rest of a stream is known only at its end: give a file, or a probability";
        return Err(Error::new(ErrorKind::BadRequest, text));
    }
    let is_file = population.files().is_some();
    let quotas = match (&sampler.key, sampler.amount) {
        (Some(_), Amount::Share(p)) => Some(quotas(sampler, population, p)?),
        _ => None,
    };
    let mut scan = Scan::new(population, sampler.watch.clone())?;
    sink.header(scan.header())?;
    let chooser = Chooser { sampler, is_file, quotas };
    let kept = chooser.choose(&mut scan, sink)?;
    let (seen, bytes_read) = (scan.rank(), scan.bytes_read());
    let read_again = hand_over(sampler, population, kept, sink)?;
    Ok(Stats {
        seen: Some(seen),
        taken: 0,
        bytes_read: bytes_read + read_again,
        method: Method::Stream,
        reason: if is_file { "every record must be looked at" } else { "a stream passes by once" }
            .to_owned(),
    })
}

/// Every record to an output by chance.
pub(crate) fn split(
    sampler: &Sampler,
    population: &mut Population,
    weights: &[f64],
    outputs: &mut [Output<'_>],
) -> Result<Stats> {
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
    Ok(Stats { seen, taken: 0, bytes_read, method: Method::Stream, reason })
}

struct Chooser<'a> {
    sampler: &'a Sampler,
    is_file: bool,
    /// How many of each stratum, where that follows from its size.
    quotas: Option<BTreeMap<Vec<u8>, u64>>,
}

impl Chooser<'_> {
    fn choose(&self, scan: &mut Scan<'_>, sink: &mut dyn Sink) -> Result<Vec<Kept>> {
        let rng = Rng::new(self.sampler.seed);
        let (n, is_exact) = match self.sampler.amount {
            Amount::Exactly(n) => (n, true),
            Amount::AtMost(n) => (n, false),
            Amount::Share(p) if self.sampler.key.is_none() => return self.by_chance(scan, sink, p),
            Amount::Share(_) => (0, false),
        };
        let kept = if self.sampler.key.is_some() {
            return self.strata(scan, n, is_exact);
        } else if self.sampler.weight.is_some() {
            self.weighted(scan, rng, n)?
        } else if self.sampler.with_replacement {
            self.slots(scan, rng, n)?
        } else {
            self.reservoir(scan, rng, n)?
        };
        if is_exact && (kept.len() as u64) < n {
            return Err(match self.sampler.weight {
                Some(_) => {
                    let text = format!(
                        "{n} records are wanted, there are {} with a weight above 0 among {}",
                        kept.len(),
                        scan.rank()
                    );
                    Error::new(ErrorKind::TooFew, text)
                }
                None => too_few(n, scan.rank()),
            });
        }
        Ok(kept)
    }

    fn reservoir(&self, scan: &mut Scan<'_>, rng: Rng, n: u64) -> Result<Vec<Kept>> {
        let mut reservoir = Reservoir::new(rng, n as usize);
        while scan.go_to(reservoir.next_rank())? {
            let Some(kept) = self.next(scan)? else { break };
            reservoir.offer(kept);
        }
        Ok(reservoir.into_items())
    }

    fn slots(&self, scan: &mut Scan<'_>, rng: Rng, n: u64) -> Result<Vec<Kept>> {
        let mut slots = Slots::new(rng, n as usize);
        while scan.go_to(slots.next_rank().unwrap_or(u64::MAX))? {
            let Some(kept) = self.next(scan)? else { break };
            slots.offer(&kept);
        }
        Ok(slots.into_held())
    }

    fn weighted(&self, scan: &mut Scan<'_>, rng: Rng, n: u64) -> Result<Vec<Kept>> {
        let weight = self.sampler.weight.as_ref();
        let picker = match weight {
            Some(Weight::Column(column)) => {
                Some(Picker::new(column, scan.format(), scan.header_if_any())?)
            }
            _ => None,
        };
        let mut reservoir = WeightedReservoir::new(rng, n as usize);
        while let Some(record) = scan.next()? {
            let of_record = |error: Error| error.in_record(record.rank);
            let weight = match (weight, &picker) {
                (Some(Weight::Function(function)), _) => function(record.bytes),
                (_, Some(picker)) => picker.weight(record.bytes).map_err(of_record)?,
                _ => 1.0,
            };
            if reservoir.wants(weight).map_err(of_record)? {
                reservoir.offer((record.rank, self.held(&record)));
            }
        }
        Ok(reservoir.into_items())
    }

    fn strata(&self, scan: &mut Scan<'_>, n: u64, is_exact: bool) -> Result<Vec<Kept>> {
        let Some(column) = &self.sampler.key else { return Ok(Vec::new()) };
        let picker = Picker::new(column, scan.format(), scan.header_if_any())?;
        // Each with the number of records that have come.
        let mut strata: BTreeMap<Vec<u8>, (u64, Reservoir<Kept>)> = BTreeMap::new();
        while let Some(record) = scan.next()? {
            let key = picker.pick(record.bytes).map_err(|error| error.in_record(record.rank))?;
            if !strata.contains_key(&*key) {
                let quota = self.quotas.as_ref().map_or(n, |q| q.get(&*key).copied().unwrap_or(0));
                let rng = Rng::new(self.sampler.seed ^ key_seed(&key));
                strata.insert(key.to_vec(), (0, Reservoir::new(rng, quota as usize)));
            }
            let Some((seen, reservoir)) = strata.get_mut(&*key) else { continue };
            if *seen == reservoir.next_rank() {
                reservoir.offer((record.rank, self.held(&record)));
            }
            *seen += 1;
        }
        let mut kept = Vec::new();
        for (key, (seen, reservoir)) in strata {
            if is_exact && seen < n {
                let key = String::from_utf8_lossy(&key).into_owned();
                let text =
                    format!("{n} records are wanted of each {column}, of {key:?} there are {seen}");
                return Err(Error::new(ErrorKind::TooFew, text));
            }
            kept.extend(reservoir.into_items());
        }
        Ok(kept)
    }

    /// Each record on its own: nothing needs to be kept, unless the order is to be changed.
    fn by_chance(&self, scan: &mut Scan<'_>, sink: &mut dyn Sink, p: f64) -> Result<Vec<Kept>> {
        let Sampler { is_inverted, is_shuffled, .. } = *self.sampler;
        let mut chosen = Bernoulli::new(Rng::new(self.sampler.seed), p);
        let mut kept = Vec::new();
        let mut next = chosen.next().unwrap_or(u64::MAX);
        loop {
            if !is_inverted && !scan.go_to(next)? {
                break;
            }
            let Some(record) = scan.next()? else { break };
            let is_chosen = record.rank == next;
            if is_chosen {
                next = chosen.next().unwrap_or(u64::MAX);
            }
            if is_chosen == is_inverted {
                continue;
            }
            if is_shuffled {
                kept.push((record.rank, self.held(&record)));
            } else {
                sink.piece(record.bytes)?;
                let place = Place { at: record.at, len: record.bytes.len() as u64 };
                sink.end(place, record.is_after_crlf)?;
            }
        }
        Ok(kept)
    }

    fn next(&self, scan: &mut Scan<'_>) -> Result<Option<Kept>> {
        let record = scan.next()?;
        Ok(record.map(|record| (record.rank, self.held(&record))))
    }

    fn held(&self, record: &crate::input::Scanned<'_>) -> Held {
        if self.is_file {
            return Held::Place(Place { at: record.at, len: record.bytes.len() as u64 });
        }
        Held::Bytes(record.bytes.into(), record.is_after_crlf)
    }
}

/// Gives each stratum a generator of its own, so that what is drawn from it does not depend on the others.
fn key_seed(key: &[u8]) -> u64 {
    key.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// How many of each stratum: its share of all that are wanted, by the largest remainders.
fn quotas(
    sampler: &Sampler,
    population: &mut Population,
    p: f64,
) -> Result<BTreeMap<Vec<u8>, u64>> {
    let Some(column) = &sampler.key else { return Ok(BTreeMap::new()) };
    if population.files().is_none() {
        let text = "a share of each stratum needs their sizes: give files that can be read twice";
        return Err(Error::new(ErrorKind::BadRequest, text));
    }
    let mut scan = Scan::new(population, sampler.watch.clone())?;
    let picker = Picker::new(column, scan.format(), scan.header_if_any())?;
    let mut counts: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    while let Some(record) = scan.next()? {
        let key = picker.pick(record.bytes).map_err(|error| error.in_record(record.rank))?;
        match counts.get_mut(&*key) {
            Some(count) => *count += 1,
            None => drop(counts.insert(key.into_owned(), 1)),
        }
    }
    let wanted = (p * scan.rank() as f64).round() as u64;
    let sizes: Vec<f64> = counts.values().map(|count| *count as f64).collect();
    Ok(counts.into_keys().zip(shares(wanted, &sizes)).collect())
}

/// In the order of the population, or in none. Returns how many bytes were read again.
fn hand_over(
    sampler: &Sampler,
    population: &Population,
    mut kept: Vec<Kept>,
    sink: &mut dyn Sink,
) -> Result<u64> {
    kept.sort_unstable_by_key(|(rank, _)| *rank);
    if sampler.is_shuffled {
        shuffle(&mut kept, sampler.seed);
    }
    let mut bytes_read = 0;
    for (_, held) in kept {
        match held {
            Held::Place(place) => bytes_read += fetch_places(population, &[place], sink)?,
            Held::Bytes(bytes, is_after_crlf) => {
                sink.piece(&bytes)?;
                sink.end(Place { at: 0, len: 0 }, is_after_crlf)?;
            }
        }
    }
    Ok(bytes_read)
}
