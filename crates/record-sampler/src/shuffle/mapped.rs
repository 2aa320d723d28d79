//! Records of mapped files in random order: only their places are kept, divided by their keys.
//! Records are copied from the mapping when it is their turn, several buckets at once.

use std::fs::File;

use super::order::{Order, sort};
use super::spill::{Spill, read};
use super::turns::Turns;
use super::{LEAST_ROOM, Shuffle};
use crate::fetch::fetch_places;
use crate::input::Population;
use crate::sink::{Place, Sink};
use crate::{Error, ErrorKind, Result};

/// A key, and a place: the offset, and in the lowest bits the length.
pub(super) type Entry = (u64, u64);

const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;
const LEN_BITS: u32 = 20;
/// Instead of a length: the record is listed apart.
pub(super) const IS_APART: u64 = (1 << LEN_BITS) - 1;
/// Sorting and dividing are fastest if a bucket, and a line of each bucket, fit into caches.
const MOST_BUCKETS: u64 = 512;
/// With fewer bytes, mapping the files and starting threads does not pay off.
const LEAST_BYTES: u64 = 16 << 20;

/// Takes places of records in the order of the files.
pub(crate) struct MappedShuffler {
    order: Order,
    buckets: Vec<Bucket>,
    /// What remains of a key by this shift is the number of its bucket.
    shift: u32,
    /// The entries of a bucket that stay in memory.
    room: usize,
    spill: Option<Spill>,
    /// Records that are too long, or that need another line end: where they are, and their lengths.
    apart: Vec<Place>,
    seed: u64,
}

#[derive(Default)]
pub(super) struct Bucket {
    entries: Vec<Entry>,
    /// The offset and the number of entries of what was moved to the temporary file.
    chunks: Vec<(u64, usize)>,
}

impl MappedShuffler {
    /// `None` if the records of these files are better copied.
    pub(crate) fn new(shuffle: &Shuffle, file_bytes: u64, threads: usize) -> Option<Self> {
        let most = (shuffle.memory / 2 / LEAST_ROOM).clamp(1, MOST_BUCKETS);
        let buckets = 1 << most.ilog2();
        // Buckets differ in size, and each thread loads one.
        let loaded = shuffle.records.checked_mul(ENTRY_BYTES)? / buckets * threads as u64;
        let fits = loaded <= shuffle.memory / 4 && file_bytes >> (64 - LEN_BITS) == 0;
        if !fits || shuffle.bytes < LEAST_BYTES || shuffle.bytes < file_bytes / 8 {
            return None;
        }
        let room = (shuffle.memory / 4 * 3 / buckets / ENTRY_BYTES) as usize;
        let expected = (shuffle.records / buckets) as usize;
        let capacity = room.min(expected + expected / 16 + 64);
        let new = || Bucket { entries: Vec::with_capacity(capacity), chunks: Vec::new() };
        Some(MappedShuffler {
            order: Order::new(shuffle.seed),
            buckets: std::iter::repeat_with(new).take(buckets as usize).collect(),
            shift: 64 - buckets.ilog2(),
            room,
            spill: None,
            apart: Vec::new(),
            seed: shuffle.seed,
        })
    }

    /// Passes on all records; returns how many bytes were read besides the mapping.
    pub(crate) fn finish(
        self,
        population: &Population,
        maps: &[&[u8]],
        threads: usize,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        let MappedShuffler { buckets, spill, mut apart, seed, .. } = self;
        let file = spill.map(|spill| spill.file);
        let mut end = 0;
        let starts = maps.iter().map(|map| {
            end += map.len() as u64;
            end - map.len() as u64
        });
        let starts: Vec<u64> = starts.collect();
        let turns = Turns { maps, starts, record_end: population.format.end() };
        apart.sort_unstable();
        let mut bytes_read = 0;
        let fetch_apart = |at, sink: &mut dyn Sink| {
            let found = apart.binary_search_by_key(&at, |place| place.at);
            let place = found.map_err(|_| Error::new(ErrorKind::Changed, "has changed"))?;
            bytes_read += fetch_places(population, &apart[place..=place], sink)?;
            Ok(())
        };
        let load = |bucket: Bucket| bucket.load(file.as_deref(), seed);
        turns.pass_on(buckets, &load, threads, sink, fetch_apart)?;
        Ok(bytes_read)
    }
}

impl Sink for MappedShuffler {
    fn needs_bytes(&self) -> bool {
        false
    }

    #[inline]
    fn piece(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn end(&mut self, place: Place, is_after_crlf: bool) -> Result<()> {
        let key = self.order.next_key();
        let len = if place.len >= IS_APART || is_after_crlf {
            self.apart.push(place);
            IS_APART
        } else {
            place.len
        };
        let number = key.checked_shr(self.shift).unwrap_or(0) as usize;
        let bucket = &mut self.buckets[number];
        if bucket.entries.len() >= self.room {
            bucket.spill(&mut self.spill)?;
        }
        bucket.entries.push((key, place.at << LEN_BITS | len));
        Ok(())
    }
}

/// The offset and the length of an entry.
#[inline]
pub(super) fn place_of(entry: &Entry) -> (u64, u64) {
    (entry.1 >> LEN_BITS, entry.1 & IS_APART)
}

impl Bucket {
    #[cold]
    fn spill(&mut self, spill: &mut Option<Spill>) -> Result<()> {
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
    fn load(self, file: Option<&File>, seed: u64) -> Result<Vec<Entry>> {
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
