//! Tests of the shapes of the versions of fio, and of errors.

#![allow(clippy::float_cmp, reason = "values are taken over as they are")]

use super::super::tests::{SOURCE, check_refused, names};
use super::*;

#[test]
fn a_job_is_one_sample_with_the_figures_that_fio_reports() {
    let run = run(include_str!("../fixtures/fio.json"), &SOURCE).unwrap();
    assert_eq!(names(&run), ["randread direction=read", "seqwrite direction=write"]);
    let cell = &run.cells[0];
    assert_eq!((cell.samples.len(), cell.samples[0].ops), (1, 1024));
    assert_eq!(cell.samples[0].bytes, 4 << 20);
    for (name, expected) in [
        ("wall_ns", 107e6 / 1024.0),
        ("throughput_bytes_per_s", 39_199_102.0),
        ("iops", 9_570.093_458),
        ("clat_mean_ns", 103_142.069_336),
        ("clat_p99.9_ns", 3_817_472.0),
        ("lat_max_ns", 3_926_077.0),
    ] {
        assert_eq!(cell.values[name], [expected], "{name}");
    }
    assert!(!cell.values.contains_key("slat_mean_ns") && !cell.values.contains_key("clat_p25_ns"));
    assert!(cell.about.contains("bs=4k"), "{}", cell.about);
    assert_eq!(run.plan.imported.unwrap().tool, "fio 3.33");
    assert_eq!(run.started, "2026-11-22T00:56:59Z");
}

#[test]
fn bins_tell_the_percentiles_that_are_missing() {
    let run = run(include_str!("../fixtures/fio-bins.json"), &SOURCE).unwrap();
    assert_eq!(run.cells.len(), 2);
    let write = &run.cells[1];
    assert_eq!(write.values["clat_p0_ns"], [1720.0]);
    assert_eq!(write.values["clat_p50_ns"], [3440.0]);
    let p25 = write.values["clat_p25_ns"][0];
    assert!((2672.0..=2832.0).contains(&p25), "{p25}");
}

#[test]
fn what_is_wrong_is_named_by_key_and_index() {
    let check = |read: &str, expected: &str| {
        let text = format!("{{\"jobs\":[{{\"jobname\":\"a\",\"read\":{{{read}}}}}]}}");
        check_refused(run, &text, expected);
    };
    check("\"total_ios\":1,\"runtime\":-1", "jobs[0]: read: runtime: -1 is below 0");
    check("\"total_ios\":-1", "\"jobs[0].read.total_ios\": invalid value: integer `-1`");
    check("\"total_ios\":1,\"iops\":\"x\"", "\"jobs[0].read.iops\": invalid type: string");
    let clat = |more: &str| format!("\"total_ios\":1,\"clat_ns\":{{\"N\":1,{more}}}");
    check(&clat("\"mean\":-1"), "jobs[0]: read: clat_ns.mean: -1 is below 0");
    check(&clat("\"percentile\":{\"x\":1}"), "clat_ns.percentile[\"x\"]: not a percentage");
    check(&clat("\"bins\":{\"x\":1}"), "clat_ns.bins[\"x\"]: not a time");
    check_refused(run, "{\"jobs\":[]}", "no result is in it");
    check_refused(run, "{\"jobs\":[{\"jobname\":\"\"}]}", "jobs[0]: jobname is empty");
}

/// What is noted of every file.
const USUAL: [&str; 5] = [
    "stores no date: the date of the file is used",
    "fio does not store single operations",
    "cpu_ns: fio has usr_cpu",
    "other figures of fio",
    "peak_rss_bytes: ",
];

/// One cell: all of its values (none: it lacks them), and a part of each other note of the run.
fn check(text: &str, at: usize, name: &str, values: &[(&str, Option<f64>)], noted: &[&str]) -> Run {
    let run = run(text, &SOURCE).unwrap();
    assert_eq!(names(&run)[at], name);
    for (metric, expected) in values {
        let found = run.cells[at].values.get(*metric).map(|column| column[0]);
        let is_near = match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() <= expected.abs() * 1e-12,
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(is_near, "{metric}: {found:?}, expected {expected:?}");
    }
    for metric in run.cells[at].values.keys() {
        let is_expected = values.iter().any(|(name, _)| *name == metric.as_str());
        assert!(is_expected, "{metric} is not expected");
    }
    let notes: Vec<String> = (run.notes.iter().map(ToString::to_string))
        .filter(|note| !USUAL.iter().any(|usual| note.contains(*usual)))
        .collect();
    let is_same = notes.iter().zip(noted).all(|(note, words)| note.contains(*words));
    assert!(is_same && notes.len() == noted.len(), "{noted:#?}: {notes:#?}");
    run
}

