//! Lines whose blocks are known from the index: the line feeds within the block are counted.

use std::iter::Peekable;

use memchr::memchr;

use super::next_below;
use crate::index::LineIndex;
use crate::input::{Access, Window};
use crate::simd::pass_lines;
use crate::sink::{Place, Sink};
use crate::watch::Watch;
use crate::{Error, ErrorKind, Result};

/// A file whose lines are fetched, within the population.
pub(crate) struct LineFile<'a> {
    pub(crate) access: Access<'a>,
    pub(crate) index: &'a LineIndex,
    /// The offset of the first line: behind a byte order mark.
    pub(crate) first: u64,
    /// The rank of its first record and the position of its first byte, among all files.
    pub(crate) base: u64,
    pub(crate) start: u64,
    /// Lines at the start of the file that are not part of the population.
    pub(crate) header_lines: u64,
    /// The lines of each record.
    pub(crate) lines_each: u64,
    /// The expected number of records to fetch from it.
    pub(crate) expected: u64,
}

impl<'a> LineFile<'a> {
    pub(crate) fn size(&self) -> u64 {
        Window::new(self.access, 0).size()
    }

    /// The number of its records in the population.
    pub(crate) fn records(&self) -> u64 {
        self.index.lines().saturating_sub(self.header_lines) / self.lines_each
    }

    /// A window whose reads are as large as the density of the sample justifies.
    pub(crate) fn window(&self) -> Window<'a> {
        Window::new(self.access, self.limit())
    }

    fn limit(&self) -> usize {
        const DENSE_BYTES: usize = 256 << 10;
        let is_dense = self.expected > self.size() / self.index.block_bytes / 2;
        if is_dense { DENSE_BYTES } else { self.index.block_bytes.min(1 << 20) as usize }
    }
}

/// Passes the records with these ranks to the sink; returns how many bytes were read.
pub(crate) fn fetch_lines<I: Iterator<Item = u64>>(
    file: &LineFile<'_>,
    window: &mut Window<'_>,
    ranks: &mut Peekable<I>,
    sink: &mut dyn Sink,
    watch: &Watch,
) -> Result<u64> {
    let end = file.base + file.records();
    let before = window.bytes_read;
    let (index, at, limit) = (file.index, file.first, file.limit());
    let mut cursor = Cursor { index, block: 0, at, line: 0, limit };
    let mut reported = 0;
    while let Some(rank) = next_below(ranks, end) {
        cursor.seek(window, (rank - file.base) * file.lines_each + file.header_lines)?;
        let at = cursor.at;
        let mut is_whole = cursor.hand_over(window, sink)?;
        for _ in 1..file.lines_each {
            is_whole = cursor.hand_over(window, sink)?;
        }
        let is_after_crlf = !is_whole && is_after_crlf(window, at)?;
        sink.end(Place { at: file.start + at, len: cursor.at - at }, is_after_crlf)?;
        if cursor.at - reported >= 4 << 20 {
            watch.advance(cursor.at - reported)?;
            reported = cursor.at;
        }
        // The same record again.
        if ranks.peek() == Some(&rank) {
            (cursor.at, cursor.line) = (at, cursor.line - file.lines_each);
        }
    }
    watch.advance(file.size().saturating_sub(reported))?;
    Ok(window.bytes_read - before)
}

/// Whether CRLF precedes this offset.
pub(super) fn is_after_crlf(window: &mut Window<'_>, at: u64) -> Result<bool> {
    let Some(before) = at.checked_sub(2) else { return Ok(false) };
    let first = window.at(before, 1)?.first() == Some(&b'\r');
    Ok(first && window.at(before + 1, 1)?.first() == Some(&b'\n'))
}

/// The start of a line: its offset and its number.
struct Cursor<'a> {
    index: &'a LineIndex,
    /// The start of the line before.
    block: usize,
    at: u64,
    line: u64,
    limit: usize,
}

impl Cursor<'_> {
    /// Moves forward to the start of the line.
    #[inline]
    fn seek(&mut self, window: &mut Window<'_>, line: u64) -> Result<()> {
        if line == self.line {
            return Ok(());
        }
        let block = self.index.block_of(line, self.block);
        self.block = block;
        let start = block as u64 * self.index.block_bytes;
        if start > self.at {
            (self.at, self.line) = (start, self.index.before(block));
        }
        while self.line < line {
            let piece = window.at(self.at, self.limit)?;
            let (passed, bytes) = pass_lines(piece, line - self.line);
            if bytes == 0 || self.at >= start + self.index.block_bytes {
                return Err(stale());
            }
            self.at += bytes as u64;
            self.line += passed;
        }
        Ok(())
    }

    /// Passes on the line at the cursor, and moves behind it. Returns whether it ends with a line
    /// feed.
    #[inline]
    fn hand_over(&mut self, window: &mut Window<'_>, sink: &mut dyn Sink) -> Result<bool> {
        self.line += 1;
        loop {
            let piece = window.at(self.at, self.limit)?;
            if piece.is_empty() {
                return Ok(false);
            }
            let end = memchr(b'\n', piece).map(|at| at + 1);
            let n = end.unwrap_or(piece.len());
            sink.piece(&piece[..n])?;
            self.at += n as u64;
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

fn stale() -> Error {
    Error::new(ErrorKind::Changed, "does not have the lines that were counted: it has changed")
}
