//! Tests of the statistics from outside: known values, exact identities, and simulated noise.

#![expect(clippy::float_cmp, reason = "known values are exact")]
#![expect(clippy::unwrap_used, reason = "a test may end at what it does not expect")]

mod between;
mod coverage;
mod gate;
mod golden;
mod identities;
mod leaving;
mod looks;
mod noted;
mod notes;
mod percentiles;
mod scheme;
mod simulate;
mod spending;
