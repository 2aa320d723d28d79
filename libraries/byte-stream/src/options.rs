//! The options of a stream, and the progress of a stream or a copy.

use std::fmt;
use std::os::fd::OwnedFd;

use crate::choice::Preferences;
use crate::source::Map;
use crate::{Cancel, Error, ErrorKind, Result};

/// A larger buffer would only evict the data from the caches.
pub(crate) const BUFFER_LIMIT_BYTES: usize = 1 << 20;

/// Options for opening a stream, created by [`Stream::options`]; the last call is
/// [`open`](Options::open).
///
/// ```
/// use byte_stream::Stream;
/// let stream = Stream::options().limit_bytes(1 << 20).open("/proc/self/status")?;
/// # Ok::<(), byte_stream::Error>(())
/// ```
#[derive(Default)]
#[must_use = "open it"]
pub struct Options {
    pub(crate) preferences: Preferences,
    pub(crate) limit_bytes: Option<u64>,
    pub(crate) sha256: Option<[u8; 32]>,
    pub(crate) on_progress: Option<OnProgress>,
    pub(crate) cancel: Option<Cancel>,
    #[cfg(feature = "http")]
    pub(crate) http: crate::http::Settings,
}

impl Options {
    pub(crate) fn new() -> Options {
        Options::default()
    }

    /// Reads into a buffer of this size, from 1 byte to 1 MiB, instead of the chosen one. That of a
    /// smaller file has the size of the file, in whole pages.
    ///
    /// ```
    /// use byte_stream::{Strategy, Stream};
    /// let stream = Stream::options().buffer_bytes(4096).open("/proc/self/exe")?;
    /// assert_eq!(stream.choice().strategy, Strategy::Read { buffer_bytes: 4096 });
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn buffer_bytes(mut self, bytes: usize) -> Options {
        self.preferences.buffer_bytes = Some(bytes);
        self
    }

    /// Allows lending the mapped pages of a regular file, without a copy, if that is faster.
    ///
    /// # Safety
    ///
    /// While the stream lives, no process may change the file, because the lent bytes would change,
    /// too; and none may truncate it, because this process would be killed with `SIGBUS`.
    ///
    /// ```
    /// use byte_stream::{Strategy, Stream};
    /// // SAFETY: the kernel does not let a running program be changed.
    /// let options = unsafe { Stream::options().allow_map() };
    /// let stream = options.open("/proc/self/exe")?;
    /// assert!(matches!(stream.choice().strategy, Strategy::Map { .. }));
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    #[expect(unsafe_code, reason = "a promise that only the caller can give")]
    pub unsafe fn allow_map(mut self) -> Options {
        self.preferences.may_map = true;
        self
    }

    /// Maps windows of this size, regardless of what would be chosen. Needs
    /// [`allow_map`](Options::allow_map), and has no effect on inputs that are not regular files.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().window_bytes(1 << 20);
    /// let error = options.open("/proc/self/exe").unwrap_err(); // without the promise
    /// assert_eq!(error.kind(), byte_stream::ErrorKind::InvalidUse);
    /// ```
    pub fn window_bytes(mut self, bytes: usize) -> Options {
        self.preferences.window_bytes = Some(bytes);
        self
    }

    /// Fails if there are more bytes: when opening, if the size is known; otherwise before the
    /// chunk that exceeds the limit is returned.
    ///
    /// ```
    /// let opened = byte_stream::Stream::options().limit_bytes(10).open("/proc/self/exe");
    /// assert_eq!(opened.unwrap_err().kind(), byte_stream::ErrorKind::TooLarge);
    /// ```
    pub fn limit_bytes(mut self, bytes: u64) -> Options {
        self.limit_bytes = Some(bytes);
        self
    }

    /// Compares the SHA-256 of all bytes with this digest; if they differ, the end of the stream is
    /// an error. Bytes that were returned before the end must not be trusted.
    ///
    /// ```
    /// use byte_stream::{ErrorKind, Stream};
    /// let mut stream = Stream::options().expect_sha256([0; 32]).open("/dev/null")?;
    /// assert_eq!(stream.next_chunk().unwrap_err().kind(), ErrorKind::Digest);
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn expect_sha256(mut self, digest: [u8; 32]) -> Options {
        self.sha256 = Some(digest);
        self
    }

    /// Calls this for each chunk.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().on_progress(|progress| {
    ///     eprintln!("{} bytes", progress.done_bytes);
    /// });
    /// ```
    pub fn on_progress(mut self, call: impl FnMut(Progress) + Send + 'static) -> Options {
        self.on_progress = Some(Box::new(call));
        self
    }

    /// Makes the stream cancellable from another thread. This costs one more system call for each
    /// chunk of an input that can block.
    ///
    /// ```
    /// use byte_stream::{Cancel, ErrorKind, Stream};
    /// let cancel = Cancel::new()?;
    /// let mut stream = Stream::options().cancel(&cancel).open("/dev/zero")?;
    /// cancel.cancel();
    /// assert_eq!(stream.next_chunk().unwrap_err().kind(), ErrorKind::Cancelled);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel(mut self, cancel: &Cancel) -> Options {
        self.cancel = Some(cancel.clone());
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        let invalid = |text: &'static str| Err(Error::new(ErrorKind::InvalidUse, text));
        match self.preferences {
            Preferences { buffer_bytes: Some(0), .. } => {
                invalid("the buffer must have at least 1 byte")
            }
            Preferences { buffer_bytes: Some(n), .. } if n > BUFFER_LIMIT_BYTES => {
                invalid("the buffer must have at most 1 MiB")
            }
            Preferences { window_bytes: Some(_), may_map: false, .. } => {
                invalid("a mapping needs Options::allow_map")
            }
            _ => Ok(()),
        }
    }

    /// The mapping, if the caller has allowed it.
    #[expect(unsafe_code, reason = "passes the caller's promise on")]
    pub(crate) fn map(&self, fd: OwnedFd, window: usize, position: u64, size: u64) -> Result<Map> {
        if !self.preferences.may_map {
            return Err(Error::new(ErrorKind::InvalidUse, "a mapping needs Options::allow_map"));
        }
        // SAFETY: the caller of `allow_map` promised that the file is neither changed nor
        // truncated.
        Ok(unsafe { Map::new(fd, window, position, size, self.cancel.clone()) })
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("preferences", &self.preferences)
            .field("limit_bytes", &self.limit_bytes)
            .finish_non_exhaustive()
    }
}

/// The callback that receives the progress.
pub(crate) type OnProgress = Box<dyn FnMut(Progress) + Send>;

/// The progress of a stream or a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes so far.
    pub done_bytes: u64,
    /// The total, if it is known.
    pub total_bytes: Option<u64>,
}
