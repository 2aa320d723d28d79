//! The front of the crate: the request. Its validation and execution are in the submodules.

mod check;
mod choices;
mod distributed;
mod drawing;
mod strata;

use std::sync::Arc;

use crate::fetch::Method;
use crate::input::Column;
use crate::sink::Probabilities;
use crate::watch::Watch;

/// How many records to choose, and how.
///
/// The same sampler on the same inputs gives the same records, on every machine and for ever. What
/// is drawn from a stream is another sample than what is drawn from a file, because its length is
/// not known. A sampler can be cloned and sent to other threads.
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
    pub(crate) method: Method,
    pub(crate) may_map: bool,
    pub(crate) keeps_index: bool,
    pub(crate) memory: u64,
    pub(crate) watch: Watch,
}

/// The memory for records in random order.
const MEMORY: u64 = 256 << 20;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Amount {
    Exactly(u64),
    AtMost(u64),
    /// Of each record, or of each stratum in whole records.
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

/// What was done to draw a sample.
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
    pub method: Method,
    /// The reason for the method.
    pub reason: String,
    /// What the user should know about the inputs: files that have grown since they were opened.
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
            method: Method::Auto,
            may_map: false,
            keeps_index: false,
            memory: MEMORY,
            watch: Watch::default(),
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

    /// As `exactly`, but all records if there are fewer.
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
}
