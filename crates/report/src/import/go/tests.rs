//! Tests of each shape of the text, and of errors.

#![allow(clippy::float_cmp, reason = "values are taken over as they are")]

use super::super::tests::{SOURCE, check_refused, names};
use super::*;

#[test]
fn lines_of_one_benchmark_are_its_samples() {
    let run = run(include_str!("../fixtures/go.txt"), &SOURCE).unwrap();
    let at = |name: &str| format!("{name} package=example.org/bench gomaxprocs=2");
    let expected = ["Copy/size=4096", "Copy/size=65536", "Build", "Format"].map(at);
    assert_eq!(names(&run), expected);
    assert_eq!(run.cells[0].values["wall_ns"], [44.11, 30.69, 79.28, 45.57, 37.38]);
    assert_eq!(run.cells[0].values["throughput_bytes_per_s"][0], 92_860.87e6);
    assert_eq!(run.cells[2].values["allocated_bytes"], [67.0; 5]);
    assert_eq!(run.cells[2].values["allocations"], [1.0; 5]);
    assert_eq!(run.cells[2].values["writes/op"], [2.0; 5]);
    assert!(run.cells.iter().flat_map(|cell| &cell.samples).all(|s| s.ops == 2000));
    assert_eq!(run.environment.facts["goarch"], "amd64");
    assert_eq!(run.environment.fingerprint.len(), 16);
}

#[test]
fn further_blocks_of_a_package_are_sessions_and_other_packages_are_not() {
    let block = |package: &str| format!("pkg: {package}\nBenchmarkA 10 5 ns/op\nPASS\n");
    let text = [block("x"), block("y"), block("x"), block("x")].concat();
    let run = run(&text, &SOURCE).unwrap();
    let sessions: Vec<Vec<u32>> = (run.cells.iter())
        .map(|cell| cell.samples.iter().map(|sample| sample.session).collect())
        .collect();
    assert_eq!(sessions, [vec![0, 1, 2], vec![0]]);
    assert_eq!(run.plan.sessions, 3);
}

#[test]
fn names_and_lines_that_only_look_like_results() {
    assert_eq!(processors("Copy/n-8-16"), ("Copy/n-8", Some(16)));
    assert_eq!(processors("Copy"), ("Copy", None));
    assert_eq!(processors("Copy-08"), ("Copy-08", None));
    assert_eq!(processors(""), ("Benchmark", None));
    assert!(!has_result("BenchmarkCopy-2"));
    assert!(!has_result("BenchmarkCopy-2 says hello there"));
    assert!(!has_result("Benchmarking 10 5 ns/op"));
    assert!(has_result("BenchmarkCopy-2\t 1\t5 ns/op"));
    assert!(has_result("BenchmarkCopy-2\thello\n 1\t5 ns/op"));
    assert!(!has_result("BenchmarkCopy-2\thello\n1 said 5 ns/op"));
}

#[test]
fn what_is_wrong_is_named_by_line_and_unit() {
    let check = |text: &str, expected: &str| check_refused(run, text, expected);
    check("", "no result is in it");
    check("BenchmarkA 1 5 ns/op\nBenchmarkA 1 NaN ns/op", "line 2: \"ns/op\": NaN is no number");
    check("BenchmarkA 1 +Inf ns/op", "line 1: \"ns/op\": too large a number, or none");
    check("BenchmarkA 1 -5 ns/op", "line 1: \"ns/op\": -5 is below 0");
    check("BenchmarkA 1 1e400 B/op", "line 1: \"B/op\": too large a number");
    check("BenchmarkA 1 5 ns/op 7", "line 1: \"7\" has no unit");
    check("BenchmarkA 1 x ns/op", "line 1: \"x\" before \"ns/op\" is not a number");
    check("BenchmarkA 0 5 ns/op", "line 1: iterations: 0 is no number of operations");
    check("BenchmarkA 1 5 ns/op 6 ns/op", "line 1: \"ns/op\" is there twice");
    check("BenchmarkA 1  ", "line 1: no value behind the number of iterations");
    check("cpu: a\nBenchmarkA 1 5 ns/op\ncpu: b", "line 3: cpu is \"b\", and was \"a\" before");
}

