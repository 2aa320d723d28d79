//! Readers of libraries: tokio, and our own byte-stream.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use anyhow::{Context as _, Result};
use byte_stream::Stream;
use measure::experiment::{Method, Task};
use model::param::Point;
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::runtime::{Builder, Runtime};

use super::fold::Fold;
use super::source::{Input, Source, contender, reading};
use crate::shared::Buffer;

/// Asynchronous readers, on a runtime of one thread (and tokio's own blocking threads, which read).
pub(super) fn asynchronous() -> Vec<Method> {
    vec![
        contender("tokio-read", "tokio AsyncRead into a reused buffer", &["buffer"], build_read),
        contender("async-bytes", "a byte per await, from tokio chunks", &["buffer"], build_bytes),
    ]
}

fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().build().context("starting tokio")
}

/// Makes tokio, too, read as many bytes at a time as the buffer holds.
async fn open(input: &Input, buffer: &[u8]) -> Result<File> {
    let mut file = File::open(&input.path).await.with_context(|| input.doing("opening"))?;
    file.set_max_buf_size(buffer.len());
    Ok(file)
}

struct TokioRead {
    input: Input,
    runtime: Runtime,
    buffer: Buffer,
}

fn build_read(point: &Point) -> Result<Box<dyn Task>> {
    reading(point, |input| {
        Ok(TokioRead { input, runtime: runtime()?, buffer: Buffer::from_point(point)? })
    })
}

impl Source for TokioRead {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let TokioRead { input, runtime, buffer } = self;
        runtime.block_on(async {
            let mut file = open(input, buffer).await?;
            let mut offset = 0;
            loop {
                match file.read(buffer).await {
                    Ok(0) => return input.ended(offset),
                    Ok(n) => {
                        fold.chunk(&buffer[..n]);
                        offset = input.advanced(offset, n)?;
                    }
                    Err(error) => return Err(input.failed(offset, error)),
                }
            }
        })
    }
}

struct AsyncBytes {
    input: Input,
    runtime: Runtime,
    buffer: Buffer,
}

fn build_bytes(point: &Point) -> Result<Box<dyn Task>> {
    reading(point, |input| {
        Ok(AsyncBytes { input, runtime: runtime()?, buffer: Buffer::from_point(point)? })
    })
}

impl Source for AsyncBytes {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let AsyncBytes { input, runtime, buffer } = self;
        runtime.block_on(async {
            let file = open(input, buffer).await?;
            let mut bytes = FileByteStream { file, buffer, start: 0, end: 0 };
            let mut offset = 0;
            loop {
                match bytes.next().await {
                    Ok(Some(byte)) => fold.byte(byte),
                    Ok(None) => return input.ended(offset),
                    Err(error) => return Err(input.failed(offset, error)),
                }
                offset += 1;
            }
        })
    }
}

/// A stream of bytes that waits for the file once per chunk, but is awaited for each byte. Written
/// as a `poll` function, because an `async fn` called for each byte takes more than twice the time.
struct FileByteStream<'a> {
    file: File,
    buffer: &'a mut [u8],
    start: usize,
    end: usize,
}

impl FileByteStream<'_> {
    fn next(&mut self) -> impl Future<Output = io::Result<Option<u8>>> {
        poll_fn(|context| {
            if self.start == self.end {
                ready!(self.poll_fill(context))?;
            }
            let byte = self.buffer[..self.end].get(self.start).copied();
            self.start += 1;
            Poll::Ready(Ok(byte))
        })
    }

    #[cold]
    #[inline(never)]
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut buffer = ReadBuf::new(self.buffer);
        ready!(Pin::new(&mut self.file).poll_read(context, &mut buffer))?;
        (self.start, self.end) = (0, buffer.filled().len());
        Poll::Ready(Ok(()))
    }
}

pub(super) fn byte_stream() -> Method {
    contender("byte-stream", "byte-stream: chunks that are lent", &["buffer"], build_lent)
}

/// The borrowed chunks of one file.
pub(super) struct LentChunks {
    input: Input,
    buffer: usize,
}

/// The maximum that the library accepts.
pub(super) const BUFFER_LIMIT: u64 = 1 << 20;

fn build_lent(point: &Point) -> Result<Box<dyn Task>> {
    reading(point, |input| LentChunks::new(point, input))
}

impl LentChunks {
    pub(super) fn new(point: &Point, input: Input) -> Result<LentChunks> {
        Ok(LentChunks { input, buffer: point.number("buffer")?.min(BUFFER_LIMIT) as usize })
    }

    #[inline]
    pub(super) fn each(&mut self, mut take: impl FnMut(&[u8])) -> Result<()> {
        let LentChunks { input, buffer } = self;
        let mut stream = Stream::options().buffer_bytes(*buffer).open(&input.path)?;
        let mut offset = 0;
        while let Some(chunk) = stream.next_chunk()? {
            take(chunk);
            offset = input.advanced(offset, chunk.len())?;
        }
        input.ended(offset)
    }
}

impl Source for LentChunks {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        self.each(|chunk| fold.chunk(chunk))
    }
}
