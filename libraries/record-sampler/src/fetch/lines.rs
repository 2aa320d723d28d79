//! Lines by rank, whose blocks are known from the index: the line feeds within the block are
//! counted, by one thread or by several. Without an index, lines at random offsets.

use std::collections::{BTreeSet, VecDeque};
use std::iter::Peekable;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use memchr::memchr;

use super::next_below;
use crate::format::{FASTQ_LINES, LineShape, check_fastq, is_blank};
use crate::index::{IndexedBlock, LineIndex};
use crate::input::{AlignedBuffer, FileAccess, FileWindow, Population, without_bom};
use crate::simd::pass_lines;
use crate::sink::{Place, Sink};
use crate::work::{ProgressGate, available, join, start};
use crate::{Error, ErrorKind, Format, Result, Rng};

/// A file whose lines are fetched, within the population.
pub(crate) struct LineFile<'a> {
    pub(crate) access: FileAccess<'a>,
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
    /// Whether records are examined: those of FASTQ.
    pub(crate) is_fastq: bool,
    /// The expected number of records to fetch from it.
    pub(crate) expected: u64,
}

impl<'a> LineFile<'a> {
    pub(crate) fn size(&self) -> u64 {
        FileWindow::new(self.access, 0).size()
    }

    /// The number of its records in the population.
    pub(crate) fn records(&self) -> u64 {
        self.index.lines().saturating_sub(self.header_lines) / self.lines_each
    }

    /// A window whose reads are as large as the density of the sample justifies.
    fn window(&self) -> FileWindow<'a> {
        self.window_with(AlignedBuffer::default())
    }

    /// The same with the buffer of an earlier one.
    pub(crate) fn window_with(&self, buffer: AlignedBuffer) -> FileWindow<'a> {
        FileWindow::with_buffer(self.access, self.limit(), buffer)
    }

    fn limit(&self) -> usize {
        const DENSE_BYTES: usize = 256 << 10;
        let is_dense = self.expected > self.size() / self.index.block_bytes / 2;
        if is_dense { DENSE_BYTES } else { self.index.block_bytes.min(1 << 20) as usize }
    }
}

