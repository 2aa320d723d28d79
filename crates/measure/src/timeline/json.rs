//! The Trace Event Format, which Perfetto and `chrome://tracing` read: one object per
//! event, times in µs.
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use super::spans::{Category, Fault, ProcessTimeline, Span, Thread, Timeline};

/// One object of the format.
#[derive(Serialize)]
struct TraceEvent<'a> {
    ph: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    pid: u32,
    tid: u32,
    ts: Microseconds,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<Microseconds>,
    /// Set for the events of a track that belongs to the process and to none of its threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    /// Set for an instant, whose scope is its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

/// A number of ns as µs, without loss.
struct Microseconds(u64);

impl Serialize for Microseconds {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e3)
    }
}

impl Timeline {
    /// Writes JSON in the object form of the Trace Event Format.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut writer = Writer { out, start_ns: self.start_ns, any: false };
        writer.out.write_all(b"{\"traceEvents\":[")?;
        for (i, process) in self.processes.iter().enumerate() {
            writer.process(i, process)?;
        }
        writer.out.write_all(b"\n],\"displayTimeUnit\":\"ns\",\"otherData\":")?;
        serde_json::to_writer(&mut writer.out, &self.facts)?;
        writer.out.write_all(b"}\n")?;
        writer.out.flush()
    }
}

struct Writer<W> {
    out: W,
    start_ns: u64,
    any: bool,
}

impl<W: Write> Writer<W> {
    fn process(&mut self, index: usize, process: &ProcessTimeline) -> io::Result<()> {
        let pid = process.pid;
        self.about(pid, pid, "process_name", &json!({"name": process.name}))?;
        self.about(pid, pid, "process_sort_index", &json!({"sort_index": index}))?;
        for thread in &process.threads {
            self.about(pid, thread.tid, "thread_name", &json!({"name": thread.name}))?;
        }
        self.phases(pid, &process.phases)?;
        process.threads.iter().try_for_each(|thread| self.thread(pid, thread))
    }

    fn about(&mut self, pid: u32, tid: u32, name: &str, args: &Value) -> io::Result<()> {
        let ts = Microseconds(0);
        let args = args.clone();
        self.event(&TraceEvent {
            ph: "M",
            name,
            cat: None,
            pid,
            tid,
            ts,
            dur: None,
            id: None,
            s: None,
            args,
        })
    }

    /// A phase may contain others, which then follow it. Their ends are written in the order of
    /// time.
    fn phases(&mut self, pid: u32, phases: &[Span]) -> io::Result<()> {
        let mut open: Vec<&Span> = Vec::new();
        for phase in phases {
            while let Some(ended) = open.pop_if(|open| open.end_ns <= phase.start_ns) {
                self.edge(pid, "e", ended, ended.end_ns)?;
            }
            self.edge(pid, "b", phase, phase.start_ns)?;
            open.push(phase);
        }
        open.into_iter().rev().try_for_each(|ended| self.edge(pid, "e", ended, ended.end_ns))
    }

    fn edge(&mut self, pid: u32, ph: &'static str, span: &Span, at_ns: u64) -> io::Result<()> {
        let (cat, id) = (Some(category(span)), Some(pid));
        let args = if ph == "b" { arguments(&span.arguments) } else { Value::Null };
        let ts = self.time(at_ns);
        let name = &span.name;
        self.event(&TraceEvent { ph, name, cat, pid, tid: pid, ts, dur: None, id, s: None, args })
    }

    /// Spans and page faults together, in the order of time.
    fn thread(&mut self, pid: u32, thread: &Thread) -> io::Result<()> {
        let mut faults = thread.faults.iter().peekable();
        for span in &thread.spans {
            while let Some(fault) = faults.next_if(|fault| fault.at_ns < span.start_ns) {
                self.fault(pid, thread.tid, fault)?;
            }
            self.span(pid, thread.tid, span)?;
        }
        faults.try_for_each(|fault| self.fault(pid, thread.tid, fault))
    }

    fn span(&mut self, pid: u32, tid: u32, span: &Span) -> io::Result<()> {
        let dur = Some(Microseconds(span.end_ns.saturating_sub(span.start_ns)));
        let (cat, ts) = (Some(category(span)), self.time(span.start_ns));
        let args = arguments(&span.arguments);
        let name = &span.name;
        self.event(&TraceEvent { ph: "X", name, cat, pid, tid, ts, dur, id: None, s: None, args })
    }

    fn fault(&mut self, pid: u32, tid: u32, fault: &Fault) -> io::Result<()> {
        let name = if fault.n == 1 { "page fault" } else { "page faults" };
        let during_us = (fault.last_ns - fault.at_ns) as f64 / 1e3;
        let address = format!("{:#x}", fault.address);
        let args = json!({"n": fault.n, "during_us": during_us, "address": address});
        let (cat, ts, s) = (Some("page fault"), self.time(fault.at_ns), Some("t"));
        self.event(&TraceEvent { ph: "i", name, cat, pid, tid, ts, dur: None, id: None, s, args })
    }

    fn time(&self, at_ns: u64) -> Microseconds {
        Microseconds(at_ns.saturating_sub(self.start_ns))
    }

    fn event(&mut self, event: &TraceEvent<'_>) -> io::Result<()> {
        self.out.write_all(if self.any { b",\n" } else { b"\n" })?;
        self.any = true;
        Ok(serde_json::to_writer(&mut self.out, event)?)
    }
}

fn category(span: &Span) -> &'static str {
    match span.category {
        Category::Phase => "phase",
        Category::Job => "job",
        Category::SystemCall => "system call",
        Category::Scheduling => "scheduling",
    }
}

fn arguments(arguments: &BTreeMap<&'static str, Value>) -> Value {
    if arguments.is_empty() { Value::Null } else { json!(arguments) }
}
