//! The measuring core: it knows what an experiment is, not which exist.
//!
//! Data first, then what acts, then what only thinks.

pub mod experiment;
pub mod metric;
pub mod param;
pub mod run;
pub mod trace;

pub mod cache;
pub mod clock;
pub mod count;
pub mod counters;
pub mod environment;
pub mod launch;
pub mod measure;
pub mod protocol;
pub mod stop;
pub mod template;
pub mod worker;

pub mod analyze;
pub mod stats;
pub mod threshold;
