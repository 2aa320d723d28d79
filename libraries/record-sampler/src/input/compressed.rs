//! Compressed inputs, recognised by their names or first bytes, as streams of the decoded bytes.

use std::io::{self, Read};
#[cfg(not(feature = "decode"))]
use std::path::Path;

use crate::format::{START_BYTES, refusal};
use crate::{Error, ErrorKind, Format, Result};

#[cfg(feature = "decode")]
pub(crate) use byte_stream::decode::Encoding;

/// Without the feature `decode`, no file is decoded.
#[cfg(not(feature = "decode"))]
#[derive(Clone, Copy)]
pub(crate) enum Encoding {}

#[cfg(not(feature = "decode"))]
impl Encoding {
    pub(crate) fn from_path(_: &Path) -> Option<Encoding> {
        None
    }

    fn from_magic(_: &[u8]) -> Option<Encoding> {
        None
    }
}

#[cfg(feature = "decode")]
const BUFFER_BYTES: usize = 1 << 17;

/// The encoding of text that begins with these bytes. It is an error if it cannot be decoded here,
/// or is not text.
pub(crate) fn encoding(start: &[u8], format: Format) -> Result<Option<Encoding>> {
    if let Some(encoding) = Encoding::from_magic(start) {
        return Ok(Some(encoding));
    }
    refusal(start, format, false).map_or(Ok(None), Err)
}

/// Fails if a file that begins with these bytes does not begin as its name says.
pub(crate) fn check_name(encoding: Encoding, start: &[u8], format: Format) -> Result<()> {
    let Some(name) = other_than(encoding, start) else { return Ok(()) };
    let text = format!("is named as {name}, and is not");
    Err(refusal(start, format, false).unwrap_or_else(|| Error::new(ErrorKind::Io, text)))
}

/// The name of the encoding, if these bytes do not begin as it does.
#[cfg(feature = "decode")]
fn other_than(encoding: Encoding, start: &[u8]) -> Option<&'static str> {
    const GZIP: &[u8] = b"\x1f\x8b";
    const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
    // A frame of zstd that is skipped (RFC 8878, 3.1.2).
    const SKIPPED: &[u8] = b"\x2a\x4d\x18";
    let is_skipped = start.len() >= 4 && start[0] & 0xf0 == 0x50 && start[1..4] == *SKIPPED;
    let (name, magic) = match encoding {
        Encoding::Gzip => ("gzip", GZIP),
        Encoding::Zstd if !is_skipped => ("zstd", ZSTD),
        _ => return None,
    };
    // A truncated file is an error when it is decoded.
    let is_begun = start.len() >= magic.len();
    (is_begun && !start.starts_with(magic)).then_some(name)
}

#[cfg(not(feature = "decode"))]
fn other_than(encoding: Encoding, _: &[u8]) -> Option<&'static str> {
    match encoding {}
}

/// The decoded bytes of a reader. It is an error if they are not text, where the format is.
pub(crate) fn decoded(
    encoding: Encoding,
    reader: impl Read + Send + 'static,
    format: Format,
) -> io::Result<Box<dyn Read + Send>> {
    let reader = decoder(encoding, reader)?;
    if !format.is_text() {
        return Ok(reader);
    }
    Ok(Box::new(SniffedReader::new(reader, format, true)))
}

/// Decodes the bytes of a reader, and verifies checksums.
#[cfg(feature = "decode")]
fn decoder(
    encoding: Encoding,
    reader: impl Read + Send + 'static,
) -> io::Result<Box<dyn Read + Send>> {
    let reader = io::BufReader::with_capacity(BUFFER_BYTES, reader);
    Ok(Box::new(byte_stream::decode::Decoder::new(encoding, reader)?))
}

#[cfg(not(feature = "decode"))]
fn decoder(encoding: Encoding, _: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    match encoding {}
}

/// A stream of text, decoded if its first bytes are those of compressed data.
pub(crate) fn sniffed(reader: impl Read + Send + 'static, format: Format) -> Box<dyn Read + Send> {
    Box::new(SniffedReader::new(Box::new(reader), format, false))
}

struct SniffedReader {
    format: Format,
    /// Whether the bytes have been decoded already.
    is_decoded: bool,
    /// The first bytes, until they are complete.
    start: Vec<u8>,
    source: Option<Box<dyn Read + Send>>,
    reader: Option<Box<dyn Read + Send>>,
}

impl SniffedReader {
    fn new(source: Box<dyn Read + Send>, format: Format, is_decoded: bool) -> SniffedReader {
        let source = Some(source);
        SniffedReader { format, is_decoded, start: Vec::new(), source, reader: None }
    }

    /// Reads the first bytes. After an error, such as an interruption, it can be called again.
    fn sniff(&mut self) -> io::Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        while self.start.len() < START_BYTES {
            let mut bytes = [0; START_BYTES];
            match source.read(&mut bytes[self.start.len()..]) {
                // A terminal would go on behind its end.
                Ok(0) => {
                    *source = Box::new(io::empty());
                    break;
                }
                Ok(n) => {
                    let from = self.start.len();
                    self.start.extend_from_slice(&bytes[from..from + n]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
                // The bytes before it come first.
                Err(error) => {
                    *source = Box::new(FailedReader(Some(error)));
                    break;
                }
            }
        }
        let start = std::mem::take(&mut self.start);
        let encoding = if self.is_decoded {
            refusal(&start, self.format, true).map_or(Ok(None), Err)
        } else {
            encoding(&start, self.format)
        };
        let encoding = encoding.map_err(io::Error::other)?;
        let Some(source) = self.source.take() else { return Ok(()) };
        let whole = io::Cursor::new(start).chain(source);
        self.reader = Some(match encoding {
            Some(encoding) => decoded(encoding, whole, self.format)?,
            None => Box::new(whole),
        });
        Ok(())
    }
}

impl Read for SniffedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.sniff()?;
        self.reader.as_mut().map_or(Ok(0), |reader| reader.read(buffer))
    }
}

/// A source that has failed.
pub(crate) struct FailedReader(pub(crate) Option<io::Error>);

impl Read for FailedReader {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
