//! Draws ranks in a thread of its own while the records of earlier ranks are fetched.

use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::Ranks;
use crate::threads::start;

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
