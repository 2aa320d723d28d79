//! Copies rows of Parquet files into Parquet files: the values and levels of chosen rows are copied
//! column by column, without assembling rows. Row groups without a chosen row are not read, nor are
//! such pages if there is a page index. A column of keys or weights is read alone before.

mod column;
mod part;
mod rows;
mod sources;

use std::io::Write;
use std::path::Path;

pub use self::part::ParquetPart;
use self::rows::{Destination, writers};
use self::sources::{ParquetFiles, malformed};
use crate::draw::{Partition, shares};
use crate::fetch::{FetchMethod, Ranks};
use crate::input::Population;
use crate::random::Rng;
use crate::sampler::{Sampler, Stats, Weight};
use crate::{Error, ErrorKind, Format, Result, random_access};

impl Sampler {
    /// Writes the chosen rows of Parquet files, which must have the same schema, as a Parquet file.
    /// Rows stay in order, each at most once, and columns keep their codecs. Only the footers, and
    /// the row groups and pages that hold a chosen row, are read; for `weighted_by` and `per` that
    /// column as well, alone. The sample is the same as of JSON Lines with the same rows, and as of
    /// CSV if numbers that are keys have neither an exponent nor zeros at their end, and no text is
    /// that of a number.
    ///
    /// The column of `weighted_by` and `per` has a single value in each row. A weight is a number,
    /// a decimal, or the text of a number. Strata are distinguished as values of JSON are: `null`
    /// is none and not that text, and of dates and times it is the number that is stored.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Sampler};
    /// let error = Sampler::exactly(1).write_parquet(["Cargo.toml"], &mut Vec::new()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Malformed);
    /// ```
    pub fn write_parquet<P: AsRef<Path>>(
        &self,
        paths: impl IntoIterator<Item = P>,
        out: &mut (dyn Write + Send),
    ) -> Result<Stats> {
        self.check_rows()?;
        self.write_rows(&Population::open(paths, Format::Fixed(1))?, out)
    }

