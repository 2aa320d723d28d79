//! The index of a file of lines: the number of line feeds in each block. An index that is stored in
//! a file beside it lets the next sample read only the blocks that it needs.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::mem;
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use memmap2::{Mmap, MmapOptions};

use crate::input::{
    AlignedBuffer, FileAccess, FileWindow, PlainFile, ReadAt, digest, map_bytes, without_bom,
};
use crate::simd::{count_lines, may_have_blank_line};
use crate::work::{ProgressGate, available, join, start};
use crate::{Error, ErrorKind, Format, Result};

/// The size of the smallest block, which is read to find a line in it.
const BLOCK_BYTES: u64 = 16 << 10;
/// Larger files have larger blocks, so that the index stays below 4 MiB.
const MOST_BLOCKS: u64 = 1 << 20;
/// The bytes that a counting thread reads at once.
const READ_BYTES: usize = 256 << 10;
/// The bytes that a counting thread claims at once.
const PART_BYTES: u64 = 4 << 20;
const MAGIC: &[u8; 8] = b"nlx\0\0\0\0\x02";
const HEAD_BYTES: usize = 56;
/// The blocks of a group, of which the sum is kept.
const GROUP: usize = 64;
/// An index of at least this size is mapped, if that is allowed: the page faults of reading it
/// would take longer than a sample of a few lines.
const MAPPED_BYTES: usize = 32 << 10;

/// The number of line feeds in each block of a file.
#[derive(Debug)]
pub(crate) struct LineIndex {
    pub(crate) block_bytes: u64,
    /// Holds the numbers as they are stored, four bytes each: the index of a large file is neither
    /// decoded nor copied, as a look-up needs few of them.
    stored: IndexBytes,
    /// The bytes of `stored` that are the numbers.
    counts: Range<usize>,
    /// The number of line feeds before each group of blocks; one entry more than there are groups.
    before: Vec<u64>,
    ends_with_line_feed: bool,
    /// No line begins with white space, so that none is blank; this is known of JSON Lines only.
    has_no_blank_line: bool,
}

/// The bytes of a stored index, or the numbers of one that was just made.
#[derive(Debug)]
pub(crate) enum IndexBytes {
    Held(Vec<u8>),
    Mapped(Mmap),
}

impl Deref for IndexBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            IndexBytes::Held(bytes) => bytes,
            IndexBytes::Mapped(map) => map,
        }
    }
}

/// A block, and the number of line feeds before it and up to its end.
#[derive(Clone, Copy)]
pub(crate) struct IndexedBlock {
    pub(crate) number: usize,
    pub(crate) before: u64,
    end: u64,
}

