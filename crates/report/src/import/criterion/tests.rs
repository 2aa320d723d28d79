//! Tests of the layouts of the versions of criterion, and of errors.

#![allow(clippy::float_cmp, reason = "values are taken over as they are")]

use model::run::MetricColumn;

use super::super::tests::{SOURCE, names};
use super::*;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/import/fixtures/criterion");

fn fixture() -> FolderFiles {
    let pattern = format!("{FIXTURES}/**/*.json");
    let paths = glob::glob(&pattern).unwrap().map(Result::unwrap);
    let read = |path: std::path::PathBuf| {
        let name = path.strip_prefix(FIXTURES).unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(&path).unwrap())
    };
    paths.map(read).collect()
}

#[test]
fn each_sample_is_divided_by_its_iterations() {
    let run = run(&fixture(), &SOURCE).unwrap();
    let expected = [
        "copy_from_slice group=copy bytes value=4096",
        "copy_from_slice group=copy bytes value=65536",
        "loop group=copy bytes value=4096",
        "loop group=copy bytes value=65536",
        "format a/number group=none",
        "spin group=slow",
    ];
    assert_eq!(names(&run), expected);
    let format = &run.cells[4];
    assert_eq!((format.samples.len(), format.samples[1].ops), (20, 20_948));
    assert_eq!(format.values["wall_ns"][1], 561_463.0 / 20_948.0);
    let copy = &run.cells[0];
    assert_eq!(copy.samples[0].bytes, copy.samples[0].ops * 4096);
    let rate = 4096e9 / copy.values["wall_ns"][0];
    assert_eq!(copy.values["throughput_bytes_per_s"][0], rate);
}

