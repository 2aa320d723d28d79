//! A sample that can be merged with those of other parts of the population. It does not know the
//! origin of the records.

mod bytes;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::draw::{RecordShare, fair_shares};
use crate::input::{Column, Header};
use crate::random::{Rng, ln};
use crate::random_access::too_few;
use crate::sink::{Output, Place, Probabilities, Sink};
use crate::{Error, ErrorKind, Format, HeaderRule, Result};

/// The sample of a part of the population, which can be merged with those of the other parts.
///
/// Each record has a random key that depends only on the seed, the number of its file and its
/// offset in it, divided by its weight; the `n` records with the least keys are kept, of each
/// stratum if there are strata. If strata have shares of the `n` records, which are known when all
/// records are counted, these records are drawn of those that are kept. So the sample of the whole
/// is the same however it was divided into parts, and in whatever order these were merged.
///
/// ```
/// use record_sampler::{Format, Population, Sampler, Sketch};
/// let population = Population::open(["Cargo.toml"], Format::Lines)?;
/// let sampler = Sampler::exactly(3).seed(1);
/// let mut digests = Vec::new();
/// for part_bytes in [100, 1000, 1_000_000] {
///     let parts = population.parts(part_bytes)?;
///     let sketches = parts.iter().map(|part| sampler.sketch(part));
///     let whole = sketches.reduce(|one, other| one?.merge(other?)).unwrap()?;
///     digests.push(whole.to_bytes());
/// }
/// assert!(digests.iter().all(|digest| *digest == digests[0]));
/// assert_eq!(Sketch::from_bytes(&digests[0])?.records()?.len(), 3);
/// # Ok::<(), record_sampler::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sketch {
    request: SketchRequest,
    header: Option<FileHeader>,
    /// The number of records of the parts.
    seen: u64,
    /// By key; without strata a single one, whose key is empty.
    strata: BTreeMap<Box<[u8]>, SketchStratum>,
}

/// The request of a sketch. Only sketches of the same request can be merged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SketchRequest {
    pub(crate) n: u64,
    /// Whether fewer records are an error.
    pub(crate) is_exact: bool,
    /// Whether `n` is the number of records of all strata, of which each has its share.
    pub(crate) is_proportional: bool,
    pub(crate) seed: u64,
    pub(crate) weight: Option<Column>,
    pub(crate) key: Option<Column>,
    pub(crate) format: Format,
    pub(crate) header: HeaderRule,
}

/// The header of the file with this number.
#[derive(Clone, Debug, PartialEq)]
struct FileHeader {
    file: u64,
    bytes: Vec<u8>,
}

impl Sketch {
    /// Without records, and without strata unless there is only one.
    pub(crate) fn new(request: SketchRequest) -> Sketch {
        let mut strata = BTreeMap::new();
        if request.key.is_none() {
            strata.insert(Box::default(), SketchStratum::default());
        }
        Sketch { request, header: None, seen: 0, strata }
    }

