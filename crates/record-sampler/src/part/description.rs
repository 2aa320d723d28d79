//! What a part is: a file, and from where to where in it.

use std::path::PathBuf;

use crate::input::{MAX_RECORD, Population};
use crate::{Error, ErrorKind, Format, HeaderRule, Result};

/// The records of a file whose first bytes lie from one offset to another.
///
/// A part may have any borders, except in three cases. CSV is a part as a whole; if it has no line
/// breaks in quotes, it may be divided, too, and it is an error if a record of such a part has one.
/// Compressed files, and those whose records have several lines, are always one part.
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
    /// What precedes the records of the file.
    pub header: HeaderRule,
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
        Part { file, path: path.into(), from, to, format, header: HeaderRule::None, max_record }
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
    pub fn with_header(self) -> Part {
        self.with_header_rule(HeaderRule::Record)
    }

    /// As [`with_header`](Self::with_header), for a header that is not the first record.
    ///
    /// ```
    /// use record_sampler::{Format, HeaderRule, Part};
    /// let part = Part::new(0, "Cargo.toml", Format::Lines);
    /// let without = part.clone().with_header_rule(HeaderRule::Lines(3));
    /// assert_eq!(without.count()?, part.count()? - 3);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_header_rule(mut self, rule: HeaderRule) -> Part {
        self.header = rule;
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
        population.header = self.header.clone();
        population.max_record = self.max_record;
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text).with_path(&self.path));
        self.header.check(self.format).map_err(|error| error.with_path(&self.path))?;
        let size = population.files().and_then(|files| files.first().map(|file| file.size));
        let is_divided = size.is_some_and(|size| !self.is_whole(size));
        if is_divided && matches!(self.format, Format::LineGroups { .. }) {
            return bad("a file with records of several lines is one part");
        }
        if size.is_none() && !self.is_whole(u64::MAX) {
            return bad("a compressed file or stream is one part: from 0 to the end");
        }
        Ok(population)
    }

    /// Whether it has all records of a file of this size.
    pub(super) fn is_whole(&self, size: u64) -> bool {
        self.from == 0 && self.to >= size
    }
}
