//! byte-stream's own client, used in each way in which the study used `URLSession`, and some more.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io::Read;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use anyhow::{Context as _, Result};
use byte_stream::AsyncStream;
use futures_core::Stream as _;
use lab::experiment::{Build, How, Method, Task};
use lab::param::Point;
use tokio::runtime::{Builder, Runtime};

use super::super::fold::Fold;
use super::super::source::{Reading, Source, fits_in_memory};
use super::remote::{Remote, contender};

pub(super) fn methods() -> Vec<Method> {
    let own = |name: &str, about: &str, reads: &[&'static str], build: Build| {
        contender(name, about, &[&["buffer"], reads].concat(), How::BuiltIn(build))
    };
    vec![
        own("byte-stream-chunks", "byte-stream: each chunk as it comes, lent", &[], |point| {
            build(point, Access::Chunks)
        }),
        own("byte-stream-for", "the same, then `for byte in chunk`", &[], |point| {
            build(point, Access::For)
        }),
        own("byte-stream-callback", "byte-stream calls back for each chunk", &[], |point| {
            build(point, Access::Callback)
        }),
        own("byte-stream-bytes", "byte-stream as Read: bytes(), a Result per byte", &[], |point| {
            build(point, Access::Bytes)
        }),
        own("byte-stream-whole", "byte-stream as Read: the whole in a new Vec", &[], |point| {
            fits_in_memory(point)?;
            build(point, Access::Whole)
        }),
        own("byte-stream-async", "byte-stream, a chunk per await", &[], |point| {
            build_async(point, false)
        }),
        own("byte-stream-async-bytes", "byte-stream, a byte per await", &[], |point| {
            build_async(point, true)
        }),
        own("byte-stream-ranges", "byte-stream, several parts at once", &["ranges"], |point| {
            build(point, Access::Ranges(point.number("ranges")? as usize))
        }),
    ]
}

#[derive(Clone, Copy)]
enum Access {
    Chunks,
    For,
    Callback,
    Bytes,
    Whole,
    /// The number of concurrent ranges.
    Ranges(usize),
}

struct Client {
    remote: Remote,
    access: Access,
}

fn build(point: &Point, access: Access) -> Result<Box<dyn Task>> {
    let each = |index| Ok(Client { remote: Remote::from_point(point, index)?, access });
    Ok(Box::new(Reading::each(point, each)?))
}

impl Source for Client {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let mut options = self.remote.options()?;
        if let Access::Ranges(n) = self.access {
            options = options.parallel(n);
        }
        let mut stream = options.open(&self.remote.url)?;
        match self.access {
            Access::Chunks | Access::Ranges(_) => {
                while let Some(chunk) = stream.next_chunk()? {
                    fold.chunk(chunk);
                }
            }
            Access::For => {
                while let Some(chunk) = stream.next_chunk()? {
                    for byte in chunk {
                        fold.byte(*byte);
                    }
                }
            }
            Access::Callback => {
                stream.for_each_chunk::<Infallible>(|chunk| {
                    fold.chunk(chunk);
                    ControlFlow::Continue(())
                })?;
            }
            Access::Bytes => {
                for byte in stream.by_ref().bytes() {
                    fold.byte(byte?);
                }
            }
            Access::Whole => {
                let mut all = Vec::new();
                stream.read_to_end(&mut all)?;
                fold.chunk(&all);
            }
        }
        self.remote.ended(stream.offset())
    }
}

struct Async {
    remote: Remote,
    runtime: Runtime,
    by_byte: bool,
}

fn build_async(point: &Point, by_byte: bool) -> Result<Box<dyn Task>> {
    let each = |index| {
        let runtime =
            Builder::new_current_thread().enable_all().build().context("starting tokio")?;
        Ok(Async { remote: Remote::from_point(point, index)?, runtime, by_byte })
    };
    Ok(Box::new(Reading::each(point, each)?))
}

impl Source for Async {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let Async { remote, runtime, by_byte } = self;
        let options = remote.options()?;
        runtime.block_on(async {
            let stream = AsyncStream::open(options, remote.url.as_str()).await?;
            let mut bytes = Bytes { stream, chunk: bytes::Bytes::new(), start: 0 };
            let mut offset = 0;
            if *by_byte {
                while let Some(byte) = bytes.next().await? {
                    fold.byte(byte);
                    offset += 1;
                }
                return remote.ended(offset);
            }
            while let Some(chunk) =
                poll_fn(|context| Pin::new(&mut bytes.stream).poll_next(context)).await
            {
                let chunk = chunk?;
                fold.chunk(&chunk);
                offset += chunk.len() as u64;
            }
            remote.ended(offset)
        })
    }
}

/// A stream of bytes that is awaited for each byte. Written as a `poll` function, like that of
/// files.
struct Bytes {
    stream: AsyncStream,
    chunk: bytes::Bytes,
    start: usize,
}

impl Bytes {
    fn next(&mut self) -> impl Future<Output = byte_stream::Result<Option<u8>>> {
        poll_fn(|context| {
            if self.start == self.chunk.len() && !ready!(self.poll_fill(context))? {
                return Poll::Ready(Ok(None));
            }
            let byte = self.chunk.get(self.start).copied();
            self.start += 1;
            Poll::Ready(Ok(byte))
        })
    }

    #[cold]
    #[inline(never)]
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<byte_stream::Result<bool>> {
        let Some(chunk) = ready!(Pin::new(&mut self.stream).poll_next(context)) else {
            return Poll::Ready(Ok(false));
        };
        (self.chunk, self.start) = (chunk?, 0);
        Poll::Ready(Ok(true))
    }
}
