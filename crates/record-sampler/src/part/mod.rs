//! A part of the population, which another process or machine can read: to sketch, to count or to
//! fetch its records.

mod count;
mod description;
mod scan;

use crate::fetch::fetch_places;
use crate::input::{Population, Source};
use crate::sink::{List, Place};
use crate::watch::Watch;
use crate::{Error, ErrorKind, Format, Result};

pub use description::Part;
pub(crate) use scan::{PartScan, completed};

impl Part {
    /// The header of the file with its line end; empty if there is none.
    ///
    /// ```
    /// use record_sampler::{Format, Part};
    /// let part = Part::new(0, "Cargo.toml", Format::Lines).with_header();
    /// assert_eq!(part.header_bytes()?, b"[package]\n");
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn header_bytes(&self) -> Result<Vec<u8>> {
        let mut population = self.open()?;
        let scan = PartScan::new(self, &mut population, Watch::default())?;
        Ok(scan.header().to_vec())
    }

    /// The number of records. Records of a fixed size are not read for it.
    ///
    /// ```
    /// use record_sampler::{Format, Part};
    /// assert!(Part::new(0, "Cargo.toml", Format::Lines).count()? > 20);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn count(&self) -> Result<u64> {
        let mut population = self.open()?;
        let counted = count::count(self, &mut population);
        let counted = counted.map_err(|error| error.with_path(&self.path));
        population.unless_changed(counted).map(|(count, _)| count)
    }

    /// The records with these ranks among those of the part, in ascending order; a rank may be
    /// repeated. Text that ends without a line end gets one.
    ///
    /// ```
    /// use record_sampler::{Format, Part};
    /// let part = Part::new(0, "Cargo.toml", Format::Lines);
    /// assert_eq!(part.fetch(&[0, 0])?, [b"[package]\n", b"[package]\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn fetch(&self, ranks: &[u64]) -> Result<Vec<Vec<u8>>> {
        if !ranks.is_sorted() {
            return Err(Error::new(ErrorKind::BadRequest, "ranks must be in ascending order"));
        }
        let mut population = self.open()?;
        let fetched = match self.format {
            Format::Fixed(len) if population.files().is_some() => {
                self.fetch_fixed(&population, len, ranks)
            }
            _ => self.fetch_scanned(&mut population, ranks),
        };
        let fetched = fetched.map_err(|error| error.with_path(&self.path));
        population.unless_changed(fetched).map(|(records, _)| records)
    }

    fn fetch_fixed(
        &self,
        population: &Population,
        len: u64,
        ranks: &[u64],
    ) -> Result<Vec<Vec<u8>>> {
        let header = self.header.bytes();
        let (first, count) = count::fixed(self, population, len)?;
        if ranks.last().is_some_and(|last| *last >= count) {
            return Err(self.too_few());
        }
        let places: Vec<Place> =
            ranks.iter().map(|rank| Place { at: header + (first + rank) * len, len }).collect();
        let mut list = List::default();
        fetch_places(population, &places, &mut list)?;
        Ok(list.records)
    }

    fn fetch_scanned(&self, population: &mut Population, ranks: &[u64]) -> Result<Vec<Vec<u8>>> {
        let mut scan = PartScan::new(self, population, Watch::default())?;
        let mut records: Vec<Vec<u8>> = Vec::new();
        let mut last = None;
        for rank in ranks {
            if last == Some(*rank) {
                records.extend(records.last().cloned());
                continue;
            }
            scan.skip(rank - last.map_or(0, |last| last + 1))?;
            let record = scan.next()?.ok_or_else(|| self.too_few())?;
            records.push(completed(record.bytes, record.is_after_crlf, self.format).into());
            last = Some(*rank);
        }
        Ok(records)
    }

    fn too_few(&self) -> Error {
        let text = "a part has fewer records than were counted: the file has changed";
        Error::new(ErrorKind::Changed, text).with_path(&self.path)
    }
}

impl Population {
    /// Divides the files into parts of about this size, each of which another process may sketch,
    /// count or fetch from. A file of CSV, or with records of several lines, and a compressed one
    /// are one part each.
    ///
    /// ```
    /// use record_sampler::{Format, Population};
    /// let parts = Population::open(["Cargo.toml"], Format::Lines)?.parts(500)?;
    /// assert!(parts.len() > 1);
    /// assert!(parts.windows(2).all(|two| two[0].to == two[1].from));
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn parts(&self, bytes: u64) -> Result<Vec<Part>> {
        let bad = |text: &str| Error::new(ErrorKind::BadRequest, text);
        if bytes == 0 {
            return Err(bad("a part must have at least 1 byte"));
        }
        if self.mixed_headers {
            return Err(bad("parts of files with different headers have no columns in common"));
        }
        let mut parts = Vec::new();
        for (number, input) in self.inputs.iter().enumerate() {
            let file = match &input.source {
                Source::File(file) | Source::Compressed(file, _) if file.handle.has_path() => file,
                _ => return Err(bad("only files have parts").with_path(&input.path)),
            };
            let mut whole = Part::new(number as u64, &input.path, self.format);
            (whole.header, whole.max_record) = (self.header.clone(), self.max_record);
            let is_divided = matches!(input.source, Source::File(_))
                && !matches!(self.format, Format::Csv { .. } | Format::LineGroups { .. });
            if !is_divided {
                parts.push(whole);
                continue;
            }
            // An empty file is a part, too: its header may be required.
            for from in (0..file.size.max(1)).step_by(usize::try_from(bytes).unwrap_or(usize::MAX))
            {
                parts.push(whole.clone().range(from, from.saturating_add(bytes).min(file.size)));
            }
        }
        Ok(parts)
    }
}