/// Each result: the method, the point, the session, and the time.
fn shown(run: &Run) -> Vec<String> {
    let of = |cell: &model::run::Cell| {
        let samples = cell.samples.iter().zip(cell.values["wall_ns"].iter());
        let samples: Vec<String> =
            samples.map(|(sample, ns)| format!("{}:{ns}", sample.session)).collect();
        format!("{} [{}] {}", cell.method, cell.point, samples.join(" "))
    };
    run.cells.iter().map(of).collect()
}

fn check(text: &str, expected: &[&str], notes: &[&str]) {
    let run = run(text, &SOURCE).unwrap();
    assert_eq!(shown(&run), expected, "{text}");
    let all: Vec<String> = run.notes.iter().map(ToString::to_string).collect();
    let usual = ["go stores no date", "cpu_ns: ", "peak_rss_bytes: "];
    let found: Vec<&String> =
        all.iter().filter(|note| !usual.iter().any(|usual| note.starts_with(usual))).collect();
    assert_eq!(found, notes, "{text}");
}

#[test]
fn configuration_that_differs_is_a_param() {
    let text = "goos: linux\npkg: p\ntoolchain: baseline\nBenchmarkParse-4 1000 100 ns/op\n\
                BenchmarkParse-4 1000 102 ns/op\ntoolchain: experiment\n\
                BenchmarkParse-4 1000 200 ns/op\n";
    check(
        text,
        &[
            "Parse [package=p toolchain=baseline gomaxprocs=4] 0:100 0:102",
            "Parse [package=p toolchain=experiment gomaxprocs=4] 0:200",
        ],
        &["configuration that differs between results is a param: toolchain"],
    );
    // A file for each toolchain, one behind the other: the block of a point is its session.
    let block = |name: &str, ns: u32| {
        format!("pkg: p\ncommit: {name}\nby: me\nBenchmarkA 10 {ns} ns/op\nPASS\n")
    };
    let text = [block("7", 1), block("7", 2), block("8", 3)].concat();
    let params = ["A [package=p commit=7] 0:1 1:2", "A [package=p commit=8] 0:3"];
    check(&text, &params, &["configuration that differs between results is a param: commit"]);
    let imported = run(&text, &SOURCE).unwrap();
    assert_eq!(imported.points[0].get("commit"), Some(&7_u64.into()));
    assert_eq!(imported.environment.facts["go_configuration"], "by=me");
}

#[test]
fn a_result_without_a_key_that_others_have_has_it_as_none() {
    let text = "BenchmarkA 10 1 ns/op\nnote: x\nBenchmarkA 10 2 ns/op\nnote:\n\
                BenchmarkA 10 3 ns/op\n";
    check(
        text,
        &["A [note=none] 0:1 0:3", "A [note=x] 0:2"],
        &["configuration that differs between results is a param: note"],
    );
    let named = "package: a\nBenchmarkA 10 1 ns/op\npackage: b\nBenchmarkA 10 2 ns/op\n";
    let expected = ["A [package (its own)=a] 0:1", "A [package (its own)=b] 0:2"];
    check(named, &expected, &["configuration that differs between results is a param: package"]);
}

#[test]
fn output_of_other_programs_is_no_configuration() {
    let text = "go: downloading x v1\nBenchmarkA 10 1 ns/op\ngo: downloading y v1\n\
                Loaded: 3\nhttp://x.org\n\u{1b}a: b\na_test.go:12: hello\nsome words: b\n\
                BenchmarkA 10 2 ns/op\n";
    check(text, &["A [] 0:1 0:2"], &[]);
    // What the go command and its tools report of one of the packages.
    let text = "warning: no packages\nBenchmarkA 10 1 ns/op\nPASS\ncoverage: 12.3% of statements\n\
                ld: warning: x\nvet: y\nsignal: killed\nBenchmarkA 10 2 ns/op\nPASS\n\
                coverage: 45.6% of statements\n";
    check(text, &["A [] 0:1 0:2"], &[]);
    assert!(!run(text, &SOURCE).unwrap().environment.facts.contains_key("go_configuration"));
}

#[test]
fn equal_configurations_are_kept_once() {
    let text = "fixed: 1\n".to_owned()
        + &"mode: a\nBenchmarkA 10 1 ns/op\nmode: b\nBenchmarkA 10 2 ns/op\n".repeat(50);
    let stream = GoStream { package: "".into(), text: text.into() };
    let mut reader = GoReader::default();
    reader.stream(&mut Draft::new(ImportFormat::Go, "go"), &stream).unwrap();
    assert_eq!((reader.found.len(), reader.configurations.len()), (100, 2));
    let imported = run(&stream.text, &SOURCE).unwrap();
    let names: Vec<String> = imported.cells.iter().map(|cell| cell.point.to_string()).collect();
    assert_eq!(names, ["mode=a", "mode=b"]);
    assert_eq!(imported.environment.facts["go_configuration"], "fixed=1");
}

