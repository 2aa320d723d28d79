//! Headers: where they end, and those of several inputs, of which the first one is kept, and the
//! others must be equal to it.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::column::fields;
use super::{Records, without_bom};
use crate::{Error, ErrorKind, Format, HeaderRule, Result};

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
                while self.peek(prefix.len())?.starts_with(prefix.as_bytes()) {
                    self.take_line(&mut header)?;
                }
            }
            HeaderRule::Bytes(_) | HeaderRule::Magic(_) => {
                self.take_bytes(rule.bytes(), &mut header)?;
            }
        }
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

/// What differs: its text in the first header and in the other one.
type Pair = [Option<Vec<u8>>; 2];

/// The first column whose names differ, counted from 1, if the format has columns; else the first
/// line that differs.
fn difference(first: &[u8], other: &[u8], format: Format) -> Option<(Option<usize>, Pair)> {
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

fn different_line(first: &[u8], other: &[u8], end: u8) -> Option<(Option<usize>, Pair)> {
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
