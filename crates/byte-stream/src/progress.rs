//! The progress of a stream or a copy, and the callback that receives it.

pub(crate) type OnProgress = Box<dyn FnMut(Progress) + Send>;

/// The progress of a stream or a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes so far.
    pub done_bytes: u64,
    /// The total, if it is known.
    pub total_bytes: Option<u64>,
}
