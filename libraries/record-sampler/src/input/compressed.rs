//! Compressed inputs, recognised by their names or first bytes, as streams of the decoded bytes.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
#[cfg(not(feature = "decode"))]
use std::path::Path;

use crate::{Error, ErrorKind, Result};

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

/// The first bytes of formats that are not decoded here, and the command that decodes them.
const OTHERS: [(&[u8], &str); 8] = [
    (b"\xfd7zXZ\0", "xz -dc"),
    (b"BZh91AY&SY", "bzip2 -dc"),
    (b"\x04\x22\x4d\x18", "lz4 -dc"),
    (b"\x1f\x9d", "uncompress -c"),
    (b"LZIP\x01", "lzip -dc"),
    (b"PK\x03\x04", "unzip -p"),
    (b"\x1f\x8b\x08", "gzip -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd -dc"),
];
/// The length of the longest of them.
const MAGIC_BYTES: usize = 10;
#[cfg(feature = "decode")]
const BUFFER_BYTES: usize = 1 << 17;

/// The encoding of text that begins with these bytes. It is an error if it cannot be decoded here.
fn encoding(start: &[u8]) -> Result<Option<Encoding>> {
    if let Some(encoding) = Encoding::from_magic(start) {
        return Ok(Some(encoding));
    }
    match OTHERS.iter().find(|(magic, _)| start.starts_with(magic)) {
        Some((_, command)) => {
            let text = format!(
                "is compressed, and not by gzip, zstd or Brotli: pipe the output of `{command}`"
            );
            Err(Error::new(ErrorKind::BadRequest, text))
        }
        None => Ok(None),
    }
}

/// The encoding of a file of text by its first bytes.
pub(crate) fn sniff(file: &File) -> Result<Option<Encoding>> {
    let mut start = [0; MAGIC_BYTES];
    // A file that cannot be read is an error when its records are read.
    let len = file.read_at(&mut start, 0).unwrap_or(0);
    encoding(&start[..len])
}

/// Decodes the bytes of a reader, and verifies checksums.
#[cfg(feature = "decode")]
pub(crate) fn decoder(
    encoding: Encoding,
    reader: impl Read + Send + 'static,
) -> io::Result<Box<dyn Read + Send>> {
    let reader = io::BufReader::with_capacity(BUFFER_BYTES, reader);
    Ok(Box::new(byte_stream::decode::Decoder::new(encoding, reader)?))
}

#[cfg(not(feature = "decode"))]
pub(crate) fn decoder(
    encoding: Encoding,
    _: impl Read + Send + 'static,
) -> io::Result<Box<dyn Read + Send>> {
    match encoding {}
}

/// A stream of text, decoded if its first bytes are those of compressed data.
pub(crate) fn sniffed(reader: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(SniffedReader { start: Vec::new(), source: Some(Box::new(reader)), reader: None })
}

struct SniffedReader {
    /// The first bytes, until they are complete.
    start: Vec<u8>,
    source: Option<Box<dyn Read + Send>>,
    reader: Option<Box<dyn Read + Send>>,
}

impl SniffedReader {
    /// Reads the first bytes. After an error, such as an interruption, it can be called again.
    fn sniff(&mut self) -> io::Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        while self.start.len() < MAGIC_BYTES {
            let mut bytes = [0; MAGIC_BYTES];
            match source.read(&mut bytes[self.start.len()..]) {
                Ok(0) => break,
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
        let encoding = encoding(&start).map_err(io::Error::other)?;
        let Some(source) = self.source.take() else { return Ok(()) };
        let whole = io::Cursor::new(start).chain(source);
        self.reader = Some(match encoding {
            Some(encoding) => decoder(encoding, whole)?,
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
struct FailedReader(Option<io::Error>);

impl Read for FailedReader {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
