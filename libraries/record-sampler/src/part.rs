//! A part of the population, which another process or machine can read: to sketch, to count or to
//! fetch its records.

use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use memchr::memchr;

use crate::fetch::{count_fixed, fetch_places};
use crate::format::is_blank;
use crate::input::{
    FileAccess, FileWindow, Header, HeaderLine, Input, MAX_RECORD, PlainFile, Population, Scan,
    Scanned, Source,
};
use crate::simd::count_lines;
use crate::sink::{Place, RecordSink};
use crate::work::ProgressGate;
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
    /// The format of the records.
    pub format: Format,
    /// The rule for the header of the file.
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

    /// Like [`with_header`](Self::with_header), for a header that is not the first record.
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
        if is_divided && self.format.has_several_lines() {
            return bad("a file with records of several lines is one part");
        }
        if size.is_none() && !self.is_whole(u64::MAX) {
            return bad("a compressed file or stream is one part: from 0 to the end");
        }
        Ok(population)
    }

    /// The file, whose bytes come from a reader. It is decoded if it is compressed.
    pub(crate) fn stream(&self, reader: impl Read + Send + 'static) -> Result<Population> {
        self.header.check(self.format).map_err(|error| error.with_path(&self.path))?;
        let can_be_divided =
            matches!(self.format, Format::Lines | Format::JsonLines) && self.header.is_none();
        if !self.is_whole(u64::MAX) && !can_be_divided {
            let text = "only lines and JSON Lines without a header have parts that a reader gives";
            return Err(Error::new(ErrorKind::BadRequest, text).with_path(&self.path));
        }
        let mut population = Population::open([""; 0], self.format)?;
        if self.from == 0 {
            population.push_stream(&self.path, reader);
        } else {
            // In the middle of a file, bytes that look like those of a compression mean nothing.
            let source = Source::Stream(Some(Box::new(reader)));
            population.inputs.push(Input { path: self.path.clone(), source });
        }
        (population.header, population.max_record) = (self.header.clone(), self.max_record);
        Ok(population)
    }

    /// Whether it has all records of a file of this size.
    fn is_whole(&self, size: u64) -> bool {
        self.from == 0 && self.to >= size
    }
}

impl Part {
    /// The header of the file with its line end; empty if there is none.
    ///
    /// ```
    /// use record_sampler::{Format, Part};
    /// let part = Part::new(0, "Cargo.toml", Format::Lines).with_header();
    /// assert_eq!(part.header_bytes()?, b"[package]\n");
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn header_bytes(&self) -> Result<Vec<u8>> {
        let mut population = self.open()?;
        let scan = Scan::new(&mut population, ProgressGate::default())?;
        Ok(scan.header().to_vec())
    }

