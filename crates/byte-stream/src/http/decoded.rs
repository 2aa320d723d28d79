//! Bodies in gzip, br and zstd, decoded while they are received, within limits.

use std::io::{self, BufRead, Read};

use crate::buffer::Buffer;
use crate::choice::BUFFER_BYTES;
use crate::decode::Decoder;
use crate::{Error, ErrorKind, Result};

use super::encoding::ContentEncoding;
use super::raw::Raw;

/// RFC 9659 limits the window of zstd over HTTP.
const ZSTD_WINDOW_LOG: u32 = 23;
/// Output up to this size is allowed regardless of the ratio.
const ALWAYS_ALLOWED_BYTES: u64 = 1 << 20;

pub(crate) struct Decoded {
    decoder: Decoder<Encoded>,
    buffer: Buffer,
    len: usize,
    produced: u64,
    ended: bool,
}

impl Decoded {
    pub(crate) fn new(raw: Raw) -> Result<Decoded> {
        let mut encoded = Encoded { raw, taken: 0, consumed: 0 };
        // An empty body is empty in every encoding.
        let ended = encoded.fill_buf().map_err(damaged)?.is_empty();
        let ContentEncoding::Known(encoding) = encoded.raw.version().encoding else {
            return Err(wrong("the encoding is not known"));
        };
        let decoder = Decoder::with_window_log(encoding, encoded, ZSTD_WINDOW_LOG);
        let decoder = decoder.map_err(damaged)?;
        Ok(Decoded { decoder, buffer: Buffer::new(BUFFER_BYTES), len: 0, produced: 0, ended })
    }

    pub(crate) fn chunk(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    pub(crate) fn advance(&mut self) -> Result<bool> {
        self.len = 0;
        if self.ended {
            return Ok(false);
        }
        self.len = self.decoder.read(&mut self.buffer).map_err(damaged)?;
        self.produced += self.len as u64;
        let times = self.raw().expansion();
        let allowed = self.decoder.get_ref().consumed.saturating_mul(times);
        if self.produced > allowed.max(ALWAYS_ALLOWED_BYTES) {
            self.len = 0;
            return Err(wrong(&format!("expands to more than {times} times its size")));
        }
        self.ended = self.len == 0;
        Ok(self.len > 0)
    }

    pub(crate) fn raw(&self) -> &Raw {
        &self.decoder.get_ref().raw
    }
}

/// The encoded bytes, as a `BufRead` for the decoders.
struct Encoded {
    raw: Raw,
    /// Bytes consumed of the current chunk.
    taken: usize,
    consumed: u64,
}

impl BufRead for Encoded {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.raw.chunk().len() {
            self.taken = 0;
            self.raw.advance().map_err(io::Error::other)?;
        }
        Ok(&self.raw.chunk()[self.taken..])
    }

    fn consume(&mut self, n: usize) {
        self.taken += n;
        self.consumed += n as u64;
    }
}

impl Read for Encoded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

/// An error of the connection, which some decoders wrap, or of the encoded data.
fn damaged(error: io::Error) -> Error {
    let mut error = Error::from_io(error, ErrorKind::Decode);
    if error.kind() == ErrorKind::Decode {
        error = wrong(error.message());
    }
    error
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::Decode, format!("the compressed body: {text}"))
}
