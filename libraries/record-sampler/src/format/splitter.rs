//! Finds the ends of records: a state machine that takes bytes in pieces of any size. It does not
//! read files.

use memchr::{memchr, memchr_iter, memchr2};

use super::{FASTQ_LINES, Format};
use crate::simd::{pass_lines, plain_lines};

/// Finds the ends of records in consecutive pieces.
pub(crate) struct Splitter {
    format: Format,
    /// The largest record that is accepted.
    max: u64,
    /// Bytes of the current record, including empty lines before it.
    seen: u64,
    /// The bytes of those empty lines.
    empty: u64,
    /// The bytes of the current line: with 0 or 1 byte the line may be empty. For a record of
    /// several lines, the number of lines that have ended.
    content: u64,
    last: Option<u8>,
    quote: Quote,
    /// The position in `seen` of the last opening quote.
    opened: u64,
    /// Whether the number of the record's quotes that open no field is odd.
    is_odd: bool,
    /// The first of them that follows another separator, and its position in `seen`.
    foreign: Option<(u8, u64)>,
    /// The bytes that follow and were examined, and whether each of their line feeds ends a record:
    /// there is neither a quote nor an empty line among them.
    ahead: usize,
    is_plain: bool,
}

/// The bytes of CSV that are examined for quotes at once.
const AHEAD_BYTES: usize = 16 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    Outside,
    Inside,
    /// After a quote within quotes: a second one is an escaped quote, anything else ends the quoted
    /// part.
    Closing,
}

/// A record that cannot be split off. It begins this many bytes after the start of the piece,
/// usually before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RecordFlaw {
    /// It exceeds the limit.
    TooLarge(i64),
    /// It does not begin with the mark.
    NoMark(i64),
    /// By a quote at this place, behind this separator, it ends in the middle of a field.
    Foreign(u8, i64),
}

/// What separates the fields of files that are called CSV. Those of tabs have no quotes by their
/// definition (IANA, text/tab-separated-values).
pub(crate) const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A separator in words.
pub(crate) fn separator_name(separator: u8) -> String {
    match separator {
        b',' => "comma".to_owned(),
        b';' => "semicolon".to_owned(),
        b'\t' => "tab".to_owned(),
        b'|' => "vertical bar".to_owned(),
        other => format!("byte {}", other.escape_ascii()),
    }
}

impl RecordFlaw {
    /// The same flaw for a piece that begins this many bytes earlier.
    pub(super) fn after(self, bytes: usize) -> RecordFlaw {
        match self {
            RecordFlaw::TooLarge(at) => RecordFlaw::TooLarge(at + bytes as i64),
            RecordFlaw::NoMark(at) => RecordFlaw::NoMark(at + bytes as i64),
            RecordFlaw::Foreign(separator, at) => RecordFlaw::Foreign(separator, at + bytes as i64),
        }
    }
}

impl Splitter {
    /// A fixed record may have any size.
    pub(crate) fn new(format: Format, max: u64) -> Splitter {
        let max = if format.is_text() { max } else { u64::MAX };
        let (quote, last) = (Quote::Outside, None);
        Splitter {
            format,
            max,
            seen: 0,
            empty: 0,
            content: 0,
            last,
            quote,
            opened: 0,
            is_odd: false,
            foreign: None,
            ahead: 0,
            is_plain: false,
        }
    }

    /// The length up to the end of the record, or `None` if it does not end in this piece.
    #[inline]
    pub(crate) fn end(&mut self, piece: &[u8]) -> Result<Option<usize>, RecordFlaw> {
        let end = match self.format {
            Format::Fixed(len) => {
                let left = len - self.seen;
                (left <= piece.len() as u64).then_some(left as usize)
            }
            Format::Lines | Format::JsonLines | Format::Fields { .. } => {
                memchr(b'\n', piece).map(|at| at + 1)
            }
            Format::Csv { delimiter } => self.csv_end(piece, delimiter)?,
            Format::Separated { separator } => memchr(separator, piece).map(|at| at + 1),
            Format::LineGroups { lines } => self.group_end(piece, lines),
            Format::Fastq => self.group_end(piece, FASTQ_LINES),
            Format::Marked { mark } => self.marked_end(piece, mark)?,
        };
        let seen = self.seen + end.unwrap_or(piece.len()) as u64;
        if seen - self.empty > self.max {
            return Err(RecordFlaw::TooLarge(self.empty as i64 - self.seen as i64));
        }
        let ahead = self.ahead.saturating_sub(end.unwrap_or(piece.len()));
        if end.is_some() {
            *self = Splitter { is_plain: self.is_plain, ..Splitter::new(self.format, self.max) };
        } else {
            self.seen = seen;
        }
        self.ahead = ahead;
        Ok(end)
    }

