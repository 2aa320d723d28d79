//! The error of streams and copies: one opaque type with its kind, its input, its offset and
//! whether a retry may help.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The address, an option or the order of calls is invalid; nothing was read.
    InvalidUse,
    /// The kernel refused to open, read or write.
    Io,
    /// The host name cannot be resolved, or the host does not accept the connection.
    Connect,
    /// The certificate was not accepted, or the TLS handshake failed.
    Tls,
    /// A time limit has passed.
    TimedOut,
    /// [`Cancel::cancel`](crate::Cancel::cancel) was called.
    Cancelled,
    /// The input is larger than the limit, or than the memory that is left to load it.
    TooLarge,
    /// The bytes ended too early.
    Truncated,
    /// There are more bytes than announced.
    TooLong,
    /// The resource has changed since the stream was opened.
    Changed,
    /// The resource still has the version that was not wanted again:
    /// `Options::unless_version`.
    Unchanged,
    /// The server's response is not HTTP, or contradicts itself.
    Protocol,
    /// The server sends neither a length nor chunks, so that a truncated body looks like a whole
    /// one. `Options::accept_unframed` accepts it, and `Options::expect_sha256` detects truncation.
    Unframed,
    /// The server responded with a status that is not a success; see [`Error::status`].
    Status,
    /// A redirect that is not allowed, or too many redirects.
    Redirect,
    /// The compressed data is damaged, or expands beyond the limit.
    Decode,
    /// The bytes do not have the expected digest.
    Digest,
    /// Input and output of a copy are the same file, so that it would never end.
    SameFile,
}

/// An error: its [kind](Error::kind), the [offset](Error::offset), and one line of text.
///
/// ```
/// let error = byte_stream::Stream::open("/no/such/file").unwrap_err();
/// assert_eq!(error.to_string(), "/no/such/file: No such file or directory (os error 2)");
/// assert_eq!(error.kind(), byte_stream::ErrorKind::Io);
/// assert!(!error.is_retryable());
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    name: Option<String>,
    message: Cow<'static, str>,
    offset: Option<u64>,
    status: Option<u16>,
    retryable: bool,
    written: bool,
    io: Option<io::Error>,
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The kind of the error.
    ///
    /// ```
    /// # use byte_stream::{ErrorKind, Stream};
    /// assert_eq!(Stream::open("ftp://host/").unwrap_err().kind(), ErrorKind::InvalidUse);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The number of valid bytes before the error; `None` before the first byte. Of
    /// [`load`](crate::load) it is the offset in the file.
    ///
    /// ```
    /// # use byte_stream::Stream;
    /// let mut stream = Stream::options().limit_bytes(4).open("/dev/zero")?;
    /// let error = stream.next_chunk().unwrap_err();
    /// assert_eq!(error.offset(), Some(0));
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Whether the same call may succeed later: the cause is the network, a time limit or a busy
    /// server.
    ///
    /// ```
    /// # use byte_stream::Stream;
    /// let directory = Stream::open("/").unwrap().next_chunk().unwrap_err();
    /// assert!(!directory.is_retryable());
    /// ```
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// The status of the HTTP response that caused the error.
    ///
    /// ```
    /// assert_eq!(byte_stream::Stream::open("/no/such/file").unwrap_err().status(), None);
    /// ```
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Whether the output of a copy caused the error, not its input.
    ///
    /// ```
    /// use std::fs::{File, OpenOptions};
    /// let full = OpenOptions::new().write(true).open("/dev/full")?;
    /// let error = byte_stream::copy(File::open("/proc/self/exe")?, full).unwrap_err();
    /// assert!(error.is_of_output());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_of_output(&self) -> bool {
        self.0.written
    }

    /// The error of the system call that failed, if there was one; that of
    /// [`Connect`](ErrorKind::Connect), too.
    ///
    /// ```
    /// let error = byte_stream::Stream::open("/no/such/file").unwrap_err();
    /// assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::NotFound);
    /// ```
    pub fn io_error(&self) -> Option<&io::Error> {
        self.0.io.as_ref()
    }

    /// The text without the name and the offset.
    ///
    /// ```
    /// let error = byte_stream::Stream::open("/no/such/file").unwrap_err();
    /// assert_eq!(error.message(), "No such file or directory (os error 2)");
    /// ```
    pub fn message(&self) -> &str {
        &self.0.message
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            name: None,
            message: message.into(),
            offset: None,
            status: None,
            retryable: kind == ErrorKind::TimedOut,
            written: false,
            io: None,
        }))
    }

    #[cold]
    pub(crate) fn io(error: impl Into<io::Error>) -> Self {
        let error = error.into();
        let mut new = Self::new(ErrorKind::Io, error.to_string());
        new.0.io = Some(error);
        new
    }

    #[cfg(feature = "http")]
    pub(crate) fn retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    #[cfg(feature = "http")]
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Adds the error of the system call that failed.
    #[cfg(feature = "http")]
    pub(crate) fn caused_by(mut self, error: io::Error) -> Self {
        self.0.io = Some(error);
        self
    }

    /// Puts what failed in front of the text.
    #[cfg(feature = "http")]
    pub(crate) fn within(mut self, what: &str) -> Self {
        self.0.message = format!("{what}: {}", self.0.message).into();
        self
    }

    /// Appends to the text.
    #[cfg(feature = "http")]
    pub(crate) fn and(mut self, text: &str) -> Self {
        self.0.message = format!("{}{text}", self.0.message).into();
        self
    }

    pub(crate) fn of_output(mut self) -> Self {
        self.0.written = true;
        self
    }

    /// Converts an offset within a part to one within the whole.
    pub(crate) fn moved(mut self, by: u64) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset + by);
        self
    }

    /// Sets the offset, unless it is set.
    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Sets the name of the input, unless it is set.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.0.name.get_or_insert_with(|| name.to_owned());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.0.name {
            write!(f, "{name}: ")?;
        }
        f.write_str(&self.0.message)?;
        match self.0.offset {
            Some(offset) => write!(f, " at byte {offset}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}: {self})", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The text already contains our own error, so only its cause is the source.
        self.0.io.as_ref().and_then(std::error::Error::source)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match error.kind() {
            ErrorKind::Io => error.0.io.as_ref().map_or(io::ErrorKind::Other, io::Error::kind),
            ErrorKind::InvalidUse => io::ErrorKind::InvalidInput,
            ErrorKind::Connect => io::ErrorKind::ConnectionRefused,
            ErrorKind::TimedOut => io::ErrorKind::TimedOut,
            ErrorKind::Truncated => io::ErrorKind::UnexpectedEof,
            ErrorKind::TooLarge => io::ErrorKind::FileTooLarge,
            ErrorKind::Protocol
            | ErrorKind::Unframed
            | ErrorKind::Decode
            | ErrorKind::Digest
            | ErrorKind::TooLong => io::ErrorKind::InvalidData,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}
