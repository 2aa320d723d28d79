//! One of the two sides.

use lab::run::Run;

/// A side as the user requested it, with its runs, of which there is at least one.
pub(crate) struct Side {
    /// `42`, `label btrfs`, `machine EPYC`.
    pub(crate) name: String,
    pub(crate) runs: Vec<Run>,
}
