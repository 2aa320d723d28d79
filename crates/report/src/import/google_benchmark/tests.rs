//! Tests of repetitions, aggregates and errors.

use super::super::tests::{SOURCE, check_refused};
use super::*;

fn cell<'a>(run: &'a Run, method: &str) -> &'a model::run::Cell {
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
    check(&entry(",\"real_time\":1e308,\"time_unit\":\"s\""), "benchmarks[0].real_time: too large");
    check(&entry(",\"real_time\":1,\"time_unit\":\"h\""), "time_unit: \"h\" is none of");
    check(&entry(",\"real_time\":\"x\""), "benchmarks[0]: real_time is not a number");
    check("{\"name\":\"a\",\"real_time\":1}", "benchmarks[0]: iterations is missing");
    check("{\"name\":\"a\",\"iterations\":0.5,\"real_time\":1}", "0.5 is no number of operations");
    check("{\"name\":\"\"}", "benchmarks[0]: its name is empty");
    check("{}", "benchmarks[0]: name is missing");
    let deviation = r#"{"name":"a_stddev","run_type":"aggregate","aggregate_name":"stddev"}"#;
    check(deviation, "\"a\" has neither repetitions nor");
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
    for (rate, wall_ns) in
        copy.values["throughput_bytes_per_s"].iter().zip(copy.values["wall_ns"].iter())
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

fn notes(run: &Run) -> Vec<String> {
    run.notes.iter().map(ToString::to_string).collect()
}

/// Each benchmark: its samples, its times in ns, its CPU times, and its status.
fn shown(run: &Run) -> Vec<String> {
    let of = |cell: &model::run::Cell| {
        let column = |name: &str| match cell.values.get(name) {
            None => "-".to_owned(),
            Some(values) => values.iter().map(f64::to_string).collect::<Vec<_>>().join(" "),
        };
        let (name, status) = (&cell.method, cell.status.word());
        format!("{name}: {} / {} {status}", column("wall_ns"), column("cpu_ns"))
    };
    run.cells.iter().map(of).collect()
}

fn whole(context: &str, benchmarks: &[&str]) -> Run {
    let text = format!("{{\"context\":{{{context}}},\"benchmarks\":[{}]}}", benchmarks.join(","));
    run(&text, &SOURCE).unwrap()
}

#[test]
fn version_1_0_has_neither_run_names_nor_offsets_of_its_date() {
    let run = whole(
        r#""date":"2016/08/02-21:39:23","num_cpus":4,"mhz_per_cpu":2300,"cpu_scaling_enabled":false"#,
        &[
            r#"{"name":"BM_a/8","iterations":100,"real_time":12,"cpu_time":11,"time_unit":"ns"}"#,
            r#"{"name":"BM_a/8","iterations":100,"real_time":14,"cpu_time":13,"time_unit":"ns"}"#,
            r#"{"name":"BM_a/8_mean","iterations":2,"real_time":13,"cpu_time":12,"time_unit":"ns"}"#,
            r#"{"name":"BM_a/8_stddev","iterations":2,"real_time":1,"cpu_time":1,"time_unit":"ns"}"#,
            r#"{"name":"BM_a_BigO","cpu_coefficient":1,"real_coefficient":2,"big_o":"N","time_unit":"ns"}"#,
            r#"{"name":"BM_a_RMS","rms":3}"#,
        ],
    );
    assert_eq!(shown(&run), ["BM_a/8: 12 14 / 11 13 measured"]);
    assert_eq!(run.started, "2016-08-02T21:39:23Z");
    let curve = "the curves that were fitted (BigO, RMS) are not read, such as that of \"BM_a\"";
    assert!(notes(&run).iter().any(|note| note == curve), "{:?}", notes(&run));
}

#[test]
fn version_1_4_has_dates_without_an_offset_and_aggregates_by_type() {
    let entry = |kind: &str, ns: u32| {
        format!(
            r#"{{"name":"BM_a_{kind}","run_name":"BM_a","run_type":"aggregate","aggregate_name":"{kind}",
            "iterations":3,"real_time":{ns},"cpu_time":{ns},"time_unit":"ms"}}"#
        )
    };
    let all = [entry("mean", 5), entry("median", 4), entry("stddev", 1)];
    let run = whole(r#""date":"2018-06-25 17:41:37""#, &all.each_ref().map(String::as_str));
    assert_eq!(shown(&run), ["BM_a: 4000000 / 4000000 measured"]);
    assert_eq!(run.cells[0].values["wall_stddev_ns"], [1e6]);
    assert_eq!(run.started, "2018-06-25T17:41:37Z");
}

#[test]
fn version_1_8_has_its_version_and_skips() {
    let run = whole(
        r#""date":"2026-01-02T03:04:05+01:00","library_version":"v1.8.3","json_schema_version":1"#,
        &[
            r#"{"name":"BM_a","family_index":0,"per_family_instance_index":0,"run_name":"BM_a",
            "run_type":"iteration","repetitions":1,"repetition_index":0,"threads":1,"iterations":100,
            "real_time":1.5,"cpu_time":1.25,"time_unit":"us","items_per_second":8e8}"#,
            r#"{"name":"BM_b","family_index":1,"per_family_instance_index":0,"run_name":"BM_b",
            "run_type":"iteration","skipped":true,"skip_message":"no disk","iterations":0,
            "real_time":NaN,"cpu_time":NaN,"time_unit":"us"}"#,
        ],
    );
    assert_eq!(shown(&run), ["BM_a: 1500 / 1250 measured", "BM_b: - / - skipped"]);
    assert_eq!(run.cells[0].values["items_per_second"], [8e8]);
    assert_eq!(run.started, "2026-01-02T02:04:05Z");
    assert_eq!(run.plan.imported.unwrap().tool, "google-benchmark v1.8.3");
}

