//! System calls and allocations: exact, the same in every sample, with and without permissions.

use serde_json::Value;

use crate::program::{World, cell};

const ARGS: &[&str] = &[
    "run",
    "reading",
    "--json",
    "--size",
    "1MiB",
    "--buffer",
    "64KiB",
    "--rounds",
    "2",
    "--method",
    "read,read-to-vec,mmap,pread-threads,memory,cat",
    "--counting",
    "4",
    // The kernel may evict a page of a program or of its file: without a requested cache state, all
    // samples count.
    "--cache",
    "as-is",
];

fn document(text: &[u8]) -> Value {
    serde_json::from_slice(text)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(text)))
}

/// Whether calls can be counted on this machine.
#[expect(clippy::print_stdout, reason = "a test says why it is skipped")]
fn counted(json: &Value) -> bool {
    let notes = json["notes"].as_array().unwrap();
    let refused = notes.iter().filter_map(|note| note["text"].as_str());
    let refused = refused.into_iter().find(|text| text.contains("ptrace is not permitted"));
    if let Some(why) = refused {
        println!("skipped: {why}");
    }
    refused.is_none()
}

fn check(json: &Value) {
    for (method, calls) in [("read", "read"), ("mmap", "mmap"), ("memory", "none")] {
        let cell = cell(json, method);
        let by_name = cell["syscalls_by_name"].as_object().unwrap();
        let total: f64 = by_name.values().map(|n| n.as_f64().unwrap()).sum();
        let samples = cell["counting"]["samples"]["syscalls"].as_array().unwrap();
        let samples: Vec<f64> = samples.iter().map(|n| n.as_f64().unwrap()).collect();
        // One sample is enough where the warm-up had the same counts.
        let n = samples.len();
        assert!((1..=2).contains(&n) && samples == vec![total; n], "{method}: {by_name:?}");
        assert_eq!(cell["metrics"]["syscalls"]["n"], n);
        assert_eq!(cell["metrics"]["wall_ns"]["n"], 2);
        match calls {
            // 16 buffers, and the read that finds the end.
            "read" => assert_eq!(by_name["read"], 17.0),
            "mmap" => assert!(by_name["mmap"] == 1.0 && total <= 10.0, "{by_name:?}"),
            _ => assert!(by_name.is_empty(), "{by_name:?}"),
        }
    }
    check_allocations(json);
    let threads = &cell(json, "pread-threads")["syscalls_by_name"];
    assert!(threads["pread64"].as_f64().unwrap() >= 8.0, "{threads}");
    assert_eq!(cell(json, "cat")["syscalls_by_name"]["exit_group"], 1.0);
}

/// The buffer of `read` is reused; the remaining allocation is the list of the files' results.
fn check_allocations(json: &Value) {
    let samples = |method: &str, metric: &str| -> Vec<f64> {
        let samples = &cell(json, method)["counting"]["samples"][metric];
        samples.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
    };
    let check = |method: &str, metric: &str, expected: f64| {
        let samples = samples(method, metric);
        assert!(!samples.is_empty() && samples == vec![expected; samples.len()], "{samples:?}");
    };
    check("read", "allocations", 1.0);
    check("read", "allocated_bytes", 8.0);
    check("read", "peak_live_bytes", 8.0);
    check("read-to-vec", "allocated_bytes", 1_048_584.0);
    // Of the calls of a built-in method, one sample is traced.
    let moved = |method: &str| {
        let samples = &cell(json, method)["counting"]["samples"]["transferred_bytes"];
        samples.as_array().unwrap().iter().find_map(Value::as_f64)
    };
    let file = f64::from(1 << 20);
    assert_eq!([moved("read"), moved("mmap"), moved("memory")], [Some(file), Some(0.0), Some(0.0)]);
    assert!(moved("cat") >= Some(file), "{:?}", moved("cat"));
    // A program that is not part of this workspace.
    let cat = samples("cat", "allocations");
    assert_eq!(cat, [cat[0]; 2]);
    assert!(cat[0] > 0.0);
}