impl LineIndex {
    /// Counts the line feeds of the whole file, by one thread per processor. The buffer is that of
    /// this thread, for one file after the other.
    pub(crate) fn count(
        access: FileAccess<'_>,
        buffer: &mut AlignedBuffer,
        format: Format,
        watch: &ProgressGate,
    ) -> Result<LineIndex> {
        let mut window = FileWindow::with_buffer(access, READ_BYTES, mem::take(buffer));
        let size = window.size();
        let is_blank_found = AtomicBool::new(false);
        let blanks = (format == Format::JsonLines).then_some(&is_blank_found);
        let block_bytes = block_bytes(size);
        let mut counts = vec![0u32; size.div_ceil(block_bytes) as usize];
        let part_blocks = (PART_BYTES / block_bytes).max(1) as usize;
        let threads = available(counts.len().div_ceil(4 * part_blocks).clamp(1, 8));
        // A thread claims the next part when it has finished one, so that a delayed thread does not
        // delay the others.
        let parts = Mutex::new(counts.chunks_mut(part_blocks).enumerate());
        let work = |window: &mut FileWindow<'_>| -> Result<()> {
            loop {
                let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, counts)) = part else { return Ok(()) };
                let start = (number * part_blocks) as u64 * block_bytes;
                let blocks = CountedBlocks { start, block_bytes, counts };
                count_blocks(window, blocks, blanks, watch)?;
            }
        };
        let work_alone = || work(&mut FileWindow::new(access, READ_BYTES));
        if threads == 1 {
            work(&mut window)?;
        } else {
            thread::scope(|scope| {
                let others: Vec<_> = (1..threads).map_while(|_| start(scope, work_alone)).collect();
                others.into_iter().fold(work(&mut window), |result, other| result.and(join(other)))
            })?;
        }
        // Of a small file the last byte is still in the window.
        let ends_with_line_feed = match size.checked_sub(1) {
            Some(last) => window.at(last, 1)?.first() == Some(&b'\n'),
            None => true,
        };
        *buffer = window.into_buffer();
        let has_no_blank_line = blanks.is_some_and(|found| !found.load(Ordering::Relaxed));
        let bytes: Vec<u8> = counts.iter().flat_map(|count| count.to_le_bytes()).collect();
        let (counts, stored) = (0..bytes.len(), IndexBytes::Held(bytes));
        Ok(LineIndex::new(block_bytes, stored, counts, ends_with_line_feed, has_no_blank_line))
    }

    fn new(
        block_bytes: u64,
        stored: IndexBytes,
        counts: Range<usize>,
        ends_with_line_feed: bool,
        has_no_blank_line: bool,
    ) -> LineIndex {
        let (numbers, _) = stored[counts.clone()].as_chunks::<4>();
        let mut before = Vec::with_capacity(numbers.len().div_ceil(GROUP) + 1);
        let mut sum = 0;
        before.push(0);
        before.extend(numbers.chunks(GROUP).map(|group| {
            sum += group.iter().map(|count| u64::from(u32::from_le_bytes(*count))).sum::<u64>();
            sum
        }));
        LineIndex { block_bytes, stored, counts, before, ends_with_line_feed, has_no_blank_line }
    }

    /// The number of line feeds in each block.
    #[inline]
    fn counts(&self) -> &[[u8; 4]] {
        self.stored[self.counts.clone()].as_chunks().0
    }

    /// Whether each line of a file of this format is a record.
    pub(crate) fn counts_records_of(&self, format: Format) -> bool {
        self.has_no_blank_line || format != Format::JsonLines
    }

    /// The number of lines; bytes after the last line feed are one.
    pub(crate) fn lines(&self) -> u64 {
        self.before.last().unwrap_or(&0) + u64::from(!self.ends_with_line_feed)
    }

    /// The first block.
    pub(crate) fn first_block(&self) -> IndexedBlock {
        self.block(0, 0)
    }

    /// The block with this number, before which there are so many line feeds. Behind the last one
    /// there are blocks without any.
    #[inline]
    fn block(&self, number: usize, before: u64) -> IndexedBlock {
        let count = self.counts().get(number);
        let count = count.map_or(0, |count| u64::from(u32::from_le_bytes(*count)));
        IndexedBlock { number, before, end: before + count }
    }

    /// The block that holds the `n`-th line feed, counted from 1, which is not before the block
    /// `from`.
    #[inline]
    pub(crate) fn block_of(&self, n: u64, from: IndexedBlock) -> IndexedBlock {
        // In a dense sample it is this block or the next one.
        if n <= from.end {
            return from;
        }
        let next = self.block(from.number + 1, from.end);
        if n <= next.end { next } else { self.find_block(n) }
    }

    /// If there are fewer line feeds, it is a block behind the last one.
    fn find_block(&self, n: u64) -> IndexedBlock {
        let group = self.before.partition_point(|before| *before < n).saturating_sub(1);
        let mut block = self.block(group * GROUP, self.before[group]);
        while n > block.end && block.number < self.counts().len() {
            block = self.block(block.number + 1, block.end);
        }
        block
    }

    /// The stored index of the file, if it matches the file as it is. That of a file of another
    /// machine must be readable if it is there.
    pub(crate) fn load(path: &Path, file: &PlainFile, may_map: bool) -> Option<Result<LineIndex>> {
        let bytes = match file.handle.remote().map(ReadAt::index) {
            Some(Ok(bytes)) => bytes.map(IndexBytes::Held),
            Some(Err(error)) => {
                return Some(Err(Error::caused(ErrorKind::Io, "reading its index", error)));
            }
            None => stored(path, may_map),
        };
        let content = || content_digest(file).ok();
        LineIndex::parse(bytes?, file.size, file.modified_ns, content).map(Ok)
    }

    /// Parses an index, if it is valid and was made for such a file. Without the time of its last
    /// change, the size and the content decide.
    pub(crate) fn parse(
        bytes: IndexBytes,
        size: u64,
        modified_ns: Option<i128>,
        content: impl Fn() -> Option<u64>,
    ) -> Option<LineIndex> {
        let (body, stored) = bytes.split_last_chunk::<8>()?;
        let (head, counts) = body.split_at_checked(HEAD_BYTES)?;
        let number = |at: usize| {
            let bytes = head[at..at + 8].try_into();
            bytes.map(u64::from_le_bytes)
        };
        let modified = i128::from(number(24).ok()?) << 64 | i128::from(number(16).ok()?);
        let block = block_bytes(size);
        let flags = number(48).ok()?;
        let is_sound = head.starts_with(MAGIC)
            && u64::from_le_bytes(*stored) == index_digest(body)
            && number(8).ok()? == size
            && modified_ns.is_none_or(|modified_ns| modified == modified_ns)
            && number(32).ok()? == block
            && counts.len() as u64 == 4 * size.div_ceil(block)
            && flags <= 3
            && Some(number(40).ok()?) == content();
        let counts = counts.as_chunks().0.iter().map(|count| u32::from_le_bytes(*count));
        if !is_sound || counts.max().is_some_and(|most| u64::from(most) > block) {
            return None;
        }
        let counts = HEAD_BYTES..body.len();
        Some(LineIndex::new(block, bytes, counts, flags & 1 != 0, flags & 2 != 0))
    }

    fn to_bytes(&self, file: &PlainFile) -> Result<Vec<u8>> {
        let counts = self.counts().as_flattened();
        let mut bytes = Vec::with_capacity(HEAD_BYTES + counts.len() + 8);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&file.size.to_le_bytes());
        bytes.extend_from_slice(&file.modified_ns.unwrap_or_default().to_le_bytes());
        bytes.extend_from_slice(&self.block_bytes.to_le_bytes());
        bytes.extend_from_slice(&content_digest(file)?.to_le_bytes());
        let flags = u64::from(self.ends_with_line_feed) | u64::from(self.has_no_blank_line) << 1;
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(counts);
        bytes.extend_from_slice(&index_digest(&bytes).to_le_bytes());
        Ok(bytes)
    }

    /// Stores the index beside the file, completely or not at all. Only an index is replaced.
    pub(crate) fn store(&self, path: &Path, file: &PlainFile) -> Result<()> {
        let bytes = self.to_bytes(file)?;
        let target = index_path(path);
        if is_other_file(&target) {
            let error = Error::new(ErrorKind::Write, "is there already, and is no index");
            return Err(error.with_path(&target));
        }
        let mut name = target.clone().into_os_string();
        name.push(format!(".{}.unfinished", std::process::id()));
        let unfinished = PathBuf::from(name);
        let write = || -> io::Result<()> {
            File::create(&unfinished)?.write_all(&bytes)?;
            fs::rename(&unfinished, &target)
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&unfinished);
            Error::caused(ErrorKind::Write, "keeping the index", error).with_path(&target)
        })
    }
}

