//! The experiments that come with bytelab: one folder each, one line here.

mod files;
mod reading;
mod sampling;
pub(crate) mod self_test;
mod threads;
mod window;

use lab::experiment::Experiment;

/// All that `bytelab run` knows, in the order in which they are listed.
pub(crate) fn all() -> Vec<Experiment> {
    vec![reading::experiment(), files::experiment(), sampling::experiment(), threads::experiment()]
}
