//! Files whose records are counted: ranks are drawn, and only the records of these ranks are read.

use memmap2::{Advice as MapAdvice, Mmap};

use crate::draw::{Bernoulli, Exactly, Systematic, UndrawnRanks, WithReplacement};
use crate::fetch::{
    CountedRecords, FetchMethod, LineFile, MethodChoice, MethodFacts, Ranks, choose, count_fixed,
    count_scanned, fetch_fixed, fetch_lines, fetch_many, threads_for, with_prefetched_ranks,
};
use crate::index::LineIndex;
use crate::input::{
    Advice, AlignedBuffer, Density, FileAccess, FileReader, Header, PlainFile, Population, Records,
    advise, cached_share, fault_bytes, map,
};
use crate::random::Rng;
use crate::sampler::{Amount, Sampler, Stats};
use crate::simd::count_lines;
use crate::sink::Sink;
use crate::work::ProgressGate;
use crate::{Error, ErrorKind, Format, Result};

/// The ranks that a sampler draws of this many records, and their approximate number.
pub(crate) fn ranks<'a>(sampler: &Sampler, total: u64) -> Result<(Ranks<'a>, u64)> {
    let rng = Rng::new(sampler.seed);
    let amount = sampler.amount_of(total);
    let (ranks, n): (Ranks<'a>, u64) = match amount {
        Amount::Exactly(n) | Amount::AtMost(n) if sampler.with_replacement => {
            if total == 0 && n > 0 && matches!(amount, Amount::Exactly(_)) {
                return Err(too_few(n, 0));
            }
            (Box::new(WithReplacement::new(rng, n, total)), n)
        }
        Amount::Exactly(n) if n > total => return Err(too_few(n, total)),
        Amount::Exactly(n) | Amount::AtMost(n) if sampler.is_systematic => {
            (Box::new(Systematic::new(rng, n, total)), n.min(total))
        }
        Amount::Exactly(n) | Amount::AtMost(n) => exactly(rng, n.min(total), total),
        Amount::Share(p) if p >= 1.0 => (Box::new(0..total), total),
        Amount::Share(p) => {
            let chosen = Bernoulli::new(rng, p).take_while(move |rank| *rank < total);
            (Box::new(chosen), (p * total as f64) as u64)
        }
    };
    if sampler.is_inverted {
        return Ok((Box::new(UndrawnRanks::new(total, ranks)), total - n.min(total)));
    }
    Ok((ranks, n))
}

/// If most records are needed, the ranks of the others are drawn.
fn exactly<'a>(rng: Rng, n: u64, total: u64) -> (Ranks<'a>, u64) {
    if n > total / 2 {
        return (Box::new(UndrawnRanks::new(total, Exactly::new(rng, total - n, total))), n);
    }
    (Box::new(Exactly::new(rng, n, total)), n)
}

pub(crate) fn too_few(wanted: u64, total: u64) -> Error {
    let text = format!("{wanted} records were requested, but there are {total}");
    Error::new(ErrorKind::TooFew, text)
}

/// Records of weight 0 are never chosen.
pub(crate) fn too_few_weighted(wanted: u64, weighed: usize, total: u64) -> Error {
    let text = format!(
        "{wanted} records were requested, but there are {weighed} with a weight above 0 among {total}"
    );
    Error::new(ErrorKind::TooFew, text)
}

/// The way in which records are counted, and found by their ranks.
#[derive(Clone, Copy)]
pub(crate) enum RankAccess {
    /// Records of this length in files, by arithmetic.
    Fixed(u64),
    /// Records of one or more lines each in files, by the line feeds.
    Lines,
    /// By reading all records: twice of compressed files.
    Scanned,
}

/// A population whose records are counted, with the indexes of its files.
pub(crate) struct IndexedPopulation {
    access: RankAccess,
    pub(crate) total: u64,
    pub(crate) header: Vec<u8>,
    /// The bytes of all records.
    bytes: u64,
    /// Of inputs that are scanned.
    counted: CountedRecords,
    /// One for each file of lines.
    indexes: Vec<LineIndex>,
    /// The mapping of each file, if mapping is requested: for both passes.
    maps: Vec<Option<Mmap>>,
    /// The lines of the header of each of those files.
    header_lines: Vec<u64>,
    /// The lines of each record in them.
    lines_each: u64,
    bytes_read: u64,
    method: FetchMethod,
    may_map: bool,
    note: String,
    watch: ProgressGate,
}

