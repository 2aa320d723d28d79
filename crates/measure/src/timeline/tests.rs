use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::spans::{
    Call, Fault, RecordedChild, RecordedThread, Recording, ThreadState, nested, state_spans,
};
use super::*;

fn span(name: &str, category: Category, start_ns: u64, end_ns: u64) -> Span {
    Span { name: name.to_owned(), category, start_ns, end_ns, arguments: BTreeMap::new() }
}

fn task(process: u32, parent_process: u32, name: &str) -> RecordedThread {
    RecordedThread { process, parent_process, name: name.to_owned(), end_ns: None }
}

fn timeline() -> Timeline {
    let states = vec![
        (100, ThreadState::Woken),
        (110, ThreadState::Running),
        (150, ThreadState::Blocked),
        (160, ThreadState::Woken),
        (165, ThreadState::Woken),
        (170, ThreadState::Running),
    ];
    let call = Call { thread: 7, name: "read".into(), start_ns: 140, end_ns: 180, result: Some(4) };
    let recording = Recording {
        end_ns: 300,
        tasks: BTreeMap::from([
            (7, task(7, 1, "bytelab")),
            (8, task(7, 1, "reader")),
            (9, task(9, 7, "cat")),
            (10, task(10, 1, "stranger")),
        ]),
        states: BTreeMap::from([(7, states)]),
        calls: vec![call],
        faults: vec![Fault { thread: 7, at_ns: 120, last_ns: 130, n: 2, address: 0x1000 }],
        lost: 0,
    };
    let child = RecordedChild {
        pid: 7,
        name: "read".to_owned(),
        phases: vec![
            span("start", Category::Phase, 100, 125),
            span("sample", Category::Phase, 125, 290),
        ],
        jobs: vec![span("job", Category::Job, 130, 250)],
    };
    Timeline::from_recording(&recording, vec![child], 100, BTreeMap::new())
}

fn written(timeline: &Timeline) -> Value {
    let mut out = Vec::new();
    timeline.write(&mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn states_are_cut_where_a_call_or_a_job_begins_or_ends() {
    let timeline = timeline();
    let thread = &timeline.processes[0].threads[0];
    let shown: Vec<(&str, u64, u64)> =
        thread.spans.iter().map(|s| (s.name.as_str(), s.start_ns, s.end_ns)).collect();
    let expected = [
        ("runnable", 100, 110),
        ("running", 110, 130),
        ("job", 130, 250),
        ("running", 130, 140),
        ("read", 140, 180),
        ("running", 140, 150),
        ("blocked", 150, 160),
        ("runnable", 160, 170),
        ("running", 170, 180),
        ("running", 180, 250),
        ("running", 250, 300),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn processes_that_a_child_started_are_shown_and_strangers_are_not() {
    let names: Vec<String> = timeline().processes.into_iter().map(|p| p.name).collect();
    assert_eq!(names, ["read", "cat of read"]);
}

#[test]
fn an_event_looks_as_the_format_wants_it() {
    let json = written(&timeline());
    let events = json["traceEvents"].as_array().unwrap();
    let find = |name: &str| events.iter().find(|e| e["name"] == name).unwrap();
    let call = json!({"ph": "X", "name": "read", "cat": "system call", "pid": 7, "tid": 7,
                      "ts": 0.04, "dur": 0.04, "args": {"result": 4}});
    assert_eq!(*find("read"), call);
    let fault = json!({"ph": "i", "name": "page faults", "cat": "page fault", "pid": 7, "tid": 7,
                       "ts": 0.02, "s": "t",
                       "args": {"n": 2, "during_us": 0.01, "address": "0x1000"}});
    assert_eq!(*find("page faults"), fault);
    assert_eq!(find("start")["ph"], "b");
    assert_eq!(find("thread_name")["args"]["name"], "bytelab");
}

proptest! {
    #[test]
    fn whatever_was_recorded_nests(
        outer in proptest::collection::vec((0u64..50, 0u64..50), 0..8),
        changes in proptest::collection::vec((0u64..50, 0u8..5), 0..12),
    ) {
        let outer = outer.into_iter().map(|(a, b)| span("x", Category::SystemCall, a.min(b), a.max(b)));
        let all = [ThreadState::Running, ThreadState::Runnable, ThreadState::Woken, ThreadState::Blocked, ThreadState::BlockedForDevice];
        let mut changes: Vec<(u64, ThreadState)> =
            changes.into_iter().map(|(at, i)| (at, all[usize::from(i)])).collect();
        changes.sort_by_key(|change| change.0);
        let states = state_spans(&changes, 50);
        prop_assert!(states.windows(2).all(|two| two[0].end_ns == two[1].start_ns));
        let spans = nested(outer.collect(), states);
        prop_assert!(spans.is_sorted_by_key(|span| span.start_ns));
        for (i, a) in spans.iter().enumerate() {
            for b in &spans[i + 1..] {
                prop_assert!(b.start_ns >= a.end_ns || b.end_ns <= a.end_ns, "{a:?} {b:?}");
            }
        }
    }
}
