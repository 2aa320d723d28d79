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

use crate::{Error, ErrorKind, Result};

/// Room for `n` items, a number that a user has given: more than memory holds is an error.
pub(crate) fn reserve<T>(items: &mut Vec<T>, n: u64) -> Result<()> {
    let reserved = usize::try_from(n).ok().and_then(|n| items.try_reserve_exact(n).ok());
    reserved.ok_or_else(|| {
        let text = format!(
            "memory cannot hold {n} records at once: draw fewer, or from a file and in its order"
        );
        Error::new(ErrorKind::BadRequest, text)
    })
}
