//! Fair random records from huge files.

mod draw;
mod error;
mod random;

pub use draw::{Bernoulli, Exactly, Reservoir, WeightedReservoir, WithReplacement};
pub use error::{Error, ErrorKind};
pub use random::Rng;

/// The result of this crate's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;
