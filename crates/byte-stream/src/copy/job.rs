//! The state of a copy that is under way, and waiting for its two ends.

use std::os::fd::BorrowedFd;

use rustix::event::PollFlags;

#[cfg(target_os = "linux")]
use super::output::Pipe;
use crate::buffer::Buffer;
use crate::cancel::{self, Cancel};
use crate::progress::{OnProgress, Progress};
use crate::{Error, Result};

/// The largest step if there is a progress callback or a cancel handle.
pub(super) const STEP: usize = 16 << 20;
/// The largest step otherwise: the kernel's own limit, in whole pages (`MAX_RW_COUNT`).
pub(super) const STEP_MAX: usize = 0x7fff_f000;

/// A copy under way.
pub(super) struct Job<'a> {
    pub(super) input: BorrowedFd<'a>,
    pub(super) output: BorrowedFd<'a>,
    /// An empty pipe to splice through, if there is one.
    #[cfg(target_os = "linux")]
    pub(super) pipe: &'a mut Option<Pipe>,
    /// The buffer of an earlier copy, if there is one.
    pub(super) buffer: &'a mut Option<Buffer>,
    /// Bytes that have reached the output.
    pub(super) done: u64,
    pub(super) total: Option<u64>,
    /// Bytes still to be copied, if not all.
    pub(super) left: u64,
    pub(super) step: usize,
    pub(super) ends_at_size: bool,
    pub(super) waits: bool,
    #[cfg(target_os = "linux")]
    pub(super) from_socket: bool,
    pub(super) on_progress: Option<&'a mut OnProgress>,
    pub(super) cancel: Option<&'a Cancel>,
}

/// How an attempt ended that did not fail.
#[derive(Debug, PartialEq)]
pub(super) enum Attempt {
    /// The end of the input, or of the requested bytes, was reached.
    Finished,
    /// The kernel does not support the method here; all bytes taken from the input have reached the
    /// output.
    Refused,
}

impl Job<'_> {
    /// The size of the next call; 0 when all requested bytes are copied.
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
