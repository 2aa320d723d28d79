//! Fetches records of a fixed size through `io_uring`: many requests are in flight, and the records
//! are passed on in order.

#![expect(unsafe_code, reason = "the kernel writes into buffers that it was given before")]

use std::io::Error as IoError;
use std::iter::Peekable;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;

use io_uring::{IoUring, opcode, types::Fd};

use super::{FixedFile, IN_FLIGHT, Ranks, next_below};
use crate::input::{Advice, OpenFile, PlainFile, advise, read_exactly};
use crate::sink::{Place, Sink};
use crate::work::ProgressGate;
use crate::{Error, ErrorKind, Result};

/// Each read in flight has a buffer for a record.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// Whether the kernel supports `io_uring` and permits it to this process.
pub(super) fn is_allowed() -> bool {
    static IS_ALLOWED: OnceLock<bool> = OnceLock::new();
    *IS_ALLOWED.get_or_init(|| IoUring::new(1).is_ok())
}

pub(super) fn fetch(
    part: &FixedFile<'_>,
    ranks: &mut Peekable<Ranks<'_>>,
    sink: &mut dyn Sink,
    watch: &ProgressGate,
) -> Result<u64> {
    advise(part.file, 0, None, Advice::Random);
    let mut reads = Reads::new(part.file, part.len)?;
    let (mut reported, mut bytes_read) = (0, 0);
    loop {
        while reads.has_room()
            && let Some(rank) = next_below(ranks, part.base + part.records)
        {
            reads.push(part.offset(rank))?;
        }
        let Some((offset, record)) = reads.next()? else { break };
        sink.piece(record)?;
        sink.end(Place { at: part.start + offset, len: part.len }, false)?;
        bytes_read += part.len;
        watch.advance(offset - reported)?;
        reported = offset;
    }
    watch.advance(part.file.size - reported)?;
    Ok(bytes_read)
}

/// Reads in flight, in the order of submission.
struct Reads<'a> {
    ring: IoUring,
    file: &'a PlainFile,
    fd: Fd,
    /// It keeps the descriptor open.
    _open: OpenFile<'a>,
    /// One buffer for each read in flight, used in turn.
    slots: Vec<ReadSlot>,
    first: usize,
    count: usize,
    /// The buffers that the kernel may still write to.
    in_flight: usize,
}

struct ReadSlot {
    buffer: Box<[u8]>,
    offset: u64,
    /// Completed reads.
    result: Option<i32>,
}

impl<'a> Reads<'a> {
    fn new(file: &'a PlainFile, len: u64) -> Result<Reads<'a>> {
        let ring = IoUring::new(IN_FLIGHT as u32).map_err(refused)?;
        if len > MOST_BYTES {
            let text = "a ring is for records of up to 1 MiB";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        let open = file.handle.get().map_err(refused)?;
        let fd = Fd(open.file().map_err(refused)?.as_raw_fd());
        let slot = || ReadSlot { buffer: vec![0; len as usize].into(), offset: 0, result: None };
        let slots = (0..IN_FLIGHT).map(|_| slot()).collect();
        Ok(Reads { ring, file, fd, _open: open, slots, first: 0, count: 0, in_flight: 0 })
    }

    fn has_room(&self) -> bool {
        self.count < self.slots.len()
    }

    fn push(&mut self, offset: u64) -> Result<()> {
        let number = (self.first + self.count) % self.slots.len();
        let slot = &mut self.slots[number];
        (slot.offset, slot.result) = (offset, None);
        let (buffer, len) = (slot.buffer.as_mut_ptr(), slot.buffer.len() as u32);
        let read = opcode::Read::new(self.fd, buffer, len);
        let entry = read.offset(offset).build().user_data(number as u64);
        // SAFETY: the buffer is neither moved nor accessed before its completion, see `Drop`; the
        // file stays open for longer.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| refused(IoError::from(std::io::ErrorKind::OutOfMemory)))?;
        self.count += 1;
        self.in_flight += 1;
        Ok(())
    }

    /// The record that was requested first, if there is one.
    fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        if self.count == 0 {
            return Ok(None);
        }
        let number = self.first;
        while self.slots[number].result.is_none() {
            self.wait().map_err(refused)?;
        }
        self.first = (self.first + 1) % self.slots.len();
        self.count -= 1;
        let slot = &mut self.slots[number];
        if slot.result != Some(slot.buffer.len() as i32) {
            // A short read, or an error: a plain read returns the rest, or the error.
            read_exactly(self.file, &mut slot.buffer, slot.offset)?;
        }
        Ok(Some((slot.offset, &slot.buffer)))
    }

    /// Submits what was pushed, and waits for at least one completion.
    fn wait(&mut self) -> std::io::Result<()> {
        match self.ring.submit_and_wait(1) {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        for entry in self.ring.completion() {
            self.in_flight -= 1;
            self.slots[entry.user_data() as usize].result = Some(entry.result());
        }
        Ok(())
    }
}

impl Drop for Reads<'_> {
    fn drop(&mut self) {
        while self.in_flight > 0 {
            if self.wait().is_err() {
                // The kernel may still write to the buffer: it is leaked rather than reused.
                std::mem::forget(std::mem::take(&mut self.slots));
                return;
            }
        }
    }
}

fn refused(error: IoError) -> Error {
    Error::caused(ErrorKind::Io, "reading through a ring", error)
}
