//! The buffered reader of the standard library: by whole buffers, and byte by byte.

use std::io::{BufRead, BufReader, Read};

use anyhow::Result;
use lab::experiment::{Method, Task};
use lab::param::Point;

use super::fold::Fold;
use super::source::{Input, Source, contender, reading};

pub(super) fn methods() -> Vec<Method> {
    vec![
        contender("buf-reader", "BufReader, fill_buf and consume", &["buffer"], build_chunks),
        contender("read-bytes", "BufReader, Read::bytes()", &["buffer"], build_bytes),
    ]
}

struct Chunks(Input, usize);

fn build_chunks(point: &Point) -> Result<Box<dyn Task>> {
    let buffer = usize::try_from(point.number("buffer")?)?;
    reading(point, |input| Ok(Chunks(input, buffer)))
}

impl Source for Chunks {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let Chunks(input, buffer) = self;
        let mut reader = BufReader::with_capacity(*buffer, input.open()?);
        let mut offset = 0;
        loop {
            let chunk = reader.fill_buf().map_err(|error| input.failed(offset, error))?;
            if chunk.is_empty() {
                return input.ended(offset);
            }
            fold.chunk(chunk);
            let n = chunk.len();
            reader.consume(n);
            offset = input.advanced(offset, n)?;
        }
    }
}

struct Bytes(Input, usize);

fn build_bytes(point: &Point) -> Result<Box<dyn Task>> {
    let buffer = usize::try_from(point.number("buffer")?)?;
    reading(point, |input| Ok(Bytes(input, buffer)))
}

impl Source for Bytes {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        let Bytes(input, buffer) = self;
        let mut offset = 0;
        for byte in BufReader::with_capacity(*buffer, input.open()?).bytes() {
            fold.byte(byte.map_err(|error| input.failed(offset, error))?);
            offset += 1;
        }
        input.ended(offset)
    }
}
