//! Whether what a method has drawn is a sample: so many records, all of them of the file, each once, in
//! its order, and from all parts of it. Samples themselves differ by nature.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Seek};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::data::each_record;

/// What a sample must be.
pub(super) struct Claim<'a> {
    pub(super) file: &'a Path,
    pub(super) is_text: bool,
    pub(super) records: u64,
    pub(super) samples: u64,
    pub(super) promise: Promise,
}

/// What a method says of its samples.
#[derive(Clone, Copy)]
pub(super) struct Promise {
    /// Not only about so many.
    pub(super) is_exact: bool,
    /// In that of the file.
    pub(super) in_order: bool,
}

/// Parts of the file that are held against each other.
const PARTS: u64 = 16;

impl Claim<'_> {
    pub(super) fn check(&self, mut drawn: &File) -> Result<()> {
        drawn.rewind()?;
        let hasher = RandomState::new();
        let mut order = Vec::new();
        each_record(drawn.by_ref(), self.is_text, |record| order.push(hasher.hash_one(record)))?;
        self.check_count(order.len() as u64)?;
        let mut wanted: HashMap<u64, u32> = HashMap::new();
        for hash in &order {
            *wanted.entry(*hash).or_default() += 1;
        }
        let (mut rank, mut found) = (0u64, 0);
        let mut next = order.iter().peekable();
        let mut parts = [0u64; PARTS as usize];
        let file = File::open(self.file).with_context(|| self.file.display().to_string())?;
        let mut place = |record: &[u8]| {
            let mut record = record.to_vec();
            if self.is_text && record.last() != Some(&b'\n') {
                record.push(b'\n');
            }
            let hash = hasher.hash_one(record.as_slice());
            let _ = next.next_if(|wanted| **wanted == hash);
            if let Some(count) = wanted.get_mut(&hash).filter(|count| **count > 0) {
                *count -= 1;
                parts[(rank * PARTS / self.records.max(1)).min(PARTS - 1) as usize] += 1;
                found += 1;
            }
            rank += 1;
        };
        each_record(file, self.is_text, &mut place)?;
        ensure!(
            found == order.len(),
            "{} drawn records are not of the file, or twice",
            order.len() - found
        );
        let in_order = next.peek().is_none();
        ensure!(in_order || !self.promise.in_order, "the records are not in the order of the file");
        check_parts(&parts, order.len() as u64)
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

/// By chi-square with 15 degrees of freedom: beyond this once in 10¹².
fn check_parts(parts: &[u64], drawn: u64) -> Result<()> {
    let expected = drawn as f64 / PARTS as f64;
    if expected < 5.0 {
        return Ok(());
    }
    let chi: f64 = parts.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
    ensure!(chi < 90.0, "some parts of the file are favoured: {parts:?}");
    Ok(())
}
