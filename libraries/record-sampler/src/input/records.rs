//! The records of one stream, through a buffer that holds one record at a time, and the header
//! before them.

use std::borrow::Cow;
use std::io::{ErrorKind as Io, Read};
use std::path::{Path, PathBuf};

use memchr::memchr;

use super::column::fields;
use super::{BOM, PAGE_BYTES, without_bom};
use crate::format::{
    FASTQ_LINES, RecordFlaw, Splitter, check_fastq_bytes, separator_name, trimmed,
    without_blank_lines,
};
use crate::simd::count_lines;
use crate::{Error, ErrorKind, Format, HeaderRule, Result};

/// Includes a page for alignment, and one for the rest of a record. A fuzzer creates hundreds per
/// second and must be able to fill them.
const BUFFER: usize = if cfg!(fuzzing) { 3 * PAGE_BYTES } else { (256 << 10) + 2 * PAGE_BYTES };

/// A record, which stays in the buffer until the next call.
pub(crate) struct BufferedRecord {
    range: std::ops::Range<usize>,
    /// Its offset in the input.
    pub(crate) offset: u64,
    /// Whether the line before it ended in CRLF.
    pub(crate) is_after_crlf: bool,
}

/// Reads a stream record by record, and skips those that are not needed without storing them.
pub(crate) struct Records<R> {
    reader: R,
    format: Format,
    /// The largest record.
    max: u64,
    splitter: Splitter,
    buffer: Vec<u8>,
    /// The part of the buffer that is not processed yet.
    start: usize,
    end: usize,
    /// The offset of the byte at `start` in the stream.
    offset: u64,
    has_ended: bool,
    last_two: [u8; 2],
    /// Of FASTQ, the lines before the next record, and whether a record was examined.
    lines_before: u64,
    is_examined: bool,
}

impl<R: Read> Records<R> {
    /// The buffer may be that of earlier records, or empty.
    pub(crate) fn new(reader: R, format: Format, max: u64, buffer: Vec<u8>) -> Records<R> {
        // One that has grown for a long record is not kept.
        let buffer = if buffer.len() == BUFFER { buffer } else { vec![0; BUFFER] };
        Records {
            reader,
            format,
            max,
            splitter: Splitter::new(format, max),
            buffer,
            start: 0,
            end: 0,
            offset: 0,
            has_ended: false,
            last_two: [0; 2],
            lines_before: 0,
            is_examined: false,
        }
    }

