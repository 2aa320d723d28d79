//! The recorded events of the children's threads.

use std::collections::BTreeMap;

/// Shorter system calls are left out.
pub(super) const LONG_CALL_NS: u64 = 10_000;

/// The recorded events of the children's threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    pub end_ns: u64,
    /// By thread.
    pub tasks: BTreeMap<u32, Task>,
    /// By thread; in the order of time.
    pub states: BTreeMap<u32, Vec<(u64, State)>>,
    pub calls: Vec<Call>,
    pub faults: Vec<Fault>,
    /// Events that could not be kept.
    pub lost: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    pub process: u32,
    pub parent_process: u32,
    pub name: String,
    pub end_ns: Option<u64>,
}

/// The state of a thread from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    /// The thread could run, and waits for a CPU.
    Runnable,
    /// The same, if it was blocked before: a thread may be woken while it still runs.
    Woken,
    Blocked,
    /// The thread is blocked and cannot be woken by a signal: in most cases it waits for a device.
    BlockedForDevice,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub thread: u32,
    pub name: String,
    pub start_ns: u64,
    pub end_ns: u64,
    /// None if the call had not ended when the recording did.
    pub result: Option<i64>,
}

/// Page faults each of which follows shortly after the previous one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub thread: u32,
    pub at_ns: u64,
    pub last_ns: u64,
    pub n: u64,
    /// The address of the first page fault.
    pub address: u64,
}

impl Recording {
    /// The main threads of the processes that this process started, directly or indirectly.
    pub(super) fn started_by(&self, root: u32) -> Vec<(u32, &Task)> {
        let mut found: Vec<(u32, &Task)> = Vec::new();
        loop {
            let knows = |pid: u32| pid == root || found.iter().any(|(known, _)| *known == pid);
            let new: Vec<(u32, &Task)> = (self.tasks.iter())
                .filter(|(tid, task)| **tid == task.process && !knows(task.process))
                .filter(|(_, task)| knows(task.parent_process))
                .map(|(tid, task)| (*tid, task))
                .collect();
            if new.is_empty() {
                return found;
            }
            found.extend(new);
        }
    }
}
