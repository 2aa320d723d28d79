//! The ring into which the kernel writes the events of a CPU; see `perf_event_open(2)`, "MMAP
//! layout".
#![expect(unsafe_code, reason = "memory that the kernel writes to has no safe form")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// Offsets, in the page before the ring, of the positions up to which the kernel has written and
/// the lab has read.
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// `_IO('$', 5)` of `linux/perf_event.h`.
const SET_OUTPUT: Request = 0x2405;
#[cfg(target_os = "linux")]
type Request = libc::Ioctl;
#[cfg(not(target_os = "linux"))]
type Request = libc::c_ulong;

pub(crate) struct Ring {
    /// The page before the ring.
    start: NonNull<u8>,
    page_bytes: usize,
    /// A power of two.
    data_bytes: usize,
    /// The events that write to this ring; the first one owns it.
    events: Vec<OwnedFd>,
}

impl Ring {
    /// A ring for this event, with the largest of these sizes that the kernel grants.
    pub(crate) fn new(event: OwnedFd, sizes_bytes: &[usize]) -> io::Result<Ring> {
        let page_bytes = rustix::param::page_size();
        let mut refused = io::Error::from(io::ErrorKind::InvalidInput);
        for &data_bytes in sizes_bytes {
            match map(event.as_fd(), page_bytes + data_bytes) {
                Ok(start) => {
                    return Ok(Ring { start, page_bytes, data_bytes, events: vec![event] });
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Redirects another event of the same CPU to this ring.
    pub(crate) fn add(&mut self, event: OwnedFd) -> io::Result<()> {
        let Some(owner) = self.events.first() else { return Ok(()) };
        // SAFETY: both descriptors are open, and the call takes only numbers.
        let status = unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT, owner.as_raw_fd()) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        self.events.push(event);
        Ok(())
    }

    /// Moves all available data to the end of `out`.
    pub(crate) fn drain(&mut self, out: &mut Vec<u8>) {
        // The data up to the head is visible once the head is.
        let head = self.counter(HEAD).load(Ordering::Acquire);
        let tail = self.counter(TAIL).load(Ordering::Relaxed);
        let len = (head.wrapping_sub(tail) as usize).min(self.data_bytes);
        let from = tail as usize & (self.data_bytes - 1);
        let first = len.min(self.data_bytes - from);
        self.copy(from, first, out);
        self.copy(0, len - first, out);
        // From here on the kernel may overwrite the data.
        self.counter(TAIL).store(head, Ordering::Release);
    }

    fn counter(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: both offsets are in the first page of the mapping, which lives as long as `self`.
        let place = unsafe { self.start.add(offset) }.cast::<u64>();
        // SAFETY: the address is aligned, and the kernel also accesses it only atomically.
        unsafe { AtomicU64::from_ptr(place.as_ptr()) }
    }

    fn copy(&self, from: usize, len: usize, out: &mut Vec<u8>) {
        let end = out.len();
        out.resize(end + len, 0);
        // SAFETY: `from + len` is at most the length of the ring, which follows the first page.
        let source = unsafe { self.start.add(self.page_bytes + from) };
        // SAFETY: both are valid for `len` bytes and do not overlap, and the kernel does not write
        // between the tail and the head.
        unsafe { ptr::copy_nonoverlapping(source.as_ptr(), out[end..].as_mut_ptr(), len) };
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let len = self.page_bytes + self.data_bytes;
        // SAFETY: it was mapped with this length, and no reference to it exists any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), len) };
    }
}

fn map(event: BorrowedFd<'_>, len: usize) -> io::Result<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let start =
        unsafe { libc::mmap(ptr::null_mut(), len, access, libc::MAP_SHARED, event.as_raw_fd(), 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at 0"))
}
