//! Finds the ends of records: a state machine that takes bytes in pieces of any size. It does not
//! read files.

use memchr::{memchr, memchr2};

use crate::simd::{pass_lines, plain_lines};

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
    /// As `Lines`; each is a JSON value.
    JsonLines,
}

impl Format {
    /// Whether a byte order mark is removed, which would otherwise become part of the first column.
    pub(crate) fn drops_bom(self) -> bool {
        matches!(self, Format::Csv { .. } | Format::JsonLines)
    }

    pub(crate) fn is_text(self) -> bool {
        !matches!(self, Format::Fixed(_))
    }

    /// Whether a record ends at each line feed and nowhere else.
    pub(crate) fn is_lines(self) -> bool {
        matches!(self, Format::Lines | Format::JsonLines)
    }
}

/// Finds the ends of records in consecutive pieces.
pub(crate) struct Splitter {
    format: Format,
    /// The largest record that is accepted.
    max: u64,
    /// Bytes of the current record, including empty lines before it.
    seen: u64,
    /// The bytes of those empty lines.
    empty: u64,
    /// The bytes of the current line: with 0 or 1 byte the line may be empty.
    content: u64,
    last: Option<u8>,
    quote: Quote,
    /// The position in `seen` of the last opening quote.
    opened: u64,
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

/// The record exceeds the limit. It begins this many bytes after the start of the piece, usually
/// before it.
#[derive(Debug, PartialEq)]
pub(crate) struct TooLarge(pub(crate) i64);

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
            ahead: 0,
            is_plain: false,
        }
    }

    /// The length up to the end of the record, or `None` if it does not end in this piece.
    #[inline]
    pub(crate) fn end(&mut self, piece: &[u8]) -> Result<Option<usize>, TooLarge> {
        let end = match self.format {
            Format::Fixed(len) => {
                let left = len - self.seen;
                (left <= piece.len() as u64).then_some(left as usize)
            }
            Format::Lines | Format::JsonLines => memchr(b'\n', piece).map(|at| at + 1),
            Format::Csv { delimiter } => self.csv_end(piece, delimiter),
        };
        let seen = self.seen + end.unwrap_or(piece.len()) as u64;
        if seen - self.empty > self.max {
            return Err(TooLarge(self.empty as i64 - self.seen as i64));
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

    fn csv_end(&mut self, piece: &[u8], delimiter: u8) -> Option<usize> {
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
                        return None;
                    };
                    if found > 0 {
                        self.last = Some(piece[at + found - 1]);
                    }
                    self.content += found as u64;
                    at += found + 1;
                    if piece[at - 1] == b'\n' {
                        if !self.is_empty_line() {
                            return Some(at);
                        }
                        (self.content, self.last) = (0, None);
                        self.empty = self.seen + at as u64;
                        continue;
                    }
                    if self.last.is_none_or(|last| last == delimiter) {
                        self.quote = Quote::Inside;
                        self.opened = self.seen + at as u64 - 1;
                    }
                    self.content += 1;
                    self.last = Some(b'"');
                }
            }
        }
        None
    }

    fn is_empty_line(&self) -> bool {
        self.content == 0 || self.content == 1 && self.last == Some(b'\r')
    }

    /// Skips at most `limit` records; returns how many, and their bytes. Lines may have any size.
    pub(crate) fn pass(&mut self, piece: &[u8], limit: u64) -> Result<(u64, usize), TooLarge> {
        if self.format.is_lines() {
            return Ok(pass_lines(piece, limit));
        }
        let (mut passed, mut at) = (0, 0);
        while passed < limit {
            if self.is_plain_ahead(&piece[at..]) {
                let plain = self.pass_plain(&piece[at..], limit - passed);
                let (lines, bytes) = plain.map_err(|TooLarge(n)| TooLarge(n + at as i64))?;
                passed += lines;
                at += bytes;
                continue;
            }
            let end = self.end(&piece[at..]).map_err(|TooLarge(n)| TooLarge(n + at as i64))?;
            let Some(end) = end else { return Ok((passed, piece.len())) };
            at += end;
            passed += 1;
        }
        Ok((passed, at))
    }

    /// Whether the next bytes are plain lines of CSV, whose ends are found without looking at each
    /// byte.
    fn is_plain_ahead(&mut self, piece: &[u8]) -> bool {
        let Some(first) = piece.first() else { return false };
        let Format::Csv { .. } = self.format else { return false };
        let ends_empty_line =
            self.content < 2 && self.is_empty_line() && matches!(first, b'\n' | b'\r');
        if self.quote != Quote::Outside || ends_empty_line || self.max < AHEAD_BYTES as u64 {
            return false;
        }
        if self.ahead == 0 {
            let ahead = &piece[..piece.len().min(AHEAD_BYTES)];
            (self.ahead, self.is_plain) = (ahead.len(), plain_lines(ahead));
        }
        self.is_plain
    }

    /// As `pass`, for bytes that are plain, up to where they end.
    fn pass_plain(&mut self, piece: &[u8], limit: u64) -> Result<(u64, usize), TooLarge> {
        let piece = &piece[..piece.len().min(self.ahead)];
        let (passed, bytes) = pass_lines(piece, limit);
        let piece = &piece[..bytes];
        self.ahead -= bytes;
        let held = self.seen - self.empty;
        let first = if held + bytes as u64 > self.max { memchr(b'\n', piece) } else { Some(0) };
        if held + first.map_or(bytes, |at| at + 1) as u64 > self.max {
            return Err(TooLarge(self.empty as i64 - self.seen as i64));
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

    /// At the end of the input: whether there is a record without terminator. An error says what is
    /// wrong with it, and how far before the end of the input it begins.
    pub(crate) fn finish(&self) -> Result<bool, (String, u64)> {
        match self.format {
            Format::Fixed(len) if self.seen > 0 => {
                let text =
                    format!("the last record has {} bytes instead of {len}, it begins", self.seen);
                Err((text, self.seen))
            }
            Format::Fixed(_) => Ok(false),
            Format::Lines | Format::JsonLines => Ok(self.seen > 0),
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

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: Format = Format::Csv { delimiter: b',' };

    /// Joins the records of a text, fed in pieces of this many bytes, by `|`; or returns the error.
    fn split(format: Format, text: &str, piece: usize) -> String {
        let mut splitter = Splitter::new(format, u64::MAX);
        let (mut records, mut open) = (Vec::new(), Vec::new());
        for piece in text.as_bytes().chunks(piece) {
            let mut rest = piece;
            while !rest.is_empty() {
                let end = splitter.end(rest).unwrap();
                let (record, more) = rest.split_at(end.unwrap_or(rest.len()));
                open.extend_from_slice(record);
                if end.is_some() {
                    records.push(std::mem::take(&mut open));
                }
                rest = more;
            }
        }
        match splitter.finish() {
            Ok(true) => records.push(open),
            Ok(false) => {}
            Err((text, before_end)) => return format!("{text} {before_end} before the end"),
        }
        let text = |record: &Vec<u8>| {
            let bytes = if format == CSV { trimmed(record) } else { record };
            String::from_utf8_lossy(bytes).into_owned()
        };
        records.iter().map(text).collect::<Vec<_>>().join("|")
    }

    fn check(format: Format, text: &str, expected: &str) {
        for piece in [1, 2, 3, 5, 1000] {
            assert_eq!(split(format, text, piece), expected, "{text:?} by {piece}");
        }
    }

    #[test]
    fn a_line_ends_with_its_line_feed_or_with_the_input() {
        check(Format::Lines, "a\nb\r\n\nc", "a\n|b\r\n|\n|c");
        check(Format::Lines, "", "");
        check(Format::Lines, "\n", "\n");
        check(Format::JsonLines, "{}\n[]", "{}\n|[]");
    }

    #[test]
    fn a_csv_record_may_hold_line_breaks_in_quotes() {
        check(CSV, "a,b\n\"x\ny\",\"\"\"\n\"\n", "a,b\n|\"x\ny\",\"\"\"\n\"\n");
        check(CSV, "a\"b\nc\"d\n", "a\"b\n|c\"d\n");
        check(CSV, "\"a\"b\"\n1\n", "\"a\"b\"\n|1\n");
        check(CSV, "1,\"\"\n2,\" \"", "1,\"\"\n|2,\" \"");
        check(CSV, "\n\r\na\n\n\r\nb\n\r\n", "a\n|b\n");
        check(CSV, "\ra\n", "\ra\n");
        check(Format::Csv { delimiter: b';' }, "a,\"b\nc;\"d\n\"\n", "a,\"b\n|c;\"d\n\"\n");
    }

    #[test]
    fn what_ends_within_a_record_is_told() {
        check(CSV, "a\n\"b\nc", "a quote is never closed, it is opened 4 before the end");
        check(
            Format::Fixed(3),
            "abcdefgh",
            "the last record has 2 bytes instead of 3, it begins 2 before the end",
        );
        check(Format::Fixed(4), "abcdefgh", "abcd|efgh");
    }

    #[test]
    fn passing_over_records_stops_at_the_limit() {
        let text = "ab\n".repeat(2000);
        for limit in [0u64, 1, 341, 342, 1500, 2000, 3000] {
            for format in [Format::Lines, CSV] {
                let passed = Splitter::new(format, 3).pass(text.as_bytes(), limit);
                assert_eq!(passed, Ok((limit.min(2000), (limit.min(2000) * 3) as usize)));
            }
        }
    }

    #[test]
    fn a_record_that_is_too_large_is_found_where_it_begins() {
        let text = "ab\n\n\nabc\n";
        for (max, begins) in [(4, None), (3, Some(5)), (2, Some(0))] {
            for piece in [1, 2, 3, 5, 1000] {
                let mut splitter = Splitter::new(CSV, max);
                let found = (0i64..).step_by(piece).zip(text.as_bytes().chunks(piece)).find_map(
                    |(start, piece)| {
                        let TooLarge(at) = splitter.pass(piece, u64::MAX).err()?;
                        Some(start + at)
                    },
                );
                assert_eq!(found, begins, "{max} by {piece}");
            }
        }
    }
}
