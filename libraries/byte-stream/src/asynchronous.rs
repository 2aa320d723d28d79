//! The same stream for asynchronous programs. Bytes from a server, a pipe or a socket are awaited;
//! files are read by the blocking threads of tokio, a chunk at a time.

use std::fmt;
use std::io;
use std::mem::replace;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::task::spawn_blocking;

use crate::choice::{Choice, SourceKind};
#[cfg(feature = "http")]
use crate::source::Source;
use crate::stream::StreamState;
use crate::task::{race, watch};
use crate::{Cancel, Error, ErrorKind, Result, Stream};

/// A [`Stream`] as a futures `Stream` of [`Bytes`] and as tokio's `AsyncRead`. A chunk that fills
/// at least a quarter of the stream's buffer is not copied: it keeps the buffer, and returns it
/// when it is dropped. No thread waits for a server, a pipe or a socket, so that any number of
/// streams can wait at the same time. Needs a tokio runtime with I/O and time (`enable_all`).
///
/// ```
/// use byte_stream::{AsyncStream, Stream};
/// use tokio::io::AsyncReadExt;
///
/// let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
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
    /// Only one thread ever has access; the lock is for `Sync`.
    reading: Mutex<ReaderState>,
    state: StreamState,
    choice: Choice,
    #[cfg(feature = "http")]
    response: Option<crate::Response>,
    /// The rest of a chunk of which `AsyncRead` has returned a part.
    rest: Bytes,
}

enum ReaderState {
    Idle(Box<Reader>),
    Busy(Pin<Box<dyn Future<Output = ChunkResult> + Send>>),
    /// The reader was lost in a panic.
    Lost,
}

/// The result of reading a chunk: the reader, for the next one, and the chunk.
type ChunkResult = (Option<Box<Reader>>, Result<Option<Bytes>>);

struct Reader {
    stream: Stream,
    wait: WaitMethod,
}

/// The way to wait for the next chunk.
enum WaitMethod {
    /// Reading itself suspends the task.
    #[cfg(feature = "http")]
    Remote,
    /// The task waits until the descriptor, a duplicate of the stream's, is ready.
    Watched(AsyncFd<OwnedFd>),
    /// Reading blocks a thread, but not for long.
    Local,
}

impl AsyncStream {
    /// Opens a stream. Its options have the same effect as those of a [`Stream`].
    ///
    /// Panics outside a tokio runtime with I/O and time.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// # runtime.block_on(async {
    /// let options = byte_stream::Stream::options();
    /// assert!(byte_stream::AsyncStream::open(options, "/no/such").await.is_err());
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn open(
        options: crate::Options,
        address: impl Into<crate::Address>,
    ) -> Result<AsyncStream> {
        let address = address.into();
        #[cfg(feature = "http")]
        if let Some(url) = address.remote() {
            let name = address.name();
            let opened = Stream::open_in_task(options, url, &name).await;
            let stream = opened.map_err(|error| error.named(&name))?;
            return Ok(AsyncStream::new(Reader { stream, wait: WaitMethod::Remote }));
        }
        let opened = spawn_blocking(move || options.open(address)).await;
        let stream = opened.map_err(|error| Error::io(io::Error::other(error)))??;
        Ok(AsyncStream::from(stream))
    }

    fn new(reader: Reader) -> AsyncStream {
        AsyncStream {
            choice: reader.stream.choice(),
            #[cfg(feature = "http")]
            response: reader.stream.response().cloned(),
            reading: Mutex::new(ReaderState::Idle(Box::new(reader))),
            state: StreamState::Open,
            rest: Bytes::new(),
        }
    }

    /// How the stream is read, and its size if it is known.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// # runtime.block_on(async {
    /// let options = byte_stream::Stream::options();
    /// let stream = byte_stream::AsyncStream::open(options, "/proc/self/exe").await?;
    /// assert!(stream.choice().size_bytes > Some(0));
    /// # byte_stream::Result::Ok(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn choice(&self) -> Choice {
        self.choice
    }

    /// The URL, the status and the headers of the server's answer; `None` for a local input.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// # runtime.block_on(async {
    /// let options = byte_stream::Stream::options();
    /// let stream = byte_stream::AsyncStream::open(options, "/dev/null").await?;
    /// assert_eq!(stream.response(), None);
    /// # byte_stream::Result::Ok(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg(feature = "http")]
    pub fn response(&self) -> Option<&crate::Response> {
        self.response.as_ref()
    }
}

