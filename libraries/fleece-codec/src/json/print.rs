//! The JSON printer: turns Fleece into JSON text, without recursion.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::number::{append_f32, append_f64, append_i64, append_u64};
use super::string;
use crate::Result;
use crate::array::ArrayIter;
use crate::dict::{DictIter, DictKey};
use crate::error::{Error, ErrorKind};
use crate::limits::WRITTEN_DEPTH;
use crate::number::Number;
use crate::value::Value;
use crate::wire::tag;

/// What to print for NaN and the infinities, which JSON does not have.
///
/// ```
/// use fleece_codec::{fleece, json::{NonFinite, PrintOptions}, Doc};
/// let doc = Doc::open(fleece!([f64::INFINITY]))?;
/// assert!(PrintOptions::new().print(doc.root()).is_err());
/// assert_eq!(PrintOptions::new().non_finite(NonFinite::Null).print(doc.root())?, "[null]");
/// assert_eq!(PrintOptions::new().json5().print(doc.root())?, "[Infinity]");
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NonFinite {
    /// Nothing: it is an error. The default.
    #[default]
    Error,
    /// `null`, as JavaScript does.
    Null,
}

/// The options for printing JSON.
///
/// Numbers have the fewest digits that read back as the same number; data is base64 in a string;
/// `undefined` is `null`.
///
/// ```
/// use fleece_codec::{fleece, json::PrintOptions, Doc};
/// let doc = Doc::open(fleece!({"a": [1, 2]}))?;
/// assert_eq!(PrintOptions::new().print(doc.root())?, r#"{"a":[1,2]}"#);
/// assert_eq!(PrintOptions::new().pretty(2).print(doc.root())?, "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct PrintOptions {
    indent: Option<usize>,
    canonical: bool,
    json5: bool,
    non_finite: NonFinite,
    depth_limit: usize,
    size_limit_bytes: usize,
}

impl PrintOptions {
    /// The defaults: no white space, and pairs in the order of storage.
    ///
    /// ```
    /// # use fleece_codec::json::PrintOptions;
    /// let options = PrintOptions::new();
    /// ```
    pub fn new() -> Self {
        let non_finite = NonFinite::default();
        Self {
            indent: None,
            canonical: false,
            json5: false,
            non_finite,
            depth_limit: WRITTEN_DEPTH,
            size_limit_bytes: usize::MAX,
        }
    }

    /// With line feeds, and `indent` spaces a level.
    ///
    /// ```
    /// # use fleece_codec::{fleece, json::PrintOptions, Doc};
    /// let doc = Doc::open(fleece!([1]))?;
    /// assert_eq!(PrintOptions::new().pretty(4).print(doc.root())?, "[\n    1\n]");
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn pretty(mut self, indent: usize) -> Self {
        self.indent = Some(indent);
        self
    }

    /// Pairs in the order of their names. The order of storage differs from that where there are
    /// shared keys.
    ///
    /// ```
    /// # use fleece_codec::{fleece, json::PrintOptions, Doc};
    /// let doc = Doc::open(fleece!({"b": 1, "a": 2}))?;
    /// assert_eq!(PrintOptions::new().canonical().print(doc.root())?, r#"{"a":2,"b":1}"#);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn canonical(mut self) -> Self {
        self.canonical = true;
        self
    }

    /// JSON5: keys without quotes where possible, `NaN` and `Infinity` as such.
    ///
    /// ```
    /// # use fleece_codec::{fleece, json::PrintOptions, Doc};
    /// let doc = Doc::open(fleece!({"a": 1, "b c": 2}))?;
    /// assert_eq!(PrintOptions::new().json5().print(doc.root())?, r#"{a:1,"b c":2}"#);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn json5(mut self) -> Self {
        self.json5 = true;
        self
    }

    /// What to print for NaN and the infinities in plain JSON.
    ///
    /// ```
    /// # use fleece_codec::json::{NonFinite, PrintOptions};
    /// let options = PrintOptions::new().non_finite(NonFinite::Null);
    /// ```
    pub fn non_finite(mut self, non_finite: NonFinite) -> Self {
        self.non_finite = non_finite;
        self
    }

    /// The greatest nesting depth of collections; at most, and by default, 10,000.
    ///
    /// ```
    /// # use fleece_codec::{fleece, json::PrintOptions, Doc};
    /// let doc = Doc::open(fleece!([[1]]))?;
    /// assert!(PrintOptions::new().depth_limit(1).print(doc.root()).is_err());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn depth_limit(mut self, levels: usize) -> Self {
        self.depth_limit = levels.min(WRITTEN_DEPTH);
        self
    }

    /// The greatest length of the text; by default there is no limit. A small document with shared
    /// collections may have a very long text, so set a limit for untrusted data.
    ///
    /// ```
    /// # use fleece_codec::{fleece, json::PrintOptions, Doc, ErrorKind};
    /// let doc = Doc::open(fleece!([1, 2, 3]))?;
    /// let options = PrintOptions::new().size_limit_bytes(6);
    /// assert_eq!(options.print(doc.root()).unwrap_err().kind(), ErrorKind::TooLarge);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn size_limit_bytes(mut self, bytes: usize) -> Self {
        self.size_limit_bytes = bytes;
        self
    }

    /// Prints a value.
    ///
    /// ```
    /// # use fleece_codec::{fleece, json::PrintOptions, Doc};
    /// assert_eq!(PrintOptions::new().print(Doc::open(fleece!(1.5))?.root())?, "1.5");
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn print(&self, value: Value<'_>) -> Result<String> {
        let out = Vec::with_capacity(value.source.bytes.len().min(value.at + 64) + 64);
        let mut printer = Printer { options: self, out };
        printer.value(value)?;
        printer.check_size()?;
        String::from_utf8(printer.out)
            .map_err(|_| Error::new(ErrorKind::BadUtf8, "a string is not UTF-8"))
    }
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self::new()
    }
}

