//! Records that memory does not hold, in a temporary file. They are divided by their keys, which
//! give the order: each bucket has the records of a range of keys.
//!
//! A record is stored as its key and its size, 8 bytes each, and its bytes. The two lowest bits of
//! the size are flags.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use crate::random::{Rng, shuffle};
use crate::{Error, ErrorKind, Result};

/// The key and the size of a record.
pub(super) const HEAD_BYTES: usize = 16;
/// The line before the record ended in CRLF.
pub(super) const IS_AFTER_CRLF: u64 = 1;
/// The place of the record is stored in place of its bytes.
pub(super) const IS_PLACE: u64 = 2;
const FLAG_BITS: u32 = 2;

/// Records of a range of keys, in memory and in the temporary file.
#[derive(Default)]
pub(super) struct RecordBucket {
    pub(super) buffer: Vec<u8>,
    /// The offset and the size of each part that was moved to the file.
    chunks: Vec<(u64, u64)>,
    pub(super) records: u64,
    /// The bytes in the file.
    spilled: u64,
}

impl RecordBucket {
    /// Begins a record; its bytes are to be appended to the buffer. Returns its offset.
    pub(super) fn begin(&mut self, key: u64) -> usize {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&key.to_le_bytes());
        self.buffer.extend_from_slice(&[0; 8]);
        start
    }

    /// Completes the record that begins there.
    pub(super) fn end(&mut self, start: usize, flags: u64) {
        let len = (self.buffer.len() - start - HEAD_BYTES) as u64;
        let size = (len << FLAG_BITS | flags).to_le_bytes();
        self.buffer[start + 8..start + HEAD_BYTES].copy_from_slice(&size);
        self.records += 1;
    }

    /// Moves the records in memory to the file.
    pub(super) fn spill(&mut self, spill: &mut Option<Spill>) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let spill = match spill {
            Some(spill) => spill,
            None => spill.insert(Spill::create()?),
        };
        let len = self.buffer.len() as u64;
        self.chunks.push((spill.append(&self.buffer)?, len));
        self.spilled += len;
        self.buffer.clear();
        Ok(())
    }

    /// The memory that it takes when all of it is loaded and sorted.
    pub(super) fn loaded_bytes(&self) -> u64 {
        self.spilled + self.buffer.len() as u64 + self.records * size_of::<(u64, u64)>() as u64
    }

    /// All records in memory.
    pub(super) fn load(self, spill: Option<&Spill>) -> Result<Vec<u8>> {
        let Some(spill) = spill.filter(|_| !self.chunks.is_empty()) else {
            return Ok(self.buffer);
        };
        let mut bytes = vec![0; self.spilled as usize];
        let mut at = 0;
        for (offset, len) in self.chunks {
            let end = at + len as usize;
            read(&spill.file, &mut bytes[at..end], offset)?;
            at = end;
        }
        bytes.extend_from_slice(&self.buffer);
        Ok(bytes)
    }

    /// The records one after the other.
    pub(super) fn replay(self, spill: Option<&Spill>) -> Replay {
        let file = spill.map(|spill| Arc::clone(&spill.file));
        let last = self.buffer;
        Replay {
            file,
            chunks: self.chunks.into_iter(),
            chunk: (0, 0),
            last,
            held: Vec::new(),
            at: 0,
        }
    }
}

/// A stored record: its key, its flags, and the range of its bytes.
pub(super) struct StoredRecord {
    pub(super) key: u64,
    pub(super) flags: u64,
    pub(super) bytes: Range<usize>,
}

/// The record that begins there, if its head is complete.
#[inline]
pub(super) fn stored(bytes: &[u8], at: usize) -> Option<StoredRecord> {
    let (key, rest) = bytes.get(at..)?.split_first_chunk::<8>()?;
    let (size, _) = rest.split_first_chunk::<8>()?;
    let size = u64::from_le_bytes(*size);
    let start = at + HEAD_BYTES;
    Some(StoredRecord {
        key: u64::from_le_bytes(*key),
        flags: size & (IS_AFTER_CRLF | IS_PLACE),
        bytes: start..start + (size >> FLAG_BITS) as usize,
    })
}

