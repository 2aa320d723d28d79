//! A whole file is read: opened and closed each time, or kept open.

use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use lab::experiment::{Method, Task, Work};
use lab::param::Point;

use crate::experiments::shared::window::window;

use super::place::{buffer, cached, shared};
use crate::experiments::shared::aligned_buffer::Buffer;

pub(super) fn methods() -> Vec<Method> {
    vec![
        cached("read", "open-read-close", "open, read, close", &["dir", "size"], |point| {
            window(Box::new(Reading(OpenReadClose(Input::from_point(point)?))))
        }),
        cached("read", "pread", "pread on a file that stays open", &["dir", "size"], |point| {
            let input = Input::from_point(point)?;
            let file = File::open(&input.path).with_context(|| input.name("opening"))?;
            window(Box::new(Reading(Pread(file, input))))
        }),
    ]
}

struct Input {
    path: PathBuf,
    size: u64,
    buffer: Buffer,
}

impl Input {
    fn from_point(point: &Point) -> Result<Input> {
        let size = point.number("size")?;
        Ok(Input { path: shared(point)?, size, buffer: buffer(size)? })
    }

    fn name(&self, doing: &str) -> String {
        format!("{doing} {}", self.path.display())
    }
}

/// Reads the whole file once, and passes on each piece.
trait Source {
    fn pass(&mut self, see: impl FnMut(&[u8])) -> Result<()>;
    fn size(&self) -> u64;
}

struct Reading<S>(S);

impl<S: Source> Task for Reading<S> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            self.0.pass(|piece| {
                black_box(piece);
            })?;
        }
        Ok(Work { ops, bytes: ops * self.0.size(), answer: None })
    }

    fn digest(&mut self) -> Result<Option<u64>> {
        let mut digest = Digest::default();
        self.0.pass(|piece| digest.add(piece))?;
        Ok(Some(digest.0))
    }
}

/// Depends on every byte and its position: FNV-1a.
pub(super) struct Digest(pub(super) u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

struct OpenReadClose(Input);

impl Source for OpenReadClose {
    fn pass(&mut self, mut see: impl FnMut(&[u8])) -> Result<()> {
        let input = &mut self.0;
        let mut file = File::open(&input.path).with_context(|| input.name("opening"))?;
        let mut offset = 0;
        // Reads exactly the known size of the file: no read is needed to find the end.
        while offset < input.size {
            let n = file.read(&mut input.buffer);
            let n = n.with_context(|| input.name(&format!("reading at offset {offset} of")))?;
            ensure!(n > 0, "{} ended at offset {offset} of {}", input.name("file"), input.size);
            see(&input.buffer[..n]);
            offset += n as u64;
        }
        Ok(())
    }

    fn size(&self) -> u64 {
        self.0.size
    }
}

struct Pread(File, Input);

impl Source for Pread {
    fn pass(&mut self, mut see: impl FnMut(&[u8])) -> Result<()> {
        let Pread(file, input) = self;
        let mut offset = 0;
        loop {
            let n = file.read_at(&mut input.buffer, offset);
            let n = n.with_context(|| input.name(&format!("reading at offset {offset} of")))?;
            see(&input.buffer[..n]);
            offset += n as u64;
            if offset >= input.size {
                return Ok(());
            }
            ensure!(n > 0, "{} ended at offset {offset} of {}", input.name("file"), input.size);
        }
    }

    fn size(&self) -> u64 {
        self.1.size
    }
}
