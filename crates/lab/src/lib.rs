//! The measuring core: it knows what an experiment is, not which exist.

// Data.
pub mod experiment;
pub mod metric;
pub mod param;
pub mod protocol;
pub mod random;
pub mod run;
pub mod template;
mod warning;

// What is read of the machine.
pub mod cache;
pub mod clock;
pub mod counters;
pub mod environment;
pub mod stop;

// What acts.
pub mod count;
pub mod launch;
pub mod measure;
pub mod timeline;
pub mod worker;

// What only thinks.
pub mod analyze;
pub mod stats;
