//! The front of the crate: what is asked, and how it is carried out.

use std::io::Write;
use std::sync::Arc;

use crate::draw::{Partition, shares};
use crate::fetch::{Method, fetch_places, probe};
use crate::input::{Column, Population};
use crate::one_pass;
use crate::random::Rng;
use crate::ranked::{self, Ranked};
use crate::sink::{List, Output, Parts, Place, Places, Sink};
use crate::watch::Watch;
use crate::{Error, ErrorKind, Result};

/// How many records are wanted, and how they are chosen.
///
/// The same sampler on the same inputs gives the same records, on every machine and for ever. What is
/// drawn from a stream is another sample than what is drawn from a file, because its length is not known.
///
/// ```
/// use record_sampler::{Format, Population, Sampler};
/// let text = "one\ntwo\nthree\nfour\n";
/// let mut population = Population::stream(text.as_bytes(), Format::Lines);
/// let mut out = Vec::new();
/// let stats = Sampler::exactly(2).seed(1).write(&mut population, &mut out)?;
/// assert_eq!(stats.taken, 2);
/// assert_eq!(stats.seen, Some(4));
/// # Ok::<(), record_sampler::Error>(())
/// ```
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub struct Sampler {
    pub(crate) amount: Amount,
    pub(crate) seed: u64,
    pub(crate) is_shuffled: bool,
    pub(crate) is_inverted: bool,
    pub(crate) with_replacement: bool,
    pub(crate) weight: Option<Weight>,
    pub(crate) key: Option<Column>,
    pub(crate) method: Method,
    pub(crate) keeps_index: bool,
    pub(crate) watch: Watch,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Amount {
    Exactly(u64),
    AtMost(u64),
    /// Of each record, or of each stratum in whole records.
    Share(f64),
}

/// Tells the weight of a record.
pub(crate) type WeightOf = Box<dyn Fn(&[u8]) -> f64>;

pub(crate) enum Weight {
    Column(Column),
    Function(WeightOf),
}

/// What was done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// The records of the population, if they were counted.
    pub seen: Option<u64>,
    /// The records that were written.
    pub taken: u64,
    /// Bytes that were read, or looked at through a mapping, in all passes.
    pub bytes_read: u64,
    /// How the records were reached.
    pub method: Method,
    /// Why.
    pub reason: String,
}

impl Sampler {
    fn new(amount: Amount) -> Sampler {
        Sampler {
            amount,
            seed: 0,
            is_shuffled: false,
            is_inverted: false,
            with_replacement: false,
            weight: None,
            key: None,
            method: Method::Auto,
            keeps_index: false,
            watch: Watch::default(),
        }
    }

    /// Exactly `n` records, each set of them with the same probability. An error if there are fewer.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Population, Sampler};
    /// let mut two = Population::stream(&b"a\nb\n"[..], Format::Lines);
    /// let error = Sampler::exactly(3).records(&mut two).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::TooFew);
    /// assert_eq!(error.to_string(), "3 records are wanted, there are 2");
    /// ```
    pub fn exactly(n: u64) -> Sampler {
        Sampler::new(Amount::Exactly(n))
    }

