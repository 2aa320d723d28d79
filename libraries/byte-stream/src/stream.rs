//! `Stream`: lends one chunk after the other, and offers the same bytes as `Read` and `BufRead`.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::address::AddressTarget;
use crate::choice::{Choice, Strategy, choose};
use crate::options::{OnProgress, Options, Progress};
use crate::source::{self, Source};
#[cfg(feature = "http")]
use crate::wait::{WaitMode, now};
use crate::{Address, Cancel, Error, ErrorKind, Result};

/// The bytes of a file, a pipe, a descriptor or a URL in order. Each chunk is lent until the next
/// call.
///
/// ```
/// use byte_stream::Stream;
///
/// let mut stream = Stream::open("/proc/self/exe")?;
/// let mut bytes = 0;
/// while let Some(chunk) = stream.next_chunk()? {
///     bytes += chunk.len(); // no copy was made for it, and nothing allocated
/// }
/// assert_eq!(bytes as u64, stream.offset());
/// # Ok::<(), byte_stream::Error>(())
/// ```
///
/// A chunk cannot be kept beyond the next call:
///
/// ```compile_fail
/// let mut stream = byte_stream::Stream::open("/proc/self/exe").unwrap();
/// let first = stream.next_chunk();
/// let second = stream.next_chunk();
/// drop((first, second));
/// ```
pub struct Stream {
    pub(crate) source: Source,
    /// The number of bytes of the source's chunk that were returned already.
    pub(crate) taken: usize,
    /// The number of bytes that the source has produced.
    pub(crate) produced: u64,
    pub(crate) state: StreamState,
    pub(crate) name: String,
    pub(crate) choice: Choice,
    pub(crate) limit_bytes: u64,
    pub(crate) cancel: Option<Cancel>,
    pub(crate) check: Option<DigestCheck>,
    pub(crate) on_progress: Option<OnProgress>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum StreamState {
    Open,
    Ended,
    Failed,
}

impl Stream {
    /// Opens a path, `-`, a descriptor or a URL, with the default options.
    ///
    /// ```
    /// use std::io::Read;
    /// let mut text = String::new();
    /// byte_stream::Stream::open("/proc/self/comm")?.read_to_string(&mut text)?;
    /// assert!(text.ends_with('\n'));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn open(address: impl Into<Address>) -> Result<Stream> {
        Options::new().open(address)
    }

    /// The options: limits, the strategy, progress, and those of HTTP.
    ///
    /// ```
    /// use byte_stream::Stream;
    /// let mut stream = Stream::options().buffer_bytes(10).open("/proc/self/exe")?;
    /// assert_eq!(stream.next_chunk()?.unwrap().len(), 10);
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn options() -> Options {
        Options::new()
    }

    pub(crate) fn with(mut options: Options, address: Address) -> Result<Stream> {
        let name = address.name();
        match Stream::source(&mut options, address) {
            Ok((source, choice)) => Stream::new(source, choice, options, name),
            Err(error) => Err(error.named(&name)),
        }
    }