    /// The number of records. Records of a fixed size are not read for it.
    ///
    /// ```
    /// use record_sampler::{Format, Part};
    /// assert!(Part::new(0, "Cargo.toml", Format::Lines).count()? > 20);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn count(&self) -> Result<u64> {
        let mut population = self.open()?;
        let counted = count(self, &mut population);
        let counted = counted.map_err(|error| error.with_path(&self.path));
        population.unless_changed(counted).map(|(count, _)| count)
    }

    /// Like [`count`](Self::count), for a file whose bytes come from this reader, such as an object
    /// of a bucket. Of the path only the name in messages is used. Lines and JSON Lines without a
    /// header may be divided, unless they are compressed: the reader gives the file from two bytes
    /// before the part on, or from its start if there are fewer.
    ///
    /// ```
    /// use record_sampler::{Format, Part};
    /// let part = Part::new(0, "s3://bucket/a", Format::Lines);
    /// assert_eq!(part.count_stream(&b"one\ntwo"[..])?, 2);
    /// let second = part.range(4, 7);
    /// assert_eq!(second.count_stream(&b"one\ntwo"[2..])?, 1);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn count_stream(&self, reader: impl Read + Send + 'static) -> Result<u64> {
        let counted = count(self, &mut self.stream(reader)?);
        counted.map_err(|error| error.with_path(&self.path))
    }

    /// The records with these ranks among those of the part, in ascending order; a rank may be
    /// repeated. Text that ends without a line end gets one.
    ///
    /// ```
    /// use record_sampler::{Format, Part};
    /// let part = Part::new(0, "Cargo.toml", Format::Lines);
    /// assert_eq!(part.fetch(&[0, 0])?, [b"[package]\n", b"[package]\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn fetch(&self, ranks: &[u64]) -> Result<Vec<Vec<u8>>> {
        check_ranks(ranks)?;
        let mut population = self.open()?;
        let fetched = match self.format {
            Format::Fixed(len) if population.files().is_some() => {
                self.fetch_fixed(&population, len, ranks)
            }
            _ => self.fetch_scanned(&mut population, ranks),
        };
        let fetched = fetched.map_err(|error| error.with_path(&self.path));
        population.unless_changed(fetched).map(|(records, _)| records)
    }

    /// Like [`fetch`](Self::fetch), for a file whose bytes come from this reader, as for
    /// [`count_stream`](Self::count_stream).
    ///
    /// ```
    /// use record_sampler::{Format, Part};
    /// let part = Part::new(0, "s3://bucket/a", Format::Lines);
    /// assert_eq!(part.fetch_stream(&[1], &b"one\ntwo"[..])?, [b"two\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn fetch_stream(
        &self,
        ranks: &[u64],
        reader: impl Read + Send + 'static,
    ) -> Result<Vec<Vec<u8>>> {
        check_ranks(ranks)?;
        let fetched = self.fetch_scanned(&mut self.stream(reader)?, ranks);
        fetched.map_err(|error| error.with_path(&self.path))
    }

    fn fetch_fixed(
        &self,
        population: &Population,
        len: u64,
        ranks: &[u64],
    ) -> Result<Vec<Vec<u8>>> {
        let header = self.header.bytes();
        let (first, count) = fixed(self, population, len)?;
        if ranks.last().is_some_and(|last| *last >= count) {
            return Err(self.too_few());
        }
        let places: Vec<Place> =
            ranks.iter().map(|rank| Place { at: header + (first + rank) * len, len }).collect();
        let mut list = RecordSink::default();
        fetch_places(population, &places, &mut list)?;
        Ok(list.records)
    }

    fn fetch_scanned(&self, population: &mut Population, ranks: &[u64]) -> Result<Vec<Vec<u8>>> {
        let mut scan = PartScan::new(self, population, ProgressGate::default())?;
        let mut records: Vec<Vec<u8>> = Vec::new();
        let mut last = None;
        for rank in ranks {
            if last == Some(*rank) {
                records.extend(records.last().cloned());
                continue;
            }
            scan.skip(rank - last.map_or(0, |last| last + 1))?;
            let record = scan.next()?.ok_or_else(|| self.too_few())?;
            records.push(completed(record.bytes, record.is_after_crlf, self.format).into());
            last = Some(*rank);
        }
        Ok(records)
    }

    /// Fails if the header of the file is not this one, which is that of the files before it. It is
    /// found here, where all paths are known: a sketch has the number of a file only.
    fn compare_header(&self, header: &mut Header) -> Result<()> {
        let own = self.header_bytes()?;
        if own.is_empty() {
            return Ok(());
        }
        let compared = header.add(&self.path, &own, self.format);
        compared.map_err(|error| error.with_path(&self.path))
    }

    fn too_few(&self) -> Error {
        let text = "a part has fewer records than were counted: the file has changed";
        Error::new(ErrorKind::Changed, text).with_path(&self.path)
    }
}

fn check_ranks(ranks: &[u64]) -> Result<()> {
    if ranks.is_sorted() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::BadRequest, "ranks must be in ascending order"))
}