    /// Sets the header of the file with this number; an empty one is none.
    pub(crate) fn set_header(&mut self, file: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.header = Some(FileHeader { file, bytes: bytes.to_vec() });
        }
    }

    pub(crate) fn set_seen(&mut self, records: u64) {
        self.seen = records;
    }

    /// Takes a record, which is materialised only if it is needed. Those of one file are passed
    /// with the keys of that file.
    pub(crate) fn offer(
        &mut self,
        key: &[u8],
        weight: f64,
        keys: &FileKeys,
        (file, offset): (u64, u64),
        record: impl FnOnce() -> Box<[u8]>,
    ) {
        let stratum = if self.request.key.is_none() {
            // Some processors take 200 ns to compare two empty keys by masked loads from addresses
            // that are not mapped.
            self.strata.values_mut().next()
        } else {
            if !self.strata.contains_key(key) {
                self.strata.insert(key.into(), SketchStratum::default());
            }
            self.strata.get_mut(key)
        };
        let Some(stratum) = stratum else { return };
        stratum.seen += 1;
        if weight <= 0.0 {
            return;
        }
        stratum.weighed += 1;
        let n = self.request.n;
        if let Some(key) = keys.key(offset, weight, stratum.limit(n)) {
            stratum.keep(n, Candidate { key, file, offset, bytes: record() });
        }
    }

    /// The number of records of the parts.
    ///
    /// ```
    /// use record_sampler::{Format, Part, Sampler};
    /// let lines = std::fs::read_to_string("Cargo.toml").unwrap().lines().count() as u64;
    /// let part = Part::new(0, "Cargo.toml", Format::Lines);
    /// assert_eq!(Sampler::exactly(2).sketch(&part)?.seen(), lines);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The seed by which it was drawn.
    ///
    /// ```
    /// use record_sampler::{Format, Part, Sampler};
    /// let part = Part::new(0, "Cargo.toml", Format::Lines);
    /// assert_eq!(Sampler::exactly(2).seed(7).sketch(&part)?.seed(), 7);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn seed(&self) -> u64 {
        self.request.seed
    }

    /// The sketch of both. It is an error if they were made with another number of records, seed,
    /// weight or key, if the headers of their files differ, or if a record is in both.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Part, Sampler};
    /// let part = |from, to| Part::new(0, "Cargo.toml", Format::Lines).range(from, to);
    /// let one = Sampler::exactly(2).sketch(&part(0, 100))?;
    /// let other = Sampler::exactly(2).sketch(&part(100, 10_000))?;
    /// let whole = Sampler::exactly(2).sketch(&part(0, 10_000))?;
    /// assert_eq!(one.clone().merge(other)?.to_bytes(), whole.to_bytes());
    ///
    /// let another_seed = Sampler::exactly(2).seed(1).sketch(&part(100, 10_000))?;
    /// assert_eq!(one.merge(another_seed).unwrap_err().kind(), ErrorKind::BadRequest);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn merge(mut self, other: Sketch) -> Result<Sketch> {
        self.request.check_same(&other.request)?;
        let format = self.request.format;
        self.header = merged_header(self.header.take(), other.header, format)?;
        self.seen = self.seen.saturating_add(other.seen);
        for (key, stratum) in other.strata {
            match self.strata.get_mut(&key) {
                Some(own) => own.merge(stratum, self.request.n)?,
                None => drop(self.strata.insert(key, stratum)),
            }
        }
        Ok(self)
    }

    /// The chosen records, in the order of the files. Text that ends without a line end has got
    /// one. It is an error if an exact number was requested, and there are fewer records.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Part, Sampler};
    /// let sketch = Sampler::exactly(9).sketch(&Part::new(0, "Cargo.toml", Format::Lines))?;
    /// assert_eq!(sketch.records()?.len(), 9);
    /// let sketch = Sampler::exactly(9999).sketch(&Part::new(0, "Cargo.toml", Format::Lines))?;
    /// assert_eq!(sketch.records().unwrap_err().kind(), ErrorKind::TooFew);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn records(&self) -> Result<Vec<&[u8]>> {
        Ok(self.drawn()?.into_iter().map(|drawn| &*drawn.bytes).collect())
    }

    /// The numbers of the files and the offsets of the chosen records, ascending.
    #[cfg(feature = "parquet")]
    pub(crate) fn places(&self) -> Result<Vec<(u64, u64)>> {
        Ok(self.drawn()?.into_iter().map(|drawn| (drawn.file, drawn.offset)).collect())
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn format(&self) -> Format {
        self.request.format
    }

    /// Writes the header, if there is one, and the chosen records in the order of the files.
    /// Returns the number of records.
    ///
    /// ```
    /// use record_sampler::{Format, Part, Sampler};
    /// let part = Part::new(0, "Cargo.toml", Format::Lines).with_header();
    /// let mut out = Vec::new();
    /// assert_eq!(Sampler::exactly(1).sketch(&part)?.write(&mut out)?, 1);
    /// assert!(out.starts_with(b"[package]\n"));
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn write(&self, out: &mut dyn Write) -> Result<u64> {
        let records = self.records()?;
        let mut output = Output::new(out, self.request.format);
        output.header(self.header())?;
        for record in &records {
            output.piece(record)?;
            output.end(Place { at: 0, len: record.len() as u64 }, false)?;
        }
        output.flush()?;
        Ok(records.len() as u64)
    }

    /// The header of the first file that has one; empty if there is none.
    ///
    /// ```
    /// use record_sampler::{Format, Part, Sampler};
    /// let part = Part::new(0, "Cargo.toml", Format::Lines).with_header();
    /// assert_eq!(Sampler::exactly(1).sketch(&part)?.header(), b"[package]\n");
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn header(&self) -> &[u8] {
        self.header.as_ref().map_or(&[], |header| &header.bytes)
    }

    /// The drawn records of all strata, in the order of the files.
    fn drawn(&self) -> Result<Vec<&Candidate>> {
        self.check_number()?;
        let shares = self.shares();
        let mut drawn: Vec<&Candidate> = Vec::new();
        for (key, stratum) in &self.strata {
            let mut kept: Vec<&Candidate> = stratum.kept().collect();
            if let Some(shares) = &shares {
                kept.sort_unstable();
                kept.truncate(shares.get(&**key).copied().unwrap_or(0) as usize);
            }
            drawn.extend(kept);
        }
        drawn.sort_unstable_by_key(|drawn| (drawn.file, drawn.offset));
        Ok(drawn)
    }

    /// The number of records to draw of each stratum, if each has its share of them.
    fn shares(&self) -> Option<HashMap<&[u8], u64>> {
        let SketchRequest { n, seed, is_proportional, .. } = self.request;
        is_proportional.then(|| {
            let sizes = self.strata.iter().map(|(key, stratum)| (&**key, stratum.seen));
            fair_shares(seed, sizes, RecordShare::from_number(n, self.stratified())).collect()
        })
    }

    /// The number of records of all strata.
    fn stratified(&self) -> u64 {
        self.strata.values().fold(0, |sum: u64, stratum| sum.saturating_add(stratum.seen))
    }

    /// The probabilities with which the records of `records` were drawn, if there are no weights.
    pub(crate) fn probabilities(&self) -> Probabilities {
        if self.request.is_proportional {
            let total = self.stratified();
            return Probabilities::Same(self.request.n.min(total) as f64 / total.max(1) as f64);
        }
        let probability =
            |stratum: &SketchStratum| stratum.kept.len() as f64 / stratum.seen.max(1) as f64;
        if let (None, Some(all)) = (&self.request.key, self.strata.values().next()) {
            return Probabilities::Same(probability(all));
        }
        let each = self.strata.values().flat_map(|stratum| {
            stratum.kept().map(move |kept| (kept.file, kept.offset, probability(stratum)))
        });
        let mut each: Vec<(u64, u64, f64)> = each.collect();
        each.sort_unstable_by_key(|(file, offset, _)| (*file, *offset));
        let each: Vec<f64> = each.into_iter().map(|(.., probability)| probability).collect();
        Probabilities::Each(each.into_iter())
    }

    fn check_number(&self) -> Result<()> {
        let SketchRequest { n, is_exact, is_proportional, ref weight, ref key, .. } = self.request;
        if !is_exact {
            return Ok(());
        }
        if is_proportional {
            let total = self.stratified();
            return if n <= total { Ok(()) } else { Err(too_few(n, total)) };
        }
        let few = self.strata.iter().find(|(_, stratum)| stratum.weighed < n);
        let Some((name, stratum)) = few else { return Ok(()) };
        let seen = stratum.weighed;
        let text = match (key, weight) {
            (Some(column), _) => {
                let name = String::from_utf8_lossy(name);
                format!("{n} records of each {column} were requested, but {name:?} has {seen}")
            }
            (_, Some(_)) => {
                let total = self.seen;
                format!(
                    "{n} records were requested, but there are {seen} with a weight above 0 \
                     among {total}"
                )
            }
            _ => return Err(too_few(n, seen)),
        };
        Err(Error::new(ErrorKind::TooFew, text))
    }
}

