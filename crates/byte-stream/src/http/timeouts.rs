//! The time limits of an operation on a connection, and waiting within them.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::PollFlags;
#[cfg(feature = "async")]
use tokio::io::{Interest, unix::AsyncFd};

use crate::cancel::{self, Cancel};
use crate::clock::Deadline;
#[cfg(feature = "async")]
use crate::task;
use crate::wait::{self, Mode};
use crate::{Error, ErrorKind, Result};

/// The time limits of a connection, and its cancel handle.
#[derive(Clone)]
pub(crate) struct Timeouts {
    pub(crate) mode: Mode,
    pub(crate) cancel: Option<Cancel>,
    /// Time without a byte.
    pub(crate) idle: Duration,
    /// The deadline of the current stage.
    pub(crate) stage: Option<Deadline>,
    /// The deadline of the whole stream.
    pub(crate) total: Option<Deadline>,
}

/// The limit that expires first.
pub(crate) struct Remaining {
    pub(crate) time: Duration,
    /// The error if the limit expires. It is decided here, not by reading the clock again: the
    /// kernel measures a socket's time limit in ticks, which lag behind the clock on a busy
    /// machine, and may wake up slightly early.
    pub(crate) lost: fn() -> Error,
}

impl Timeouts {
    /// The time left; an error if there is none.
    pub(crate) fn left(&self) -> Result<Remaining> {
        cancel::check(self.cancel.as_ref())?;
        let mut left = Remaining { time: self.idle, lost: idle_limit_passed };
        for (deadline, lost) in
            [(self.total, total_limit_passed as fn() -> Error), (self.stage, idle_limit_passed)]
        {
            match deadline.map(Deadline::left) {
                Some(Duration::ZERO) => return Err(lost()),
                Some(time) if time < left.time => left = Remaining { time, lost },
                _ => {}
            }
        }
        Ok(left)
    }

    /// Waits until the descriptor is ready or has failed.
    pub(crate) async fn wait(&self, fd: &impl AsFd, events: PollFlags) -> Result<()> {
        let left = self.left()?;
        let (deadline, cancel) = (Deadline::after(left.time), self.cancel.as_ref());
        let is_ready = if self.mode == Mode::Thread {
            cancel::wait(Some(fd.as_fd()), events, cancel, deadline)?
        } else {
            wait::ready(self.mode, &[fd.as_fd()], events, cancel, deadline).await?.is_some()
        };
        if is_ready { Ok(()) } else { Err((left.lost)()) }
    }

    /// Calls until the descriptor, which is non-blocking, is ready for it.
    #[cfg(feature = "async")]
    pub(crate) async fn when_ready<Fd: AsFd + std::os::fd::AsRawFd>(
        &self,
        fd: &AsyncFd<Fd>,
        interest: Interest,
        mut call: impl FnMut(&Fd) -> rustix::io::Result<usize>,
    ) -> Result<usize> {
        let left = self.left()?;
        let calls = fd.async_io(interest, |fd| {
            rustix::io::retry_on_intr(|| call(fd)).map_err(std::io::Error::from)
        });
        match task::race(calls, self.cancel.as_ref(), Deadline::after(left.time)).await? {
            Some(done) => done.map_err(|error| Error::io(error).retryable(true)),
            None => Err((left.lost)()),
        }
    }
}

fn idle_limit_passed() -> Error {
    Error::new(ErrorKind::TimedOut, "the server did not answer within the time limit")
}

/// A retry would exceed the total limit as well.
fn total_limit_passed() -> Error {
    Error::new(ErrorKind::TimedOut, "not done within the total time limit").retryable(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_limit_says_whether_a_retry_could_help() {
        let limits = [(1, 30, None), (30, 1, None), (30, 30, Some(1)), (1, 30, Some(30))];
        let retryable = limits.map(|(total, idle, stage)| {
            let after = |s| Deadline::after(Duration::from_secs(s));
            let idle = Duration::from_secs(idle);
            let timeouts = Timeouts {
                mode: Mode::Thread,
                cancel: None,
                idle,
                stage: stage.and_then(after),
                total: after(total),
            };
            let left = timeouts.left().unwrap();
            assert!(left.time <= Duration::from_secs(1));
            (left.lost)().is_retryable()
        });
        assert_eq!(retryable, [false, true, true, false]);
    }
}
