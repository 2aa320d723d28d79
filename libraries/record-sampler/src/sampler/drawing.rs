//! Draws the sample: by ranks if the records can be counted, in one pass if not.

use std::io::Write;

use super::{Amount, DrawnRecords, Sampler, Stats};
use crate::draw::{Partition, Quota, RecordShare, StratumSizes, shares};
use crate::fetch::{FetchMethod, Ranks, fetch_places, probe};
use crate::input::{Column, Population};
use crate::random::Rng;
use crate::random_access::{self, IndexedPopulation, RankAccess, too_few};
use crate::shuffle::{MappedShuffler, Shuffle, Shuffler};
use crate::sink::{Output, PartSink, Place, RecordSink, Sink, WithProbability};
use crate::{Format, Result, streaming, work};

/// More threads do not make a random order faster.
const MOST_THREADS: usize = 8;

/// The way in which records are drawn.
enum DrawingPath<'a> {
    /// Lines are found from random places, and not counted.
    Probe { min_len: u32 },
    /// Whole groups, by a column.
    Groups(&'a Column),
    /// Each record has a number of its own.
    Sketch,
    /// Every record is looked at, or they pass by once.
    OnePass,
    /// The records are counted, and those with the drawn ranks are fetched.
    Ranks(RankAccess),
}

