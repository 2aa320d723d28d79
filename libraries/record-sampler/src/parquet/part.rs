//! Row groups that another process or machine reads: to sketch, to count or to fetch their rows.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::column::ParquetColumn;
use super::rows::Destination;
use super::sources::{ParquetFiles, RowGroup};
use super::{copy, guarded};
use crate::draw::check_weight;
use crate::input::Population;
use crate::sampler::Sampler;
use crate::sketch::{FileKeys, Sketch};
use crate::{Error, ErrorKind, Format, HeaderRule, Result};

/// Row groups of a Parquet file.
///
/// Their rows are sketched, or counted and fetched, wherever the file can be opened. The sample
/// does not depend on how the files are divided: sketches give that of [`Sampler::mergeable`], and
/// ranks, drawn by [`Sampler::ranks`] of all counts, that of [`Sampler::write_parquet`].
///
/// ```
/// use record_sampler::{ErrorKind, ParquetPart};
/// let part = ParquetPart::new(0, "Cargo.toml").groups(0, 2);
/// assert_eq!(part.count().unwrap_err().kind(), ErrorKind::Malformed);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ParquetPart {
    /// The number of the file in the ordered list of all inputs. The sample depends on it, and not
    /// on the path.
    pub file: u64,
    /// The path under which this process finds the file.
    pub path: PathBuf,
    /// The part has the row groups from this one on,
    pub from: u64,
    /// and before this one.
    pub to: u64,
}

impl ParquetPart {
    /// The whole file, which is the one with this number in the ordered list of all inputs.
    ///
    /// ```
    /// use record_sampler::ParquetPart;
    /// let part = ParquetPart::new(0, "rows.parquet");
    /// assert_eq!((part.from, part.to), (0, u64::MAX));
    /// ```
    pub fn new(file: u64, path: impl Into<PathBuf>) -> ParquetPart {
        ParquetPart { file, path: path.into(), from: 0, to: u64::MAX }
    }

    /// Only the row groups from `from` on and before `to`.
    ///
    /// ```
    /// use record_sampler::ParquetPart;
    /// assert_eq!(ParquetPart::new(0, "rows.parquet").groups(2, 3).from, 2);
    /// ```
    #[must_use]
    pub fn groups(mut self, from: u64, to: u64) -> ParquetPart {
        (self.from, self.to) = (from, to);
        self
    }

    /// Divides files into parts of whole row groups, with at least this many rows each but the last
    /// one of a file. Only the footers are read.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, ParquetPart};
    /// let error = ParquetPart::divide(["Cargo.toml"], 1000).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Malformed);
    /// ```
    pub fn divide<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        rows: u64,
    ) -> Result<Vec<ParquetPart>> {
        let paths: Vec<PathBuf> = paths.into_iter().map(|path| path.as_ref().into()).collect();
        let population = Population::open(&paths, Format::Fixed(1))?;
        let groups = guarded(&population, Vec::new(), |population, _| {
            Ok(ParquetFiles::open(&Sampler::exactly(0), population)?.groups())
        })?;
        let mut parts: Vec<ParquetPart> = Vec::new();
        for (number, path) in paths.into_iter().enumerate() {
            let file = ParquetPart::new(number as u64, path);
            let (mut from, mut held) = (0, 0);
            for group in groups.iter().filter(|group| group.file == number) {
                let next = group.number as u64 + 1;
                held += group.rows;
                if held >= rows {
                    parts.push(file.clone().groups(from, next));
                    (from, held) = (next, 0);
                }
            }
            // An empty file is a part, too: its schema must be that of the others.
            if held > 0 || from == 0 {
                parts.push(file.groups(from, u64::MAX));
            }
        }
        Ok(parts)
    }

    /// The number of rows, from the footer.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, ParquetPart};
    /// let error = ParquetPart::new(0, "Cargo.toml").count().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Malformed);
    /// ```
    pub fn count(&self) -> Result<u64> {
        self.open(&Sampler::exactly(0), Vec::new(), |sources, _| Ok(sources.total))
    }

    /// Writes the rows with these ascending ranks among those of the part, each at most once, as a
    /// Parquet file. Returns their number.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, ParquetPart};
    /// let error = ParquetPart::new(0, "Cargo.toml").fetch(&[1, 0], &mut Vec::new()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::BadRequest);
    /// ```
    pub fn fetch(&self, ranks: &[u64], out: &mut (dyn Write + Send)) -> Result<u64> {
        if !ranks.windows(2).all(|two| two[0] < two[1]) {
            let text = "ranks of rows must be in ascending order, each at most once";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        let destinations = vec![Destination { out, error: None }];
        self.open(&Sampler::exactly(0), destinations, |sources, destinations| {
            if ranks.last().is_some_and(|last| *last >= sources.total) {
                let text = "a part has fewer rows than were counted: the file has changed";
                return Err(Error::new(ErrorKind::Changed, text).with_path(&self.path));
            }
            copy(sources, destinations, ranks.iter().map(|rank| (*rank, 0)), "")?;
            Ok(ranks.len() as u64)
        })
    }

    /// Writes the rows of the part that are in a merged sketch, as a Parquet file. Returns their
    /// number.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, ParquetPart, Part, Sampler};
    /// let lines = Sampler::exactly(1).sketch(&Part::new(0, "Cargo.toml", Format::Lines))?;
    /// let part = ParquetPart::new(0, "rows.parquet");
    /// let error = part.fetch_sketched(&lines, &mut Vec::new()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::BadRequest);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn fetch_sketched(&self, sketch: &Sketch, out: &mut (dyn Write + Send)) -> Result<u64> {
        if sketch.format() != ROWS {
            let text = "a sketch of text has its records: it is written, not fetched";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        let places = sketch.places()?;
        let groups =
            self.open(&Sampler::exactly(0), Vec::new(), |sources, _| Ok(sources.groups()))?;
        let first = groups.first().map_or(0, |group| group.row);
        let total: u64 = groups.iter().map(|group| group.rows).sum();
        let rows = places.into_iter().filter(|(file, _)| *file == self.file);
        let ranks = rows.filter_map(|(_, row)| row.checked_sub(first));
        self.fetch(&ranks.filter(|rank| *rank < total).collect::<Vec<u64>>(), out)
    }

    fn open<'b, T>(
        &self,
        sampler: &Sampler,
        destinations: Vec<Destination<'b>>,
        work: impl FnOnce(&ParquetFiles<'_>, &mut [Destination<'b>]) -> Result<T>,
    ) -> Result<T> {
        let population = Population::open([&self.path], Format::Fixed(1))?;
        guarded(&population, destinations, |population: &Population, destinations| {
            let sources = ParquetFiles::open(sampler, population)?;
            work(&sources.only(self.from, self.to), destinations)
        })
    }
}