/// Reads a bucket in pieces.
pub(super) struct Replay {
    file: Option<Arc<File>>,
    chunks: std::vec::IntoIter<(u64, u64)>,
    /// The offset and the size of the rest of the current chunk.
    chunk: (u64, u64),
    /// The records that are not in the file.
    last: Vec<u8>,
    held: Vec<u8>,
    at: usize,
}

const PIECE_BYTES: u64 = 256 << 10;

impl Replay {
    /// The next record with its key and its flags.
    pub(super) fn next(&mut self) -> Result<Option<(u64, u64, &[u8])>> {
        let stored = loop {
            match stored(&self.held, self.at) {
                Some(stored) if stored.bytes.end <= self.held.len() => break stored,
                _ if !self.fill()? => return Ok(None),
                _ => {}
            }
        };
        self.at = stored.bytes.end;
        Ok(Some((stored.key, stored.flags, &self.held[stored.bytes])))
    }

    fn fill(&mut self) -> Result<bool> {
        self.held.drain(..self.at);
        self.at = 0;
        if self.chunk.1 == 0 {
            self.chunk = self.chunks.next().unwrap_or_default();
        }
        let (offset, left) = self.chunk;
        let Some(file) = self.file.as_ref().filter(|_| left > 0) else {
            let is_more = !self.last.is_empty();
            self.held.append(&mut self.last);
            return Ok(is_more);
        };
        let (from, n) = (self.held.len(), left.min(PIECE_BYTES));
        self.held.resize(from + n as usize, 0);
        read(file, &mut self.held[from..], offset)?;
        self.chunk = (offset + n, left - n);
        Ok(true)
    }
}

/// Buckets for equal parts of a range of keys.
pub(super) struct Buckets {
    pub(super) list: Vec<RecordBucket>,
    low: u64,
    /// The number of keys of a bucket.
    pub(super) width: u64,
    /// The bytes of a bucket that stay in memory.
    pub(super) room: usize,
}

impl Buckets {
    /// Buckets for `span` keys from `low` on.
    pub(super) fn new(low: u64, span: u128, n: u64, room: usize) -> Buckets {
        let width = span.div_ceil(u128::from(n.max(1))).clamp(1, u128::from(u64::MAX)) as u64;
        let list = (0..n.max(1)).map(|_| RecordBucket::default()).collect();
        Buckets { list, low, width, room }
    }

    /// The number of the bucket with this key.
    #[inline]
    pub(super) fn number(&self, key: u64) -> usize {
        let last = self.list.len() - 1;
        if last == 0 { 0 } else { ((key.saturating_sub(self.low) / self.width) as usize).min(last) }
    }

    /// The first key of a bucket.
    pub(super) fn low_of(&self, number: usize) -> u64 {
        self.low.saturating_add(self.width.saturating_mul(number as u64))
    }

    /// Moves a bucket to the file if it has more than its room.
    #[inline]
    pub(super) fn make_room(&mut self, number: usize, spill: &mut Option<Spill>) -> Result<()> {
        let bucket = &mut self.list[number];
        if bucket.buffer.len() <= self.room {
            return Ok(());
        }
        bucket.spill(spill)
    }

    /// If some records are in the file, all are, so that memory has room for further records.
    pub(super) fn settle(&mut self, spill: &mut Option<Spill>) -> Result<()> {
        if spill.is_none() {
            return Ok(());
        }
        for bucket in &mut self.list {
            bucket.spill(spill)?;
            bucket.buffer = Vec::new();
        }
        Ok(())
    }
}

// The order of shuffled records: each in turn gets a random number, by which they are sorted.

/// Draws the keys. They depend on the seed and on nothing else, so that the order is the same
/// wherever records are kept until it is their turn.
pub(super) struct KeyOrder(Rng);

impl KeyOrder {
    pub(super) fn new(seed: u64) -> KeyOrder {
        // These are other numbers than those that chose the records.
        KeyOrder(Rng::new(seed ^ 0x5eed_5eed_5eed_5eed))
    }

