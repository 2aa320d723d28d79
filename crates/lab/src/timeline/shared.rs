//! The state that the recording thread shares with the thread that starts the children.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::threads::ThreadStates;
use crate::clock;

/// The available sources of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineSources {
    /// Why the scheduling is sampled and not recorded.
    pub sampled: Option<String>,
    /// Why there are no system calls.
    pub no_calls: Option<String>,
    /// Why there are no page faults.
    pub no_faults: Option<String>,
}

#[derive(Default)]
pub(super) struct RecorderState {
    finish: AtomicBool,
    /// The children that were announced so far.
    processes: Mutex<Vec<u32>>,
    states: Mutex<ThreadStates>,
}

impl RecorderState {
    pub(super) fn finishes(&self) -> bool {
        self.finish.load(Ordering::Relaxed)
    }

    pub(super) fn processes(&self) -> Vec<u32> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn states(&self) -> MutexGuard<'_, ThreadStates> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn finish(&self) {
        self.finish.store(true, Ordering::Relaxed);
    }

    pub(super) fn add(&self, process: u32) {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).push(process);
    }
}

/// Sleeps for `times` times the duration of the work since `start_ns`, and at least for this time.
pub(super) fn rest(start_ns: u64, times: u64, at_least_ns: u64) {
    let pause_ns = ((clock::now_ns() - start_ns) * times).max(at_least_ns);
    std::thread::sleep(std::time::Duration::from_nanos(pause_ns));
}

impl TimelineSources {
    pub(super) fn sampled(why: &str) -> TimelineSources {
        let why = Some(why.to_owned());
        TimelineSources { sampled: why.clone(), no_calls: why.clone(), no_faults: why }
    }
}
