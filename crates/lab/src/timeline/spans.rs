//! What a timeline shows.

use std::collections::BTreeMap;

use serde_json::Value;

use super::recording::Fault;

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
