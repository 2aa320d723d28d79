//! Tests of the lab from outside: with real processes and with shell scripts that follow or violate
//! the line protocol.

#![expect(clippy::float_cmp, reason = "the scripts answer with exact numbers")]
#![expect(clippy::unwrap_used, reason = "a test may end at what it does not expect")]

mod allocations;
mod at_once;
mod bad_children;
mod children;
mod counting;
mod fresh;
mod hooks;
mod leaving;
mod rounds;
mod script;
