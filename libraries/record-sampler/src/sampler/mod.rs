//! The front of the crate: the request, with all its choices, and its validation. Its execution is
//! in the submodules.

mod distributed;
mod drawing;

use std::sync::Arc;

use crate::fetch::FetchMethod;
use crate::input::{Column, Population};
use crate::sink::Probabilities;
use crate::work::ProgressGate;
use crate::{Error, ErrorKind, Result};

/// The number of records to choose, and the method.
///
/// The same sampler on the same inputs gives the same records, on every machine and for ever. The
/// sample of a stream differs from that of a file, because the length of a stream is not known. A
/// sampler can be cloned and sent to other threads.
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
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub struct Sampler {
    pub(crate) amount: Amount,
    pub(crate) seed: u64,
    pub(crate) is_shuffled: bool,
    pub(crate) is_inverted: bool,
    pub(crate) with_replacement: bool,
    pub(crate) is_systematic: bool,
    pub(crate) is_mergeable: bool,
    pub(crate) adds_probability: bool,
    /// Whether the amount is that of all strata together.
    pub(crate) is_proportional: bool,
    /// The share of all records, in place of a number.
    pub(crate) share: Option<f64>,
    pub(crate) weight: Option<Weight>,
    pub(crate) key: Option<Column>,
    /// The key of whole groups.
    pub(crate) groups: Option<Column>,
    pub(crate) method: FetchMethod,
    pub(crate) may_map: bool,
    pub(crate) keeps_index: bool,
    pub(crate) memory: u64,
    pub(crate) watch: ProgressGate,
}

/// The memory for records in random order.
const MEMORY: u64 = 256 << 20;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Amount {
    Exactly(u64),
    AtMost(u64),
    /// The probability of each record, or the share of each stratum in whole records.
    Share(f64),
}

impl Amount {
    /// It is an error if there are fewer records than this.
    pub(crate) fn least(self) -> u64 {
        match self {
            Amount::Exactly(n) => n,
            Amount::AtMost(_) | Amount::Share(_) => 0,
        }
    }
}

/// Computes the weight of a record.
pub(crate) type WeightOf = Arc<dyn Fn(&[u8]) -> f64 + Send + Sync>;

#[derive(Clone)]
pub(crate) enum Weight {
    Column(Column),
    Function(WeightOf),
}

/// A sample as a list: see [`Sampler::draw`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DrawnRecords {
    /// The header of the first input that has one, with its line end; empty if there is none.
    pub header: Vec<u8>,
    /// The chosen records.
    pub records: Vec<Vec<u8>>,
    /// The counts and the method.
    pub stats: Stats,
}

/// The counts and the method of a drawn sample.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// The records of the population, if they were counted.
    pub seen: Option<u64>,
    /// The number of records written.
    pub taken: u64,
    /// Bytes that were read, or accessed through a mapping, in all passes.
    pub bytes_read: u64,
    /// The method that was used.
    pub method: FetchMethod,
    /// The reason for the method.
    pub reason: String,
    /// A note about the inputs for the user: files that have grown since they were opened.
    pub note: Option<String>,
}

impl Sampler {
    /// The probability of each of `total` records, if all have the same.
    pub(crate) fn inclusion(&self, total: u64) -> Probabilities {
        let p = match self.amount_of(total) {
            Amount::Exactly(n) | Amount::AtMost(n) => n.min(total) as f64 / total.max(1) as f64,
            Amount::Share(p) => p,
        };
        Probabilities::Same(if self.is_inverted { 1.0 - p } else { p })
    }

    /// The amount for `total` records.
    pub(crate) fn amount_of(&self, total: u64) -> Amount {
        match self.share {
            Some(share) => Amount::Exactly((share * total as f64).round() as u64),
            None => self.amount,
        }
    }

    fn new(amount: Amount) -> Sampler {
        Sampler {
            amount,
            seed: 0,
            is_shuffled: false,
            is_inverted: false,
            with_replacement: false,
            is_systematic: false,
            is_mergeable: false,
            adds_probability: false,
            is_proportional: false,
            share: None,
            weight: None,
            key: None,
            groups: None,
            method: FetchMethod::Auto,
            may_map: false,
            keeps_index: false,
            memory: MEMORY,
            watch: ProgressGate::default(),
        }
    }

    /// Exactly `n` records, each set of them with the same probability. It is an error if there are
    /// fewer.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Population, Sampler};
    /// let mut two = Population::stream(&b"a\nb\n"[..], Format::Lines);
    /// let error = Sampler::exactly(3).records(&mut two).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::TooFew);
    /// assert_eq!(error.to_string(), "3 records were requested, but there are 2");
    /// ```
    pub fn exactly(n: u64) -> Sampler {
        Sampler::new(Amount::Exactly(n))
    }

