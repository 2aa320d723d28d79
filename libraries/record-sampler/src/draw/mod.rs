//! Draws ranks: pure arithmetic on the numbers of records, the first of which is 0. It knows no
//! files.

mod ranks;
mod reservoir;
mod strata;

use crate::{Error, ErrorKind, Result};
pub use ranks::{Bernoulli, Exactly, Systematic, WithReplacement};
pub(crate) use ranks::{ReplacementSlots, UndrawnRanks};
pub(crate) use reservoir::check_weight;
pub use reservoir::{Reservoir, WeightedReservoir};
pub(crate) use strata::{
    PartShares, Partition, Quota, RecordShare, Strata, StratumSizes, fair_shares, key_seed, shares,
};

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

#[cfg(test)]
pub(crate) mod tests;