#[test]
fn version_2_1_has_kib_and_microseconds_and_no_number_of_operations() {
    let text = r#"{"fio version":"fio-2.1.4","jobs":[{"jobname":"a","groupid":0,"error":0,
        "read":{"io_bytes":131072,"bw":500,"iops":125,"runtime":262144,
        "slat":{"min":0,"max":0,"mean":0.00,"stddev":0.00},
        "clat":{"min":5,"max":1684,"mean":11.5,"stddev":31.25,
        "percentile":{"50.000000":8,"99.000000":20,"0.00":0,"0.00":0}},
        "lat":{"min":6,"max":1685,"mean":12.25,"stddev":31.5},
        "bw_min":1,"bw_max":2,"bw_agg":99.5,"bw_mean":1.5,"bw_dev":-nan},
        "write":{"io_bytes":0,"bw":0,"iops":0,"runtime":0}}]}"#;
    let run = check(
        text,
        0,
        "a direction=read",
        &[
            ("wall_ns", None),
            ("throughput_bytes_per_s", Some(512_000.0)),
            ("iops", Some(125.0)),
            ("slat_mean_ns", None),
            ("clat_min_ns", Some(5_000.0)),
            ("clat_mean_ns", Some(11_500.0)),
            ("clat_stddev_ns", Some(31_250.0)),
            ("clat_p50_ns", Some(8_000.0)),
            ("clat_p99_ns", Some(20_000.0)),
            ("clat_p0_ns", None),
            ("clat_max_ns", Some(1_684_000.0)),
            ("lat_min_ns", Some(6_000.0)),
            ("lat_mean_ns", Some(12_250.0)),
            ("lat_stddev_ns", Some(31_500.0)),
            ("lat_max_ns", Some(1_685_000.0)),
        ],
        &["values are left out: \"bw_dev\"", "wall_ns: fio did not write the number of operations"],
    );
    assert_eq!((run.cells.len(), run.cells[0].samples[0].bytes), (1, 131_072 * 1024));
    assert_eq!(run.plan.imported.unwrap().tool, "fio 2.1.4");
}

#[test]
fn version_2_20_has_kib_and_microseconds_and_bins_without_latencies() {
    let text = r#"{"fio version":"fio-2.20-12-gabcd","timestamp":1502919927,"jobs":[{"jobname":"a",
        "groupid":0,"error":0,"write":{"io_bytes":4096,"bw":4096,"iops":1024.5,"runtime":1000,
        "total_ios":1024,"short_ios":0,"drop_ios":0,"clat":{"min":2,"max":9,"mean":3.5,"stddev":0.5,
        "percentile":{"50.000000":3},"bins":{"FIO_IO_U_PLAT_BITS":6,"0":1024}}}}]}"#;
    let run = check(
        text,
        0,
        "a direction=write",
        &[
            ("wall_ns", Some(1e9 / 1024.0)),
            ("throughput_bytes_per_s", Some(4_194_304.0)),
            ("iops", Some(1024.5)),
            ("clat_min_ns", Some(2_000.0)),
            ("clat_max_ns", Some(9_000.0)),
            ("clat_mean_ns", Some(3_500.0)),
            ("clat_stddev_ns", Some(500.0)),
            ("clat_p50_ns", Some(3_000.0)),
            ("clat_p90_ns", None),
        ],
        &["bins are not read: this version of fio numbers them"],
    );
    assert_eq!((run.cells[0].samples[0].ops, run.cells[0].samples[0].bytes), (1024, 4 << 20));
    assert_eq!(run.started, "2017-08-16T21:45:27Z");
}

