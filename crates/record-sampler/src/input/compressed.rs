//! Compressed inputs, recognised by their names or first bytes, as streams of the decoded bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The decoder of a file, if its name or its first bytes are those of a compressed one. It verifies
/// checksums.
#[cfg(feature = "decode")]
pub(crate) fn decoder(
    path: &Path,
    file: &File,
    may_sniff: bool,
) -> io::Result<Option<Box<dyn Read + Send>>> {
    use std::os::unix::fs::FileExt;

    use byte_stream::decode::{Decoder, Encoding};

    let mut encoding = Encoding::from_path(path);
    if encoding.is_none() && may_sniff {
        let mut start = [0; MAGIC_BYTES];
        encoding = file.read_exact_at(&mut start, 0).ok().and(Encoding::from_magic(&start));
    }
    let Some(encoding) = encoding else { return Ok(None) };
    let file = io::BufReader::with_capacity(BUFFER_BYTES, file.try_clone()?);
    Ok(Some(Box::new(Decoder::new(encoding, file)?)))
}

/// Without the feature `decode`, every file is read as it is.
#[cfg(not(feature = "decode"))]
#[expect(clippy::unnecessary_wraps, reason = "as with the feature")]
pub(crate) fn decoder(_: &Path, _: &File, _: bool) -> io::Result<Option<Box<dyn Read + Send>>> {
    Ok(None)
}

/// A stream, decoded if its first bytes are those of compressed data.
#[cfg(feature = "decode")]
pub(crate) fn sniffed(reader: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(Sniffed { start: Vec::new(), source: Some(Box::new(reader)), reader: None })
}

#[cfg(not(feature = "decode"))]
pub(crate) fn sniffed(reader: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(reader)
}

#[cfg(feature = "decode")]
const MAGIC_BYTES: usize = 4;
#[cfg(feature = "decode")]
const BUFFER_BYTES: usize = 1 << 17;

#[cfg(feature = "decode")]
struct Sniffed {
    /// The first bytes, until they are complete.
    start: Vec<u8>,
    source: Option<Box<dyn Read + Send>>,
    reader: Option<Box<dyn Read + Send>>,
}

#[cfg(feature = "decode")]
impl Sniffed {
    /// Reads the first bytes. After an error, such as an interruption, it can be called again.
    fn sniff(&mut self) -> io::Result<()> {
        use byte_stream::decode::{Decoder, Encoding};

        let Some(source) = &mut self.source else { return Ok(()) };
        while self.start.len() < MAGIC_BYTES {
            let mut bytes = [0; MAGIC_BYTES];
            match source.read(&mut bytes[self.start.len()..])? {
                0 => break,
                n => {
                    let from = self.start.len();
                    self.start.extend_from_slice(&bytes[from..from + n]);
                }
            }
        }
        let start = std::mem::take(&mut self.start);
        let encoding = Encoding::from_magic(&start);
        let Some(source) = self.source.take() else { return Ok(()) };
        let whole = io::Cursor::new(start).chain(source);
        self.reader = Some(match encoding {
            Some(encoding) => {
                let whole = io::BufReader::with_capacity(BUFFER_BYTES, whole);
                Box::new(Decoder::new(encoding, whole)?)
            }
            None => Box::new(whole),
        });
        Ok(())
    }
}

#[cfg(feature = "decode")]
impl Read for Sniffed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.sniff()?;
        self.reader.as_mut().map_or(Ok(0), |reader| reader.read(buffer))
    }
}
