//! The experiments that measure methods of their own: all except the one that selects from the
//! others.

use super::{Constructor, copying, decoding, files, memory, reading, sampling, threads};

/// Their names and constructors, in the order in which they are listed.
pub(super) const MEASURING: [(&str, Constructor); 7] = [
    ("memory", memory::experiment),
    ("threads", threads::experiment),
    ("files", files::experiment),
    ("reading", reading::experiment),
    ("copying", copying::experiment),
    ("sampling", sampling::experiment),
    ("decoding", decoding::experiment),
];