impl Population {
    /// Divides the files into parts of about this size, each of which another process may sketch,
    /// count or fetch from. A file of CSV, or with records of several lines, and a compressed one
    /// are one part each. The headers of several files are read, as different ones are an error.
    ///
    /// ```
    /// use record_sampler::{Format, Population};
    /// let parts = Population::open(["Cargo.toml"], Format::Lines)?.parts(500)?;
    /// assert!(parts.len() > 1);
    /// assert!(parts.windows(2).all(|two| two[0].to == two[1].from));
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn parts(&self, bytes: u64) -> Result<Vec<Part>> {
        let bad = |text: &str| Error::new(ErrorKind::BadRequest, text);
        if bytes == 0 {
            return Err(bad("a part must have at least 1 byte"));
        }
        if self.mixed_headers {
            return Err(bad("parts of files with different headers have no columns in common"));
        }
        let (mut parts, mut header) = (Vec::new(), Header::default());
        for (number, input) in self.inputs.iter().enumerate() {
            let file = match &input.source {
                Source::File(file) | Source::Compressed(file, _) if file.handle.has_path() => file,
                _ => return Err(bad("only files have parts").with_path(&input.path)),
            };
            let mut whole = Part::new(number as u64, &input.path, self.format);
            (whole.header, whole.max_record) = (self.header.clone(), self.max_record);
            if self.inputs.len() > 1 && !self.header.is_none() {
                whole.compare_header(&mut header)?;
            }
            let is_divided = matches!(input.source, Source::File(_))
                && !matches!(self.format, Format::Csv { .. })
                && !self.format.has_several_lines();
            if !is_divided {
                parts.push(whole);
                continue;
            }
            // An empty file is a part, too: its header may be required.
            for from in (0..file.size.max(1)).step_by(usize::try_from(bytes).unwrap_or(usize::MAX))
            {
                parts.push(whole.clone().range(from, from.saturating_add(bytes).min(file.size)));
            }
        }
        Ok(parts)
    }
}

/// Iterates over the records of a part.
pub(crate) struct PartScan<'a> {
    scan: Scan<'a>,
    to: u64,
    /// Whether it may be only a part of a file.
    is_divided: bool,
}

/// The position of the first record of a file, and the size of the file.
struct FileStart {
    /// The first record of the file, behind a header and a byte order mark.
    first: u64,
    size: u64,
}

impl<'a> PartScan<'a> {
    pub(crate) fn new(
        part: &Part,
        population: &'a mut Population,
        watch: ProgressGate,
    ) -> Result<PartScan<'a>> {
        let path = part.path.clone();
        let named = |error: Error| error.with_path(&path);
        let file = population.files().and_then(|files| files.first().copied());
        let Some(size) = file.map(|file| file.size) else {
            let is_divided = !part.is_whole(u64::MAX);
            let rest = rest(part, population).map_err(named)?;
            let mut scan = Scan::new(population, watch)?;
            if let Some(RestOfFile { offset, last_two, reader }) = rest {
                scan.continue_with(offset, last_two, reader);
            }
            return Ok(PartScan { scan, to: part.to, is_divided });
        };
        let first = start(part, population)?.first;
        let begins = match population.files().and_then(|files| files.first().copied()) {
            Some(file) if part.from > first => begin(file, part).map_err(named)?,
            _ => None,
        };
        let is_divided = !part.is_whole(size);
        let mut scan = Scan::new(population, watch)?;
        if let Some((offset, last_two)) = begins {
            scan.continue_at(offset, last_two);
        }
        Ok(PartScan { scan, to: part.to, is_divided })
    }

    pub(crate) fn header(&self) -> &[u8] {
        self.scan.header()
    }

    /// The line with the names of the columns.
    pub(crate) fn names(&self) -> Option<HeaderLine<'_>> {
        self.scan.names()
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Result<Option<Scanned<'_>>> {
        let is_one_line = self.is_one_line();
        let Some(record) = self.scan.next()? else { return Ok(None) };
        if record.offset >= self.to {
            return Ok(None);
        }
        let lines = record.bytes.split_last().map_or(&[][..], |(_, before)| before);
        if is_one_line && memchr(b'\n', lines).is_some() {
            let text = "has a line break in quotes: the file must be one part";
            let error = Error::new(ErrorKind::Malformed, text);
            return Err(error.in_record_at(record.offset));
        }
        Ok(Some(record))
    }

    /// Whether a record must be one line: it is not known whether a part of CSV begins within
    /// quotes.
    fn is_one_line(&self) -> bool {
        self.is_divided && matches!(self.scan.format(), Format::Csv { .. })
    }

    /// Skips this many records, or those that the file has.
    fn skip(&mut self, n: u64) -> Result<()> {
        if !self.is_one_line() {
            return self.scan.skip(n).map(drop);
        }
        let mut skipped = 0;
        while skipped < n && self.next()?.is_some() {
            skipped += 1;
        }
        Ok(())
    }

    /// The number of records.
    fn count(mut self) -> Result<u64> {
        let before = self.scan.rank();
        if self.is_divided {
            let mut count = 0;
            while self.next()?.is_some() {
                count += 1;
            }
            return Ok(count);
        }
        self.scan.skip(u64::MAX)?;
        Ok(self.scan.rank() - before)
    }
}

