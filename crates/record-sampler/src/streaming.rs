//! Inputs that can be read only once, and choices that examine every record: keys and weights. Of a
//! file only the places of the chosen records are kept, of a stream the records themselves.

use crate::draw::{Bernoulli, Quota, Reservoir, Sizes, Slots, Strata, WeightedReservoir};
use crate::fetch::{Method, fetch_places};
use crate::input::{Column, Picker, Population, Scan};
use crate::random::{Rng, shuffle};
use crate::random_access::{too_few, too_few_weighted};
use crate::sampler::{Amount, Sampler, Stats, Weight};
use crate::sink::{Output, Place, Sink};
use crate::{Error, ErrorKind, Result};

/// A chosen record. A line end is added on writing if the record has none.
#[derive(Clone)]
enum Held {
    Place(Place),
    Bytes(Box<[u8]>, bool),
}

/// A record with its rank, which preserves the order.
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
    let quota = match (&sampler.key, sampler.amount) {
        (Some(column), Amount::Share(p)) => Some(sizes(sampler, population, column)?.quota(p)),
        (Some(_), Amount::Exactly(n) | Amount::AtMost(n)) => Some(Quota::Each(n)),
        (None, _) => None,
    };
    let mut scan = Scan::new(population, sampler.watch.clone())?;
    sink.header(scan.header())?;
    let chooser = Chooser { sampler, is_file };
    let kept = chooser.choose(&mut scan, sink, quota)?;
    let (seen, bytes_read) = (scan.rank(), scan.bytes_read());
    let read_again = hand_over(sampler, population, kept, sink)?;
    Ok(Stats {
        seen: Some(seen),
        taken: 0,
        bytes_read: bytes_read + read_again,
        method: Method::Stream,
        reason: if is_file { "every record must be looked at" } else { "a stream passes by once" }
            .to_owned(),
        note: None,
    })
}

/// Assigns each record to an output at random.
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
    Ok(Stats { seen, taken: 0, bytes_read, method: Method::Stream, reason, note: None })
}

struct Chooser<'a> {
    sampler: &'a Sampler,
    is_file: bool,
}

impl Chooser<'_> {
    fn choose(
        &self,
        scan: &mut Scan<'_>,
        sink: &mut dyn Sink,
        quota: Option<Quota>,
    ) -> Result<Vec<Kept>> {
        if let (Some(column), Some(quota)) = (&self.sampler.key, quota) {
            return self.strata(scan, column, quota);
        }
        let rng = Rng::new(self.sampler.seed);
        let (n, is_exact) = match self.sampler.amount {
            Amount::Exactly(n) => (n, true),
            Amount::AtMost(n) => (n, false),
            Amount::Share(p) => return self.by_chance(scan, sink, p),
        };
        let kept = if self.sampler.weight.is_some() {
            self.weighted(scan, rng, n)?
        } else if self.sampler.with_replacement {
            self.slots(scan, rng, n)?
        } else {
            self.reservoir(scan, rng, n)?
        };
        if is_exact && (kept.len() as u64) < n {
            return Err(match self.sampler.weight {
                Some(_) => too_few_weighted(n, kept.len(), scan.rank()),
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
        let mut slots = Slots::new(rng, n)?;
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
            if picker.as_ref().is_some_and(|picker| picker.is_blank(record.bytes)) {
                continue;
            }
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

    fn strata(&self, scan: &mut Scan<'_>, column: &Column, quota: Quota) -> Result<Vec<Kept>> {
        let picker = Picker::new(column, scan.format(), scan.header_if_any())?;
        let mut strata = Strata::new(self.sampler.seed, quota);
        while let Some(record) = scan.next()? {
            if picker.is_blank(record.bytes) {
                continue;
            }
            let key = picker.pick(record.bytes).map_err(|error| error.in_record(record.rank))?;
            strata.offer(&key, || (record.rank, self.held(&record)));
        }
        strata.into_items(column, self.sampler.amount.least())
    }

    /// Chooses each record independently: nothing is kept, unless the order is to be changed.
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

/// How many records each stratum has.
fn sizes(sampler: &Sampler, population: &mut Population, column: &Column) -> Result<Sizes> {
    if !population.can_be_reread() {
        let text = "a share of each stratum needs their sizes: give files that can be read twice";
        return Err(Error::new(ErrorKind::BadRequest, text));
    }
    let mut scan = Scan::new(population, sampler.watch.clone())?;
    let picker = Picker::new(column, scan.format(), scan.header_if_any())?;
    let mut sizes = Sizes::default();
    while let Some(record) = scan.next()? {
        if picker.is_blank(record.bytes) {
            continue;
        }
        let key = picker.pick(record.bytes).map_err(|error| error.in_record(record.rank))?;
        sizes.count(&key);
    }
    Ok(sizes)
}

/// In the order of the population, or shuffled. Returns how many bytes were read again.
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
