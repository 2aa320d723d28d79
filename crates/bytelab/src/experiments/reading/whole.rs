//! The whole file is read into a `Vec` before the first byte is used.

use std::fs;
use std::io::Read;

use anyhow::{Context, Result};
use lab::experiment::{Method, Task};
use lab::param::Point;
use lab::phases::mark;

use super::fold::Fold;
use super::source::{Input, Source, contender, fits_in_memory, reading};

pub(super) fn methods() -> Vec<Method> {
    vec![
        contender("read-to-vec", "fs::read: the whole file, a new Vec each time", &[], build_new),
        contender("read-into-vec", "read_to_end into a reused Vec", &[], build_reused),
    ]
}

struct NewVec(Input);

fn build_new(point: &Point) -> Result<Box<dyn Task>> {
    fits_in_memory(point)?;
    reading(point, |input| Ok(NewVec(input)))
}

impl Source for NewVec {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        mark("allocate and read");
        let bytes = fs::read(&self.0.path).with_context(|| self.0.doing("reading"))?;
        mark("fold");
        fold.chunk(&bytes);
        self.0.ended(bytes.len() as u64)?;
        mark("free");
        drop(bytes);
        Ok(())
    }
}

struct ReusedVec {
    input: Input,
    bytes: Vec<u8>,
}

fn build_reused(point: &Point) -> Result<Box<dyn Task>> {
    fits_in_memory(point)?;
    reading(point, |input| Ok(ReusedVec { input, bytes: Vec::new() }))
}

impl Source for ReusedVec {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        self.bytes.clear();
        if let Err(error) = self.input.open()?.read_to_end(&mut self.bytes) {
            return Err(self.input.failed(self.bytes.len() as u64, error));
        }
        fold.chunk(&self.bytes);
        self.input.ended(self.bytes.len() as u64)
    }
}
