//! Proof of the statistics from outside: known values, exact identities, and simulated noise.

mod coverage;
mod golden;
mod identities;
mod simulate;