/// Rows have no bytes: the format of a sketch of them is one that no file has.
pub(crate) const ROWS: Format = Format::Fixed(0);

impl Sampler {
    /// The sample of a part, as [`sketch`](Self::sketch) gives it for records of text: it has the
    /// numbers of rows, which are fetched by [`ParquetPart::fetch_sketched`] when all sketches are
    /// merged. Only the columns of weights and keys are read.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, ParquetPart, Sampler};
    /// let part = ParquetPart::new(0, "Cargo.toml");
    /// let error = Sampler::exactly(5).sketch_parquet(&part).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Malformed);
    /// ```
    pub fn sketch_parquet(&self, part: &ParquetPart) -> Result<Sketch> {
        self.check_parquet()?;
        part.open(self, Vec::new(), |sources, _| self.sketch_rows(sources, |_| part.file))
    }

    /// The ranks of the rows that the sketch of all files gives.
    pub(super) fn mergeable_ranks(&self, sources: &ParquetFiles<'_>) -> Result<Vec<u64>> {
        let sketch = self.sketch_rows(sources, |file| file as u64)?;
        let groups = sources.groups();
        let first = |file: u64| {
            let group = groups.iter().find(|group| group.file as u64 == file);
            group.map_or(0, |group| group.base)
        };
        let (mut open, mut base) = (None, 0);
        let ranks = sketch.places()?.into_iter().map(|(file, row)| {
            if open != Some(file) {
                (open, base) = (Some(file), first(file));
            }
            base + row
        });
        Ok(ranks.collect())
    }

    fn sketch_rows(
        &self,
        sources: &ParquetFiles<'_>,
        number: impl Fn(usize) -> u64,
    ) -> Result<Sketch> {
        let request = self.request(ROWS, &HeaderRule::None)?;
        let find = |column| ParquetColumn::find(sources, column);
        let weights = request.weight.as_ref().map(find).transpose()?;
        let picked = request.key.as_ref().map(find).transpose()?;
        weights.iter().try_for_each(ParquetColumn::are_numbers)?;
        let mut sketch = Sketch::new(request.clone());
        for group in sources.groups() {
            let file = number(group.file);
            let keys = FileKeys::new(self.seed, file);
            let weights =
                weights.as_ref().map(|weights| all_weights(weights, &group)).transpose()?;
            let mut offer = |key: &[u8], row: u64| {
                let weight = weights.as_ref().map_or(1.0, |weights| weights[row as usize]);
                sketch.offer(key, weight, &keys, (file, group.row + row), Box::default);
            };
            let Some(picked) = &picked else {
                (0..group.rows).for_each(|row| offer(b"", row));
                continue;
            };
            let mut buffer = Vec::new();
            picked.each_of(&group, |row, cell| {
                offer(cell.key(&mut buffer), row);
                Ok(())
            })?;
        }
        sketch.set_seen(sources.total);
        Ok(sketch)
    }
}

fn all_weights(column: &ParquetColumn<'_>, group: &RowGroup) -> Result<Vec<f64>> {
    let (mut weights, mut buffer) = (Vec::new(), Vec::new());
    column.each_of(group, |_, cell| {
        let weight = cell.weight(&mut buffer)?;
        check_weight(weight)?;
        weights.push(weight);
        Ok(())
    })?;
    Ok(weights)
}
