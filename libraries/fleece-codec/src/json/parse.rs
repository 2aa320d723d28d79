//! The JSON parser: turns strict RFC 8259 text into encoder calls, in one pass, without recursion.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;
use core::str::from_utf8;

use super::number::{self, NumberError};
use super::string::{self, UnescapeError};
use crate::Result;
use crate::encoder::{Encoder, Expects, Packed};
use crate::error::{Error, ErrorKind};
use crate::limits::PARSED_DEPTH;

/// The options of [`encode`].
///
/// ```
/// use fleece_codec::{json, Encoder, ErrorKind};
/// let options = json::ParseOptions::new().depth_limit(1);
/// let mut encoder = Encoder::new();
/// let error = json::encode(b"[[]]", &mut encoder, &options).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::TooDeep);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ParseOptions {
    depth_limit: usize,
}

impl ParseOptions {
    /// The defaults: the nesting depth is at most [`PARSED_DEPTH`].
    ///
    /// ```
    /// # use fleece_codec::json::ParseOptions;
    /// let options = ParseOptions::new();
    /// ```
    pub fn new() -> Self {
        Self { depth_limit: PARSED_DEPTH }
    }

    /// The greatest nesting depth of arrays and objects.
    ///
    /// ```
    /// # use fleece_codec::json::ParseOptions;
    /// let options = ParseOptions::new().depth_limit(100);
    /// ```
    pub fn depth_limit(mut self, levels: usize) -> Self {
        self.depth_limit = levels;
        self
    }
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Makes a document from JSON text.
///
/// The text must be strict RFC 8259; the root may be any value. The last of equal keys stays.
/// Integers beyond 64 bits become doubles, and numbers that overflow a double are an error.
///
/// ```
/// let bytes = fleece_codec::json::to_fleece(b"[1, \"two\"]")?;
/// assert_eq!(bytes, fleece_codec::fleece!([1, "two"]));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn to_fleece(text: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new();
    encode(text, &mut encoder, &ParseOptions::new())?;
    encoder.finish()
}

/// Writes the value of a JSON text to an encoder, which may be in the middle of a document.
///
/// ```
/// use fleece_codec::{fleece, json, Encoder};
/// let mut encoder = Encoder::new();
/// encoder.begin_array();
/// json::encode(b"{}", &mut encoder, &json::ParseOptions::new())?;
/// encoder.end_array();
/// assert_eq!(encoder.finish()?, fleece!([{}]));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn encode(text: &[u8], encoder: &mut Encoder, options: &ParseOptions) -> Result<()> {
    // Minified text grows or shrinks by less than a fifth.
    encoder.make_room(text.len() / 2 + 64);
    let outer_depth = encoder.depth();
    let depth_limit = outer_depth.saturating_add(options.depth_limit);
    let mut parser = Parser { text, at: 0, encoder, scratch: Vec::new(), outer_depth, depth_limit };
    let result = parser.document();
    let at = parser.at;
    result.map_err(|error| error.in_text(text, at))
}

struct Parser<'t, 'e> {
    text: &'t [u8],
    at: usize,
    encoder: &'e mut Encoder,
    /// The current string, if it has escapes.
    scratch: Vec<u8>,
    outer_depth: usize,
    depth_limit: usize,
}

impl Parser<'_, '_> {
    /// An error concerns the byte at `self.at`.
    fn document(&mut self) -> Result<()> {
        loop {
            self.value()?;
            if self.end_of_value()? {
                break;
            }
        }
        self.skip_space();
        if self.at < self.text.len() {
            return Err(self.unexpected("the end"));
        }
        self.encoder.take_failure()
    }