    /// The buffer, for the records of the next input.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// The bytes that were read from the stream.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.offset + (self.end - self.start) as u64
    }

    /// The offset behind the last record that was found or skipped, and the two bytes before it.
    pub(crate) fn position(&self) -> (u64, [u8; 2]) {
        (self.offset, self.last_two)
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// The next bytes, at least as many unless the stream ends before.
    pub(super) fn peek(&mut self, len: usize) -> Result<&[u8]> {
        while self.end - self.start < len && self.fill()? {}
        Ok(&self.buffer[self.start..self.end])
    }

    /// Appends the rest of the line with its end, which is added if the stream ends without it:
    /// false if the stream has ended.
    fn take_line(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        let mut is_begun = false;
        loop {
            let piece = self.peek(1)?;
            let end = memchr(b'\n', piece).map(|at| at + 1);
            let len = end.unwrap_or(piece.len());
            out.extend_from_slice(&piece[..len]);
            self.consume(len);
            if out.len() as u64 > self.max {
                return Err(self.flawed(0, RecordFlaw::TooLarge(-(out.len() as i64))));
            }
            is_begun |= len > 0;
            if end.is_none() && len == 0 && is_begun {
                out.push(b'\n');
            }
            if end.is_some() || len == 0 {
                return Ok(is_begun);
            }
        }
    }

    /// Appends the lines that begin with one of these texts, up to one that does not.
    fn take_prefixed(&mut self, prefixes: &[String], out: &mut Vec<u8>) -> Result<()> {
        let longest = prefixes.iter().map(String::len).max().unwrap_or(0);
        loop {
            let start = self.peek(longest)?;
            if !prefixes.iter().any(|prefix| start.starts_with(prefix.as_bytes())) {
                return Ok(());
            }
            self.take_line(out)?;
        }
    }

    /// Appends this many bytes. A stream with fewer is an error.
    fn take_bytes(&mut self, len: u64, out: &mut Vec<u8>) -> Result<()> {
        while (out.len() as u64) < len {
            let left = len - out.len() as u64;
            let piece = self.peek(1)?;
            let n = (piece.len() as u64).min(left) as usize;
            if n == 0 {
                let text = format!("has {} bytes, fewer than the {len} of its header", out.len());
                return Err(Error::new(ErrorKind::Malformed, text));
            }
            out.extend_from_slice(&piece[..n]);
            self.consume(n);
        }
        Ok(())
    }

    /// Continues behind a record that ends there, with another reader.
    pub(crate) fn continue_at(&mut self, (offset, last_two): (u64, [u8; 2]), reader: R) {
        self.splitter = Splitter::new(self.format, self.max);
        (self.reader, self.offset, self.last_two) = (reader, offset, last_two);
        (self.start, self.end, self.has_ended) = (0, 0, false);
    }

    /// Finds the next record.
    pub(crate) fn find(&mut self) -> Result<Option<BufferedRecord>> {
        let mut looked_at = 0;
        let len = loop {
            let piece = &self.buffer[self.start + looked_at..self.end];
            let piece_len = piece.len();
            let found = self.splitter.end(piece);
            if let Some(end) = found.map_err(|flaw| self.flawed(looked_at, flaw))? {
                break looked_at + end;
            }
            looked_at += piece_len;
            if self.splitter.is_between() {
                // Empty lines need not be held. The line before them remains the previous line.
                let last_two = self.last_two;
                self.consume(looked_at);
                (self.last_two, looked_at) = (last_two, 0);
                self.splitter = Splitter::new(self.format, self.max);
            }
            if !self.fill()? {
                if !self.finish()? {
                    self.consume(looked_at);
                    return Ok(None);
                }
                break looked_at;
            }
        };
        let (start, offset) = (self.start, self.offset);
        let is_after_crlf = self.last_two == *b"\r\n";
        self.consume(len);
        let record = &self.buffer[start..start + len];
        let before = match self.format {
            Format::Csv { .. } => len - trimmed(record).len(),
            Format::JsonLines => len - without_blank_lines(record).len(),
            _ => 0,
        };
        let range = start + before..start + len;
        if self.format == Format::Fastq {
            check_fastq_bytes(&self.buffer[range.clone()], self.lines_before + 1)?;
            self.lines_before += FASTQ_LINES;
            self.is_examined = true;
        }
        Ok(Some(BufferedRecord { range, offset: offset + before as u64, is_after_crlf }))
    }

    /// The record with its terminator, if it has one.
    pub(crate) fn bytes(&self, found: &BufferedRecord) -> &[u8] {
        &self.buffer[found.range.clone()]
    }

    /// Skips this many records, or as many as there are, and returns how many.
    pub(crate) fn skip(&mut self, n: u64) -> Result<u64> {
        if self.format != Format::Fastq || n == 0 {
            return self.skip_unexamined(n);
        }
        let mut examined = 0;
        // Nearly always the first record shows that records have more lines.
        if !self.is_examined {
            if self.find()?.is_none() {
                return Ok(0);
            }
            examined = 1;
        }
        let skipped = self.skip_unexamined(n - examined)?;
        self.lines_before += FASTQ_LINES * skipped;
        Ok(examined + skipped)
    }

    fn skip_unexamined(&mut self, n: u64) -> Result<u64> {
        let mut skipped = 0;
        let mut is_within = false;
        while skipped < n {
            let piece = &self.buffer[self.start..self.end];
            let found = self.splitter.pass(piece, n - skipped);
            let (passed, bytes) = found.map_err(|flaw| self.flawed(0, flaw))?;
            skipped += passed;
            is_within = match self.format.is_lines() {
                // Counting by vectors needs no state: a record begins behind the last line feed.
                true if bytes > 0 => piece[bytes - 1] != b'\n',
                true => is_within,
                false => false,
            };
            self.consume(bytes);
            if skipped < n && !self.fill()? {
                let is_record = if self.format.is_lines() { is_within } else { self.finish()? };
                self.splitter = Splitter::new(self.format, self.max);
                return Ok(skipped + u64::from(is_record));
            }
        }
        Ok(skipped)
    }

    fn consume(&mut self, n: usize) {
        match &self.buffer[self.start..self.start + n] {
            [.., a, b] => self.last_two = [*a, *b],
            [b] => self.last_two = [self.last_two[1], *b],
            [] => {}
        }
        self.start += n;
        self.offset += n as u64;
    }

    /// Whether a record without terminator is left at the end of the stream.
    fn finish(&mut self) -> Result<bool> {
        let finished = self.splitter.finish();
        self.splitter = Splitter::new(self.format, self.max);
        finished.map_err(|(text, before_end)| {
            let offset = self.bytes_read() - before_end;
            Error::new(ErrorKind::Malformed, format!("{text} at offset {offset}"))
        })
    }

    /// The error for a record that begins there, relative to the examined piece.
    fn flawed(&self, looked_at: usize, flaw: RecordFlaw) -> Error {
        let offset = |begin| (self.offset + looked_at as u64).saturating_add_signed(begin);
        let begin = match flaw {
            RecordFlaw::TooLarge(begin) => begin,
            RecordFlaw::NoMark(begin) => {
                let mark = if let Format::Marked { mark } = self.format { mark } else { b'>' };
                let (offset, mark) = (offset(begin), mark.escape_ascii());
                let text = format!("the record at offset {offset} does not begin with {mark}");
                return Error::new(ErrorKind::Malformed, text);
            }
            RecordFlaw::Foreign(separator, at) => {
                let delimiter =
                    if let Format::Csv { delimiter } = self.format { delimiter } else { b',' };
                let [separator, delimiter] = [separator, delimiter].map(separator_name);
                let text = format!(
                    "the quote at offset {} follows a {separator} and is not closed in its line, \
                     but the delimiter is a {delimiter}",
                    offset(at)
                );
                return Error::new(ErrorKind::BadDelimiter, text);
            }
        };
        let offset = offset(begin);
        let quote = if let Format::Csv { .. } = self.format { "close its quote, or " } else { "" };
        let text = format!(
            "the record at offset {offset} has more than {} bytes: {quote}allow larger records",
            self.max
        );
        Error::new(ErrorKind::TooLarge, text)
    }

    /// Reads more bytes behind those in the buffer: false at the end. A byte order mark is removed.
    fn fill(&mut self) -> Result<bool> {
        let is_first = self.format.drops_bom() && self.bytes_read() == 0;
        if !self.read_more()? {
            return Ok(false);
        }
        if is_first {
            let starts =
                |records: &Self| BOM.starts_with(&records.buffer[records.start..records.end]);
            while starts(self) && self.end - self.start < BOM.len() && self.read_more()? {}
            if self.buffer[self.start..self.end].starts_with(BOM) {
                self.start += BOM.len();
                self.offset += BOM.len() as u64;
            }
        }
        Ok(true)
    }

    /// The buffer grows if a record fills it.
    fn read_more(&mut self) -> Result<bool> {
        if self.has_ended {
            return Ok(false);
        }
        self.make_room()?;
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(n) => {
                    self.end += n;
                    self.has_ended = n == 0;
                    return Ok(n > 0);
                }
                Err(error) if error.kind() == Io::Interrupted => {}
                Err(error) => {
                    let text = format!("reading at offset {}", self.bytes_read());
                    // Our own error, from a reader whose progress callback stopped the work.
                    let own = error.downcast::<Error>();
                    return Err(own.unwrap_or_else(|e| Error::caused(ErrorKind::Io, &text, e)));
                }
            }
        }
    }

    /// Moves the rest so that the next read goes to the start of a page, as far to the front as
    /// possible: see `AlignedBuffer`.
    fn make_room(&mut self) -> Result<()> {
        let left = self.end - self.start;
        let page = self.buffer.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        let end = page + left.next_multiple_of(PAGE_BYTES);
        if end < self.buffer.len() && end < self.end {
            self.buffer.copy_within(self.start..self.end, end - left);
            (self.start, self.end) = (end - left, end);
        }
        if self.end == self.buffer.len() { self.grow() } else { Ok(()) }
    }

    fn grow(&mut self) -> Result<()> {
        let more = self.buffer.len();
        self.buffer.try_reserve_exact(more).map_err(|_| {
            let text = format!("no memory for a record of more than {more} bytes");
            Error::new(ErrorKind::Malformed, format!("{text} at offset {}", self.offset))
        })?;
        self.buffer.resize(2 * more, 0);
        Ok(())
    }
}

