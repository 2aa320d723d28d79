//! System calls of the built-in methods: exact, the same in every sample, with and without rights.

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
    "read,mmap,pread-threads,memory,cat",
    "--counting",
    "4",
];

fn document(text: &[u8]) -> Value {
    serde_json::from_slice(text)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(text)))
}

/// Whether calls can be counted at all here.
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
        assert_eq!(samples, [total; 4], "{method}: {by_name:?}");
        assert_eq!(cell["metrics"]["syscalls"]["n"], 4);
        assert_eq!(cell["metrics"]["wall_ns"]["n"], 2);
        match calls {
            // 16 buffers, and the read that finds the end.
            "read" => assert_eq!(by_name["read"], 17.0),
            "mmap" => assert!(by_name["mmap"] == 1.0 && total <= 10.0, "{by_name:?}"),
            _ => assert!(by_name.is_empty(), "{by_name:?}"),
        }
    }
    let threads = &cell(json, "pread-threads")["syscalls_by_name"];
    assert!(threads["pread64"].as_f64().unwrap() >= 8.0, "{threads}");
    assert_eq!(cell(json, "cat")["syscalls_by_name"]["exit_group"], 1.0);
}

#[test]
fn system_calls_are_exact() {
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
fn without_the_counting_pass_nothing_is_counted() {
    let world = World::new();
    let (_, json) = world.reading(&["--method", "read", "--counting", "0"]);
    let read = cell(&json, "read");
    assert!(read["syscalls_by_name"].is_null() && read["metrics"]["syscalls"].is_null(), "{read}");
    let mut show = world.command(&["show", json["id"].as_str().unwrap()]);
    let shown = show.env("COLUMNS", "200").output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(!text.contains("sys"), "{text}");
}

#[test]
fn the_table_shows_system_calls_in_80_columns() {
    let world = World::new();
    let (_, json) = world.reading(&["--method", "read,mmap"]);
    let id = json["id"].as_str().unwrap();
    let show = |width: &str| {
        let shown = world.command(&["show", id]).env("COLUMNS", width).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    };
    for width in ["160", "80"] {
        assert!(show(width).contains("  sys  "), "{}", show(width));
    }
    assert!(show("60").contains("reference"), "{}", show("60"));
}
