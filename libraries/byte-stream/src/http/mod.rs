//! An HTTP/1.1 client. Each stream has its own connection, and received bytes are lent from its
//! buffer, or from that of the decoder.

mod certificates;
mod client;
mod connection;
mod framing;
mod head;
mod limits;
mod options;
mod proxy;
mod ranges;
mod raw;
mod settings;
mod url;

use std::io::{self, BufRead, Read};

pub use self::connection::Connections;
use self::head::ContentEncoding;
pub use self::head::Response;
pub(crate) use self::proxy::Proxy;
#[cfg(feature = "async")]
use self::ranges::TaskRanges;
use self::ranges::{OpenedResource, Ranges};
use self::raw::Raw;
pub(crate) use self::settings::{Settings, tls_with};
pub(crate) use self::url::Url;
#[cfg(feature = "fuzz")]
pub(crate) use self::{
    client::has_empty_line,
    framing::{ChunkPosition, Frame, FramingStep},
    head::{ContentRange, content_range, location, parse as parse_head},
    url::find_credentials,
};
use crate::buffer::Buffer;
use crate::choice::{BUFFER_BYTES, Choice};
use crate::decode::Decoder;
use crate::wait::WaitMode;
use crate::{Cancel, Error, ErrorKind, Result};

/// Requests a resource and returns its body.
pub(crate) async fn open(
    url: &str,
    settings: &mut Settings,
    buffer_bytes: Option<usize>,
    cancel: Option<&Cancel>,
    mode: WaitMode,
) -> Result<Body> {
    let decode = settings.decode;
    if settings.parallel > 1 {
        return Ok(match ranges::open(url, settings, cancel, mode).await? {
            OpenedResource::Threads(ranges) => Body::Ranges(ranges),
            #[cfg(feature = "async")]
            OpenedResource::Task(ranges) => Body::TaskRanges(ranges),
            OpenedResource::Whole(raw) => Body::Raw(raw),
        });
    }
    let raw = Raw::open(url, settings, buffer_bytes, cancel, mode).await?;
    if decode && raw.version().encoding != ContentEncoding::Identity {
        return Ok(Body::Decoded(Decoded::new(raw).await?));
    }
    Ok(Body::Raw(raw))
}

/// The largest text of a service: a list of 1000 objects has at most 7 MB.
const TEXT_LIMIT: usize = 16 << 20;

/// Requests a resource that is text, and returns all of it.
pub(crate) async fn text(
    url: &str,
    settings: &mut Settings,
    cancel: Option<&Cancel>,
    mode: WaitMode,
) -> Result<String> {
    let mut raw = Raw::open(url, settings, None, cancel, mode).await?;
    let mut bytes = Vec::new();
    while raw.advance().await? {
        if bytes.len() + raw.chunk().len() > TEXT_LIMIT {
            return Err(Error::new(ErrorKind::TooLarge, "the text of the answer is too long"));
        }
        bytes.extend_from_slice(raw.chunk());
    }
    String::from_utf8(bytes)
        .map_err(|_| Error::new(ErrorKind::Protocol, "the answer is not text in UTF-8"))
}

#[expect(clippy::large_enum_variant, reason = "it is in a box")]
pub(crate) enum Body {
    Raw(Raw),
    Decoded(Decoded),
    Ranges(Ranges),
    #[cfg(feature = "async")]
    TaskRanges(TaskRanges),
}

impl Body {
    pub(crate) async fn advance(&mut self) -> Result<bool> {
        match self {
            Body::Raw(raw) => raw.advance().await,
            Body::Decoded(decoded) => decoded.advance().await,
            Body::Ranges(ranges) => ranges.advance(),
            #[cfg(feature = "async")]
            Body::TaskRanges(ranges) => ranges.advance().await,
        }
    }

    pub(crate) fn chunk(&self) -> &[u8] {
        match self {
            Body::Raw(raw) => raw.chunk(),
            Body::Decoded(decoded) => decoded.chunk(),
            Body::Ranges(ranges) => ranges.chunk(),
            #[cfg(feature = "async")]
            Body::TaskRanges(ranges) => ranges.chunk(),
        }
    }

    #[cfg(feature = "async")]
    pub(crate) fn share(&self, from: usize) -> bytes::Bytes {
        match self {
            Body::Raw(raw) => raw.share(from),
            Body::Decoded(decoded) => decoded.share(from),
            Body::Ranges(_) | Body::TaskRanges(_) => {
                bytes::Bytes::copy_from_slice(&self.chunk()[from..])
            }
        }
    }

    pub(crate) fn choice(&self) -> Choice {
        match self {
            Body::Raw(raw) => raw.choice(),
            Body::Ranges(ranges) => ranges.choice(),
            #[cfg(feature = "async")]
            Body::TaskRanges(ranges) => ranges.choice(),
            // The decoded size is not known in advance.
            Body::Decoded(decoded) => Choice { size_bytes: None, ..decoded.raw().choice() },
        }
    }

    pub(crate) fn response(&self) -> Option<&Response> {
        match self {
            Body::Raw(raw) => raw.response(),
            Body::Decoded(decoded) => decoded.raw().response(),
            Body::Ranges(ranges) => Some(ranges.response()),
            #[cfg(feature = "async")]
            Body::TaskRanges(ranges) => Some(ranges.response()),
        }
    }

    pub(crate) fn validator(&self) -> Option<&str> {
        let version = match self {
            Body::Raw(raw) => raw.version(),
            Body::Ranges(ranges) => ranges.version(),
            #[cfg(feature = "async")]
            Body::TaskRanges(ranges) => ranges.version(),
            Body::Decoded(_) => return None,
        };
        version.validator.as_deref()
    }
}

// Bodies in gzip, br and zstd are decoded while they are received, within limits.

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
