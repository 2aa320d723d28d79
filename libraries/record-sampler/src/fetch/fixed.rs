//! Records of a fixed size, whose offsets are known without a search.

use std::collections::VecDeque;
use std::hint::black_box;
use std::iter::Peekable;
use std::num::NonZero;

use super::{FetchMethod, FixedFile, IN_FLIGHT, MethodChoice, Ranks, copy, next_below};
use crate::input::{Advice, FileAccess, FileWindow, PlainFile, Population, advise, map};
use crate::sink::{Place, Sink};
use crate::work::ProgressGate;
use crate::{Error, ErrorKind, Result};

const SEQUENTIAL_BYTES: usize = 256 << 10;

/// The number of records of each file. A partial record is an error. An empty file has no header
/// either.
pub(crate) fn count_fixed(population: &Population, len: u64) -> Result<Vec<u64>> {
    let files = population.files().unwrap_or_default();
    let header = population.header.bytes();
    let count = |(file, input): (&&PlainFile, &crate::input::Input)| {
        let size = file.size;
        let rest = size.saturating_sub(header) % len;
        if rest == 0 {
            return Ok(size.saturating_sub(header) / len);
        }
        let extent = match header {
            0 => format!("its size of {size} bytes"),
            _ => format!("its size of {size} bytes without its header of {header}"),
        };
        let at = size - rest;
        let text =
            format!("{extent} is not a multiple of {len}: {rest} bytes are left at offset {at}");
        Err(Error::new(ErrorKind::Malformed, text).with_path(&input.path))
    };
    files.iter().zip(&population.inputs).map(count).collect()
}

/// Passes the records with these ranks to the sink; returns how many bytes were read.
pub(crate) fn fetch_fixed(
    population: &Population,
    len: u64,
    ranks: Ranks<'_>,
    choice: &MethodChoice,
    sink: &mut dyn Sink,
    watch: &ProgressGate,
) -> Result<u64> {
    let mut ranks = ranks.peekable();
    let first = population.header.bytes();
    let (mut base, mut start, mut bytes_read) = (0, 0, 0);
    for (file, input) in population.files().unwrap_or_default().iter().zip(&population.inputs) {
        let records = file.size.saturating_sub(first) / len;
        let part = FixedFile { file, len, first, base, start, records };
        bytes_read += part
            .fetch(&mut ranks, choice, sink, watch)
            .map_err(|error| error.with_path(&input.path))?;
        base += records;
        start += file.size;
    }
    Ok(bytes_read)
}

impl FixedFile<'_> {
    fn fetch(
        &self,
        ranks: &mut Peekable<Ranks<'_>>,
        choice: &MethodChoice,
        sink: &mut dyn Sink,
        watch: &ProgressGate,
    ) -> Result<u64> {
        if self.records == 0 {
            return Ok(0);
        }
        let limit = match choice.method {
            FetchMethod::Sequential => SEQUENTIAL_BYTES,
            _ => self.len.min(SEQUENTIAL_BYTES as u64) as usize,
        };
        if choice.method == FetchMethod::Mmap {
            return self.walk_map(&map(self.file, choice.density)?, ranks, sink, watch);
        }
        #[cfg(all(feature = "uring", target_os = "linux"))]
        if choice.method == FetchMethod::Uring {
            return super::uring::fetch(self, ranks, sink, watch);
        }
        let window = FileWindow::new(FileAccess::Read(self.file), limit);
        if choice.method == FetchMethod::Pread && choice.is_cold {
            let prefetch = Prefetch::new(self, ranks);
            return self.walk(window, limit, &mut prefetch.peekable(), sink, watch);
        }
        self.walk(window, limit, ranks, sink, watch)
    }

    /// Touches all records of a batch before the first one is copied, so that the cache misses
    /// overlap.
    fn walk_map(
        &self,
        map: &[u8],
        ranks: &mut Peekable<Ranks<'_>>,
        sink: &mut dyn Sink,
        watch: &ProgressGate,
    ) -> Result<u64> {
        const BATCH: usize = 64;
        let len = self.len as usize;
        let (mut reported, mut bytes_read) = (0, 0);
        loop {
            let mut offsets = [0; BATCH];
            let mut n = 0;
            while n < BATCH
                && let Some(rank) = next_below(ranks, self.base + self.records)
            {
                offsets[n] = self.offset(rank) as usize;
                n += 1;
            }
            let Some(last) = offsets[..n].last() else { break };
            black_box(offsets[..n].iter().fold(0, |sum, offset| sum ^ map[*offset]));
            for offset in &offsets[..n] {
                sink.piece(&map[*offset..offset + len])?;
                let at = self.start + *offset as u64;
                sink.end(Place { at, len: self.len }, false)?;
            }
            bytes_read += n as u64 * self.len;
            watch.advance(*last as u64 - reported)?;
            reported = *last as u64;
        }
        watch.advance(self.file.size - reported)?;
        Ok(bytes_read)
    }

    fn walk<I: Iterator<Item = u64>>(
        &self,
        mut window: FileWindow<'_>,
        limit: usize,
        ranks: &mut Peekable<I>,
        sink: &mut dyn Sink,
        watch: &ProgressGate,
    ) -> Result<u64> {
        let mut reported = 0;
        while let Some(rank) = next_below(ranks, self.base + self.records) {
            let offset = self.offset(rank);
            let piece = window.at(offset, limit)?;
            if piece.len() as u64 >= self.len {
                sink.piece(&piece[..self.len as usize])?;
            } else {
                copy(&mut window, offset, self.len, limit, sink)?;
            }
            sink.end(Place { at: self.start + offset, len: self.len }, false)?;
            if offset >= reported + (4 << 20) {
                watch.advance(offset - reported)?;
                reported = offset;
            }
        }
        watch.advance(self.file.size - reported)?;
        Ok(window.bytes_read)
    }
}

/// Requests the pages of the next records before they are read, so that the device has many
/// requests in flight without threads: `POSIX_FADV_WILLNEED` starts a read and does not wait for
/// it.
struct Prefetch<'a, I: Iterator<Item = u64>> {
    part: &'a FixedFile<'a>,
    ranks: &'a mut Peekable<I>,
    pending: VecDeque<u64>,
}

impl<'a, I: Iterator<Item = u64>> Prefetch<'a, I> {
    fn new(part: &'a FixedFile<'a>, ranks: &'a mut Peekable<I>) -> Prefetch<'a, I> {
        // Disables the system's read-ahead, which would read unneeded pages.
        advise(part.file, 0, None, Advice::Random);
        Prefetch { part, ranks, pending: VecDeque::with_capacity(IN_FLIGHT) }
    }
}

impl<I: Iterator<Item = u64>> Iterator for Prefetch<'_, I> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let FixedFile { file, len, base, records, .. } = self.part;
        while self.pending.len() < IN_FLIGHT {
            let Some(rank) = next_below(self.ranks, base + records) else { break };
            let offset = self.part.offset(rank);
            advise(file, offset, NonZero::new(*len), Advice::WillNeed);
            self.pending.push_back(rank);
        }
        self.pending.pop_front()
    }
}
