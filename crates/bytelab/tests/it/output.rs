//! The output: the JSON document's keys, the table's width, no colour without a terminal.

use crate::program::{SMALL, World, cell};

#[test]
fn the_json_document_has_the_keys_that_readers_rely_on() {
    let world = World::new();
    // If a state of the page cache is requested, an evicted page costs a sample.
    let (code, json) = world.reading(&["--label", "first", "--cache", "as-is"]);
    assert_eq!(json["schema"], 2);
    assert_eq!(json["experiment"], "reading");
    assert_eq!(json["label"], "first");
    assert_eq!(json["complete"], true);
    assert!(json["environment"].as_object().unwrap().len() >= 60);
    assert_eq!((&json["plan"]["sessions"], &json["plan"]["rounds"]), (&3.into(), &1.into()));
    let cells = json["cells"].as_array().unwrap();
    assert!(cells.len() >= 14, "{}", cells.len());
    let skipped: Vec<_> = cells.iter().filter(|cell| cell["status"] != "measured").collect();
    assert!(skipped.iter().all(|cell| cell["status"] == "skipped"), "{skipped:?}");
    assert_eq!(code, i32::from(!skipped.is_empty()));
    let read = cell(&json, "read");
    assert_eq!(read["point"]["size"], 65536);
    for metric in
        ["wall_ns", "cpu_ns", "throughput_bytes_per_s", "peak_rss_bytes", "device_read_bytes"]
    {
        let summary = &read["metrics"][metric];
        assert_eq!(summary["n"], 3, "{metric}");
        for p in ["p0", "p25", "p50", "p75", "p90", "p99", "p100"] {
            assert!(summary[p].is_number(), "{metric} {p}: {summary}");
        }
        assert!(summary["unit"].is_string());
    }
    assert_eq!(read["samples"]["wall_ns"].as_array().unwrap().len(), 3);
    let comparison = &json["comparisons"][0];
    for key in ["method", "reference", "point", "metric", "ratio", "low", "high", "verdict"] {
        assert!(comparison.get(key).is_some(), "{key}: {comparison}");
    }
    assert!(json["notes"].is_array());
}

#[test]
fn all_methods_give_the_same_answer() {
    let world = World::new();
    let (_, json) = world.reading(&[]);
    let comparisons = json["comparisons"].as_array().unwrap();
    let wrong: Vec<_> = comparisons.iter().filter(|c| c["verdict"] == "wrong-answer").collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_table_fits_80_columns_and_has_no_colour_without_a_terminal() {
    let world = World::new();
    let ran = world.run(&[&["run", "reading"], SMALL].concat());
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    for line in ran.stdout.lines() {
        assert!(line.chars().count() <= 80, "{}: {line}", line.chars().count());
    }
    for method in ["read", "mmap-window", "memory", "cat"] {
        assert!(ran.stdout.contains(method), "{method}: {}", ran.stdout);
    }
}

#[test]
fn a_sweep_measures_each_point() {
    let world = World::new();
    let (_, json) = world.reading(&["--method", "read,mmap", "--buffer", "4KiB..16KiB"]);
    let cells = json["cells"].as_array().unwrap();
    let buffers: Vec<&serde_json::Value> = cells
        .iter()
        .filter(|cell| cell["method"] == "read")
        .map(|cell| &cell["point"]["buffer"])
        .collect();
    assert_eq!(buffers, [4096, 8192, 16384]);
    let mmaps = cells.iter().filter(|cell| cell["method"] == "mmap").count();
    let references = json["comparisons"].as_array().unwrap().iter().map(|c| &c["reference"]);
    assert!(references.clone().count() > 0 && references.into_iter().all(|name| name == "read"));
    assert_eq!(mmaps, 1, "a method that does not read the swept param is measured once");
}

#[test]
fn a_file_of_the_users_own_is_read() {
    let world = World::new();
    let file = &world.write("mine", vec![7u8; 100_001]);
    let (_, json) = world.reading(&["--file", file, "--method", "read,mmap*,pread-threads"]);
    let read = cell(&json, "read");
    assert_eq!(read["point"]["size"], 100_001);
    assert_eq!(read["status"], "measured");
    let text = world.run(&["show", json["id"].as_str().unwrap(), "--percentiles"]).stdout;
    assert!(text.contains("p99"), "{text}");
}

#[test]
fn a_cold_file_comes_from_the_device_or_is_not_counted() {
    let world = World::new();
    let file = &world.write("cold", vec![7u8; 1 << 20]);
    let (_, json) = world.reading(&["--file", file, "--method", "read", "--cache", "cold"]);
    let read = cell(&json, "read");
    if read["status"] == "measured" {
        let bytes = &read["metrics"]["device_read_bytes"];
        assert!(bytes["p0"].as_f64().unwrap() > 0.0, "{bytes}");
    } else {
        // On a memory file system no file can be cold.
        assert!(read["reason"].as_str().unwrap().contains("not cold"), "{read}");
    }
}

#[test]
fn help_lists_the_params_of_an_experiment() {
    let help = World::new().run(&["run", "reading", "--help"]);
    assert_eq!(help.code, 0);
    for flag in ["--size", "--file", "--buffer", "--parallel", "--cache", "--rounds"] {
        assert!(help.stdout.contains(flag), "{flag}");
    }
}

/// What is decided when the time is over differs from run to run; by which sessions it is decided
/// does not.
#[test]
fn without_a_number_of_rounds_verdicts_are_those_of_looks() {
    let world = World::new();
    let methods =
        ["run", "reading", "--size", "4KiB", "-m", "read,mmap,read-to-vec", "--time", "3s"];
    let ran = world.run(&[&methods[..], &["--counting", "0", "--json"]].concat());
    let json = ran.json();
    assert!(ran.stderr.contains("until all is decided, at most 3 s"), "{}", ran.stderr);
    assert_eq!(json["complete"], true);
    assert_eq!(json["plan"]["design"], "sequential");
    for found in json["comparisons"].as_array().unwrap() {
        let sessions = found["sessions"].as_u64().unwrap() as usize;
        assert_eq!(found["low"].is_number(), analysis::stats::LOOKS.contains(&sessions), "{found}");
    }
    let shown = world.run(&["show", "1", "--notes"]);
    assert!(shown.stdout.contains("until all is decided"), "{}", shown.stdout);
    assert!(shown.stdout.contains("measured: "), "{}", shown.stdout);
}

#[test]
fn a_time_is_the_limit_of_the_whole_run_and_one_that_is_too_short_gives_no_verdict() {
    let world = World::new();
    let of = ["run", "reading", "--size", "4KiB", "-m", "read,mmap"];
    let ran = world.run(&[&of[..], &["--time", "1us"]].concat());
    assert!(ran.stderr.contains("at most 1 s\n"), "{}", ran.stderr);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "note: no verdict: in 0.000001 s there was time for 0 of the 6 sessions";
    assert!(words.contains(note), "{words}");
    assert!(!words.contains("faster") && !words.contains("slower"), "{words}");
    let ran = world.run(&[&of[..], &["--rounds", "6", "--counting", "0", "--json"]].concat());
    assert!(ran.stderr.contains("whatever time that takes"), "{}", ran.stderr);
    let json = ran.json();
    assert_eq!(crate::program::cell(&json, "read")["metrics"]["wall_ns"]["n"], 6);
}

#[test]
fn what_counts_as_the_same_can_be_given_and_is_shown() {
    let world = World::new();
    let of = ["run", "reading", "--size", "4KiB", "-m", "read,mmap", "--rounds", "6"];
    let ran = world.run(&[&of[..], &["--counting", "0", "--margin", "50%"]].concat());
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("· same: within 50 %"), "{words}");
    let shown = world.run(&["show", "1", "--json"]);
    let json = shown.json();
    assert_eq!(json["plan"]["margin_percent"], 50.0);
    let decides = json["comparisons"].as_array().unwrap().iter().find(|c| c["decides"] == true);
    let found = decides.unwrap();
    let [low, high] = ["low", "high"].map(|bound| found[bound].as_f64().unwrap());
    let is_same = low <= 1.0 && high >= 1.0 && low >= 1.0 / 1.5 && high <= 1.5;
    assert_eq!(found["verdict"] == "same", is_same, "{found}");
}

