//! Draws ranks: pure arithmetic on the numbers of records, the first of which is 0. It knows no
//! files.

mod bernoulli;
mod exactly;
mod partition;
mod replacement;
mod reservoir;
mod rest;
mod strata;
mod systematic;
mod weighted;

#[cfg(test)]
mod tests;

pub use bernoulli::Bernoulli;
pub use exactly::Exactly;
pub(crate) use partition::{Partition, random_shares, shares};
pub(crate) use replacement::Slots;
pub use replacement::WithReplacement;
pub use reservoir::Reservoir;
pub(crate) use rest::Rest;
pub(crate) use strata::{Quota, Sizes, Strata, key_seed};
pub use systematic::Systematic;
pub use weighted::WeightedReservoir;
pub(crate) use weighted::check_weight;

use crate::{Error, ErrorKind, Result};

/// Reserves memory for `n` items. As `n` comes from the user, it may exceed the memory, which is an
/// error.
pub(crate) fn reserve<T>(items: &mut Vec<T>, n: u64) -> Result<()> {
    let reserved = usize::try_from(n).ok().and_then(|n| items.try_reserve_exact(n).ok());
    reserved.ok_or_else(|| {
        let text = format!(
            "memory cannot hold {n} records at once: draw fewer, or from a file and in its order"
        );
        Error::new(ErrorKind::BadRequest, text)
    })
}
