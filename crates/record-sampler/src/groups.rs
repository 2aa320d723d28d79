//! Whole groups: all records with the same key, or none of them. A group has a random number of its
//! own, which depends on nothing but the seed and its key.

use std::collections::{BTreeSet, HashSet};

use crate::draw::key_seed;
use crate::fetch::Method;
use crate::input::{Column, Picker, Population, Scan};
use crate::random::Rng;
use crate::sampler::{Amount, Sampler, Stats};
use crate::sink::{Place, Probabilities, Sink};
use crate::{Error, ErrorKind, Result};

/// The groups that are chosen.
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
pub(crate) fn write(
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
    Ok(Stats { seen, taken: 0, bytes_read, method: Method::Stream, reason, note: None })
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
        if picker.is_blank(record.bytes) {
            continue;
        }
        let key = picker.pick(record.bytes).map_err(|error| error.in_record(record.rank))?;
        take(Rng::new(sampler.seed ^ key_seed(&key)).next_u64(), &key, &record)?;
    }
    Ok(())
}

/// A number in (0, 1] of 64 random bits.
fn unit(number: u64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    ((number >> 11) + 1) as f64 * STEP
}
