//! The contents of a timeline.

use std::collections::BTreeMap;

use serde_json::Value;

use super::recording::Fault;

/// A whole timeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// What the timeline shows, and how it was recorded.
    pub facts: BTreeMap<String, Value>,
    /// The beginning of the timeline: times are shown relative to it.
    pub start_ns: u64,
    pub processes: Vec<Process>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
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
