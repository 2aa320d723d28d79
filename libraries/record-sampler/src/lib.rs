#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

// `draw` decides which ranks, by pure arithmetic. `format`, `input`, `index` and `fetch` know where
// records end, what files are, where lines are, and how records are reached. `random_access` is for
// files that are counted, `streaming` for inputs that pass by once; `sampler` is the front, and
// `sink` is where records go. `shuffle` makes a random order in bounded memory; other processes
// read a `part`; a `sketch` is a sample that can be merged.
mod draw;
mod fetch;
mod format;
mod index;
mod input;
#[cfg(feature = "parquet")]
mod parquet;
mod part;
mod random;
mod random_access;
mod sampler;
mod shuffle;
mod simd;
mod sink;
mod sketch;
mod streaming;
mod work;

mod error;

pub use draw::{Bernoulli, Exactly, Reservoir, Systematic, WeightedReservoir, WithReplacement};
pub use error::{Error, ErrorKind};
pub use fetch::FetchMethod;
pub use format::{Format, FoundBy, HeaderRule, Layout};
pub use input::{Column, LayoutChoice, Population, ReadAt};
#[cfg(feature = "parquet")]
pub use parquet::ParquetPart;
pub use part::Part;
pub use random::Rng;
pub use sampler::{DrawnRecords, Sampler, Stats};
pub use sketch::Sketch;

#[cfg(fuzzing)]
#[doc(hidden)]
pub use index::forge_index;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
