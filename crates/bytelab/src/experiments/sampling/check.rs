//! Checks that the drawn records are a sample: the right number, all of them from the file, without
//! repetition, in the file's order, and from all parts of it. Two correct samples differ from each
//! other.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{Read, Seek};
use std::path::Path;

use anyhow::{Result, ensure};
use byte_stream::decode::Encoding;
use record_sampler::{Format, Layout};

use super::data;
use super::one_by_one::OneByOne;

/// The properties that a sample must have.
pub(super) struct Claim<'a> {
    pub(super) file: &'a Path,
    pub(super) layout: &'a Layout,
    /// That of the file; no sample is compressed.
    pub(super) encoding: Option<Encoding>,
    pub(super) records: u64,
    pub(super) samples: u64,
    pub(super) promise: Promise,
}

/// The properties that a method guarantees for its samples.
#[derive(Clone, Copy)]
pub(super) struct Promise {
    /// The number of records is exact, not approximate.
    pub(super) is_exact: bool,
    /// The records are in the order of the file.
    pub(super) in_order: bool,
}

/// The number of parts of the file that are compared with each other.
const PARTS: u64 = 16;

impl Claim<'_> {
    pub(super) fn check(&self, mut drawn: &File) -> Result<()> {
        drawn.rewind()?;
        let mut order = Vec::new();
        self.each_record(drawn.by_ref(), |record| order.push(self.hash_of(record)))?;
        self.check_count(order.len() as u64)?;
        let mut wanted: HashMap<u64, u32, BuildHasherDefault<Hashed>> = HashMap::default();
        for hash in &order {
            *wanted.entry(*hash).or_default() += 1;
        }
        let (mut rank, mut found) = (0u64, 0);
        let mut next = order.iter().peekable();
        let mut parts = [0u64; PARTS as usize];
        let file = data::open(self.file, self.encoding)?;
        let mut place = |record: &[u8]| {
            let hash = self.hash_of(record);
            let _ = next.next_if(|wanted| **wanted == hash);
            if let Some(count) = wanted.get_mut(&hash).filter(|count| **count > 0) {
                *count -= 1;
                parts[(rank * PARTS / self.records.max(1)).min(PARTS - 1) as usize] += 1;
                found += 1;
            }
            rank += 1;
        };
        self.each_record(file, &mut place)?;
        ensure!(
            found == order.len(),
            "{} drawn records are not of the file, or twice",
            order.len() - found
        );
        let in_order = next.peek().is_none();
        ensure!(in_order || !self.promise.in_order, "the records are not in the order of the file");
        check_parts(&parts, order.len() as u64)
    }

    fn each_record(&self, reader: impl Read, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let mut records = OneByOne::new(reader, self.layout)?;
        let mut record = Vec::new();
        while records.next(&mut record)? {
            visit(&record);
        }
        Ok(())
    }

    /// The hash of the record without its line end, which the last record of a file may lack. Each
    /// record of the file is hashed for each cell in each session, so a slow hash would cost
    /// minutes in a long run.
    fn hash_of(&self, record: &[u8]) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let record = match self.layout.format {
            Format::Fixed(_) => record,
            _ => record.strip_suffix(b"\n").unwrap_or(record),
        };
        let mut hash = record.len() as u64 ^ ODD;
        for word in record.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            let product = u128::from(hash ^ u64::from_le_bytes(bytes)) * u128::from(ODD);
            hash = product as u64 ^ (product >> 64) as u64;
        }
        hash
    }

    fn check_count(&self, drawn: u64) -> Result<()> {
        let wanted = self.samples;
        if self.promise.is_exact {
            ensure!(drawn == wanted, "{drawn} records were drawn instead of {wanted}");
            return Ok(());
        }
        let p = wanted as f64 / self.records as f64;
        let deviation = (wanted as f64 * (1.0 - p)).sqrt();
        let off = (drawn as f64 - wanted as f64).abs();
        ensure!(off <= 8.0 * deviation + 1.0, "{drawn} records were drawn, far from {wanted}");
        Ok(())
    }
}

/// The hashes that are already computed.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = self.0.rotate_left(5) ^ hash;
    }
}

/// A chi-square test with 15 degrees of freedom: exceeded by chance once in 10¹².
fn check_parts(parts: &[u64], drawn: u64) -> Result<()> {
    let expected = drawn as f64 / PARTS as f64;
    if expected < 5.0 {
        return Ok(());
    }
    let chi: f64 = parts.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
    ensure!(chi < 90.0, "some parts of the file are favoured: {parts:?}");
    Ok(())
}