/// A file from a record on, which follows a line with these last two bytes.
struct RestOfFile {
    offset: u64,
    last_two: [u8; 2],
    reader: Box<dyn Read + Send>,
}

/// The rest of the only input, a stream from two bytes before the part on, from the first record on
/// that begins in the part or behind it; `None` for a part that begins with its file.
fn rest(part: &Part, population: &mut Population) -> Result<Option<RestOfFile>> {
    let io = |error| Error::caused(ErrorKind::Io, "", error);
    let Some(Input { source: Source::Stream(stream), .. }) = population.inputs.first_mut() else {
        return Ok(None);
    };
    if part.from == 0 {
        return Ok(None);
    }
    let stream = stream.replace(Box::new(io::empty()));
    let mut reader = BufReader::new(stream.unwrap_or_else(|| Box::new(io::empty())));
    // The start of the file counts as preceded by a line end.
    let (mut offset, mut last_two) = (part.from, [b'\n'; 2]);
    let mut before = Vec::new();
    reader.by_ref().take(part.from.min(2)).read_to_end(&mut before).map_err(io)?;
    let is_there = before.len() as u64 == part.from.min(2);
    for byte in before {
        last_two = [last_two[1], byte];
    }
    while is_there && last_two[1] != b'\n' {
        let piece = reader.fill_buf().map_err(io)?;
        if piece.is_empty() {
            break;
        }
        let len = memchr(b'\n', piece).map_or(piece.len(), |at| at + 1);
        for byte in &piece[len.saturating_sub(2)..len] {
            last_two = [last_two[1], *byte];
        }
        reader.consume(len);
        offset += len as u64;
    }
    Ok(Some(RestOfFile { offset, last_two, reader: Box::new(reader) }))
}

/// The start of the records of the only file of the population.
fn start(part: &Part, population: &mut Population) -> Result<FileStart> {
    let named = |error: Error| error.with_path(&part.path);
    let file = population.files().and_then(|files| files.first().copied());
    let Some(file) = file else { return Ok(FileStart { first: 0, size: 0 }) };
    let (bom, size) = (file.bom_bytes(part.format).map_err(named)?, file.size);
    let behind_header = if part.header.is_none() {
        0
    } else {
        Scan::new(population, ProgressGate::default())?.offset()
    };
    Ok(FileStart { first: behind_header.max(bom), size })
}

/// The first record that begins within a part, which does not begin with that of the file, and the
/// two bytes before it. If none begins in it, the end of the file.
fn begin(file: &PlainFile, part: &Part) -> Result<Option<(u64, [u8; 2])>> {
    const PIECE: usize = 64 << 10;
    let end = part.to.min(file.size);
    if let Format::Fixed(len) = part.format {
        let header = part.header.bytes();
        let rank = part.from.saturating_sub(header).div_ceil(len);
        let begin = rank.saturating_mul(len).saturating_add(header);
        return Ok(Some((begin.min(file.size), [0; 2])));
    }
    let mark = if let Format::Marked { mark } = part.format { Some(mark) } else { None };
    let before = part.format.end().unwrap_or(b'\n');
    let mut window = FileWindow::new(FileAccess::Read(file), PIECE);
    let mut at = part.from - 1;
    while at + 1 < end {
        let piece = window.at(at, PIECE)?;
        let Some(found) = memchr(before, piece) else {
            at += piece.len() as u64;
            continue;
        };
        let begin = at + found as u64 + 1;
        if mark.is_some() && window.at(begin, 1)?.first().copied() != mark {
            at = begin;
            continue;
        }
        return Ok(Some((begin, last_two(&mut window, begin, part.format)?)));
    }
    Ok(Some((file.size, [0; 2])))
}