impl SketchRequest {
    fn check_same(&self, other: &SketchRequest) -> Result<()> {
        let differs = [
            ("numbers of records", self.n != other.n || self.is_exact != other.is_exact),
            ("shares of strata", self.is_proportional != other.is_proportional),
            ("seeds", self.seed != other.seed),
            ("weights", self.weight != other.weight),
            ("keys", self.key != other.key),
            ("formats", self.format != other.format || self.header != other.header),
        ];
        match differs.iter().find(|(_, differs)| *differs) {
            Some((what, _)) => {
                let text = format!("sketches with different {what} cannot be merged");
                Err(Error::new(ErrorKind::BadRequest, text))
            }
            None => Ok(()),
        }
    }
}

/// The header of the file with the lower number, if the two agree.
fn merged_header(
    one: Option<FileHeader>,
    other: Option<FileHeader>,
    format: Format,
) -> Result<Option<FileHeader>> {
    let (one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (one, other) => return Ok(one.or(other)),
    };
    let is_first = (one.file, &one.bytes) <= (other.file, &other.bytes);
    let (first, second) = if is_first { (one, other) } else { (other, one) };
    let name = |header: &FileHeader| PathBuf::from(format!("file number {}", header.file));
    let mut header = Header::default();
    let mut add = |of: &FileHeader, path: &Path| header.add(path, &of.bytes, format);
    add(&first, &name(&first))?;
    add(&second, &name(&second)).map_err(|error| error.with_path(&name(&second)))?;
    Ok(Some(first))
}