    /// Exactly this share of all records, rounded to a whole number: 0.1 is every tenth, but at
    /// random. The records must be counted, which is impossible for a stream.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::open(["Cargo.toml"], Format::Fixed(1))?;
    /// let all = std::fs::metadata("Cargo.toml")?.len();
    /// let records = Sampler::share(0.1).records(&mut population)?;
    /// assert_eq!(records.len() as u64, (all as f64 * 0.1).round() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn share(share: f64) -> Sampler {
        Sampler { share: Some(share), ..Sampler::exactly(0) }
    }

    /// Like `exactly`, but all records if there are fewer.
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

    // Options for choosing and fetching records.

    /// Sets the seed, which is 0 by default.
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

    /// Returns the records in random order instead of that of the population.
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

    /// Sets the memory for records in random order, in bytes, instead of 256 MiB. The records
    /// beyond it are kept in a temporary file without a name, in the directory that `TMPDIR` names.
    /// The order does not depend on it.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let draw = |memory| {
    ///     let mut population = Population::open(["Cargo.toml"], Format::Lines).unwrap();
    ///     let sampler = Sampler::probability(1.0).shuffled().with_memory(memory);
    ///     sampler.records(&mut population).unwrap()
    /// };
    /// assert_eq!(draw(100), draw(1 << 20));
    /// ```
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Sampler {
        self.memory = bytes;
        self
    }

    /// Draws `n` records at equal distances, as nearly as whole numbers allow, from a random start.
    /// Each record has the same probability, but neighbours are never drawn together. The records
    /// must be counted, which is impossible for a stream.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// # let path = std::env::temp_dir().join(format!("systematic-{}", std::process::id()));
    /// std::fs::write(&path, b"0123456789").unwrap();
    /// let mut population = Population::open([&path], Format::Fixed(1))?;
    /// let drawn = Sampler::exactly(5).seed(2).systematic().records(&mut population)?.concat();
    /// assert!(drawn == b"02468" || drawn == b"13579");
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn systematic(mut self) -> Sampler {
        self.is_systematic = true;
        self
    }

    /// Returns the records that would not have been chosen.
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

    /// Draws each of the `n` records from all of them.
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

    /// Chooses records as if one after the other, with probabilities proportional to the numbers in
    /// this column.
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

    /// Like `weighted_by`, with weights that a function computes.
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
    pub fn weighted_with(
        mut self,
        weight: impl Fn(&[u8]) -> f64 + Send + Sync + 'static,
    ) -> Sampler {
        self.weight = Some(Weight::Function(Arc::new(weight)));
        self
    }

    /// Draws this many records of each stratum: of the records with the same text in this column.
    /// Of JSON Lines, with the same value: 1 and 1.0 are one, 1 and `"1"` are two.
    /// With `probability`, that share of each stratum in whole records: rounded down or up at
    /// random, so that each record has exactly this probability, also in a stratum of one record.
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

    /// Like [`per`](Self::per), with the number of records of all strata together: each stratum has
    /// its share of them in whole records, rounded down or up at random, so that each of N records
    /// has the probability n/N. Which strata get one more depends on nothing but the seed and the
    /// sizes of the strata. Of a stream, up to `n` records of each stratum are held. With
    /// [`split`](Self::split), each stratum is divided by the shares, and its remainder at random.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// # let path = std::env::temp_dir().join(format!("stratified-{}", std::process::id()));
    /// std::fs::write(&path, "a,1\na,2\na,3\na,4\nb,5\nb,6\n").unwrap();
    /// let mut population = Population::open([&path], Format::Csv { delimiter: b',' })?;
    /// let sampler = Sampler::exactly(3).stratified_by(record_sampler::Column::Number(1));
    /// let records = sampler.records(&mut population)?;
    /// assert_eq!(records.iter().filter(|record| record.starts_with(b"a")).count(), 2);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn stratified_by(mut self, column: impl Into<Column>) -> Sampler {
        self.is_proportional = true;
        self.per(column)
    }

    /// Draws whole groups, each with all its records: of the records with the same text in this
    /// column, or of JSON Lines with the same value. The number or probability is that of groups.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let text = "{\"user\": 1}\n{\"user\": 2}\n{\"user\": 1}\n";
    /// let mut population = Population::stream(text.as_bytes(), Format::JsonLines);
    /// let records = Sampler::probability(0.5).groups("user").records(&mut population)?;
    /// let of_the_first = records.iter().filter(|record| *record == b"{\"user\": 1}\n").count();
    /// assert!(of_the_first == 0 || of_the_first == 2);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn groups(mut self, column: impl Into<Column>) -> Sampler {
        self.groups = Some(column.into());
        self
    }

    /// Adds to each record the probability with which it is in the sample: to CSV as a last column,
    /// to JSON Lines as a last member, to lines behind a tab, named `inclusion_probability`. The
    /// sum of a value divided by it is an estimate of its total over all records without bias
    /// (Horvitz and Thompson, 1952). With a number of records [`per`](Self::per) stratum it is that
    /// of the stratum; where strata have shares it is that of all records: n/N or the probability.
    /// Of groups it is that of the group. Records drawn by weight have probabilities without a
    /// closed form, and those drawn with replacement are not in a sample once: both are errors.
    ///
    /// For the variance of an estimate from shares of strata: let a be the whole part of the exact
    /// share of a stratum of M records, and f the rest. Two of its records are drawn together with
    /// the probability a(a − 1 + 2f) ÷ M(M − 1). For records of two strata it has no closed form,
    /// and may be 0: variances are estimated from samples with several seeds.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::stream(&b"{\"n\":1}\n{}\n"[..], Format::JsonLines);
    /// let records = Sampler::exactly(2).with_probability().records(&mut population)?;
    /// assert_eq!(records[0], b"{\"n\":1,\"inclusion_probability\":1}\n");
    /// assert_eq!(records[1], b"{\"inclusion_probability\":1}\n");
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_probability(mut self) -> Sampler {
        self.adds_probability = true;
        self
    }

    /// Fetches the records by this method instead of the one with the least expected cost.
    ///
    /// ```
    /// use record_sampler::{Format, FetchMethod, Population, Sampler};
    /// let mut population = Population::open(["Cargo.toml"], Format::Lines)?;
    /// let sampler = Sampler::exactly(2).by(FetchMethod::Probe { min_len: 1 });
    /// assert_eq!(sampler.records(&mut population)?.len(), 2);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn by(mut self, method: FetchMethod) -> Sampler {
        self.method = method;
        self
    }

    /// Allows [`FetchMethod::Auto`] to map a file: faster for many records of a fixed size in a
    /// cached file, and for the index of a large file of lines. If another process truncates the
    /// file or the index meanwhile, this one gets SIGBUS, which ends it unless it handles the
    /// signal.
    ///
    /// ```
    /// use record_sampler::{Format, Population, Sampler};
    /// let mut population = Population::open(["Cargo.toml"], Format::Fixed(1))?;
    /// let sampler = Sampler::exactly(3).with_mapping();
    /// assert_eq!(sampler.records(&mut population)?.len(), 3);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn with_mapping(mut self) -> Sampler {
        self.may_map = true;
        self
    }

    /// Uses the index of a file of lines, `FILE.nlx`, and creates it if there is none that matches.
    /// A file of this name that is no index is not replaced.
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

    /// Calls this now and then with the number of further bytes processed; `false` ends the work
    /// with an error of the kind `Stopped`. Several threads may call it.
    ///
    /// ```
    /// use record_sampler::{ErrorKind, Format, Population, Sampler};
    /// let mut population = Population::open(["Cargo.toml"], Format::Lines)?;
    /// let error = Sampler::exactly(1).watched(|_| false).records(&mut population).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Stopped);
    /// # Ok::<(), record_sampler::Error>(())
    /// ```
    #[must_use]
    pub fn watched(mut self, on_progress: impl Fn(u64) -> bool + Send + Sync + 'static) -> Sampler {
        self.watch = ProgressGate(Some(Arc::new(on_progress)));
        self
    }

    // The validation of a request.

    fn check(&self, population: &Population) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        self.check_amount()?;
        self.check_choices()?;
        if self.groups.is_some() && (self.is_shuffled || self.is_mergeable) {
            return bad("whole groups are written in the order of the files, in one process");
        }
        if self.is_mergeable {
            self.check_mergeable()?;
        }
        self.check_mapping(population)?;
        self.check_probability()?;
        self.check_share(population)?;
        if self.is_systematic && (self.method == FetchMethod::Stream || !population.can_be_reread())
        {
            let text = "a systematic sample needs the number of records: give a file";
            return Err(Error::new(ErrorKind::NeedsFile, text));
        }
        population.header.check(population.format)?;
        if self.keeps_index && population.format.lines_each().is_none() {
            return bad("only files of lines have an index");
        }
        if self.keeps_index && !population.may_have_indexes() {
            return bad("only files that are not compressed, and named by a path, have an index");
        }
        #[cfg(all(feature = "uring", target_os = "linux"))]
        if self.method == FetchMethod::Uring
            && (population.format.is_text() || population.files().is_none())
        {
            return bad("a ring of reads is for records of a fixed size in files");
        }
        if let FetchMethod::Probe { min_len } = self.method {
            let is_lines = population.format.lines_each() == Some(1);
            let is_lines = is_lines && population.files().is_some();
            let is_plain = self.choices().iter().all(|is_asked| !is_asked);
            let is_plain = is_plain && population.header.is_none();
            if !(is_lines && is_plain && matches!(self.amount, Amount::Exactly(_)) && min_len > 0) {
                return bad(
                    "probing gives exactly n lines of files without header, and nothing else",
                );
            }
        }
        Ok(())
    }

    /// A share in whole records is known when all are counted.
    fn check_share(&self, population: &Population) -> Result<()> {
        let Some(share) = self.share else { return Ok(()) };
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        if !(0.0..=1.0).contains(&share) {
            return bad("a share must be from 0 to 1");
        }
        let is_by_column = self.weight.is_some() || self.key.is_some() || self.groups.is_some();
        if is_by_column || self.is_mergeable {
            return bad("a share of all records is drawn plainly: of strata give a probability");
        }
        if self.method == FetchMethod::Stream || !population.can_be_reread() {
            let text = "a share of all records needs their number: give a file";
            return Err(Error::new(ErrorKind::NeedsFile, text));
        }
        Ok(())
    }

    fn check_probability(&self) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        if !self.adds_probability {
            return Ok(());
        }
        if self.weight.is_some() || self.with_replacement {
            return bad("records drawn by weight or with replacement have no probability that is \
                        known");
        }
        if matches!(self.method, FetchMethod::Probe { .. }) {
            return bad("probing does not count records, and so knows no probability");
        }
        if self.is_shuffled && self.key.is_some() {
            return bad("the probabilities of strata are added in the order of the files");
        }
        Ok(())
    }

    /// Only records that can be fetched at any offset of a file can be fetched from a mapping.
    fn check_mapping(&self, population: &Population) -> Result<()> {
        let Sampler { weight, key, groups, .. } = self;
        let is_scanned = weight.is_some() || key.is_some() || groups.is_some();
        let Population { format, .. } = population;
        let is_scanned = is_scanned || format.is_text() && format.lines_each().is_none();
        if self.method == FetchMethod::Mmap && (is_scanned || population.files().is_none()) {
            let text = "mapping is for lines and records of a fixed size in files that are not \
                        compressed, without weights and keys";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        Ok(())
    }

    fn choices(&self) -> [bool; 6] {
        let Sampler { weight, key, groups, with_replacement, is_inverted, .. } = self;
        let is_by_column = [weight.is_some(), key.is_some(), groups.is_some()];
        let [by_weight, by_key, by_group] = is_by_column;
        [by_weight, by_key, by_group, *with_replacement, *is_inverted, self.is_systematic]
    }

    pub(crate) fn check_choices(&self) -> Result<()> {
        if self.choices().iter().filter(|is_asked| **is_asked).count() > 1 {
            let text = "weights, strata, groups, replacement, inversion and systematic samples \
                        do not go together";
            return Err(Error::new(ErrorKind::BadRequest, text));
        }
        Ok(())
    }

    /// Whether the records can be divided into these shares for this many outputs.
    pub(crate) fn check_split(&self, shares: &[f64], outputs: usize) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        if shares.len() != outputs || shares.is_empty() {
            return bad("a split needs a share for each output");
        }
        let is_sound = |share: &f64| share.is_finite() && *share >= 0.0;
        if !shares.iter().all(is_sound) || shares.iter().sum::<f64>() <= 0.0 {
            return bad("the shares of a split must be 0 or more, and not all 0");
        }
        let [by_weight, by_key, by_group, with_replacement, is_inverted, is_systematic] =
            self.choices();
        let is_asked = by_weight || by_group || with_replacement || is_inverted || is_systematic;
        if is_asked || self.is_mergeable || self.adds_probability || by_key && self.is_shuffled {
            return bad(
                "a split takes all records: it goes with strata or a random order, and with no \
                 other choice",
            );
        }
        Ok(())
    }

    pub(crate) fn check_amount(&self) -> Result<()> {
        let bad = |text: &str| Err(Error::new(ErrorKind::BadRequest, text));
        if let Amount::Share(p) = self.amount {
            if !(0.0..=1.0).contains(&p) {
                return bad("a probability must be from 0 to 1");
            }
            if self.is_systematic {
                return bad("a systematic sample has a number of records, not a probability");
            }
            if self.weight.is_some() || self.with_replacement {
                return bad("a probability goes neither with weights nor with replacement");
            }
        }
        Ok(())
    }
}