/// Passes the records with these ranks to the sink; returns the number of bytes that were read.
pub(crate) fn fetch_lines<I: Iterator<Item = u64>>(
    file: &LineFile<'_>,
    window: &mut FileWindow<'_>,
    ranks: &mut Peekable<I>,
    sink: &mut dyn Sink,
    watch: &ProgressGate,
) -> Result<u64> {
    let end = file.base + file.records();
    let before = window.bytes_read;
    let (index, at, limit) = (file.index, file.first, file.limit());
    let mut cursor = LineCursor { index, block: index.first_block(), at, line: 0, limit };
    let mut reported = 0;
    while let Some(rank) = next_below(ranks, end) {
        let line = (rank - file.base) * file.lines_each + file.header_lines;
        cursor.seek(window, line)?;
        let at = cursor.at;
        let is_whole = if file.is_fastq {
            cursor.pass_read(window, line, sink)?
        } else {
            cursor.pass_lines(window, file.lines_each, sink)?
        };
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
pub(super) fn is_after_crlf(window: &mut FileWindow<'_>, at: u64) -> Result<bool> {
    let Some(before) = at.checked_sub(2) else { return Ok(false) };
    let first = window.at(before, 1)?.first() == Some(&b'\r');
    Ok(first && window.at(before + 1, 1)?.first() == Some(&b'\n'))
}

/// The start of a line: its offset and its number.
struct LineCursor<'a> {
    index: &'a LineIndex,
    /// The start of the line before.
    block: IndexedBlock,
    at: u64,
    line: u64,
    limit: usize,
}

impl LineCursor<'_> {
    /// Moves forward to the start of the line.
    #[inline]
    fn seek(&mut self, window: &mut FileWindow<'_>, line: u64) -> Result<()> {
        if line == self.line {
            return Ok(());
        }
        let block = self.index.block_of(line, self.block);
        self.block = block;
        let start = block.number as u64 * self.index.block_bytes;
        if start > self.at {
            (self.at, self.line) = (start, block.before);
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

    /// Passes on this many lines, at least one. Returns whether the last one ends with a line feed.
    #[inline]
    fn pass_lines(
        &mut self,
        window: &mut FileWindow<'_>,
        lines: u64,
        sink: &mut dyn Sink,
    ) -> Result<bool> {
        let mut is_whole = false;
        for _ in 0..lines {
            is_whole = self.pass_line(window, sink, |_| ())?;
        }
        Ok(is_whole)
    }

    /// Passes on a record of FASTQ, before which there are this many lines. Returns whether it ends
    /// with a line feed.
    fn pass_read(
        &mut self,
        window: &mut FileWindow<'_>,
        before: u64,
        sink: &mut dyn Sink,
    ) -> Result<bool> {
        let mut shapes = [LineShape::default(); FASTQ_LINES as usize];
        let mut is_whole = false;
        for shape in &mut shapes {
            is_whole = self.pass_line(window, sink, |piece| shape.add(piece))?;
        }
        check_fastq(&shapes, before + 1)?;
        Ok(is_whole)
    }

    /// Passes on the line at the cursor, and moves behind it; `look` gets its bytes without the
    /// line feed. Returns whether it ends with one.
    #[inline]
    fn pass_line(
        &mut self,
        window: &mut FileWindow<'_>,
        sink: &mut dyn Sink,
        mut look: impl FnMut(&[u8]),
    ) -> Result<bool> {
        self.line += 1;
        loop {
            let piece = window.at(self.at, self.limit)?;
            if piece.is_empty() {
                return Ok(false);
            }
            let end = memchr(b'\n', piece).map(|at| at + 1);
            let n = end.unwrap_or(piece.len());
            look(&piece[..n - usize::from(end.is_some())]);
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

// Many lines of a file are fetched by several threads: each takes consecutive ranks and collects
// their lines, which are passed on in order. The memory needed depends neither on the number of
// lines nor on their length.

/// Limits of a job: the number of ranks, and the bytes of their lines.
const RANKS: u64 = 2048;
const BYTES: u64 = 1 << 20;
/// A thread does not pay off for fewer lines.
const LEAST: u64 = 16 * RANKS;
const MOST_THREADS: usize = 8;

/// The number of threads that fetch lines of this file.
pub(crate) fn threads_for(file: &LineFile<'_>) -> usize {
    let is_worth_it = file.expected >= LEAST && ranks_at_once(file) >= RANKS / 8;
    if is_worth_it { available(MOST_THREADS) } else { 1 }
}

/// The number of ranks whose records have half of the bytes, at the average length.
fn ranks_at_once(file: &LineFile<'_>) -> u64 {
    let mean_len = file.size() / file.records().max(1) + 1;
    (BYTES / 2 / mean_len).min(RANKS)
}

/// Passes the lines with these ranks to the sink; returns the number of bytes that were read.
pub(crate) fn fetch_many<I: Iterator<Item = u64>>(
    file: &LineFile<'_>,
    threads: usize,
    ranks: &mut Peekable<I>,
    sink: &mut dyn Sink,
    watch: &ProgressGate,
) -> Result<u64> {
    let (jobs, taken) = sync_channel::<LineJob>(2 * threads);
    let taken = Mutex::new(taken);
    thread::scope(|scope| {
        let worker = |_| start(scope, || work(file, &taken));
        let workers: Vec<_> = (0..threads).map_while(worker).collect();
        if workers.is_empty() {
            return fetch_lines(file, &mut file.window(), ranks, sink, watch);
        }
        let result = deal(file, &jobs, 2 * threads, ranks, sink, watch);
        // The threads end when the channel of jobs is closed.
        drop(jobs);
        workers.into_iter().for_each(join);
        result
    })
}

/// Consecutive ranks, and the buffer for their lines.
struct LineJob {
    batch: LineBatch,
    done: SyncSender<(LineBatch, Result<u64>)>,
}

/// Distributes the ranks, and passes on the results in order.
fn deal<I: Iterator<Item = u64>>(
    file: &LineFile<'_>,
    jobs: &SyncSender<LineJob>,
    most_open: usize,
    ranks: &mut Peekable<I>,
    sink: &mut dyn Sink,
    watch: &ProgressGate,
) -> Result<u64> {
    let end = file.base + file.records();
    let at_once = ranks_at_once(file);
    let mut open: VecDeque<Receiver<(LineBatch, Result<u64>)>> = VecDeque::new();
    let mut spare = Vec::new();
    let (mut bytes_read, mut reported) = (0, 0);
    loop {
        while open.len() < most_open {
            let mut batch: LineBatch = spare.pop().unwrap_or_default();
            batch.has_no_bytes = !sink.needs_bytes();
            batch.ranks.extend((0..at_once).map_while(|_| next_below(ranks, end)));
            if batch.ranks.is_empty() {
                break;
            }
            let (done, receiver) = sync_channel(1);
            jobs.send(LineJob { batch, done }).map_err(|_| lost())?;
            open.push_back(receiver);
        }
        let Some(first) = open.pop_front() else { break };
        let (mut batch, result) = first.recv().map_err(|_| lost())?;
        bytes_read += result? + batch.pass_on(file, sink)?;
        if let Some((last, _)) = batch.ends.last() {
            let at = last.at - file.start;
            watch.advance(at - reported)?;
            reported = at;
        }
        batch.clear();
        spare.push(batch);
    }
    watch.advance(file.size().saturating_sub(reported))?;
    Ok(bytes_read)
}

fn work(file: &LineFile<'_>, jobs: &Mutex<Receiver<LineJob>>) {
    let mut window = file.window();
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(LineJob { mut batch, done }) = job else { return };
        let result = batch.collect(file, &mut window);
        // The receiver is gone if the work was cancelled.
        let _ = done.send((batch, result));
    }
}

#[derive(Default)]
struct LineBatch {
    ranks: Vec<u64>,
    bytes: Vec<u8>,
    /// For each line: its place, and whether it follows CRLF.
    ends: Vec<(Place, bool)>,
    /// The lines are longer than expected: the rest is left to the receiving thread.
    is_full: bool,
    /// The lines are not copied: their places suffice.
    has_no_bytes: bool,
}

impl LineBatch {
    fn collect(&mut self, file: &LineFile<'_>, window: &mut FileWindow<'_>) -> Result<u64> {
        let ranks = std::mem::take(&mut self.ranks);
        let mut wanted = ranks.iter().copied().peekable();
        let before = window.bytes_read;
        // Progress is reported when the lines are passed on.
        let result = fetch_lines(file, window, &mut wanted, self, &ProgressGate::default());
        self.ranks = ranks;
        match result {
            Err(_) if self.is_full => Ok(window.bytes_read - before),
            result => result,
        }
    }

    /// Returns the number of further bytes that were read.
    fn pass_on(&self, file: &LineFile<'_>, sink: &mut dyn Sink) -> Result<u64> {
        let mut at = 0;
        for (place, is_after_crlf) in &self.ends {
            if self.has_no_bytes {
                sink.end(*place, *is_after_crlf)?;
                continue;
            }
            let len = place.len as usize;
            sink.piece(&self.bytes[at..at + len])?;
            sink.end(*place, *is_after_crlf)?;
            at += len;
        }
        if self.ends.len() == self.ranks.len() {
            return Ok(0);
        }
        let mut rest = self.ranks[self.ends.len()..].iter().copied().peekable();
        fetch_lines(file, &mut file.window(), &mut rest, sink, &ProgressGate::default())
    }

    fn clear(&mut self) {
        self.ranks.clear();
        self.bytes.clear();
        self.ends.clear();
        self.is_full = false;
    }
}

impl Sink for LineBatch {
    #[inline]
    fn piece(&mut self, bytes: &[u8]) -> Result<()> {
        if self.has_no_bytes {
            return Ok(());
        }
        if (self.bytes.len() + bytes.len()) as u64 > BYTES {
            self.is_full = true;
            return Err(Error::stopped());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn end(&mut self, place: Place, is_after_crlf: bool) -> Result<()> {
        self.ends.push((place, is_after_crlf));
        Ok(())
    }
}

/// Only after a panic, which is propagated.
fn lost() -> Error {
    Error::new(ErrorKind::Stopped, "a thread is gone")
}

// Lines at random byte offsets, without counting lines; the bias towards long lines is corrected
// by rejection.
//
// An offset falls into a line with a probability proportional to its length L. If no line is
// shorter than m, and an offset counts only if it is one of the last m of its line, each line is
// hit by exactly m offsets.

/// If this many tries in a row find lines that are chosen already, it is concluded that there are
/// no others. With twice as many lines as needed, that happens once in 2⁶⁴ samples.
const REPEATS: u32 = 64;

/// `n` different lines in the order in which they were found, and the number of bytes that were
/// read.
pub(crate) fn probe(
    population: &Population,
    n: u64,
    min_len: u32,
    mut rng: Rng,
    watch: &ProgressGate,
) -> Result<(Vec<Place>, u64)> {
    let mut files = Vec::new();
    let mut end = 0;
    let input_files = population.files().unwrap_or_default();
    for file in &input_files {
        let last_len = usize::from(file.size > 0);
        let mut last = FileWindow::new(FileAccess::Read(file), last_len);
        let is_open = file.size > 0 && last.at(file.size - 1, 1)? != b"\n";
        let start = end;
        // A last line without a line feed counts as if it had one.
        end += file.size + u64::from(is_open);
        files.push((end, start, FileWindow::new(FileAccess::Read(file), 512)));
    }
    let bases: Vec<u64> = input_files
        .iter()
        .scan(0, |sum, file| {
            *sum += file.size;
            Some(*sum - file.size)
        })
        .collect();
    let (mut chosen, mut found) = (BTreeSet::new(), Vec::new());
    let (mut repeats, mut tries) = (0, 0u64);
    let most_tries = n.saturating_mul(100_000).saturating_add(10_000_000);
    while (found.len() as u64) < n {
        tries += 1;
        if repeats > REPEATS || tries > most_tries || end == 0 {
            let text = format!(
                "only {} different lines were found in {tries} tries at random offsets; use another method",
                found.len()
            );
            return Err(Error::new(ErrorKind::TooFew, text));
        }
        let offset = rng.below(end);
        let number = files.partition_point(|(end, ..)| *end <= offset);
        let (_, start, window) = &mut files[number];
        let named = |error: Error| error.with_path(&population.inputs[number].path);
        let line = line_at(window, offset - *start, u64::from(min_len)).map_err(named)?;
        let Some(mut line) = line else { continue };
        if population.format == Format::JsonLines && is_blank_line(window, line).map_err(named)? {
            continue;
        }
        if line.at == 0 {
            let bom = input_files[number].bom_bytes(population.format).map_err(named)?;
            line = Place { at: bom, len: line.len - bom };
        }
        if chosen.insert((number, line.at)) {
            found.push(Place { at: line.at + bases[number], len: line.len });
            repeats = 0;
            watch.advance(line.len)?;
        } else {
            repeats += 1;
        }
    }
    let bytes_read = files.iter().map(|(.., window)| window.bytes_read).sum();
    Ok((found, bytes_read))
}

/// Whether a line of JSON Lines is no record.
fn is_blank_line(window: &mut FileWindow<'_>, line: Place) -> Result<bool> {
    let end = line.at + line.len;
    let mut at = line.at;
    while at < end {
        let piece = window.at(at, (end - at).min(512) as usize)?;
        if !is_blank(if at == 0 { without_bom(piece) } else { piece }) {
            return Ok(false);
        }
        at += piece.len() as u64;
    }
    Ok(true)
}

/// The line that has this offset among its last `min_len` bytes.
fn line_at(window: &mut FileWindow<'_>, offset: u64, min_len: u64) -> Result<Option<Place>> {
    let size = window.size();
    let mut at = offset;
    let end = loop {
        let left = offset + min_len - at;
        if left == 0 {
            return Ok(None);
        }
        if at == size {
            break at;
        }
        let piece = window.at(at, left.min(512) as usize)?;
        if let Some(found) = memchr(b'\n', piece) {
            break at + found as u64 + 1;
        }
        at += piece.len() as u64;
    };
    let start = start_of_line(window, end)?;
    let is_open = end == size && offset == size || window.at(end - 1, 1)? != b"\n";
    if end - start + u64::from(is_open) < min_len {
        let text = format!(
            "the line at offset {start} is shorter than the least length of {min_len} bytes"
        );
        return Err(Error::new(ErrorKind::BadRequest, text));
    }
    Ok(Some(Place { at: start, len: end - start }))
}

/// The start of the line that ends before this offset.
fn start_of_line(window: &mut FileWindow<'_>, end: u64) -> Result<u64> {
    // The last byte may be the line feed of this line.
    let mut before = end.saturating_sub(1);
    while before > 0 {
        let from = before.saturating_sub(512);
        let mut piece = Vec::new();
        while from + (piece.len() as u64) < before {
            let at = from + piece.len() as u64;
            piece.extend_from_slice(window.at(at, (before - at) as usize)?);
        }
        if let Some(found) = memchr::memrchr(b'\n', &piece) {
            return Ok(from + found as u64 + 1);
        }
        before = from;
    }
    Ok(0)
}