#[test]
fn what_is_no_number_is_missing_and_named() {
    let run = whole(
        "",
        &[
            r#"{"name":"BM_a","iterations":1,"real_time":2,"cpu_time":-nan,"rate":inf}"#,
            r#"{"name":"BM_b","iterations":1,"real_time":NaN,"cpu_time":3}"#,
            r#"{"name":"BM_c_BigO","run_name":"BM_c","run_type":"aggregate","aggregate_name":"BigO",
            "cpu_coefficient":-nan,"real_coefficient":-nan,"big_o":"N","time_unit":"us"}"#,
            r#"{"name":"BM_c_RMS","run_name":"BM_c","run_type":"aggregate","aggregate_name":"RMS",
            "rms":-nan}"#,
            r#"{"name":"BM_d_mean","run_name":"BM_d","run_type":"aggregate","aggregate_name":"mean",
            "iterations":3,"real_time":-nan,"cpu_time":1}"#,
        ],
    );
    let expected = ["BM_a: 2 / - measured", "BM_b: - / - failed", "BM_d: - / - failed"];
    assert_eq!(shown(&run), expected);
    assert!(!run.cells[0].values.contains_key("rate"));
    let reason = run.cells[1].status.reason();
    assert_eq!(reason, Some("benchmarks[1].real_time is no number"));
    let note = "NaN or infinite values are left out: \"cpu_time\", \"rate\", \"real_time\", \
                \"cpu_coefficient\", \"real_coefficient\", \"rms\"";
    assert!(notes(&run).iter().any(|found| found == note), "{:?}", notes(&run));
}

#[test]
fn a_warning_before_the_document_is_left_out() {
    let text = "2026-01-02T03:04:05+00:00\nRunning ./bench\n***WARNING*** CPU scaling is enabled\n\
                {\"context\":{},\"benchmarks\":[{\"name\":\"BM_a\",\"iterations\":100,\
                \"real_time\":12.5,\"time_unit\":\"us\"}]}\n";
    let format = super::super::guess(text.as_bytes()).unwrap();
    assert_eq!(format, ImportFormat::GoogleBenchmark);
    let run = super::super::file(format, text.as_bytes(), &SOURCE).unwrap();
    assert_eq!(shown(&run), ["BM_a: 12500 / - measured"]);
    let note = "text before the document is not read: 3 lines, the first of them \"2026-01-02T03:04:05+00:00\"";
    assert!(notes(&run).iter().any(|found| found == note), "{:?}", notes(&run));
    let error = super::super::file(format, text.replace("12.5", "x").as_bytes(), &SOURCE);
    let error = format!("{:#}", error.unwrap_err());
    assert!(error.contains(" at line 4 column "), "{error}");
}

#[test]
fn each_version_has_its_times() {
    let entry = |more: &str| format!(r#"{{"name":"BM_a",{more}}}"#);
    let run_type = r#""run_name":"BM_a","run_type":"iteration","repetitions":2,"threads":1"#;
    let of = |kind: &str, ns: f64| {
        format!(
            r#"{{"name":"BM_a_{kind}","family_index":0,"per_family_instance_index":0,"run_name":"BM_a",
            "run_type":"aggregate","repetitions":3,"threads":1,"aggregate_name":"{kind}",
            "aggregate_unit":"{}","iterations":3,"real_time":{ns},"cpu_time":{ns},"time_unit":"ns"}}"#,
            if kind == "cv" { "percentage" } else { "time" }
        )
    };
    let check = |entries: &[String], expected: &str| {
        let run = whole("", &entries.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(shown(&run), [expected]);
    };
    // 0.1: no unit, which is ns, and whole numbers.
    check(&[entry(r#""iterations":9,"real_time":5,"cpu_time":4"#)], "BM_a: 5 / 4 measured");
    // Without a CPU time, it is missing.
    check(&[entry(r#""iterations":9,"real_time":5"#)], "BM_a: 5 / - measured");
    check(&[entry(r#""iterations":9,"real_time":5,"cpu_time":null"#)], "BM_a: 5 / - measured");
    // 1.3: errors have no times, and no iterations.
    let error = entry(r#""error_occurred":true,"error_message":"no disk""#);
    check(std::slice::from_ref(&error), "BM_a: - / - failed");
    // 1.5: repetitions with their number.
    let repeated = |i: u32| {
        entry(&format!(
            r#"{run_type},"repetition_index":{i},"iterations":9,"real_time":{i}.5,"cpu_time":1,"time_unit":"s""#
        ))
    };
    let both = [repeated(1), repeated(2)];
    check(&both, "BM_a: 1500000000 2500000000 / 1000000000 1000000000 measured");
    // One that failed does not take the other away.
    let failed = entry(&format!(r#"{run_type},"error_occurred":true,"error_message":"x""#));
    check(&[repeated(1), failed], "BM_a: 1500000000 / 1000000000 failed");
    // 1.7: a percentage among the aggregates is no time.
    let all = [of("mean", 5.0), of("median", 4.5), of("stddev", 1.0), of("cv", 0.2)];
    check(&all, "BM_a: 4.5 / 4.5 measured");
    check(&[of("mean", 5.0), of("cv", 0.2)], "BM_a: 5 / 5 measured");
}