    #[cfg_attr(
        not(feature = "http"),
        expect(clippy::needless_pass_by_ref_mut, reason = "only those of HTTP are taken out")
    )]
    fn source(options: &mut Options, address: Address) -> Result<(Source, Choice)> {
        options.check()?;
        match address.resolve()? {
            AddressTarget::New(fd) => local(fd, 0, options),
            AddressTarget::Fd(fd) => {
                // A descriptor that cannot seek has no size either.
                let position = rustix::fs::tell(&fd).unwrap_or(0);
                local(fd, position, options)
            }
            #[cfg(feature = "http")]
            AddressTarget::Http(url) => now(remote(&url, options, WaitMode::Thread)),
            #[cfg(not(feature = "http"))]
            AddressTarget::Http(_) => {
                let text = "byte-stream was built without its feature `http`";
                Err(Error::new(ErrorKind::InvalidUse, text))
            }
        }
    }

    /// The stream of a file that was just opened.
    pub(crate) fn of_new_file(file: File, path: &Path, options: Options) -> Result<Stream> {
        let name = path.to_string_lossy().into_owned();
        match local(file.into(), 0, &options) {
            Ok((source, choice)) => Stream::new(source, choice, options, name),
            Err(error) => Err(error.named(&name)),
        }
    }

    /// Opens a URL; all its waits suspend the task.
    #[cfg(all(feature = "async", feature = "http"))]
    pub(crate) async fn open_in_task(
        mut options: Options,
        url: &str,
        name: &str,
    ) -> Result<Stream> {
        options.check()?;
        let (source, choice) = remote(url, &mut options, WaitMode::Task).await?;
        Stream::new(source, choice, options, name.to_owned())
    }

    fn new(source: Source, choice: Choice, mut options: Options, name: String) -> Result<Stream> {
        let limit_bytes = options.limit_bytes.unwrap_or(u64::MAX);
        if let Some(size) = choice.size_bytes.filter(|size| *size > limit_bytes) {
            return Err(too_large(limit_bytes, &format!("{size} bytes are")).named(&name));
        }
        Ok(Stream {
            source,
            taken: 0,
            produced: 0,
            state: StreamState::Open,
            name,
            choice,
            limit_bytes,
            cancel: options.cancel.clone(),
            check: options.sha256.take().map(DigestCheck::new),
            on_progress: options.on_progress.take(),
        })
    }

    /// Returns the next bytes, or the rest of a chunk of which `Read` or `BufRead` took a part;
    /// `None` at the end and on every later call. After an error every call is an error.
    ///
    /// ```
    /// let mut stream = byte_stream::Stream::open("/dev/null")?;
    /// assert_eq!(stream.next_chunk()?, None);
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    #[inline]
    pub fn next_chunk(&mut self) -> Result<Option<&[u8]>> {
        if !self.fill()? {
            return Ok(None);
        }
        let taken = self.taken;
        let chunk = self.source.chunk();
        self.taken = chunk.len();
        Ok(Some(&chunk[taken..]))
    }

    /// Passes each chunk to `take`, which can stop with `ControlFlow::Break`; the stream can then
    /// continue behind that chunk.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// let mut stream = byte_stream::Stream::open("/dev/zero")?;
    /// let mut left = 1_000_000usize;
    /// let stopped = stream.for_each_chunk(|chunk| {
    ///     left = left.saturating_sub(chunk.len());
    ///     if left == 0 { ControlFlow::Break("enough") } else { ControlFlow::Continue(()) }
    /// })?;
    /// assert_eq!(stopped, Some("enough"));
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn for_each_chunk<B>(
        &mut self,
        mut take: impl FnMut(&[u8]) -> ControlFlow<B>,
    ) -> Result<Option<B>> {
        while let Some(chunk) = self.next_chunk()? {
            if let ControlFlow::Break(result) = take(chunk) {
                return Ok(Some(result));
            }
        }
        Ok(None)
    }

    /// The number of bytes returned so far.
    ///
    /// ```
    /// use std::io::Read;
    /// let mut stream = byte_stream::Stream::open("/dev/zero")?;
    /// stream.read_exact(&mut [0; 7])?;
    /// assert_eq!(stream.offset(), 7);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn offset(&self) -> u64 {
        self.produced - (self.source.chunk().len() - self.taken) as u64
    }

    /// The strategy by which the stream is read, and the facts behind it.
    ///
    /// ```
    /// let stream = byte_stream::Stream::open("/proc/self/exe")?;
    /// println!("{:?}", stream.choice());
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn choice(&self) -> Choice {
        self.choice
    }

    /// The name of the input in error messages: a URL without its password.
    ///
    /// ```
    /// assert_eq!(byte_stream::Stream::open("/dev/null")?.name(), "/dev/null");
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL, the status and the headers of the server's answer; `None` for a local input.
    ///
    /// ```
    /// assert_eq!(byte_stream::Stream::open("/dev/null")?.response(), None);
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    #[cfg(feature = "http")]
    pub fn response(&self) -> Option<&crate::Response> {
        match &self.source {
            Source::Http(body) => body.response(),
            _ => None,
        }
    }

    /// What stands for the version of an HTTP resource that is not decoded: its strong `ETag`; or,
    /// without any `ETag`, its `Last-Modified`, if that is at least a minute older than the answer.
    /// It is for [`Options::resume_from`] and [`Options::unless_version`].
    ///
    /// ```
    /// assert_eq!(byte_stream::Stream::open("/dev/null")?.validator(), None);
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    #[cfg(feature = "http")]
    pub fn validator(&self) -> Option<&str> {
        match &self.source {
            Source::Http(body) => body.validator(),
            _ => None,
        }
    }

    /// Ensures that there is a byte to return; false at the end.
    #[inline]
    pub(crate) fn fill(&mut self) -> Result<bool> {
        if self.taken < self.source.chunk().len() {
            return Ok(true);
        }
        match self.state {
            StreamState::Open => self.advance(),
            StreamState::Ended => Ok(false),
            StreamState::Failed => {
                let text = "the stream has failed before and cannot go on";
                Err(Error::new(ErrorKind::InvalidUse, text).named(&self.name).at(self.produced))
            }
        }
    }

    fn advance(&mut self) -> Result<bool> {
        let advanced = self.source.advance();
        self.advanced(advanced)
    }

    /// Takes the chunk that the source has advanced to.
    pub(crate) fn advanced(&mut self, advanced: Result<bool>) -> Result<bool> {
        let advanced = advanced.and_then(|advanced| self.check(advanced));
        self.taken = if advanced.is_ok() { 0 } else { self.source.chunk().len() };
        advanced.map_err(|error| {
            self.state = StreamState::Failed;
            error.at(self.produced).named(&self.name)
        })
    }

    /// Checks the chunk, or the end.
    fn check(&mut self, advanced: bool) -> Result<bool> {
        if !advanced {
            self.state = StreamState::Ended;
            if let Some(check) = self.check.take() {
                check.end()?;
            }
            return Ok(false);
        }
        let chunk = self.source.chunk();
        let produced = self.produced + chunk.len() as u64;
        if produced > self.limit_bytes {
            return Err(too_large(self.limit_bytes, "there are"));
        }
        if let Some(check) = &mut self.check {
            check.take(chunk);
        }
        self.produced = produced;
        if let Some(on_progress) = &mut self.on_progress {
            on_progress(Progress { done_bytes: produced, total_bytes: self.choice.size_bytes });
        }
        Ok(true)
    }
}