    /// Whether only empty lines were seen since the last record.
    pub(crate) fn is_between(&self) -> bool {
        self.seen == self.empty
    }

    fn csv_end(&mut self, piece: &[u8], delimiter: u8) -> Result<Option<usize>, RecordFlaw> {
        let mut at = 0;
        while at < piece.len() {
            match self.quote {
                Quote::Inside => {
                    let found = memchr(b'"', &piece[at..]);
                    let next = found.map_or(piece.len(), |found| at + found + 1);
                    self.content += (next - at) as u64;
                    at = next;
                    if found.is_some() {
                        self.quote = Quote::Closing;
                    }
                }
                Quote::Closing if piece[at] == b'"' => {
                    self.content += 1;
                    at += 1;
                    self.quote = Quote::Inside;
                }
                Quote::Closing => {
                    self.quote = Quote::Outside;
                    self.last = Some(b'"');
                }
                Quote::Outside => {
                    let Some(found) = memchr2(b'"', b'\n', &piece[at..]) else {
                        self.content += (piece.len() - at) as u64;
                        self.last = piece.last().copied();
                        return Ok(None);
                    };
                    if found > 0 {
                        self.last = Some(piece[at + found - 1]);
                    }
                    self.content += found as u64;
                    at += found + 1;
                    if piece[at - 1] == b'\n' {
                        if let Some((separator, quote)) = self.contradiction() {
                            let at = quote as i64 - self.seen as i64;
                            return Err(RecordFlaw::Foreign(separator, at));
                        }
                        if !self.is_empty_line() {
                            return Ok(Some(at));
                        }
                        (self.content, self.last) = (0, None);
                        self.empty = self.seen + at as u64;
                        continue;
                    }
                    if self.last.is_none_or(|last| last == delimiter) {
                        self.quote = Quote::Inside;
                        self.opened = self.seen + at as u64 - 1;
                    } else {
                        self.is_odd = !self.is_odd;
                        let separator = self.last.filter(|last| SEPARATORS.contains(last));
                        let found = separator.filter(|_| delimiter != b'\t');
                        let found = found.map(|found| (found, self.seen + at as u64 - 1));
                        self.foreign = self.foreign.or(found);
                    }
                    self.content += 1;
                    self.last = Some(b'"');
                }
            }
        }
        Ok(None)
    }

    /// The quote behind another separator that shows that the record does not end with this line:
    /// by the delimiter no field of it is quoted, and a quote is left over.
    fn contradiction(&self) -> Option<(u8, u64)> {
        self.foreign.filter(|_| self.is_odd)
    }

    /// The end of a record of several lines.
    fn group_end(&mut self, piece: &[u8], lines: u64) -> Option<usize> {
        let left = lines - self.content;
        let (ended, bytes) = pass_lines(piece, left);
        self.content += ended;
        self.last = piece.last().copied().or(self.last);
        (ended == left).then_some(bytes)
    }

    /// The end of a record before a line that begins with the mark. It may lie at the start of the
    /// piece, as the first byte behind a record decides.
    fn marked_end(&mut self, piece: &[u8], mark: u8) -> Result<Option<usize>, RecordFlaw> {
        let Some(first) = piece.first() else { return Ok(None) };
        if self.seen == 0 && *first != mark {
            return Err(RecordFlaw::NoMark(0));
        }
        let from = usize::from(self.seen == 0);
        let before = |at: usize| at.checked_sub(1).map_or(self.last, |at| Some(piece[at]));
        let mut marks = memchr_iter(mark, &piece[from..]).map(|at| from + at);
        let end = marks.find(|at| before(*at) == Some(b'\n'));
        self.last = piece.last().copied();
        Ok(end)
    }

    fn is_empty_line(&self) -> bool {
        self.content == 0 || self.content == 1 && self.last == Some(b'\r')
    }

