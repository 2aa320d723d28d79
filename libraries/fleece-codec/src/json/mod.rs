//! Conversion of JSON text to Fleece and back, without a tree in between.
//!
//! ```
//! use fleece_codec::{json, Doc};
//! let doc = Doc::open(json::to_fleece(br#"{"b": 1.50, "a": [true, null]}"#)?)?;
//! assert_eq!(json::to_string(doc.root())?, r#"{"a":[true,null],"b":1.5}"#);
//! # Ok::<(), fleece_codec::Error>(())
//! ```

mod delta;
mod number;
mod parse;
mod print;
mod string;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::encoder::Encoder;
use crate::value::Value;
use crate::{Array, Result};
pub use delta::{apply_delta, create_delta};
pub use parse::{ParseOptions, encode, to_fleece};
pub use print::{NonFinite, PrintOptions};

/// Prints a value without white space.
///
/// ```
/// use fleece_codec::{fleece, json, Doc};
/// assert_eq!(json::to_string(Doc::open(fleece!([1, null]))?.root())?, "[1,null]");
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn to_string(value: Value<'_>) -> Result<String> {
    PrintOptions::new().print(value)
}

/// Prints a value without white space, as bytes of UTF-8.
///
/// ```
/// use fleece_codec::{fleece, json, Doc};
/// assert_eq!(json::to_vec(Doc::open(fleece!([1, null]))?.root())?, b"[1,null]");
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn to_vec(value: Value<'_>) -> Result<Vec<u8>> {
    to_string(value).map(String::into_bytes)
}

/// Prints a value to a writer, in one piece.
///
/// ```
/// use fleece_codec::{fleece, json, Doc};
/// let mut out = Vec::new();
/// json::to_writer(Doc::open(fleece!([]))?.root(), &json::PrintOptions::new(), &mut out)?;
/// assert_eq!(out, b"[]");
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[cfg(feature = "std")]
pub fn to_writer(
    value: Value<'_>,
    options: &PrintOptions,
    mut writer: impl std::io::Write,
) -> Result<()> {
    Ok(writer.write_all(options.print(value)?.as_bytes())?)
}

// JSON Lines: one JSON text a line, one document each.

/// The documents of a text in JSON Lines; blank lines are skipped.
///
/// An error names the line in the whole text; the lines after it can still be read.
///
/// ```
/// use fleece_codec::{fleece, json::Lines};
/// let documents: Vec<Vec<u8>> = Lines::new(b"{\"a\":1}\n[2]\n").collect::<Result<_, _>>()?;
/// assert_eq!(documents, [fleece!({"a": 1}), fleece!([2])]);
/// let error = Lines::new(b"1\n\n2]").nth(1).unwrap().unwrap_err();
/// assert_eq!((error.line_column(), error.offset()), (Some((3, 2)), Some(4)));
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub struct Lines<'t> {
    rest: &'t [u8],
    offset: usize,
    line: usize,
    encoder: Encoder,
    options: ParseOptions,
}

impl<'t> Lines<'t> {
    /// The documents of `text`, read with the default options.
    ///
    /// ```
    /// assert_eq!(fleece_codec::json::Lines::new(b"1\n2").count(), 2);
    /// ```
    pub fn new(text: &'t [u8]) -> Self {
        Self::with(text, Encoder::new(), ParseOptions::new())
    }

    /// The documents of `text`, made by this encoder, which may have shared keys.
    ///
    /// ```
    /// use fleece_codec::{json::{Lines, ParseOptions}, Encoder, SharedKeys};
    /// let mut encoder = Encoder::new();
    /// encoder.set_shared_keys(SharedKeys::new());
    /// let mut lines = Lines::with(b"{\"id\":1}\n{\"id\":2}", encoder, ParseOptions::new());
    /// assert_eq!(lines.by_ref().count(), 2);
    /// assert_eq!(lines.into_encoder().take_shared_keys().unwrap().len(), 1);
    /// ```
    pub fn with(text: &'t [u8], encoder: Encoder, options: ParseOptions) -> Self {
        Self { rest: text, offset: 0, line: 0, encoder, options }
    }

    /// Gives the encoder back.
    ///
    /// ```
    /// let encoder = fleece_codec::json::Lines::new(b"").into_encoder();
    /// ```
    pub fn into_encoder(self) -> Encoder {
        self.encoder
    }
}

impl fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, left) = (self.line, self.rest.len());
        write!(f, "JSON Lines after line {line}, with {left} bytes left")
    }
}

impl Iterator for Lines<'_> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let len = self.rest.iter().position(|&byte| byte == b'\n');
            let len = len.map_or(self.rest.len(), |end| end + 1);
            let (line, rest) = self.rest.split_at(len);
            let offset = self.offset;
            self.rest = rest;
            self.offset += len;
            self.line += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let result = encode(line, &mut self.encoder, &self.options);
            // Ends the document in any case, so that the next line begins with a clean encoder.
            let document = self.encoder.finish();
            let line = self.line;
            return Some(match result {
                Ok(()) => document,
                Err(error) => Err(error.on_line(line, offset)),
            });
        }
        None
    }
}

/// Prints the items of an array as JSON Lines, each with a line feed after it.
///
/// ```
/// use fleece_codec::{fleece, json, Doc};
/// let doc = Doc::open(fleece!([{"a": 1}, [2]]))?;
/// assert_eq!(json::to_lines(doc.root().as_array().unwrap())?, "{\"a\":1}\n[2]\n");
/// # Ok::<(), fleece_codec::Error>(())
/// ```
pub fn to_lines(array: Array<'_>) -> Result<String> {
    let options = PrintOptions::new();
    let mut out = String::new();
    for item in array {
        out += &options.print(item)?;
        out.push('\n');
    }
    Ok(out)
}
