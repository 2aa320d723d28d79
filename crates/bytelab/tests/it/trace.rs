//! The timeline: a file that conforms to the Trace Event Format, whatever the source of the events;
//! a fault of its path is reported before anything is measured.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::program::{Ran, World, files_below, on_go};

/// A trace as viewers read it; a key that is missing or of another type is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trace {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
    #[serde(rename = "displayTimeUnit")]
    unit: String,
    #[serde(rename = "otherData")]
    facts: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    ph: String,
    name: String,
    cat: Option<String>,
    pid: u32,
    tid: u32,
    ts: f64,
    dur: Option<f64>,
    id: Option<u32>,
    s: Option<String>,
    #[serde(default)]
    args: BTreeMap<String, Value>,
}

impl Event {
    fn is(&self, cat: &str) -> bool {
        self.cat.as_deref() == Some(cat)
    }

    fn start_ns(&self) -> u64 {
        (self.ts * 1e3).round() as u64
    }

    fn end_ns(&self) -> u64 {
        self.start_ns() + (self.dur.unwrap_or_default() * 1e3).round() as u64
    }
}

const ARGS: &[&str] = &["--size", "1MiB", "--rounds", "2", "--sessions", "1", "--counting", "0"];

fn traced(world: &World, more: &[&str]) -> (Ran, Trace) {
    let path = world.path("trace.json");
    let path = path.to_str().unwrap();
    let ran = world.run(&[&["run", "reading", "--notes", "--trace", path], ARGS, more].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let trace = read(Path::new(path));
    (ran, trace)
}

fn read(path: &Path) -> Trace {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn process_names(trace: &Trace) -> BTreeMap<u32, String> {
    let named = trace.events.iter().filter(|e| e.name == "process_name");
    named.map(|e| (e.pid, e.args["name"].as_str().unwrap().to_owned())).collect()
}

fn pid_of(trace: &Trace, method: &str) -> u32 {
    let names = process_names(trace);
    let found = names.iter().find(|(_, name)| *name == method);
    *found.unwrap_or_else(|| panic!("no {method}: {names:?}")).0
}

/// For any content: each event has its keys, every process and thread has a name, times on a track
/// never decrease, and overlapping events nest.
fn check_format(trace: &Trace) {
    assert_eq!(trace.unit, "ns");
    let named = |what: &str| -> BTreeSet<(u32, u32)> {
        trace.events.iter().filter(|e| e.name == what).map(|e| (e.pid, e.tid)).collect()
    };
    let (processes, threads) = (named("process_name"), named("thread_name"));
    let mut tracks: BTreeMap<(u32, u32, bool), Vec<&Event>> = BTreeMap::new();
    for event in &trace.events {
        assert!(event.ts >= 0.0 && event.pid > 0 && event.tid > 0, "{}", event.name);
        let is_phase = match event.ph.as_str() {
            "M" => {
                assert!(!event.args.is_empty() && event.start_ns() == 0, "{}", event.name);
                continue;
            }
            "X" => !event.dur.is_some_and(|dur| dur >= 0.0) || event.cat.is_none(),
            "i" => event.s.as_deref() != Some("t"),
            "b" | "e" => event.id == Some(event.pid) && event.is("phase"),
            other => panic!("an event of kind {other}"),
        };
        assert_eq!(is_phase, matches!(event.ph.as_str(), "b" | "e"), "{}", event.name);
        assert!(processes.contains(&(event.pid, event.pid)), "{}", event.pid);
        assert!(threads.contains(&(event.pid, event.tid)), "{} {}", event.pid, event.tid);
        tracks.entry((event.pid, event.tid, is_phase)).or_default().push(event);
    }
    for ((pid, tid, is_phase), track) in tracks {
        assert!(track.is_sorted_by_key(|e| e.start_ns()), "{pid} {tid} runs backwards");
        if is_phase { check_phases(&track) } else { check_nesting(&track) }
    }
}

fn check_phases(track: &[&Event]) {
    let mut open: Vec<&str> = Vec::new();
    for event in track {
        match event.ph.as_str() {
            "b" => open.push(&event.name),
            _ => assert_eq!(open.pop(), Some(event.name.as_str())),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

fn check_nesting(track: &[&Event]) {
    let mut open: Vec<&Event> = Vec::new();
    for event in track.iter().filter(|e| e.ph == "X") {
        while open.last().is_some_and(|outer| outer.end_ns() <= event.start_ns()) {
            open.pop();
        }
        let nests = open.last().is_none_or(|outer| event.end_ns() <= outer.end_ns());
        assert!(nests, "{} at {} does not nest", event.name, event.ts);
        open.push(event);
    }
}

/// Whether the kernel reported every event on this machine.
fn is_complete(trace: &Trace) -> bool {
    !trace.facts["scheduling"].as_str().unwrap().starts_with("sampled")
}

#[test]
fn a_timeline_keeps_the_rules_of_its_format() {
    let world = World::new();
    let args = ["--method", "read,mmap,pread-threads,tokio-read,cat", "--buffer", "4KiB,64KiB"];
    let (ran, trace) = traced(&world, &args);
    check_format(&trace);
    let names: BTreeSet<String> = process_names(&trace).into_values().collect();
    for name in ["read buffer=4096", "read buffer=65536", "mmap", "cat"] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    let lacks = !is_complete(&trace) || trace.facts["lost_events"] != 0;
    assert_eq!(ran.stdout.contains("note: timeline:"), lacks, "{}", ran.stdout);
    let left: Vec<_> = std::fs::read_dir(world.dir.path()).unwrap().collect();
    let temporary = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(".bytelab");
    assert!(left.iter().all(|e| !temporary(&e.as_ref().unwrap().file_name())), "{left:?}");
}

#[test]
fn each_child_has_its_phases_and_its_jobs() {
    let world = World::new();
    let (_, trace) = traced(&world, &["--method", "read,cat"]);
    let pid = pid_of(&trace, "read");
    let begun = |event: &&Event| event.pid == pid && event.ph == "b";
    let phases: Vec<&Event> = trace.events.iter().filter(begun).collect();
    let names: Vec<&str> = phases.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["start", "prepare", "warm-up", "sample"]);
    let jobs: Vec<&Event> = trace.events.iter().filter(|e| e.pid == pid && e.is("job")).collect();
    assert_eq!(jobs.len(), 2, "the warm-up and the sample");
    for (job, phase) in jobs.iter().zip(&phases[2..]) {
        assert_eq!(job.tid, pid);
        assert!(job.start_ns() >= phase.start_ns());
        assert_eq!(phase.args["wall_ns"], job.args["wall_ns"]);
        assert_eq!(phase.args["bytes"], 1 << 20);
    }
    let samples = |e: &&Event| e.ph == "b" && matches!(e.name.as_str(), "warm-up" | "sample");
    let samples: BTreeSet<u32> = trace.events.iter().filter(samples).map(|e| e.pid).collect();
    assert_eq!(samples.len(), 3, "each sample of a command is a process of its own");
}

#[test]
fn where_the_kernel_reports_nothing_is_missing() {
    let world = World::new();
    let (_, trace) = traced(&world, &["--method", "read,mmap,pread-threads", "--threads", "3"]);
    if !is_complete(&trace) {
        println!("skipped: {}", trace.facts["scheduling"]);
        return;
    }
    if trace.facts["lost_events"] != 0 {
        println!("skipped: {} events were lost", trace.facts["lost_events"]);
        return;
    }
    let events = |pid: u32| trace.events.iter().filter(move |e| e.pid == pid);
    for method in ["read", "mmap", "pread-threads"] {
        let pid = pid_of(&trace, method);
        let main: Vec<&str> = events(pid)
            .filter(|e| e.tid == pid && e.is("scheduling"))
            .map(|e| e.name.as_str())
            .collect();
        assert!(main.contains(&"running") && main.contains(&"blocked"), "{method}: {main:?}");
        // The long wait for a request is a system call, and ends with a request.
        let waits = |e: &Event| e.is("system call") && e.name == "read" && e.args["result"] != 0;
        assert!(events(pid).any(waits), "{method}");
        assert!(events(pid).any(|e| e.is("page fault") && e.ph == "i"), "{method}");
    }
    let others = |e: &&Event| e.is("scheduling") && e.tid != e.pid;
    let threads: BTreeSet<u32> =
        events(pid_of(&trace, "pread-threads")).filter(others).map(|e| e.tid).collect();
    assert!(threads.len() >= 3, "{threads:?}");
}

#[test]
fn without_rights_scheduling_is_looked_at() {
    let world = World::new();
    let path = world.path("trace.json");
    let args = ["run", "reading", "--notes", "--method", "read,pread-threads", "--trace"];
    let args = [&args[..], &[path.to_str().unwrap()], ARGS].concat();
    let Some(ran) = world.run_as_nobody(&args) else { return };
    let shown = String::from_utf8_lossy(&ran.stdout);
    assert!(shown.contains("note: timeline: scheduling was polled"), "{shown}");
    let trace = read(&path);
    check_format(&trace);
    assert!(!is_complete(&trace));
    for fact in ["system_calls", "page_faults"] {
        let fact = trace.facts[fact].as_str().unwrap();
        assert!(fact.starts_with("missing: "), "{fact}");
    }
    let of = |e: &&Event| e.pid == pid_of(&trace, "read") && e.tid == e.pid;
    let of_read: Vec<&Event> = trace.events.iter().filter(of).collect();
    assert!(of_read.iter().any(|e| e.is("job")) && of_read.iter().any(|e| e.is("phase")));
    assert!(of_read.iter().any(|e| e.is("scheduling")), "it lives through many looks");
}

#[test]
fn a_worker_that_dies_is_a_note_and_the_rest_is_traced() {
    let world = World::new();
    // It takes the warm-up and the two rounds, and sends nothing in the fourth process.
    let count = world.path("count");
    let script = format!(
        "echo x >>{0}; [ $(wc -l <{0}) -gt 1 ] && exit 3; {1}",
        count.display(),
        on_go("echo \"done $n wall=5000000 bytes=1048576\"")
    );
    let worker = world.worker("dying", &script);
    let path = world.path("t.json");
    let all = ["run", "reading", "--notes", "-m", "read", "--worker", &worker, "--trace"];
    let ran = world.run(&[&all[..], &[path.to_str().unwrap()], ARGS].concat());
    assert!(ran.stdout.contains("timeline: ended with exit status 3"), "{}", ran.stdout);
    let trace = read(&path);
    check_format(&trace);
    pid_of(&trace, "read");
}

#[test]
fn a_path_that_cannot_be_written_is_reported_before_anything_is_measured() {
    let world = World::new();
    let dir = world.dir.path().to_str().unwrap();
    let below = world.path("no/such/trace.json");
    for (path, why) in [(dir, "is a directory"), (below.to_str().unwrap(), "cannot be written")] {
        let ran = world.run(&[&["run", "reading", "--trace", path], ARGS].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        let reported =
            ran.stderr.contains(&format!("--trace {path}: ")) && ran.stderr.contains(why);
        assert!(reported, "{}", ran.stderr);
        let made = files_below(world.dir.path());
        let made: Vec<String> = made.iter().map(|path| path.display().to_string()).collect();
        let other = |path: &&String| !path.ends_with("runs.sqlite");
        assert_eq!(made.iter().find(other), None, "but for the store nothing is made");
    }
}

/// A built-in method and a worker, which writes one line with a time and one without.
#[test]
fn the_phases_that_a_method_marks_are_spans_below_its_sample() {
    let world = World::new();
    let go = "case $rest in *marks=yes*) echo 'mark first%20touch at=1'; echo mark sum;; esac
              echo \"done $n wall=1000 bytes=1048576\"";
    let marking = world.worker("marking", &on_go(go));
    let path = world.path("trace.json");
    let to_file = ["run", "reading", "--trace", path.to_str().unwrap()];
    // The worker knows no answer: it is measured, and out.
    let ran = world.run(&[&to_file, ARGS, &["-m", "read-to-vec", "--worker", &marking]].concat());
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    let trace = read(&path);
    check_format(&trace);
    for (method, phases) in [
        ("read-to-vec", &["allocate and read", "fold", "free"][..]),
        ("marking", &["first touch", "sum"]),
    ] {
        let pid = pid_of(&trace, method);
        let begun = trace.events.iter().filter(|e| e.pid == pid && e.ph == "b");
        let names: Vec<&str> = begun.map(|event| event.name.as_str()).collect();
        let sample = names.iter().position(|name| *name == "sample").unwrap();
        assert_eq!(names[sample + 1..], *phases, "{names:?}");
    }
}
