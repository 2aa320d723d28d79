//! Records what the threads of the children do, in a separate thread: every event from the kernel
//! where the rights allow that, else by polling.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use super::perf::PerfRecorder;
use super::poll;
use super::recording::Recording;
use super::shared::{RecorderState, TimelineSources};

impl TimelineSources {
    /// Tries which sources are available.
    pub fn look() -> TimelineSources {
        match PerfRecorder::open() {
            Ok(recorder) => recorder.sources().clone(),
            Err(why) => TimelineSources::sampled(&why),
        }
    }
}

pub(crate) struct Recorder {
    thread: Option<JoinHandle<Recording>>,
    shared: Arc<RecorderState>,
    pub(crate) sources: TimelineSources,
}

impl Recorder {
    /// Must be called before the children are started.
    pub(crate) fn start() -> std::io::Result<Recorder> {
        let shared = Arc::new(RecorderState::default());
        let (ready, is_ready) = channel();
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || record(&of_thread, &ready))?;
        let sources = is_ready.recv().map_err(std::io::Error::other)?;
        Ok(Recorder { thread: Some(thread), shared, sources })
    }

    /// Called when a child has been started. Where threads are polled, the first poll is done here:
    /// on a busy machine the recording thread may not run before the child has ended.
    pub(crate) fn watch(&self, process: u32) {
        self.shared.add(process);
        if self.sources.sampled.is_some() {
            poll::poll_once(&self.shared);
        }
    }

    pub(crate) fn finish(mut self) -> Recording {
        self.shared.finish();
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.finish();
    }
}

/// The rings are opened here, because they belong to this thread.
fn record(shared: &RecorderState, ready: &Sender<TimelineSources>) -> Recording {
    let opened = PerfRecorder::open();
    let sources = match &opened {
        Ok(recorder) => recorder.sources().clone(),
        Err(why) => TimelineSources::sampled(why),
    };
    if ready.send(sources).is_err() {
        return Recording::default();
    }
    match opened {
        Ok(recorder) => recorder.record(shared),
        Err(_) => poll::record(shared),
    }
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
        let recording = recorder.shared.states().finish();
        assert!(recording.states.contains_key(&own), "{recording:?}");
    }
}