impl IndexedPopulation {
    pub(crate) fn new(
        sampler: &Sampler,
        access: RankAccess,
        population: &mut Population,
    ) -> Result<IndexedPopulation> {
        let mut ranked = IndexedPopulation {
            access,
            total: 0,
            header: Vec::new(),
            bytes: 0,
            counted: CountedRecords::default(),
            indexes: Vec::new(),
            maps: Vec::new(),
            header_lines: Vec::new(),
            lines_each: population.format.lines_each().unwrap_or(1),
            bytes_read: 0,
            method: sampler.method,
            may_map: sampler.may_map && !population.has_remote_files(),
            note: String::new(),
            watch: sampler.watch.clone(),
        };
        match access {
            RankAccess::Fixed(len) => {
                ranked.header = headers(population)?.0;
                ranked.total = count_fixed(population, len)?.iter().sum();
            }
            RankAccess::Lines => {
                if !ranked.count_lines(sampler, population)? {
                    ranked.scan(sampler, population)?;
                }
            }
            RankAccess::Scanned => ranked.scan(sampler, population)?,
        }
        let files = population.files().map(|files| files.iter().map(|file| file.size).sum());
        ranked.bytes = files.unwrap_or(ranked.bytes_read);
        Ok(ranked)
    }

    fn scan(&mut self, sampler: &Sampler, population: &mut Population) -> Result<()> {
        let mut counted = count_scanned(population, &sampler.watch)?;
        self.total = counted.total;
        self.bytes_read += counted.bytes_read;
        self.header = std::mem::take(&mut counted.header);
        self.counted = counted;
        Ok(())
    }

    /// Returns whether each line is a record: not if lines of JSON Lines may be blank.
    fn count_lines(&mut self, sampler: &Sampler, population: &Population) -> Result<bool> {
        let format = population.format;
        let files = population.files().unwrap_or_default();
        (self.header, self.header_lines) = headers(population)?;
        let mut buffer = AlignedBuffer::default();
        for (number, (file, input)) in files.iter().zip(&population.inputs).enumerate() {
            let named = |error: Error| error.with_path(&input.path);
            let is_mapped = sampler.method == FetchMethod::Mmap && file.size > 0;
            let mapped = is_mapped.then(|| map(file, Density::Dense)).transpose().map_err(named)?;
            let access =
                mapped.as_ref().map_or(FileAccess::Read(file), |map| FileAccess::Map(file, map));
            let may_map = self.may_map && self.method == FetchMethod::Auto;
            let kept = sampler.keeps_index.then(|| LineIndex::load(&input.path, file, may_map));
            let kept = kept.flatten().transpose().map_err(named)?;
            let kept = kept.filter(|index| index.counts_records_of(format));
            if sampler.keeps_index && file.handle.remote().is_some() && kept.is_none() {
                let text = "has no index beside it that was made of its bytes, in this format";
                return Err(named(Error::new(ErrorKind::BadRequest, text)));
            }
            let index = if let Some(index) = kept {
                self.note = String::from("the index is used");
                index
            } else {
                let index = LineIndex::count(access, &mut buffer, format, &self.watch);
                let index = index.map_err(named)?;
                self.bytes_read += file.size;
                if !index.counts_records_of(format) {
                    self.scans_blank_lines(sampler.keeps_index);
                    return Ok(false);
                }
                if sampler.keeps_index {
                    self.note = match file.growth().map_err(named)? {
                        0 => match index.store(&input.path, file) {
                            Ok(()) => "the index was made".to_owned(),
                            Err(error) => format!("the index was not kept: {error}"),
                        },
                        _ => "the index was not kept: the file is growing".to_owned(),
                    };
                }
                index
            };
            if population.format == Format::Fastq {
                examine_first(file, population).map_err(named)?;
            }
            let lines = index.lines().saturating_sub(self.header_lines[number]);
            if lines % self.lines_each != 0 {
                return Err(incomplete(file, population).with_path(&input.path));
            }
            self.total += lines / self.lines_each;
            self.indexes.push(index);
            self.maps.push(mapped);
        }
        Ok(true)
    }

    /// Forgets the lines that were counted.
    fn scans_blank_lines(&mut self, keeps_index: bool) {
        self.indexes.clear();
        self.maps.clear();
        self.header_lines.clear();
        self.access = RankAccess::Scanned;
        let note = if keeps_index {
            "the index was not kept: lines that are blank or begin with white space are examined"
        } else {
            "lines that are blank or begin with white space are examined: one pass counts, then \
             what is needed is read"
        };
        note.clone_into(&mut self.note);
    }

    /// The approximate size of as many records.
    pub(crate) fn bytes_of(&self, records: u64) -> u64 {
        let bytes = u128::from(self.bytes) * u128::from(records) / u128::from(self.total.max(1));
        bytes.try_into().unwrap_or(u64::MAX)
    }