// The headers of inputs. The first one is kept, and the others must be equal to it.

impl<R: Read> Records<R> {
    /// The header at the start of the input, with its line end. `None` if the input is empty: it
    /// has neither a header nor records.
    pub(crate) fn header(&mut self, rule: &HeaderRule) -> Result<Option<Vec<u8>>> {
        let mut header = Vec::new();
        match rule {
            HeaderRule::None => return Ok(Some(header)),
            HeaderRule::Record => return self.header_record(),
            _ if self.peek(1)?.is_empty() => return Ok(None),
            HeaderRule::Lines(lines) => {
                for line in 0..*lines {
                    if !self.take_line(&mut header)? {
                        let text = format!("has {line} lines, fewer than the {lines} of a header");
                        return Err(Error::new(ErrorKind::Malformed, text));
                    }
                }
            }
            HeaderRule::Prefix(prefix) => {
                self.take_prefixed(std::slice::from_ref(prefix), &mut header)?;
            }
            HeaderRule::Prefixes(prefixes) => self.take_prefixed(prefixes, &mut header)?,
            HeaderRule::Bytes(_) | HeaderRule::Magic(_) => {
                self.take_bytes(rule.bytes(), &mut header)?;
            }
        }
        self.lines_before = count_lines(&header);
        if let HeaderRule::Magic(magic) = rule
            && header != *magic
        {
            let text = format!("begins with {header:02x?} instead of {magic:02x?}");
            return Err(Error::new(ErrorKind::Malformed, text));
        }
        Ok(Some(header))
    }

