//! A mapped window that moves over a file. Its pages are lent, and unmapped when the window moves
//! on.

#![expect(unsafe_code, reason = "maps files")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use memmap2::{Mmap, MmapOptions};
use rustix::fs::fstat;

use crate::cancel::{self, Cancel};
use crate::{Error, ErrorKind, Result};

const PAGE_BYTES: u64 = 4096;

pub(crate) struct Map {
    fd: OwnedFd,
    window: Option<Mmap>,
    window_bytes: u64,
    /// The offset of the next window.
    next: u64,
    end: u64,
    cancel: Option<Cancel>,
}

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
