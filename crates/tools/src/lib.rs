//! The tools: `cat`, `fleece` and `sample`, thin fronts of the libraries. They are subcommands of
//! `bytelab`, and a small program of their own, which can be linked statically.

pub mod atomic_file;
pub mod cat;
mod clean;
pub mod fleece;
pub mod sample;
mod size_limit;
mod standard_streams;

pub use self::size_limit::fail_at_the_size_limit;
