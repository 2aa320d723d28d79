//! Checks that the drawn records are a sample: the right number, all of them from the file, without
//! repetition, in the file's order, and from all parts of it. Two correct samples differ from each
//! other. A plain loop reads the records.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use byte_stream::decode::Encoding;
use record_sampler::{Format, HeaderRule, Layout};

use super::data;

/// The properties that a sample must have.
pub(super) struct SampleProperties<'a> {
    pub(super) file: &'a Path,
    pub(super) layout: &'a Layout,
    /// The encoding of the file; no sample is compressed.
    pub(super) encoding: Option<Encoding>,
    pub(super) records: u64,
    pub(super) samples: u64,
    pub(super) promise: Promise,
}

/// The properties that a method guarantees for its samples.
#[derive(Clone, Copy)]
pub(super) struct Promise {
    /// The number of records is exact, not approximate.
    pub(super) is_exact: bool,
    /// The records are in the order of the file.
    pub(super) in_order: bool,
}

/// The number of parts of the file that are compared with each other.
const PARTS: u64 = 16;

impl SampleProperties<'_> {
    pub(super) fn check(&self, mut drawn: &File) -> Result<()> {
        drawn.rewind()?;
        let mut order = Vec::new();
        self.each_record(drawn.by_ref(), |record| order.push(self.hash_of(record)))?;
        self.check_count(order.len() as u64)?;
        let mut wanted: HashMap<u64, u32, BuildHasherDefault<Hashed>> = HashMap::default();
        for hash in &order {
            *wanted.entry(*hash).or_default() += 1;
        }
        let (mut rank, mut found) = (0u64, 0);
        let mut next = order.iter().peekable();
        let mut parts = [0u64; PARTS as usize];
        let file = data::open(self.file, self.encoding)?;
        let mut place = |record: &[u8]| {
            let hash = self.hash_of(record);
            let _ = next.next_if(|wanted| **wanted == hash);
            if let Some(count) = wanted.get_mut(&hash).filter(|count| **count > 0) {
                *count -= 1;
                parts[(rank * PARTS / self.records.max(1)).min(PARTS - 1) as usize] += 1;
                found += 1;
            }
            rank += 1;
        };
        self.each_record(file, &mut place)?;
        ensure!(
            found == order.len(),
            "{} drawn records are not of the file, or twice",
            order.len() - found
        );
        let in_order = next.peek().is_none();
        ensure!(in_order || !self.promise.in_order, "the records are not in the order of the file");
        check_parts(&parts, order.len() as u64)
    }

    fn each_record(&self, reader: impl Read, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let mut records = OneByOne::new(reader, self.layout)?;
        let mut record = Vec::new();
        while records.next(&mut record)? {
            visit(&record);
        }
        Ok(())
    }

    /// The hash of the record without its line end, which the last record of a file may lack. Each
    /// record of the file is hashed for each cell in each session, so a slow hash would cost
    /// minutes in a long run.
    fn hash_of(&self, record: &[u8]) -> u64 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let record = match self.layout.format {
            Format::Fixed(_) => record,
            _ => record.strip_suffix(b"\n").unwrap_or(record),
        };
        let mut hash = record.len() as u64 ^ ODD;
        for word in record.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            let product = u128::from(hash ^ u64::from_le_bytes(bytes)) * u128::from(ODD);
            hash = product as u64 ^ (product >> 64) as u64;
        }
        hash
    }

    fn check_count(&self, drawn: u64) -> Result<()> {
        let wanted = self.samples;
        if self.promise.is_exact {
            ensure!(drawn == wanted, "{drawn} records were drawn instead of {wanted}");
            return Ok(());
        }
        let p = wanted as f64 / self.records as f64;
        let deviation = (wanted as f64 * (1.0 - p)).sqrt();
        let off = (drawn as f64 - wanted as f64).abs();
        ensure!(off <= 8.0 * deviation + 1.0, "{drawn} records were drawn, far from {wanted}");
        Ok(())
    }
}

/// The hashes that are already computed.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = self.0.rotate_left(5) ^ hash;
    }
}

/// A chi-square test with 15 degrees of freedom: exceeded by chance once in 10¹².
fn check_parts(parts: &[u64], drawn: u64) -> Result<()> {
    let expected = drawn as f64 / PARTS as f64;
    if expected < 5.0 {
        return Ok(());
    }
    let chi: f64 = parts.iter().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
    ensure!(chi < 90.0, "some parts of the file are favoured: {parts:?}");
    Ok(())
}

/// The records of a file or of a sample, one by one: it reads record after record, as a plain loop
/// does, and knows no other way.
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
            Format::Fastq | Format::LineGroups { .. } => {
                record.clear();
                let lines = if let Format::LineGroups { lines } = self.format { lines } else { 4 };
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
