//! Records of mapped files in random order: only their places are kept, divided by their keys.
//! Records are copied from the mapping when it is their turn, several buckets at once.

use std::collections::VecDeque;
use std::fs::File;
use std::hint::black_box;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::spill::{KeyOrder, Spill, read, sort};
use super::{LEAST_ROOM, Shuffle};
use crate::fetch::fetch_places;
use crate::input::Population;
use crate::sink::{Place, RecordRun, Sink};
use crate::work::{join, start};
use crate::{Error, ErrorKind, Result};

/// Sorting and dividing are fastest if a bucket, and a line of each bucket, fit into caches.
const MOST_BUCKETS: u64 = 512;
/// With fewer bytes, mapping the files and starting threads does not pay off.
const LEAST_BYTES: u64 = 16 << 20;

/// Takes places of records in the order of the files.
pub(crate) struct MappedShuffler {
    order: KeyOrder,
    buckets: Vec<PlaceBucket>,
    /// A key shifted by this is the number of its bucket.
    shift: u32,
    /// The entries of a bucket that stay in memory.
    room: usize,
    spill: Option<Spill>,
    /// The offsets and lengths of records that are too long, or that need another line end.
    separate: Vec<Place>,
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
        let new = || PlaceBucket::with_capacity(capacity);
        Some(MappedShuffler {
            order: KeyOrder::new(shuffle.seed),
            buckets: std::iter::repeat_with(new).take(buckets as usize).collect(),
            shift: 64 - buckets.ilog2(),
            room,
            spill: None,
            separate: Vec::new(),
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
        let MappedShuffler { buckets, spill, mut separate, seed, .. } = self;
        let file = spill.map(|spill| spill.file);
        let mut end = 0;
        let starts = maps.iter().map(|map| {
            end += map.len() as u64;
            end - map.len() as u64
        });
        let starts: Vec<u64> = starts.collect();
        let turns = MappedFiles { maps, starts, record_end: population.format.end() };
        separate.sort_unstable();
        let mut bytes_read = 0;
        let fetch_separate = |at, sink: &mut dyn Sink| {
            let found = separate.binary_search_by_key(&at, |place| place.at);
            let place = found.map_err(|_| Error::new(ErrorKind::Changed, "has changed"))?;
            bytes_read += fetch_places(population, &separate[place..=place], sink)?;
            Ok(())
        };
        let load = |bucket: PlaceBucket| bucket.load(file.as_deref(), seed);
        turns.pass_on(buckets, &load, threads, sink, fetch_separate)?;
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
        let len = if place.len >= IS_SEPARATE || is_after_crlf {
            self.separate.push(place);
            IS_SEPARATE
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

// Places of records with their keys, divided into buckets.

/// A key, and a place: the offset, and in the lowest bits the length.
pub(super) type PlaceEntry = (u64, u64);

const ENTRY_BYTES: u64 = size_of::<PlaceEntry>() as u64;
const LEN_BITS: u32 = 20;
/// This value in place of a length says that the record is listed separately.
const IS_SEPARATE: u64 = (1 << LEN_BITS) - 1;

/// Entries with a range of keys, in memory and in the temporary file.
pub(super) struct PlaceBucket {
    pub(super) entries: Vec<PlaceEntry>,
    /// The offset and the number of entries of what was moved to the temporary file.
    chunks: Vec<(u64, usize)>,
}

/// The offset and the length of an entry.
#[inline]
fn place_of(entry: &PlaceEntry) -> (u64, u64) {
    (entry.1 >> LEN_BITS, entry.1 & IS_SEPARATE)
}

impl PlaceBucket {
    pub(super) fn with_capacity(entries: usize) -> PlaceBucket {
        PlaceBucket { entries: Vec::with_capacity(entries), chunks: Vec::new() }
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
    pub(super) fn load(self, file: Option<&File>, seed: u64) -> Result<Vec<PlaceEntry>> {
        let PlaceBucket { mut entries, chunks } = self;
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

// Records are copied from mapped files in the order of their entries: one bucket a thread, whose
// records are passed on in the order of the buckets.

/// The size of a run of copied records: it stays in a cache until it is written.
const RUN_BYTES: usize = 256 << 10;
/// The runs of a bucket that may wait.
const RUNS: usize = 16;
/// The number of records whose cache misses overlap.
const AT_ONCE: usize = 64;

/// The mapped files.
pub(super) struct MappedFiles<'a> {
    pub(super) maps: &'a [&'a [u8]],
    /// The offset of each file, as if all were one.
    pub(super) starts: Vec<u64>,
    pub(super) record_end: Option<u8>,
}

/// The next records of a bucket.
enum NextRecords {
    Copied(RecordBatch),
    /// A record that is listed separately, at this offset.
    Separate(u64),
}

/// Records one after the other.
#[derive(Default)]
struct RecordBatch {
    bytes: Vec<u8>,
    lens: Vec<u32>,
    /// A record does not end as the others do.
    has_open: bool,
}

/// A bucket, and the channel for its records.
type BucketJob = (PlaceBucket, SyncSender<Result<NextRecords>>);
type Load<'a> = &'a (dyn Fn(PlaceBucket) -> Result<Vec<PlaceEntry>> + Sync);

impl MappedFiles<'_> {
    /// Passes on the records of all buckets.
    pub(super) fn pass_on(
        &self,
        buckets: Vec<PlaceBucket>,
        load: Load<'_>,
        threads: usize,
        sink: &mut dyn Sink,
        mut fetch_separate: impl FnMut(u64, &mut dyn Sink) -> Result<()>,
    ) -> Result<()> {
        let (jobs, taken) = sync_channel::<BucketJob>(2 * threads);
        let (taken, spare) = (Mutex::new(taken), Mutex::new(Vec::new()));
        let mut take = |turn: NextRecords, sink: &mut dyn Sink| match turn {
            NextRecords::Separate(at) => fetch_separate(at, sink),
            NextRecords::Copied(copied) => copied.pass_on(sink, &spare),
        };
        thread::scope(|scope| {
            let worker = |_| start(scope, || self.work(&taken, load, &spare));
            let workers: Vec<_> = (0..threads).map_while(worker).collect();
            if workers.is_empty() {
                return buckets.into_iter().try_for_each(|bucket| {
                    self.copy(&load(bucket)?, &spare, &mut |turn| take(turn, sink))
                });
            }
            let result = deal(buckets, &jobs, 2 * threads, |turn| take(turn, sink));
            // The threads end when the channel of jobs is closed.
            drop(jobs);
            workers.into_iter().for_each(join);
            result
        })
    }

    fn work(
        &self,
        jobs: &Mutex<Receiver<BucketJob>>,
        load: Load<'_>,
        spare: &Mutex<Vec<RecordBatch>>,
    ) {
        loop {
            let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((bucket, done)) = job else { return };
            let mut send = |turn| done.send(Ok(turn)).map_err(|_| Error::stopped());
            let result = load(bucket).and_then(|entries| self.copy(&entries, spare, &mut send));
            if let Err(error) = result {
                // The receiver is gone if the work was cancelled.
                let _ = done.send(Err(error));
            }
        }
    }

    /// Copies the records of these entries.
    fn copy(
        &self,
        entries: &[PlaceEntry],
        spare: &Mutex<Vec<RecordBatch>>,
        send: &mut dyn FnMut(NextRecords) -> Result<()>,
    ) -> Result<()> {
        let mut copied = RecordBatch::new(spare);
        for batch in entries.chunks(AT_ONCE) {
            self.touch(batch);
            for entry in batch {
                let (at, len) = place_of(entry);
                if len == IS_SEPARATE {
                    send(NextRecords::Copied(std::mem::take(&mut copied)))?;
                    send(NextRecords::Separate(at))?;
                } else {
                    copied.push(self.record(at, len)?, self.record_end);
                }
            }
            if copied.bytes.len() >= RUN_BYTES {
                send(NextRecords::Copied(std::mem::replace(&mut copied, RecordBatch::new(spare))))?;
            }
        }
        send(NextRecords::Copied(copied))
    }

    /// Loads the first and the last byte of each record.
    fn touch(&self, entries: &[PlaceEntry]) {
        let ends = entries.iter().map(|entry| {
            let (at, len) = place_of(entry);
            let record = self.record(at, if len == IS_SEPARATE { 0 } else { len });
            record.map_or(0, |record| record.first().unwrap_or(&0) ^ record.last().unwrap_or(&0))
        });
        black_box(ends.fold(0, |sum, end| sum ^ end));
    }

    #[inline]
    fn record(&self, at: u64, len: u64) -> Result<&[u8]> {
        let number = match self.maps.len() {
            1 => 0,
            _ => self.starts.partition_point(|start| *start <= at).saturating_sub(1),
        };
        let from = (at - self.starts[number]) as usize;
        let record = self.maps[number].get(from..from + len as usize);
        record.ok_or_else(|| Error::new(ErrorKind::Changed, "ended while it was read"))
    }
}

/// Distributes the buckets, and passes on their records in order.
fn deal(
    buckets: Vec<PlaceBucket>,
    jobs: &SyncSender<BucketJob>,
    most_open: usize,
    mut take: impl FnMut(NextRecords) -> Result<()>,
) -> Result<()> {
    let mut open: VecDeque<Receiver<Result<NextRecords>>> = VecDeque::new();
    let mut buckets = buckets.into_iter();
    loop {
        for bucket in buckets.by_ref().take(most_open - open.len()) {
            let (done, receiver) = sync_channel(RUNS);
            jobs.send((bucket, done))
                .map_err(|_| Error::new(ErrorKind::Stopped, "a thread is gone"))?;
            open.push_back(receiver);
        }
        let Some(first) = open.pop_front() else { return Ok(()) };
        first.into_iter().try_for_each(|turn| take(turn?))?;
    }
}

impl RecordBatch {
    fn new(spare: &Mutex<Vec<RecordBatch>>) -> RecordBatch {
        let spare = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(|| RecordBatch {
            bytes: Vec::with_capacity(RUN_BYTES + (RUN_BYTES >> 3)),
            ..RecordBatch::default()
        })
    }

    #[inline]
    fn push(&mut self, record: &[u8], record_end: Option<u8>) {
        self.bytes.extend_from_slice(record);
        self.lens.push(record.len() as u32);
        self.has_open |= record_end.is_some_and(|end| record.last() != Some(&end));
    }

    fn pass_on(mut self, sink: &mut dyn Sink, spare: &Mutex<Vec<RecordBatch>>) -> Result<()> {
        sink.run(&RecordRun { bytes: &self.bytes, lens: &self.lens, has_open: self.has_open })?;
        self.bytes.clear();
        self.lens.clear();
        self.has_open = false;
        spare.lock().unwrap_or_else(PoisonError::into_inner).push(self);
        Ok(())
    }
}
