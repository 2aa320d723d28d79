//! The ways to read that only Linux has: `io_uring` and `O_DIRECT`.

#![expect(unsafe_code, reason = "gives buffers to io_uring")]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result, ensure};
use io_uring::{IoUring, opcode, types};
use measure::experiment::{Method, Task, skip};
use model::param::Point;

use super::fold::Fold;
use super::source::{Input, Source, contender, reading};
use crate::shared::{Buffer, PAGE};

/// Several reads in flight into registered buffers, passed on in the order of the file.
pub(super) fn uring() -> Method {
    let about = "io_uring, `depth` reads in flight into registered buffers";
    contender("io-uring", about, &["buffer", "depth"], build_uring)
}

fn build_uring(point: &Point) -> Result<Box<dyn Task>> {
    reading(point, |input| UringRead::new(point, input))
}

struct UringRead {
    input: Input,
    ring: IoUring,
    /// Chunk number i uses the slot i % len.
    slots: Vec<ReadSlot>,
}

struct ReadSlot {
    buffer: Buffer,
    /// The result from the kernel; `None` while the read is in flight.
    result: Option<i32>,
}

impl Source for UringRead {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        ensure!(!self.slots.is_empty(), "io_uring has failed before");
        let file = self.input.open_checked()?;
        let done = self.fold_file(&file, fold);
        self.drain()?;
        done
    }
}

impl UringRead {
    fn new(point: &Point, input: Input) -> Result<UringRead> {
        let depth = point.number("depth")?.clamp(1, 4096);
        let ring = IoUring::new(depth as u32)
            .map_err(|error| skip(format!("the kernel refuses io_uring: {error}")))?;
        let slot = || Ok(ReadSlot { buffer: Buffer::from_point(point)?, result: Some(0) });
        let mut slots: Vec<ReadSlot> = (0..depth).map(|_| slot()).collect::<Result<_>>()?;
        register(&ring, &mut slots)?;
        Ok(UringRead { input, ring, slots })
    }

    fn fold_file<F: Fold>(&mut self, file: &File, fold: &mut F) -> Result<()> {
        let (depth, len) = (self.slots.len() as u64, self.slots[0].buffer.len() as u64);
        let chunks = self.input.size.div_ceil(len);
        let mut submitted = 0;
        for chunk in 0..chunks {
            while submitted < chunks.min(chunk + depth) {
                self.ask(file, submitted * len, (submitted % depth) as usize)?;
                submitted += 1;
            }
            let slot = (chunk % depth) as usize;
            let result = self.wait_for(slot)?;
            let n = self.complete(file, chunk * len, slot, result)?;
            fold.chunk(&self.slots[slot].buffer[..n]);
        }
        Ok(())
    }

    /// The length of the chunk at this offset.
    fn want(&self, offset: u64) -> usize {
        let len = self.slots[0].buffer.len();
        usize::try_from(self.input.size - offset).map_or(len, |left| left.min(len))
    }

    /// Queues the read of the chunk at this offset.
    fn ask(&mut self, file: &File, offset: u64, slot: usize) -> Result<()> {
        let want = self.want(offset) as u32;
        let buffer = self.slots[slot].buffer.as_mut_ptr();
        let read = opcode::ReadFixed::new(types::Fd(file.as_raw_fd()), buffer, want, slot as u16)
            .offset(offset)
            .build()
            .user_data(slot as u64);
        // SAFETY: until the read has completed, the buffer is not accessed and the file is not
        // closed.
        unsafe { self.ring.submission().push(&read) }
            .with_context(|| self.input.doing("queueing a read of"))?;
        self.slots[slot].result = None;
        Ok(())
    }

    /// Submits the queued reads, and returns the result of the read in this slot.
    fn wait_for(&mut self, slot: usize) -> Result<i32> {
        loop {
            self.collect();
            let result = self.slots[slot].result;
            if result.is_none() || !self.ring.submission().is_empty() {
                self.submit(usize::from(result.is_none()))?;
            }
            if let Some(result) = result {
                return Ok(result);
            }
        }
    }