struct Printer<'o> {
    options: &'o PrintOptions,
    out: Vec<u8>,
}

enum PrintFrame<'a> {
    Array(ArrayIter<'a>),
    Dict(DictIter<'a>),
    Sorted(vec::IntoIter<(DictKey<'a>, Value<'a>)>),
}

impl Printer<'_> {
    fn value(&mut self, value: Value<'_>) -> Result<()> {
        let mut outer = Vec::new();
        let Some(mut open) = self.begin(value)? else { return Ok(()) };
        loop {
            let depth = outer.len() + 1;
            let inner = match &mut open {
                PrintFrame::Array(items) => self.items(items, depth)?,
                PrintFrame::Dict(pairs) => self.pairs(pairs, depth)?,
                PrintFrame::Sorted(pairs) => self.pairs(pairs, depth)?,
            };
            if let Some(inner) = inner {
                outer.push(core::mem::replace(&mut open, inner));
                if outer.len() >= self.options.depth_limit {
                    let message = "collections are nested too deeply to be printed";
                    return Err(Error::new(ErrorKind::TooDeep, message));
                }
                continue;
            }
            self.check_size()?;
            self.end(if matches!(open, PrintFrame::Array(_)) { b']' } else { b'}' }, depth);
            match outer.pop() {
                Some(around) => open = around,
                None => return Ok(()),
            }
        }
    }

    #[inline]
    fn check_size(&self) -> Result<()> {
        if self.out.len() > self.options.size_limit_bytes {
            let message = "the text is longer than the limit";
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        Ok(())
    }

    /// Prints items up to the beginning of the next collection, and returns that collection.
    #[inline]
    fn items<'a>(
        &mut self,
        items: &mut ArrayIter<'a>,
        depth: usize,
    ) -> Result<Option<PrintFrame<'a>>> {
        for value in items {
            self.separate(depth);
            if let Some(inner) = self.begin(value)? {
                return Ok(Some(inner));
            }
        }
        Ok(None)
    }

    /// Prints pairs up to the beginning of the next collection, and returns that collection.
    #[inline]
    fn pairs<'a>(
        &mut self,
        pairs: &mut impl Iterator<Item = (DictKey<'a>, Value<'a>)>,
        depth: usize,
    ) -> Result<Option<PrintFrame<'a>>> {
        for (key, value) in pairs {
            self.separate(depth);
            self.key(key)?;
            if let Some(inner) = self.begin(value)? {
                return Ok(Some(inner));
            }
        }
        Ok(None)
    }

    /// Prints the separator before an item or pair.
    #[inline(always)]
    fn separate(&mut self, depth: usize) {
        // The text ends with an opening bracket only at the beginning of a collection; strings end
        // with a quote.
        if !matches!(self.out.last(), Some(b'[' | b'{')) {
            self.out.push(b',');
        }
        self.break_line(depth);
    }

    #[inline]
    fn end(&mut self, bracket: u8, depth: usize) {
        if !matches!(self.out.last(), Some(b'[' | b'{')) {
            self.break_line(depth - 1);
        }
        self.out.push(bracket);
    }

    /// Prints a scalar, or the beginning of a collection, and returns that collection.
    #[inline(always)]
    fn begin<'a>(&mut self, value: Value<'a>) -> Result<Option<PrintFrame<'a>>> {
        match value.first_byte() >> 4 {
            tag::STRING => string::append_value::<false>(value, &mut self.out),
            tag::SHORT_INT | tag::LONG_INT | tag::FLOAT => self.number(value)?,
            tag::ARRAY => {
                self.out.push(b'[');
                return Ok(value.as_array().map(|array| PrintFrame::Array(array.iter())));
            }
            tag::DICT => {
                self.out.push(b'{');
                return Ok(value.as_dict().map(|dict| self.open_dict(dict.iter())));
            }
            tag::DATA => {
                self.out.push(b'"');
                append_base64(value.as_data().unwrap_or_default(), &mut self.out);
                self.out.push(b'"');
            }
            _ => {
                let word: &[u8] = match value.as_bool() {
                    Some(true) => b"true",
                    Some(false) => b"false",
                    None => b"null",
                };
                self.out.extend_from_slice(word);
            }
        }
        Ok(None)
    }

    fn open_dict<'a>(&self, pairs: DictIter<'a>) -> PrintFrame<'a> {
        if !self.options.canonical {
            return PrintFrame::Dict(pairs);
        }
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(&b.as_bytes()));
        PrintFrame::Sorted(pairs.into_iter())
    }

    #[inline(always)]
    fn key(&mut self, key: DictKey<'_>) -> Result<()> {
        if key.value.first_byte() >> 4 == tag::STRING && !self.options.json5 {
            string::append_value::<true>(key.value, &mut self.out);
        } else {
            self.rare_key(key)?;
        }
        if self.options.indent.is_some() {
            self.out.push(b' ');
        }
        Ok(())
    }

    #[inline(never)]
    fn rare_key(&mut self, key: DictKey<'_>) -> Result<()> {
        let message = "a shared key has no name in the table";
        let name = key.as_bytes();
        let name = name.ok_or_else(|| Error::new(ErrorKind::UnknownSharedKey, message))?;
        if self.options.json5 && is_identifier(name) {
            self.out.extend_from_slice(name);
        } else {
            string::append(name, &mut self.out);
        }
        self.out.push(b':');
        Ok(())
    }

    #[inline]
    fn number(&mut self, value: Value<'_>) -> Result<()> {
        match value.number() {
            Some(Number::Signed(n)) => append_i64(n, &mut self.out),
            Some(Number::Unsigned(n)) => append_u64(n, &mut self.out),
            Some(Number::Double(n)) if n.is_finite() => append_f64(n, &mut self.out),
            Some(Number::Float(n)) if n.is_finite() => append_f32(n, &mut self.out),
            Some(Number::Double(n)) => return self.not_finite(n),
            Some(Number::Float(n)) => return self.not_finite(f64::from(n)),
            None => self.out.extend_from_slice(b"null"),
        }
        Ok(())
    }

    #[cold]
    fn not_finite(&mut self, value: f64) -> Result<()> {
        let word = match (self.options.json5, self.options.non_finite) {
            (true, _) if value.is_nan() => "NaN",
            (true, _) if value > 0.0 => "Infinity",
            (true, _) => "-Infinity",
            (false, NonFinite::Null) => "null",
            (false, NonFinite::Error) => {
                let message = "JSON has neither NaN nor infinity";
                return Err(Error::new(ErrorKind::NotRepresentable, message));
            }
        };
        self.out.extend_from_slice(word.as_bytes());
        Ok(())
    }

    #[inline(always)]
    fn break_line(&mut self, depth: usize) {
        if let Some(indent) = self.options.indent {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + indent * depth, b' ');
        }
    }
}

/// Whether JSON5 takes a key without quotes.
fn is_identifier(name: &[u8]) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$';
    name.first().is_some_and(|&first| letter(first))
        && name.iter().all(|&byte| letter(byte) || byte.is_ascii_digit())
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 with the standard alphabet and padding, which is how data appears in JSON.
fn append_base64(data: &[u8], out: &mut Vec<u8>) {
    for chunk in data.chunks(3) {
        let byte = |i: usize| chunk.get(i).map_or(0, |&byte| u32::from(byte));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) as usize & 63;
            out.push(if digit <= chunk.len() { ALPHABET[index] } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_4648_hold() {
        let check = |data: &[u8], expected: &str| {
            let mut out = Vec::new();
            append_base64(data, &mut out);
            assert_eq!(out, expected.as_bytes());
        };
        check(b"", "");
        check(b"f", "Zg==");
        check(b"fo", "Zm8=");
        check(b"foo", "Zm9v");
        check(b"foob", "Zm9vYg==");
        check(b"foobar", "Zm9vYmFy");
    }
}
