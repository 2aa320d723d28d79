//! `read` into a reused buffer: the reference, and the basis on which the ways to access a chunk in
//! memory are compared.

use std::io::Read as _;
use std::marker::PhantomData;

use anyhow::Result;
use lab::experiment::{Method, Task};
use lab::param::Point;

use super::fold::Fold;
use super::source::{Input, Source, contender, reading};
use crate::experiments::shared::aligned_buffer::Buffer;

pub(super) fn method() -> Method {
    let about = "read into a reused buffer, folded as a whole";
    contender("read", about, &["buffer"], build::<Whole>)
}

/// How a chunk is passed to the fold.
pub(super) trait Style: Send + 'static {
    fn hand_over<F: Fold>(chunk: &[u8], fold: &mut F);
}

struct Whole;

impl Style for Whole {
    #[inline]
    fn hand_over<F: Fold>(chunk: &[u8], fold: &mut F) {
        fold.chunk(chunk);
    }
}

pub(super) fn build<S: Style>(point: &Point) -> Result<Box<dyn Task>> {
    reading(point, |input| {
        Ok(Read::<S> { input, buffer: Buffer::from_point(point)?, style: PhantomData })
    })
}

struct Read<S> {
    input: Input,
    buffer: Buffer,
    style: PhantomData<S>,
}

impl<S: Style> Source for Read<S> {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let mut file = self.input.open()?;
        let mut offset = 0;
        loop {
            match file.read(&mut self.buffer) {
                Ok(0) => return self.input.ended(offset),
                Ok(n) => {
                    S::hand_over(&self.buffer[..n], fold);
                    offset = self.input.advanced(offset, n)?;
                }
                Err(error) => return Err(self.input.failed(offset, error)),
            }
        }
    }
}