    /// As `exactly`; all of them if there are fewer.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut two = Population::stream(&b"a\nb\n"[..], Format::Lines);
    /// assert_eq!(Sampler::at_most(3).records(&mut two)?.len(), 2);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn at_most(n: u64) -> Sampler {
        Sampler::new(Amount::AtMost(n))
    }

    /// Each record with this probability, independently.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut thousand = Population::stream(&[0; 1000][..], Format::Fixed(1));
    /// let n = Sampler::probability(0.1).records(&mut thousand)?.len();
    /// assert!((50..150).contains(&n));
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    pub fn probability(p: f64) -> Sampler {
        Sampler::new(Amount::Share(p))
    }

    /// Another seed than 0.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let draw = |seed| {
    ///     let mut population = Population::open(["Cargo.toml"], Format::Lines).unwrap();
    ///     Sampler::exactly(5).seed(seed).records(&mut population).unwrap()
    /// };
    /// assert_eq!(draw(1), draw(1));
    /// assert_ne!(draw(1), draw(2));
    /// ```
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Sampler {
        self.seed = seed;
        self
    }

    /// In random order instead of that of the population.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::stream(&b"abcdefghij"[..], Format::Fixed(1));
    /// let records = Sampler::exactly(10).shuffled().records(&mut population)?;
    /// assert!(!records.is_sorted());
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn shuffled(mut self) -> Sampler {
        self.is_shuffled = true;
        self
    }

    /// The records that would not have been chosen.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let draw = |sampler: Sampler| {
    ///     let mut population = Population::open(["Cargo.toml"], Format::Lines).unwrap();
    ///     sampler.records(&mut population).unwrap().len()
    /// };
    /// let all = draw(Sampler::at_most(u64::MAX));
    /// assert_eq!(draw(Sampler::exactly(3).inverted()), all - 3);
    /// ```
    #[must_use]
    pub fn inverted(mut self) -> Sampler {
        self.is_inverted = true;
        self
    }

    /// Each of the `n` draws is from all records.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::stream(&b"a\n"[..], Format::Lines);
    /// let records = Sampler::exactly(3).with_replacement().records(&mut population)?;
    /// assert_eq!(records, [b"a\n"; 3]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_replacement(mut self) -> Sampler {
        self.with_replacement = true;
        self
    }

    /// Chosen as if one after the other, with probabilities proportional to the numbers in this column.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let text = "{\"w\": 0}\n{\"w\": 2.5}\n";
    /// let mut population = Population::stream(text.as_bytes(), Format::JsonLines);
    /// let records = Sampler::exactly(1).weighted_by("w").records(&mut population)?;
    /// assert_eq!(records, [b"{\"w\": 2.5}\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn weighted_by(mut self, column: impl Into<Column>) -> Sampler {
        self.weight = Some(Weight::Column(column.into()));
        self
    }

    /// As `weighted_by`, with weights that a function tells.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::stream(&b"short\n\nlonger\n"[..], Format::Lines);
    /// let weight = |line: &[u8]| line.len() as f64 - 1.0;
    /// let records = Sampler::exactly(2).weighted_with(weight).records(&mut population)?;
    /// assert_eq!(records, [&b"short\n"[..], b"longer\n"]);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn weighted_with(mut self, weight: impl Fn(&[u8]) -> f64 + 'static) -> Sampler {
        self.weight = Some(Weight::Function(Box::new(weight)));
        self
    }

    /// So many of each stratum: of the records that have the same text in this column. With
    /// `probability`, that share of each stratum in whole records.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let text = "kind,n\na,1\na,2\nb,3\n";
    /// let population = Population::stream(text.as_bytes(), Format::Csv { delimiter: b',' });
    /// let sampler = Sampler::exactly(1).per("kind");
    /// assert_eq!(sampler.records(&mut population.with_header())?.len(), 2);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn per(mut self, column: impl Into<Column>) -> Sampler {
        self.key = Some(column.into());
        self
    }

    /// Reaches the records in this way instead of the one with the least expected cost.
    ///
    /// ```
    /// use record_sampler::{Format, Method, Population, Sampler};
    /// let mut population = Population::open(["Cargo.toml"], Format::Lines)?;
    /// let sampler = Sampler::exactly(2).by(Method::Probe { min_len: 1 });
    /// assert_eq!(sampler.records(&mut population)?.len(), 2);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn by(mut self, method: Method) -> Sampler {
        self.method = method;
        self
    }

    /// Uses the index of a file of lines, `FILE.nlx`, and makes it where there is none that fits.
    ///
    /// ```
    /// # let dir = std::env::temp_dir().join(format!("index-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let file = dir.join("lines");
    /// use record_sampler::{Format, Population, Sampler};
    /// std::fs::write(&file, "a\nb\n".repeat(100_000)).unwrap();
    /// for expected in ["made", "used"] {
    ///     let mut population = Population::open([&file], Format::Lines)?;
    ///     let stats = Sampler::exactly(1).with_index().write(&mut population, &mut Vec::new())?;
    ///     assert!(stats.reason.contains(expected), "{}", stats.reason);
    /// }
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_index(mut self) -> Sampler {
        self.keeps_index = true;
        self
    }

    /// Is told now and then how many more bytes have been gone through; `false` ends the work with an error
    /// of the kind `Stopped`. Several threads may call it.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Population, Sampler};
    /// let mut population = Population::open(["Cargo.toml"], Format::Lines)?;
    /// let error = Sampler::exactly(1).watched(|_| false).records(&mut population).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Stopped);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn watched(mut self, told: impl Fn(u64) -> bool + Send + Sync + 'static) -> Sampler {
        self.watch = Watch(Some(Arc::new(told)));
        self
    }

    /// Writes the chosen records, and the header before them if there is one. Text that ends without a line
    /// end gets one. What has been written when an error is returned is not a sample.
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
        let mut output = Output::new(out, population.format.is_text());
        let stats = self.run(population, &mut output)?;
        output.flush()?;
        Ok(Stats { taken: output.written, ..stats })
    }

    fn run(&self, population: &mut Population, sink: &mut dyn Sink) -> Result<Stats> {
        self.check(population)?;
        let result = if let Method::Probe { min_len } = self.method {
            self.probe(population, min_len, sink)
        } else if self.is_one_pass(population) {
            one_pass::write(self, population, sink)
        } else {
            self.write_ranked(population, sink)
        };
        unless_changed(population, result)
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
        let mut list = List::default();
        self.run(population, &mut list)?;
        Ok(list.records)
    }

    /// Every record into one of several outputs, whose sizes are proportional to the shares: exactly, by
    /// the largest remainders, from files; from a stream each record is assigned by chance. The header
    /// goes to each.
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
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        if weights.len() != outs.len() || weights.is_empty() {
            return bad("a split needs a share for each output");
        }
        if weights.iter().any(|w| !w.is_finite() || *w < 0.0) || weights.iter().sum::<f64>() <= 0.0
        {
            return bad("the shares of a split must be 0 or more, and not all 0");
        }
        self.check(population)?;
        if self.is_shuffled
            || self.is_inverted
            || self.with_replacement
            || self.key.is_some()
            || self.weight.is_some()
        {
            return bad("a split takes all records in order: it goes with no other choice");
        }
        let is_text = population.format.is_text();
        let mut outputs: Vec<Output<'_>> =
            outs.iter_mut().map(|out| Output::new(*out, is_text)).collect();
        let result = if self.is_one_pass(population) {
            one_pass::split(self, population, weights, &mut outputs)
        } else {
            self.split_ranked(population, weights, &mut outputs)
        };
        let stats = unless_changed(population, result)?;
        let finished = outputs.iter_mut().map(|output| {
            output.flush()?;
            Ok(Stats { taken: output.written, ..stats.clone() })
        });
        finished.collect()
    }

    fn split_ranked(
        &self,
        population: &mut Population,
        weights: &[f64],
        outputs: &mut [Output<'_>],
    ) -> Result<Stats> {
        let mut ranked = Ranked::new(self, population)?;
        for output in outputs.iter_mut() {
            output.header(&ranked.header)?;
        }
        let total = ranked.total;
        let partition = Partition::new(Rng::new(self.seed), shares(total, weights));
        let mut parts = Parts::new(outputs, partition);
        ranked.fetch(population, Box::new(0..total), total, &mut parts)
    }

    fn is_one_pass(&self, population: &Population) -> bool {
        self.key.is_some()
            || self.weight.is_some()
            || self.method == Method::Stream
            || population.files().is_none()
    }

    fn check(&self, population: &Population) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        let Sampler { amount, weight, key, .. } = self;
        if let Amount::Share(p) = amount {
            if !(0.0..=1.0).contains(p) {
                return bad("a probability must be from 0 to 1");
            }
            if weight.is_some() || self.with_replacement {
                return bad("a probability goes neither with weights nor with replacement");
            }
        }
        if population.header && !population.format.is_text() {
            return bad("records of fixed size have no header");
        }
        let choices = [weight.is_some(), key.is_some(), self.with_replacement, self.is_inverted];
        if choices.iter().filter(|is_asked| **is_asked).count() > 1 {
            return bad("weights, strata, replacement and inversion do not go together");
        }
        if self.keeps_index && !population.format.is_lines() {
            return bad("only lines and JSON Lines have an index");
        }
        if let Method::Probe { min_len } = self.method {
            let is_lines = population.format.is_lines() && population.files().is_some();
            let is_plain = choices.iter().all(|is_asked| !is_asked) && !population.header;
            if !(is_lines && is_plain && matches!(amount, Amount::Exactly(_)) && min_len > 0) {
                return bad(
                    "probing gives exactly n lines of files without header, and nothing else",
                );
            }
        }
        Ok(())
    }

    fn write_ranked(&self, population: &mut Population, sink: &mut dyn Sink) -> Result<Stats> {
        let mut ranked = Ranked::new(self, population)?;
        sink.header(&ranked.header)?;
        let (ranks, expected) = ranked::ranks(self, ranked.total)?;
        if !self.is_shuffled {
            return ranked.fetch(population, ranks, expected, sink);
        }
        let mut places = Places::default();
        let mut stats = ranked.fetch(population, ranks, expected, &mut places)?;
        shuffle(&mut places.0, self.seed);
        stats.bytes_read += fetch_places(population, &places.0, sink)?;
        Ok(stats)
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
        let reason = "asked for; lines are not counted".to_owned();
        Ok(Stats { seen: None, taken: 0, bytes_read, method: self.method, reason })
    }
}

/// What was found in a file that has changed meanwhile means nothing, be it a sample or a fault.
fn unless_changed(population: &Population, result: Result<Stats>) -> Result<Stats> {
    let is_finding = |error: &Error| {
        !matches!(error.kind(), ErrorKind::Io | ErrorKind::Write | ErrorKind::Stopped)
    };
    if result.as_ref().err().is_none_or(is_finding) {
        population.check_unchanged()?;
    }
    result
}

/// Fisher and Yates's.
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    // Not the numbers that have chosen the records.
    let mut rng = Rng::new(seed ^ 0x5eed_5eed_5eed_5eed);
    for i in (1..items.len()).rev() {
        items.swap(i, rng.below(i as u64 + 1) as usize);
    }
}
