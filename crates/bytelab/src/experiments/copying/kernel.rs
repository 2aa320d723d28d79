//! The kernel copies the bytes; these are the bare loops, without any fallback.

#![expect(unsafe_code, reason = "lends memory to a pipe")]

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use anyhow::{Context, Result, ensure};
use lab::experiment::{Build, Method, Task, skip};
use lab::param::Point;
use memmap2::MmapMut;
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
