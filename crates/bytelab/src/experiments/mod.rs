//! The experiments that come with bytelab: one folder each, one line here.

pub(crate) mod copying;
mod decoding;
mod files;
mod filter;
mod memory;
mod numbers;
pub(crate) mod own;
mod reading;
mod sampling;
pub(crate) mod self_test;
mod threads;
mod window;

use lab::experiment::Experiment;

pub(crate) use self::reading::http::serve;

/// All that `bytelab run` knows, in the order in which they are listed.
pub(crate) fn all() -> Vec<Experiment> {
    let mut all = vec![numbers::experiment()];
    all.extend(measuring());
    all
}

/// Those that measure for themselves: all but the one that picks from the others.
fn measuring() -> Vec<Experiment> {
    vec![
        memory::experiment(),
        threads::experiment(),
        files::experiment(),
        reading::experiment(),
        copying::experiment(),
        sampling::experiment(),
        decoding::experiment(),
    ]
}
