//! Places of records with their keys, divided into buckets.

use std::fs::File;

use super::order::sort;
use super::spill::{Spill, read};
use crate::Result;

/// A key, and a place: the offset, and in the lowest bits the length.
pub(super) type Entry = (u64, u64);

pub(super) const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;
pub(super) const LEN_BITS: u32 = 20;
/// Instead of a length: the record is listed apart.
pub(super) const IS_APART: u64 = (1 << LEN_BITS) - 1;

/// Entries with a range of keys, in memory and in the temporary file.
pub(super) struct Bucket {
    pub(super) entries: Vec<Entry>,
    /// The offset and the number of entries of what was moved to the temporary file.
    chunks: Vec<(u64, usize)>,
}

/// The offset and the length of an entry.
#[inline]
pub(super) fn place_of(entry: &Entry) -> (u64, u64) {
    (entry.1 >> LEN_BITS, entry.1 & IS_APART)
}

impl Bucket {
    pub(super) fn with_capacity(entries: usize) -> Bucket {
        Bucket { entries: Vec::with_capacity(entries), chunks: Vec::new() }
    }

    #[cold]
    pub(super) fn spill(&mut self, spill: &mut Option<Spill>) -> Result<()> {
        let spill = match spill {
            Some(spill) => spill,
            None => spill.insert(Spill::create()?),
        };
        let words = self.entries.iter().flat_map(|(key, place)| [*key, *place]);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        self.chunks.push((spill.append(&bytes)?, self.entries.len()));
        self.entries.clear();
        Ok(())
    }

    /// All entries, in their order.
    pub(super) fn load(self, file: Option<&File>, seed: u64) -> Result<Vec<Entry>> {
        let Bucket { mut entries, chunks } = self;
        let mut bytes = Vec::new();
        for (offset, n) in chunks {
            bytes.resize(n * ENTRY_BYTES as usize, 0);
            if let Some(file) = file {
                read(file, &mut bytes, offset)?;
            }
            let (words, _) = bytes.as_chunks::<8>();
            let (pairs, _) = words.as_chunks::<2>();
            let pairs = pairs.iter().map(|pair| pair.map(u64::from_le_bytes));
            entries.extend(pairs.map(|[key, place]| (key, place)));
        }
        sort(&mut entries, seed);
        Ok(entries)
    }
}
