//! A sketch as bytes, for another process or machine. Sketches with the same content have the same
//! bytes.

use std::collections::BinaryHeap;

use super::{Candidate, FileHeader, Sketch, SketchRequest, SketchStratum};
use crate::input::{Column, digest};
use crate::{Error, ErrorKind, Format, HeaderRule, Result};

/// The last byte is the version.
const MAGIC: &[u8; 8] = b"sketch\0\x01";

impl Sketch {
    /// The sketch as bytes, with a version and a digest. They are the same for the same request and
    /// population, however it was divided into parts.
    ///
    /// ```
    /// use record_sampler::{Format, Part, Sampler, Sketch};
    /// let sketch = Sampler::exactly(2).sketch(&Part::new(0, "Cargo.toml", Format::Lines))?;
    /// assert_eq!(Sketch::from_bytes(&sketch.to_bytes())?.records()?, sketch.records()?);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        self.request.put(&mut out);
        out.push(u8::from(self.header.is_some()));
        if let Some(FileHeader { file, bytes }) = &self.header {
            put(&mut out, *file);
            put_text(&mut out, bytes);
        }
        put(&mut out, self.seen);
        put(&mut out, self.strata.len() as u64);
        for (key, stratum) in &self.strata {
            put_text(&mut out, key);
            put(&mut out, stratum.seen);
            put(&mut out, stratum.weighed);
            put(&mut out, stratum.kept.len() as u64);
            let mut kept: Vec<&Candidate> = stratum.kept().collect();
            kept.sort_unstable();
            for Candidate { key, file, offset, bytes } in kept {
                put(&mut out, key.to_bits());
                put(&mut out, *file);
                put(&mut out, *offset);
                put_text(&mut out, bytes);
            }
        }
        let digest = digest(&out);
        put(&mut out, digest);
        out
    }

    /// The sketch of these bytes. Bytes that are not a sketch, or one of another version, are an
    /// error of the kind `Malformed`.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Sketch};
    /// assert_eq!(Sketch::from_bytes(b"text").unwrap_err().kind(), ErrorKind::Malformed);
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Sketch> {
        let Some(body) = bytes.strip_prefix(MAGIC) else {
            let is_other_version = bytes.starts_with(&MAGIC[..MAGIC.len() - 1]);
            return Err(malformed(if is_other_version {
                "this sketch was made by another version of record-sampler"
            } else {
                "these bytes are not a sketch"
            }));
        };
        let sketch = body.split_last_chunk::<8>().and_then(|(body, stored)| {
            // A fuzzer cannot compute the digest of its bytes.
            let is_whole = u64::from_le_bytes(*stored) == digest(&bytes[..bytes.len() - 8]);
            if !(is_whole || cfg!(fuzzing)) {
                return None;
            }
            let mut cursor = ByteCursor(body);
            let sketch = cursor.sketch()?;
            cursor.0.is_empty().then_some(sketch)
        });
        sketch.ok_or_else(|| malformed("this sketch is incomplete or damaged"))
    }
}

fn malformed(text: &str) -> Error {
    Error::new(ErrorKind::Malformed, text)
}

fn put(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put(out, text.len() as u64);
    out.extend_from_slice(text);
}

fn put_column(out: &mut Vec<u8>, column: Option<&Column>) {
    match column {
        None => out.push(0),
        Some(Column::Name(name)) => {
            out.push(1);
            put_text(out, name.as_bytes());
        }
        Some(Column::Number(number)) => {
            out.push(2);
            put(out, *number as u64);
        }
        Some(Column::Several(columns)) => {
            out.push(3);
            put(out, columns.len() as u64);
            for column in columns {
                put_column(out, Some(column));
            }
        }
    }
}

fn put_header(out: &mut Vec<u8>, header: &HeaderRule) {
    match header {
        HeaderRule::None => out.push(0),
        HeaderRule::Record => out.push(1),
        HeaderRule::Lines(lines) => {
            out.push(2);
            put(out, *lines);
        }
        HeaderRule::Prefix(prefix) => {
            out.push(3);
            put_text(out, prefix.as_bytes());
        }
        HeaderRule::Bytes(bytes) => {
            out.push(4);
            put(out, *bytes);
        }
        HeaderRule::Magic(bytes) => {
            out.push(5);
            put_text(out, bytes);
        }
        HeaderRule::Prefixes(prefixes) => {
            out.push(6);
            put(out, prefixes.len() as u64);
            for prefix in prefixes {
                put_text(out, prefix.as_bytes());
            }
        }
    }
}

