//! The stop request: a flag that a signal sets, and that every long operation polls.
#![expect(unsafe_code, reason = "sigaction fills a struct that the caller gives")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::{io, mem, ptr};

use anyhow::{Context, Result, ensure};

/// The request that signals set.
static ON_SIGNALS: OnceLock<Stop> = OnceLock::new();

/// Set when the process continues after a stop, as by SIGSTOP or Ctrl-Z.
static WENT_ON: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Whether this process was stopped and continued since the last call. Times that it measured
/// include the stop.
pub(crate) fn was_stopped_meanwhile() -> bool {
    WENT_ON.get().is_some_and(|went_on| went_on.swap(false, Ordering::Relaxed))
}

/// Set by SIGINT, SIGTERM, SIGHUP and SIGQUIT: the run then keeps its samples and ends its
/// children.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// From now on these signals set the flag instead of ending the process. A signal that has been
    /// ignored since the start of the process, as by `nohup`, stays ignored.
    pub fn on_signals() -> Result<Stop> {
        if let Some(stop) = ON_SIGNALS.get() {
            return Ok(stop.clone());
        }
        let stop = Stop::default();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            let catching = || format!("catching signal {signal}");
            if is_ignored(signal).with_context(catching)? {
                continue;
            }
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.0), signal as usize)
                .with_context(catching)?;
        }
        let went_on = WENT_ON.get_or_init(Arc::default);
        signal_hook::flag::register(libc::SIGCONT, Arc::clone(went_on))
            .context("catching SIGCONT")?;
        Ok(ON_SIGNALS.get_or_init(|| stop).clone())
    }

    /// Whether a signal has stopped what this process does.
    pub(crate) fn was_received() -> bool {
        ON_SIGNALS.get().is_some_and(|stop| stop.signal().is_some())
    }

    /// The signal that was received, if any.
    pub fn signal(&self) -> Option<i32> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal as i32),
        }
    }

    /// Returns an error once a signal was received: for work that has nothing to keep.
    pub fn check(&self) -> Result<()> {
        ensure!(self.signal().is_none(), "stopped by a signal");
        Ok(())
    }

    /// Sets the flag as a signal would; for tests.
    pub fn raise(&self, signal: i32) {
        self.0.store(signal as usize, Ordering::Relaxed);
    }
}

fn is_ignored(signal: libc::c_int) -> io::Result<bool> {
    // SAFETY: a struct of integers and of an optional function, for which all zeros are a valid
    // value.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: `action` is valid for writing; without a new action the call changes nothing.
    if unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_ends_work_that_has_nothing_to_keep() {
        let stop = Stop::default();
        stop.check().unwrap();
        stop.raise(libc::SIGTERM);
        assert_eq!(stop.signal(), Some(libc::SIGTERM));
        assert_eq!(stop.check().unwrap_err().to_string(), "stopped by a signal");
    }
}
