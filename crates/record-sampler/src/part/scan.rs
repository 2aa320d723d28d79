//! The records of a part, one by one.

use memchr::memchr;

use super::description::Part;
use crate::input::{Access, Names, PlainFile, Population, Scan, Scanned, Window};
use crate::watch::Watch;
use crate::{Error, ErrorKind, Format, Result};

/// Iterates over the records of a part.
pub(crate) struct PartScan<'a> {
    scan: Scan<'a>,
    to: u64,
    /// Whether it may be only a part of a file.
    is_divided: bool,
}

/// Where the records of a file begin.
pub(super) struct Start {
    /// The first record of the file, behind a header and a byte order mark.
    pub(super) first: u64,
    pub(super) size: u64,
}

impl<'a> PartScan<'a> {
    pub(crate) fn new(
        part: &Part,
        population: &'a mut Population,
        watch: Watch,
    ) -> Result<PartScan<'a>> {
        let path = part.path.clone();
        let named = |error: Error| error.with_path(&path);
        let file = population.files().and_then(|files| files.first().copied());
        let Some(size) = file.map(|file| file.size) else {
            let scan = Scan::new(population, watch)?;
            return Ok(PartScan { scan, to: u64::MAX, is_divided: false });
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

    /// Where the names of columns are found.
    pub(crate) fn names(&self) -> Option<Names<'_>> {
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
    pub(super) fn skip(&mut self, n: u64) -> Result<()> {
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
    pub(super) fn count(mut self) -> Result<u64> {
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

/// Where the records of the only file of the population begin.
pub(super) fn start(part: &Part, population: &mut Population) -> Result<Start> {
    let named = |error: Error| error.with_path(&part.path);
    let file = population.files().and_then(|files| files.first().copied());
    let Some(file) = file else { return Ok(Start { first: 0, size: 0 }) };
    let (bom, size) = (file.bom_bytes(part.format).map_err(named)?, file.size);
    let behind_header =
        if part.header.is_none() { 0 } else { Scan::new(population, Watch::default())?.offset() };
    Ok(Start { first: behind_header.max(bom), size })
}

/// The first record that begins within a part, which does not begin with that of the file, and the
/// two bytes before it. Where none begins it is the end of the file.
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
    let mut window = Window::new(Access::Read(file), PIECE);
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

/// The last two bytes of the line before this one; empty lines of CSV are not lines.
fn last_two(window: &mut Window<'_>, begin: u64, format: Format) -> Result<[u8; 2]> {
    let mut end = begin;
    loop {
        // Before the start of the file is a line end.
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