impl SketchRequest {
    fn put(&self, out: &mut Vec<u8>) {
        put(out, self.n);
        out.push(u8::from(self.is_exact));
        put(out, self.seed);
        put_column(out, self.weight.as_ref());
        put_column(out, self.key.as_ref());
        let (tag, number) = match self.format {
            Format::Fixed(len) => (0, len),
            Format::Lines => (1, 0),
            Format::Csv { delimiter } => (2, u64::from(delimiter)),
            Format::JsonLines => (3, 0),
            Format::Separated { separator } => (4, u64::from(separator)),
            Format::LineGroups { lines } => (5, lines),
            Format::Fields { delimiter } => (6, u64::from(delimiter)),
            Format::Marked { mark } => (7, u64::from(mark)),
            Format::Fastq => (8, 0),
        };
        out.push(tag);
        put(out, number);
        put_header(out, &self.header);
    }
}

/// The rest of the bytes. Bytes that `to_bytes` does not write give `None`.
struct ByteCursor<'a>(&'a [u8]);

impl<'a> ByteCursor<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?.try_into().ok()?;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(text)
    }

    #[expect(clippy::option_option, reason = "no column is a value, other bytes are none")]
    fn column(&mut self) -> Option<Option<Column>> {
        Some(match self.byte()? {
            0 => None,
            3 => {
                let mut columns = Vec::new();
                for _ in 0..self.number()? {
                    let tag = self.byte()?;
                    columns.push(self.single_column(tag)?);
                }
                Some(Column::Several(columns))
            }
            tag => Some(self.single_column(tag)?),
        })
    }

    fn single_column(&mut self, tag: u8) -> Option<Column> {
        match tag {
            1 => Some(Column::Name(String::from_utf8(self.text()?.to_vec()).ok()?)),
            2 => Some(Column::Number(self.number()?.try_into().ok()?)),
            _ => None,
        }
    }

    fn request(&mut self) -> Option<SketchRequest> {
        let (n, is_exact, seed) = (self.number()?, self.flag()?, self.number()?);
        let (weight, key) = (self.column()?, self.column()?);
        let format = match (self.byte()?, self.number()?) {
            // Rows of Parquet have no bytes.
            (0, len) => Format::Fixed(len),
            (1, 0) => Format::Lines,
            (2, delimiter) => Format::Csv { delimiter: delimiter.try_into().ok()? },
            (3, 0) => Format::JsonLines,
            (4, separator) => Format::Separated { separator: separator.try_into().ok()? },
            (5, lines @ 1..) => Format::LineGroups { lines },
            (6, delimiter) => Format::Fields { delimiter: delimiter.try_into().ok()? },
            (7, mark) => Format::Marked { mark: mark.try_into().ok()? },
            (8, 0) => Format::Fastq,
            _ => return None,
        };
        let header = match self.byte()? {
            0 => HeaderRule::None,
            1 => HeaderRule::Record,
            2 => HeaderRule::Lines(self.number()?),
            3 => HeaderRule::Prefix(String::from_utf8(self.text()?.to_vec()).ok()?),
            4 => HeaderRule::Bytes(self.number()?),
            5 => HeaderRule::Magic(self.text()?.to_vec()),
            6 => {
                let mut prefixes = Vec::new();
                for _ in 0..self.number()? {
                    prefixes.push(String::from_utf8(self.text()?.to_vec()).ok()?);
                }
                HeaderRule::Prefixes(prefixes)
            }
            _ => return None,
        };
        Some(SketchRequest { n, is_exact, seed, weight, key, format, header })
    }

    fn sketch(&mut self) -> Option<Sketch> {
        let request = self.request()?;
        let mut sketch = Sketch::new(request);
        if self.flag()? {
            sketch.header = Some(FileHeader { file: self.number()?, bytes: self.text()?.to_vec() });
        }
        sketch.seen = self.number()?;
        let mut last: Option<&[u8]> = None;
        for _ in 0..self.number()? {
            let key = self.text()?;
            let is_in_order = last.is_none_or(|last| last < key);
            let is_expected = sketch.request.key.is_some() || key.is_empty();
            if !(is_in_order && is_expected) {
                return None;
            }
            last = Some(key);
            sketch.strata.insert(key.into(), self.stratum(sketch.request.n)?);
        }
        let is_complete = sketch.request.key.is_some() || last.is_some();
        is_complete.then_some(sketch)
    }

    fn stratum(&mut self, n: u64) -> Option<SketchStratum> {
        let (seen, weighed, len) = (self.number()?, self.number()?, self.number()?);
        if !(len <= n && len <= weighed && weighed <= seen) {
            return None;
        }
        let mut kept: Vec<Candidate> = Vec::new();
        for _ in 0..len {
            let record = Candidate {
                key: f64::from_bits(self.number()?),
                file: self.number()?,
                offset: self.number()?,
                bytes: self.text()?.into(),
            };
            let is_in_order = kept.last().is_none_or(|last| *last < record);
            if record.key.is_nan() || record.key.is_sign_negative() || !is_in_order {
                return None;
            }
            kept.push(record);
        }
        Some(SketchStratum { seen, weighed, kept: BinaryHeap::from(kept) })
    }
}