    fn submit(&mut self, wait: usize) -> Result<()> {
        match self.ring.submit_and_wait(wait) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(error).with_context(|| self.input.doing("submitting reads of"))
            }
            _ => Ok(()),
        }
    }

    /// Records the results that have arrived.
    fn collect(&mut self) {
        for entry in self.ring.completion() {
            self.slots[entry.user_data() as usize].result = Some(entry.result());
        }
    }

    /// Completes a chunk after a short read, and returns its length.
    fn complete(&mut self, file: &File, offset: u64, slot: usize, result: i32) -> Result<usize> {
        let want = self.want(offset);
        let mut n = usize::try_from(result)
            .map_err(|_| self.input.failed(offset, io::Error::from_raw_os_error(-result)))?;
        while n < want {
            let at = offset + n as u64;
            match file.read_at(&mut self.slots[slot].buffer[n..want], at) {
                Ok(0) => self.input.ended(at)?,
                Ok(more) => n += more,
                Err(error) => return Err(self.input.failed(at, error)),
            }
        }
        Ok(n)
    }

    /// Waits until the kernel no longer writes into any buffer.
    fn drain(&mut self) -> Result<()> {
        while self.slots.iter().any(|slot| slot.result.is_none()) {
            if let Err(error) = self.submit(1) {
                // The kernel may still write into the buffers, so they are never freed.
                std::mem::forget(std::mem::take(&mut self.slots));
                return Err(error);
            }
            self.collect();
        }
        Ok(())
    }
}

impl Drop for UringRead {
    fn drop(&mut self) {
        // Reads are in flight here only after a panic.
        let _ = self.drain();
    }
}

fn register(ring: &IoUring, slots: &mut [ReadSlot]) -> Result<()> {
    let buffers: Vec<libc::iovec> = slots
        .iter_mut()
        .map(|ReadSlot { buffer, .. }| libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        })
        .collect();
    // SAFETY: the buffers are never resized, and `drain` ends all reads before they are freed.
    unsafe { ring.submitter().register_buffers(&buffers) }.map_err(|error| {
        skip(format!("the kernel refuses to register the buffers: {error} (see `ulimit -l`)"))
    })
}

/// `O_DIRECT`: from the device into the buffer, bypassing the page cache.
pub(super) fn direct() -> Method {
    let about = "O_DIRECT into an aligned buffer";
    let method = contender("direct", about, &["buffer"], build_direct);
    Method { bypasses_cache: true, ..method }
}

struct Direct {
    input: Input,
    buffer: Buffer,
}

fn build_direct(point: &Point) -> Result<Box<dyn Task>> {
    reading(point, |input| Direct::new(point, input))
}

impl Direct {
    fn new(point: &Point, input: Input) -> Result<Direct> {
        let buffer = Buffer::new(Buffer::from_point(point)?.len().next_multiple_of(PAGE))?;
        let mut direct = Direct { input, buffer };
        direct.input.can_be_read_directly(&mut direct.buffer[..PAGE])?;
        Ok(direct)
    }
}

impl Source for Direct {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let file = self.input.open_direct().with_context(|| self.input.doing("opening"))?;
        self.input.check_size(&file)?;
        self.fold_file(&file, fold)
    }
}

impl Direct {
    fn fold_file<F: Fold>(&mut self, mut file: &File, fold: &mut F) -> Result<()> {
        let (input, buffer) = (&self.input, &mut self.buffer);
        let mut offset = 0;
        loop {
            let n = file.read(buffer).map_err(|error| input.failed(offset, error))?;
            fold.chunk(&buffer[..n]);
            offset = input.advanced(offset, n)?;
            // No read is possible behind an incomplete last block: offsets, lengths and addresses
            // must be multiples of the block size of the device (open(2)), and a page is such a
            // multiple.
            if n == 0 || !n.is_multiple_of(PAGE) {
                return input.ended(offset);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::fold::Sum;
    use crate::reading::tests::{check_cut, cut_file};

    #[test]
    fn a_file_that_is_cut_while_it_is_read_is_an_error() {
        let (_dir, point, input, file) = cut_file();
        match UringRead::new(&point, input) {
            Ok(mut uring) => {
                check_cut(uring.fold_file(&file, &mut Sum::at(0)));
                uring.drain().unwrap();
            }
            Err(error) => assert!(error.is::<measure::experiment::Skip>(), "{error:#}"),
        }
    }
}

#[cfg(test)]
mod direct_tests {
    use measure::experiment::Skip;

    use super::*;
    use crate::reading::fold::Sum;
    use crate::reading::tests::{check_cut, cut_file};

    #[test]
    fn a_file_that_is_cut_while_it_is_read_is_an_error() {
        let (_dir, point, input, file) = cut_file();
        match Direct::new(&point, input) {
            Ok(mut direct) => check_cut(direct.fold_file(&file, &mut Sum::at(0))),
            Err(error) => assert!(error.is::<Skip>(), "{error:#}"),
        }
    }

    #[test]
    fn a_file_on_tmpfs_skips_the_method() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let mut point = Point::default();
        point.set("size", 5000u64);
        point.set("buffer", 4096u64);
        let path = dir.path().join("file");
        std::fs::write(&path, [7; 5000]).unwrap();
        let error = Direct::new(&point, Input { path, size: 5000 }).err().expect("an error");
        assert!(error.is::<Skip>(), "{error:#}");
    }
}
