//! The experiments that measure for themselves.

use lab::experiment::Experiment;

use super::{copying, decoding, files, memory, reading, sampling, threads};

/// Those that measure for themselves: all but the one that picks from the others.
pub(super) fn measuring() -> Vec<Experiment> {
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
