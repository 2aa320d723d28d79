//! The measuring core. It defines what an experiment is, and does not depend on which experiments
//! exist.

// The data layer.
pub mod experiment;
pub mod facts;
pub mod metric;
pub mod numbers;
pub mod param;
pub mod path_text;
pub mod pattern;
pub mod protocol;
pub mod random;
pub mod run;
pub mod template;
mod warning;

// The os layer: what is read from the machine.
pub mod cache;
pub mod clock;
pub mod counters;
pub mod environment;
pub mod proc_fs;
pub mod stop;

// The act layer: processes and measurements.
pub mod count;
pub mod launch;
pub mod measure;
pub mod phases;
pub mod timeline;
pub mod worker;

// The think layer: pure computation.
pub mod analyze;
pub mod stats;