impl From<Stream> for AsyncStream {
    /// The stream of a URL that was opened before blocks a thread for each chunk;
    /// [`open`](AsyncStream::open) does not.
    ///
    /// Panics outside a tokio runtime with I/O and time.
    fn from(stream: Stream) -> AsyncStream {
        let can_wait = matches!(
            stream.choice().kind,
            SourceKind::Pipe | SourceKind::Socket | SourceKind::Character
        );
        let fd = stream.source.fd().filter(|_| can_wait);
        let watched = fd.and_then(|fd| {
            // Some devices, such as /dev/zero, are always ready and cannot be watched.
            watch(fd.try_clone_to_owned().ok()?, Interest::READABLE).ok()
        });
        AsyncStream::new(Reader {
            stream,
            wait: watched.map_or(WaitMethod::Local, WaitMethod::Watched),
        })
    }
}

impl Stream {
    /// The next bytes, which can be kept.
    fn next_bytes(&mut self) -> Result<Option<Bytes>> {
        if !self.fill()? {
            return Ok(None);
        }
        let bytes = self.source.share(self.taken);
        self.taken += bytes.len();
        Ok(Some(bytes))
    }

    /// The same for a URL that was opened in a task.
    #[cfg(feature = "http")]
    async fn next_in_task(&mut self) -> Result<Option<Bytes>> {
        let Source::Http(body) = &mut self.source else { return self.next_bytes() };
        let advanced = body.advance().await;
        if !self.advanced(advanced)? {
            return Ok(None);
        }
        self.next_bytes()
    }
}

impl Reader {
    async fn next(mut self: Box<Self>) -> ChunkResult {
        let chunk = match &self.wait {
            #[cfg(feature = "http")]
            WaitMethod::Remote => self.stream.next_in_task().await,
            WaitMethod::Watched(fd) => match readable(fd, self.stream.cancel.as_ref()).await {
                Ok(()) => self.stream.next_bytes(),
                Err(error) => Err(error.at(self.stream.offset()).named(self.stream.name())),
            },
            WaitMethod::Local => {
                let read = spawn_blocking(move || {
                    let chunk = self.stream.next_bytes();
                    (Some(self), chunk)
                });
                return read.await.unwrap_or_else(|_| (None, Err(lost())));
            }
        };
        (Some(self), chunk)
    }
}

fn lost() -> Error {
    let text = "reading has panicked, or the runtime is shutting down";
    Error::new(ErrorKind::Truncated, text)
}

/// Waits until there are bytes or the end.
async fn readable(fd: &AsyncFd<OwnedFd>, cancel: Option<&Cancel>) -> Result<()> {
    let readable = async {
        loop {
            let mut guard = fd.readable().await?;
            // Bytes that were ready before may have been read since.
            let mut polled = [PollFd::new(fd.get_ref(), PollFlags::IN)];
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            if poll(&mut polled, Some(&now))? > 0 {
                return io::Result::Ok(());
            }
            guard.clear_ready();
        }
    };
    let done = race(readable, cancel, None).await?;
    done.map_or(Ok(()), |ready| ready.map_err(Error::io))
}

impl AsyncStream {
    /// Returns `None` at the end and on every later call. After an error every call is an error.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>>> {
        let chunk = match self.state {
            StreamState::Open => ready!(self.poll_reading(context)),
            StreamState::Ended => Ok(None),
            StreamState::Failed => {
                let text = "the stream has failed before and cannot go on";
                Err(Error::new(ErrorKind::InvalidUse, text))
            }
        };
        match chunk {
            Ok(Some(_)) => {}
            Ok(None) => self.state = StreamState::Ended,
            Err(_) => self.state = StreamState::Failed,
        }
        Poll::Ready(chunk)
    }

    fn poll_reading(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>>> {
        let reading = self.reading.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut future = match replace(reading, ReaderState::Lost) {
            ReaderState::Idle(reader) => Box::pin(reader.next()),
            ReaderState::Busy(future) => future,
            ReaderState::Lost => return Poll::Ready(Err(lost())),
        };
        // A callback of the caller may panic, which looks like the end and is an error.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => {
                *reading = ReaderState::Busy(future);
                Poll::Pending
            }
            Ok(Poll::Ready((reader, chunk))) => {
                *reading = reader.map_or(ReaderState::Lost, ReaderState::Idle);
                Poll::Ready(chunk)
            }
            Err(_) => Poll::Ready(Err(lost())),
        }
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
        if self.state == StreamState::Failed {
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
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
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
            let mut stream =
                AsyncStream::open(Stream::options(), OwnedFd::from(reader)).await.unwrap();
            let first = poll_fn(|cx| Poll::Ready(Pin::new(&mut stream).poll_next(cx).is_ready()));
            assert!(!first.await);
            // The runtime waits for its threads: it would never end with one that reads.
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
