//! Decoders of gzip, Brotli and zstd: they return all of the decoded bytes, or an error.
//!
//! All members of a gzip file and all frames of a zstd file are decoded one after the other; zeros
//! behind the last member and skippable frames are skipped. Any other byte behind the end is an
//! error, as is an input that is cut or empty. The checksums of gzip and of zstd and the size that
//! a zstd frame declares are verified; Brotli has neither, so that damage to it may go unnoticed.

use std::io::{self, BufRead, Read};
use std::path::Path;

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::bufread::GzDecoder;

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
/// Bytes that are read before an error may be wrong, because a checksum follows the bytes that it
/// covers. They are verified when the end, a read of 0 bytes, is reached.
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

    /// Like [`new`](Decoder::new), with another limit: a zstd frame whose window exceeds 2 to the
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

/// All members of a gzip file, and the zeros that may pad it.
pub(crate) struct Gzip<R> {
    /// `None` only while the next member replaces it.
    member: Option<GzDecoder<R>>,
    /// Zero padding follows the last member.
    in_padding: bool,
    ended: bool,
}

const MEMBER: &str = "there is a member between two calls";

impl<R: BufRead> Gzip<R> {
    pub(crate) fn new(input: R) -> Gzip<R> {
        Gzip { member: Some(GzDecoder::new(input)), in_padding: false, ended: false }
    }

    pub(crate) fn get_ref(&self) -> &R {
        self.member.as_ref().expect(MEMBER).get_ref()
    }

    #[cfg(feature = "http")]
    pub(crate) fn get_mut(&mut self) -> &mut R {
        self.member.as_mut().expect(MEMBER).get_mut()
    }

    /// Starts the next member, or ends. As with `gzip`, zeros may precede the end.
    fn next_member(&mut self) -> io::Result<()> {
        let input = self.member.as_mut().expect(MEMBER).get_mut();
        loop {
            let bytes = input.fill_buf()?;
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            self.in_padding |= zeros > 0;
            self.ended = bytes.is_empty();
            if zeros < bytes.len() && self.in_padding {
                return Err(trailing());
            }
            if zeros == 0 {
                break;
            }
            input.consume(zeros);
        }
        if !self.ended {
            self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.ended {
            let n = self.member.as_mut().expect(MEMBER).read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            self.next_member()?;
        }
        Ok(0)
    }
}

type StandardBrotliState = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// A Brotli decoder that consumes no byte behind the encoded data, so that trailing bytes are
/// detected.
pub(crate) struct Brotli<R> {
    input: R,
    state: Box<StandardBrotliState>,
    ended: bool,
}

impl<R: BufRead> Brotli<R> {
    pub(crate) fn new(input: R) -> Brotli<R> {
        let alloc = StandardAlloc::default;
        Brotli {
            input,
            state: Box::new(StandardBrotliState::new(alloc(), alloc(), alloc())),
            ended: false,
        }
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

/// The error for bytes behind the end of the encoded data, which all decoders share.
fn trailing() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "bytes behind the end of what is encoded")
}
