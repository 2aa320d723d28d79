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
    pub(crate) async fn new(raw: Raw) -> Result<Decoded> {
        let mut encoded = Encoded { raw, taken: 0, consumed: 0, ended: false };
        // An empty body is empty in every encoding.
        encoded.receive().await?;
        let ended = encoded.ended;
        let ContentEncoding::Known(encoding) = encoded.raw.version().encoding else {
            return Err(wrong("the encoding is not known"));
        };
        let decoder = Decoder::with_window_log(encoding, encoded, ZSTD_WINDOW_LOG);
        let decoder = decoder.map_err(|error| damaged(&error))?;
        Ok(Decoded { decoder, buffer: Buffer::new(BUFFER_BYTES), len: 0, produced: 0, ended })
    }

    pub(crate) fn chunk(&self) -> &[u8] {
        &self.buffer[..self.len]
    }

    #[cfg(feature = "async")]
    pub(crate) fn share(&self, from: usize) -> bytes::Bytes {
        self.buffer.share(from..self.len)
    }

    pub(crate) async fn advance(&mut self) -> Result<bool> {
        self.len = 0;
        while !self.ended {
            match self.decoder.read(&mut self.buffer) {
                Ok(len) => return self.take(len),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.decoder.get_mut().receive().await?;
                }
                Err(error) => return Err(damaged(&error)),
            }
        }
        Ok(false)
    }

    /// Takes the decoded bytes in the buffer; none at the end.
    fn take(&mut self, len: usize) -> Result<bool> {
        self.len = len;
        self.produced += len as u64;
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

/// The encoded bytes that were received, as a `BufRead` for the decoders: where they end before the
/// body does, more must be received.
struct Encoded {
    raw: Raw,
    /// Bytes consumed of the current chunk.
    taken: usize,
    consumed: u64,
    ended: bool,
}

impl Encoded {
    async fn receive(&mut self) -> Result<()> {
        self.taken = 0;
        self.ended = !self.raw.advance().await?;
        Ok(())
    }
}

impl BufRead for Encoded {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.raw.chunk().len() && !self.ended {
            return Err(io::ErrorKind::WouldBlock.into());
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

fn damaged(error: &io::Error) -> Error {
    wrong(&error.to_string())
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::Decode, format!("the compressed body: {text}"))
}
