//! Tests of the statistics from outside: known values, exact identities, and simulated noise.

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
