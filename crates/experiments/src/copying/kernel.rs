//! What Linux offers for a copy: the calls by which the kernel copies the bytes, as bare loops
//! without any fallback, and `io_uring`.

#![expect(unsafe_code, reason = "lends memory to a pipe, and buffers to io_uring")]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result, ensure};
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use measure::experiment::{Build, Method, Task, skip};
use measure::{clock, counters};
use memmap2::MmapMut;
use model::param::Point;
use rustix::fs::{copy_file_range, sendfile};
use rustix::io::Errno;
use rustix::pipe::{
    IoSliceRaw, PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice, vmsplice,
};

use super::job::{Copying, Cpu, contender, task};

const PIPE_BYTES: usize = 1 << 20;
const STEP_BYTES: usize = 0x7fff_f000;

pub(super) fn methods() -> Vec<Method> {
    let kernel = |name, about, build: Build| contender(name, about, &[], build);
    vec![
        kernel("splice", "splice; through a pipe of 1 MiB where none is given", |point| {
            let is_pipe = |end: &str| point.text(end).map(|kind| kind == "pipe");
            if is_pipe("input")? || is_pipe("output")? {
                return task(point, Splice);
            }
            let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
            let size = fcntl_setpipe_size(&writer, PIPE_BYTES)?;
            task(point, ThroughPipe { reader, writer, size })
        }),
        kernel("sendfile", "sendfile", |point| task(point, Sendfile)).job("input=file"),
        kernel("vmsplice", "read into memory whose pages are lent to the pipe", vmsplicing)
            .job("output=pipe"),
        kernel("copy-file-range", "copy_file_range", |point| task(point, Range))
            .job("input=file output=file"),
    ]
}

/// Two buffers as large as the pipe: when all of one buffer is in the pipe, the pipe no longer
/// refers to the other buffer.
struct Vmsplice {
    buffers: [MmapMut; 2],
}

fn vmsplicing(point: &Point) -> Result<Box<dyn Task>> {
    let buffer = || MmapMut::map_anon(PIPE_BYTES).context("a buffer");
    task(point, Vmsplice { buffers: [buffer()?, buffer()?] })
}

impl Copying for Vmsplice {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        // The pipe refers to the pages of a buffer, so it must not hold more of them than one
        // buffer has.
        let size = fcntl_setpipe_size(&output, PIPE_BYTES)?.min(PIPE_BYTES);
        let mut input = File::from(input);
        for turn in (0..2).cycle() {
            let buffer = &mut self.buffers[turn][..size];
            let mut full = 0;
            while full < size {
                match input.read(&mut buffer[full..])? {
                    0 => break,
                    n => full += n,
                }
            }
            if full == 0 {
                break;
            }
            let mut at = 0;
            while at < full {
                let slice = [IoSliceRaw::from_slice(&buffer[at..full])];
                // SAFETY: the buffer outlives the copy, which ends when the reader has read
                // everything.
                at += unsafe { vmsplice(&output, &slice, SpliceFlags::empty()) }?;
            }
        }
        Ok(None)
    }
}

/// Repeats the call until it transfers no bytes.
fn repeat(mut call: impl FnMut() -> rustix::io::Result<usize>) -> Result<Option<Cpu>> {
    loop {
        match call() {
            Ok(0) => return Ok(None),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::INVAL) => return Err(skip("the kernel refuses it for these kinds")),
            Err(errno) => return Err(errno.into()),
        }
    }
}

struct Splice;

impl Copying for Splice {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        let flags = SpliceFlags::MOVE | SpliceFlags::MORE;
        repeat(|| splice(&input, None, &output, None, STEP_BYTES, flags))
    }
}

struct ThroughPipe {
    reader: OwnedFd,
    writer: OwnedFd,
    size: usize,
}

