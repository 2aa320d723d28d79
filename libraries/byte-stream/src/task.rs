//! Waits that suspend a task.

use std::future::poll_fn;
use std::io;
#[cfg(feature = "http")]
use std::os::fd::BorrowedFd;
use std::os::fd::{AsFd, AsRawFd};
use std::pin::pin;
use std::task::Poll;

#[cfg(feature = "http")]
use rustix::event::PollFlags;
use tokio::io::{Interest, unix::AsyncFd};

use crate::Result;
use crate::cancel::{self, Cancel, Deadline};

/// The result of the future; `None` if the deadline passes first, an error if it is cancelled.
pub(crate) async fn race<T>(
    future: impl Future<Output = T>,
    cancel: Option<&Cancel>,
    deadline: Option<Deadline>,
) -> Result<Option<T>> {
    let mut future = pin!(future);
    let mut timer = pin!(deadline.map(|deadline| tokio::time::sleep_until(deadline.instant())));
    // It exists before the first check, so that no cancellation is missed.
    let mut cancelled = pin!(cancel.map(Cancel::cancelled));
    poll_fn(|context| {
        cancel::check(cancel)?;
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return Poll::Ready(Ok(Some(value)));
        }
        if let Some(cancelled) = cancelled.as_mut().as_pin_mut()
            && cancelled.poll(context).is_ready()
        {
            return Poll::Ready(cancel::check(cancel).map(|()| None));
        }
        if let Some(timer) = timer.as_mut().as_pin_mut()
            && timer.poll(context).is_ready()
        {
            return Poll::Ready(Ok(None));
        }
        Poll::Pending
    })
    .await
}

/// Registers a descriptor with the runtime.
#[expect(unsafe_code, reason = "a promise about the type of the descriptor")]
pub(crate) fn watch<Fd: AsFd + AsRawFd>(fd: Fd, interest: Interest) -> io::Result<AsyncFd<Fd>> {
    // SAFETY: only types of the standard library are watched here, which keep their descriptor
    // open for as long as they live.
    unsafe { AsyncFd::register_with_interest(fd, interest) }.map_err(io::Error::from)
}

/// Becomes the index of the first descriptor that is ready.
#[cfg(feature = "http")]
pub(crate) fn ready(
    fds: &[BorrowedFd<'_>],
    events: PollFlags,
) -> io::Result<impl Future<Output = io::Result<usize>>> {
    let writes = events.contains(PollFlags::OUT);
    let interest = if writes { Interest::WRITABLE } else { Interest::READABLE };
    let watched = fds.iter().map(|fd| watch(*fd, interest));
    let watched = watched.collect::<io::Result<Vec<_>>>()?;
    Ok(poll_fn(move |context| {
        for (index, fd) in watched.iter().enumerate() {
            let polled =
                if writes { fd.poll_write_ready(context) } else { fd.poll_read_ready(context) };
            if let Poll::Ready(ready) = polled {
                return Poll::Ready(ready.map(|_| index));
            }
        }
        Poll::Pending
    }))
}
