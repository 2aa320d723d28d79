//! A Brotli decoder that consumes no byte behind the encoded data, so that trailing bytes are
//! detected.

use std::io::{self, BufRead, Read};

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::trailing::trailing;

type State = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

pub(crate) struct Brotli<R> {
    input: R,
    state: Box<State>,
    ended: bool,
}

impl<R: BufRead> Brotli<R> {
    pub(crate) fn new(input: R) -> Brotli<R> {
        let alloc = StandardAlloc::default;
        Brotli { input, state: Box::new(State::new(alloc(), alloc(), alloc())), ended: false }
    }

    pub(crate) fn get_ref(&self) -> &R {
        &self.input
    }

    #[cfg(feature = "http")]
    pub(crate) fn get_mut(&mut self) -> &mut R {
        &mut self.input
    }
}

impl<R: BufRead> Read for Brotli<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (mut written, mut room, mut total) = (0, buffer.len(), 0);
        while !self.ended && written == 0 && room > 0 {
            let input = self.input.fill_buf()?;
            let at_end = input.is_empty();
            let (mut left, mut taken) = (input.len(), 0);
            let result = BrotliDecompressStream(
                &mut left,
                &mut taken,
                input,
                &mut room,
                &mut written,
                buffer,
                &mut total,
                &mut self.state,
            );
            self.input.consume(taken);
            match result {
                BrotliResult::ResultSuccess => self.ended = true,
                BrotliResult::NeedsMoreOutput => {}
                BrotliResult::NeedsMoreInput if !at_end || written > 0 => {}
                BrotliResult::NeedsMoreInput => return Err(io::ErrorKind::UnexpectedEof.into()),
                BrotliResult::ResultFailure => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "damaged"));
                }
            }
        }
        if self.ended && written == 0 && room > 0 && !self.input.fill_buf()?.is_empty() {
            return Err(trailing());
        }
        Ok(written)
    }
}