#[test]
fn a_dry_run_says_how_long_it_takes_by_the_last_run_and_measures_nothing() {
    let world = World::new();
    let of = ["run", "reading", "--size", "4KiB", "-m", "read,mmap,read-to-vec"];
    let dry = |args: &[&str]| world.run(&[&of[..], args, &["--dry-run"]].concat());
    let ran = dry(&[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let first = "measuring 3 methods of reading: until all is decided, at most 30 s of rounds (90 \
                 s in all), or as long as a first verdict takes\n";
    let help = world.run(&["run", "reading", "-h"]).stdout;
    assert!(help.contains("[default: 30s of rounds, 90s in all]"), "{help}");
    let rest = ran.stdout.strip_prefix(first).unwrap_or_else(|| panic!("{}", ran.stdout));
    assert!(rest.starts_with("how long its samples take is not known"), "{rest}");
    world.run(&["run", "reading", "--size", "4KiB", "-m", "read,mmap", "--rounds", "2"]);
    let rest = dry(&[]).stdout;
    let by_run = " s by run 1, in which 2 of 3 are known";
    assert!(
        rest.contains("\n6 sessions of a round take about ") && rest.contains(by_run),
        "{rest}"
    );
    let fixed = dry(&["--rounds", "100"]).stdout;
    assert!(fixed.contains("\n20 sessions of 5 rounds take about "), "{fixed}");
    let history = world.run(&["history", "--json"]).json();
    assert_eq!(history.as_array().unwrap().len(), 1);
}

/// Some have more combinations of values than can be measured, because they have many params.
#[test]
fn every_experiment_has_a_default_run_and_every_job_of_memory() {
    let world = World::new();
    let jobs = "latency,bandwidth,loaded,tlb,page-fault,core-to-core,naive,arithmetic";
    let plans = |args: &[&str]| {
        let ran = world.run(&[&["run"], args, &["--dry-run"]].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
    };
    for experiment in [
        "awaiting", "copying", "decoding", "files", "loading", "memory", "reading", "sampling",
        "threads",
    ] {
        plans(&[experiment]);
    }
    plans(&["memory", "--job", jobs]);
    let args = ["run", "memory", "--size", "1..2000*1", "--span", "8192..30000", "--dry-run"];
    let refused = world.run(&args);
    assert_eq!(refused.code, 2, "{}", refused.stdout);
}