    /// The key of the next record.
    #[inline]
    pub(super) fn next_key(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// The numbers of as many records, in random order: the same one as of records that are passed to a
/// `Shuffler`.
pub(crate) fn random_order(n: usize, seed: u64) -> impl Iterator<Item = usize> {
    let mut order = KeyOrder::new(seed);
    let mut entries: Vec<(u64, u64)> = (0..n as u64).map(|i| (order.next_key(), i)).collect();
    sort(&mut entries, seed);
    entries.into_iter().map(|(_, number)| number as usize)
}

/// Sorts entries by their keys. Those with the same key, which random numbers have once in a while,
/// are shuffled among themselves, as their order would otherwise be that of the file.
pub(super) fn sort(entries: &mut [(u64, u64)], seed: u64) {
    entries.sort_unstable_by_key(|(key, _)| *key);
    let equal = |two: &(u64, u64), other: &(u64, u64)| two.0 == other.0;
    for run in entries.chunk_by_mut(equal).filter(|run| run.len() > 1) {
        let key = run[0].0;
        run.sort_unstable();
        // These are other numbers than the keys.
        shuffle(run, seed ^ key ^ 0x0e9a_1000_0e9a_1000);
    }
}

/// A temporary file without a name, which the system removes however this process ends. It takes
/// bytes at its end.
pub(super) struct Spill {
    pub(super) file: Arc<File>,
    end: u64,
}

impl Spill {
    pub(super) fn create() -> Result<Spill> {
        let file = unnamed().map_err(|error| failed("creating", error))?;
        Ok(Spill { file: Arc::new(file), end: 0 })
    }

    /// Returns the offset of the appended bytes.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        let at = self.end;
        self.file.write_all_at(bytes, at).map_err(|error| failed("writing", error))?;
        self.end += bytes.len() as u64;
        Ok(at)
    }
}

pub(super) fn read(file: &File, bytes: &mut [u8], offset: u64) -> Result<()> {
    file.read_exact_at(bytes, offset).map_err(|error| failed("reading", error))
}

/// The number of bytes that temporary files may have, if the system reports it.
pub(super) fn free_bytes() -> Option<u64> {
    let space = rustix::fs::statvfs(dir()).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}

pub(super) fn dir() -> PathBuf {
    std::env::temp_dir()
}

fn unnamed() -> io::Result<File> {
    let (flags, mode) = (OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    #[cfg(target_os = "linux")]
    if let Ok(file) = rustix::fs::open(dir(), flags | OFlags::TMPFILE, mode) {
        return Ok(file.into());
    }
    // Some file systems and other systems have no files without a name: it is removed at once.
    for number in 0..100 {
        let path = dir().join(format!(".record-sampler-{}-{number}", std::process::id()));
        match rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode) {
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file.into());
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn failed(what: &str, error: io::Error) -> Error {
    let text = format!("{what} a temporary file, for which TMPDIR names the directory");
    Error::caused(ErrorKind::Io, &text, error).with_path(&dir())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_record_has_its_turn_once() {
        for n in [0, 1, 2, 1000] {
            let mut order: Vec<usize> = random_order(n, 7).collect();
            assert!(n < 3 || !order.is_sorted());
            order.sort_unstable();
            assert!(order.into_iter().eq(0..n));
        }
    }

    /// The probability of each order of four records, by chi-square.
    fn check(keys: impl Fn(&mut KeyOrder, u64) -> u64) {
        const SEEDS: u64 = 48_000;
        let mut counts: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
        for seed in 0..SEEDS {
            let mut order = KeyOrder::new(seed);
            let mut entries: Vec<_> = (0..4).map(|i| (keys(&mut order, i), i)).collect();
            sort(&mut entries, seed);
            *counts.entry(entries.into_iter().map(|(_, record)| record).collect()).or_default() +=
                1;
        }
        assert_eq!(counts.len(), 24);
        let expected = SEEDS as f64 / 24.0;
        let chi: f64 = counts.values().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
        // 23 degrees of freedom: beyond this once in 10⁹.
        assert!(chi < 90.0, "{chi}");
    }

    #[test]
    fn every_order_is_equally_probable_also_where_keys_are_equal() {
        check(|order, _| order.next_key());
        check(|order, _| order.next_key() >> 63);
        check(|_, _| 5);
    }
}
