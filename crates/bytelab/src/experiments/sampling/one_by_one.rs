//! Reads record after record, as a plain loop does, and knows no other way.

use std::io::{BufRead, BufReader, Read};

use anyhow::{Context, Result, bail, ensure};
use record_sampler::{Format, HeaderRule, Layout};

/// The records of a file or of a sample, one by one.
pub(super) struct OneByOne<R> {
    reader: BufReader<R>,
    format: Format,
    /// The lines before the records, or their bytes.
    pub(super) header: Vec<u8>,
    /// A line that begins the next record.
    line: Vec<u8>,
}

impl<R: Read> OneByOne<R> {
    pub(super) fn new(reader: R, layout: &Layout) -> Result<OneByOne<R>> {
        let reader = BufReader::with_capacity(1 << 17, reader);
        let (header, line) = (Vec::new(), Vec::new());
        let mut records = OneByOne { reader, format: layout.format, header, line };
        records.read_header(&layout.header)?;
        Ok(records)
    }

    fn read_header(&mut self, rule: &HeaderRule) -> Result<()> {
        match rule {
            HeaderRule::None => {}
            HeaderRule::Lines(lines) => {
                for _ in 0..*lines {
                    self.reader.read_until(b'\n', &mut self.header)?;
                }
            }
            HeaderRule::Prefix(prefix) => {
                while self.reader.fill_buf()?.starts_with(prefix.as_bytes()) {
                    self.reader.read_until(b'\n', &mut self.header)?;
                }
            }
            HeaderRule::Magic(bytes) => {
                self.header.resize(bytes.len(), 0);
                self.reader.read_exact(&mut self.header).context("the header")?;
            }
            rule => bail!("a plain loop does not read {rule:?}"),
        }
        Ok(())
    }

    /// Replaces `record` by the next one: false at the end.
    pub(super) fn next(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        match self.format {
            Format::Lines | Format::JsonLines | Format::Fields { .. } => {
                record.clear();
                Ok(self.reader.read_until(b'\n', record)? > 0)
            }
            Format::LineGroups { lines } => {
                record.clear();
                for _ in 0..lines {
                    self.reader.read_until(b'\n', record)?;
                }
                Ok(!record.is_empty())
            }
            Format::Marked { mark } => self.next_marked(mark, record),
            Format::Fixed(bytes) => {
                record.resize(usize::try_from(bytes)?, 0);
                if self.reader.fill_buf()?.is_empty() {
                    return Ok(false);
                }
                self.reader.read_exact(record).context("ends with a part of a record")?;
                Ok(true)
            }
            format => bail!("a plain loop does not read {format:?}"),
        }
    }

    fn next_marked(&mut self, mark: u8, record: &mut Vec<u8>) -> Result<bool> {
        record.clear();
        record.append(&mut self.line);
        loop {
            self.line.clear();
            if self.reader.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(!record.is_empty());
            }
            if self.line.first() == Some(&mark) && !record.is_empty() {
                return Ok(true);
            }
            ensure!(!record.is_empty() || self.line.first() == Some(&mark), "begins with no mark");
            record.append(&mut self.line);
        }
    }
}
