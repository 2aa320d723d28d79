//! Records in random order, in bounded memory: they are taken in the order of the inputs, and those
//! that do not fit into memory are kept in a temporary file until it is their turn.

mod mapped;
mod spill;

use std::hint::black_box;

use crate::fetch::fetch_places;
use crate::input::Population;
use crate::sink::{Place, Sink};
use crate::{Error, ErrorKind, Result};
pub(crate) use mapped::MappedShuffler;
pub(crate) use spill::random_order;
use spill::{
    Buckets, HEAD_BYTES, IS_AFTER_CRLF, IS_PLACE, KeyOrder, RecordBucket, Spill, sort, stored,
};

/// A longer record of a file is read again when it is its turn.
const LONG_BYTES: usize = 256 << 10;
/// Smaller writes to the temporary file take too long.
const LEAST_ROOM: u64 = 64 << 10;
/// Larger ones are no longer in a cache when they are written.
const MOST_ROOM: u64 = 256 << 10;
/// Sorting a bucket and copying its records is fastest if it fits into a cache.
const BUCKET_BYTES: u64 = 4 << 20;
/// Buckets that are still too large are divided again, as often as this.
const MOST_DEPTH: u32 = 8;

/// The number of records to shuffle, their size, and the seed.
#[derive(Clone, Copy)]
pub(crate) struct Shuffle {
    pub(crate) records: u64,
    /// Their approximate size.
    pub(crate) bytes: u64,
    pub(crate) seed: u64,
    /// The memory for them.
    pub(crate) memory: u64,
}

/// Takes records in order, and passes them on in random order.
pub(crate) struct Shuffler {
    order: KeyOrder,
    buckets: Buckets,
    shelf: BucketStorage,
    /// Whether long records can be read again.
    can_reread: bool,
    /// The bucket of the record that is being taken, and its offset there.
    open: Option<(usize, usize)>,
    is_long: bool,
}

/// The temporary file, the seed and the memory limit that all buckets share.
struct BucketStorage {
    spill: Option<Spill>,
    seed: u64,
    memory: u64,
}

impl Shuffle {
    /// The size of the stored records, and of the entries by which they are sorted.
    fn stored_bytes(&self) -> u64 {
        self.bytes.saturating_add(self.records.saturating_mul(2 * HEAD_BYTES as u64))
    }

    /// Returns an error, before anything is read, if temporary files have no room for the records.
    fn check(&self) -> Result<()> {
        let stored = self.stored_bytes();
        let free = spill::free_bytes().unwrap_or(u64::MAX);
        if stored <= self.memory || stored <= free.saturating_add(self.memory) {
            return Ok(());
        }
        let text = format!(
            "{} records in random order need temporary files of about {stored} bytes, and {} has \
             {free} free: TMPDIR names another directory",
            self.records,
            spill::dir().display()
        );
        Err(Error::new(ErrorKind::BadRequest, text))
    }

    fn buckets(&self) -> Buckets {
        divided(0, 1 << 64, self.stored_bytes(), self.memory)
    }
}

/// Buckets for these keys and bytes, each of which fits into memory if the keys are spread evenly.
fn divided(low: u64, span: u128, bytes: u64, memory: u64) -> Buckets {
    let most = (memory / 2 / LEAST_ROOM).max(2);
    let n = bytes.div_ceil(BUCKET_BYTES.min(memory / 4).max(1)).clamp(2, most);
    // Buckets differ in size.
    let fits = bytes <= memory - memory / 8;
    let room = if fits { memory / n } else { (memory / 2 / n).min(MOST_ROOM) };
    Buckets::new(low, span, n, room as usize)
}