    fn header_record(&mut self) -> Result<Option<Vec<u8>>> {
        let end = self.format().end();
        let found = self.find()?;
        Ok(found.map(|found| {
            let mut header = self.bytes(&found).to_vec();
            header.extend(end.filter(|end| header.last() != Some(end)));
            header
        }))
    }
}

/// The header of the first input that has one.
#[derive(Default)]
pub(crate) struct Header {
    pub(crate) bytes: Vec<u8>,
    path: PathBuf,
}

impl Header {
    /// Takes the header of the next input. An input without any record has none.
    pub(crate) fn add(&mut self, path: &Path, header: &[u8], format: Format) -> Result<()> {
        if self.bytes.is_empty() {
            (self.bytes, self.path) = (header.to_vec(), path.to_owned());
            return Ok(());
        }
        let Some((column, names)) = difference(&self.bytes, header, format) else {
            return Ok(());
        };
        let column = column.map(|number| format!(" in column {number}")).unwrap_or_default();
        let [first, other] = names.map(|name| name.map_or("nothing".to_owned(), |n| quoted(&n)));
        let path = self.path.display();
        let text =
            format!("its header differs{column} from that of {path}: {other} instead of {first}");
        Err(Error::new(ErrorKind::MixedHeaders, text))
    }
}

/// A difference between two headers: its text in the first one and in the other one.
type HeaderDifference = [Option<Vec<u8>>; 2];

/// The first column whose names differ, counted from 1, if the format has columns; else the first
/// line that differs.
fn difference(
    first: &[u8],
    other: &[u8],
    format: Format,
) -> Option<(Option<usize>, HeaderDifference)> {
    let Format::Csv { delimiter } = format else {
        return different_line(first, other, format.end().unwrap_or(b'\n'));
    };
    let (mut first, mut other) = (fields(first, delimiter), fields(other, delimiter));
    for number in 1.. {
        let names = [first.next(), other.next()];
        if names == [None, None] {
            break;
        }
        if names[0] != names[1] {
            return Some((Some(number), names.map(|name| name.map(Cow::into_owned))));
        }
    }
    None
}

fn different_line(
    first: &[u8],
    other: &[u8],
    end: u8,
) -> Option<(Option<usize>, HeaderDifference)> {
    let lines = |header| {
        without_bom(header).split_inclusive(move |byte| *byte == end).map(move |line: &[u8]| {
            let line = line.strip_suffix(&[end]).unwrap_or(line);
            line.strip_suffix(b"\r").unwrap_or(line).to_vec()
        })
    };
    let (mut first, mut other) = (lines(first), lines(other));
    loop {
        let pair = [first.next(), other.next()];
        if pair == [None, None] {
            return None;
        }
        if pair[0] != pair[1] {
            return Some((None, pair));
        }
    }
}

/// The beginning of a name, on one line.
fn quoted(name: &[u8]) -> String {
    const MOST: usize = 60;
    let text = String::from_utf8_lossy(name);
    let start: String = text.chars().take(MOST).collect();
    let rest = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{rest}")
}