#[test]
fn too_many_configurations_are_refused() {
    let of = |n: usize, key: &dyn Fn(usize) -> String| -> String {
        let result = "\nBenchmarkA 10 1 ns/op\n";
        (0..n).map(key).collect::<Vec<_>>().join(result) + result
    };
    let values = of(10_001, &|i| format!("key: {i}"));
    check_refused(run, &values, "line 20002: more than 10000 configurations");
    let keys = of(65, &|i| format!("k{i}: 1"));
    check_refused(run, &keys, "line 129: more than 64 keys of configuration");
    let keys = of(65, &|i| format!("k{}:\nk{i}: 1", i.saturating_sub(1)));
    check_refused(run, &keys, "more than 64 keys of configuration differ between results");
}

#[test]
fn a_name_waits_for_its_result() {
    let text = "pkg: p\nBenchmarkA-4   \t1000\t100 ns/op\nBenchmarkB-4   \twarming cache\n\
                loaded: 3\nBenchmark of 10\n    2000\t   900 ns/op\t  5.0 hits/s\nPASS\n";
    let [a, b] = ["A [package=p gomaxprocs=4] 0:100", "B [package=p gomaxprocs=4] 0:900"];
    check(text, &[a, b], &[]);
    let imported = run(text, &SOURCE).unwrap();
    assert_eq!(imported.cells[1].values["hits/s"], [5.0]);
    assert_eq!(imported.cells[1].samples[0].ops, 2000);
    // Without the end of a line, and with a time of 0, which go leaves out.
    check("BenchmarkB-4 \tloading 3 ...   2000\t   900 ns/op\n", &["B [gomaxprocs=4] 0:900"], &[]);
    // -v prints names of which no result has to follow.
    let verbose = "=== RUN   BenchmarkA\nBenchmarkA\n=== RUN   BenchmarkA/x\nBenchmarkA/x\n\
                   BenchmarkA/x-4 \t10\t7 ns/op\nPASS\n";
    check(verbose, &["A/x [gomaxprocs=4] 0:7"], &[]);
}

#[test]
fn what_a_benchmark_prints_is_no_configuration() {
    let text = "goos: linux\npkg: p\ncpu: x\nBenchmarkA-4 \tstarts\ngoos: plan9\npkg: q\ncpu: y\n\
                goarch: vax\n{\"Action\":\"x\"}\n   10\t7 ns/op\nPASS\nok  \tp\t0.1s\n";
    check(text, &["A [package=p gomaxprocs=4] 0:7"], &[]);
    let imported = run(text, &SOURCE).unwrap();
    assert_eq!(imported.environment.facts["goos"], "linux");
    assert!(!imported.environment.facts.contains_key("goarch"));
    // The next package begins behind what ends a test program.
    for end in ["PASS", "FAIL\tp\t0.1s", "ok  \tp\t0.1s"] {
        let text = format!("pkg: p\nBenchmarkA-4 \tx\n{end}\npkg: q\nBenchmarkB-4 1 1 ns/op\n");
        let lost = ["\"A-4\" has no result in this file"];
        check(&text, &["B [package=q gomaxprocs=4] 0:1"], &lost);
    }
}

#[test]
fn a_name_whose_result_does_not_come_is_named() {
    let text = "BenchmarkA-4 \t--- FAIL: BenchmarkA-4\n    a_test.go:3: no\n\
                BenchmarkB-4 \t10\t7 ns/op\nBenchmarkC-4 \t";
    check(
        text,
        &["B [gomaxprocs=4] 0:7"],
        &[
            "go test reports a failure: BenchmarkA-4 \t--- FAIL: BenchmarkA-4",
            "\"A-4\" and 1 more have no result in this file",
        ],
    );
    let text = "BenchmarkA-4 \tx\nPASS\n   10\t7 ns/op\nUnit ns/op better=lower\n\
                BenchmarkB-4 1 1 ns/op";
    let notes = ["lines that begin with Unit are not read", "\"A-4\" has no result in this file"];
    check(text, &["B [gomaxprocs=4] 0:1"], &notes);
}

