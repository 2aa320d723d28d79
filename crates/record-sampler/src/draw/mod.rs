//! Which records: pure arithmetic on ranks (0 is the first record), which knows no file.

mod bernoulli;
mod exactly;
mod partition;
mod replacement;
mod reservoir;
mod rest;
mod strata;
mod weighted;

#[cfg(test)]
mod fairness;

pub use bernoulli::Bernoulli;
pub use exactly::Exactly;
pub(crate) use partition::{Partition, shares};
pub(crate) use replacement::Slots;
pub use replacement::WithReplacement;
pub use reservoir::Reservoir;
pub(crate) use rest::Rest;
pub(crate) use strata::{Quota, Sizes, Strata};
pub use weighted::WeightedReservoir;
