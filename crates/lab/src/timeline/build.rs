//! Builds a timeline from a recording.

use std::collections::BTreeMap;

use serde_json::Value;

use super::recording::{Recording, Task};
use super::spans::{Category, Process, Span, Thread, Timeline};
use super::{nest, states};

/// A child, with what the lab knows about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    pub pid: u32,
    pub name: String,
    pub phases: Vec<Span>,
    /// The timed intervals of its main thread, as the child reports them.
    pub jobs: Vec<Span>,
}

impl Timeline {
    /// The timeline of these children, and of the processes that they started.
    pub fn from_recording(
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
        // Nothing was recorded of it, for example because it ended between two polls.
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
