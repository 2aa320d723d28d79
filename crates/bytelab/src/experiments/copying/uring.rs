//! `io_uring`: several reads in flight, and the write of the next chunk, in one ring.

#![expect(unsafe_code, reason = "gives buffers to io_uring")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result, ensure};
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use lab::experiment::{Method, skip};
use lab::{clock, counters};

use super::job::{Copying, Cpu, contender, task};

/// Chunks that are being read or wait to be written.
const CHUNKS: u64 = 8;
/// The user data of the one write that may be in flight; reads carry the number of their slot.
const WRITE: u64 = u64::MAX;
/// Stands for the descriptor's own position.
const POSITION: u64 = u64::MAX;

pub(super) fn method() -> Method {
    let about = "io_uring, up to 8 reads and one write in flight";
    contender("io-uring", about, &["buffer"], |point| {
        let ring = IoUring::new(CHUNKS as u32 * 2)
            .map_err(|error| skip(format!("the kernel refuses io_uring: {error}")))?;
        let len = point.number("buffer")? as usize;
        let slots = (0..CHUNKS).map(|_| Slot { buffer: vec![0; len], from: 0, to: 0, full: false });
        let is_file = point.text("input")? == "file";
        let size = is_file.then(|| point.number("size")).transpose()?;
        task(point, Uring { ring, slots: slots.collect(), in_flight: 0, size })
    })
}

struct Uring {
    ring: IoUring,
    /// Chunk number i uses the slot i % `CHUNKS`.
    slots: Vec<Slot>,
    in_flight: u32,
    /// The size of a file. Other inputs have only one read in flight, as their bytes arrive in
    /// order.
    size: Option<u64>,
}

struct Slot {
    buffer: Vec<u8>,
    /// The offset of the bytes that are still to be written.
    from: usize,
    to: usize,
    /// Whether the chunk waits to be written.
    full: bool,
}

/// The progress of a copy, in numbers of chunks.
struct Progress {
    submitted: u64,
    read: u64,
    written: u64,
    is_writing: bool,
    /// The number of chunks, once it is known.
    end: Option<u64>,
}

impl Copying for Uring {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        let before = clock::own_thread_cpu() + counters::ring_workers_cpu();
        let copied = self.chunks(input.as_raw_fd(), output.as_raw_fd());
        // Until then the kernel may still use the buffers and the descriptors.
        self.settle()?;
        copied?;
        Ok(Some(clock::own_thread_cpu() + counters::ring_workers_cpu() - before))
    }
}

impl Uring {
    fn chunks(&mut self, input: RawFd, output: RawFd) -> Result<()> {
        let len = self.slots[0].buffer.len() as u64;
        let end = self.size.map(|size| size.div_ceil(len));
        for slot in &mut self.slots {
            slot.full = false;
        }
        let mut at = Progress { submitted: 0, read: 0, written: 0, is_writing: false, end };
        while Some(at.written) != at.end {
            while at.may_ask(self.size.is_some()) {
                let slot = (at.submitted % CHUNKS) as usize;
                self.slots[slot].to = 0;
                self.read(input, slot, self.size.map(|_| at.submitted * len))?;
                at.submitted += 1;
            }
            let turn = (at.written % CHUNKS) as usize;
            if self.slots[turn].full && !at.is_writing {
                self.write(output, turn)?;
                at.is_writing = true;
            }
            self.wait()?;
            while let Some(entry) = self.completed() {
                self.in_flight -= 1;
                let result = entry.result();
                ensure!(result >= 0, io::Error::from_raw_os_error(-result));
                if entry.user_data() == WRITE {
                    self.wrote(output, result as usize, &mut at)?;
                } else {
                    self.was_read(input, entry.user_data() as usize, result as usize, &mut at)?;
                }
            }
        }
        Ok(())
    }

    fn wrote(&mut self, output: RawFd, n: usize, at: &mut Progress) -> Result<()> {
        let turn = (at.written % CHUNKS) as usize;
        self.slots[turn].from += n;
        if self.slots[turn].from < self.slots[turn].to {
            ensure!(n > 0, "the output takes nothing");
            return self.write(output, turn);
        }
        self.slots[turn].full = false;
        at.written += 1;
        at.is_writing = false;
        Ok(())
    }

    fn was_read(&mut self, input: RawFd, slot: usize, n: usize, at: &mut Progress) -> Result<()> {
        let Some(size) = self.size else {
            if n == 0 {
                at.end = Some(at.read);
            } else {
                self.fill(slot, n);
                at.read += 1;
            }
            return Ok(());
        };
        // The chunk of this slot that is neither written nor being read again.
        let len = self.slots[slot].buffer.len() as u64;
        let turn = at.written % CHUNKS;
        let chunk = at.written + (slot as u64 + CHUNKS - turn) % CHUNKS;
        let offset = chunk * len;
        let to = self.slots[slot].to + n;
        if to as u64 == len.min(size - offset) {
            self.fill(slot, to);
            return Ok(());
        }
        ensure!(n > 0, "the file was cut at {}", offset + to as u64);
        self.slots[slot].to = to;
        self.read(input, slot, Some(offset + to as u64))
    }

    fn fill(&mut self, slot: usize, to: usize) {
        let slot = &mut self.slots[slot];
        (slot.from, slot.to, slot.full) = (0, to, true);
    }

    /// Reads behind the bytes that the slot already has.
    fn read(&mut self, input: RawFd, slot: usize, offset: Option<u64>) -> Result<()> {
        let room = &mut self.slots[slot];
        let rest = &mut room.buffer[room.to..];
        let read = opcode::Read::new(types::Fd(input), rest.as_mut_ptr(), rest.len() as u32);
        self.push(&read.offset(offset.unwrap_or(POSITION)).build().user_data(slot as u64))
    }

    fn write(&mut self, output: RawFd, slot: usize) -> Result<()> {
        let chunk = &self.slots[slot];
        let rest = &chunk.buffer[chunk.from..chunk.to];
        let write = opcode::Write::new(types::Fd(output), rest.as_ptr(), rest.len() as u32);
        self.push(&write.offset(POSITION).build().user_data(WRITE))
    }

    fn push(&mut self, entry: &squeue::Entry) -> Result<()> {
        // SAFETY: until it has completed, the buffer is neither accessed nor freed, and no
        // descriptor is closed.
        unsafe { self.ring.submission().push(entry) }.context("the ring is full")?;
        self.in_flight += 1;
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        match self.ring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(error).context("waiting for the ring")
            }
            _ => Ok(()),
        }
    }

    fn completed(&mut self) -> Option<cqueue::Entry> {
        self.ring.completion().next()
    }

    /// Waits until nothing is in flight.
    fn settle(&mut self) -> Result<()> {
        while self.in_flight > 0 {
            if let Err(error) = self.wait() {
                // The kernel may still write into the buffers, so they are never freed.
                std::mem::forget(std::mem::take(&mut self.slots));
                return Err(error);
            }
            self.in_flight -= self.ring.completion().count() as u32;
        }
        Ok(())
    }
}

impl Progress {
    fn may_ask(&self, is_file: bool) -> bool {
        let is_free = self.submitted - self.written < CHUNKS;
        let in_order = is_file || self.submitted == self.read;
        is_free && in_order && self.end.is_none_or(|end| self.submitted < end)
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // Something is in flight here only after a panic.
        let _ = self.settle();
    }
}
