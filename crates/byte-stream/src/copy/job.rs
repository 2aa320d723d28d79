//! A copy under way: what is left of it, and the waiting for its two ends.

use std::os::fd::BorrowedFd;

use rustix::event::PollFlags;

use crate::cancel::{self, Cancel};
use crate::progress::{OnProgress, Progress};
use crate::{Error, Result};

/// With progress or the wish to cancel, no call moves more.
pub(super) const STEP: usize = 16 << 20;
/// Else no call moves more: the kernel's own limit, in whole pages (`MAX_RW_COUNT`).
pub(super) const STEP_MAX: usize = 0x7fff_f000;

/// A copy under way.
pub(super) struct Job<'a> {
    pub(super) input: BorrowedFd<'a>,
    pub(super) output: BorrowedFd<'a>,
    /// Bytes that have reached the output.
    pub(super) done: u64,
    pub(super) total: Option<u64>,
    /// Bytes still to be copied, if that is not all.
    pub(super) left: u64,
    pub(super) step: usize,
    pub(super) waits: bool,
    #[cfg(target_os = "linux")]
    pub(super) from_socket: bool,
    pub(super) on_progress: Option<&'a mut OnProgress>,
    pub(super) cancel: Option<&'a Cancel>,
}

/// How an attempt ended, when it did not fail.
#[derive(Debug, PartialEq)]
pub(super) enum Attempt {
    /// At the end of the input, or of what was asked for.
    Finished,
    /// The kernel does not do it so; every byte taken from the input has reached the output.
    Refused,
}

impl Job<'_> {
    /// How much the next call may move; 0 when all that was asked for is done.
    pub(super) fn next_step(&mut self) -> Result<usize> {
        cancel::check(self.cancel)?;
        let step = self.left.min(self.step as u64) as usize;
        if self.waits && step > 0 {
            self.wait_input()?;
        }
        Ok(step)
    }

    pub(super) fn advanced(&mut self, n: usize) {
        self.done += n as u64;
        self.left -= n as u64;
        if let Some(on_progress) = &mut self.on_progress {
            on_progress(Progress { done_bytes: self.done, total_bytes: self.total });
        }
    }

    pub(super) fn wait_input(&self) -> Result<()> {
        cancel::wait(Some(self.input), PollFlags::IN, self.cancel, None).map(drop)
    }

    pub(super) fn wait_output(&self) -> Result<()> {
        let waited = cancel::wait(Some(self.output), PollFlags::OUT, self.cancel, None);
        waited.map(drop).map_err(Error::of_output)
    }
}
