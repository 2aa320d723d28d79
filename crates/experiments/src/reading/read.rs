//! `read` into memory of the program. With a reused buffer it is the reference, and the basis on
//! which the ways to access a chunk in memory are compared; others read through the buffered reader
//! of the standard library, the whole file, or parts of it in several threads.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read as _};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::thread;

use anyhow::{Context, Result};
use measure::experiment::{Method, Task};
use measure::phases::mark;
use model::param::Point;

use super::fold::{ALIGN, Fold};
use super::source::{Input, Source, contender, fits_in_memory, joined, reading};
use crate::shared::Buffer;

pub(super) fn method() -> Method {
    let about = "read into a reused buffer, folded as a whole";
    contender("read", about, &["buffer"], build::<WholeChunk>)
}

/// How a chunk is passed to the fold.
trait FoldStyle: Send + 'static {
    fn fold_chunk<F: Fold>(chunk: &[u8], fold: &mut F);
}

struct WholeChunk;

impl FoldStyle for WholeChunk {
    #[inline]
    fn fold_chunk<F: Fold>(chunk: &[u8], fold: &mut F) {
        fold.chunk(chunk);
    }
}

fn build<S: FoldStyle>(point: &Point) -> Result<Box<dyn Task>> {
    reading(point, |input| {
        Ok(ChunkedRead::<S> { input, buffer: Buffer::from_point(point)?, style: PhantomData })
    })
}

struct ChunkedRead<S> {
    input: Input,
    buffer: Buffer,
    style: PhantomData<S>,
}

impl<S: FoldStyle> Source for ChunkedRead<S> {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let mut file = self.input.open()?;
        let mut offset = 0;
        loop {
            match file.read(&mut self.buffer) {
                Ok(0) => return self.input.ended(offset),
                Ok(n) => {
                    S::fold_chunk(&self.buffer[..n], fold);
                    offset = self.input.advanced(offset, n)?;
                }
                Err(error) => return Err(self.input.failed(offset, error)),
            }
        }
    }
}

/// The ways to iterate over a chunk byte by byte, each written in the usual form. The compiler
/// vectorizes some of them: that is part of the result.
pub(super) fn styles() -> Vec<Method> {
    let style = |name, about, build| contender(name, about, &["buffer"], build);
    vec![
        style("read-index", "read, then chunk[i]", build::<Index>),
        style("read-for", "read, then `for byte in chunk`", build::<For>),
        style("read-fold", "read, then chunk.iter().fold", build::<IteratorFold>),
        style("read-for-each", "read, then chunk.iter().for_each", build::<ForEach>),
        style("read-chunks", "read, then `for` in each of chunk.chunks(16)", build::<Chunks>),
    ]
}

struct Index;

impl FoldStyle for Index {
    #[expect(clippy::needless_range_loop, reason = "the indexed loop is what is measured")]
    fn fold_chunk<F: Fold>(chunk: &[u8], fold: &mut F) {
        for i in 0..chunk.len() {
            fold.byte(chunk[i]);
        }
    }
}

struct For;

impl FoldStyle for For {
    fn fold_chunk<F: Fold>(chunk: &[u8], fold: &mut F) {
        for byte in chunk {
            fold.byte(*byte);
        }
    }
}

struct IteratorFold;

impl FoldStyle for IteratorFold {
    fn fold_chunk<F: Fold>(chunk: &[u8], fold: &mut F) {
        chunk.iter().fold(fold, |fold, byte| {
            fold.byte(*byte);
            fold
        });
    }
}

struct ForEach;

impl FoldStyle for ForEach {
    #[expect(clippy::needless_for_each, reason = "for_each is what is measured")]
    fn fold_chunk<F: Fold>(chunk: &[u8], fold: &mut F) {
        chunk.iter().for_each(|byte| fold.byte(*byte));
    }
}

struct Chunks;

impl FoldStyle for Chunks {
    fn fold_chunk<F: Fold>(chunk: &[u8], fold: &mut F) {
        for part in chunk.chunks(16) {
            for byte in part {
                fold.byte(*byte);
            }
        }
    }
}

/// The indexed loop without bounds checks.
pub(super) fn unchecked() -> Method {
    let about = "read, then chunk.get_unchecked(i)";
    contender("read-unchecked", about, &["buffer"], build::<Unchecked>)
}

struct Unchecked;

#[expect(unsafe_code, reason = "unchecked indexing is what is measured")]
impl FoldStyle for Unchecked {
    fn fold_chunk<F: Fold>(chunk: &[u8], fold: &mut F) {
        for i in 0..chunk.len() {
            // SAFETY: i is less than the length.
            let byte = unsafe { chunk.get_unchecked(i) };
            fold.byte(*byte);
        }
    }
}

/// The buffered reader of the standard library: by whole buffers, and byte by byte.
pub(super) fn buffered() -> Vec<Method> {
    vec![
        contender("buf-reader", "BufReader, fill_buf and consume", &["buffer"], build_chunks),
        contender("read-bytes", "BufReader, Read::bytes()", &["buffer"], build_bytes),
    ]
}

struct BufferedChunks(Input, usize);

