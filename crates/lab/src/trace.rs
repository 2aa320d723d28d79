//! A timeline of one round: what each child was asked to do, and what its threads did meanwhile. Pure:
//! made from what was recorded, written as Chrome trace events; it records nothing itself.

mod json;
mod nest;
mod states;

use std::collections::BTreeMap;

use serde_json::Value;

/// System calls that are shorter are left out.
pub const LONG_CALL_NS: u64 = 10_000;

/// All that is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// What it is of, and how it was recorded.
    pub facts: BTreeMap<String, Value>,
    /// When it begins: times are shown from here.
    pub start_ns: u64,
    pub processes: Vec<Process>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    pub pid: u32,
    pub name: String,
    /// What the lab asked of it, one after the other.
    pub phases: Vec<Span>,
    pub threads: Vec<Thread>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    pub tid: u32,
    pub name: String,
    /// By their beginning; each lies within or outside any other.
    pub spans: Vec<Span>,
    pub faults: Vec<Fault>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub name: String,
    pub category: Category,
    pub start_ns: u64,
    pub end_ns: u64,
    pub arguments: BTreeMap<&'static str, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// The child was started, prepared, or took a sample.
    Phase,
    /// What was timed of a sample.
    Job,
    SystemCall,
    Scheduling,
}

/// Page faults of which each came soon after the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub thread: u32,
    pub at_ns: u64,
    pub last_ns: u64,
    pub n: u64,
    /// Of the first one.
    pub address: u64,
}

/// What was recorded of the children's threads.
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

/// How a thread stands from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    /// It could run, and waits for a CPU.
    Runnable,
    /// The same, if it was blocked before: a thread may be woken while it still runs.
    Woken,
    Blocked,
    /// Blocked, and not to be woken by a signal: mostly, it waits for a device.
    BlockedForDevice,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub thread: u32,
    pub name: String,
    pub start_ns: u64,
    pub end_ns: u64,
    /// None if it had not ended when the recording did.
    pub result: Option<i64>,
}

/// A child and what the lab knows of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    pub pid: u32,
    pub name: String,
    pub phases: Vec<Span>,
    /// What was timed, as the child itself tells it: of its main thread.
    pub jobs: Vec<Span>,
}

impl Timeline {
    /// Of these children, and of the processes that they started.
    pub fn of(
        recording: &Recording,
        children: Vec<Child>,
        start_ns: u64,
        facts: BTreeMap<String, Value>,
    ) -> Timeline {
        let mut processes = Vec::new();
        for child in children {
            let name = child.name.clone();
            let own = process(recording, child.pid, child.name, child.phases, child.jobs);
            processes.push(own);
            for (pid, task) in recording.started_by(child.pid) {
                let name = format!("{} of {name}", task.name);
                processes.push(process(recording, pid, name, Vec::new(), Vec::new()));
            }
        }
        Timeline { facts, start_ns, processes }
    }

    /// As JSON, in the object form of the Trace Event Format.
    pub fn write(&self, out: impl std::io::Write) -> std::io::Result<()> {
        json::write(self, out)
    }
}

impl Recording {
    /// The main threads of the processes that this one started, and that those started.
    fn started_by(&self, root: u32) -> Vec<(u32, &Task)> {
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

fn process(
    recording: &Recording,
    pid: u32,
    name: String,
    phases: Vec<Span>,
    jobs: Vec<Span>,
) -> Process {
    let threads = recording.tasks.iter().filter(|(_, task)| task.process == pid);
    let mut threads: Vec<Thread> = threads
        .map(|(tid, task)| {
            let jobs = if *tid == pid { jobs.clone() } else { Vec::new() };
            thread(recording, *tid, task, jobs)
        })
        .collect();
    if threads.is_empty() {
        // Nothing was recorded of it, as when it had ended between two looks.
        threads.push(Thread { tid: pid, name: name.clone(), spans: jobs, faults: Vec::new() });
    }
    Process { pid, name, phases, threads }
}

fn thread(recording: &Recording, tid: u32, task: &Task, jobs: Vec<Span>) -> Thread {
    let calls = recording.calls.iter().filter(|call| call.thread == tid).map(|call| Span {
        name: call.name.clone(),
        category: Category::SystemCall,
        start_ns: call.start_ns,
        end_ns: call.end_ns,
        arguments: BTreeMap::from([("result", call.result.into())]),
    });
    let end_ns = task.end_ns.unwrap_or(recording.end_ns);
    let states = recording.states.get(&tid).map_or(&[][..], Vec::as_slice);
    let spans =
        nest::nested(jobs.into_iter().chain(calls).collect(), states::spans(states, end_ns));
    let faults = recording.faults.iter().filter(|fault| fault.thread == tid).cloned().collect();
    Thread { tid, name: task.name.clone(), spans, faults }
}

#[cfg(test)]
mod tests;