#[test]
fn system_calls_and_allocations_are_exact() {
    let world = World::new();
    let ran = world.run(ARGS);
    let json = document(ran.stdout.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    if counted(&json) {
        check(&json);
        let id = json["id"].as_str().unwrap();
        assert_eq!(document(world.run(&["show", id, "--json"]).stdout.as_bytes()), json);
        let text = world.run(&["show", id, "--percentiles"]).stdout;
        assert!(text.contains("read 17, close 1"), "{text}");
    }
}

#[test]
fn another_user_without_rights_counts_the_same() {
    let world = World::new();
    let Some(ran) = world.run_as_nobody(ARGS) else { return };
    let json = document(&ran.stdout);
    if counted(&json) {
        check(&json);
    }
    let read = &cell(&json, "read")["metrics"];
    for metric in ["wall_ns", "cpu_ns", "peak_rss_bytes", "device_read_bytes", "minor_faults"] {
        assert_eq!(read[metric]["n"], 2, "{metric}");
    }
}

#[test]
fn the_doctor_has_tried_to_count_allocations() {
    let world = World::new();
    let found = document(world.run(&["doctor", "--json"]).stdout.as_bytes());
    let abilities = found["abilities"].as_array().unwrap();
    for name in ["count allocations", "foreign allocations"] {
        let ability = abilities.iter().find(|ability| ability["name"] == name).unwrap();
        assert!(ability["available"] == true, "{ability}");
    }
    let metrics = found["metrics"].as_array().unwrap();
    assert!(metrics.iter().any(|m| m["name"] == "peak_live_bytes" && m["available"] == true));
}

#[test]
fn a_fresh_run_shows_what_came_before_the_first_touch() {
    let world = World::new();
    let (code, json) = world.reading(&["--method", "read,mmap,cat", "--fresh", "--cache", "as-is"]);
    assert_eq!(code, 0, "{json}");
    assert_eq!(json["plan"]["fresh"], true);
    for method in ["read", "mmap"] {
        let metrics = &cell(&json, method)["metrics"];
        for metric in ["startup_ns", "prepare_ns", "first_touch_ns", "total_ns"] {
            assert_eq!(metrics[metric]["n"], 3, "{method} {metric}");
        }
        assert!(metrics["counting_wall_ns"].is_null(), "it is not that of a first sample");
        assert!(cell(&json, method)["digest"].is_string(), "of a process without a sample");
    }
    let id = json["id"].as_str().unwrap();
    let shown = world.command(&["show", id]).env("COLUMNS", "140").output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    for column in ["start-up", "prepare", "total"] {
        assert!(text.contains(column), "{column}: {text}");
    }
}

#[test]
fn without_the_counting_pass_nothing_is_counted() {
    let world = World::new();
    let (_, json) = world.reading(&["--method", "read", "--counting", "0"]);
    let read = cell(&json, "read");
    assert!(read["syscalls_by_name"].is_null() && read["metrics"]["syscalls"].is_null(), "{read}");
    let mut show = world.command(&["show", json["id"].as_str().unwrap()]);
    let shown = show.env("COLUMNS", "200").output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(!text.contains(" calls"), "{text}");
}

#[test]
fn the_table_shows_system_calls_where_there_is_room() {
    let world = World::new();
    let (_, json) = world.reading(&["--method", "read,mmap"]);
    let id = json["id"].as_str().unwrap();
    let show = |width: &str| {
        let shown = world.command(&["show", id]).env("COLUMNS", width).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    };
    assert!(show("160").contains(" calls "), "{}", show("160"));
    assert!(!show("80").contains(" calls "), "{}", show("80"));
    assert!(show("60").contains("reference"), "{}", show("60"));
    let notes = world.run(&["show", id, "--notes"]).stdout;
    assert!(notes.contains("\nVerdicts are by the "), "{notes}");
    let more = ["show", id, "--columns", "user,sys"];
    let shown = world.command(&more).env("COLUMNS", "160").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let head =
        |line: &&str| line.contains("CPU") && line.contains("user") && line.contains("system");
    assert!(shown.lines().any(|line| head(&line)), "{shown}");
}

/// The process that starts it, which is a bytelab process, has several times as much memory.
#[test]
#[cfg(target_os = "linux")]
fn what_a_command_uses_is_not_that_of_the_method_that_starts_it() {
    let size = ["--size", "64KiB", "--output", "file", "--cache", "as-is"];
    let few = ["--method", "cat,read-write", "--rounds", "2", "--counting", "2", "--json"];
    let ran = World::new().run(&[&["run", "copying"], &size[..], &few].concat());
    let json = document(ran.stdout.as_bytes());
    if !counted(&json) {
        return;
    }
    let peak = |method: &str| {
        cell(&json, method)["metrics"]["peak_rss_bytes"]["p50"].as_f64().unwrap_or_default()
    };
    let [cat, read_write] = ["cat", "read-write"].map(peak);
    assert!(cat > 100_000.0 && 2.0 * cat < read_write, "{cat} {read_write}");
    // The allocations of cat are not counted for the method that starts it.
    let allocations = |method: &str| cell(&json, method)["metrics"]["allocations"]["p50"].as_f64();
    assert_eq!(allocations("cat"), None, "{}", cell(&json, "cat"));
    assert!(allocations("read-write").is_some(), "{}", cell(&json, "read-write"));
    let why = |note: &Value| {
        note["method"] == "cat" && note["text"].as_str().unwrap().starts_with("allocations: ")
    };
    let notes: Vec<&Value> = json["notes"].as_array().unwrap().iter().filter(|n| why(n)).collect();
    assert!(
        notes.len() == 1 && notes[0]["text"].as_str().unwrap().contains("processes"),
        "{notes:?}"
    );
}
