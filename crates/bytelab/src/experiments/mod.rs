//! The experiments that come with bytelab: one folder each, one line here.

mod copying;
mod files;
mod reading;
pub(crate) mod self_test;
mod threads;
mod window;

use lab::experiment::Experiment;

/// All that `bytelab run` knows, in the order in which they are listed.
pub(crate) fn all() -> Vec<Experiment> {
    vec![reading::experiment(), copying::experiment(), files::experiment(), threads::experiment()]
}
