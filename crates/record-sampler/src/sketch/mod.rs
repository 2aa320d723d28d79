//! A sample that can be merged with those of other parts of the population. It knows records, not
//! where they are read from.

mod bytes;
mod key;
mod stratum;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::input::{Column, Header};
use crate::sink::{Output, Place, Probabilities, Sink};
use crate::{Error, ErrorKind, Format, HeaderRule, Result};

pub(crate) use key::Keys;
use stratum::{Candidate, Stratum};

/// The sample of a part of the population, which can be merged with those of the other parts.
///
/// Each record has a random key that depends only on the seed, the number of its file and its
/// offset in it, divided by its weight; the `n` records with the least keys are kept, of each
/// stratum if there are strata. So the sample of the whole is the same however it was divided into
/// parts, and in whatever order these were merged.
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
    request: Request,
    header: Option<FileHeader>,
    /// The number of records of the parts.
    seen: u64,
    /// By key; without strata a single one, whose key is empty.
    strata: BTreeMap<Box<[u8]>, Stratum>,
}

/// What was requested. Only sketches of the same request can be merged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) n: u64,
    /// Whether fewer records are an error.
    pub(crate) is_exact: bool,
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
    pub(crate) fn new(request: Request) -> Sketch {
        let mut strata = BTreeMap::new();
        if request.key.is_none() {
            strata.insert(Box::default(), Stratum::default());
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
        keys: &Keys,
        (file, offset): (u64, u64),
        record: impl FnOnce() -> Box<[u8]>,
    ) {
        let stratum = if self.request.key.is_none() {
            // Some processors take 200 ns to compare two empty keys by masked loads from addresses
            // that are not mapped.
            self.strata.values_mut().next()
        } else {
            if !self.strata.contains_key(key) {
                self.strata.insert(key.into(), Stratum::default());
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
        self.check_number()?;
        let mut kept: Vec<&Candidate> = self.strata.values().flat_map(Stratum::kept).collect();
        kept.sort_unstable_by_key(|kept| (kept.file, kept.offset));
        Ok(kept.into_iter().map(|kept| &*kept.bytes).collect())
    }

    /// The numbers of the files and the offsets of the chosen records, ascending.
    #[cfg(feature = "parquet")]
    pub(crate) fn places(&self) -> Result<Vec<(u64, u64)>> {
        self.check_number()?;
        let kept = self.strata.values().flat_map(Stratum::kept);
        let mut places: Vec<(u64, u64)> = kept.map(|kept| (kept.file, kept.offset)).collect();
        places.sort_unstable();
        Ok(places)
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

    /// With which probabilities the records of `records` were drawn, if without weights.
    pub(crate) fn probabilities(&self) -> Probabilities {
        let of = |stratum: &Stratum| stratum.kept.len() as f64 / stratum.seen.max(1) as f64;
        if let (None, Some(all)) = (&self.request.key, self.strata.values().next()) {
            return Probabilities::Same(of(all));
        }
        let each = self.strata.values().flat_map(|stratum| {
            stratum.kept().map(move |kept| (kept.file, kept.offset, of(stratum)))
        });
        let mut each: Vec<(u64, u64, f64)> = each.collect();
        each.sort_unstable_by_key(|(file, offset, _)| (*file, *offset));
        let each: Vec<f64> = each.into_iter().map(|(.., probability)| probability).collect();
        Probabilities::Each(each.into_iter())
    }

    fn check_number(&self) -> Result<()> {
        let Request { n, is_exact, ref weight, ref key, .. } = self.request;
        if !is_exact {
            return Ok(());
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
            _ => format!("{n} records were requested, but there are {seen}"),
        };
        Err(Error::new(ErrorKind::TooFew, text))
    }
}

impl Request {
    fn check_same(&self, other: &Request) -> Result<()> {
        let differs = [
            ("numbers of records", self.n != other.n || self.is_exact != other.is_exact),
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
