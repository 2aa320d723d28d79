//! The same stream for asynchronous programs: a blocking thread of tokio reads, and at most two
//! chunks are queued.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc::{Receiver, channel};

use crate::stream::State;
use crate::{Cancel, Error, ErrorKind, Result, Stream};

/// The capacity of the queue of chunks.
const AHEAD: usize = 2;

/// A [`Stream`] as a futures `Stream` of [`Bytes`] and as tokio's `AsyncRead`. Each chunk is copied
/// once, out of the stream's buffer. Dropping it cancels a pending read if it was created by
/// [`open`](AsyncStream::open).
///
/// ```
/// use byte_stream::{AsyncStream, Stream};
/// use tokio::io::AsyncReadExt;
///
/// let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// let text = runtime.block_on(async {
///     let mut stream = AsyncStream::open(Stream::options(), "/proc/self/comm").await?;
///     let mut text = String::new();
///     stream.read_to_string(&mut text).await?;
///     std::io::Result::Ok(text)
/// })?;
/// assert!(text.ends_with('\n'));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct AsyncStream {
    /// The end of the stream is a message as well, because a thread that panics closes the channel
    /// without one.
    chunks: Receiver<Result<Option<Bytes>>>,
    state: State,
    /// The rest of a chunk of which `AsyncRead` has returned a part.
    rest: Bytes,
    cancel: Option<Cancel>,
}

impl AsyncStream {
    /// Opens a stream and reads it in a blocking thread of the current runtime.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    /// # runtime.block_on(async {
    /// let options = byte_stream::Stream::options();
    /// assert!(byte_stream::AsyncStream::open(options, "/no/such").await.is_err());
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn open(
        mut options: crate::Options,
        address: impl Into<crate::Address>,
    ) -> Result<AsyncStream> {
        let cancel = match options.cancel.clone() {
            Some(cancel) => cancel,
            None => Cancel::new().map_err(Error::io)?,
        };
        options = options.cancel(&cancel);
        let address = address.into();
        let opened = tokio::task::spawn_blocking(move || options.open(address)).await;
        let stream = opened.map_err(|error| Error::io(io::Error::other(error)))??;
        let mut stream = AsyncStream::from(stream);
        stream.cancel = Some(cancel);
        Ok(stream)
    }
}

impl From<Stream> for AsyncStream {
    /// Panics outside a tokio runtime.
    fn from(mut stream: Stream) -> AsyncStream {
        let (sender, chunks) = channel(AHEAD);
        tokio::task::spawn_blocking(move || {
            loop {
                let chunk = stream.next_chunk().map(|chunk| chunk.map(Bytes::copy_from_slice));
                let is_last = !matches!(chunk, Ok(Some(_)));
                // Sending fails if the receiver was dropped.
                if sender.blocking_send(chunk).is_err() || is_last {
                    return;
                }
            }
        });
        AsyncStream { chunks, state: State::Open, rest: Bytes::new(), cancel: None }
    }
}

impl AsyncStream {
    /// Returns `None` at the end and on every later call. After an error every call is an error.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>>> {
        let chunk = match self.state {
            State::Open => ready!(self.chunks.poll_recv(context)).unwrap_or_else(|| {
                let text = "the thread that reads has panicked, or the runtime is shutting down";
                Err(Error::new(ErrorKind::Truncated, text))
            }),
            State::Ended => Ok(None),
            State::Failed => {
                let text = "the stream has failed before and cannot go on";
                Err(Error::new(ErrorKind::InvalidUse, text))
            }
        };
        match chunk {
            Ok(Some(_)) => {}
            Ok(None) => self.state = State::Ended,
            Err(_) => self.state = State::Failed,
        }
        Poll::Ready(chunk)
    }
}

impl futures_core::Stream for AsyncStream {
    type Item = Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.rest))));
        }
        // The futures stream ends after its first error.
        if self.state == State::Failed {
            return Poll::Ready(None);
        }
        self.poll_chunk(context).map(Result::transpose)
    }
}

impl AsyncRead for AsyncStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            match ready!(self.poll_chunk(context))? {
                Some(chunk) => self.rest = chunk,
                None => return Poll::Ready(Ok(())),
            }
        }
        let n = self.rest.len().min(buffer.remaining());
        buffer.put_slice(&self.rest[..n]);
        self.rest.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl Drop for AsyncStream {
    fn drop(&mut self) {
        if let Some(cancel) = &self.cancel {
            cancel.cancel();
        }
    }
}

impl fmt::Debug for AsyncStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncStream").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_core::Stream as _;
    use tokio::io::AsyncReadExt;

    use super::*;

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn both_forms_give_all_bytes_in_order() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let data: Vec<u8> = (0..1_000_001u32).map(|i| (i >> 7) as u8).collect();
        std::fs::write(file.path(), &data).unwrap();
        let (chunks, bytes) = run(async {
            let mut stream = AsyncStream::open(Stream::options(), file.path()).await.unwrap();
            let mut chunks = vec![0; 10];
            stream.read_exact(&mut chunks).await.unwrap();
            while let Some(chunk) = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
                chunks.extend_from_slice(&chunk.unwrap());
            }
            let mut bytes = Vec::new();
            let mut stream = AsyncStream::open(Stream::options(), file.path()).await.unwrap();
            stream.read_to_end(&mut bytes).await.unwrap();
            (chunks, bytes)
        });
        assert!(chunks == data && bytes == data);
    }

    #[test]
    fn an_error_comes_through_and_a_drop_ends_the_waiting() {
        run(async {
            let mut stream = AsyncStream::open(Stream::options(), "/").await.unwrap();
            assert!(
                stream.read(&mut [0]).await.unwrap_err().to_string().contains("Is a directory")
            );
            let (reader, _writer) = io::pipe().unwrap();
            let fd = std::os::fd::OwnedFd::from(reader);
            // The runtime waits for its threads: it would never end.
            drop(AsyncStream::open(Stream::options(), fd).await.unwrap());
        });
    }

    #[test]
    fn a_thread_that_ends_without_an_end_of_the_bytes_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'x'; 5_000_000]).unwrap();
        run(async {
            let options = || {
                Stream::options()
                    .on_progress(|progress| assert!(progress.done_bytes < 900_000, "a panic"))
            };
            let mut stream = AsyncStream::open(options(), file.path()).await.unwrap();
            let mut bytes = Vec::new();
            let read = stream.read_to_end(&mut bytes).await;
            assert!(read.is_err(), "{read:?}");
            assert!(stream.read(&mut [0]).await.is_err());

            let mut stream = AsyncStream::open(options(), file.path()).await.unwrap();
            let mut last = None;
            while let Some(chunk) = poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await {
                last = Some(chunk.map_err(|error| error.kind()));
            }
            assert_eq!(last, Some(Err(ErrorKind::Truncated)));
        });
    }
}
