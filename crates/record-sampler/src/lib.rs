#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod draw;
mod fetch;
mod format;
mod index;
mod input;
mod one_pass;
#[cfg(feature = "parquet")]
mod parquet;
mod random;
mod ranked;
mod sampler;
mod sink;
mod watch;
mod wide;

mod error;

pub use draw::{Bernoulli, Exactly, Reservoir, WeightedReservoir, WithReplacement};
pub use error::{Error, ErrorKind};
pub use fetch::Method;
pub use format::Format;
pub use input::{Column, Population};
pub use random::Rng;
pub use sampler::{Sampler, Stats};

#[cfg(fuzzing)]
#[doc(hidden)]
pub use index::forge_index;

/// The result of this crate's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;