#[test]
fn version_3_1_has_bytes_and_nanoseconds_and_a_rate_in_kib() {
    let text = r#"{"fio version":"fio-3.1","jobs":[{"jobname":"a","groupid":0,"error":0,
        "read":{"io_bytes":4096000,"io_kbytes":4000,"bw":4000,"iops":1000,"runtime":1000,
        "total_ios":1000,"slat_ns":{"min":0,"max":0,"mean":0.0,"stddev":0.0},
        "lat_ns":{"min":100,"max":300,"mean":150.5,"stddev":10.0},
        "clat_ns":{"min":90,"max":290,"mean":140.5,"stddev":10.0,"percentile":{"99.900000":280}}},
        "trim":{"io_bytes":0,"total_ios":0}}]}"#;
    let run = check(
        text,
        0,
        "a direction=read",
        &[
            ("wall_ns", Some(1e6)),
            ("throughput_bytes_per_s", Some(4_096_000.0)),
            ("iops", Some(1000.0)),
            ("slat_min_ns", None),
            ("lat_min_ns", Some(100.0)),
            ("lat_max_ns", Some(300.0)),
            ("lat_mean_ns", Some(150.5)),
            ("lat_stddev_ns", Some(10.0)),
            ("clat_min_ns", Some(90.0)),
            ("clat_max_ns", Some(290.0)),
            ("clat_mean_ns", Some(140.5)),
            ("clat_stddev_ns", Some(10.0)),
            ("clat_p99.9_ns", Some(280.0)),
        ],
        &[],
    );
    assert_eq!((run.cells.len(), run.cells[0].samples[0].bytes), (1, 4_096_000));
}

#[test]
fn without_a_version_what_depends_on_it_is_missing_and_named() {
    let text = r#"{"jobs":[{"jobname":"a","read":{"io_bytes":4000,"bw":4000,"iops":1000,
        "runtime":1000,"total_ios":1000,"clat":{"min":1,"max":3,"mean":2.0,"stddev":1.0}}}]}"#;
    let run = check(
        text,
        0,
        "a direction=read",
        &[
            ("wall_ns", Some(1e6)),
            ("iops", Some(1000.0)),
            ("throughput_bytes_per_s", Some(4_096_000.0)),
            ("clat_mean_ns", None),
        ],
        &[
            "io_bytes is not read: its unit depends on fio's version, which is not known",
            "clat is not read: its unit depends on fio's version, which is not known",
        ],
    );
    assert_eq!(run.cells[0].samples[0].bytes, 0);
    for (version, expected) in [
        ("fio-2.99", Units::From3),
        ("fio-3.0", Units::From3),
        ("fio-2.22-1-g12", Units::Before3),
        ("fio-3", Units::Unknown),
        ("fio", Units::Unknown),
        ("3.33", Units::From3),
        ("2.1.4", Units::Before3),
    ] {
        assert_eq!(Units::new(Some(version)), expected, "{version}");
    }
    for (version, expected) in
        [(None, "fio"), (Some(""), "fio"), (Some("3.33"), "fio 3.33"), (Some("fio-2.2"), "fio 2.2")]
    {
        assert_eq!(tool(version), expected);
    }
}

#[test]
fn a_figure_that_is_not_there_is_missing_and_not_0() {
    let text = r#"{"fio version":"fio-3.33","jobs":[
        {"jobname":"a","read":{"total_ios":10,"clat_ns":{"N":10,"mean":5.0}}},
        {"jobname":"b","read":{"total_ios":10,"io_bytes":40960,"bw_bytes":0,"iops":0.0,"runtime":0}},
        {"jobname":"c","read":{"total_ios":10,"runtime":1,"iops":NaN,"bw_bytes":Infinity}}]}"#;
    let none = [("wall_ns", None), ("iops", None), ("throughput_bytes_per_s", None)];
    let clat = [("clat_mean_ns", Some(5.0)), ("clat_min_ns", None), ("clat_max_ns", None)];
    let no_runtime = "wall_ns: fio did not write a runtime of 1 ms or more";
    let noted = ["values are left out: \"iops\", \"bw_bytes\"", no_runtime, no_runtime];
    check(text, 0, "a direction=read", &[none, clat].concat(), &noted);
    check(text, 1, "b direction=read", &none, &noted);
    let values = [("wall_ns", Some(1e5)), none[1], none[2]];
    check(text, 2, "c direction=read", &values, &noted);
}

