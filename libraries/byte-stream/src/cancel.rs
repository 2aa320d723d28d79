//! Cancellation from another thread, deadlines, and waits that end with either. Only this module of
//! the crate reads the clocks.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{Error, ErrorKind, Result};

/// Stops streams and copies from another thread, even while they wait. Clones are the same handle.
///
/// ```
/// use byte_stream::{Cancel, ErrorKind, Stream};
///
/// let (reader, _writer) = std::io::pipe()?; // no data is ever written
/// let cancel = Cancel::new()?;
/// let mut stream = Stream::options().cancel(&cancel).open(std::os::fd::OwnedFd::from(reader))?;
/// let other = std::thread::spawn(move || cancel.cancel());
/// assert_eq!(stream.next_chunk().unwrap_err().kind(), ErrorKind::Cancelled);
/// other.join().unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Cancel(Arc<CancelState>);

struct CancelState {
    cancelled: AtomicBool,
    /// Becomes readable when the handle is cancelled.
    event: OwnedFd,
    /// The writing end of `event`.
    #[cfg(not(target_os = "linux"))]
    writer: io::PipeWriter,
    /// The tasks that wait.
    #[cfg(feature = "async")]
    tasks: tokio::sync::Notify,
}

impl CancelState {
    #[cfg(target_os = "linux")]
    fn new() -> io::Result<CancelState> {
        use rustix::event::{EventfdFlags, eventfd};

        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(CancelState {
            cancelled: AtomicBool::new(false),
            event,
            #[cfg(feature = "async")]
            tasks: tokio::sync::Notify::new(),
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn new() -> io::Result<CancelState> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&writer, true)?;
        Ok(CancelState {
            cancelled: AtomicBool::new(false),
            event: reader.into(),
            writer,
            #[cfg(feature = "async")]
            tasks: tokio::sync::Notify::new(),
        })
    }

    fn writer(&self) -> BorrowedFd<'_> {
        #[cfg(target_os = "linux")]
        return self.event.as_fd();
        #[cfg(not(target_os = "linux"))]
        return self.writer.as_fd();
    }
}

impl Cancel {
    /// Creates a handle that is not cancelled. It needs a descriptor, so it can fail.
    ///
    /// ```
    /// assert!(!byte_stream::Cancel::new()?.is_cancelled());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new() -> io::Result<Cancel> {
        Ok(Cancel(Arc::new(CancelState::new()?)))
    }

    /// Cancels everything that uses this handle. A handle stays cancelled.
    ///
    /// ```
    /// let cancel = byte_stream::Cancel::new()?;
    /// cancel.clone().cancel();
    /// assert!(cancel.is_cancelled());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        // The write fails only if the counter is full, and then the descriptor is readable already.
        let _ = rustix::io::write(self.0.writer(), &1u64.to_ne_bytes());
        #[cfg(feature = "async")]
        self.0.tasks.notify_waiters();
    }

    /// Ends when the handle is cancelled after this call.
    #[cfg(feature = "async")]
    pub(crate) fn cancelled(&self) -> impl Future<Output = ()> {
        self.0.tasks.notified()
    }

    /// Whether [`cancel`](Cancel::cancel) was called.
    ///
    /// ```
    /// assert!(!byte_stream::Cancel::new()?.is_cancelled());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// Returns an error if the handle is cancelled.
pub(crate) fn check(cancel: Option<&Cancel>) -> Result<()> {
    match cancel {
        Some(cancel) if cancel.is_cancelled() => Err(cancelled()),
        _ => Ok(()),
    }
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "cancelled")
}

/// Waits until one of the descriptors is ready or has failed, and returns its index; `None` if the
/// deadline passed first.
#[cfg(feature = "http")]
pub(crate) fn wait_any(
    fds: &[BorrowedFd<'_>],
    events: PollFlags,
    cancel: Option<&Cancel>,
    deadline: Option<Deadline>,
) -> Result<Option<usize>> {
    loop {
        check(cancel)?;
        let left = deadline.map(Deadline::left);
        if left == Some(Duration::ZERO) {
            return Ok(None);
        }
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let event = cancel.map(|cancel| PollFd::new(&cancel.0.event, PollFlags::IN));
        let fds = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, events));
        let mut polled: Vec<PollFd<'_>> = fds.chain(event).collect();
        match poll(&mut polled, left.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Error::io(errno)),
        }
        check(cancel)?;
        if let Some(ready) = polled.iter().position(|fd| !fd.revents().is_empty()) {
            return Ok(Some(ready));
        }
    }
}

/// Waits until the descriptor is ready or has failed; the next call on it returns that error.
/// Returns false if the deadline passed first.
pub(crate) fn wait(
    fd: Option<BorrowedFd<'_>>,
    events: PollFlags,
    cancel: Option<&Cancel>,
    deadline: Option<Deadline>,
) -> Result<bool> {
    loop {
        check(cancel)?;
        let left = deadline.map(Deadline::left);
        if left == Some(Duration::ZERO) {
            return Ok(false);
        }
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        // A missing descriptor is replaced by the other one, without events.
        let none = PollFlags::empty();
        let event = cancel.map(|cancel| &cancel.0.event);
        let ready = match (fd, event) {
            (Some(fd), Some(event)) => {
                let mut fds =
                    [PollFd::from_borrowed_fd(fd, events), PollFd::new(event, PollFlags::IN)];
                poll(&mut fds, left.as_ref()).map(|_| fds[0].revents() != none)
            }
            (Some(fd), None) => {
                let mut fds = [PollFd::from_borrowed_fd(fd, events)];
                poll(&mut fds, left.as_ref()).map(|_| fds[0].revents() != none)
            }
            (None, Some(event)) => {
                poll(&mut [PollFd::new(event, PollFlags::IN)], left.as_ref()).map(|_| false)
            }
            (None, None) => poll(&mut [], left.as_ref()).map(|_| false),
        };
        match ready {
            Ok(true) => return Ok(true),
            Ok(false) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Error::io(errno)),
        }
    }
}

/// A point in time by which something must be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only servers have time limits"))]
    /// The deadline `time` from now; `None` if the clock cannot represent it.
    pub(crate) fn after(time: Duration) -> Option<Deadline> {
        now().checked_add(time).map(Deadline)
    }

    #[cfg(feature = "http")]
    pub(crate) fn plus(self, time: Duration) -> Option<Deadline> {
        self.0.checked_add(time).map(Deadline)
    }

    #[cfg(feature = "async")]
    pub(crate) fn instant(self) -> tokio::time::Instant {
        self.0.into()
    }

    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(now())
    }
}

/// The result of some work, and the time it took.
#[cfg(target_os = "linux")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let result = work();
    (result, now().saturating_duration_since(start))
}

#[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the clock")]
fn now() -> Instant {
    Instant::now()
}

/// The seconds since 1970, which signatures have.
#[cfg(feature = "http")]
#[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads this clock")]
pub(crate) fn unix_time_s() -> u64 {
    use std::time::{SystemTime, UNIX_EPOCH};

    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
