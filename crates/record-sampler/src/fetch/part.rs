//! One file of a population of records of a fixed size.

use crate::input::PlainFile;

/// The number of reads that the device has in flight.
pub(super) const IN_FLIGHT: usize = 64;

/// One file of the population.
pub(super) struct Part<'a> {
    pub(super) file: &'a PlainFile,
    pub(super) len: u64,
    /// The offset of the first record: behind a header.
    pub(super) first: u64,
    /// The records, and the bytes, of the files before it.
    pub(super) base: u64,
    pub(super) start: u64,
    pub(super) records: u64,
}

impl Part<'_> {
    /// The offset of the record with this rank in the file.
    #[inline]
    pub(super) fn offset(&self, rank: u64) -> u64 {
        self.first + (rank - self.base) * self.len
    }
}
