//! What a part is: a file, and from where to where in it.

use std::path::PathBuf;

use crate::input::{MAX_RECORD, Population};
use crate::{Error, ErrorKind, Format, Result};

/// The records of a file whose first bytes lie from one offset to another.
///
/// Parts of lines, JSON Lines and records of a fixed size may have any borders. CSV and compressed
/// files are parts as a whole; CSV without line breaks in quotes may be divided, too, and it is an
/// error if a record of such a part has one.
///
/// ```
/// use record_sampler::{Format, Part};
/// # let path = std::env::temp_dir().join(format!("part-{}", std::process::id()));
/// std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
/// let part = |from, to| Part::new(0, &path, Format::Lines).range(from, to);
/// assert_eq!(part(0, 4).count()?, 1);
/// assert_eq!(part(0, 5).count()?, 2);
/// assert_eq!(part(5, 99).count()?, 1);
/// assert_eq!(part(5, 99).fetch(&[0])?, [b"three\n"]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), record_sampler::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Part {
    /// The number of the file in the ordered list of all inputs. The sample depends on it, and not
    /// on the path.
    pub file: u64,
    /// The path under which this process finds the file.
    pub path: PathBuf,
    /// The part has the records whose first byte is at this offset or behind it,
    pub from: u64,
    /// and before this one.
    pub to: u64,
    /// What separates the records.
    pub format: Format,
    /// Whether the first record of the file is a header.
    pub header: bool,
    /// The largest record that is held in memory.
    pub max_record: u64,
}

impl Part {
    /// The whole file, which is the one with this number in the ordered list of all inputs.
    ///
    /// ```
    /// use record_sampler::{Format, Part};
    /// let part = Part::new(0, "Cargo.toml", Format::Lines);
    /// assert_eq!((part.from, part.to), (0, u64::MAX));
    /// ```
    pub fn new(file: u64, path: impl Into<PathBuf>, format: Format) -> Part {
        let (from, to) = (0, u64::MAX);
        let max_record = MAX_RECORD;
        Part { file, path: path.into(), from, to, format, header: false, max_record }
    }

    /// Only the records whose first byte is at `from` or behind it, and before `to`.
    ///
    /// ```
    /// use record_sampler::{Format, Part};
    /// let part = |from, to| Part::new(0, "Cargo.toml", Format::Lines).range(from, to);
    /// let both = part(0, 100).count()? + part(100, 10_000).count()?;
    /// assert_eq!(part(0, 10_000).count()?, both);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn range(mut self, from: u64, to: u64) -> Part {
        (self.from, self.to) = (from, to);
        self
    }

    /// The first record of the file is a header, which is in no part.
    ///
    /// ```
    /// use record_sampler::{Format, Part};
    /// let part = Part::new(0, "Cargo.toml", Format::Lines);
    /// assert_eq!(part.clone().with_header().count()?, part.count()? - 1);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_header(mut self) -> Part {
        self.header = true;
        self
    }

    /// Sets the largest record that is held in memory: see
    /// [`Population::with_max_record`](crate::Population::with_max_record).
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Part, Sampler};
    /// let part = Part::new(0, "Cargo.toml", Format::Lines).with_max_record(5);
    /// let error = Sampler::exactly(1).sketch(&part).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::TooLarge);
    /// ```
    #[must_use]
    pub fn with_max_record(mut self, bytes: u64) -> Part {
        self.max_record = bytes;
        self
    }

    /// The file alone.
    pub(crate) fn open(&self) -> Result<Population> {
        let mut population = Population::open([&self.path], self.format)?;
        population.header = self.header;
        population.max_record = self.max_record;
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text).with_path(&self.path));
        if self.header && !self.format.is_text() {
            return bad("records of fixed size have no header");
        }
        if population.files().is_none() && !self.is_whole(u64::MAX) {
            return bad("a compressed file or stream is one part: from 0 to the end");
        }
        Ok(population)
    }

    /// Whether it has all records of a file of this size.
    pub(super) fn is_whole(&self, size: u64) -> bool {
        self.from == 0 && self.to >= size
    }
}
