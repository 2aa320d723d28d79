//! gzip, br and zstd, decoded on the fly within limits.

use std::io::{self, BufRead, Read};

use crate::buffer::Buffer;
use crate::choice::BUFFER_BYTES;
use crate::{Error, ErrorKind, Result};

use super::brotli::Brotli;
use super::raw::Raw;

/// RFC 9659: what is sent over HTTP needs no more.
const ZSTD_WINDOW_BYTES: u64 = 8 << 20;
/// So much may come out of anything.
const ALWAYS_ALLOWED_BYTES: u64 = 1 << 20;

/// The value of `Content-Encoding`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[default]
    Identity,
    Gzip,
    Brotli,
    Zstd,
    /// Another, or several.
    Unknown,
}

impl Encoding {
    pub(crate) fn of(values: &[&[u8]]) -> Encoding {
        match values {
            [] => Encoding::Identity,
            [value] => match value.to_ascii_lowercase().as_slice() {
                b"" | b"identity" => Encoding::Identity,
                b"gzip" | b"x-gzip" => Encoding::Gzip,
                b"br" => Encoding::Brotli,
                b"zstd" => Encoding::Zstd,
                _ => Encoding::Unknown,
            },
            _ => Encoding::Unknown,
        }
    }
}

pub(crate) struct Decoded {
    decoder: Decoder,
    buffer: Buffer,
    len: usize,
    produced: u64,
    ended: bool,
}

enum Decoder {
    /// The gzip format knows files one behind the other.
    Gzip(flate2::bufread::MultiGzDecoder<Encoded>),
    Brotli(Brotli<Encoded>),
    Zstd(Box<ruzstd::decoding::StreamingDecoder<Encoded, ruzstd::decoding::FrameDecoder>>),
}

impl Decoded {
    pub(crate) fn new(raw: Raw) -> Result<Decoded> {
        let mut encoded = Encoded { raw, taken: 0, consumed: 0 };
        // Nothing at all is nothing, in every encoding.
        let ended = encoded.fill_buf().map_err(damaged)?.is_empty();
        let encoding = encoded.raw.version().encoding;
        let decoder = match encoding {
            Encoding::Brotli => Decoder::Brotli(Brotli::new(encoded)),
            Encoding::Zstd if !ended => {
                let mut frames = ruzstd::decoding::FrameDecoder::new();
                frames.set_max_window_size(ZSTD_WINDOW_BYTES);
                let decoder = ruzstd::decoding::StreamingDecoder::new_with_decoder(encoded, frames);
                let decoder = decoder.map_err(|error| wrong(&error.to_string()))?;
                Decoder::Zstd(Box::new(decoder))
            }
            Encoding::Unknown => return Err(wrong("the encoding is not known")),
            _ => Decoder::Gzip(flate2::bufread::MultiGzDecoder::new(encoded)),
        };
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
        let read = match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.read(&mut self.buffer),
            Decoder::Brotli(decoder) => decoder.read(&mut self.buffer),
            Decoder::Zstd(decoder) => decoder.read(&mut self.buffer),
        };
        self.len = read.map_err(damaged)?;
        self.produced += self.len as u64;
        let times = self.raw().expansion();
        let allowed = self.encoded().consumed.saturating_mul(times);
        if self.produced > allowed.max(ALWAYS_ALLOWED_BYTES) {
            self.len = 0;
            return Err(wrong(&format!("expands to more than {times} times its size")));
        }
        if self.len == 0 {
            self.ended = true;
            self.end()?;
        }
        Ok(self.len > 0)
    }

    /// Behind the encoded bytes there must be none: else something was lost, or added.
    fn end(&mut self) -> Result<()> {
        let encoded = match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.get_mut(),
            Decoder::Brotli(decoder) => decoder.get_mut(),
            Decoder::Zstd(decoder) => decoder.get_mut(),
        };
        if encoded.fill_buf().map_err(damaged)?.is_empty() {
            return Ok(());
        }
        Err(wrong("bytes behind the end of what is encoded"))
    }

    pub(crate) fn raw(&self) -> &Raw {
        &self.encoded().raw
    }

    fn encoded(&self) -> &Encoded {
        match &self.decoder {
            Decoder::Gzip(decoder) => decoder.get_ref(),
            Decoder::Brotli(decoder) => decoder.get_ref(),
            Decoder::Zstd(decoder) => decoder.get_ref(),
        }
    }
}

/// The encoded bytes, as decoders want them.
struct Encoded {
    raw: Raw,
    /// Of its chunk.
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

/// An error of the connection, which some decoders wrap, or of the encoding.
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
