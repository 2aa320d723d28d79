//! The limits of an operation on a connection, of its time and of the rate at which a body is
//! received, and waiting within them.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::PollFlags;
#[cfg(feature = "async")]
use tokio::io::{Interest, unix::AsyncFd};

use crate::cancel::{self, Cancel, Deadline};
#[cfg(feature = "async")]
use crate::task;
use crate::wait::{self, WaitMode};
use crate::{Error, ErrorKind, Result};

/// The time limits of a connection, and its cancel handle.
#[derive(Clone)]
pub(crate) struct Timeouts {
    pub(crate) mode: WaitMode,
    pub(crate) cancel: Option<Cancel>,
    /// Time without a byte.
    pub(crate) idle: Duration,
    /// The deadline of the current stage.
    pub(crate) stage: Option<Deadline>,
    /// The deadline of the whole stream.
    pub(crate) total: Option<Deadline>,
}

/// The limit that expires first.
pub(crate) struct RemainingTime {
    pub(crate) time: Duration,
    /// The error if the limit expires. It is decided here, not by reading the clock again: the
    /// kernel measures a socket's time limit in ticks, which lag behind the clock on a busy
    /// machine, and may wake up slightly early.
    pub(crate) lost: fn() -> Error,
}

impl Timeouts {
    /// The time left; an error if there is none.
    pub(crate) fn left(&self) -> Result<RemainingTime> {
        cancel::check(self.cancel.as_ref())?;
        let mut left = RemainingTime { time: self.idle, lost: idle_limit_passed };
        for (deadline, lost) in
            [(self.total, total_limit_passed as fn() -> Error), (self.stage, idle_limit_passed)]
        {
            match deadline.map(Deadline::left) {
                Some(Duration::ZERO) => return Err(lost()),
                Some(time) if time < left.time => left = RemainingTime { time, lost },
                _ => {}
            }
        }
        Ok(left)
    }

    /// Waits until the descriptor is ready or has failed.
    pub(crate) async fn wait(&self, fd: &impl AsFd, events: PollFlags) -> Result<()> {
        let left = self.left()?;
        let (deadline, cancel) = (Deadline::after(left.time), self.cancel.as_ref());
        let is_ready = if self.mode == WaitMode::Thread {
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

/// A limit for the rate at which a body is received.
pub(crate) struct RateLimit {
    bytes_per_s: u64,
    /// The time from which more bytes may be received.
    next: Option<Deadline>,
}

impl RateLimit {
    pub(crate) fn new(bytes_per_s: u64) -> RateLimit {
        RateLimit { bytes_per_s, next: None }
    }

    /// The most bytes for one read: those of a tenth of a second, so that they come evenly.
    pub(crate) fn step(&self) -> usize {
        (self.bytes_per_s / 10).clamp(1, 1 << 20) as usize
    }

    pub(crate) fn took(&mut self, bytes: usize) {
        // A reader that is slower than the limit does not catch up later.
        let from = self.next.max(Deadline::after(Duration::ZERO));
        self.next = from.and_then(|from| from.plus(self.time_of(bytes)));
    }

    fn time_of(&self, bytes: usize) -> Duration {
        let ns = bytes as u128 * 1_000_000_000 / u128::from(self.bytes_per_s.max(1));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Waits until the next bytes may be read, or until the total limit.
    pub(crate) async fn wait(
        &self,
        mode: WaitMode,
        cancel: Option<&Cancel>,
        total: Option<Deadline>,
    ) -> Result<()> {
        let Some(next) = self.next else { return Ok(()) };
        let until = total.map_or(next, |total| total.min(next));
        wait::until(mode, cancel, Some(until)).await
    }
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
                mode: WaitMode::Thread,
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

#[cfg(test)]
mod rate_tests {
    use super::*;

    #[test]
    fn bytes_take_their_time() {
        let rate = RateLimit::new(1000);
        assert_eq!((rate.step(), rate.time_of(250)), (100, Duration::from_millis(250)));
        assert_eq!(
            (RateLimit::new(1).step(), RateLimit::new(1).time_of(2)),
            (1, Duration::from_secs(2))
        );
        assert_eq!(RateLimit::new(u64::MAX).time_of(1 << 20), Duration::ZERO);
    }

    #[test]
    fn received_bytes_delay_the_next_read() {
        let mut rate = RateLimit::new(1);
        assert_eq!(rate.next, None);
        rate.took(1000);
        let first = rate.next;
        assert!(first > Deadline::after(Duration::from_secs(500)));
        rate.took(1000);
        assert_eq!(rate.next, first.and_then(|first| first.plus(Duration::from_secs(1000))));
    }
}