    /// Like [`write_parquet`](Self::write_parquet), of files that are open already: those of
    /// [`Population::open_remote`]. The format of the population does not matter.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Population, Sampler};
    /// let population = Population::open(["Cargo.toml"], Format::Lines)?;
    /// let drawn = Sampler::exactly(1).write_parquet_from(&population, &mut Vec::new());
    /// assert_eq!(drawn.unwrap_err().kind(), ErrorKind::Malformed);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn write_parquet_from(
        &self,
        population: &Population,
        out: &mut (dyn Write + Send),
    ) -> Result<Stats> {
        self.check_rows()?;
        self.write_rows(population, out)
    }

    fn write_rows(&self, population: &Population, out: &mut (dyn Write + Send)) -> Result<Stats> {
        let destinations = vec![Destination { out, error: None }];
        let stats = guarded(population, destinations, |population, destinations| {
            let sources = ParquetFiles::open(self, population)?;
            let (ranks, reason) = self.parquet_ranks(&sources)?;
            let rows = ranks.map(|rank| (rank, 0));
            copy(&sources, destinations, rows, &reason)
        })?;
        stats.into_iter().next().ok_or_else(|| malformed("no output"))
    }

    /// Assigns each row of Parquet files, which must have the same schema, to one of several
    /// Parquet files, as [`split`](Sampler::split) does with records: exactly these shares, by the
    /// largest remainders. The files are read once; for outputs with such a small share that rows
    /// must be gathered over several row groups, pages are read again, which costs up to one more
    /// pass for each of them.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Sampler};
    /// let (mut train, mut test) = (Vec::new(), Vec::new());
    /// let sampler = Sampler::probability(1.0);
    /// let error = sampler
    ///     .split_parquet(["Cargo.toml"], &[0.8, 0.2], &mut [&mut train, &mut test])
    ///     .unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Malformed);
    /// ```
    pub fn split_parquet<P: AsRef<Path>>(
        &self,
        paths: impl IntoIterator<Item = P>,
        weights: &[f64],
        outs: &mut [&mut (dyn Write + Send)],
    ) -> Result<Vec<Stats>> {
        self.check_split_of_rows(weights, outs.len())?;
        self.split_rows(&Population::open(paths, Format::Fixed(1))?, weights, outs)
    }

    /// Like [`split_parquet`](Self::split_parquet), of files that are open already, as
    /// [`write_parquet_from`](Self::write_parquet_from) has them.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Population, Sampler};
    /// let population = Population::open(["Cargo.toml"], Format::Lines)?;
    /// let (sampler, mut all) = (Sampler::probability(1.0), Vec::new());
    /// let error = sampler.split_parquet_from(&population, &[1.0], &mut [&mut all]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Malformed);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn split_parquet_from(
        &self,
        population: &Population,
        weights: &[f64],
        outs: &mut [&mut (dyn Write + Send)],
    ) -> Result<Vec<Stats>> {
        self.check_split_of_rows(weights, outs.len())?;
        self.split_rows(population, weights, outs)
    }

    fn split_rows(
        &self,
        population: &Population,
        weights: &[f64],
        outs: &mut [&mut (dyn Write + Send)],
    ) -> Result<Vec<Stats>> {
        let destinations = outs.iter_mut().map(|out| Destination { out: &mut **out, error: None });
        guarded(population, destinations.collect(), |population, destinations| {
            let sources = ParquetFiles::open(self, population)?;
            let total = sources.total;
            let partition = Partition::new(Rng::new(self.seed), shares(total, weights));
            copy(&sources, destinations, (0..total).zip(partition), "every row goes to an output; ")
        })
    }

    fn check_rows(&self) -> Result<()> {
        self.check_parquet()?;
        self.check_amount()?;
        self.check_choices()?;
        if self.share.is_some() && (self.weight.is_some() || self.key.is_some()) {
            let text = "a share of all records is drawn plainly: of strata give a probability";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        if matches!(self.weight, Some(Weight::Function(_))) {
            let text = "a row of Parquet has no text to weigh: name a column";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        Ok(())
    }

    fn check_split_of_rows(&self, weights: &[f64], outputs: usize) -> Result<()> {
        self.check_split(weights, outputs)?;
        self.check_parquet()?;
        if self.key.is_some() {
            let text = "rows of Parquet are not split by strata";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        Ok(())
    }

    /// Each choice that is for records of text has an error of its own.
    fn check_parquet(&self) -> Result<()> {
        let choices = [
            (self.is_shuffled, "rows of Parquet stay in order: they are not shuffled"),
            (self.with_replacement, "rows of Parquet are not drawn with replacement"),
            (self.groups.is_some(), "whole groups of Parquet rows are not drawn"),
            (self.adds_probability, "rows of Parquet get no column for their probability"),
            (self.keeps_index, "an index is for files of lines, not for Parquet"),
            (self.method != FetchMethod::Auto, "no method can be chosen for rows of Parquet"),
        ];
        match choices.iter().find(|(is_asked, _)| *is_asked) {
            Some((_, text)) => Err(Error::new(ErrorKind::BadRequest, *text)),
            None => Ok(()),
        }
    }

    /// The chosen ranks, and a note on how they were found.
    fn parquet_ranks<'a>(&self, sources: &ParquetFiles<'_>) -> Result<(Ranks<'a>, String)> {
        if self.is_mergeable {
            let ranks = self.mergeable_ranks(sources)?;
            let reason = "each row has a number of its own, by which samples can be merged; ";
            return Ok((Box::new(ranks.into_iter()), reason.to_owned()));
        }
        let (ranks, column) = match (&self.weight, &self.key) {
            (Some(Weight::Column(column)), _) => (column::weighted(self, sources, column)?, column),
            (_, Some(column)) => (column::stratified(self, sources, column)?, column),
            _ => return Ok((random_access::ranks(self, sources.total)?.0, String::new())),
        };
        Ok((Box::new(ranks.into_iter()), format!("column {column} is read alone first; ")))
    }
}

/// Runs `draw` with open files, and maps its failures. The format does not matter here; the
/// population provides random access and detects changes.
fn guarded<'b, T>(
    population: &Population,
    mut destinations: Vec<Destination<'b>>,
    draw: impl FnOnce(&Population, &mut [Destination<'b>]) -> Result<T>,
) -> Result<T> {
    let drawn = draw(population, &mut destinations);
    if let Some(error) = destinations.into_iter().find_map(|destination| destination.error) {
        return Err(Error::caused(ErrorKind::Write, "writing the sample", error));
    }
    if drawn.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::Stopped) {
        // The footer that was read does not match the content of a larger file.
        let note = population.check_unchanged()?;
        if !note.is_empty() {
            let text = format!("the input changed while it was read; {note}");
            return Err(Error::new(ErrorKind::Changed, text));
        }
    }
    drawn
}

fn copy(
    sources: &ParquetFiles<'_>,
    destinations: &mut [Destination<'_>],
    rows: impl Iterator<Item = (u64, usize)>,
    reason: &str,
) -> Result<Vec<Stats>> {
    let copied = rows::copy(sources, writers(sources, destinations)?, rows)?;
    let groups = sources.groups().len();
    let stats = |taken| Stats {
        seen: Some(sources.total),
        taken,
        bytes_read: sources.bytes_read(),
        method: FetchMethod::Pread,
        reason: format!("{reason}{} of {groups} row groups hold a chosen row", copied.groups),
        note: None,
    };
    Ok(copied.taken.into_iter().map(stats).collect())
}
