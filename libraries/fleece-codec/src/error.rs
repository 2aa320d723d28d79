//! The error of the crate: its kind, its position in the input, and a message.

use alloc::borrow::Cow;
use alloc::boxed::Box;
#[cfg(feature = "serde")]
use alloc::format;
use alloc::string::String;
use core::fmt;

/// What kind of thing went wrong.
///
/// ```
/// use fleece_codec::{Doc, ErrorKind};
/// assert_eq!(Doc::check(b"").unwrap_err().kind(), ErrorKind::Truncated);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The document is empty, of odd length, or ends within a value.
    Truncated,
    /// A pointer is zero, leads out of the data, or to a value that does not end before it.
    BadPointer,
    /// A length or a count is malformed or larger than the data.
    BadLength,
    /// A dict key is neither a string nor a shared key.
    BadKey,
    /// The parent of a dict is not a dict before it.
    BadParent,
    /// A string is not UTF-8.
    BadUtf8,
    /// Collections are nested more deeply than the limit allows, or a dict has too many parents.
    TooDeep,
    /// Values overlap so much that reading them all would take more than linear time.
    Overlap,
    /// The keys of a dict are out of order, so that lookups miss some, and the options forbid it.
    UnsortedKeys,
    /// Two slots lead to the same collection, and the options forbid it.
    SharedCollection,
    /// A shared key without a name in the table, or a table that does not match the document.
    UnknownSharedKey,
    /// Two pairs of a dict have the same key, and the options forbid it.
    DuplicateKey,
    /// Encoder calls in an impossible order, such as a value where a key is due.
    State,
    /// The document or text would be longer than the limit: 2 GiB, or what the options say; or a
    /// value holds far more values than bytes.
    TooLarge,
    /// A number or value that the output cannot express, such as NaN.
    NotRepresentable,
    /// The text is not JSON.
    Syntax,
    /// A path or JSON Pointer is malformed.
    BadPath,
    /// A value is not of the expected type.
    WrongType,
    /// The message of a `Serialize` or `Deserialize` implementation.
    Custom,
    /// The reader or writer failed; see [`Error::io_error_kind`].
    Io,
}

/// An error: its [kind](Error::kind), the place in the input, and one line of text.
///
/// ```
/// let error = fleece_codec::json::to_fleece(b"[1,\n 2,]").unwrap_err();
/// assert_eq!(error.to_string(), "expected a value, found `]` at line 2 column 4");
/// assert_eq!(error.offset(), Some(7));
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    offset: Option<usize>,
    line_column: Option<(usize, usize)>,
    path: Option<String>,
    #[cfg(feature = "std")]
    io: Option<std::io::Error>,
}

impl Error {
    /// What kind of thing went wrong.
    ///
    /// ```
    /// # use fleece_codec::{Doc, ErrorKind};
    /// assert_eq!(Doc::check(&[0x80]).unwrap_err().kind(), ErrorKind::Truncated);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The position of the error, in bytes from the start of the input; `None` if the input is not
    /// the cause.
    ///
    /// ```
    /// # use fleece_codec::Doc;
    /// // An array whose only item is a pointer of length 0.
    /// let error = Doc::check(&[0x60, 1, 0x80, 0, 0x80, 2]).unwrap_err();
    /// assert_eq!(error.offset(), Some(2));
    /// ```
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// Line and column of an error in JSON text, both counted from 1, the column in bytes.
    ///
    /// ```
    /// let error = fleece_codec::json::to_fleece(b"{\n  x}").unwrap_err();
    /// assert_eq!(error.line_column(), Some((2, 3)));
    /// ```
    pub fn line_column(&self) -> Option<(usize, usize)> {
        self.0.line_column
    }

    /// The path of the value that could not be deserialized, in the form of a
    /// [`Path`](crate::Path).
    ///
    /// ```
    /// # use fleece_codec::{fleece, from_slice};
    /// # use std::collections::BTreeMap;
    /// let bytes = fleece!({"ages": [36, "forty-one"]});
    /// let error = from_slice::<BTreeMap<String, Vec<u8>>>(&bytes).unwrap_err();
    /// assert_eq!(error.path(), Some("$.ages[1]"));
    /// assert_eq!(error.to_string(), "invalid type: string \"forty-one\", expected u8 in $.ages[1]");
    /// ```
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// The kind of the reader's or writer's error, if that is the cause: for example, a broken
    /// pipe.
    ///
    /// ```
    /// use std::io::ErrorKind;
    /// let error = fleece_codec::Error::from(std::io::Error::from(ErrorKind::BrokenPipe));
    /// assert_eq!(error.io_error_kind(), Some(ErrorKind::BrokenPipe));
    /// assert_eq!(std::io::Error::from(error).kind(), ErrorKind::BrokenPipe);
    /// ```
    #[cfg(feature = "std")]
    pub fn io_error_kind(&self) -> Option<std::io::ErrorKind> {
        self.0.io.as_ref().map(std::io::Error::kind)
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            offset: None,
            line_column: None,
            path: None,
            #[cfg(feature = "std")]
            io: None,
        }))
    }

    #[cold]
    pub(crate) fn at(kind: ErrorKind, offset: usize, message: &'static str) -> Self {
        let mut error = Self::new(kind, message);
        error.0.offset = Some(offset);
        error
    }

    /// Adds the position in a text, with line and column.
    #[cold]
    pub(crate) fn in_text(mut self, text: &[u8], offset: usize) -> Self {
        let before = &text[..offset.min(text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line = before.split(|&byte| byte == b'\n').count();
        self.0.offset = Some(offset);
        self.0.line_column = Some((line, before.len() - line_start + 1));
        self
    }

    /// Converts the position of an error in a line to that in the whole text.
    #[cold]
    pub(crate) fn on_line(mut self, line: usize, line_offset: usize) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset + line_offset);
        let column = self.0.line_column.map_or(1, |(_, column)| column);
        self.0.line_column = Some((line, column));
        self
    }
}

#[cfg(feature = "serde")]
impl Error {
    #[cold]
    pub(crate) fn in_item(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }

    #[cold]
    pub(crate) fn in_key(self, name: &str) -> Self {
        let mut step = String::from(".");
        crate::path::escape(name, &mut step);
        self.within(&step)
    }

    fn within(mut self, step: &str) -> Self {
        let inner = self.0.path.take().unwrap_or_else(|| String::from("$"));
        self.0.path = Some(format!("${step}{}", &inner[1..]));
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match (self.0.line_column, self.0.offset) {
            (Some((line, column)), _) => write!(f, " at line {line} column {column}"),
            (None, Some(offset)) => write!(f, " at byte {offset}"),
            (None, None) => Ok(()),
        }?;
        match &self.0.path {
            Some(path) => write!(f, " in {path}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}: {self})", self.0.kind)
    }
}

/// The message of an I/O error is that of the reader or writer, so the source is the source of that
/// error.
impl core::error::Error for Error {
    #[cfg(feature = "std")]
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        self.0.io.as_ref().and_then(core::error::Error::source)
    }
}

#[cfg(feature = "std")]
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        use alloc::string::ToString;
        let mut own = Self::new(ErrorKind::Io, error.to_string());
        own.0.io = Some(error);
        own
    }
}

/// The original error of the reader or writer; for wrong data, an error of the kind `InvalidData`.
#[cfg(feature = "std")]
impl From<Error> for std::io::Error {
    fn from(mut error: Error) -> Self {
        match error.0.io.take() {
            Some(io) => io,
            None => Self::new(std::io::ErrorKind::InvalidData, error),
        }
    }
}
