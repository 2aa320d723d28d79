//! The lab from outside: with real processes, shell scripts that speak the line protocol well and
//! badly; and its statistics against known values and simulated noise.

#![expect(clippy::float_cmp, reason = "the scripts answer with exact numbers")]
#![expect(clippy::unwrap_used, reason = "a test may end at what it does not expect")]

mod allocations;
mod bad_children;
mod children;
mod counting;
mod fresh;
mod hooks;
mod rounds;
mod script;
mod statistics;
