//! The formats of files, which consist of a header and records of one kind, and their names. It
//! does not read inputs.

mod fastq;
mod kind;
mod splitter;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::{Error, ErrorKind, Result};
pub(crate) use fastq::{FASTQ_LINES, LineShape, check_fastq, check_fastq_bytes};
use kind::is_parquet_start;
pub(crate) use kind::{
    START_BYTES, header_delimiter, kind_of_name, kind_of_start, parquet_refusal, refusal,
    unpacked_path,
};
pub(crate) use splitter::{
    RecordFlaw, Splitter, is_blank, separator_name, trimmed, without_blank_lines,
};

/// The format of the records of an input, and so their ends.
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
    /// As `Lines`; each is a JSON value. Blank lines, which are empty or have white space only, are
    /// not records, as they are nothing to `jq`.
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
    /// Each record has this many lines. A file that ends within a record is an error.
    LineGroups {
        /// The lines of a record.
        lines: u64,
    },
    /// Each record has four lines: a name behind `@`, bases, a line that begins with `+`, and as
    /// many qualities. It is an error if the first record of a file is another one, or one that is
    /// drawn or looked at.
    Fastq,
    /// A record begins with each line whose first byte is this one, such as `>` in FASTA. A file
    /// that begins otherwise is an error.
    Marked {
        /// The first byte of each record.
        mark: u8,
    },
}

/// The header of a file. It is not part of the population, and is written once before the records.
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
    /// No header.
    #[default]
    None,
    /// The first record.
    Record,
    /// This many lines. A file with fewer lines is an error, unless it is empty.
    Lines(u64),
    /// The lines at the start of the file that begin with this text.
    Prefix(String),
    /// The lines at the start of the file that begin with one of these texts.
    Prefixes(Vec<String>),
    /// This many bytes, before records of a fixed size.
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
            HeaderRule::Prefixes(prefixes) if prefixes.iter().any(String::is_empty) => {
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
    /// line feeds, those of JSON Lines unless lines are blank.
    pub(crate) fn lines_each(self) -> Option<u64> {
        match self {
            Format::Lines | Format::JsonLines | Format::Fields { .. } => Some(1),
            Format::LineGroups { lines } => Some(lines),
            Format::Fastq => Some(FASTQ_LINES),
            _ => None,
        }
    }

    /// Whether all files are one part each, as lines do not show which of them begin a record.
    pub(crate) fn has_several_lines(self) -> bool {
        matches!(self, Format::LineGroups { .. } | Format::Fastq)
    }

    /// Whether a record ends at each line feed and nowhere else.
    pub(crate) fn is_lines(self) -> bool {
        self.lines_each() == Some(1) && self != Format::JsonLines
    }
}

/// A format by its name: its records, and the header before them.
///
/// | name | records | header |
/// |---|---|---|
/// | `lines` | lines | |
/// | `csv`, `tsv` | CSV; the same with tabs | the first record |
/// | `jsonl` | lines of JSON that are not blank | |
/// | `vcf`, `gff` | lines with tabs between their fields | lines that begin with `#` |
/// | `sam` | the same | lines that begin with `@` |
/// | `bed` | the same, of the UCSC browser | lines that begin with `#`, `track` or `browser` |
/// | `tped` | lines with blanks between their fields | |
/// | `hapmap` | the same | one line |
/// | `fastq` | four lines | |
/// | `fasta` | a line that begins with `>`, and those up to the next one | |
/// | `fixed:BYTES` | as many bytes | |
/// | `plink-bed` | a variant of all samples, of which FILE.fam has one in each line | 3 bytes |
/// | `plink-bed:SAMPLES` | the same for as many samples | 3 bytes |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// The name; that of PLINK files with the number of samples. It is empty if only the records
    /// were given.
    pub name: String,
    /// The records.
    pub format: Format,
    /// The rule for the header before them.
    pub header: HeaderRule,
    /// A note for the user, if the content of a file decided: see
    /// [`LayoutChoice`](crate::LayoutChoice).
    pub note: Option<String>,
}

/// The formats without parameters.
const NAMED: [(&str, Format); 12] = [
    ("lines", Format::Lines),
    ("csv", Format::Csv { delimiter: b',' }),
    ("tsv", Format::Csv { delimiter: b'\t' }),
    ("jsonl", Format::JsonLines),
    ("vcf", Format::Fields { delimiter: b'\t' }),
    ("gff", Format::Fields { delimiter: b'\t' }),
    ("sam", Format::Fields { delimiter: b'\t' }),
    ("bed", Format::Fields { delimiter: b'\t' }),
    ("tped", Format::Fields { delimiter: b' ' }),
    ("hapmap", Format::Fields { delimiter: b' ' }),
    ("fastq", Format::Fastq),
    ("fasta", Format::Marked { mark: b'>' }),
];

/// The rule for the header of a format of this name.
fn header_of(name: &str) -> HeaderRule {
    match name {
        "csv" | "tsv" => HeaderRule::Record,
        "hapmap" => HeaderRule::Lines(1),
        "vcf" | "gff" => HeaderRule::Prefix("#".to_owned()),
        "sam" => HeaderRule::Prefix("@".to_owned()),
        "bed" => HeaderRule::Prefixes(["#", "track", "browser"].map(str::to_owned).to_vec()),
        _ => HeaderRule::None,
    }
}