#[test]
fn mixed_directions_and_calls_of_sync_are_rows() {
    let text = r#"{"fio version":"fio-3.33","timestamp":1700000000,
        "global options":{"unified_rw_reporting":"1"},"jobs":[{"jobname":"mix","error":0,
        "mixed":{"io_bytes":40960000,"bw_bytes":4096000,"iops":1000.0,"runtime":10000,
        "total_ios":10000,"clat_ns":{"min":1000,"max":90000,"mean":20000.0,"stddev":10.0,"N":10000,
        "percentile":{"50.000000":19000}}},
        "sync":{"total_ios":7,"lat_ns":{"min":1,"max":9,"mean":4.5,"stddev":1.0,"N":7}}}]}"#;
    let values = [
        ("wall_ns", Some(1e6)),
        ("throughput_bytes_per_s", Some(4_096_000.0)),
        ("iops", Some(1000.0)),
        ("clat_min_ns", Some(1_000.0)),
        ("clat_max_ns", Some(90_000.0)),
        ("clat_mean_ns", Some(20_000.0)),
        ("clat_stddev_ns", Some(10.0)),
        ("clat_p50_ns", Some(19_000.0)),
    ];
    // Of the calls, there is no runtime.
    let noted = ["wall_ns: fio did not write a runtime of 1 ms or more"];
    let run = check(text, 0, "mix direction=mixed", &values, &noted);
    assert_eq!(run.cells[0].samples[0].ops, 10_000);
    let values = [
        ("wall_ns", None),
        ("lat_min_ns", Some(1.0)),
        ("lat_max_ns", Some(9.0)),
        ("lat_mean_ns", Some(4.5)),
        ("lat_stddev_ns", Some(1.0)),
        ("iops", None),
    ];
    check(text, 1, "mix direction=sync", &values, &noted);
}

/// A job of `numjobs` with this many operations, a mean and more.
fn one_of_many(ops: u64, iops: f64, runtime: u64, clat: &str) -> String {
    format!(
        "{{\"jobname\":\"j\",\"groupid\":0,\"error\":0,\"job options\":{{\"rw\":\"read\"}},\"read\":{{\
         \"io_bytes\":{},\"bw_bytes\":{ops},\"iops\":{iops},\"runtime\":{runtime},\
         \"total_ios\":{ops},\"clat_ns\":{{{clat}}}}}}}",
        ops * 4096
    )
}

#[test]
fn jobs_of_one_name_are_one_method_with_their_sum() {
    let jobs = [
        one_of_many(
            100,
            50.0,
            2000,
            r#""N":100,"min":5,"max":20,"mean":10.0,"stddev":2.0,"percentile":{"50.000000":9}"#,
        ),
        one_of_many(
            300,
            100.5,
            3000,
            r#""N":300,"min":4,"max":30,"mean":14.0,"stddev":3.0,"percentile":{"50.000000":13}"#,
        ),
    ];
    let text = format!("{{\"fio version\":\"fio-3.33\",\"jobs\":[{}]}}", jobs.join(","));
    // Of 400 operations: 99 * 4 + 299 * 9 within the jobs, 100 * 9 + 300 * 1 between them.
    let stddev = ((396.0 + 2691.0 + 1200.0) / 399.0_f64).sqrt();
    let run = check(
        &text,
        0,
        "j direction=read",
        &[
            ("wall_ns", Some(3e9 / 400.0)),
            ("iops", Some(150.5)),
            ("throughput_bytes_per_s", Some(400.0)),
            ("clat_min_ns", Some(4.0)),
            ("clat_max_ns", Some(30.0)),
            ("clat_mean_ns", Some(13.0)),
            ("clat_stddev_ns", Some(stddev)),
            ("clat_p50_ns", None),
        ],
        &[
            "2 jobs of this name of 50.0 to 100.5 IOPS each are one sample: IOPS and throughput are their sums",
            "percentiles of clat are missing: those of several jobs cannot be combined without bins",
        ],
    );
    assert_eq!((run.cells.len(), run.cells[0].samples.len()), (1, 1));
    let sample = &run.cells[0].samples[0];
    assert_eq!((sample.ops, sample.bytes), (400, 400 * 4096));
    assert_eq!(run.cells[0].about, "rw=read");
}

#[test]
fn bins_of_several_jobs_have_their_percentiles() {
    let clat = |bins: &str| {
        format!(
            "\"N\":10,\"min\":1,\"max\":9,\"percentile\":{{\"95.500000\":9}},\"bins\":{{{bins}}}"
        )
    };
    let jobs = [
        one_of_many(10, 1.0, 10, &clat("\"1\":9,\"9\":1")),
        one_of_many(10, 1.0, 10, &clat("\"2\":10")),
    ];
    let text = format!("{{\"fio version\":\"fio-3.33\",\"jobs\":[{}]}}", jobs.join(","));
    let values = [
        ("wall_ns", Some(5e5)),
        ("iops", Some(2.0)),
        ("throughput_bytes_per_s", Some(20.0)),
        ("clat_min_ns", Some(1.0)),
        ("clat_max_ns", Some(9.0)),
        ("clat_mean_ns", None),
        ("clat_p0_ns", Some(1.0)),
        ("clat_p25_ns", Some(1.0)),
        ("clat_p50_ns", Some(2.0)),
        ("clat_p75_ns", Some(2.0)),
        ("clat_p90_ns", Some(2.0)),
        ("clat_p95.5_ns", Some(9.0)),
        ("clat_p99_ns", Some(9.0)),
        ("clat_p100_ns", Some(9.0)),
    ];
    check(&text, 0, "j direction=read", &values, &["2 jobs of this name"]);
}

