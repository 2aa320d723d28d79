//! The ways that only Linux has: what is cached first (`RWF_NOWAIT`), read-ahead, `O_DIRECT` and
//! `io_uring`.

#![expect(unsafe_code, reason = "gives memory to io_uring, and calls readahead(2)")]

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use anyhow::{Context, Result, ensure};
use io_uring::{IoUring, opcode, types};
use measure::experiment::{Method, Task, skip};
use memmap2::MmapMut;
use model::param::Point;
use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use super::contender;
use super::job::{LoadJob, Loaded, Piece, PlacedRange, copying, pieces};
use super::read::{by_threads, read_from, request_bytes};
use crate::shared::PAGE;
use crate::shared::input::Input;

pub(super) fn methods() -> Vec<Method> {
    let direct = |method| Method { bypasses_cache: true, ..method };
    vec![
        contender("readahead", "readahead(2) of what is wanted, then read", &[], |point| {
            build_ahead(point, readahead)
        }),
        contender("willneed", "POSIX_FADV_WILLNEED of what is wanted, then read", &[], |point| {
            build_ahead(point, willneed)
        }),
        contender(
            "preadv2-nowait",
            "preadv2 with RWF_NOWAIT; what is not cached by `threads` threads",
            &["buffer", "threads"],
            build_nowait,
        ),
        direct(contender(
            "direct",
            "O_DIRECT, one request after the other",
            &["buffer"],
            |point| build_direct(point, 1),
        )),
        direct(contender(
            "direct-threads",
            "O_DIRECT by `threads` threads",
            &["buffer", "threads"],
            |point| build_direct(point, point.number("threads")?),
        )),
        contender(
            "io-uring",
            "io_uring, `depth` requests in flight into registered memory",
            &["buffer", "depth"],
            |point| build_uring(point, false),
        ),
        direct(contender(
            "io-uring-direct",
            "the same with O_DIRECT",
            &["buffer", "depth"],
            |point| build_uring(point, true),
        )),
    ]
}

// The kernel is asked to read ahead.

type Ahead = fn(&File, &PlacedRange) -> io::Result<()>;

fn build_ahead(point: &Point, ahead: Ahead) -> Result<Box<dyn Task>> {
    copying(point, |_| {
        Ok(Box::new(move |job: &LoadJob| {
            let file = job.input.open_checked()?;
            for place in &job.places {
                ahead(&file, place).with_context(|| job.input.doing("reading ahead in"))?;
            }
            read_from(&file, job)
        }))
    })
}

