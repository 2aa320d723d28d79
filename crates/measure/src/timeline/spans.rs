//! A timeline, and how it follows from a recording of the children's threads: the states of a
//! thread become spans, which are nested.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A whole timeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// What the timeline shows, and how it was recorded.
    pub facts: BTreeMap<String, Value>,
    /// The beginning of the timeline: times are shown relative to it.
    pub start_ns: u64,
    pub processes: Vec<ProcessTimeline>,
}

/// The part of the timeline of one process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessTimeline {
    pub pid: u32,
    pub name: String,
    /// The orders of the lab, one after the other.
    pub phases: Vec<Span>,
    pub threads: Vec<Thread>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    pub tid: u32,
    pub name: String,
    /// In the order of their beginnings; each is either inside or outside any other.
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
    /// The child was started or prepared, or took a sample.
    Phase,
    /// The timed interval of a sample.
    Job,
    SystemCall,
    Scheduling,
}

/// Shorter system calls are left out.
pub(super) const LONG_CALL_NS: u64 = 10_000;

/// The recorded events of the children's threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    pub end_ns: u64,
    /// By thread.
    pub tasks: BTreeMap<u32, RecordedThread>,
    /// By thread; in the order of time.
    pub states: BTreeMap<u32, Vec<(u64, ThreadState)>>,
    pub calls: Vec<Call>,
    pub faults: Vec<Fault>,
    /// Events that could not be kept.
    pub lost: u64,
}

/// A thread of a recording, with the process that it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedThread {
    pub process: u32,
    pub(crate) parent_process: u32,
    pub name: String,
    pub end_ns: Option<u64>,
}

/// The state of a thread from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadState {
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
    pub(super) fn started_by(&self, root: u32) -> Vec<(u32, &RecordedThread)> {
        let mut found: Vec<(u32, &RecordedThread)> = Vec::new();
        loop {
            let knows = |pid: u32| pid == root || found.iter().any(|(known, _)| *known == pid);
            let new: Vec<(u32, &RecordedThread)> = (self.tasks.iter())
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

// Converts the moments at which a thread's state changed to the intervals that it spent in each
// state.

/// In the order of time, without gaps. The unknown time before the first change is left out.
pub(super) fn state_spans(changes: &[(u64, ThreadState)], end_ns: u64) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut now: Option<(u64, ThreadState)> = None;
    for &(at_ns, state) in changes {
        let at_ns = at_ns.min(end_ns);
        let state = match (state, now.map(|(_, state)| state)) {
            (ThreadState::Woken, Some(ThreadState::Running | ThreadState::Runnable)) => continue,
            (ThreadState::Woken, _) => ThreadState::Runnable,
            (state, before) if Some(state) == before => continue,
            (state, _) => state,
        };
        if let Some((since_ns, before)) = now {
            spans.extend(span(before, since_ns, at_ns));
        }
        now = Some((at_ns, state));
    }
    spans.extend(now.and_then(|(since_ns, state)| span(state, since_ns, end_ns)));
    spans
}

fn span(state: ThreadState, start_ns: u64, end_ns: u64) -> Option<Span> {
    let name = match state {
        ThreadState::Running => "running",
        ThreadState::Runnable | ThreadState::Woken => "runnable",
        ThreadState::Blocked | ThreadState::BlockedForDevice => "blocked",
    };
    let mut arguments = BTreeMap::new();
    if state == ThreadState::BlockedForDevice {
        arguments.insert("uninterruptible", true.into());
    }
    let name = name.to_owned();
    let category = Category::Scheduling;
    let span = Span { name, category, start_ns, end_ns, arguments };
    Some(span).filter(|span| span.end_ns > span.start_ns)
}

// Nests the spans of a thread: viewers draw a track as a stack, which cannot show a span that
// begins inside another and ends after it.

/// The outer spans keep their times as far as they nest; the states are cut where an outer span
/// begins or ends.
pub(super) fn nested(outer: Vec<Span>, states: Vec<Span>) -> Vec<Span> {
    let outer = fitted(outer);
    let edges: BTreeSet<u64> = outer.iter().flat_map(|s| [s.start_ns, s.end_ns]).collect();
    let mut spans = outer;
    // The states are appended, so that of two equal spans the outer one stays first.
    spans.extend(states.into_iter().flat_map(|state| cut(&state, &edges)));
    spans.sort_by_key(|span| (span.start_ns, Reverse(span.end_ns)));
    spans
}

/// In the order of their beginnings; a span that outlives the one in which it began ends with it.
fn fitted(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start_ns, Reverse(span.end_ns)));
    let mut open_until_ns: Vec<u64> = Vec::new();
    for span in &mut spans {
        while open_until_ns.last().is_some_and(|end_ns| *end_ns <= span.start_ns) {
            open_until_ns.pop();
        }
        span.end_ns = open_until_ns.last().map_or(span.end_ns, |end_ns| span.end_ns.min(*end_ns));
        open_until_ns.push(span.end_ns);
    }
    spans
}

fn cut(span: &Span, edges: &BTreeSet<u64>) -> Vec<Span> {
    let within = edges.range(span.start_ns + 1..span.end_ns.max(span.start_ns + 1));
    let ends: Vec<u64> = within.copied().chain([span.end_ns]).collect();
    let mut start_ns = span.start_ns;
    let piece = |end_ns| {
        let piece = Span { start_ns, end_ns, ..span.clone() };
        start_ns = end_ns;
        piece
    };
    ends.into_iter().map(piece).collect()
}

/// A child that was recorded, with its phases as the lab saw them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedChild {
    pub pid: u32,
    pub name: String,
    pub phases: Vec<Span>,
    /// The timed intervals of its main thread, as the child reports them.
    pub jobs: Vec<Span>,
}

impl Timeline {
    /// The timeline of these children, and of the processes that they started.
    pub(crate) fn from_recording(
        recording: &Recording,
        children: Vec<RecordedChild>,
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
) -> ProcessTimeline {
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
    ProcessTimeline { pid, name, phases, threads }
}

fn thread(recording: &Recording, tid: u32, task: &RecordedThread, jobs: Vec<Span>) -> Thread {
    let calls = recording.calls.iter().filter(|call| call.thread == tid).map(|call| Span {
        name: call.name.clone(),
        category: Category::SystemCall,
        start_ns: call.start_ns,
        end_ns: call.end_ns,
        arguments: BTreeMap::from([("result", call.result.into())]),
    });
    let end_ns = task.end_ns.unwrap_or(recording.end_ns);
    let states = recording.states.get(&tid).map_or(&[][..], Vec::as_slice);
    let spans = nested(jobs.into_iter().chain(calls).collect(), state_spans(states, end_ns));
    let faults = recording.faults.iter().filter(|fault| fault.thread == tid).cloned().collect();
    Thread { tid, name: task.name.clone(), spans, faults }
}
