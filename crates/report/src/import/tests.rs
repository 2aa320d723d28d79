//! What all formats must do: no input makes them panic, their runs can be shown, stored and read
//! back, and an error is reported on one line.

use analysis::Verdict::{Missing, Undecided};
use analysis::analyze;
use model::run::{MetricColumn, Run, Warning};
use proptest::prelude::*;

use super::*;

pub(super) const SOURCE: ImportedFile<'static> =
    ImportedFile { file: "results.txt", written: "2026-01-02T03:04:05Z" };

pub(super) fn check_refused(
    run: fn(&str, &ImportedFile<'_>) -> Result<Run>,
    text: &str,
    expected: &str,
) {
    let error = run(text, &SOURCE).map(drop).unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains(expected), "{text}: {error}");
    assert!(!error.contains('\n'), "{error}");
}

const SAMPLES: [(ImportFormat, &str); 9] = [
    (ImportFormat::Hyperfine, include_str!("fixtures/hyperfine.json")),
    (ImportFormat::Hyperfine, include_str!("fixtures/hyperfine-parameters.json")),
    (ImportFormat::GoogleBenchmark, include_str!("fixtures/google-benchmark.json")),
    (ImportFormat::GoogleBenchmark, include_str!("fixtures/google-benchmark-aggregates.json")),
    (ImportFormat::Go, include_str!("fixtures/go.txt")),
    (ImportFormat::Fio, include_str!("fixtures/fio.json")),
    (ImportFormat::Fio, include_str!("fixtures/fio-bins.json")),
    (ImportFormat::PytestBenchmark, include_str!("fixtures/pytest-benchmark.json")),
    (ImportFormat::Jmh, include_str!("fixtures/jmh.json")),
];

/// Each cell's method and point.
pub(super) fn names(run: &Run) -> Vec<String> {
    run.cells.iter().map(|cell| format!("{} {}", cell.method, cell.point)).collect()
}

fn document(run: &Run) -> String {
    serde_json::to_string(run).unwrap()
}

#[test]
fn real_files_are_recognized_by_their_content() {
    for (format, text) in SAMPLES {
        assert_eq!(guess(text.as_bytes()).unwrap(), format);
        let marked = format!("\u{feff}\n{text}");
        assert_eq!(guess(marked.as_bytes()).unwrap(), format);
        let run = file(format, text.as_bytes(), &SOURCE).unwrap();
        assert_eq!(guess(document(&run).as_bytes()).unwrap(), ImportFormat::Json);
    }
    for text in ["", "hello", "{}", "[1]", "{\"results\":", "\0", "{\"a\":1}", "Benchmark", "null"]
    {
        assert!(guess(text.as_bytes()).is_err(), "{text}");
    }
    let error = format!("{:#}", guess(b"{\"results\": [\xff]}").unwrap_err());
    assert_eq!(error, "not UTF-8 at byte 13: it is no text");
}

#[test]
fn methods_of_an_imported_run_have_no_verdict_and_no_round_in_common() {
    for (format, text) in SAMPLES {
        let run = file(format, text.as_bytes(), &SOURCE).unwrap();
        let analysis = analyze(&run);
        let mut rounds: Vec<u32> =
            run.cells.iter().flat_map(|cell| &cell.samples).map(|sample| sample.round).collect();
        let n = rounds.len();
        rounds.sort_unstable();
        rounds.dedup();
        assert_eq!(rounds.len(), n);
        for comparison in &analysis.comparisons {
            assert!(matches!(comparison.verdict, Undecided | Missing), "{comparison:?}");
            assert!(comparison.low.is_none() && comparison.p.is_none());
        }
        let names_the_import = |note: &Warning| {
            note.to_string().starts_with("bytelab did not measure this, ")
                && note.to_string().contains("imported from results.txt")
        };
        assert!(analysis.notes.iter().any(names_the_import), "{:?}", analysis.notes);
        let known = matches!(
            format,
            ImportFormat::Go | ImportFormat::GoogleBenchmark | ImportFormat::PytestBenchmark
        );
        assert_eq!(run.environment.fingerprint.is_empty(), !known);
    }
}

#[test]
fn two_of_a_kind_are_compared_by_their_medians() {
    let text = r#"{"results":[{"command":"a","times":[1,2,9]},{"command":"b","times":[4,4,4,4]}]}"#;
    let analysis = analyze(&file(ImportFormat::Hyperfine, text.as_bytes(), &SOURCE).unwrap());
    let [comparison] = &analysis.comparisons[..] else { panic!("{:?}", analysis.comparisons) };
    assert!((comparison.ratio.unwrap() - 2.0).abs() < 1e-9);
    assert_eq!(
        comparison.reason.as_deref(),
        Some("hyperfine did not measure the methods in rounds")
    );
}

