//! Waiting in a thread or in a task of tokio. Code that waits is written once, as `async`: a thread
//! runs it with waits that block.

use std::os::fd::BorrowedFd;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use rustix::event::PollFlags;

use crate::Result;
use crate::cancel::{self, Cancel, Deadline};
#[cfg(feature = "async")]
use crate::task;

/// Whether a wait suspends the thread or the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitMode {
    /// The thread.
    Thread,
    /// The task, which must belong to a tokio runtime with I/O and time.
    #[cfg(feature = "async")]
    Task,
}

/// The result of a future whose waits all suspend the thread, so that it is never pending.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a wait that suspends the thread is never pending"),
    }
}

/// Waits until the deadline.
#[cfg_attr(not(feature = "async"), expect(clippy::unused_async, reason = "no wait is a task's"))]
pub(crate) async fn until(
    mode: WaitMode,
    cancel: Option<&Cancel>,
    deadline: Option<Deadline>,
) -> Result<()> {
    match mode {
        WaitMode::Thread => cancel::wait(None, PollFlags::empty(), cancel, deadline).map(drop),
        #[cfg(feature = "async")]
        WaitMode::Task => {
            task::race(std::future::pending::<()>(), cancel, deadline).await.map(drop)
        }
    }
}

/// Waits until one of the descriptors is ready or has failed, and returns its index; `None` if the
/// deadline passed first.
#[cfg_attr(not(feature = "async"), expect(clippy::unused_async, reason = "no wait is a task's"))]
pub(crate) async fn ready(
    mode: WaitMode,
    fds: &[BorrowedFd<'_>],
    events: PollFlags,
    cancel: Option<&Cancel>,
    deadline: Option<Deadline>,
) -> Result<Option<usize>> {
    match mode {
        WaitMode::Thread => cancel::wait_any(fds, events, cancel, deadline),
        #[cfg(feature = "async")]
        WaitMode::Task => {
            let ready = task::ready(fds, events).map_err(crate::Error::io)?;
            task::race(ready, cancel, deadline).await?.transpose().map_err(crate::Error::io)
        }
    }
}