#[test]
fn without_a_number_of_processors_it_is_one() {
    let text = "BenchmarkA 10 4 ns/op\nBenchmarkA-2 10 2 ns/op\nBenchmarkB 10 8 ns/op\n\
                BenchmarkB-2 10 5 ns/op\n";
    let expected = [
        "A [gomaxprocs=1] 0:4",
        "A [gomaxprocs=2] 0:2",
        "B [gomaxprocs=1] 0:8",
        "B [gomaxprocs=2] 0:5",
    ];
    check(text, &expected, &[]);
    // A file of each: of 4 processors, and of one.
    let text = "pkg: p\nBenchmarkA-4 10 4 ns/op\npkg: q\nBenchmarkB 10 2 ns/op\n";
    check(text, &["A [package=p gomaxprocs=4] 0:4", "B [package=q gomaxprocs=1] 0:2"], &[]);
}

#[test]
fn a_number_that_belongs_to_the_name_is_no_number_of_processors() {
    let text = "pkg: p\nBenchmarkCopy/size-16 1000 10 ns/op\nBenchmarkCopy/size-64 1000 40 ns/op\n\
                BenchmarkCopy/size-64-2 1000 30 ns/op\nBenchmarkPlain 1000 5 ns/op\n";
    check(
        text,
        &[
            "Copy/size-16 [package=p gomaxprocs=1] 0:10",
            "Copy/size-64 [package=p gomaxprocs=1] 0:40",
            "Copy/size-64 [package=p gomaxprocs=2] 0:30",
            "Plain [package=p gomaxprocs=1] 0:5",
        ],
        &[
            "the number at the end of \"Copy/size-16\" is taken for a part of the name: another benchmark \
           beside it has none, and so ran on one processor",
        ],
    );
}

fn event(action: &str, package: &str, output: &str) -> String {
    let event = serde_json::json!({
        "Time": "2026-01-02T03:04:05.678+01:00", "Action": action, "Package": package,
        "Output": output,
    });
    format!("{event}\n")
}

#[test]
fn events_are_put_together_by_package() {
    let text = [
        event("start", "x", ""),
        event("output", "x", "goos: linux\npkg: x\n"),
        event("output", "y", "pkg: y\nBenchmarkB-4 \t"),
        event("output", "x", "BenchmarkA-4 \t"),
        "go: downloading z\n".to_owned(),
        event("output", "y", "    10\t       7 ns/op\n"),
        event("output", "x", "    1000\t       100 ns/op\n"),
        event("output", "x", "pkg: x\nBenchmarkA-4 \t    1000\t       101 ns/op\n"),
        "{\"ImportPath\":\"z\",\"Action\":\"build-fail\"}\n".to_owned(),
        event("pass", "x", ""),
    ]
    .concat();
    assert!(is_test2json(&text) && !is_test2json("{\"Action\": 1}") && !is_test2json("{}"));
    assert!(!is_test2json("BenchmarkA-4 \t\n{\"Action\":\"output\",\"Output\":\"x\"}\n"));
    assert!(is_test2json("{\"ImportPath\":\"z\",\"Action\":\"build-fail\"}"));
    // Of `go tool test2json`, and what a program prints before its first benchmark.
    assert!(is_test2json("{\"Action\":\"output\",\"Output\":\"x\"}\n"));
    assert!(!is_test2json("{\"Action\":\"x\"}\nBenchmarkA 10 1 ns/op\n"));
    check(
        &text,
        &["A [package=x gomaxprocs=4] 0:100 1:101", "B [package=y gomaxprocs=4] 0:7"],
        &["go test reports a failure: build of \"z\"", "lines that are no events are not read: 1"],
    );
    let imported = run(&text, &SOURCE).unwrap();
    assert_eq!(imported.started, "2026-01-02T02:04:05Z");
    assert_eq!(imported.environment.facts["goos"], "linux");
    // Without a line `pkg:`, the package is that of the event.
    check(&event("output", "z", "BenchmarkC 1 5 ns/op\n"), &["C [package=z] 0:5"], &[]);
    let cut = &text[..text.len() - 5];
    check_refused(run, cut, "event on line 10: \"Time\": EOF while parsing");
    let wrong = event("output", "z", "x\nBenchmarkC 1 x ns/op\n");
    check_refused(run, &wrong, "output of \"z\", line 2: \"x\" before \"ns/op\" is not a number");
}
