//! Worker threads, which the system may refuse, and progress reports, on which the caller may stop
//! the work.

use std::io::{self, Read};
use std::sync::Arc;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::{Error, Result};

/// The number of processors that this process may use, up to this limit. The system is not asked
/// for one: the answer takes some reads of files.
pub(crate) fn available(most: usize) -> usize {
    if most <= 1 {
        return most;
    }
    std::thread::available_parallelism().map_or(1, usize::from).min(most)
}

/// The thread, or `None` if the system allows no more of them.
pub(crate) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    builder().spawn_scoped(scope, work).ok()
}

/// The result of the thread, whose panic becomes that of this one.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(not(test))]
fn builder() -> Builder {
    Builder::new()
}

#[cfg(test)]
std::thread_local! {
    /// Threads get a stack that no address space has room for, and so fail to start.
    static IS_REFUSED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
fn builder() -> Builder {
    let stack_size = if IS_REFUSED.get() { 1 << 47 } else { 1 << 20 };
    Builder::new().stack_size(stack_size)
}

/// What `work` returns if no thread can be started.
#[cfg(test)]
pub(crate) fn without_threads<T>(work: impl FnOnce() -> T) -> T {
    IS_REFUSED.set(true);
    let done = work();
    IS_REFUSED.set(false);
    done
}

/// The caller's progress callback.
pub(crate) type OnProgress = Arc<dyn Fn(u64) -> bool + Send + Sync>;

/// Reports the bytes processed since the last call; if the callback returns `false`, the work
/// stops.
#[derive(Clone, Default)]
pub(crate) struct ProgressGate(pub(crate) Option<OnProgress>);

impl ProgressGate {
    pub(crate) fn advance(&self, bytes: u64) -> Result<()> {
        match &self.0 {
            Some(on_progress) if !on_progress(bytes) => Err(Error::stopped()),
            _ => Ok(()),
        }
    }
}

/// A reader whose progress is reported.
pub(crate) struct ProgressReader<R> {
    pub(crate) reader: R,
    pub(crate) watch: ProgressGate,
}

impl<R: Read> Read for ProgressReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.reader.read(buffer);
        // A signal interrupts the read, and its handler may stop the work.
        let bytes = *result.as_ref().unwrap_or(&0) as u64;
        self.watch.advance(bytes).map_err(io::Error::other)?;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Population, Sampler};

    #[test]
    fn a_sample_needs_no_thread_but_the_first() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = "x".repeat(49) + "\n";
        std::fs::write(file.path(), line.repeat(500_000)).unwrap();
        let draw = || {
            let mut population = Population::open([file.path()], Format::Lines).unwrap();
            let mut out = Vec::new();
            Sampler::exactly(300_000).write(&mut population, &mut out).unwrap();
            out
        };
        let expected = draw();
        let is_refused = || std::thread::scope(|scope| start(scope, || ()).is_none());
        assert!(without_threads(is_refused) && without_threads(draw) == expected);
    }
}
