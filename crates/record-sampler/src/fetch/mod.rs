//! Fetches records by rank from files, in the way that suits the format.

mod fixed;
mod lines;
mod many;
mod part;
mod places;
mod plan;
mod prefetch;
mod probe;
mod scanned;
#[cfg(all(feature = "uring", target_os = "linux"))]
mod uring;

pub(crate) use fixed::{count_fixed, fetch_fixed};
pub(crate) use lines::{LineFile, fetch_lines};
pub(crate) use many::{fetch_many, threads_for};
pub(crate) use places::fetch_places;
pub use plan::Method;
pub(crate) use plan::{Choice, Facts, choose};
pub(crate) use prefetch::with_prefetched_ranks;
pub(crate) use probe::probe;
pub(crate) use scanned::{Counted, count_scanned};

use std::iter::Peekable;

use crate::input::Window;
use crate::sink::Sink;
use crate::{Error, Result};

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
    window: &mut Window<'_>,
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