impl Copying for ThroughPipe {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        let flags = SpliceFlags::MOVE | SpliceFlags::MORE;
        loop {
            let mut held = splice(&input, None, &self.writer, None, self.size, flags)?;
            if held == 0 {
                return Ok(None);
            }
            while held > 0 {
                let n = splice(&self.reader, None, &output, None, held, flags)?;
                ensure!(n > 0, "the output takes nothing");
                held -= n;
            }
        }
    }
}

struct Sendfile;

impl Copying for Sendfile {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        repeat(|| sendfile(&output, &input, None, STEP_BYTES))
    }
}

struct Range;

impl Copying for Range {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        repeat(|| copy_file_range(&input, None, &output, None, STEP_BYTES))
    }
}

/// Chunks that are being read or wait to be written.
const CHUNKS: u64 = 8;
/// The user data of the one write that may be in flight; reads carry the number of their slot.
const WRITE: u64 = u64::MAX;
/// Stands for the descriptor's own position.
const POSITION: u64 = u64::MAX;

/// `io_uring`: several reads in flight, and the write of the next chunk, in one ring.
pub(super) fn uring() -> Method {
    let about = "io_uring, up to 8 reads and one write in flight";
    contender("io-uring", about, &["buffer"], |point| {
        let ring = IoUring::new(CHUNKS as u32 * 2)
            .map_err(|error| skip(format!("the kernel refuses io_uring: {error}")))?;
        let len = point.number("buffer")? as usize;
        let slots =
            (0..CHUNKS).map(|_| CopySlot { buffer: vec![0; len], from: 0, to: 0, full: false });
        let is_file = point.text("input")? == "file";
        let size = is_file.then(|| point.number("size")).transpose()?;
        task(point, UringCopy { ring, slots: slots.collect(), in_flight: 0, size })
    })
}

struct UringCopy {
    ring: IoUring,
    /// Chunk number i uses the slot i % `CHUNKS`.
    slots: Vec<CopySlot>,
    in_flight: u32,
    /// The size of a file. Other inputs have only one read in flight, as their bytes arrive in
    /// order.
    size: Option<u64>,
}

struct CopySlot {
    buffer: Vec<u8>,
    /// The offset of the bytes that are still to be written.
    from: usize,
    to: usize,
    /// Whether the chunk waits to be written.
    full: bool,
}

/// The progress of a copy, in numbers of chunks.
struct CopyProgress {
    submitted: u64,
    read: u64,
    written: u64,
    is_writing: bool,
    /// The number of chunks, once it is known.
    end: Option<u64>,
}

impl Copying for UringCopy {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        let before = clock::own_thread_cpu() + counters::ring_workers_cpu();
        let copied = self.chunks(input.as_raw_fd(), output.as_raw_fd());
        // Until then the kernel may still use the buffers and the descriptors.
        self.settle()?;
        copied?;
        Ok(Some(clock::own_thread_cpu() + counters::ring_workers_cpu() - before))
    }
}

impl UringCopy {
    fn chunks(&mut self, input: RawFd, output: RawFd) -> Result<()> {
        let len = self.slots[0].buffer.len() as u64;
        let end = self.size.map(|size| size.div_ceil(len));
        for slot in &mut self.slots {
            slot.full = false;
        }
        let mut at = CopyProgress { submitted: 0, read: 0, written: 0, is_writing: false, end };
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

    fn wrote(&mut self, output: RawFd, n: usize, at: &mut CopyProgress) -> Result<()> {
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

    fn was_read(
        &mut self,
        input: RawFd,
        slot: usize,
        n: usize,
        at: &mut CopyProgress,
    ) -> Result<()> {
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

impl CopyProgress {
    fn may_ask(&self, is_file: bool) -> bool {
        let is_free = self.submitted - self.written < CHUNKS;
        let in_order = is_file || self.submitted == self.read;
        is_free && in_order && self.end.is_none_or(|end| self.submitted < end)
    }
}

impl Drop for UringCopy {
    fn drop(&mut self) {
        // Something is in flight here only after a panic.
        let _ = self.settle();
    }
}
