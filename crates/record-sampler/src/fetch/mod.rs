//! Fetches records by rank from files, in the way that suits the format.

mod fixed;
mod lines;
mod many;
mod part;
mod plan;
mod prefetch;
mod probe;
mod scanned;
#[cfg(all(feature = "uring", target_os = "linux"))]
mod uring;

pub(crate) use fixed::{count_fixed, fetch_fixed};
pub(crate) use lines::{LineFile, fetch_lines};
pub(crate) use many::{fetch_many, threads_for};
pub use plan::Method;
pub(crate) use plan::{Choice, Facts, choose};
pub(crate) use prefetch::with_prefetched_ranks;
pub(crate) use probe::probe;
pub(crate) use scanned::{count_scanned, fetch_scanned};

use std::iter::Peekable;

use crate::input::{Access, Population, Window, read_exactly};
use crate::sink::{Place, Sink};
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

/// Passes on records by their places, in any order.
pub(crate) fn fetch_places(
    population: &Population,
    places: &[Place],
    sink: &mut dyn Sink,
) -> Result<u64> {
    const PIECE: usize = 256 << 10;
    let files = population.files().unwrap_or_default();
    let mut starts = Vec::with_capacity(files.len());
    let mut sum = 0;
    for file in &files {
        starts.push(sum);
        sum += file.size;
    }
    let mut buffer = Vec::new();
    let mut bytes_read = 0;
    for place in places {
        let number = starts.partition_point(|start| *start <= place.at).saturating_sub(1);
        let named = |error: Error| error.with_path(&population.inputs[number].path);
        let offset = place.at - starts[number];
        if place.len <= PIECE as u64 {
            buffer.resize(place.len as usize, 0);
            read_exactly(files[number], &mut buffer, offset).map_err(named)?;
            sink.piece(&buffer)?;
        } else {
            let mut window = Window::new(Access::Read(files[number]), PIECE);
            copy(&mut window, offset, place.len, PIECE, sink).map_err(named)?;
        }
        bytes_read += place.len;
        sink.end(*place, is_after_crlf(files[number], offset))?;
    }
    Ok(bytes_read)
}

/// Whether CRLF precedes this offset.
fn is_after_crlf(file: &crate::input::PlainFile, offset: u64) -> bool {
    let mut two = [0; 2];
    offset >= 2 && read_exactly(file, &mut two, offset - 2).is_ok() && two == *b"\r\n"
}
