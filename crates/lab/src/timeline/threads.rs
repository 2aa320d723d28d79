//! What is visible of threads from outside without special rights: their states when they are
//! polled, and how long they ran and waited since the last poll.

use std::collections::BTreeMap;
use std::fs;

use super::recording::{Recording, State, Task};
use crate::count::tree::{self, Stat};
use crate::{clock, counters, proc_fs};

/// The pause between two polls; it is longer if a poll takes more than a fifth of it.
pub(super) const PAUSE_NS: u64 = 1_000_000;

/// How long a thread ran and waited for a CPU.
type Times = (u64, u64);

/// The results of all polls so far.
pub(super) struct ThreadStates {
    recording: Recording,
    last: BTreeMap<u32, Times>,
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
fn threads(roots: &[u32]) -> BTreeMap<u32, Task> {
    let mut found = BTreeMap::new();
    for process in tree::processes(roots) {
        let Some(stat) = Stat::read(process) else { continue };
        for thread in tree::threads_of(process) {
            let name = proc_fs::of(process, &format!("task/{thread}/comm"));
            let name = name.and_then(fs::read_to_string);
            let name = name.unwrap_or_default().trim_end().to_owned();
            let task = Task { process, parent_process: stat.parent, name, end_ns: None };
            found.insert(thread, task);
        }
    }
    found
}

/// The thread's predominant state since the last poll. While a thread runs, the kernel's accounting
/// is as old as the last tick, so it may have run although the times do not show it.
fn state(sleeps: bool, (ran, waited): Times, (ran_now, waited_now): Times) -> State {
    let (ran_ns, waited_ns) = (ran_now.saturating_sub(ran), waited_now.saturating_sub(waited));
    if waited_ns > ran_ns {
        State::Runnable
    } else if ran_ns > PAUSE_NS / 2 || !sleeps {
        State::Running
    } else {
        State::Blocked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_shows_what_a_thread_mostly_did() {
        assert_eq!(state(true, (5, 5), (5, 5)), State::Blocked);
        assert_eq!(state(true, (5, 5), (900_005, 5)), State::Running);
        assert_eq!(state(true, (5, 5), (5 + PAUSE_NS / 2, 5)), State::Blocked);
        assert_eq!(state(false, (5, 5), (5, 5)), State::Running);
        assert_eq!(state(false, (5, 5), (6, 900_005)), State::Runnable);
    }
}
