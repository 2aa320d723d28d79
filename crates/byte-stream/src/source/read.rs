//! Reads into one buffer that is reused: files, pipes, sockets, devices.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[cfg(feature = "async")]
use bytes::Bytes;
use rustix::event::PollFlags;
use rustix::fs::{Stat, fstat, tell};
use rustix::io::Errno;

use crate::buffer::Buffer;
use crate::cancel::{self, Cancel};
use crate::choice::{Choice, Kind};
use crate::{Error, ErrorKind, Result};

pub(crate) struct Read {
    fd: OwnedFd,
    stat: Stat,
    buffer_bytes: usize,
    /// It is made when it is needed: a copy by the kernel needs none.
    buffer: Option<Buffer>,
    /// The length of the current chunk in the buffer.
    len: usize,
    kind: Kind,
    /// The expected end of the file, as known when the stream was opened.
    end: Option<u64>,
    cancel: Option<Cancel>,
}

impl Read {
    pub(crate) fn new(
        fd: OwnedFd,
        stat: Stat,
        buffer_bytes: usize,
        choice: &Choice,
        position: u64,
        cancel: Option<Cancel>,
    ) -> Read {
        #[cfg(target_os = "linux")]
        if choice.cached == crate::Cached::No {
            // Doubles the read-ahead; a refusal is harmless.
            let _ = rustix::fs::fadvise(&fd, position, None, rustix::fs::Advice::Sequential);
        }
        let end = choice.size_bytes.map(|size| position + size);
        let (buffer, kind) = (None, choice.kind);
        Read { fd, stat, buffer_bytes, buffer, len: 0, kind, end, cancel }
    }

    pub(crate) fn advance(&mut self) -> Result<bool> {
        cancel::check(self.cancel.as_ref())?;
        // Reads of files return in bounded time; those of all other inputs may block.
        let waits = matches!(self.kind, Kind::Pipe | Kind::Socket | Kind::Character);
        if waits && self.cancel.is_some() {
            self.wait()?;
        }
        loop {
            let buffer = self.buffer.get_or_insert_with(|| Buffer::new(self.buffer_bytes));
            match rustix::io::read(&self.fd, &mut **buffer) {
                Ok(0) => return self.ended(),
                Ok(n) => {
                    self.len = n;
                    return Ok(true);
                }
                Err(Errno::INTR) => cancel::check(self.cancel.as_ref())?,
                // Another process that shares the descriptor made it non-blocking.
                Err(Errno::AGAIN) => self.wait()?,
                Err(errno) => return Err(Error::io(errno)),
            }
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// As it was when the stream was opened.
    pub(crate) fn stat(&self) -> Stat {
        self.stat
    }

    pub(crate) fn chunk(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer[..self.len])
    }

    #[cfg(feature = "async")]
    pub(crate) fn share(&self, from: usize) -> Bytes {
        self.buffer.as_ref().map_or(Bytes::new(), |buffer| buffer.share(from..self.len))
    }

    fn wait(&self) -> Result<()> {
        cancel::wait(Some(self.fd.as_fd()), PollFlags::IN, self.cancel.as_ref(), None).map(drop)
    }

    /// A file that was truncated while it was read is an error; one that has grown is not.
    fn ended(&mut self) -> Result<bool> {
        self.len = 0;
        if let Some(end) = self.end.filter(|_| self.kind != Kind::Virtual) {
            let here = tell(&self.fd).map_err(Error::io)?;
            let size = fstat(&self.fd).map_err(Error::io)?.st_size as u64;
            if here < end && size < end {
                let text = format!("the file was cut from {end} to {size} bytes while it was read");
                return Err(Error::new(ErrorKind::Truncated, text));
            }
        }
        Ok(false)
    }
}
