//! Records without special rights, by polling the threads, and keeps what the recording thread
//! shares with the thread that starts the children.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::spans::{RecordedThread, Recording, ThreadState};
use crate::count::tree::{self, Stat};
use crate::{clock, counters, proc_fs};

pub(super) fn record(shared: &RecorderState) -> Recording {
    loop {
        let finishes = shared.finishes();
        let start_ns = clock::now_ns();
        poll_once(shared);
        if finishes {
            return shared.states().finish();
        }
        rest(start_ns, 4, PAUSE_NS);
    }
}

pub(super) fn poll_once(shared: &RecorderState) {
    shared.states().poll(&shared.processes());
}

// The states of threads by polling, which needs no special rights: the state at each poll, and how
// long the thread ran and waited since the last one.

/// The pause between two polls; it is longer if a poll takes more than a fifth of it.
pub(super) const PAUSE_NS: u64 = 1_000_000;

/// How long a thread ran and waited for a CPU.
type ThreadTimes = (u64, u64);

/// The results of all polls so far.
pub(super) struct ThreadStates {
    recording: Recording,
    last: BTreeMap<u32, ThreadTimes>,
    last_ns: u64,
}

impl Default for ThreadStates {
    fn default() -> Self {
        let (recording, last) = (Recording::default(), BTreeMap::new());
        ThreadStates { recording, last, last_ns: clock::now_ns() }
    }
}

impl ThreadStates {
    pub(super) fn poll(&mut self, processes: &[u32]) {
        let now_ns = clock::now_ns();
        let mut seen = BTreeMap::new();
        for (thread, task) in threads(processes) {
            let times = counters::thread_times_ns(task.process, thread).unwrap_or_default();
            let before = self.last.get(&thread).copied().unwrap_or_default();
            let state = state(tree::sleeps(thread), before, times);
            self.recording.states.entry(thread).or_default().push((self.last_ns, state));
            seen.insert(thread, times);
            self.recording.tasks.insert(thread, task);
        }
        for (thread, task) in &mut self.recording.tasks {
            if !seen.contains_key(thread) {
                task.end_ns.get_or_insert(now_ns);
            }
        }
        (self.last, self.last_ns) = (seen, now_ns);
    }

    pub(super) fn finish(&mut self) -> Recording {
        self.recording.end_ns = self.last_ns;
        std::mem::take(&mut self.recording)
    }
}

/// The threads of several processes, of their descendants and of their process groups.
fn threads(roots: &[u32]) -> BTreeMap<u32, RecordedThread> {
    let mut found = BTreeMap::new();
    for process in tree::processes(roots) {
        let Some(stat) = Stat::read(process) else { continue };
        for thread in tree::threads_of(process) {
            let name = proc_fs::path(process, &format!("task/{thread}/comm"));
            let name = name.and_then(fs::read_to_string);
            let name = name.unwrap_or_default().trim_end().to_owned();
            let task = RecordedThread { process, parent_process: stat.parent, name, end_ns: None };
            found.insert(thread, task);
        }
    }
    found
}

/// The thread's predominant state since the last poll. While a thread runs, the kernel's accounting
/// is as old as the last tick, so it may have run although the times do not show it.
fn state(
    sleeps: bool,
    (ran, waited): ThreadTimes,
    (ran_now, waited_now): ThreadTimes,
) -> ThreadState {
    let (ran_ns, waited_ns) = (ran_now.saturating_sub(ran), waited_now.saturating_sub(waited));
    if waited_ns > ran_ns {
        ThreadState::Runnable
    } else if ran_ns > PAUSE_NS / 2 || !sleeps {
        ThreadState::Running
    } else {
        ThreadState::Blocked
    }
}

// The state that the recording thread shares with the thread that starts the children.

/// The available sources of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineSources {
    /// Why the scheduling is sampled and not recorded.
    pub sampled: Option<String>,
    /// Why there are no system calls.
    pub no_calls: Option<String>,
    /// Why there are no page faults.
    pub(crate) no_faults: Option<String>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_shows_what_a_thread_mostly_did() {
        assert_eq!(state(true, (5, 5), (5, 5)), ThreadState::Blocked);
        assert_eq!(state(true, (5, 5), (900_005, 5)), ThreadState::Running);
        assert_eq!(state(true, (5, 5), (5 + PAUSE_NS / 2, 5)), ThreadState::Blocked);
        assert_eq!(state(false, (5, 5), (5, 5)), ThreadState::Running);
        assert_eq!(state(false, (5, 5), (6, 900_005)), ThreadState::Runnable);
    }
}