/// The bytes of the index beside a file of this machine.
fn stored(path: &Path, may_map: bool) -> Option<IndexBytes> {
    let limit = HEAD_BYTES as u64 + 4 * MOST_BLOCKS + 8;
    let index = File::open(index_path(path)).ok()?;
    let len = index.metadata().ok()?.len();
    if len > limit {
        return None;
    }
    let len = len as usize;
    // A file system without mappings is read.
    if may_map
        && len >= MAPPED_BYTES
        && let Ok(map) = map_bytes(&index, MmapOptions::new().len(len).populate())
    {
        return Some(IndexBytes::Mapped(map));
    }
    let mut bytes = vec![0; len];
    index.read_exact_at(&mut bytes, 0).ok()?;
    Some(IndexBytes::Held(bytes))
}

/// The path of the index of a file: with `.nlx` appended.
pub(crate) fn index_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".nlx");
    PathBuf::from(name)
}

/// Whether a file is there that is no index of any version.
fn is_other_file(path: &Path) -> bool {
    let mut start = Vec::new();
    let opened = File::open(path).map(|file| file.take(3));
    let read = opened.and_then(|mut file| file.read_to_end(&mut start));
    read.is_ok() && !MAGIC.starts_with(&start)
}

fn block_bytes(size: u64) -> u64 {
    size.div_ceil(MOST_BLOCKS).next_power_of_two().max(BLOCK_BYTES)
}

/// Consecutive blocks from an offset on, whose line feeds are to be counted.
struct CountedBlocks<'a> {
    start: u64,
    block_bytes: u64,
    counts: &'a mut [u32],
}