#[test]
fn every_format_has_a_word_and_the_kind_of_input_is_checked() {
    for (name, format, _) in FORMATS {
        assert_eq!((format.name(), format.about().is_empty()), (name, false));
    }
    let error = file(ImportFormat::Criterion, b"{}", &SOURCE).unwrap_err();
    assert!(format!("{error:#}").contains("name that"), "{error:#}");
}

#[test]
fn our_own_document_comes_back_as_it_was() {
    for (format, text) in SAMPLES {
        let mut run = file(format, text.as_bytes(), &SOURCE).unwrap();
        "12".clone_into(&mut run.id);
        let back = own_document(&document(&run)).unwrap();
        assert_eq!(back.id, "");
        run.id = String::new();
        // NaN is not equal to itself, but its text is.
        assert_eq!(format!("{back:?}"), format!("{run:?}"));
    }
}

#[test]
fn a_document_of_ours_that_is_wrong_is_reported() {
    let run = file(SAMPLES[0].0, SAMPLES[0].1.as_bytes(), &SOURCE).unwrap();
    let whole = document(&run);
    let own = |text: &str, _: &ImportedFile<'_>| own_document(text);
    let check = |from: &str, to: &str, expected: &str| {
        assert!(whole.contains(from), "{from}");
        check_refused(own, &whole.replacen(from, to, 1), expected);
    };
    check("\"schema\":2", "\"schema\":99", "newer bytelab (schema 99, known here is 2): update");
    check("\"schema\":2", "\"schema\":\"x\"", "\"schema\": invalid type");
    check("\"schema\":2,", "", "missing field `schema`");
    check("\"schema\":2", "\"schema\":2,\"families\":[]", "use `bytelab export --format json`");
    check("1172578.0", "-1172578.0", "cells[0]: values[\"wall_ns\"][0]: -1172578 is below 0");
    check("1172578.0", "NaN", "NaN at line 1 column");
    check("1172578.0,", "", "cells[0]: values[\"wall_ns\"] has 9 values for 10 samples");
    check("2026-01-02T", "2026-13-02T", "started: \"2026-13-02T03:04:05Z\" is no time in UTC");
    check("\"experiment\":\"hyperfine\"", "\"experiment\":\"\"", "experiment is empty");
    let cut = &whole[..whole.len() / 2];
    check_refused(own, cut, "line 1 column");
    check_refused(own, cut, "the file is cut off");
}

#[test]
fn a_cut_file_is_refused_wherever_it_is_cut() {
    for (format, text) in SAMPLES.into_iter().filter(|(format, _)| *format != ImportFormat::Go) {
        for end in (0..text.trim_end().len() - 1).step_by(1 + text.len() / 500) {
            let error = file(format, &text.as_bytes()[..end], &SOURCE).unwrap_err();
            let error = format!("{error:#}");
            assert!(error == "empty" || error.contains(" line "), "{format:?} {end}: {error}");
        }
    }
}

