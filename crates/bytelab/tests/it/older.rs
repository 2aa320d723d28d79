//! Runs that an older bytelab measured: metrics with a wrong definition are missing, with the
//! reason, and are not compared.
//!
//! `older.sqlite` was written by a bytelab whose metrics were all of version 1. Run 1 is of a file:
//! gzip as a plain command and through a shell; run 2 is of `copying`: cat, a built-in method, and
//! Python in a worker of bytelab; run 3 is of `reading`: a built-in method and a worker in Python.

use serde_json::Value;

use crate::program::{World, cell};

fn world() -> World {
    let world = World::new();
    std::fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/older.sqlite"),
        world.path("older.sqlite"),
    )
    .unwrap();
    world
}

impl World {
    fn older(&self, args: &[&str]) -> crate::program::Ran {
        let store = self.path("older.sqlite");
        self.run(&[args, &["--store", store.to_str().unwrap()]].concat())
    }

    fn shown(&self, id: &str) -> Value {
        self.older(&["show", id, "--json"]).json()
    }
}

/// Checks that these metrics of a method are present, and that those are absent and have a reason.
fn check(run: &Value, method: &str, there: &[&str], left_out: &[&str]) {
    let metrics = &cell(run, method)["metrics"];
    for metric in there {
        assert!(metrics[metric].is_object(), "{method} has no {metric}: {metrics}");
    }
    for metric in left_out {
        assert!(metrics[metric].is_null(), "{method} has {metric}: {metrics}");
        let begins = format!("{metric}: measured by an older definition");
        let notes = run["notes"].as_array().unwrap().iter();
        let mut notes = notes.filter(|note| note["method"] == method);
        let why = |note: &Value| note["text"].as_str().unwrap().starts_with(&begins);
        assert!(notes.any(why), "{metric} of {method}: {}", run["notes"]);
    }
}

const OF_ONE_PROCESS: [&str; 6] = [
    "cpu_ns",
    "run_queue_wait_ns",
    "minor_faults",
    "major_faults",
    "voluntary_switches",
    "involuntary_switches",
];

#[test]
fn what_an_older_bytelab_got_wrong_of_commands_is_left_out() {
    let run = world().shown("1");
    for method in ["direct", "shell"] {
        let there = ["wall_ns", "peak_rss_bytes", "device_read_bytes", "syscalls", "startup_ns"];
        check(&run, method, &there, &OF_ONE_PROCESS);
        check(&run, method, &[], &["wall_less_wait_ns", "throughput_bytes_per_s"]);
    }
    // By the time without the waits of the shell, which only waits, the answer had been "158 % more
    // time".
    assert_eq!(run["families"][0]["metric"], "wall_ns");
    let decides = |c: &&Value| c["decides"] == true;
    let decision = run["comparisons"].as_array().unwrap().iter().find(decides).unwrap();
    assert_eq!(decision["metric"], "wall_ns");
    assert!(decision["ratio"].as_f64().unwrap() < 1.3, "{decision}");
}

#[test]
fn what_an_older_bytelab_got_wrong_of_methods_that_start_processes_is_left_out() {
    let run = world().shown("2");
    for method in ["cat", "python"] {
        check(&run, method, &["wall_ns", "throughput_bytes_per_s"], &OF_ONE_PROCESS);
        check(&run, method, &[], &["wall_less_wait_ns", "peak_rss_bytes", "allocations"]);
    }
    // The definitions for this method have not changed.
    check(&run, "read-write", &OF_ONE_PROCESS, &[]);
    let there = ["wall_less_wait_ns", "peak_rss_bytes", "throughput_bytes_per_s"];
    check(&run, "read-write", &there, &[]);
    assert_eq!(
        run["families"][0]["pareto"],
        serde_json::json!(["read-write"]),
        "no star from an unknown"
    );
}

#[test]
fn what_an_older_bytelab_got_wrong_of_workers_is_left_out() {
    let run = world().shown("3");
    let there = ["wall_ns", "throughput_bytes_per_s", "peak_rss_bytes"];
    check(&run, "python-read", &there, &OF_ONE_PROCESS);
    check(&run, "python-read", &[], &["device_read_bytes", "device_write_bytes"]);
    check(&run, "read", &OF_ONE_PROCESS, &[]);
    check(&run, "read", &["device_read_bytes", "peak_rss_bytes"], &[]);
}

#[test]
fn values_of_two_definitions_are_never_joined() {
    let world = world();
    let ran = world.older(&["history", "--plot", "shell", "--metric", "cpu"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    let line = "runs left out, as cpu_ns of shell had an older definition there: 1\n";
    assert!(ran.stderr.contains(line), "{}", ran.stderr);
    let ran = world.older(&["history", "--plot", "shell"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "the wall time is what it was");

    let ran = world.older(&["check", "--baseline", "1", "--allow", "cpu=5%"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    let line = "run 1 measured cpu_ns of direct by an older definition: measure it again";
    assert!(ran.stderr.contains(line), "{}", ran.stderr);

    let text = "[data]\nsize = \"1MiB\"\ncontent = \"text\"\n
        [[method]]\nname = \"direct\"\ncommand = \"gzip -c {file}\"\n
        [[method]]\nname = \"shell\"\ncommand = \"gzip -c {file}; true\"\nshell = true\n";
    let file = world.path("shell.toml");
    std::fs::write(&file, text).unwrap();
    let few = ["--rounds", "4", "--counting", "0", "--json"];
    let ran = world.older(&[&["run", file.to_str().unwrap()], &few[..]].concat());
    let now = ran.json();
    assert_eq!(now["plan"]["metric_versions"]["cpu_ns"], 2, "{now}");
    let ran = world.older(&["compare", "1", now["id"].as_str().unwrap(), "--json"]);
    let sides = ran.json();
    let lines = sides["comparisons"].as_array().unwrap();
    let metrics = || lines.iter().map(|line| &line["metric"]);
    assert!(metrics().any(|metric| metric == "wall_ns"), "{sides}");
    assert!(metrics().all(|metric| metric != "cpu_ns" && metric != "minor_faults"), "{sides}");
    let note = sides["notes"].to_string();
    assert!(note.contains("run 1: where an older definition of"), "{note}");
}
