//! Records what the threads of the children do, on a thread of its own: every event from the kernel
//! where the rights allow, else by looking again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::happenings::Happenings;
use super::looks::{self, Looks};
use crate::clock;
use crate::trace::Recording;

/// From where a timeline can be had here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineSources {
    /// Why the scheduling is looked at instead of told.
    pub sampled: Option<String>,
    /// Why there are no system calls.
    pub no_calls: Option<String>,
    /// Why there are no page faults.
    pub no_faults: Option<String>,
}

impl TimelineSources {
    pub(super) fn sampled(why: &str) -> TimelineSources {
        let why = Some(why.to_owned());
        TimelineSources { sampled: why.clone(), no_calls: why.clone(), no_faults: why }
    }

    /// Tries what there is.
    pub fn look() -> TimelineSources {
        match Happenings::open() {
            Ok(happenings) => happenings.sources().clone(),
            Err(why) => TimelineSources::sampled(&why),
        }
    }
}

pub(crate) struct Recorder {
    thread: Option<JoinHandle<Recording>>,
    shared: Arc<Shared>,
    pub(crate) sources: TimelineSources,
}

#[derive(Default)]
pub(super) struct Shared {
    finish: AtomicBool,
    /// Of the children that were told so far.
    processes: Mutex<Vec<u32>>,
    looks: Mutex<Looks>,
}

impl Shared {
    pub(super) fn finishes(&self) -> bool {
        self.finish.load(Ordering::Relaxed)
    }

    pub(super) fn processes(&self) -> Vec<u32> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn looks(&self) -> MutexGuard<'_, Looks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn look(&self) {
        self.looks().look(&self.processes());
    }

    fn add(&self, process: u32) {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).push(process);
    }
}

impl Recorder {
    /// Before the children are started.
    pub(crate) fn start() -> std::io::Result<Recorder> {
        let shared = Arc::new(Shared::default());
        let (ready, is_ready) = channel();
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || record(&of_thread, &ready))?;
        let sources = is_ready.recv().map_err(std::io::Error::other)?;
        Ok(Recorder { thread: Some(thread), shared, sources })
    }

    /// A child has been started. Where only looks are possible, the first one is here: on a busy machine
    /// the thread may not have its turn before the child has ended.
    pub(crate) fn watch(&self, process: u32) {
        self.shared.add(process);
        if self.sources.sampled.is_some() {
            self.shared.look();
        }
    }

    pub(crate) fn finish(mut self) -> Recording {
        self.shared.finish.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.finish.store(true, Ordering::Relaxed);
    }
}

/// The rings are opened here, as they belong to this thread.
fn record(shared: &Shared, ready: &Sender<TimelineSources>) -> Recording {
    let opened = Happenings::open();
    let sources = match &opened {
        Ok(happenings) => happenings.sources().clone(),
        Err(why) => TimelineSources::sampled(why),
    };
    if ready.send(sources).is_err() {
        return Recording::default();
    }
    match opened {
        Ok(happenings) => happenings.record(shared),
        Err(_) => looks::record(shared),
    }
}

/// Rests a part of the time that the work since `start_ns` took, and at least this long.
pub(super) fn rest(start_ns: u64, times: u64, at_least_ns: u64) {
    let pause_ns = ((clock::now_ns() - start_ns) * times).max(at_least_ns);
    std::thread::sleep(std::time::Duration::from_nanos(pause_ns));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_seen_although_the_thread_has_no_turn_while_it_lives() {
        let (thread, shared) = (None, Arc::default());
        let recorder = Recorder { thread, shared, sources: TimelineSources::sampled("no rights") };
        let own = std::process::id();
        recorder.watch(own);
        let recording = recorder.shared.looks().finish();
        assert!(recording.states.contains_key(&own), "{recording:?}");
    }
}