    /// Maps all files whole, if that is allowed and they are cached. Returns whether they are.
    pub(crate) fn map_all(&mut self, population: &Population) -> Result<bool> {
        /// Each mapping is one of the process's 65,530.
        const MOST_FILES: usize = 1024;
        let Some(files) = population.files().filter(|files| files.len() <= MOST_FILES) else {
            return Ok(false);
        };
        let is_allowed = match self.method {
            FetchMethod::Mmap => true,
            FetchMethod::Auto => self.may_map && cached(&files).is_some_and(|share| share > 0.95),
            _ => false,
        };
        if !is_allowed {
            return Ok(false);
        }
        self.maps.resize_with(files.len(), || None);
        for ((map_of, file), input) in self.maps.iter_mut().zip(&files).zip(&population.inputs) {
            if map_of.is_none() && file.size > 0 {
                let mapped = map(file, Density::All);
                *map_of = Some(mapped.map_err(|error| error.with_path(&input.path))?);
            }
        }
        Ok(true)
    }

    /// The bytes of each file that is mapped.
    pub(crate) fn mapped(&self) -> Vec<&[u8]> {
        self.maps.iter().map(|map| map.as_deref().unwrap_or_default()).collect()
    }

    /// Passes on the records with these ranks, of which there are about `expected`.
    pub(crate) fn fetch(
        &self,
        population: &mut Population,
        ranks: Ranks<'_>,
        expected: u64,
        sink: &mut dyn Sink,
    ) -> Result<Stats> {
        with_prefetched_ranks(ranks, expected, |ranks| {
            self.fetch_ranks(population, ranks, expected, sink)
        })
    }

    fn fetch_ranks(
        &self,
        population: &mut Population,
        ranks: Ranks<'_>,
        expected: u64,
        sink: &mut dyn Sink,
    ) -> Result<Stats> {
        let (bytes_read, method, reason) = match self.access {
            RankAccess::Fixed(len) => self.fetch_fixed(population, len, ranks, expected, sink)?,
            RankAccess::Lines => self.fetch_lines(population, ranks, expected, sink)?,
            RankAccess::Scanned => {
                let (counted, watch) = (&self.counted, &self.watch);
                let bytes_read = counted.fetch(population, ranks, expected, sink, watch)?;
                let reason = match population.format {
                    _ if population.files().is_none() => {
                        "compressed files are decoded twice: to count and to copy"
                    }
                    Format::JsonLines => self.note.as_str(),
                    Format::Csv { .. } => {
                        "quotes decide where a record ends: one pass counts, then what is needed is read"
                    }
                    _ => "one pass counts, then what is needed is read",
                };
                (bytes_read, FetchMethod::Sequential, reason.to_owned())
            }
        };
        let bytes_read = self.bytes_read + bytes_read;
        Ok(Stats { seen: Some(self.total), taken: 0, bytes_read, method, reason, note: None })
    }

    fn fetch_fixed(
        &self,
        population: &Population,
        len: u64,
        ranks: Ranks<'_>,
        expected: u64,
        sink: &mut dyn Sink,
    ) -> Result<(u64, FetchMethod, String)> {
        let files = population.files().unwrap_or_default();
        let cached = cached(&files);
        let total = self.total;
        let mut facts = MethodFacts {
            n: expected,
            total,
            record_bytes: len,
            cached,
            fault_bytes: None,
            may_map: self.may_map || self.method == FetchMethod::Mmap,
        };
        if self.method == FetchMethod::Auto && facts.is_map_likely() {
            let largest = files.iter().max_by_key(|file| file.size);
            facts.fault_bytes = largest.and_then(|file| fault_bytes(file));
        }
        let mut choice = choose(&facts);
        if self.method != FetchMethod::Auto {
            let reason = format!("requested; {}", choice.reason);
            choice = MethodChoice { method: self.method, reason, ..choice };
        }
        let bytes_read = fetch_fixed(population, len, ranks, &choice, sink, &self.watch)?;
        Ok((bytes_read, choice.method, choice.reason))
    }