// The key of a record is a random number that depends on nothing but the seed, the number of the
// file, the offset in it and the weight, so every process computes the same key.

/// The random numbers of the records of one file: 64 bits for each offset.
pub(crate) struct FileKeys {
    first: u64,
    second: u64,
}

impl FileKeys {
    /// Two numbers, as by a single one the numbers of two of many files could be the same with
    /// another start.
    pub(crate) fn new(seed: u64, file: u64) -> FileKeys {
        let mut rng = Rng::new(Rng::new(seed).next_u64().wrapping_add(file));
        FileKeys { first: rng.next_u64(), second: rng.next_u64() }
    }

    /// A number in (0, 1], a multiple of 2⁻⁵³.
    fn unit(&self, offset: u64) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        let spread = self.first.wrapping_add(offset.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let bits = mixed(mixed(spread) ^ self.second);
        ((bits >> 11) + 1) as f64 * STEP
    }

    /// The key of the record at this offset, unless it is above the limit: exponentially
    /// distributed, with the weight as its rate. The records with the least keys are a sample as if
    /// drawn one after the other by weight (Efraimidis and Spirakis, 2006).
    #[inline]
    pub(crate) fn key(&self, offset: u64, weight: f64, limit: f64) -> Option<f64> {
        const MARGIN: f64 = 1.0 + 1e-9;
        let unit = self.unit(offset);
        // −ln u is at least 1 − u, so that most records need no logarithm. The margin covers
        // rounding.
        if 1.0 - unit > limit * weight * MARGIN {
            return None;
        }
        let key = (0.0 - ln(unit)) / weight;
        (key <= limit).then_some(key)
    }
}

/// The output function of `SplitMix64`.
fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The records with the least keys of one stratum.
#[derive(Clone, Debug, Default)]
pub(crate) struct SketchStratum {
    seen: u64,
    /// Those with a weight above 0.
    weighed: u64,
    /// The one with the largest key first.
    kept: BinaryHeap<Candidate>,
}

/// A record that may be in the sample.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) key: f64,
    /// The number of its file among the inputs, and the offset in it.
    pub(crate) file: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: Box<[u8]>,
}

