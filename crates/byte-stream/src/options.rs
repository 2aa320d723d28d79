//! What may be asked of a stream before it is opened.

use std::fmt;
use std::os::fd::OwnedFd;

use crate::choice::Preferences;
use crate::progress::OnProgress;
use crate::source::map::Map;
use crate::{Cancel, Error, ErrorKind, Progress, Result};

/// More would only move the bytes out of the caches.
const BUFFER_LIMIT_BYTES: usize = 1 << 20;

/// How a stream is to be opened. Made by [`Stream::options`]; the last call is [`open`](Options::open).
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

    /// Reads into a buffer of this size, from 1 byte to 1 MiB, instead of what is chosen.
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

    /// Allows to lend the pages of a regular file as they are mapped, where that is faster: nothing is copied.
    ///
    /// # Safety
    ///
    /// While the stream lives, nobody in any process may change the file, for the bytes that were lent would
    /// change, too; and nobody may cut it, for the process would be killed with `SIGBUS`.
    ///
    /// ```
    /// use byte_stream::{Strategy, Stream};
    /// // SAFETY: nobody changes a program that runs; the kernel refuses it.
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

    /// Maps windows of this size, whatever would be chosen. Needs [`allow_map`](Options::allow_map), and has
    /// no effect on what is not a regular file.
    ///
    /// ```
    /// let options = byte_stream::Stream::options().window_bytes(1 << 20);
    /// let error = options.open("/proc/self/exe").unwrap_err(); // nobody promised anything
    /// assert_eq!(error.kind(), byte_stream::ErrorKind::InvalidUse);
    /// ```
    pub fn window_bytes(mut self, bytes: usize) -> Options {
        self.preferences.window_bytes = Some(bytes);
        self
    }

    /// More bytes than this are an error: at once where the size is known, else before the chunk that goes
    /// beyond it is handed over.
    ///
    /// ```
    /// let opened = byte_stream::Stream::options().limit_bytes(10).open("/proc/self/exe");
    /// assert_eq!(opened.unwrap_err().kind(), byte_stream::ErrorKind::TooLarge);
    /// ```
    pub fn limit_bytes(mut self, bytes: u64) -> Options {
        self.limit_bytes = Some(bytes);
        self
    }

    /// Compares the SHA-256 of all bytes with this one; the end is an error if they differ. Do not trust
    /// what was handed over before the end was reached.
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

    /// Calls this for every chunk.
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

    /// Lets another thread stop it. Each chunk of what can keep one waiting then takes one more system call.
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
                invalid("a buffer of 0 bytes; take at least 1")
            }
            Preferences { buffer_bytes: Some(n), .. } if n > BUFFER_LIMIT_BYTES => {
                invalid("a buffer of more than 1 MiB; take less")
            }
            Preferences { window_bytes: Some(_), may_map: false, .. } => {
                invalid("a mapping needs Options::allow_map")
            }
            _ => Ok(()),
        }
    }

    /// The mapping that was allowed.
    #[expect(unsafe_code, reason = "passes the caller's promise on")]
    pub(crate) fn map(&self, fd: OwnedFd, window: usize, position: u64, size: u64) -> Result<Map> {
        if !self.preferences.may_map {
            return Err(Error::new(ErrorKind::InvalidUse, "a mapping needs Options::allow_map"));
        }
        // SAFETY: the caller of `allow_map` promised that nobody changes or cuts the file.
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
