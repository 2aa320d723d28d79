//! What can go wrong with a stream or a copy: one opaque type that says what, where, and whether to try again.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// What kind of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The address, an option or the order of calls is wrong; nothing was read.
    InvalidUse,
    /// The kernel refused to open, read or write.
    Io,
    /// The host name has no address, or nothing answers there.
    Connect,
    /// TLS: the certificate or the handshake is not acceptable.
    Tls,
    /// Nothing arrived, or not everything, in the time allowed.
    TimedOut,
    /// [`Cancel::cancel`](crate::Cancel::cancel) was called.
    Cancelled,
    /// There is more than the limit allows.
    TooLarge,
    /// The bytes ended before they should have.
    Truncated,
    /// There are more bytes than were announced.
    TooLong,
    /// The resource is not the same any more as when the stream began.
    Changed,
    /// What the server sent is not HTTP, or contradicts itself.
    Protocol,
    /// The server answered with a status that is not a success; see [`Error::status`].
    Status,
    /// A redirect that must not be followed, or too many of them.
    Redirect,
    /// The compressed bytes are damaged, or expand beyond the limit.
    Decode,
    /// The bytes do not have the expected digest.
    Digest,
    /// Input and output of a copy are the same file, which would never end.
    SameFile,
}

/// An error: its [kind](Error::kind), the [place](Error::offset), and one line of text.
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

/// What the functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What kind of thing went wrong.
    ///
    /// ```
    /// # use byte_stream::{ErrorKind, Stream};
    /// assert_eq!(Stream::open("ftp://host/").unwrap_err().kind(), ErrorKind::InvalidUse);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where: bytes from the beginning of the stream or the copy that are good; `None` before the first.
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

    /// Whether the same call may succeed later: the network, a time limit or a busy server is to blame.
    ///
    /// ```
    /// # use byte_stream::Stream;
    /// assert!(!Stream::open("/").unwrap().next_chunk().unwrap_err().is_retryable()); // stays a directory
    /// ```
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// The status of an HTTP answer, where that is what is wrong.
    ///
    /// ```
    /// assert_eq!(byte_stream::Stream::open("/no/such/file").unwrap_err().status(), None);
    /// ```
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// Whether the output of a copy is to blame, not its input.
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

    /// The error of the system call that failed, if one did.
    ///
    /// ```
    /// let error = byte_stream::Stream::open("/no/such/file").unwrap_err();
    /// assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::NotFound);
    /// ```
    pub fn io_error(&self) -> Option<&io::Error> {
        self.0.io.as_ref()
    }

    /// The text without the name and the place.
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

    /// The same, with more text.
    #[cfg(feature = "http")]
    pub(crate) fn and(mut self, text: &str) -> Self {
        self.0.message = format!("{}{text}", self.0.message).into();
        self
    }

    /// Ours again, after a way through somebody's `Read`; what is not ours becomes of this kind.
    #[cfg(feature = "http")]
    pub(crate) fn from_io(error: io::Error, kind: ErrorKind) -> Self {
        match error.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => Error::new(kind, error.to_string()),
        }
    }

    pub(crate) fn of_output(mut self) -> Self {
        self.0.written = true;
        self
    }

    /// Moves the place from that in a part to that in the whole.
    pub(crate) fn moved(mut self, by: u64) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset + by);
        self
    }

    /// Adds the place, unless it is known already.
    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Adds what was read, unless it is known already.
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
        // Its text is already ours: only what lies below it is news.
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
            ErrorKind::Protocol | ErrorKind::Decode | ErrorKind::Digest | ErrorKind::TooLong => {
                io::ErrorKind::InvalidData
            }
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}