impl Shuffler {
    /// Long records that can be read again are not stored.
    pub(crate) fn new(shuffle: &Shuffle, can_reread: bool) -> Result<Shuffler> {
        let mut shuffle = *shuffle;
        if can_reread {
            let most = shuffle.records.saturating_mul(LONG_BYTES as u64);
            shuffle.bytes = shuffle.bytes.min(most);
        }
        shuffle.check()?;
        let (order, buckets) = (KeyOrder::new(shuffle.seed), shuffle.buckets());
        let shelf = BucketStorage { spill: None, seed: shuffle.seed, memory: shuffle.memory };
        Ok(Shuffler { order, buckets, shelf, can_reread, open: None, is_long: false })
    }

    /// Passes on all records; returns how many bytes were read again.
    pub(crate) fn finish(self, files: Option<&Population>, sink: &mut dyn Sink) -> Result<u64> {
        let Shuffler { buckets, mut shelf, .. } = self;
        shelf.pass_on(buckets, 0, &mut ShuffleOutput { files, sink, bytes_read: 0 })
    }

    #[inline]
    fn begin(&mut self) -> (usize, usize) {
        if let Some(open) = self.open {
            return open;
        }
        let key = self.order.next_key();
        let number = self.buckets.number(key);
        let open = (number, self.buckets.list[number].begin(key));
        self.open = Some(open);
        open
    }
}

impl Sink for Shuffler {
    #[inline]
    fn piece(&mut self, bytes: &[u8]) -> Result<()> {
        let (number, start) = self.begin();
        if self.is_long {
            return Ok(());
        }
        let buffer = &mut self.buckets.list[number].buffer;
        buffer.extend_from_slice(bytes);
        if self.can_reread && buffer.len() - start > LONG_BYTES {
            buffer.truncate(start + HEAD_BYTES);
            self.is_long = true;
        }
        Ok(())
    }

    #[inline]
    fn end(&mut self, place: Place, is_after_crlf: bool) -> Result<()> {
        let (number, start) = self.begin();
        let bucket = &mut self.buckets.list[number];
        let mut flags = if is_after_crlf { IS_AFTER_CRLF } else { 0 };
        if self.is_long {
            flags |= IS_PLACE;
            bucket.buffer.extend_from_slice(&place.at.to_le_bytes());
            bucket.buffer.extend_from_slice(&place.len.to_le_bytes());
        }
        bucket.end(start, flags);
        (self.open, self.is_long) = (None, false);
        self.buckets.make_room(number, &mut self.shelf.spill)
    }
}

/// The output of records when it is their turn.
struct ShuffleOutput<'a, 'b> {
    files: Option<&'a Population>,
    sink: &'b mut dyn Sink,
    bytes_read: u64,
}

impl ShuffleOutput<'_, '_> {
    fn record(&mut self, bytes: &[u8], flags: u64) -> Result<()> {
        if flags & IS_PLACE == 0 {
            self.sink.piece(bytes)?;
            let place = Place { at: 0, len: bytes.len() as u64 };
            return self.sink.end(place, flags & IS_AFTER_CRLF != 0);
        }
        let (words, _) = bytes.as_chunks::<8>();
        if let ([at, len], Some(files)) = (words, self.files) {
            let place = Place { at: u64::from_le_bytes(*at), len: u64::from_le_bytes(*len) };
            self.bytes_read += fetch_places(files, &[place], self.sink)?;
        }
        Ok(())
    }
}

impl BucketStorage {
    fn pass_on(
        &mut self,
        mut buckets: Buckets,
        depth: u32,
        target: &mut ShuffleOutput<'_, '_>,
    ) -> Result<u64> {
        buckets.settle(&mut self.spill)?;
        for number in 0..buckets.list.len() {
            let bucket = std::mem::take(&mut buckets.list[number]);
            let fits = bucket.loaded_bytes() <= self.memory || bucket.records < 2;
            if fits || depth == MOST_DEPTH || buckets.width == 1 {
                self.pass_on_loaded(bucket, target)?;
                continue;
            }
            let (low, span) = (buckets.low_of(number), u128::from(buckets.width));
            let smaller = self.divide(bucket, low, span)?;
            self.pass_on(smaller, depth + 1, target)?;
        }
        Ok(target.bytes_read)
    }

