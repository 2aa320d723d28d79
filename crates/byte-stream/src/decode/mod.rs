//! Decoders of gzip, Brotli and zstd: they return all of the decoded bytes, or an error.
//!
//! All members of a gzip file and all frames of a zstd file are decoded one after the other; zeros
//! behind the last member and skippable frames are passed over. Any other byte behind the end is an
//! error, as is an input that is cut or empty. The checksums of gzip and of zstd and the size that
//! a zstd frame declares are verified; Brotli has neither, so that damage to it may go unnoticed.

mod brotli;
mod gzip;
mod trailing;

use std::io::{self, BufRead, Read};
use std::path::Path;

use self::brotli::Brotli;
use self::gzip::Gzip;

/// The limit of the program `zstd`: 128 MiB.
const ZSTD_WINDOW_LOG: u32 = 27;

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// RFC 1952.
    Gzip,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

impl Encoding {
    /// The encoding of a file with this name: `.gz`, `.gzip`, `.br`, `.zst` or `.zstd`.
    ///
    /// ```
    /// use byte_stream::decode::Encoding;
    /// assert_eq!(Encoding::from_path("log.csv.zst".as_ref()), Some(Encoding::Zstd));
    /// assert_eq!(Encoding::from_path("log.csv".as_ref()), None);
    /// ```
    pub fn from_path(path: &Path) -> Option<Encoding> {
        match path.extension()?.to_str()? {
            "gz" | "gzip" => Some(Encoding::Gzip),
            "br" => Some(Encoding::Brotli),
            "zst" | "zstd" => Some(Encoding::Zstd),
            _ => None,
        }
    }

    /// The encoding of data that begin with these bytes, at least four of them. Brotli has no magic
    /// number.
    ///
    /// ```
    /// use byte_stream::decode::Encoding;
    /// assert_eq!(Encoding::from_magic(&[0x1f, 0x8b, 8, 0]), Some(Encoding::Gzip));
    /// assert_eq!(Encoding::from_magic(b"text"), None);
    /// ```
    pub fn from_magic(bytes: &[u8]) -> Option<Encoding> {
        match bytes {
            // RFC 1952, 2.3.1: the magic number, and the only method.
            [0x1f, 0x8b, 8, ..] => Some(Encoding::Gzip),
            // RFC 8878, 3.1.1.
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Encoding::Zstd),
            _ => None,
        }
    }
}

/// Decodes the bytes of `R`.
///
/// What is read before an error may be wrong: a checksum stands behind the bytes that it is of. So
/// the bytes are right when the end, a read of 0 bytes, is reached.
///
/// ```
/// use std::io::Read;
/// use byte_stream::decode::{Decoder, Encoding};
///
/// let encoded = zstd::encode_all(&b"hello"[..], 0)?;
/// let mut text = String::new();
/// Decoder::new(Encoding::Zstd, encoded.as_slice())?.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Decoder<R: BufRead>(Format<R>);

enum Format<R: BufRead> {
    Gzip(Gzip<R>),
    Brotli(Brotli<R>),
    Zstd(zstd::stream::read::Decoder<'static, R>),
}

impl<R: BufRead> Decoder<R> {
    /// A zstd frame may have a window of 128 MiB, which is what the program `zstd` accepts.
    ///
    /// ```
    /// use std::io::{BufReader, Read};
    /// use byte_stream::decode::{Decoder, Encoding};
    ///
    /// let empty = BufReader::new(std::fs::File::open("/dev/null")?);
    /// let error = Decoder::new(Encoding::Gzip, empty)?.read(&mut [0]).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new(encoding: Encoding, input: R) -> io::Result<Decoder<R>> {
        Decoder::with_window_log(encoding, input, ZSTD_WINDOW_LOG)
    }

    /// As [`new`](Decoder::new), with another limit: a zstd frame whose window exceeds 2 to the
    /// power of `log` bytes, which is the memory it needs, is an error. From 10 to 31.
    ///
    /// ```
    /// use std::io::Read;
    /// use byte_stream::decode::{Decoder, Encoding};
    ///
    /// let encoded = zstd::encode_all(&[0; 2000][..], 0)?;
    /// let mut decoder = Decoder::with_window_log(Encoding::Zstd, encoded.as_slice(), 10)?;
    /// assert!(decoder.read(&mut [0; 100]).is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn with_window_log(encoding: Encoding, input: R, log: u32) -> io::Result<Decoder<R>> {
        Ok(Decoder(match encoding {
            Encoding::Gzip => Format::Gzip(Gzip::new(input)),
            Encoding::Brotli => Format::Brotli(Brotli::new(input)),
            Encoding::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
                decoder.window_log_max(log)?;
                Format::Zstd(decoder)
            }
        }))
    }

    /// The encoded input.
    ///
    /// ```
    /// use byte_stream::decode::{Decoder, Encoding};
    /// let encoded = [0x1f, 0x8b, 8];
    /// let decoder = Decoder::new(Encoding::Zstd, encoded.as_slice())?;
    /// assert_eq!(decoder.get_ref(), &[0x1f, 0x8b, 8]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn get_ref(&self) -> &R {
        match &self.0 {
            Format::Gzip(decoder) => decoder.get_ref(),
            Format::Brotli(decoder) => decoder.get_ref(),
            Format::Zstd(decoder) => decoder.get_ref(),
        }
    }
}

#[cfg(feature = "http")]
impl<R: BufRead> Decoder<R> {
    /// The encoded input. If it returns `WouldBlock`, reading can go on when there is more of it.
    pub(crate) fn get_mut(&mut self) -> &mut R {
        match &mut self.0 {
            Format::Gzip(decoder) => decoder.get_mut(),
            Format::Brotli(decoder) => decoder.get_mut(),
            Format::Zstd(decoder) => decoder.get_mut(),
        }
    }
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Otherwise reading 0 bytes would look like the end.
        if buffer.is_empty() {
            return Ok(0);
        }
        match &mut self.0 {
            Format::Gzip(decoder) => decoder.read(buffer),
            Format::Brotli(decoder) => decoder.read(buffer),
            Format::Zstd(decoder) => decoder.read(buffer),
        }
    }
}