    /// Reads up to and including the next scalar, or into the next empty collection.
    #[inline]
    fn value(&mut self) -> Result<()> {
        loop {
            match self.skip_space() {
                b'"' => return self.string(),
                b'-' | b'0'..=b'9' => return self.number(),
                b'{' => {
                    self.begin()?;
                    self.encoder.begin_dict();
                    if self.skip_space() == b'}' {
                        return Ok(());
                    }
                    self.key()?;
                }
                b'[' => {
                    self.begin()?;
                    self.encoder.begin_array();
                    if self.skip_space() == b']' {
                        return Ok(());
                    }
                }
                b't' => return self.literal(b"true", |encoder| encoder.write_bool(true)),
                b'f' => return self.literal(b"false", |encoder| encoder.write_bool(false)),
                b'n' => return self.literal(b"null", Encoder::write_null),
                _ => return Err(self.unexpected("a value")),
            }
        }
    }

    /// Reads the ends of collections that follow a value, then a comma and, in an object, the next
    /// key. Returns true at the end of the outermost value.
    #[inline]
    fn end_of_value(&mut self) -> Result<bool> {
        while self.encoder.depth() > self.outer_depth {
            let in_dict = self.encoder.expects() == Expects::Key;
            let byte = self.skip_space();
            if byte == b',' {
                self.at += 1;
                if in_dict {
                    self.skip_space();
                    self.key()?;
                }
                return Ok(false);
            }
            match (byte, in_dict) {
                (b'}', true) => self.encoder.end_dict(),
                (b']', false) => self.encoder.end_array(),
                (_, true) => return Err(self.unexpected("`,` or `}`")),
                (_, false) => return Err(self.unexpected("`,` or `]`")),
            }
            self.encoder.take_failure()?;
            self.at += 1;
        }
        Ok(true)
    }

    fn begin(&mut self) -> Result<()> {
        if self.encoder.depth() >= self.depth_limit {
            return Err(Error::new(ErrorKind::TooDeep, "collections are nested too deeply"));
        }
        self.at += 1;
        Ok(())
    }

    /// Reads a key and the colon after it.
    #[inline]
    fn key(&mut self) -> Result<()> {
        if self.text.get(self.at) != Some(&b'"') {
            return Err(self.unexpected("a key"));
        }
        match self.short_string() {
            Some((packed, len)) if !self.encoder.has_shared_keys() => {
                self.encoder.write_packed_key(packed, len);
                self.at += len + 2;
            }
            Some((packed, len)) if self.encoder.write_packed_shared_key(packed) => {
                self.at += len + 2;
            }
            _ => self.long_key()?,
        }
        if self.skip_space() != b':' {
            return Err(self.unexpected("`:`"));
        }
        self.at += 1;
        Ok(())
    }