/// A PLINK file whose records are variants, and not samples.
const PLINK: [u8; 3] = [0x6c, 0x1b, 0x01];

/// What showed the format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FoundBy {
    /// The ending of its name.
    Name,
    /// Its first bytes.
    Content,
}

impl FoundBy {
    /// The note for the user about a file of this format, unless its name shows the format.
    ///
    /// ```
    /// use record_sampler::FoundBy;
    /// let note = |by: FoundBy| by.note("reads".as_ref(), "sam");
    /// assert_eq!(note(FoundBy::Content).unwrap(), "reads begins as sam does, and is read so");
    /// assert_eq!(note(FoundBy::Name), None);
    /// ```
    pub fn note(self, path: &Path, kind: &str) -> Option<String> {
        let note = || format!("{} begins as {kind} does, and is read so", path.display());
        (self == FoundBy::Content).then(note)
    }
}

impl Layout {
    /// The format with this name. `first` is the path of the first file, beside which that of the
    /// samples of a PLINK file is found.
    ///
    /// ```
    /// use record_sampler::{Format, HeaderRule, Layout};
    /// let layout = Layout::named("vcf", None)?;
    /// assert_eq!(layout.format, Format::Fields { delimiter: b'\t' });
    /// assert_eq!(layout.header, HeaderRule::Prefix("#".to_owned()));
    /// assert_eq!(Layout::named("plink-bed:5", None)?.format, Format::Fixed(2));
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn named(name: &str, first: Option<&Path>) -> Result<Layout> {
        let (kind, number) = name.split_once(':').unwrap_or((name, ""));
        let number: Option<u64> = number.parse().ok();
        let (format, header) = match (kind, number) {
            ("fixed", Some(bytes)) => (Format::Fixed(bytes), HeaderRule::None),
            ("plink-bed", Some(samples)) => plink(samples),
            ("plink-bed", None) if name == kind => {
                let samples = samples(first)?;
                let (format, header) = plink(samples);
                let name = format!("plink-bed:{samples}");
                return Ok(Layout { name, format, header, note: None });
            }
            _ => {
                let row = NAMED.iter().find(|(row, _)| *row == name);
                let (_, format) = row.ok_or_else(|| unknown(name))?;
                (*format, header_of(name))
            }
        };
        Ok(Layout { name: name.to_owned(), format, header, note: None })
    }

    /// Whether a file is Parquet, whose rows are not bytes of the file, and so have no layout: by
    /// its name, or by its first bytes if the name says nothing. A file that cannot be read is not.
    ///
    /// ```
    /// use record_sampler::{FoundBy, Layout};
    /// assert_eq!(Layout::parquet("rows.parquet".as_ref()), Some(FoundBy::Name));
    /// assert_eq!(Layout::parquet("Cargo.toml".as_ref()), None);
    /// ```
    pub fn parquet(path: &Path) -> Option<FoundBy> {
        if let Some(kind) = kind_of_name(path) {
            return (kind == "parquet").then_some(FoundBy::Name);
        }
        // Bytes that are read from a pipe are lost.
        if !path.is_file() {
            return None;
        }
        let mut start = Vec::new();
        let read = File::open(path).ok()?.take(START_BYTES as u64).read_to_end(&mut start);
        (read.is_ok() && is_parquet_start(&start)).then_some(FoundBy::Content)
    }
}

/// A variant has two bits for each sample.
fn plink(samples: u64) -> (Format, HeaderRule) {
    (Format::Fixed(samples.div_ceil(4)), HeaderRule::Magic(PLINK.to_vec()))
}

/// The number of samples of a PLINK file: of the lines of the file with the ending `fam`.
fn samples(first: Option<&Path>) -> Result<u64> {
    let Some(first) = first else {
        let text = "the number of samples is in a file beside the PLINK file: name that, or give \
                    plink-bed:SAMPLES";
        return Err(Error::new(ErrorKind::BadRequest, text));
    };
    let path = unpacked_path(first).with_extension("fam");
    let io = |error| {
        let text = "it has the samples of the PLINK file, unless plink-bed:SAMPLES is given";
        Error::caused(ErrorKind::Io, text, error).with_path(&path)
    };
    let mut lines = BufReader::new(File::open(&path).map_err(io)?).split(b'\n');
    let count = lines.try_fold(0, |count, line| line.map(|_| count + 1)).map_err(io)?;
    if count == 0 {
        let text = "has no sample";
        return Err(Error::new(ErrorKind::Malformed, text).with_path(&path));
    }
    Ok(count)
}

fn unknown(name: &str) -> Error {
    let names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
    let names = names.join(", ");
    let text =
        format!("unknown format {name:?}, allowed is {names}, fixed:BYTES, plink-bed[:SAMPLES]");
    Error::new(ErrorKind::BadRequest, text)
}

#[cfg(test)]
mod tests;
