//! The kernel moves the bytes; the bare loops, without any fallback.

use std::os::fd::OwnedFd;

use anyhow::{Result, ensure};
use lab::experiment::{Build, Method, skip};
use rustix::fs::{copy_file_range, sendfile};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use super::job::{Copying, contender, task};

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
        kernel("sendfile", "sendfile", |point| {
            if point.text("input")? != "file" {
                return Err(skip("sendfile takes files only"));
            }
            task(point, Sendfile)
        }),
        kernel("copy-file-range", "copy_file_range", |point| {
            if point.text("input")? != "file" || point.text("output")? != "file" {
                return Err(skip("copy_file_range is from file to file only"));
            }
            task(point, Range)
        }),
    ]
}

/// Until a call moves nothing.
fn repeat(mut call: impl FnMut() -> rustix::io::Result<usize>) -> Result<Option<u64>> {
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
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<u64>> {
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
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<u64>> {
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
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<u64>> {
        repeat(|| sendfile(&output, &input, None, STEP_BYTES))
    }
}

struct Range;

impl Copying for Range {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<u64>> {
        repeat(|| copy_file_range(&input, None, &output, None, STEP_BYTES))
    }
}
