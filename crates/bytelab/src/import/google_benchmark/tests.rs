//! Tests of repetitions, aggregates and errors.

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
    let fill = cell(&run, "BM_fill/4096");
    assert_eq!(fill.values["pages"], [1.0; 5]);
    assert!(fill.values["wall_ns"].iter().all(|ns| (10.0..10_000.0).contains(ns)), "{fill:?}");
    assert_eq!(cell(&run, "BM_broken").status, Status::Failed("no such file".to_owned()));
    assert_eq!(cell(&run, "BM_threads/real_time/threads:2").about, "two <b>threads</b>");
    assert_eq!(run.started, "2026-11-22T00:55:42Z");
    assert_eq!(run.environment.facts["cpu_threads"], 2);
    assert!(run.notes.iter().any(|note| note.to_string().contains("without optimisation")));
}

#[test]
fn aggregates_are_the_last_resort_and_called_so() {
    let run = run(include_str!("../fixtures/google-benchmark-aggregates.json"), &SOURCE).unwrap();
    let copy = cell(&run, "BM_copy/4096");
    assert_eq!(copy.samples.len(), 1);
    assert!(copy.values["wall_stddev_ns"][0] > 0.0);
    let note = "only aggregates are in the file: the one value is the median of 5 repetitions";
    assert!(run.notes.iter().any(|n| n.to_string() == note), "{:?}", run.notes);
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

/// Google Benchmark divides by CPU time, unless the benchmark declares that it is measured by real
/// or manual time.
#[test]
fn throughput_is_by_wall_time_or_named_for_what_it_is() {
    let near =
        |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{value}");
    let run = run(include_str!("../fixtures/google-benchmark.json"), &SOURCE).unwrap();
    let copy = cell(&run, "BM_copy/4096");
    for (rate, wall_ns) in copy.values["throughput_bytes_per_s"].iter().zip(&copy.values["wall_ns"])
    {
        near(*rate, 4096.0 / wall_ns * 1e9);
    }
    let run_of = |executable: &str, name: &str, kind: &str| {
        let text = format!(
            "{{\"context\":{{\"executable\":{executable:?}}},\"benchmarks\":[{{\"name\":{name:?},\
             \"iterations\":1,{kind}\"real_time\":100,\"cpu_time\":25,\"bytes_per_second\":8e9}}]}}"
        );
        super::run(&text, &SOURCE).unwrap()
    };
    let check = |executable: &str, name: &str, kind: &str, wall: Option<f64>, cpu: Option<f64>| {
        let values = &run_of(executable, name, kind).cells[0].values;
        let first = |name: &str| values.get(name).map(|column| column[0]);
        assert_eq!(first("throughput_bytes_per_s"), wall, "{name}");
        assert_eq!(first("bytes_per_cpu_second"), cpu, "{name}");
    };
    check("./bench", "a", "", Some(2e9), None);
    check("./bench", "a/real_time", "", Some(8e9), None);
    check("./bench", "a/8/manual_time/threads:2", "", Some(8e9), None);
    // Exports of bytelab are by wall time.
    check("bytelab", "a", "", Some(8e9), None);
    // The median of a rate by CPU time gives the bytes; a mean of rates does not.
    let of = |kind: &str| format!("\"run_type\":\"aggregate\",\"aggregate_name\":\"{kind}\",");
    check("./bench", "a_median", &of("median"), Some(2e9), None);
    check("./bench", "a_mean", &of("mean"), None, Some(8e9));
    let text = "{\"context\":{},\"benchmarks\":[{\"name\":\"a\",\"iterations\":1,\"real_time\":100,\
                \"bytes_per_second\":8e9}]}";
    let values = &super::run(text, &SOURCE).unwrap().cells[0].values;
    assert_eq!(values["bytes_per_cpu_second"], [8e9]);
}