fn build_chunks(point: &Point) -> Result<Box<dyn Task>> {
    let buffer = usize::try_from(point.number("buffer")?)?;
    reading(point, |input| Ok(BufferedChunks(input, buffer)))
}

impl Source for BufferedChunks {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let BufferedChunks(input, buffer) = self;
        let mut reader = BufReader::with_capacity(*buffer, input.open()?);
        let mut offset = 0;
        loop {
            let chunk = reader.fill_buf().map_err(|error| input.failed(offset, error))?;
            if chunk.is_empty() {
                return input.ended(offset);
            }
            fold.chunk(chunk);
            let n = chunk.len();
            reader.consume(n);
            offset = input.advanced(offset, n)?;
        }
    }
}

struct BufferedBytes(Input, usize);

fn build_bytes(point: &Point) -> Result<Box<dyn Task>> {
    let buffer = usize::try_from(point.number("buffer")?)?;
    reading(point, |input| Ok(BufferedBytes(input, buffer)))
}

impl Source for BufferedBytes {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let BufferedBytes(input, buffer) = self;
        let mut offset = 0;
        for byte in BufReader::with_capacity(*buffer, input.open()?).bytes() {
            fold.byte(byte.map_err(|error| input.failed(offset, error))?);
            offset += 1;
        }
        input.ended(offset)
    }
}

/// The whole file is read into a `Vec` before the first byte is used.
pub(super) fn whole() -> Vec<Method> {
    vec![
        contender("read-to-vec", "fs::read: the whole file, a new Vec each time", &[], build_new),
        contender("read-into-vec", "read_to_end into a reused Vec", &[], build_reused),
    ]
}

struct NewVec(Input);

fn build_new(point: &Point) -> Result<Box<dyn Task>> {
    fits_in_memory(point)?;
    reading(point, |input| Ok(NewVec(input)))
}

impl Source for NewVec {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        mark("allocate and read");
        let bytes = fs::read(&self.0.path).with_context(|| self.0.doing("reading"))?;
        mark("fold");
        fold.chunk(&bytes);
        self.0.ended(bytes.len() as u64)?;
        mark("free");
        drop(bytes);
        Ok(())
    }
}

struct ReusedVec {
    input: Input,
    bytes: Vec<u8>,
}

fn build_reused(point: &Point) -> Result<Box<dyn Task>> {
    fits_in_memory(point)?;
    reading(point, |input| Ok(ReusedVec { input, bytes: Vec::new() }))
}

impl Source for ReusedVec {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        self.bytes.clear();
        if let Err(error) = self.input.open()?.read_to_end(&mut self.bytes) {
            return Err(self.input.failed(self.bytes.len() as u64, error));
        }
        fold.chunk(&self.bytes);
        self.input.ended(self.bytes.len() as u64)
    }
}

/// `pread` by several threads, each of which reads one part of the file.
pub(super) fn pread_threads() -> Method {
    let about = "pread by several threads, a part of the file each";
    contender("pread-threads", about, &["buffer", "threads"], build_pread)
}

struct ParallelPread {
    input: Input,
    /// One buffer for each thread.
    buffers: Vec<Buffer>,
}

fn build_pread(point: &Point) -> Result<Box<dyn Task>> {
    let threads = point.number("threads")?.max(1);
    reading(point, |input| {
        let buffers = (0..threads).map(|_| Buffer::from_point(point)).collect::<Result<_>>()?;
        Ok(ParallelPread { input, buffers })
    })
}

impl Source for ParallelPread {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let ParallelPread { input, buffers } = self;
        let (input, file) = (&*input, &input.open_checked()?);
        let part = input.size.div_ceil(buffers.len() as u64).next_multiple_of(ALIGN);
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for (start, buffer) in (0..input.size).step_by(part as usize).zip(buffers) {
                let end = input.size.min(start.saturating_add(part));
                let thread = thread::Builder::new()
                    .spawn_scoped(scope, move || read_part::<F>(input, file, start..end, buffer))
                    .with_context(|| input.doing("starting a thread that reads"))?;
                threads.push(thread);
            }
            for part in threads.into_iter().map(joined) {
                fold.merge(part?);
            }
            Ok(())
        })
    }
}

fn read_part<F: Fold>(
    input: &Input,
    file: &File,
    part: std::ops::Range<u64>,
    buffer: &mut [u8],
) -> Result<F> {
    let mut fold = F::at(part.start);
    let mut offset = part.start;
    while offset < part.end {
        let want = usize::try_from(part.end - offset).map_or(buffer.len(), |n| n.min(buffer.len()));
        match file.read_at(&mut buffer[..want], offset) {
            Ok(0) => {
                input.ended(offset)?;
                break;
            }
            Ok(n) => {
                fold.chunk(&buffer[..n]);
                offset += n as u64;
            }
            Err(error) => return Err(input.failed(offset, error)),
        }
    }
    Ok(fold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::fold::Sum;
    use crate::reading::tests::{check_cut, cut_file};

    #[test]
    fn a_file_that_is_cut_while_it_is_read_is_an_error() {
        let (_dir, _point, input, file) = cut_file();
        check_cut(read_part::<Sum>(&input, &file, 0..input.size, &mut [0; 4096]));
        check_cut(read_part::<Sum>(&input, &file, 8192..input.size, &mut [0; 4096]));
    }
}
