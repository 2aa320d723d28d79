//! What is known of a run, as plain values: its params, metrics, samples and warnings, the facts of
//! its environment, and the rows of `bytelab numbers`. Nothing here reads a clock, a file or the
//! environment, or prints.

pub mod descriptor;
pub mod facts;
pub mod metric;
pub mod numbers;
pub mod param;
pub mod path_text;
pub mod pattern;
pub mod profile;
pub mod random;
pub mod run;
pub mod template;
pub mod warning;