    /// Skips at most `limit` records; returns how many, and their bytes. Lines may have any size.
    pub(crate) fn pass(&mut self, piece: &[u8], limit: u64) -> Result<(u64, usize), RecordFlaw> {
        if self.format.is_lines() {
            return Ok(pass_lines(piece, limit));
        }
        let (mut passed, mut at) = (0, 0);
        while passed < limit {
            if self.is_plain_ahead(&piece[at..]) {
                let plain = self.pass_plain(&piece[at..], limit - passed);
                let (lines, bytes) = plain.map_err(|flaw| flaw.after(at))?;
                passed += lines;
                at += bytes;
                continue;
            }
            let end = self.end(&piece[at..]).map_err(|flaw| flaw.after(at))?;
            let Some(end) = end else { return Ok((passed, piece.len())) };
            at += end;
            passed += 1;
        }
        Ok((passed, at))
    }

    /// Whether the next bytes are plain lines of CSV, whose ends are found without examining each
    /// byte.
    fn is_plain_ahead(&mut self, piece: &[u8]) -> bool {
        let Some(first) = piece.first() else { return false };
        let Format::Csv { .. } = self.format else { return false };
        let ends_empty_line =
            self.content < 2 && self.is_empty_line() && matches!(first, b'\n' | b'\r');
        let is_examined = self.quote != Quote::Outside || self.contradiction().is_some();
        if is_examined || ends_empty_line || self.max < AHEAD_BYTES as u64 {
            return false;
        }
        if self.ahead == 0 {
            let ahead = &piece[..piece.len().min(AHEAD_BYTES)];
            (self.ahead, self.is_plain) = (ahead.len(), plain_lines(ahead));
        }
        self.is_plain
    }

    /// Like `pass`, for plain bytes, up to the end of these.
    fn pass_plain(&mut self, piece: &[u8], limit: u64) -> Result<(u64, usize), RecordFlaw> {
        let piece = &piece[..piece.len().min(self.ahead)];
        let (passed, bytes) = pass_lines(piece, limit);
        let piece = &piece[..bytes];
        self.ahead -= bytes;
        let held = self.seen - self.empty;
        let first = if held + bytes as u64 > self.max { memchr(b'\n', piece) } else { Some(0) };
        if held + first.map_or(bytes, |at| at + 1) as u64 > self.max {
            return Err(RecordFlaw::TooLarge(self.empty as i64 - self.seen as i64));
        }
        if passed > 0 {
            let start = memchr::memrchr(b'\n', piece).map_or(0, |at| at + 1);
            let (ahead, is_plain) = (self.ahead, self.is_plain);
            *self = Splitter { ahead, is_plain, ..Splitter::new(self.format, self.max) };
            self.advance(&piece[start..]);
        } else {
            self.advance(piece);
        }
        Ok((passed, bytes))
    }

    /// Adds bytes to the current line.
    fn advance(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        self.content += bytes.len() as u64;
        self.last = bytes.last().copied().or(self.last);
    }

    /// At the end of the input: whether there is a record without terminator. An error contains the
    /// flaw, and the distance from the start of the record to the end of the input.
    pub(crate) fn finish(&self) -> Result<bool, (String, u64)> {
        match self.format {
            Format::Fixed(len) if self.seen > 0 => {
                let text =
                    format!("the last record has {} bytes instead of {len}, it begins", self.seen);
                Err((text, self.seen))
            }
            Format::Fixed(_) => Ok(false),
            Format::Lines
            | Format::JsonLines
            | Format::Fields { .. }
            | Format::Separated { .. }
            | Format::Marked { .. } => Ok(self.seen > 0),
            Format::LineGroups { .. } | Format::Fastq => {
                let lines = self.format.lines_each().unwrap_or(1);
                let has_open_line = self.seen > 0 && self.last != Some(b'\n');
                let found = self.content + u64::from(has_open_line);
                let text =
                    format!("the last record has {found} lines instead of {lines}, it begins");
                if found == 0 || found == lines { Ok(found > 0) } else { Err((text, self.seen)) }
            }
            Format::Csv { .. } if self.quote == Quote::Inside => {
                let text = "a quote is never closed, it is opened".to_owned();
                Err((text, self.seen - self.opened))
            }
            Format::Csv { .. } => Ok(!self.is_empty_line()),
        }
    }
}

/// The record without the empty lines before it.
pub(crate) fn trimmed(mut record: &[u8]) -> &[u8] {
    loop {
        record = match record {
            [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => rest,
            _ => return record,
        };
    }
}
