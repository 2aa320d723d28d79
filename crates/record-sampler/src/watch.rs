//! Reports progress to the caller, who can stop the work.

use std::io::{self, Read};
use std::sync::Arc;

use crate::{Error, Result};

/// The caller's progress callback.
pub(crate) type OnProgress = Arc<dyn Fn(u64) -> bool + Send + Sync>;

/// Reports the bytes processed since the last call; if the callback returns `false`, the work
/// stops.
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

/// A reader whose progress is reported.
pub(crate) struct Watched<R> {
    pub(crate) reader: R,
    pub(crate) watch: Watch,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.reader.read(buffer);
        // A signal interrupts the read, and its handler may stop the work.
        let bytes = *result.as_ref().unwrap_or(&0) as u64;
        self.watch.advance(bytes).map_err(io::Error::other)?;
        result
    }
}
