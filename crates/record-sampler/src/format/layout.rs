//! Formats by their names: one row for each.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::{Format, HeaderRule};
use crate::{Error, ErrorKind, Result};

/// A format by its name: its records, and the header before them.
///
/// | name | records | header |
/// |---|---|---|
/// | `lines` | lines | |
/// | `csv`, `tsv` | CSV; the same with tabs | |
/// | `jsonl` | lines of JSON | |
/// | `vcf` | lines with tabs between their fields | lines that begin with `#` |
/// | `sam` | the same | lines that begin with `@` |
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
    /// The name; that of PLINK files with the number of samples.
    pub name: String,
    /// The records.
    pub format: Format,
    /// What precedes them.
    pub header: HeaderRule,
}

/// The formats that have nothing to choose, with what the lines of their headers begin with.
const NAMED: [(&str, Format, &str); 10] = [
    ("lines", Format::Lines, ""),
    ("csv", Format::Csv { delimiter: b',' }, ""),
    ("tsv", Format::Csv { delimiter: b'\t' }, ""),
    ("jsonl", Format::JsonLines, ""),
    ("vcf", Format::Fields { delimiter: b'\t' }, "#"),
    ("sam", Format::Fields { delimiter: b'\t' }, "@"),
    ("tped", Format::Fields { delimiter: b' ' }, ""),
    ("hapmap", Format::Fields { delimiter: b' ' }, ""),
    ("fastq", Format::LineGroups { lines: 4 }, ""),
    ("fasta", Format::Marked { mark: b'>' }, ""),
];

/// A PLINK file whose records are variants, and not samples.
const PLINK: [u8; 3] = [0x6c, 0x1b, 0x01];

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
                return Ok(Layout { name: format!("plink-bed:{samples}"), format, header });
            }
            _ => {
                let row = NAMED.iter().find(|(row, ..)| *row == name);
                let (_, format, prefix) = row.ok_or_else(|| unknown(name))?;
                let header = match (name, *prefix) {
                    ("hapmap", _) => HeaderRule::Lines(1),
                    (_, "") => HeaderRule::None,
                    (_, prefix) => HeaderRule::Prefix(prefix.to_owned()),
                };
                (*format, header)
            }
        };
        Ok(Layout { name: name.to_owned(), format, header })
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
    let path = first.with_extension("fam");
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
    let names: Vec<&str> = NAMED.iter().map(|(name, ..)| *name).collect();
    let names = names.join(", ");
    let text =
        format!("unknown format {name:?}, allowed is {names}, fixed:BYTES, plink-bed[:SAMPLES]");
    Error::new(ErrorKind::BadRequest, text)
}
