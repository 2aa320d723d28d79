//! The other crate of the experiment: the same streams as those of the program, behind the boundary
//! of a crate.

use std::io;
use std::task::{Context, Poll};

pub mod stream;

/// A stream that is awaited for each byte.
pub trait ByteStream {
    /// The next byte; none at the end.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Option<u8>>>;
}
