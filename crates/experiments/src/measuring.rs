//! The experiments that measure methods of their own: all except the one that selects from the
//! others.

use measure::experiment::Experiment;

use super::{awaiting, copying, decoding, files, loading, memory, reading, sampling, threads};

/// Describing an experiment takes longer than many samples, so that a worker describes only its
/// own.
pub(crate) type Constructor = fn() -> Experiment;

/// Their names and constructors, in the order in which they are listed.
pub(crate) const MEASURING: [(&str, Constructor); 9] = [
    ("memory", memory::experiment),
    ("threads", threads::experiment),
    ("files", files::experiment),
    ("reading", reading::experiment),
    ("loading", loading::experiment),
    ("copying", copying::experiment),
    ("sampling", sampling::experiment),
    ("decoding", decoding::experiment),
    ("awaiting", awaiting::experiment),
];
