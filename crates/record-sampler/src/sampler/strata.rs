//! How many records of each stratum are drawn.

use super::{Amount, Sampler};
use crate::Result;
use crate::draw::{Quota, Sizes};
use crate::random_access::too_few;

impl Sampler {
    /// How many records to draw of each stratum. `sizes` counts them, if that is needed.
    pub(crate) fn quota(&self, sizes: impl FnOnce() -> Result<Sizes>) -> Result<Quota> {
        match self.amount {
            Amount::Exactly(n) | Amount::AtMost(n) if !self.is_proportional => Ok(Quota::Each(n)),
            Amount::Share(p) => {
                let sizes = sizes()?;
                let n = (p * sizes.total() as f64).round() as u64;
                Ok(sizes.quota(n))
            }
            Amount::Exactly(n) | Amount::AtMost(n) => {
                let sizes = sizes()?;
                let total = sizes.total();
                if n > total && self.amount.least() > 0 {
                    return Err(too_few(n, total));
                }
                Ok(sizes.quota(n.min(total)))
            }
        }
    }

    /// It is an error if a stratum has fewer records than this.
    pub(crate) fn least_of_each(&self) -> u64 {
        if self.is_proportional { 0 } else { self.amount.least() }
    }
}
