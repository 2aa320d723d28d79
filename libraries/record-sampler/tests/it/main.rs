//! Samples of real files: every source, every way to reach records, and everything that can go
//! wrong.

#![expect(clippy::unwrap_used, reason = "a test may end at what it does not expect")]

mod choices;
#[cfg(feature = "decode")]
mod compressed;
mod csv;
mod files;
mod groups;
mod growing;
mod headers;
mod huge;
mod index;
#[cfg(feature = "decode")]
mod kinds;
#[cfg(feature = "decode")]
mod layouts;
mod limits;
mod many;
mod many_files;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_broken;
#[cfg(feature = "parquet")]
mod parquet_choices;
#[cfg(feature = "parquet")]
mod parquet_codecs;
#[cfg(feature = "parquet")]
mod parquet_parts;
#[cfg(feature = "parquet")]
mod parquet_rows;
#[cfg(all(feature = "json", feature = "parquet"))]
mod parquet_suite;
mod probability;
mod ranks;
mod records;
mod refusals;
mod remote;
mod shuffled;
mod sketch;
mod strata;
mod streams;
#[cfg(feature = "json")]
mod suites;
#[cfg(all(feature = "uring", target_os = "linux"))]
mod uring;