fn readahead(file: &File, place: &PlacedRange) -> io::Result<()> {
    // SAFETY: the call takes a descriptor that is open, and numbers.
    let done = unsafe { libc::readahead(file.as_raw_fd(), place.offset as i64, place.len) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn willneed(file: &File, place: &PlacedRange) -> io::Result<()> {
    let len = std::num::NonZeroU64::new(place.len as u64);
    Ok(fadvise(file, place.offset, len, Advice::WillNeed)?)
}

// What is in the page cache is read here, and the rest by threads.

fn build_nowait(point: &Point) -> Result<Box<dyn Task>> {
    let (most, threads) = (request_bytes(point)?, point.number("threads")?);
    copying(point, |job| {
        let file = job.input.open_checked()?;
        if let Err(Errno::OPNOTSUPP | Errno::NOSYS) = cached(&file, &mut [0], 0) {
            return Err(skip("the file system refuses RWF_NOWAIT"));
        }
        Ok(Box::new(move |job: &LoadJob| {
            let file = job.input.open_checked()?;
            let mut memory = job.memory()?;
            let pieces = pieces(job.places.iter().copied(), &mut memory, most);
            read_cached_first(&job.input, &file, pieces, threads)?;
            Ok(Loaded::Memory(memory))
        }))
    })
}

fn read_cached_first(
    input: &Input,
    file: &File,
    pieces: Vec<Piece<'_>>,
    threads: u64,
) -> Result<()> {
    let (send, receive) = mpsc::channel();
    let receive = Mutex::new(receive);
    let left =
        std::iter::from_fn(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv().ok());
    let read = |Piece { offset, bytes }: Piece<'_>| input.read_at(file, bytes, offset);
    thread::scope(|scope| {
        let waiting = scope.spawn(move || by_threads(threads, left, read));
        for Piece { offset, bytes } in pieces {
            let n = match cached(file, bytes, offset) {
                Ok(n) => n,
                Err(Errno::AGAIN | Errno::INTR) => 0,
                Err(error) => return Err(input.failed(offset, error.into())),
            };
            if n < bytes.len() {
                let rest = Piece { offset: offset + n as u64, bytes: &mut bytes[n..] };
                send.send(rest).ok().context("the threads that read have ended")?;
            }
        }
        drop(send);
        waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Reads what can be had without waiting for the device.
fn cached(file: &File, bytes: &mut [u8], offset: u64) -> Result<usize, Errno> {
    preadv2(file, &mut [IoSliceMut::new(bytes)], offset, ReadWriteFlags::NOWAIT)
}

// From the device into the memory, bypassing the page cache.

fn build_direct(point: &Point, threads: u64) -> Result<Box<dyn Task>> {
    let most = request_bytes(point)?;
    copying(point, |job| {
        can_be_direct(job)?;
        Ok(Box::new(move |job: &LoadJob| {
            let file = open(job, true)?;
            let mut memory = job.memory()?;
            let aligned = job.places.iter().map(|place| place.aligned());
            let pieces = pieces(aligned, &mut memory, most);
            let read = |piece: Piece<'_>| read_direct(&job.input, &file, piece);
            if threads == 1 {
                pieces.into_iter().try_for_each(read)?;
            } else {
                by_threads(threads, pieces, read)?;
            }
            Ok(Loaded::Memory(memory))
        }))
    })
}

fn can_be_direct(job: &LoadJob) -> Result<()> {
    let mut block = crate::shared::Buffer::new(PAGE)?;
    job.input.can_be_read_directly(&mut block)
}

fn open(job: &LoadJob, direct: bool) -> Result<File> {
    if !direct {
        return job.input.open_checked();
    }
    let file = job.input.open_direct().with_context(|| job.input.doing("opening"))?;
    job.input.check_size(&file)?;
    Ok(file)
}

/// The last page of the file need not be whole.
fn needed(input: &Input, offset: u64, len: usize) -> usize {
    usize::try_from(input.size - offset).map_or(len, |left| left.min(len))
}

fn read_direct(input: &Input, file: &File, piece: Piece<'_>) -> Result<()> {
    let Piece { offset, bytes } = piece;
    let needed = needed(input, offset, bytes.len());
    let mut done = 0;
    while done < needed {
        let at = offset + done as u64;
        match file.read_at(&mut bytes[done..], at) {
            // No read is possible behind an incomplete block.
            Ok(n) if n.is_multiple_of(PAGE) && n > 0 => done += n,
            Ok(n) if done + n >= needed => break,
            Ok(n) => return Err(input.cut(at + n as u64)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(input.failed(at, error)),
        }
    }
    Ok(())
}

// Several requests in flight in a ring.

/// The kernel takes buffers of at most this size.
const REGISTERED_MAX: usize = 1 << 30;

struct RegisteredRing {
    ring: IoUring,
    depth: usize,
    most: usize,
    direct: bool,
}

fn build_uring(point: &Point, direct: bool) -> Result<Box<dyn Task>> {
    let (most, depth) = (request_bytes(point)?, point.number("depth")?);
    copying(point, |job| {
        if direct {
            can_be_direct(job)?;
        }
        let refused = |error| skip(format!("the kernel refuses io_uring: {error}"));
        let ring = IoUring::new(depth as u32).map_err(refused)?;
        let mut ring = RegisteredRing { ring, depth: depth as usize, most, direct };
        Ok(Box::new(move |job: &LoadJob| ring.load(job)))
    })
}

impl RegisteredRing {
    fn load(&mut self, job: &LoadJob) -> Result<Loaded> {
        let file = open(job, self.direct)?;
        let mut memory = job.memory()?;
        self.register(&mut memory)?;
        let aligned = |place: &PlacedRange| if self.direct { place.aligned() } else { *place };
        let places: Vec<PlacedRange> = job.places.iter().map(aligned).collect();
        let begin = memory.as_ptr() as usize;
        let mut pieces = pieces(places, &mut memory, self.most);
        let mut in_flight = 0;
        let read = self.read(&job.input, &file, &mut pieces, begin, &mut in_flight);
        if in_flight > 0 {
            // The kernel may still write into the memory, so it is never freed.
            std::mem::forget(memory);
            return Err(read.err().context("requests are in flight")?);
        }
        let given_back = self.ring.submitter().unregister_buffers();
        read?;
        given_back.context("taking the memory back from io_uring")?;
        Ok(Loaded::Memory(memory))
    }

    fn register(&self, memory: &mut MmapMut) -> Result<()> {
        let buffer = |part: &mut [u8]| libc::iovec {
            iov_base: part.as_mut_ptr().cast(),
            iov_len: part.len(),
        };
        let buffers: Vec<libc::iovec> = memory.chunks_mut(REGISTERED_MAX).map(buffer).collect();
        // SAFETY: the memory is unmapped only after it was taken back, and when no request is in
        // flight.
        unsafe { self.ring.submitter().register_buffers(&buffers) }.map_err(|error| {
            skip(format!("the kernel refuses to register the memory: {error} (see `ulimit -l`)"))
        })
    }

    /// Reads all pieces into the registered memory, which begins at this address.
    fn read(
        &mut self,
        input: &Input,
        file: &File,
        pieces: &mut [Piece<'_>],
        begin: usize,
        in_flight: &mut usize,
    ) -> Result<()> {
        let mut next = 0;
        let mut failed = None;
        loop {
            while *in_flight < self.depth && next < pieces.len() && failed.is_none() {
                self.push(file, &mut pieces[next], begin, next as u64)
                    .with_context(|| input.doing("queueing a read of"))?;
                next += 1;
                *in_flight += 1;
            }
            if *in_flight == 0 {
                return failed.map_or(Ok(()), Err);
            }
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    return Err(error).with_context(|| input.doing("submitting reads of"));
                }
                _ => {}
            }
            for entry in self.ring.completion() {
                *in_flight -= 1;
                let piece = &mut pieces[entry.user_data() as usize];
                let done = complete(input, file, piece, entry.result(), self.direct);
                failed = failed.or(done.err());
            }
        }
    }

    fn push(
        &mut self,
        file: &File,
        piece: &mut Piece<'_>,
        begin: usize,
        number: u64,
    ) -> Result<()> {
        let (file, len) = (types::Fd(file.as_raw_fd()), piece.bytes.len());
        let bytes = piece.bytes.as_mut_ptr();
        let start = bytes as usize - begin;
        let [first, last] = [start, start + len - 1].map(|at| at / REGISTERED_MAX);
        let read = if first == last {
            let read = opcode::ReadFixed::new(file, bytes, len as u32, first as u16);
            read.offset(piece.offset).build()
        } else {
            opcode::Read::new(file, bytes, len as u32).offset(piece.offset).build()
        };
        // SAFETY: until the read has completed, the memory is not accessed and the file is not
        // closed.
        unsafe { self.ring.submission().push(&read.user_data(number)) }?;
        Ok(())
    }
}

/// Reads what a short read has left.
fn complete(
    input: &Input,
    file: &File,
    piece: &mut Piece<'_>,
    result: i32,
    direct: bool,
) -> Result<()> {
    let offset = piece.offset;
    let done = match result {
        // The rest is all of it.
        _ if [-libc::EINTR, -libc::EAGAIN].contains(&result) => 0,
        result => usize::try_from(result)
            .map_err(|_| input.failed(offset, io::Error::from_raw_os_error(-result)))?,
    };
    let at = offset + done as u64;
    if !direct {
        return input.read_at(file, &mut piece.bytes[done..], at);
    }
    if done >= needed(input, offset, piece.bytes.len()) {
        return Ok(());
    }
    ensure!(done.is_multiple_of(PAGE), input.cut(at));
    read_direct(input, file, Piece { offset: at, bytes: &mut piece.bytes[done..] })
}
