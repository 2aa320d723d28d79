//! Progress out, and the wish to stop in.

use std::io::{self, Read};
use std::sync::Arc;

use crate::{Error, Result};

/// What the caller gave to be told how much was read.
pub(crate) type OnProgress = Arc<dyn Fn(u64) -> bool + Send + Sync>;

/// Tells how many bytes have been gone through since it told last; the answer `false` stops the work.
#[derive(Clone, Default)]
pub(crate) struct Watch(pub(crate) Option<OnProgress>);

impl Watch {
    pub(crate) fn advance(&self, bytes: u64) -> Result<()> {
        match &self.0 {
            Some(on_progress) if !on_progress(bytes) => Err(Error::stopped()),
            _ => Ok(()),
        }
    }
}

/// A stream whose bytes are watched.
pub(crate) struct Watched<R> {
    pub(crate) reader: R,
    pub(crate) watch: Watch,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.reader.read(buffer);
        // A signal that stops the work interrupts the read.
        let bytes = *result.as_ref().unwrap_or(&0) as u64;
        self.watch.advance(bytes).map_err(io::Error::other)?;
        result
    }
}
