//! The bytes are copied through the program's own memory.

#![expect(unsafe_code, reason = "maps files")]

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::sync_channel;

use anyhow::{Context, Result};
use measure::clock;
use measure::experiment::{Build, Method};
use memmap2::MmapOptions;

use super::job::{Copying, Cpu, contender, task};

/// The number of bytes that `mmap-write` maps and writes at a time.
const WINDOW: u64 = 2 << 20;
/// The number of buffers that two threads pass to each other.
const BUFFERS: usize = 4;

pub(super) fn methods() -> Vec<Method> {
    let buffered = |name, about, build: Build| contender(name, about, &["buffer"], build);
    vec![
        buffered("read-write", "read into one buffer, write out of it", |point| {
            let start = page_start(point.number("buffer")? as usize);
            task(
                point,
                OneBuffer { memory: start.0, at: start.1, len: point.number("buffer")? as usize },
            )
        }),
        buffered("fresh", "a new buffer for each chunk", |point| {
            task(point, NewChunks { len: point.number("buffer")? as usize, trims: false })
        }),
        buffered("trim-copy", "a new buffer for each chunk, copied to one that fits", |point| {
            task(point, NewChunks { len: point.number("buffer")? as usize, trims: true })
        }),
        buffered("two-threads", "one thread reads, one writes", |point| {
            task(point, TwoThreads(point.number("buffer")? as usize))
        }),
        buffered("lazy-list", "a list of new chunks, each read when it is looked at", |point| {
            task(point, LazyList(point.number("buffer")? as usize))
        }),
        contender("whole", "read_to_end into a new Vec, then write", &[], |point| {
            task(point, CopyWhole)
        }),
        contender("io-copy", "std::io::copy", &[], |point| task(point, IoCopy)),
        contender(
            "mmap-write",
            "the file mapped in windows of 2 MiB, then written",
            &[],
            |point| task(point, MapWrite),
        )
        .job("input=file"),
    ]
}

/// Memory for `len` bytes from the start of a page, and the offset of that page.
fn page_start(len: usize) -> (Vec<u8>, usize) {
    let memory = vec![0; len + 4096];
    let at = memory.as_ptr().align_offset(4096);
    (memory, at)
}

struct OneBuffer {
    memory: Vec<u8>,
    at: usize,
    len: usize,
}

impl Copying for OneBuffer {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        let (mut input, mut output) = (File::from(input), File::from(output));
        let buffer = &mut self.memory[self.at..self.at + self.len];
        loop {
            match input.read(buffer)? {
                0 => return Ok(None),
                n => output.write_all(&buffer[..n])?,
            }
        }
    }

    fn counts(&self, _: u64) -> Vec<(&'static str, f64)> {
        vec![(COPIED, 0.0)]
    }
}

/// The bytes that are copied from one buffer of the program to another.
const COPIED: &str = "copied_bytes";

struct NewChunks {
    len: usize,
    /// The way in which Haskell's `ByteString` worked when it was studied.
    trims: bool,
}

impl Copying for NewChunks {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        let (mut input, mut output) = (File::from(input), File::from(output));
        loop {
            let mut buffer = vec![0; self.len];
            match input.read(&mut buffer)? {
                0 => return Ok(None),
                n if self.trims => output.write_all(&black_box(buffer[..n].to_vec()))?,
                n => output.write_all(&buffer[..n])?,
            }
        }
    }

    fn counts(&self, size: u64) -> Vec<(&'static str, f64)> {
        vec![(COPIED, if self.trims { size as f64 } else { 0.0 })]
    }
}

/// A lazy `ByteString`: the rest of the list is read on demand.
struct LazyList(usize);

struct ListNode<'a> {
    chunk: Box<[u8]>,
    rest: Box<dyn FnOnce() -> io::Result<Option<ListNode<'a>>> + 'a>,
}

fn list(input: &File, len: usize) -> io::Result<Option<ListNode<'_>>> {
    let mut chunk = vec![0; len];
    let mut reader = input;
    let n = reader.read(&mut chunk)?;
    chunk.truncate(n);
    let link =
        || ListNode { chunk: chunk.into_boxed_slice(), rest: Box::new(move || list(input, len)) };
    Ok((n > 0).then(link))
}

impl Copying for LazyList {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        let (input, mut output) = (File::from(input), File::from(output));
        let mut next = list(&input, self.0)?;
        while let Some(ListNode { chunk, rest }) = next {
            output.write_all(&chunk)?;
            next = rest()?;
        }
        Ok(None)
    }
}

struct TwoThreads(usize);

impl Copying for TwoThreads {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        let (mut input, mut output) = (File::from(input), File::from(output));
        let before = clock::own_thread_cpu();
        let (full, filled) = sync_channel::<(Vec<u8>, usize)>(BUFFERS);
        let (empty, emptied) = sync_channel::<Vec<u8>>(BUFFERS);
        for _ in 0..BUFFERS {
            empty.send(vec![0; self.0]).context("a thread has ended")?;
        }
        let reader = std::thread::Builder::new().spawn(move || -> io::Result<Cpu> {
            while let Ok(mut buffer) = emptied.recv() {
                let n = input.read(&mut buffer)?;
                if n == 0 || full.send((buffer, n)).is_err() {
                    break;
                }
            }
            Ok(clock::own_thread_cpu())
        })?;
        while let Ok((buffer, n)) = filled.recv() {
            output.write_all(&buffer[..n])?;
            // At the end no receiver is left.
            let _ = empty.send(buffer);
        }
        drop(empty);
        let of_reader = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Some(of_reader + clock::own_thread_cpu() - before))
    }
}

struct CopyWhole;

impl Copying for CopyWhole {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        let mut all = Vec::new();
        File::from(input).read_to_end(&mut all)?;
        File::from(output).write_all(&all)?;
        Ok(None)
    }
}

struct IoCopy;

impl Copying for IoCopy {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        io::copy(&mut File::from(input), &mut File::from(output))?;
        Ok(None)
    }
}

struct MapWrite;

impl Copying for MapWrite {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        let (input, mut output) = (File::from(input), File::from(output));
        let size = input.metadata()?.len();
        for start in (0..size).step_by(WINDOW as usize) {
            let mut options = MmapOptions::new();
            options.offset(start).len(WINDOW.min(size - start) as usize);
            // SAFETY: this is the lab's own data file; no process changes it while it is measured.
            let window = unsafe { options.map(&input) }?;
            output.write_all(&window)?;
        }
        Ok(None)
    }
}
