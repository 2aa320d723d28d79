//! Our own library: byte-stream lends chunks.

use anyhow::Result;
use byte_stream::Stream;
use lab::experiment::{Method, Task};
use lab::param::Point;

use super::fold::Fold;
use super::source::{Input, Source, contender, reading};

pub(super) fn method() -> Method {
    contender("byte-stream", "byte-stream: chunks that are lent", &["buffer"], build)
}

/// The borrowed chunks of one file.
pub(super) struct Lent {
    input: Input,
    buffer: usize,
}

/// The maximum that the library accepts.
pub(super) const BUFFER_LIMIT: u64 = 1 << 20;

fn build(point: &Point) -> Result<Box<dyn Task>> {
    reading(point, |input| Lent::new(point, input))
}

impl Lent {
    pub(super) fn new(point: &Point, input: Input) -> Result<Lent> {
        Ok(Lent { input, buffer: point.number("buffer")?.min(BUFFER_LIMIT) as usize })
    }

    #[inline]
    pub(super) fn each(&mut self, mut take: impl FnMut(&[u8])) -> Result<()> {
        let Lent { input, buffer } = self;
        let mut stream = Stream::options().buffer_bytes(*buffer).open(&input.path)?;
        let mut offset = 0;
        while let Some(chunk) = stream.next_chunk()? {
            take(chunk);
            offset = input.advanced(offset, chunk.len())?;
        }
        input.ended(offset)
    }
}

impl Source for Lent {
    fn pass<F: Fold>(&mut self, fold: &mut F) -> Result<()> {
        self.each(|chunk| fold.chunk(chunk))
    }
}