#[test]
fn a_latency_that_only_some_jobs_have_is_missing_and_named() {
    let measured = r#""N":10,"min":1,"max":9,"mean":5.0,"stddev":1.0,"bins":{"5":10}"#;
    for unmeasured in ["", r#""N":0,"min":0,"max":0,"mean":0.0,"stddev":0.0"#] {
        let jobs =
            [one_of_many(10, 1.0, 10, measured), one_of_many(30, 1.0, 10, unmeasured)].join(",");
        let text = format!("{{\"fio version\":\"fio-3.33\",\"jobs\":[{jobs}]}}");
        let values =
            [("wall_ns", Some(2.5e5)), ("iops", Some(2.0)), ("throughput_bytes_per_s", Some(40.0))];
        let noted =
            ["2 jobs of this name", "figures of clat are missing: not all of these jobs have them"];
        check(&text, 0, "j direction=read", &values, &noted);
    }
}

#[test]
fn a_file_without_counts_has_what_its_figures_tell() {
    let of = |read: &str| {
        format!(
            "{{\"fio version\":\"fio-3.33\",\"jobs\":[{{\"jobname\":\"a\",\"read\":{{{read}}}}}]}}"
        )
    };
    let noted = [
        "wall_ns: fio did not write the number of operations",
        "wall_ns: fio did not write a runtime of 1 ms or more",
    ];
    let check = |read: &str, values: &[(&str, Option<f64>)], bytes: u64| {
        let run = check(&of(read), 0, "a direction=read", values, &noted);
        assert_eq!((run.cells.len(), run.cells[0].samples[0].bytes), (1, bytes));
    };
    check("\"iops\":5.5", &[("iops", Some(5.5))], 0);
    check("\"bw\":2", &[("throughput_bytes_per_s", Some(2048.0))], 0);
    check("\"bw_bytes\":7", &[("throughput_bytes_per_s", Some(7.0))], 0);
    check("\"io_kbytes\":3", &[], 3072);
    check("\"lat_ns\":{\"mean\":4.5}", &[("lat_mean_ns", Some(4.5))], 0);
    check("\"clat\":{\"max\":4}", &[("clat_max_ns", Some(4_000.0))], 0);
    for read in ["", "\"runtime\":5", "\"iops\":0.0,\"bw\":0", "\"total_ios\":0,\"iops\":5.5"] {
        let idle = run_of(&of(read));
        assert_eq!(idle.cells[0].status, Status::Skipped("it did no operation".to_owned()));
    }
}

#[test]
fn all_percentiles_that_fio_can_report_are_kept() {
    let of = |name: &str| {
        let all: Vec<String> = (1..=22).map(|i| format!("\"{i}.500000\":{i}")).collect();
        format!(
            "\"{name}\":{{\"N\":9,\"min\":1,\"max\":9,\"mean\":5.0,\"stddev\":1.0,\"percentile\":{{{}}}}}",
            all.join(",")
        )
    };
    let all = ["slat_ns", "clat_ns", "lat_ns"].map(of).join(",");
    let run = run_of(&format!(
        "{{\"fio version\":\"fio-3.33\",\"jobs\":[{{\"jobname\":\"a\",\"read\":{{\"total_ios\":9,\
         \"runtime\":9,{all}}}}}]}}"
    ));
    assert_eq!(run.cells[0].values.len(), 1 + 3 * (4 + 22));
}

