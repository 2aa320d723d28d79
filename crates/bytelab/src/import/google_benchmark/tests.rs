//! Repetitions, aggregates, and what is wrong.

use super::super::tests::{SOURCE, check_refused};
use super::*;

fn cell<'a>(run: &'a Run, method: &str) -> &'a lab::run::Cell {
    run.cells.iter().find(|cell| cell.method == method).unwrap()
}

#[test]
fn repetitions_are_samples_and_times_are_in_ns() {
    let run = run(include_str!("../fixtures/google-benchmark.json"), &SOURCE).unwrap();
    let names: Vec<&str> = run.cells.iter().map(|cell| cell.method.as_str()).collect();
    let expected = [
        "BM_copy/4096",
        "BM_copy/65536",
        "BM_fill/4096",
        "BM_fill/65536",
        "BM_broken",
        "BM_threads/real_time/threads:2",
    ];
    assert_eq!(names, expected);
    let copy = cell(&run, "BM_copy/4096");
    assert_eq!(copy.samples.len(), 5);
    assert_eq!(copy.values["wall_ns"][0], 596.237_780_009_687_4);
    assert_eq!(copy.values["throughput_bytes_per_s"][0], 1.131_356_387_481_828_9e11);
    let fill = cell(&run, "BM_fill/4096");
    assert_eq!(fill.values["pages"], [1.0; 5]);
    assert!(fill.values["wall_ns"].iter().all(|ns| (10.0..10_000.0).contains(ns)), "{fill:?}");
    assert_eq!(cell(&run, "BM_broken").status, Status::Failed("no such file".to_owned()));
    assert_eq!(cell(&run, "BM_threads/real_time/threads:2").about, "two <b>threads</b>");
    assert_eq!(run.started, "2026-11-22T00:55:42Z");
    assert_eq!(run.environment.facts["cpu_threads"], 2);
    assert!(run.notes.iter().any(|note| note.text.contains("without optimisation")));
}

#[test]
fn aggregates_are_the_last_resort_and_called_so() {
    let run = run(include_str!("../fixtures/google-benchmark-aggregates.json"), &SOURCE).unwrap();
    let copy = cell(&run, "BM_copy/4096");
    assert_eq!(copy.samples.len(), 1);
    assert!(copy.values["wall_stddev_ns"][0] > 0.0);
    let note = "only aggregates are in the file: the one value is the median of 5 repetitions";
    assert!(run.notes.iter().any(|n| n.text == note), "{:?}", run.notes);
}

#[test]
fn what_is_wrong_is_named_by_key_and_index() {
    let check = |benchmarks: &str, expected: &str| {
        let text = format!("{{\"context\":{{}},\"benchmarks\":[{benchmarks}]}}");
        check_refused(run, &text, expected);
    };
    let entry = |more: &str| format!("{{\"name\":\"a\",\"iterations\":1{more}}}");
    check("", "no result is in it");
    check(&entry(""), "benchmarks[0]: real_time is missing");
    check(&entry(",\"real_time\":-1"), "benchmarks[0].real_time: -1 is below 0");
    check(&entry(",\"real_time\":NaN"), "NaN at line 1 column");
    check(&entry(",\"real_time\":1e308,\"time_unit\":\"s\""), "benchmarks[0].real_time: too large");
    check(&entry(",\"real_time\":1,\"time_unit\":\"h\""), "time_unit: \"h\" is none of");
    check(&entry(",\"real_time\":\"x\""), "benchmarks[0]: real_time is not a number");
    check("{\"name\":\"a\",\"real_time\":1}", "benchmarks[0]: iterations is missing");
    check("{\"name\":\"a\",\"iterations\":0.5,\"real_time\":1}", "0.5 is no number of operations");
    check("{\"name\":\"\"}", "benchmarks[0]: its name is empty");
    check("{}", "benchmarks[0]: name is missing");
    check("{\"name\":\"a_stddev\",\"real_time\":1}", "\"a\" has neither repetitions nor");
}

#[test]
fn two_benchmarks_of_one_name_stay_two() {
    let entry = |family: u32| {
        format!("{{\"name\":\"a\",\"family_index\":{family},\"iterations\":1,\"real_time\":1}}")
    };
    let all = [entry(0), entry(0), entry(1)].join(",");
    let run = run(&format!("{{\"context\":{{}},\"benchmarks\":[{all}]}}"), &SOURCE).unwrap();
    let found: Vec<_> = run.cells.iter().map(|c| (&*c.method, c.samples.len())).collect();
    assert_eq!(found, [("a", 2), ("a #2", 1)]);
}
