//! The sources of a stream's chunks. A source holds one chunk at a time, in its own memory.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[cfg(feature = "async")]
use bytes::Bytes;
use memmap2::{Mmap, MmapOptions};
use rustix::event::PollFlags;
use rustix::fs::{Stat, fstat, tell};
use rustix::io::Errno;

use crate::buffer::Buffer;
use crate::cancel::{self, Cancel};
use crate::choice::{Choice, SourceKind, buffer_for};
use crate::{Error, ErrorKind, Result};

pub(crate) enum Source {
    Read(Read),
    Map(Map),
    #[cfg(feature = "http")]
    Http(Box<crate::http::Body>),
}

impl Source {
    /// Loads the next chunk, which is never empty; returns false at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        match self {
            Source::Read(source) => source.advance(),
            Source::Map(source) => source.advance(),
            #[cfg(feature = "http")]
            Source::Http(source) => crate::wait::now(source.advance()),
        }
    }

    /// The descriptor of a local source.
    #[cfg_attr(not(feature = "http"), expect(clippy::unnecessary_wraps, reason = "a URL has none"))]
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Source::Read(source) => Some(source.fd()),
            Source::Map(source) => Some(source.fd()),
            #[cfg(feature = "http")]
            Source::Http(_) => None,
        }
    }

    /// The chunk that the last `advance` loaded.
    #[inline]
    pub(crate) fn chunk(&self) -> &[u8] {
        match self {
            Source::Read(source) => source.chunk(),
            Source::Map(source) => source.chunk(),
            #[cfg(feature = "http")]
            Source::Http(source) => source.chunk(),
        }
    }

    /// The chunk from this offset on, which can be kept.
    #[cfg(feature = "async")]
    pub(crate) fn share(&self, from: usize) -> bytes::Bytes {
        match self {
            Source::Read(source) => source.share(from),
            Source::Map(source) => bytes::Bytes::copy_from_slice(&source.chunk()[from..]),
            #[cfg(feature = "http")]
            Source::Http(source) => source.share(from),
        }
    }
}

const PAGE_BYTES: u64 = 4096;

/// A mapped window that moves over a file. Its pages are lent, and unmapped when the window moves
/// on.
pub(crate) struct Map {
    fd: OwnedFd,
    window: Option<Mmap>,
    window_bytes: u64,
    /// The offset of the next window.
    next: u64,
    end: u64,
    cancel: Option<Cancel>,
}

#[expect(unsafe_code, reason = "maps files")]
impl Map {
    /// # Safety
    ///
    /// No process may change or cut the file while this lives.
    pub(crate) unsafe fn new(
        fd: OwnedFd,
        window_bytes: usize,
        position: u64,
        size: u64,
        cancel: Option<Cancel>,
    ) -> Map {
        let window_bytes = (window_bytes as u64).next_multiple_of(PAGE_BYTES).max(PAGE_BYTES);
        Map { fd, window: None, window_bytes, next: position, end: position + size, cancel }
    }

    pub(crate) fn advance(&mut self) -> Result<bool> {
        cancel::check(self.cancel.as_ref())?;
        self.window = None;
        if self.next == self.end {
            return Ok(false);
        }
        let size = fstat(&self.fd).map_err(Error::io)?.st_size as u64;
        if size < self.end {
            let text = format!("the file was cut from {} to {size} bytes", self.end);
            return Err(Error::new(ErrorKind::Truncated, text));
        }
        // Windows end at multiples of their size, so that huge pages can be used.
        let end = (self.next + 1).next_multiple_of(self.window_bytes).min(self.end);
        let mut options = MmapOptions::new();
        options.offset(self.next).len((end - self.next) as usize);
        // SAFETY: the caller of `new` promised that the file is neither changed nor truncated.
        let window = unsafe { options.map(&self.fd) }.map_err(Error::io)?;
        self.window = Some(window);
        self.next = end;
        Ok(true)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(crate) fn chunk(&self) -> &[u8] {
        self.window.as_deref().unwrap_or_default()
    }
}

/// Reads into one buffer that is reused: files, pipes, sockets, devices.
pub(crate) struct Read {
    fd: OwnedFd,
    stat: Stat,
    buffer_bytes: usize,
    /// The buffer is made when it is needed: a copy by the kernel needs none.
    buffer: Option<Buffer>,
    /// The length of the current chunk in the buffer.
    len: usize,
    kind: SourceKind,
    /// The expected end of the file, as known when the stream was opened, and the bytes that are
    /// left to it.
    end: Option<u64>,
    left: u64,
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
        let (buffer, kind, left) = (None, choice.kind, choice.size_bytes.unwrap_or(0));
        Read { fd, stat, buffer_bytes, buffer, len: 0, kind, end, left, cancel }
    }

    pub(crate) fn advance(&mut self) -> Result<bool> {
        cancel::check(self.cancel.as_ref())?;
        // Reads of files return in bounded time; those of all other inputs may block.
        let waits =
            matches!(self.kind, SourceKind::Pipe | SourceKind::Socket | SourceKind::Character);
        if waits && self.cancel.is_some() {
            self.wait()?;
        }
        self.make_buffer();
        loop {
            let buffer = self.buffer.get_or_insert_with(|| Buffer::new(self.buffer_bytes));
            match rustix::io::read(&self.fd, &mut **buffer) {
                Ok(0) => return self.ended(),
                Ok(n) => {
                    self.len = n;
                    self.left = self.left.saturating_sub(n as u64);
                    return Ok(true);
                }
                Err(Errno::INTR) => cancel::check(self.cancel.as_ref())?,
                // Another process that shares the descriptor made it non-blocking.
                Err(Errno::AGAIN) => self.wait()?,
                Err(errno) => return Err(Error::io(errno)),
            }
        }
    }

    /// Makes the buffer: at first not larger than a file needs, so that one call reads all of it.
    /// If that is filled, the file has grown, and the buffer gets the size that was chosen.
    fn make_buffer(&mut self) {
        let is_full = match &self.buffer {
            Some(buffer) if self.len < buffer.len() => return,
            Some(buffer) if buffer.len() >= self.buffer_bytes => return,
            buffer => buffer.is_some(),
        };
        let enough = self.end.map(|_| buffer_for(self.left)).filter(|_| !is_full);
        let len = enough.map_or(self.buffer_bytes, |enough| enough.min(self.buffer_bytes));
        self.buffer = None;
        self.buffer = Some(Buffer::new(len));
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The status of the descriptor when the stream was opened.
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

    /// A file that was truncated while it was read is an error; one that has grown is not. If all
    /// bytes were read that are expected, the system is not asked.
    fn ended(&mut self) -> Result<bool> {
        self.len = 0;
        if let Some(end) = self.end.filter(|_| self.kind != SourceKind::Virtual && self.left > 0) {
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