#[test]
fn jobs_that_did_not_run_together_stay_apart_and_one_that_failed_is_said() {
    let job = |group: u32, error: u32, ops: u32| {
        format!(
            "{{\"jobname\":\"j\",\"groupid\":{group},\"error\":{error},\"read\":{{\"total_ios\":{ops},\
             \"runtime\":1,\"lat_ns\":{{\"min\":1,\"max\":1,\"mean\":1.0}}}}}}"
        )
    };
    let jobs = [job(0, 0, 5), job(0, 5, 5), job(1, 0, 4), job(1, 0, 0)].join(",");
    let text = format!("{{\"fio version\":\"fio-3.5\",\"jobs\":[{jobs}]}}");
    let noted = [
        "2 jobs of this name are one sample",
        "mean and stddev of lat are missing: the file has no N of each job",
        "the name \"j\" is there more than once",
    ];
    let least = [("lat_min_ns", Some(1.0)), ("lat_max_ns", Some(1.0))];
    let values = [&least[..], &[("wall_ns", Some(1e5)), ("lat_mean_ns", None)]].concat();
    let run = check(&text, 0, "j direction=read", &values, &noted);
    let values = [&least[..], &[("wall_ns", Some(2.5e5)), ("lat_mean_ns", Some(1.0))]].concat();
    check(&text, 1, "j #2 direction=read", &values, &noted);
    let failed = Status::Failed("fio reports error 5 for 1 of 2 jobs".to_owned());
    assert_eq!(run.cells[0].status, failed);
    let idle = run_of(r#"{"jobs":[{"jobname":"a"},{"jobname":"a"}]}"#);
    assert_eq!(idle.cells[0].status, Status::Skipped("it did no operation".to_owned()));
    assert_eq!(idle.cells.len(), 1);
}

fn run_of(text: &str) -> Run {
    run(text, &SOURCE).unwrap()
}

#[test]
fn jobs_of_clients_are_read_without_their_sum() {
    let job = |name: &str, host: &str| {
        format!(
            "{{\"jobname\":\"{name}\",\"groupid\":0,\"hostname\":\"{host}\",\"port\":8765,\"error\":0,\
             \"read\":{{\"io_bytes\":4096,\"bw_bytes\":4096,\"iops\":2,\"runtime\":1000,\"total_ios\":2}}}}"
        )
    };
    let of = |jobs: &[String]| {
        let jobs = jobs.join(",");
        format!(
            "{{\"fio version\":\"fio-3.28\",\"client_stats\":[{jobs}],\"disk_util\":[],\"disk_util\":[]}}"
        )
    };
    let wall =
        [("wall_ns", Some(5e8)), ("iops", Some(2.0)), ("throughput_bytes_per_s", Some(4096.0))];
    check(&of(&[job("a", "h1")]), 0, "a direction=read", &wall, &[]);
    let sum = "\"All clients\" is the sum of the other jobs and is not read";
    let text = of(&[job("a", "h1"), job("a", "h2"), job("All clients", "h2")]);
    let run = check(&text, 0, "a direction=read hostname=h1", &wall, &[sum]);
    assert_eq!(names(&run)[1..], ["a direction=read hostname=h2"]);
    assert_eq!(names(&run_of(&of(&[job("All clients", "h1")]))), ["All clients direction=read"]);
    let wrong = of(&[job("a", "h1").replace("4096,\"iops", "-1,\"iops")]);
    check_refused(super::run, &wrong, "client_stats[0]: read: bw_bytes: -1 is below 0");
}

#[test]
fn text_around_the_document_is_left_out() {
    let text = "job: (g=0): rw=read, bs=(R) 4096B-4096B, ioengine=psync\nfio-3.33\nStarting 1 process\n\
                {\"fio version\":\"fio-3.33\",\n\"jobs\":[{\"jobname\":\"a\",\"read\":{\"total_ios\":4,\
                \"runtime\":2}}]}\n\njob: (groupid=0, jobs=1): err= 0\n  read: IOPS=2\n";
    assert_eq!(super::super::guess(text.as_bytes()).unwrap(), ImportFormat::Fio);
    let run = super::super::file(ImportFormat::Fio, text.as_bytes(), &SOURCE).unwrap();
    assert_eq!(run.cells[0].values["wall_ns"], [5e5]);
    let notes: Vec<String> = run.notes.iter().map(ToString::to_string).collect();
    let before = "text before the document is not read: 3 lines, the first of them \"job: (g=0)";
    assert!(notes.iter().any(|note| note.starts_with(before)), "{notes:?}");
    let behind = "text behind the document is not read: 2 lines, the first of them \"job: (groupid";
    assert!(notes.iter().any(|note| note.starts_with(behind)), "{notes:?}");
    let twice = format!("{text}{text}");
    let error = super::super::file(ImportFormat::Fio, twice.as_bytes(), &SOURCE).unwrap_err();
    assert!(error.to_string().starts_with("line 12: a second document begins"), "{error}");
}