/// If keys are equal, the first record wins.
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_place = || (self.file, self.offset).cmp(&(other.file, other.offset));
        self.key.total_cmp(&other.key).then_with(by_place)
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl SketchStratum {
    /// A record with a larger key is not needed.
    #[inline]
    fn limit(&self, n: u64) -> f64 {
        if (self.kept.len() as u64) < n {
            return f64::INFINITY;
        }
        // If no record is to be drawn, no key is small enough.
        self.kept.peek().map_or(f64::NEG_INFINITY, |largest| largest.key)
    }

    /// Takes a record whose key is within the limit.
    fn keep(&mut self, n: u64, record: Candidate) {
        if (self.kept.len() as u64) < n {
            self.kept.push(record);
        } else if let Some(mut largest) = self.kept.peek_mut()
            && record < *largest
        {
            *largest = record;
        }
    }

    fn merge(&mut self, other: SketchStratum, n: u64) -> Result<()> {
        self.seen = self.seen.saturating_add(other.seen);
        self.weighed = self.weighed.saturating_add(other.weighed);
        let mut kept = std::mem::take(&mut self.kept).into_vec();
        kept.extend(other.kept);
        kept.sort_unstable();
        if let Some(pair) = kept.windows(2).find(|pair| pair[0] == pair[1]) {
            let Candidate { file, offset, .. } = pair[0];
            let text = format!(
                "the record at offset {offset} of file number {file} is in both sketches: a part \
                 was counted twice"
            );
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        kept.truncate(n.try_into().unwrap_or(usize::MAX));
        self.kept = BinaryHeap::from(kept);
        Ok(())
    }

    fn kept(&self) -> impl Iterator<Item = &Candidate> {
        self.kept.iter()
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod key_tests {
    use super::*;

    #[test]
    fn keys_are_fixed_for_ever() {
        let key = |seed, file, offset| FileKeys::new(seed, file).key(offset, 1.0, f64::INFINITY);
        let keys = [key(0, 0, 0), key(1, 0, 0), key(0, 1, 0), key(0, 0, 1)].map(Option::unwrap);
        assert_eq!(keys.map(f64::to_bits), FIXED);
    }

    const FIXED: [u64; 4] = [
        4_594_831_184_175_250_872,
        4_608_227_774_905_423_979,
        4_590_266_826_590_222_293,
        4_596_668_473_906_141_674,
    ];

    #[test]
    fn numbers_of_neighbours_are_uniform_and_independent() {
        // Offsets of lines of 1 and of 64 bytes, and the same offset of many files.
        let by_offset = |step: u64| {
            let keys = FileKeys::new(5, 9);
            move |i: u64| keys.unit(i * step)
        };
        check(by_offset(1));
        check(by_offset(64));
        check(|i| FileKeys::new(5, i).unit(0));
        check(|i| FileKeys::new(i, 0).unit(0));
    }

    /// Chi-square over the cells of a number and its successor: 255 degrees of freedom.
    fn check(unit: impl Fn(u64) -> f64) {
        const N: u64 = 256_000;
        let mut cells = [0u32; 256];
        for i in 0..N {
            let place = |i| ((unit(i) * 16.0) as usize).min(15);
            cells[place(2 * i) * 16 + place(2 * i + 1)] += 1;
        }
        let expected = N as f64 / 256.0;
        let chi: f64 = cells.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
        // Beyond these once in 10⁷.
        assert!((148.0..392.0).contains(&chi), "{chi}");
    }

    #[test]
    fn the_shortcut_leaves_out_nothing_that_is_within_the_limit() {
        let keys = FileKeys::new(1, 2);
        for (weight, limit) in [(1.0, 1e-3), (1e-9, 1e6), (1e200, 1e-203), (3.0, 0.0), (0.5, 8.0)] {
            for offset in 0..20_000 {
                let key = keys.key(offset, weight, f64::INFINITY).unwrap();
                assert_eq!(keys.key(offset, weight, limit), (key <= limit).then_some(key));
            }
        }
    }
}
