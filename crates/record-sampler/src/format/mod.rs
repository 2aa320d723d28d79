//! What a file consists of: a header, and records of one kind. It does not read files.

mod layout;
mod splitter;

#[cfg(test)]
mod tests;

use crate::{Error, ErrorKind, Result};

pub use layout::Layout;
pub(crate) use splitter::{Flaw, Splitter, trimmed};

/// What separates the records of an input.
///
/// ```
/// use record_sampler::{Format, Population, Sampler};
/// let text = "name,motto\nAda,\"two\nlines\"\nBob,one\n";
/// let population = Population::stream(text.as_bytes(), Format::Csv { delimiter: b',' });
/// let records = Sampler::at_most(9).records(&mut population.with_header())?;
/// assert_eq!(records, ["Ada,\"two\nlines\"\n", "Bob,one\n"].map(str::as_bytes));
/// # Ok::<(), record_sampler::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Each record has this many bytes.
    Fixed(u64),
    /// A record ends with LF or CRLF, or with the input. Bytes that are not UTF-8 are kept as they
    /// are.
    Lines,
    /// As `Lines`, but a line break in double quotes belongs to the field (RFC 4180). Empty lines
    /// are not records.
    Csv {
        /// The separator of the fields, usually a comma.
        delimiter: u8,
    },
    /// As `Lines`; each is a JSON value. An empty line is a record as well, which has no columns:
    /// it is in no stratum, and is not drawn by weight.
    JsonLines,
    /// As `Lines`, with fields that have no quotes.
    Fields {
        /// The separator of the fields; a blank stands for any number of blanks and tabs.
        delimiter: u8,
    },
    /// A record ends with this byte, or with the input.
    Separated {
        /// For example 0, as `find -print0` writes it.
        separator: u8,
    },
    /// Each record has this many lines, such as 4 in FASTQ. A file that ends within a record is an
    /// error.
    LineGroups {
        /// The lines of a record.
        lines: u64,
    },
    /// A record begins with each line whose first byte is this one, such as `>` in FASTA. A file
    /// that begins otherwise is an error.
    Marked {
        /// The first byte of each record.
        mark: u8,
    },
}

/// What precedes the records of a file. It is no part of the population, and is written once before
/// the records.
///
/// ```
/// use record_sampler::{Format, HeaderRule, Population, Sampler};
/// let text = "##source=me\n#CHROM\tPOS\n1\t100\n1\t200\n";
/// let population = Population::stream(text.as_bytes(), Format::Fields { delimiter: b'\t' });
/// let mut population = population.with_header_rule(HeaderRule::Prefix("#".to_owned()));
/// let mut out = Vec::new();
/// Sampler::exactly(2).write(&mut population, &mut out)?;
/// assert_eq!(out, text.as_bytes());
/// # Ok::<(), record_sampler::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeaderRule {
    /// Nothing.
    #[default]
    None,
    /// The first record.
    Record,
    /// As many lines. A file with fewer lines is an error, unless it is empty.
    Lines(u64),
    /// The lines at the start of the file that begin with this text.
    Prefix(String),
    /// As many bytes, before records of a fixed size.
    Bytes(u64),
    /// These bytes, before records of a fixed size. A file that begins otherwise is an error.
    Magic(Vec<u8>),
}

impl HeaderRule {
    /// The bytes of a header before records of a fixed size.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            HeaderRule::Bytes(bytes) => *bytes,
            HeaderRule::Magic(bytes) => bytes.len() as u64,
            _ => 0,
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        *self == HeaderRule::None
    }

    /// Fails if files of this format cannot have such a header.
    pub(crate) fn check(&self, format: Format) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        match self {
            HeaderRule::Bytes(_) | HeaderRule::Magic(_) if format.is_text() => {
                bad("a header of bytes is for records of a fixed size")
            }
            HeaderRule::None | HeaderRule::Bytes(_) | HeaderRule::Magic(_) => Ok(()),
            _ if !format.is_text() => bad("records of fixed size have no header but one of bytes"),
            HeaderRule::Prefix(prefix) if prefix.is_empty() => {
                bad("the prefix of header lines must not be empty")
            }
            _ => Ok(()),
        }
    }
}

impl Format {
    /// Fails if there are no such records.
    pub(crate) fn check(self) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        match self {
            Format::Fixed(0) => bad("a record must have at least 1 byte"),
            Format::LineGroups { lines: 0 } => bad("a record must have at least 1 line"),
            Format::Csv { delimiter: b'"' | b'\n' | b'\r' } => {
                bad("a quote or line break cannot be the delimiter")
            }
            Format::Fields { delimiter: b'\n' | b'\r' } => {
                bad("a line break cannot be the delimiter")
            }
            Format::Marked { mark: b'\n' } => bad("a line break cannot be the mark"),
            _ => Ok(()),
        }
    }

    /// Whether a byte order mark is removed, which would otherwise become part of the first column.
    pub(crate) fn drops_bom(self) -> bool {
        matches!(self, Format::Csv { .. } | Format::JsonLines | Format::Fields { .. })
    }

    pub(crate) fn is_text(self) -> bool {
        !matches!(self, Format::Fixed(_))
    }

    /// The byte that ends a record of text; it is added where the input ends without it.
    pub(crate) fn end(self) -> Option<u8> {
        match self {
            Format::Fixed(_) => None,
            Format::Separated { separator } => Some(separator),
            _ => Some(b'\n'),
        }
    }

    /// The lines of each record, if all have the same number. Such records are found by counting
    /// line feeds.
    pub(crate) fn lines_each(self) -> Option<u64> {
        match self {
            Format::Lines | Format::JsonLines | Format::Fields { .. } => Some(1),
            Format::LineGroups { lines } => Some(lines),
            _ => None,
        }
    }

    /// Whether a record ends at each line feed and nowhere else.
    pub(crate) fn is_lines(self) -> bool {
        self.lines_each() == Some(1)
    }
}