/// The last two bytes of the line before this one; empty lines of CSV and blank ones of JSON Lines
/// are not lines.
fn last_two(window: &mut FileWindow<'_>, begin: u64, format: Format) -> Result<[u8; 2]> {
    let mut end = begin;
    if format == Format::JsonLines {
        end = before_blank_lines(window, begin)?;
    }
    loop {
        // The start of the file counts as preceded by a line end.
        let mut before = [b'\n'; 3];
        for (byte, back) in before.iter_mut().zip([3, 2, 1]) {
            if let Some(at) = end.checked_sub(back) {
                *byte = window.at(at, 1)?.first().copied().unwrap_or(b'\n');
            }
        }
        let empty = match before {
            [_, b'\n', b'\n'] => 1,
            [b'\n', b'\r', b'\n'] => 2,
            _ => 0,
        };
        if empty == 0 || end < empty || !matches!(format, Format::Csv { .. }) {
            return Ok([before[1], before[2]]);
        }
        end -= empty;
    }
}

/// The end of the last line before this one that is not blank, or the start of the file.
fn before_blank_lines(window: &mut FileWindow<'_>, begin: u64) -> Result<u64> {
    let (mut end, mut at) = (begin, begin);
    while let Some(before) = at.checked_sub(1) {
        match window.at(before, 1)?.first() {
            // The line behind this line feed is blank.
            Some(b'\n') => end = at,
            Some(byte) if is_blank(&[*byte]) => {}
            _ => return Ok(end),
        }
        at = before;
    }
    Ok(0)
}

/// A record as it is written: text with its end, or the line end of the line before it.
pub(crate) fn completed(record: &[u8], is_after_crlf: bool, format: Format) -> Box<[u8]> {
    match format.end() {
        Some(b'\n') if record.last() != Some(&b'\n') && is_after_crlf => {
            [record, b"\r\n"].concat().into()
        }
        Some(end) if record.last() != Some(&end) => [record, &[end]].concat().into(),
        _ => record.into(),
    }
}

/// The number of records of the only file of the population that are in the part.
fn count(part: &Part, population: &mut Population) -> Result<u64> {
    match part.format {
        Format::Fixed(len) if population.files().is_some() => Ok(fixed(part, population, len)?.1),
        format if format.is_lines() && population.files().is_some() => {
            let start = start(part, population)?;
            lines(part, population, &start).map_err(|error: Error| error.with_path(&part.path))
        }
        _ => PartScan::new(part, population, ProgressGate::default())?.count(),
    }
}

/// The number of the first record of the part in its file, and the number of its records.
fn fixed(part: &Part, population: &Population, len: u64) -> Result<(u64, u64)> {
    let total: u64 = count_fixed(population, len)?.iter().sum();
    let rank = |offset: u64| offset.saturating_sub(part.header.bytes()).div_ceil(len).min(total);
    let (first, end) = (rank(part.from), rank(part.to));
    Ok((first, end.saturating_sub(first)))
}

/// A line begins behind each line feed that is not the last byte of the file.
fn lines(part: &Part, population: &Population, start: &FileStart) -> Result<u64> {
    const PIECE: usize = 256 << 10;
    let end = part.to.min(start.size);
    let is_first_within = part.from <= start.first && start.first < end;
    let Some(file) = population.files().and_then(|files| files.first().copied()) else {
        return Ok(0);
    };
    let mut window = FileWindow::new(FileAccess::Read(file), PIECE);
    let mut at = part.from.max(start.first + 1) - 1;
    let mut count = u64::from(is_first_within);
    while at + 1 < end {
        let most = (end - 1 - at).min(PIECE as u64) as usize;
        let piece = window.at(at, most)?;
        count += count_lines(piece);
        at += piece.len() as u64;
    }
    Ok(count)
}
