//! What a callback learns of a stream or a copy that is under way.

pub(crate) type OnProgress = Box<dyn FnMut(Progress) + Send>;

/// How far a stream or a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes so far.
    pub done_bytes: u64,
    /// Of so many, if that is known.
    pub total_bytes: Option<u64>,
}
