//! The wish to stop: set by a signal, looked at wherever something takes long.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};

/// Set by SIGINT, SIGTERM and SIGHUP: the run keeps what it has and ends its children.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// From now on these signals set the flag instead of ending the process.
    pub fn on_signals() -> Result<Stop> {
        let stop = Stop::default();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.0), signal as usize)
                .with_context(|| format!("catching signal {signal}"))?;
        }
        Ok(stop)
    }

    /// The signal that came, if one did.
    pub fn signal(&self) -> Option<i32> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal as i32),
        }
    }

    /// An error once a signal came: for work that has nothing to keep.
    pub fn check(&self) -> Result<()> {
        ensure!(self.signal().is_none(), "stopped by a signal");
        Ok(())
    }

    /// As if a signal had come; for tests.
    pub fn raise(&self, signal: i32) {
        self.0.store(signal as usize, Ordering::Relaxed);
    }
}
