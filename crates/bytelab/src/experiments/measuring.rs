//! The experiments that measure methods of their own: all except the one that selects from the
//! others.

use lab::experiment::Experiment;

use super::{copying, decoding, files, memory, reading, sampling, threads};

/// The experiments that measure methods of their own: all except the one that selects from the
/// others.
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