/// Sets `blanks`, if it is given, when a line begins with white space.
fn count_blocks(
    window: &mut FileWindow<'_>,
    blocks: CountedBlocks<'_>,
    blanks: Option<&AtomicBool>,
    watch: &ProgressGate,
) -> Result<()> {
    let CountedBlocks { start, block_bytes, counts } = blocks;
    let mut previous = b'\n';
    if let (Some(_), Some(before)) = (blanks, start.checked_sub(1)) {
        previous = window.at(before, 1)?.first().copied().unwrap_or(previous);
    }
    let mut at = start;
    let end = start.saturating_add(block_bytes * counts.len() as u64).min(window.size());
    while at < end {
        // A piece is counted block by block.
        let piece = window.at(at, READ_BYTES.min((end - at) as usize))?;
        let bytes = piece.len() as u64;
        let block = ((at - start) / block_bytes) as usize;
        // A block is a power of two, as is the piece: one is a multiple of the other.
        for (count, part) in counts[block..].iter_mut().zip(piece.chunks(block_bytes as usize)) {
            *count += count_lines(part) as u32;
        }
        if let Some(blanks) = blanks {
            let text = if at == 0 { without_bom(piece) } else { piece };
            if may_have_blank_line(text, previous) {
                blanks.store(true, Ordering::Relaxed);
            }
            previous = piece.last().copied().unwrap_or(previous);
        }
        at += bytes;
        watch.advance(bytes)?;
    }
    Ok(())
}

/// A digest of 17 places of the file: it detects another file, not every changed byte.
fn content_digest(file: &PlainFile) -> Result<u64> {
    const PIECE: u64 = 512;
    let mut window = FileWindow::new(FileAccess::Read(file), PIECE as usize);
    let mut all = Vec::with_capacity(17 * PIECE as usize);
    for place in 0..=16u128 {
        let last = file.size.saturating_sub(PIECE);
        let offset = (u128::from(last) * place / 16) as u64;
        all.extend_from_slice(window.at(offset, PIECE as usize)?);
    }
    Ok(digest(&all))
}

/// The digest of an index: four of every fourth word each, which do not wait for one another, and
/// one of these and the rest.
fn index_digest(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let (groups, rest) = bytes.as_chunks::<32>();
    let mut lanes = [1u64, 2, 3, 4];
    for group in groups {
        for (lane, word) in lanes.iter_mut().zip(group.as_chunks::<8>().0) {
            *lane = (*lane ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME);
            *lane ^= *lane >> 29;
        }
    }
    let [a, b, c, d] = lanes.map(u64::to_le_bytes);
    digest(&[&a[..], &b, &c, &d, rest].concat()) ^ bytes.len() as u64
}

/// Stores an index of this file with these counts, which may be wrong but are in order.
#[cfg(fuzzing)]
pub fn forge_index(path: &Path, counts: &[u8]) -> Result<()> {
    let population = crate::Population::open([path], Format::Lines)?;
    let Some(file) = population.files().and_then(|files| files.first().copied()) else {
        return Ok(());
    };
    let (access, watch) = (FileAccess::Read(file), ProgressGate::default());
    let sound = LineIndex::count(access, &mut AlignedBuffer::default(), Format::Lines, &watch)?;
    let mut bytes = sound.to_bytes(file)?;
    bytes.truncate(bytes.len() - 8);
    for (byte, forged) in bytes[48..].iter_mut().zip(counts) {
        *byte = *forged;
    }
    bytes.extend_from_slice(&index_digest(&bytes).to_le_bytes());
    fs::write(index_path(path), bytes).map_err(|error| Error::caused(ErrorKind::Write, "", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index of a file with this number of blocks. Block `n` has `n % 7` line feeds.
    fn index_of(blocks: u32) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let size = u64::from(blocks) * BLOCK_BYTES;
        for word in [size, 0, 0, BLOCK_BYTES, 17, 1] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend((0..blocks).flat_map(|number| (number % 7).to_le_bytes()));
        let digest = index_digest(&bytes);
        bytes.extend_from_slice(&digest.to_le_bytes());
        bytes
    }

    #[test]
    fn a_mapped_index_is_as_one_that_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        for (blocks, is_large) in [(100, false), (20_000, true)] {
            fs::write(index_path(&path), index_of(blocks)).unwrap();
            let [read, mapped] = [false, true].map(|may_map| stored(&path, may_map).unwrap());
            assert!(matches!(read, IndexBytes::Held(_)));
            assert_eq!(matches!(mapped, IndexBytes::Mapped(_)), is_large);
            let size = u64::from(blocks) * BLOCK_BYTES;
            for bytes in [read, mapped] {
                let index = LineIndex::parse(bytes, size, None, || Some(17)).unwrap();
                let weeks = u64::from(blocks / 7);
                assert_eq!(
                    index.lines(),
                    weeks * 21 + [0, 0, 1, 3, 6, 10, 15][blocks as usize % 7]
                );
                // The last line feed of a week is in its last block.
                for week in [0, 5, weeks - 1] {
                    let block = index.block_of(21 * (week + 1), index.first_block());
                    assert_eq!(
                        (block.number, block.before),
                        (week as usize * 7 + 6, 21 * week + 15)
                    );
                }
            }
        }
    }
}
