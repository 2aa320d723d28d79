//! The experiments that come with bytelab: one folder each, one line here.

mod copying;
mod reading;
pub(crate) mod self_test;

use lab::experiment::Experiment;

/// All that `bytelab run` knows, in the order in which they are listed.
pub(crate) fn all() -> Vec<Experiment> {
    vec![reading::experiment(), copying::experiment()]
}