    #[inline(never)]
    fn long_key(&mut self) -> Result<()> {
        let (key, end) = long_string(self.text, self.at, &mut self.scratch)
            .map_err(|error| error.at(&mut self.at))?;
        self.encoder.write_key(key);
        self.at = end;
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<()> {
        if let Some((packed, len)) = self.short_string() {
            self.encoder.write_packed(packed, len);
            self.at += len + 2;
            return Ok(());
        }
        let (string, end) = long_string(self.text, self.at, &mut self.scratch)
            .map_err(|error| error.at(&mut self.at))?;
        self.encoder.write_str(string);
        self.at = end;
        Ok(())
    }

    /// The string of at most 15 bytes of ASCII without escapes that begins at the quote here, if
    /// there is one.
    #[inline]
    fn short_string(&self) -> Option<(Packed, usize)> {
        let chunk = self.text.get(self.at + 1..)?.first_chunk::<16>()?;
        let len = string::special(chunk);
        if chunk.get(len) != Some(&b'"') {
            return None;
        }
        let word = u128::from_le_bytes(*chunk) & MASKS[len];
        let is_ascii = word & 0x8080_8080_8080_8080_8080_8080_8080_8080 == 0;
        is_ascii.then_some((Packed(word | (len as u128) << 120), len))
    }

    #[inline]
    fn number(&mut self) -> Result<()> {
        match number::encode(&self.text[self.at..], self.encoder) {
            Ok(len) => {
                self.at += len;
                Ok(())
            }
            Err(NumberError::Syntax(offset)) => {
                self.at += offset;
                Err(self.unexpected("a number"))
            }
            Err(NumberError::TooLarge) => {
                Err(Error::new(ErrorKind::NotRepresentable, "a number is too large for a double"))
            }
        }
    }

    fn literal(&mut self, word: &[u8], write: fn(&mut Encoder)) -> Result<()> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.unexpected("a value"));
        }
        write(self.encoder);
        self.at += word.len();
        Ok(())
    }

    /// Moves to the next byte that is not white space, and returns it; 0 at the end.
    #[inline]
    fn skip_space(&mut self) -> u8 {
        let byte = self.text.get(self.at).copied().unwrap_or(0);
        if byte > b' ' {
            return byte;
        }
        self.skip_more_space()
    }

    #[inline]
    fn skip_more_space(&mut self) -> u8 {
        while let Some(chunk) = self.text.get(self.at..).and_then(|rest| rest.first_chunk::<16>()) {
            let spaces = string::not_space(chunk);
            self.at += spaces;
            if let Some(&byte) = chunk.get(spaces) {
                return byte;
            }
        }
        self.skip_last_space()
    }

    #[cold]
    fn skip_last_space(&mut self) -> u8 {
        while let Some(&byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return byte;
            }
            self.at += 1;
        }
        0
    }

    #[cold]
    fn unexpected(&self, expected: &str) -> Error {
        let rest = &self.text[self.at.min(self.text.len())..];
        let found = match rest.first() {
            None => {
                return Error::new(
                    ErrorKind::Syntax,
                    format!("expected {expected}, found the end"),
                );
            }
            Some(byte @ b'!'..=b'~') => format!("`{}`", char::from(*byte)),
            Some(byte) => format!("byte 0x{byte:02X}"),
        };
        Error::new(ErrorKind::Syntax, format!("expected {expected}, found {found}"))
    }
}

/// For each length, a mask of the bytes of a string that long.
const MASKS: [u128; 16] = {
    let mut masks = [0; 16];
    let mut len = 0;
    while len < 16 {
        masks[len] = (1 << (8 * len)) - 1;
        len += 1;
    }
    masks
};

/// An error in a string: its kind, its message and its offset.
struct StringError(ErrorKind, &'static str, usize);

impl StringError {
    #[cold]
    fn at(self, at: &mut usize) -> Error {
        *at = self.2;
        Error::new(self.0, Cow::Borrowed(self.1))
    }
}

/// The string whose opening quote is at `quote`, and its end.
#[inline(never)]
fn long_string<'s>(
    text: &'s [u8],
    quote: usize,
    scratch: &'s mut Vec<u8>,
) -> Result<(&'s str, usize), StringError> {
    let start = quote + 1;
    let mut at = start;
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let plain = string::special(chunk);
        at += plain;
        if plain < 16 {
            break;
        }
    }
    let not_utf8 = || StringError(ErrorKind::BadUtf8, "a string is not UTF-8", quote);
    if text.get(at) == Some(&b'"') {
        return Ok((from_utf8(&text[start..at]).map_err(|_| not_utf8())?, at + 1));
    }
    scratch.clear();
    scratch.extend_from_slice(&text[start..at]);
    let end = string::unescape(text, at, scratch).map_err(|flaw| match flaw {
        UnescapeError::Unterminated(at) => {
            StringError(ErrorKind::Syntax, "a string does not end", at)
        }
        UnescapeError::Control(at) => {
            StringError(ErrorKind::Syntax, "a control character in a string", at)
        }
        UnescapeError::Escape(at) => StringError(ErrorKind::Syntax, "an escape that is none", at),
        UnescapeError::Surrogate(at) => {
            StringError(ErrorKind::Syntax, "half of a surrogate pair, which is no character", at)
        }
    })?;
    Ok((from_utf8(scratch).map_err(|_| not_utf8())?, end))
}
