//! Records of mapped files in random order: only their places are kept, divided by their keys.
//! Records are copied from the mapping when it is their turn, several buckets at once.

use super::entries::{Bucket, ENTRY_BYTES, IS_APART, LEN_BITS};
use super::order::Order;
use super::spill::Spill;
use super::turns::Turns;
use super::{LEAST_ROOM, Shuffle};
use crate::fetch::fetch_places;
use crate::input::Population;
use crate::sink::{Place, Sink};
use crate::{Error, ErrorKind, Result};

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

impl MappedShuffler {
    /// `None` if the records of these files are better copied.
    pub(crate) fn new(shuffle: &Shuffle, file_bytes: u64, threads: usize) -> Option<Self> {
        let most = (shuffle.memory / 2 / LEAST_ROOM).clamp(1, MOST_BUCKETS);
        let buckets = 1 << most.ilog2();
        // Buckets differ in size, and each thread loads one.
        let loaded = shuffle.records.checked_mul(ENTRY_BYTES)? / buckets;
        let loaded = loaded.saturating_mul(threads as u64);
        let fits = loaded <= shuffle.memory / 4 && file_bytes >> (64 - LEN_BITS) == 0;
        if !fits || shuffle.bytes < LEAST_BYTES || shuffle.bytes < file_bytes / 8 {
            return None;
        }
        let room = (shuffle.memory / 4 * 3 / buckets / ENTRY_BYTES) as usize;
        let expected = (shuffle.records / buckets) as usize;
        let capacity = room.min(expected + expected / 16 + 64);
        let new = || Bucket::with_capacity(capacity);
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