#[test]
fn a_million_rows_are_read_and_too_many_methods_are_reported() {
    const N: usize = 1_000_000;
    let times = vec!["0.25"; N].join(",");
    let text = format!("{{\"results\":[{{\"command\":\"a\",\"times\":[{times}]}}]}}");
    let run = file(guess(text.as_bytes()).unwrap(), text.as_bytes(), &SOURCE).unwrap();
    assert_eq!(run.cells[0].values["wall_ns"].iter().len(), N);
    let text = "BenchmarkA-2 \t 10\t 5 ns/op\t 3 B/op\n".repeat(N / 5);
    let run = file(guess(text.as_bytes()).unwrap(), text.as_bytes(), &SOURCE).unwrap();
    assert_eq!((run.cells.len(), run.cells[0].samples.len()), (1, N / 5));
    let many = |name: &dyn Fn(usize) -> String| -> String { (0..20_000).map(name).collect() };
    let methods = many(&|i| format!("BenchmarkA{i} 1 5 ns/op\n"));
    let error = format!("{:#}", file(ImportFormat::Go, methods.as_bytes(), &SOURCE).unwrap_err());
    assert!(error.starts_with("line 10001: \"A10000\": more than 10000 methods"), "{error}");
    let metrics = many(&|i| format!("BenchmarkA 1 5 u{i}\n"));
    let error = format!("{:#}", file(ImportFormat::Go, metrics.as_bytes(), &SOURCE).unwrap_err());
    assert_eq!(error, "line 129: \"A\" has more than 128 metrics");
    let same = vec![r#"{"command":"a","times":[1]}"#; 20_000].join(",");
    let error =
        file(ImportFormat::Hyperfine, format!("{{\"results\":[{same}]}}").as_bytes(), &SOURCE);
    assert!(format!("{:#}", error.unwrap_err()).contains("more than 10000 methods"));
}

/// Every imported run can be analyzed, and read back from our own document.
fn check_sound(run: &Run) {
    let analysis = analyze(run);
    assert_eq!(analysis.cells.len(), run.cells.len());
    for cell in &run.cells {
        assert!(!cell.method.trim().is_empty());
        for column in cell.values.values() {
            assert_eq!(column.iter().len(), cell.samples.len());
            assert!(column.iter().all(|value| !value.is_infinite()));
        }
    }
    let back = own_document(&document(run)).unwrap();
    assert_eq!(document(&back), document(run));
}

fn check_any(bytes: &[u8]) {
    let _ = guess(bytes);
    let marked: Vec<u8> = [0xff, 0xfe].iter().chain(bytes).copied().collect();
    let _ = guess(&marked);
    for (_, format, _) in FORMATS {
        match file(format, bytes, &SOURCE) {
            Ok(run) if format != ImportFormat::Json => check_sound(&run),
            Ok(run) => drop(analyze(&run)),
            Err(error) => assert!(!format!("{error:#}").contains('\n'), "{error:#}"),
        }
    }
    let files = ["a/new/benchmark.json", "a/new/sample.json", "a/new/raw.csv"];
    let folder = files.map(|path| (path.to_owned(), bytes.to_vec())).to_vec();
    if let Ok(run) = folder_of(&folder) {
        check_sound(&run);
    }
}

fn folder_of(folder: &FolderFiles) -> Result<Run> {
    super::folder(folder, &SOURCE)
}

/// A word of these formats, so that random input finds more than syntax errors.
fn word() -> impl Strategy<Value = String> {
    let words: Vec<String> = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\n",
        " ",
        "\"results\":[",
        "\"command\":\"a\",",
        "\"times\":[1,2]",
        "\"exit_codes\":[0,null]",
        "\"benchmarks\":[",
        "\"context\":{},",
        "\"name\":\"b_mean\",",
        "\"real_time\":1e308,",
        "\"time_unit\":\"s\"",
        "\"iterations\":3,",
        "\"run_type\":\"aggregate\",",
        "\"jobs\":[",
        "\"jobname\":\"j\",",
        "\"read\":{",
        "\"total_ios\":2,",
        "\"clat_ns\":{\"N\":1,",
        "\"bins\":{\"5\":18446744073709551615}",
        "\"fio version\":\"fio-2.1\",",
        "\"client_stats\":[",
        "\"mixed\":{",
        "\"clat\":{\"max\":1,",
        "\"iops\":-nan,",
        "\"rms\":Infinity",
        "\n{",
        "{\"Action\":\"output\",",
        "\"Output\":\"BenchmarkX\\t\"}\n",
        "BenchmarkX\t",
        "key: value\n",
        "key:\n",
        "BenchmarkX-8 ",
        "1 ",
        "5 ns/op ",
        "-1e-300 u ",
        "pkg: p\n",
        "\"group_id\":\"g\",",
        "\"function_id\":null,\"value_str\":\"01\",",
        "\"iters\":[1,2],",
        "-0",
        "1e999",
        "NaN",
        "\u{1b}[2J",
        "\u{202e}",
    ]
    .map(str::to_owned)
    .to_vec();
    prop_oneof![8 => proptest::sample::select(words), 1 => ".{0,3}"]
}

/// A real file of which some bytes were replaced or cut out.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let places = proptest::collection::vec(
        (any::<proptest::sample::Index>(), any::<u8>(), 0..4_usize),
        1..6,
    );
    (0..SAMPLES.len(), places).prop_map(|(which, places)| {
        let mut bytes = SAMPLES[which].1.as_bytes().to_vec();
        for (at, byte, n) in places {
            let at = at.index(bytes.len().max(1)).min(bytes.len());
            let end = (at + n).min(bytes.len());
            bytes.splice(at..end, [byte]);
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_make_a_parser_panic(bytes: Vec<u8>) {
        check_any(&bytes);
    }

    #[test]
    fn no_words_make_a_parser_panic(words in proptest::collection::vec(word(), 0..40)) {
        check_any(words.concat().as_bytes());
    }

    #[test]
    fn no_damage_makes_a_parser_panic(bytes in damaged()) {
        check_any(&bytes);
    }

    #[test]
    fn times_and_names_survive(
        commands in proptest::collection::vec(("\\PC{0,8}[a-z]", proptest::collection::vec(0.0..1e9_f64, 1..5)), 1..5)
    ) {
        let results: Vec<serde_json::Value> = commands.iter()
            .map(|(command, times)| serde_json::json!({"command": command, "times": times}))
            .collect();
        let text = serde_json::json!({"results": results}).to_string();
        let run = file(ImportFormat::Hyperfine, text.as_bytes(), &SOURCE).unwrap();
        prop_assert_eq!(run.cells.len(), commands.len());
        for (cell, (command, times)) in run.cells.iter().zip(&commands) {
            prop_assert!(cell.method.starts_with(command.as_str()));
            let ns: Vec<f64> = times.iter().map(|seconds| seconds * 1e9).collect();
            prop_assert_eq!(&cell.values["wall_ns"], &MetricColumn::from(ns));
        }
        check_sound(&run);
    }
}