#[test]
fn what_is_wrong_is_named_by_file_key_and_index() {
    let check = |sample: &str, expected: &str| {
        let benchmark = r#"{"group_id":"g","function_id":"f","value_str":null}"#;
        let file = |name: &str, text: &str| (format!("g/new/{name}"), text.as_bytes().to_vec());
        let folder = vec![file(BENCHMARK, benchmark), file(SAMPLE, sample)];
        let error = format!("{:#}", run(&folder, &SOURCE).unwrap_err());
        assert!(error.contains(expected), "{error}");
    };
    check(r#"{"iters":[1],"times":[]}"#, "\"g/new/sample.json\": times is empty");
    check(r#"{"iters":[],"times":[1]}"#, "\"g/new/sample.json\": 0 iters and 1 times");
    check(r#"{"iters":[0],"times":[1]}"#, "iters[0]: 0 is no number of operations");
    check(r#"{"iters":[1,1],"times":[1,-1]}"#, "times[1]: -1 is below 0");
    check(r#"{"iters":[1,1],"times":[1,NaN]}"#, "\"times[1]\": NaN at line 1 column");
    check(r#"{"iters":[1,"#, "EOF while parsing a value at line 1 column 12");
    let error = format!("{:#}", run(&Vec::new(), &SOURCE).unwrap_err());
    assert!(error.contains("no new/benchmark.json below it"), "{error}");
}

#[test]
fn without_samples_the_estimate_is_one_value_and_is_called_so() {
    let mut files = fixture();
    files.retain(|(path, _)| !path.ends_with(SAMPLE));
    let run = run(&files, &SOURCE).unwrap();
    assert!(run.cells.iter().all(|cell| cell.samples.len() == 1));
    let called = |note: &&model::run::Warning| note.to_string().contains("its estimated median");
    assert_eq!(run.notes.iter().filter(called).count(), 6);
}

const TIMES: &str = r#"{"sampling_mode":"Flat","iters":[1.0,2.0],"times":[100.0,220.0]}"#;
const CSV: &str = "group,function,value,throughput_num,throughput_type,sample_measured_value,unit,iteration_count\n";

fn benchmark(more: &str) -> String {
    format!(r#"{{"group_id":"g","function_id":"f","value_str":null{more}}}"#)
}

fn folder(files: &[(&str, &str)]) -> FolderFiles {
    files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

/// The values of the only method, and notes that are there.
fn check(files: &[(&str, &str)], values: &[(&str, &[f64])], noted: &[&str]) -> Run {
    let run = run(&folder(files), &SOURCE).unwrap();
    assert_eq!(names(&run), ["f group=g"]);
    let column = |values: &[f64]| MetricColumn::from(values.to_vec());
    let expected: BTreeMap<String, MetricColumn> =
        values.iter().map(|(name, values)| ((*name).to_owned(), column(values))).collect();
    assert_eq!(run.cells[0].values, expected);
    let notes: Vec<String> = run.notes.iter().map(ToString::to_string).collect();
    for words in noted {
        assert!(notes.iter().any(|note| note.contains(words)), "{words}: {notes:?}");
    }
    run
}

fn check_error(files: &[(&str, &str)], expected: &str) {
    let error = format!("{:#}", run(&folder(files), &SOURCE).unwrap_err());
    assert!(error.contains(expected) && !error.contains('\n'), "{error}");
}

#[test]
fn each_version_has_its_samples() {
    let ns: &[(&str, &[f64])] = &[("wall_ns", &[100.0, 110.0])];
    let plain = benchmark("");
    let of = |sample: &'static str| {
        [("g/f/new/benchmark.json", plain.as_str()), ("g/f/new/sample.json", sample)]
    };
    // Without names, without a sampling mode, with both.
    check(&of("[[1.0,2.0],[100.0,220.0]]"), ns, &[]);
    check(&of(r#"{"iters":[1.0,2.0],"times":[100.0,220.0]}"#), ns, &[]);
    check(&of(TIMES), ns, &[]);
    // With the CSV of 0.2, which has no unit, and that of 0.3.
    let old = "group,function,value,sample_time_nanos,iteration_count\ng,f,,100,1\n";
    check(&[of(TIMES)[0], of(TIMES)[1], ("g/f/new/raw.csv", old)], ns, &[]);
    let csv = format!("{CSV}\"g, \"\"h\"\"\ni\",f,,,,100.0,ns,1\r\n").replacen('\n', "\r\n", 1);
    check(&[of(TIMES)[0], of(TIMES)[1], ("g/f/new/raw.csv", &csv)], ns, &[]);
    // Estimates with the names of 0.2 and those of today.
    for key in ["Median", "median"] {
        let estimates = format!("{{\"{key}\":{{\"point_estimate\":1.5}}}}");
        let files =
            [("g/f/new/benchmark.json", plain.as_str()), ("g/f/new/estimates.json", &estimates)];
        check(&files, &[("wall_ns", &[1.5])], &["the one value is its estimated median"]);
    }
}

#[test]
fn throughput_is_of_each_kind() {
    let all_of = check;
    let check = |throughput: &str, bytes: u64, rates: &[(&str, f64)], noted: &[&str]| {
        let text = benchmark(&format!(",\"throughput\":{throughput}"));
        let sample = r#"{"iters":[2.0],"times":[200.0]}"#;
        let files = [("g/f/new/benchmark.json", text.as_str()), ("g/f/new/sample.json", sample)];
        let columns: Vec<(&str, [f64; 1])> =
            rates.iter().map(|(name, rate)| (*name, [*rate])).collect();
        let mut values: Vec<(&str, &[f64])> =
            columns.iter().map(|(name, column)| (*name, column.as_slice())).collect();
        values.push(("wall_ns", &[100.0]));
        let run = all_of(&files, &values, noted);
        assert_eq!(run.cells[0].samples[0].bytes, bytes);
    };
    check("null", 0, &[], &[]);
    check("{\"Bytes\":8}", 16, &[("throughput_bytes_per_s", 8e7)], &[]);
    check("{\"BytesDecimal\":8}", 16, &[("throughput_bytes_per_s", 8e7)], &[]);
    check("{\"Elements\":3}", 0, &[("elements_per_s", 3e7)], &[]);
    check("{\"Bits\":3}", 0, &[("bits_per_s", 3e7)], &[]);
    let both = [("elements_per_s", 3e7), ("throughput_bytes_per_s", 8e7)];
    check("{\"ElementsAndBytes\":{\"elements\":3,\"bytes\":8}}", 16, &both, &[]);
    check("{\"Frames\":3}", 0, &[], &["its throughput is of an unknown kind and is not read"]);
}

#[test]
fn cycles_are_a_metric_of_their_own() {
    let bytes = benchmark(",\"throughput\":{\"Bytes\":8}");
    let csv =
        format!("{CSV}\"g, \"\"h\"\"\ni\",f,,8,bytes,100,cycles,1\r\ng,f,,8,bytes,220,cycles,2\n");
    let files = [
        ("g/f/new/benchmark.json", bytes.as_str()),
        ("g/f/new/raw.csv", &csv),
        ("g/f/new/sample.json", TIMES),
    ];
    let noted = ["wall_ns: criterion measured \"cycles\" and no time"];
    check(&files, &[("cycles (its own)", &[100.0, 110.0])], &noted);
    let estimates = r#"{"median":{"point_estimate":105.0}}"#;
    let files = [files[0], files[1], ("g/f/new/estimates.json", estimates)];
    check(&files, &[("cycles (its own)", &[105.0])], &noted);
    let other = format!("{CSV}g,f,,,,0.1,kcycles,1\n");
    let files = [files[0], ("g/f/new/raw.csv", &other), ("g/f/new/sample.json", TIMES)];
    check_error(
        &files,
        "\"g/f/new/sample.json\": its first value is 100, and in raw.csv 0.1 \"kcycles\": the unit of its \
         values is not known; if that raw.csv is left from an earlier time, delete it",
    );
    let other = format!("{CSV}g,f,,,,x,cycles,1\n");
    let files = [files[0], ("g/f/new/raw.csv", &other), ("g/f/new/sample.json", TIMES)];
    check_error(&files, "\"g/f/new/raw.csv\": sample_measured_value is not a number");
}

#[test]
fn a_file_without_a_unit_is_said_once() {
    let (plain, other) = (benchmark(""), benchmark("").replace("\"f\"", "\"h\""));
    let csv = format!("{CSV}g,f,,,,100.0,ns,1\n");
    let first = [("g/f/new/benchmark.json", plain.as_str()), ("g/f/new/sample.json", TIMES)];
    let second = [("g/h/new/benchmark.json", other.as_str()), ("g/h/new/sample.json", TIMES)];
    let units = [("g/f/new/raw.csv", csv.as_str()), ("g/h/new/raw.csv", csv.as_str())];
    let said = |units: &[(&str, &str)]| {
        let files = [&first[..], &second[..], units].concat();
        let run = run(&folder(&files), &SOURCE).unwrap();
        let text = "criterion's files name no unit without raw.csv: values are taken as ns";
        run.notes.iter().filter(|note| note.to_string() == text).count()
    };
    assert_eq!([said(&[]), said(&units[..1]), said(&units)], [1, 1, 0]);
}

#[test]
fn notes_of_a_repeated_name_are_those_of_the_right_one() {
    let plain = benchmark(",\"throughput\":{\"Frames\":3}");
    let csv = format!("{CSV}g,f,,,,100.0,cycles,1\n");
    let estimates = r#"{"median":{"point_estimate":100.0}}"#;
    let first = benchmark("");
    let files = [
        ("g/f/new/benchmark.json", first.as_str()),
        ("g/f/new/sample.json", TIMES),
        ("g/g/new/benchmark.json", plain.as_str()),
        ("g/g/new/estimates.json", estimates),
        ("g/g/new/raw.csv", csv.as_str()),
    ];
    let run = run(&folder(&files), &SOURCE).unwrap();
    assert_eq!(names(&run), ["f group=g", "f #2 group=g"]);
    for words in ["its estimated median", "criterion measured \"cycles\"", "an unknown kind"] {
        let found = run.notes.iter().find(|note| note.to_string().contains(words)).unwrap();
        assert_eq!(found.method.as_deref(), Some("f #2"), "{words}");
    }
}

#[test]
fn layouts_that_are_not_read_are_named() {
    let plain = benchmark("");
    let old = ("g/old/new/sample.json", TIMES);
    let cbor = ("data/main/g/f/benchmark.cbor", "\u{1}");
    let good = [("g/f/new/benchmark.json", plain.as_str()), ("g/f/new/sample.json", TIMES)];
    let old_note = "1 benchmark that an old version of criterion wrote (sample.json without benchmark.json) \
                    is not read, such as \"g/old/new\": run it again with criterion 0.3 or newer";
    let cbor_note = "1 benchmark that cargo-criterion wrote (benchmark.cbor) is not read, such as \
                     \"data/main/g/f\": run `cargo bench`";
    let values: &[(&str, &[f64])] = &[("wall_ns", &[100.0, 110.0])];
    check(&[good[0], good[1], old, cbor], values, &[old_note, cbor_note]);
    check_error(&[old], old_note);
    check_error(&[cbor], cbor_note);
    assert!(is_read("data/main/g/f/benchmark.cbor") && !is_read("a/base/sample.json"));
    let base = ("g/f/base/sample.json", TIMES);
    let run = check(&[good[0], good[1], base], values, &[]);
    assert!(run.notes.iter().all(|note| !note.to_string().contains("is not read")));
}

#[test]
fn a_byte_order_mark_is_left_out() {
    let plain = format!("\u{feff}{}", benchmark(""));
    let sample = format!("\u{feff}{TIMES}");
    let files =
        [("g/f/new/benchmark.json", plain.as_str()), ("g/f/new/sample.json", sample.as_str())];
    check(&files, &[("wall_ns", &[100.0, 110.0])], &[]);
}