    fn fetch_lines(
        &self,
        population: &Population,
        ranks: Ranks<'_>,
        expected: u64,
        sink: &mut dyn Sink,
    ) -> Result<(u64, FetchMethod, String)> {
        let files = population.files().unwrap_or_default();
        let mut ranks = ranks.peekable();
        let (mut base, mut start, mut bytes_read) = (0, 0, 0);
        let mut buffer = AlignedBuffer::default();
        for (number, (file, input)) in files.iter().zip(&population.inputs).enumerate() {
            let index = &self.indexes[number];
            let header_lines = self.header_lines[number].min(index.lines());
            let records = (index.lines() - header_lines) / self.lines_each;
            let named = |error: Error| error.with_path(&input.path);
            // A file without a chosen record is not read again.
            if ranks.peek().is_none_or(|rank| *rank >= base + records) {
                self.watch.advance(file.size).map_err(named)?;
                base += records;
                start += file.size;
                continue;
            }
            let share = expected as f64 * records as f64 / self.total.max(1) as f64;
            let is_sparse = share < file.size as f64 / index.block_bytes as f64 / 2.0;
            let line_file = LineFile {
                first: file.bom_bytes(population.format).map_err(named)?,
                access: advised(file, self.maps[number].as_ref(), is_sparse),
                index,
                base,
                start,
                header_lines,
                lines_each: self.lines_each,
                is_fastq: population.format == Format::Fastq,
                expected: share as u64,
            };
            let read = match threads_for(&line_file) {
                1 => {
                    let mut window = line_file.window_with(buffer);
                    let read = fetch_lines(&line_file, &mut window, &mut ranks, sink, &self.watch);
                    buffer = window.into_buffer();
                    read
                }
                threads => fetch_many(&line_file, threads, &mut ranks, sink, &self.watch),
            };
            bytes_read += read.map_err(named)?;
            base += records;
            start += file.size;
        }
        let method =
            if self.method == FetchMethod::Mmap { FetchMethod::Mmap } else { FetchMethod::Pread };
        let reason = match self.note.as_str() {
            "" => "line feeds are counted block by block, then the chosen lines are read",
            note => note,
        };
        Ok((bytes_read, method, reason.to_owned()))
    }
}

/// The bytes of a file. If few are needed, read-ahead is disabled, which would read unneeded pages.
fn advised<'a>(file: &'a PlainFile, map: Option<&'a Mmap>, is_sparse: bool) -> FileAccess<'a> {
    if let Some(map) = map {
        let _ = is_sparse.then(|| map.advise(MapAdvice::Random));
        return FileAccess::Map(file, map);
    }
    if is_sparse && file.handle.held().is_none() {
        advise(file, 0, None, Advice::Random);
    }
    FileAccess::Read(file)
}

/// The header of files, if they have one, which must be the same in all of them; and the number of
/// its lines in each file.
fn headers(population: &Population) -> Result<(Vec<u8>, Vec<u64>)> {
    let mut header = Header::default();
    let files = population.files().unwrap_or_default();
    if population.header.is_none() {
        return Ok((header.bytes, vec![0; files.len()]));
    }
    let (mut lines, mut buffer) = (Vec::new(), Vec::new());
    for (file, input) in files.iter().zip(&population.inputs) {
        let named = |error: Error| error.with_path(&input.path);
        let mut records = records(file, population, buffer);
        let found = records.header(&population.header).map_err(named)?;
        buffer = records.into_buffer();
        lines.push(found.as_ref().map_or(0, |header| count_lines(header)));
        let is_compared = header.bytes.is_empty() || !population.mixed_headers;
        if let Some(found) = found.filter(|_| is_compared) {
            header.add(&input.path, &found, population.format).map_err(named)?;
        }
    }
    Ok((header.bytes, lines))
}

fn records(file: &PlainFile, population: &Population, buffer: Vec<u8>) -> Records<FileReader> {
    Records::new(FileReader::new(file), population.format, population.max_record, buffer)
}

/// Fails if the first record is none: nearly always it shows that records have more lines.
fn examine_first(file: &PlainFile, population: &Population) -> Result<()> {
    let mut records = records(file, population, Vec::new());
    records.header(&population.header)?;
    records.find().map(drop)
}

/// The error for a file that ends within a record of several lines: it has the offset of that
/// record.
fn incomplete(file: &PlainFile, population: &Population) -> Error {
    let mut records = records(file, population, Vec::new());
    let skipped = records.header(&population.header).and_then(|_| records.skip(u64::MAX));
    skipped.err().unwrap_or_else(|| {
        Error::new(ErrorKind::Changed, "does not have the lines that were counted: it has changed")
    })
}

/// The share of all files that is in the page cache.
fn cached(files: &[&PlainFile]) -> Option<f64> {
    let size: u64 = files.iter().map(|file| file.size).sum();
    let mut bytes = 0.0;
    for file in files {
        let share = match file.handle.held() {
            Some(_) => 1.0,
            None => cached_share(file.handle.get().ok()?.file().ok()?, file.size)?,
        };
        bytes += share * file.size as f64;
    }
    Some(if size == 0 { 1.0 } else { (bytes / size as f64).min(1.0) })
}