impl Sampler {
    /// The only place where it is decided how records are drawn.
    fn path(&self, population: &Population) -> DrawingPath<'_> {
        if let FetchMethod::Probe { min_len } = self.method {
            return DrawingPath::Probe { min_len };
        }
        if let Some(column) = &self.groups {
            return DrawingPath::Groups(column);
        }
        if self.is_mergeable || self.holds_strata(population) {
            return DrawingPath::Sketch;
        }
        let is_in_files = population.files().is_some();
        let is_rest = self.is_inverted && !matches!(self.amount, Amount::Share(_));
        let must_be_counted = is_rest || self.is_systematic || self.share.is_some();
        let is_one_pass = self.key.is_some()
            || self.weight.is_some()
            || self.method == FetchMethod::Stream
            || !(is_in_files || must_be_counted && population.can_be_reread());
        if is_one_pass {
            return DrawingPath::OnePass;
        }
        DrawingPath::Ranks(match population.format {
            _ if !is_in_files => RankAccess::Scanned,
            Format::Fixed(len) => RankAccess::Fixed(len),
            format if format.lines_each().is_some() => RankAccess::Lines,
            _ => RankAccess::Scanned,
        })
    }

    /// Writes the chosen records, and the header before them if there is one. Text that ends
    /// without a line end gets one. Records that were written before an error are not a sample.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut out = Vec::new();
    /// let mut population = Population::stream(&b"the only one"[..], Format::Lines);
    /// Sampler::exactly(1).write(&mut population, &mut out)?;
    /// assert_eq!(out, b"the only one\n");
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn write(&self, population: &mut Population, out: &mut dyn Write) -> Result<Stats> {
        let mut output = Output::new(out, population.format);
        let stats = self.run(population, &mut output)?;
        output.flush()?;
        Ok(Stats { taken: output.written, ..stats })
    }

    fn run(&self, population: &mut Population, sink: &mut dyn Sink) -> Result<Stats> {
        self.check(population)?;
        let mut with_probability;
        let sink = if self.adds_probability {
            with_probability = WithProbability::new(sink, population.format)?;
            &mut with_probability
        } else {
            sink
        };
        let result = match self.path(population) {
            DrawingPath::Probe { min_len } => self.probe(population, min_len, sink),
            DrawingPath::Groups(column) => streaming::write_groups(self, population, column, sink),
            DrawingPath::Sketch => self.write_mergeable(population, sink),
            DrawingPath::OnePass => streaming::write(self, population, sink),
            DrawingPath::Ranks(access) => self.write_ranked(access, population, sink),
        };
        let (stats, note) = population.unless_changed(result)?;
        Ok(Stats { note, ..stats })
    }

    /// The chosen records as a list.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::stream(&b"a\nb\n"[..], Format::Lines);
    /// assert_eq!(Sampler::exactly(2).records(&mut population)?, [b"a\n", b"b\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn records(&self, population: &mut Population) -> Result<Vec<Vec<u8>>> {
        Ok(self.draw(population)?.records)
    }

    /// The chosen records as a list, with the header of the inputs.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let population = Population::stream(&b"name\nAda\n"[..], Format::Lines);
    /// let drawn = Sampler::exactly(1).draw(&mut population.with_header())?;
    /// assert_eq!((drawn.header, drawn.records), (b"name\n".to_vec(), vec![b"Ada\n".to_vec()]));
    /// assert_eq!((drawn.stats.seen, drawn.stats.taken), (Some(1), 1));
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn draw(&self, population: &mut Population) -> Result<DrawnRecords> {
        let mut list = RecordSink::default();
        let stats = self.run(population, &mut list)?;
        let RecordSink { header, records, .. } = list;
        let taken = records.len() as u64;
        Ok(DrawnRecords { header, records, stats: Stats { taken, ..stats } })
    }

    /// Assigns each record to one of several outputs, whose sizes are proportional to the shares:
    /// exactly, by the largest remainders, for files; at random for each record of a stream. The
    /// header goes to each output. With [`stratified_by`](Self::stratified_by) each stratum is
    /// divided; with [`shuffled`](Self::shuffled) the records of each output are in random order:
    /// both need files.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let (mut train, mut test) = (Vec::new(), Vec::new());
    /// let mut population = Population::open(["Cargo.toml"], Format::Fixed(1))?;
    /// let sampler = Sampler::probability(1.0);
    /// let stats = sampler.split(&mut population, &[0.8, 0.2], &mut [&mut train, &mut test])?;
    /// assert_eq!(stats[0].taken, (stats[0].seen.unwrap() as f64 * 0.8).round() as u64);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn split(
        &self,
        population: &mut Population,
        weights: &[f64],
        outs: &mut [&mut dyn Write],
    ) -> Result<Vec<Stats>> {
        self.check(population)?;
        self.check_split(weights, outs.len())?;
        let format = population.format;
        let mut outputs: Vec<Output<'_>> =
            outs.iter_mut().map(|out| Output::new(*out, format)).collect();
        let result = match (self.path(population), &self.key) {
            (_, Some(column)) => {
                streaming::split_strata(self, population, column, weights, &mut outputs)
            }
            (DrawingPath::Ranks(access), None) => {
                self.split_ranked(access, population, weights, &mut outputs)
            }
            // All lines are taken, so that they are counted.
            (DrawingPath::Probe { .. }, None) => {
                self.split_ranked(RankAccess::Lines, population, weights, &mut outputs)
            }
            (_, None) => streaming::split(self, population, weights, &mut outputs),
        };
        let (stats, note) = population.unless_changed(result)?;
        let stats = Stats { note, ..stats };
        let finished = outputs.iter_mut().map(|output| {
            output.flush()?;
            Ok(Stats { taken: output.written, ..stats.clone() })
        });
        finished.collect()
    }

    fn split_ranked(
        &self,
        access: RankAccess,
        population: &mut Population,
        weights: &[f64],
        outputs: &mut [Output<'_>],
    ) -> Result<Stats> {
        let mut ranked = IndexedPopulation::new(self, access, population)?;
        for output in outputs.iter_mut() {
            output.header(&ranked.header)?;
        }
        let total = ranked.total;
        let sizes = shares(total, weights);
        if !self.is_shuffled {
            let mut parts = PartSink::new(outputs, Partition::new(Rng::new(self.seed), sizes));
            return ranked.fetch(population, Box::new(0..total), total, &mut parts);
        }
        // All records are shuffled, and the first ones go to the first output.
        let turns = sizes.into_iter().enumerate();
        let turns = turns.flat_map(|(part, size)| (0..size).map(move |_| part));
        let mut parts = PartSink::new(outputs, turns);
        self.fetch_shuffled(&mut ranked, population, (Box::new(0..total), total), &mut parts)
    }

    fn fetch_shuffled(
        &self,
        ranked: &mut IndexedPopulation,
        population: &mut Population,
        (ranks, records): (Ranks<'_>, u64),
        sink: &mut dyn Sink,
    ) -> Result<Stats> {
        let (seed, memory) = (self.seed, self.memory);
        let shuffle = Shuffle { records, bytes: ranked.bytes_of(records), seed, memory };
        let threads = work::available(MOST_THREADS);
        let mapped = MappedShuffler::new(&shuffle, ranked.bytes_of(ranked.total), threads);
        if let Some(mut shuffler) = mapped
            && ranked.map_all(population)?
        {
            let mut stats = ranked.fetch(population, ranks, records, &mut shuffler)?;
            stats.bytes_read += shuffler.finish(population, &ranked.mapped(), threads, sink)?;
            return Ok(stats);
        }
        let mut shuffler = Shuffler::new(&shuffle, population.files().is_some())?;
        let mut stats = ranked.fetch(population, ranks, records, &mut shuffler)?;
        stats.bytes_read += shuffler.finish(Some(population), sink)?;
        Ok(stats)
    }

    fn write_ranked(
        &self,
        access: RankAccess,
        population: &mut Population,
        sink: &mut dyn Sink,
    ) -> Result<Stats> {
        let mut ranked = IndexedPopulation::new(self, access, population)?;
        sink.header(&ranked.header)?;
        sink.set_probabilities(self.inclusion(ranked.total));
        let (ranks, expected) = random_access::ranks(self, ranked.total)?;
        if !self.is_shuffled {
            return ranked.fetch(population, ranks, expected, sink);
        }
        self.fetch_shuffled(&mut ranked, population, (ranks, expected), sink)
    }

    fn probe(&self, population: &Population, min_len: u32, sink: &mut dyn Sink) -> Result<Stats> {
        let Amount::Exactly(n) = self.amount else { unreachable!("checked before") };
        let rng = Rng::new(self.seed);
        let (mut places, bytes_read): (Vec<Place>, u64) =
            probe(population, n, min_len, rng, &self.watch)?;
        if !self.is_shuffled {
            places.sort_unstable();
        }
        let bytes_read = bytes_read + fetch_places(population, &places, sink)?;
        let reason = "requested; lines are not counted".to_owned();
        Ok(Stats { seen: None, taken: 0, bytes_read, method: self.method, reason, note: None })
    }

    /// The number of records to draw of each stratum. `sizes` counts the records, if that is
    /// needed.
    pub(crate) fn quota(&self, sizes: impl FnOnce() -> Result<StratumSizes>) -> Result<Quota> {
        match self.amount {
            Amount::Exactly(n) | Amount::AtMost(n) if !self.is_proportional => Ok(Quota::Each(n)),
            Amount::Share(p) => Ok(sizes()?.quota(self.seed, RecordShare::from_probability(p))),
            Amount::Exactly(n) | Amount::AtMost(n) => {
                let sizes = sizes()?;
                let total = sizes.total();
                if n > total && self.amount.least() > 0 {
                    return Err(too_few(n, total));
                }
                Ok(sizes.quota(self.seed, RecordShare::from_number(n, total)))
            }
        }
    }

    /// Whether up to n records of each stratum must be held: their shares are known when all are
    /// counted, and a stream passes by once.
    fn holds_strata(&self, population: &Population) -> bool {
        let is_number = !matches!(self.amount, Amount::Share(_));
        self.is_proportional && is_number && !population.can_be_reread()
    }

    /// Whether each stratum has its share of the sample, so that all records have the same
    /// probability.
    pub(crate) fn draws_shares(&self) -> bool {
        self.is_proportional || matches!(self.amount, Amount::Share(_))
    }

    /// It is an error if a stratum has fewer records than this.
    pub(crate) fn least_of_each(&self) -> u64 {
        if self.is_proportional { 0 } else { self.amount.least() }
    }
}