impl Options {
    /// Opens the stream.
    ///
    /// ```
    /// let stream = byte_stream::Stream::options().open("file:///proc/self/status")?;
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn open(self, address: impl Into<Address>) -> Result<Stream> {
        Stream::with(self, address.into())
    }
}

pub(crate) fn too_large(limit: u64, what: &str) -> Error {
    Error::new(ErrorKind::TooLarge, format!("{what} more than the limit of {limit} bytes"))
}

#[cfg(feature = "http")]
async fn remote(url: &str, options: &mut Options, mode: WaitMode) -> Result<(Source, Choice)> {
    // A digest that is verified at the end also detects a body that was cut.
    options.http.unframed |= options.sha256.is_some();
    let (buffer_bytes, cancel) = (options.preferences.buffer_bytes, options.cancel.as_ref());
    let body = crate::http::open(url, &mut options.http, buffer_bytes, cancel, mode).await?;
    let choice = body.choice();
    Ok((Source::Http(Box::new(body)), choice))
}

/// Opens the source of a descriptor that stands at `position`.
fn local(fd: OwnedFd, position: u64, options: &Options) -> Result<(Source, Choice)> {
    let stat = rustix::fs::fstat(&fd).map_err(Error::io)?;
    let choice = choose(fd.as_fd(), &stat, position, options.preferences);
    let cancel = options.cancel.clone();
    let source = match (choice.strategy, choice.size_bytes) {
        (Strategy::Map { window_bytes }, Some(size)) => {
            Source::Map(options.map(fd, window_bytes, position, size)?)
        }
        (Strategy::Read { buffer_bytes }, _) => {
            Source::Read(source::Read::new(fd, stat, buffer_bytes, &choice, position, cancel))
        }
        _ => {
            return Err(Error::new(ErrorKind::InvalidUse, "this strategy does not fit this input"));
        }
    };
    Ok((source, choice))
}

impl io::Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = io::Read::read(&mut io::BufRead::fill_buf(self)?, buffer)?;
        self.taken += n;
        Ok(n)
    }
}

impl io::BufRead for Stream {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if !self.fill()? {
            return Ok(&[]);
        }
        Ok(&self.source.chunk()[self.taken..])
    }

    fn consume(&mut self, n: usize) {
        // Consuming more bytes than there are is a mistake of the caller, and must not panic here.
        self.taken = self.source.chunk().len().min(self.taken + n);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("name", &self.name)
            .field("offset", &self.offset())
            .field("choice", &self.choice)
            .finish_non_exhaustive()
    }
}

/// The digest of all bytes of a stream, compared with the expected one.
pub(crate) struct DigestCheck {
    expected: [u8; 32],
    hasher: Sha256,
}

impl DigestCheck {
    pub(crate) fn new(expected: [u8; 32]) -> DigestCheck {
        DigestCheck { expected, hasher: Sha256::new() }
    }

    pub(crate) fn take(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
    }

    pub(crate) fn end(self) -> Result<()> {
        let got: [u8; 32] = self.hasher.finalize().into();
        if got == self.expected {
            return Ok(());
        }
        let (got, expected) = (hex(&got), hex(&self.expected));
        let text = format!("the SHA-256 is {got}, not {expected} as expected");
        Err(Error::new(ErrorKind::Digest, text))
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
