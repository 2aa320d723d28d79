//! Fetches records by rank from files, by the method that suits the format.

mod fixed;
mod lines;
mod plan;
mod scanned;
#[cfg(all(feature = "uring", target_os = "linux"))]
mod uring;

use std::iter::Peekable;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::input::{FileWindow, PlainFile};
use crate::sink::Sink;
use crate::work::start;
use crate::{Error, Result};
pub(crate) use fixed::{count_fixed, fetch_fixed};
pub(crate) use lines::{LineFile, fetch_lines, fetch_many, probe, threads_for};
pub use plan::FetchMethod;
pub(crate) use plan::{MethodChoice, MethodFacts, choose};
pub(crate) use scanned::{CountedRecords, count_scanned, fetch_places};

/// Ranks in ascending order.
pub(crate) type Ranks<'a> = Box<dyn Iterator<Item = u64> + Send + 'a>;

/// The next rank, if it is below the limit.
pub(crate) fn next_below<I: Iterator<Item = u64>>(
    ranks: &mut Peekable<I>,
    limit: u64,
) -> Option<u64> {
    ranks.next_if(|rank| *rank < limit)
}

/// Passes on the bytes of a place within one file.
pub(crate) fn copy(
    window: &mut FileWindow<'_>,
    at: u64,
    len: u64,
    limit: usize,
    sink: &mut dyn Sink,
) -> Result<()> {
    let (mut at, mut left) = (at, len);
    while left > 0 {
        let piece = window.at(at, limit)?;
        let n = piece.len().min(left.min(usize::MAX as u64) as usize);
        sink.piece(&piece[..n])?;
        if n == 0 {
            return Err(Error::new(crate::ErrorKind::Changed, "ended while it was read"));
        }
        at += n as u64;
        left -= n as u64;
    }
    Ok(())
}

/// The number of reads that the device has in flight.
const IN_FLIGHT: usize = 64;

/// A file of the population with records of a fixed size.
struct FixedFile<'a> {
    file: &'a PlainFile,
    len: u64,
    /// The offset of the first record: behind a header.
    first: u64,
    /// The records, and the bytes, of the files before it.
    base: u64,
    start: u64,
    records: u64,
}

impl FixedFile<'_> {
    /// The offset of the record with this rank in the file.
    #[inline]
    fn offset(&self, rank: u64) -> u64 {
        self.first + (rank - self.base) * self.len
    }
}

// Draws ranks in a thread of its own while the records of earlier ranks are fetched.

/// Drawing fewer ranks takes less time than starting a thread.
const LEAST: u64 = 1 << 15;
const AT_ONCE: usize = 4096;
/// The number of batches in the queue.
const HELD: usize = 4;

/// Runs `work` with these ranks, of which about `expected` are to come.
pub(crate) fn with_prefetched_ranks<T>(
    ranks: Ranks<'_>,
    expected: u64,
    work: impl FnOnce(Ranks<'_>) -> T,
) -> T {
    let has_processors = || thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    if expected < LEAST || !has_processors() {
        return work(ranks);
    }
    let ranks = Mutex::new(Some(ranks));
    let take = || ranks.lock().unwrap_or_else(PoisonError::into_inner).take();
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Vec<u64>>(HELD);
        let drawer = start(scope, move || {
            let Some(mut ranks) = take() else { return };
            loop {
                let batch: Vec<u64> = ranks.by_ref().take(AT_ONCE).collect();
                // Sending fails if the work was cancelled.
                if batch.is_empty() || sender.send(batch).is_err() {
                    return;
                }
            }
        });
        match drawer {
            Some(_) => work(Box::new(receiver.into_iter().flatten())),
            None => work(take().unwrap_or_else(|| Box::new(std::iter::empty()))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_come_all_and_in_order() {
        for n in [0, 1, LEAST - 1, LEAST, 3 * LEAST + 17] {
            let all = with_prefetched_ranks(Box::new(0..n), n, |ranks| ranks.collect::<Vec<u64>>());
            assert!(all.iter().copied().eq(0..n), "{n}");
        }
    }

    #[test]
    fn work_that_is_given_up_ends_the_drawing() {
        let first =
            with_prefetched_ranks(Box::new(0..u64::MAX), u64::MAX, |mut ranks| ranks.next());
        assert_eq!(first, Some(0));
    }
}