    fn pass_on_loaded(
        &self,
        bucket: RecordBucket,
        target: &mut ShuffleOutput<'_, '_>,
    ) -> Result<()> {
        const BATCH: usize = 64;
        let mut entries = Vec::with_capacity(bucket.records as usize);
        let bytes = bucket.load(self.spill.as_ref())?;
        let mut at = 0;
        while let Some(stored) = stored(&bytes, at) {
            entries.push((stored.key, at as u64));
            at = stored.bytes.end;
        }
        sort(&mut entries, self.seed);
        for batch in entries.chunks(BATCH) {
            // The cache misses of a batch overlap.
            black_box(batch.iter().fold(0, |sum, (_, at)| sum ^ bytes[*at as usize]));
            for (_, at) in batch {
                if let Some(stored) = stored(&bytes, *at as usize) {
                    target.record(&bytes[stored.bytes], stored.flags)?;
                }
            }
        }
        Ok(())
    }

    /// Divides the keys of a bucket among smaller ones.
    fn divide(&mut self, bucket: RecordBucket, low: u64, span: u128) -> Result<Buckets> {
        let mut smaller = divided(low, span, bucket.loaded_bytes(), self.memory);
        let mut records = bucket.replay(self.spill.as_ref());
        while let Some((key, flags, bytes)) = records.next()? {
            let number = smaller.number(key);
            let bucket = &mut smaller.list[number];
            let start = bucket.begin(key);
            bucket.buffer.extend_from_slice(bytes);
            bucket.end(start, flags);
            smaller.make_room(number, &mut self.spill)?;
        }
        Ok(smaller)
    }
}

/// Takes records of a stream, whose number is known at its end only.
pub(crate) struct Spool {
    bucket: RecordBucket,
    shelf: BucketStorage,
    /// The offset of the record that is being taken.
    open: Option<usize>,
}

/// Smaller writes of a spool to the temporary file take too long.
const SPOOL_BYTES: usize = 1 << 20;

impl Spool {
    pub(crate) fn new(seed: u64, memory: u64) -> Spool {
        let shelf = BucketStorage { spill: None, seed, memory };
        Spool { bucket: RecordBucket::default(), shelf, open: None }
    }

    /// Passes on all records in random order.
    pub(crate) fn finish(self, sink: &mut dyn Sink) -> Result<()> {
        let Spool { bucket, shelf: BucketStorage { spill, seed, memory }, .. } = self;
        let (records, bytes) = (bucket.records, bucket.loaded_bytes());
        let mut shuffler = Shuffler::new(&Shuffle { records, bytes, seed, memory }, false)?;
        let mut replay = bucket.replay(spill.as_ref());
        while let Some((_, flags, bytes)) = replay.next()? {
            shuffler.piece(bytes)?;
            shuffler.end(Place { at: 0, len: 0 }, flags & IS_AFTER_CRLF != 0)?;
        }
        drop((replay, spill));
        shuffler.finish(None, sink).map(drop)
    }

    #[inline]
    fn begin(&mut self) -> usize {
        *self.open.get_or_insert_with(|| self.bucket.begin(0))
    }
}

impl Sink for Spool {
    #[inline]
    fn piece(&mut self, bytes: &[u8]) -> Result<()> {
        self.begin();
        self.bucket.buffer.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn end(&mut self, _: Place, is_after_crlf: bool) -> Result<()> {
        let start = self.begin();
        self.bucket.end(start, if is_after_crlf { IS_AFTER_CRLF } else { 0 });
        self.open = None;
        // While it is divided, the buckets need memory, too.
        let is_full = self.bucket.loaded_bytes() > self.shelf.memory / 2;
        if is_full && self.bucket.buffer.len() >= SPOOL_BYTES.min(self.shelf.memory as usize) {
            return self.bucket.spill(&mut self.shelf.spill);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
