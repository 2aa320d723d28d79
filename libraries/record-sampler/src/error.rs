//! The error of the crate: a kind, a file, and one line of text.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The kind of an error.
///
/// ```
/// use record_sampler::{ErrorKind, Format, Population};
/// let error = Population::open(["/no/such/file"], Format::Lines).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Io);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Reading an input failed.
    Io,
    /// Writing the sample failed; the source is the writer's error.
    Write,
    /// There are fewer records than required.
    TooFew,
    /// A file was truncated or overwritten while it was read.
    Changed,
    /// The bytes do not follow the format: an unclosed quote, a partial record.
    Malformed,
    /// The quotes of CSV contradict the delimiter.
    BadDelimiter,
    /// A record lacks the column, or its value is invalid.
    BadColumn,
    /// A weight that is negative or not finite.
    BadWeight,
    /// Inputs have different headers.
    MixedHeaders,
    /// A record exceeds the limit.
    TooLarge,
    /// The request is invalid, or impossible for this kind of input.
    BadRequest,
    /// The request needs the number of records before they are drawn, which a stream does not have.
    NeedsFile,
    /// The progress callback stopped the work.
    Stopped,
}

/// An error: its [kind](Error::kind), the file, and one line of text.
///
/// ```
/// # use record_sampler::{Format, Population};
/// let error = Population::open(["/no/such/file"], Format::Lines).unwrap_err();
/// assert!(error.to_string().starts_with("/no/such/file: "));
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    message: String,
    cause: Option<io::Error>,
}

impl Error {
    /// The kind of the error.
    ///
    /// ```
    /// # use record_sampler::{ErrorKind, Format, Population};
    /// let error = Population::open(["/no/such/file"], Format::Lines).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Io);
    /// ```
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The input that caused the error.
    ///
    /// ```
    /// # use record_sampler::{Format, Population};
    /// let error = Population::open(["/no/such/file"], Format::Lines).unwrap_err();
    /// assert_eq!(error.path().unwrap().to_str(), Some("/no/such/file"));
    /// ```
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The kind of the system's error, if that is the cause.
    ///
    /// ```
    /// # use record_sampler::{Format, Population};
    /// let error = Population::open(["/no/such/file"], Format::Lines).unwrap_err();
    /// assert_eq!(error.io_kind(), Some(std::io::ErrorKind::NotFound));
    /// ```
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        self.0.cause.as_ref().map(io::Error::kind)
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { kind, path: None, message: message.into(), cause: None }))
    }

    #[cold]
    pub(crate) fn caused(kind: ErrorKind, message: &str, cause: io::Error) -> Error {
        let message = message.to_owned();
        Error(Box::new(Inner { kind, path: None, message, cause: Some(cause) }))
    }

    #[cold]
    pub(crate) fn with_path(mut self, path: &Path) -> Error {
        self.0.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Adds the number of the record, counted from 1.
    #[cfg(feature = "parquet")]
    #[cold]
    pub(crate) fn in_record(mut self, rank: u64) -> Error {
        self.0.message = format!("record {}: {}", rank + 1, self.0.message);
        self
    }

    /// Adds the offset of the record.
    #[cold]
    pub(crate) fn in_record_at(mut self, offset: u64) -> Error {
        self.0.message = format!("the record at offset {offset}: {}", self.0.message);
        self
    }

    /// Adds the column.
    #[cfg(feature = "parquet")]
    #[cold]
    pub(crate) fn in_column(mut self, column: &dyn fmt::Display) -> Error {
        self.0.message = format!("column {column}: {}", self.0.message);
        self
    }

    pub(crate) fn stopped() -> Error {
        Error::new(ErrorKind::Stopped, "stopped")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { path, message, cause, .. } = &*self.0;
        if let Some(path) = path {
            write!(f, "{}: ", path.display())?;
        }
        match (message.as_str(), cause) {
            ("", Some(cause)) => write!(f, "{cause}"),
            (message, Some(cause)) => write!(f, "{message}: {cause}"),
            (message, None) => f.write_str(message),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}: {self})", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The text already contains the cause, so only what is below it is the source.
        self.0.cause.as_ref().and_then(|cause| cause.source())
    }
}
