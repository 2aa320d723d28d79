//! Every format, as text and as its readers parse it.

mod fixture;

use std::collections::{BTreeMap, BTreeSet};

use analysis::analyze;
use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use insta::assert_snapshot;
use model::run::{MetricColumn, Run};
use serde::Deserialize;
use serde_json::Value;

use self::fixture::{HOSTILE, exported, formats, hostile, small, text};
use super::{ExportOptions, FORMATS, FormatKind, write};

#[test]
fn each_text_format_is_written_like_this() {
    assert_snapshot!("csv", text("csv", &small()));
    assert_snapshot!("tsv", text("tsv", &small()));
    assert_snapshot!("markdown", text("markdown", &small()));
    assert_snapshot!("asciidoc", text("asciidoc", &small()));
    assert_snapshot!("orgmode", text("orgmode", &small()));
    assert_snapshot!("hyperfine", text("hyperfine", &small()));
    assert_snapshot!("google-benchmark", text("google-benchmark", &small()));
    assert_snapshot!("go", text("go", &small()));
    assert_snapshot!("github-action-benchmark", text("github-action-benchmark", &small()));
    assert_snapshot!("openmetrics", text("openmetrics", &small()));
    assert_snapshot!("json", text("json", &small()));
}

#[test]
fn hostile_names_are_escaped_like_this() {
    for name in ["csv", "tsv", "markdown", "asciidoc", "orgmode", "go", "openmetrics"] {
        assert_snapshot!(format!("hostile-{name}"), text(name, &hostile()));
    }
}

#[test]
fn what_has_no_place_is_said() {
    let said = |format| exported(format, &small()).1;
    let cells = [
        "direct is left out: skipped: O_DIRECT is refused",
        "splice is left out: failed: it ended with signal 9",
    ];
    for format in ["csv", "markdown", "github-action-benchmark", "hdrhistogram"] {
        assert_eq!(said(format)[..2], cells, "{format}");
    }
    assert_eq!(said("csv").len(), 2);
    assert_eq!(
        said("hyperfine")[2],
        "all CPU time is given as user, because user and system time are not known separately"
    );
    assert_eq!(said("google-benchmark"), ["mmap: samples without CPU time are left out: 1"]);
    for format in ["json", "go", "openmetrics"] {
        assert!(said(format).is_empty(), "{format}");
    }
    for (reason, format) in [
        ("O_DIRECT is refused", "go"),
        ("O_DIRECT is refused", "openmetrics"),
        ("O_DIRECT is refused", "google-benchmark"),
    ] {
        assert!(text(format, &small()).contains(reason), "{format}");
    }
}

/// What there is to doubt is folded below the table, where it is wanted.
#[test]
fn markdown_is_a_table_and_a_sentence_and_on_request_the_rest() {
    let (run, format) = (small(), FORMATS.iter().find(|known| known.name == "markdown").unwrap());
    let written = |notes| {
        let (mut out, options) = (Vec::new(), ExportOptions { notes, ..ExportOptions::default() });
        let left_out = write(format, &run, &analyze(&run), options, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), left_out)
    };
    let (short, left_out) = written(false);
    assert_eq!((short.lines().count(), left_out.len()), (6, 2), "{short}");
    let (long, left_out) = written(true);
    assert_eq!(left_out, Vec::<String>::new());
    let folded = "\n<details>\n<summary>How it was measured, and all notes</summary>\n\n";
    let (above, below) = long.split_once(folded).unwrap();
    assert_eq!(above, short);
    assert!(below.ends_with("\n\n</details>\n"), "{below}");
    for part in ["- skipped: direct — O\\_DIRECT is refused\n", "- How to read it: time: "] {
        assert!(below.contains(part), "{part}: {below}");
    }
}

#[test]
fn our_own_document_comes_back_whole() {
    for run in [small(), hostile()] {
        let json = text("json", &run);
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["bytelab"], "run");
        let back: Run = serde_json::from_str(&json).unwrap();
        assert_eq!(text("json", &back), json);
        for (cell, was) in back.cells.iter().zip(&run.cells) {
            assert_eq!((&cell.samples, &cell.point), (&was.samples, &was.point));
            for (name, column) in &was.values {
                let bits = |values: &MetricColumn| -> Vec<u64> {
                    let nan = |v: &f64| if v.is_nan() { f64::NAN } else { *v };
                    values.iter().map(nan).map(f64::to_bits).collect()
                };
                assert_eq!(bits(&cell.values[name]), bits(column), "{name:?}");
            }
        }
    }
}

#[test]
fn nothing_of_a_sample_that_does_not_count_is_exported() {
    for name in formats().filter(|name| *name != "json") {
        let (out, _) = exported(name, &small());
        let text = String::from_utf8_lossy(&out);
        for word in ["9000000000", "8000000000", "not in the page cache"] {
            assert!(!text.contains(word), "{name}: {word}");
        }
    }
}

#[test]
fn an_empty_run_is_no_mistake() {
    let mut run = small();
    run.cells.clear();
    run.points.clear();
    for name in formats() {
        let (out, left_out) = exported(name, &run);
        assert!(!out.is_empty() && left_out.is_empty(), "{name}");
    }
    let mut run = small();
    for cell in &mut run.cells {
        cell.samples.clear();
        cell.values.values_mut().for_each(|column| column.to_mut().clear());
    }
    for name in formats() {
        assert!(!exported(name, &run).0.is_empty(), "{name}");
    }
}

#[test]
fn every_line_of_csv_has_all_fields_as_they_are() {
    let run = hostile();
    let csv = text("csv", &run);
    let mut reader = csv::ReaderBuilder::new().from_reader(csv.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2 * 8);
    let at =
        |row: usize, name: &str| &rows[row][names.iter().position(|known| known == name).unwrap()];
    assert_eq!(at(0, "method"), HOSTILE[0]);
    assert_eq!(at(8, "method"), HOSTILE[1]);
    assert_eq!(at(0, "label"), HOSTILE.concat());
    for (n, name) in HOSTILE.into_iter().enumerate() {
        assert_eq!(at(0, &format!("param_{name}")), HOSTILE[(n + 1) % HOSTILE.len()]);
        assert_eq!([at(0, name), at(1, name)], ["", &n.to_string()], "{name:?}");
        assert_eq!(at(8, name), "");
    }
    assert_eq!([at(0, "metric_session"), at(0, "session")], ["-1.5", "0"]);

    let tsv = text("tsv", &run);
    let lines: Vec<Vec<String>> =
        tsv.lines().map(|line| line.split('\t').map(unescaped).collect()).collect();
    assert_eq!(lines[0], names);
    for (line, row) in lines[1..].iter().zip(&rows) {
        assert_eq!(line, &row.iter().collect::<Vec<_>>());
    }
}

fn unescaped(field: &str) -> String {
    let parts = field
        .split("\\\\")
        .map(|part| part.replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r"));
    parts.collect::<Vec<_>>().join("\\")
}

/// The fields that hyperfine writes, and no others.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "that they can be read is what is tested")]
struct HyperfineResult {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    memory_usage_byte: Option<Vec<u64>>,
    exit_codes: Vec<Option<i32>>,
    parameters: BTreeMap<String, String>,
}

#[test]
fn hyperfine_has_its_fields_in_seconds() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Export {
        results: Vec<HyperfineResult>,
    }
    let export: Export = serde_json::from_str(&text("hyperfine", &small())).unwrap();
    let [read, mmap] = &export.results[..] else { panic!("two were measured") };
    assert_eq!([read.command.as_str(), mmap.command.as_str()], ["read", "mmap"]);
    assert_eq!((read.times.len(), read.exit_codes.len()), (6, 6));
    assert!((read.min - 0.010_000_000_25).abs() < 1e-12 && (read.max - 0.013).abs() < 1e-8);
    assert!((read.median - 0.011).abs() < 1e-8 && (read.user - read.mean + 1e-6).abs() < 1e-12);
    assert_eq!(read.parameters["size"], "134217728");
    let mut apart = small();
    let n = apart.cells[0].samples.len();
    for (name, ns) in [("user_ns", 2e6), ("system_ns", 8e6)] {
        apart.cells[0].values.insert(name.to_owned(), vec![ns; n].into());
    }
    let export: Export = serde_json::from_str(&text("hyperfine", &apart)).unwrap();
    assert!((export.results[0].user - 0.002).abs() < 1e-12);
    assert!((export.results[0].system - 0.008).abs() < 1e-12);
    let hostile: Export = serde_json::from_str(&text("hyperfine", &hostile())).unwrap();
    assert_eq!(hostile.results[0].command, HOSTILE[0]);
    assert_eq!(hostile.results[0].parameters[HOSTILE[0]], HOSTILE[1]);
}

#[test]
fn every_json_is_json_without_a_control_character() {
    for name in
        FORMATS.iter().filter(|known| known.kind == FormatKind::Json).map(|known| known.name)
    {
        let json = text(name, &hostile());
        serde_json::from_str::<Value>(&json).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!json.contains(|c: char| c.is_control() && c != '\n'), "{name}: {json:?}");
    }
}

#[test]
fn aggregates_are_those_of_the_repetitions() {
    let json: Value = serde_json::from_str(&text("google-benchmark", &small())).unwrap();
    let all = json["benchmarks"].as_array().unwrap();
    let of = |key: &str, value: &str| -> Vec<f64> {
        let read = all.iter().filter(|b| b["run_name"] == "reading/read/size:134217728");
        read.filter(|b| b[key] == value).map(|b| b["real_time"].as_f64().unwrap()).collect()
    };
    let samples = of("run_type", "iteration");
    assert_eq!(samples.len(), 6);
    let mean = samples.iter().sum::<f64>() / 6.0;
    assert!((of("aggregate_name", "mean")[0] - mean).abs() < 1e-6);
    assert!(of("aggregate_name", "cv")[0] * mean - of("aggregate_name", "stddev")[0] < 1e-6 * mean);
}

#[test]
fn histograms_hold_every_time() {
    for (run, tag) in [(small(), "read/size=134217728"), (hostile(), "a%2C\"b\"%09|c%0D%0Ad\\e'")] {
        let log = text("hdrhistogram", &run);
        let mut found = Vec::new();
        for entry in IntervalLogIterator::new(log.as_bytes()) {
            if let LogEntry::Interval(interval) = entry.unwrap() {
                let encoded = interval.encoded_histogram();
                let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
                let histogram: Histogram<u64> =
                    Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
                found.push((interval.tag().unwrap().as_str().to_owned(), histogram));
            }
        }
        assert_eq!(found.len(), 2);
        let (name, histogram) = &found[0];
        assert!(name.starts_with(tag), "{name}");
        assert_eq!(histogram.len(), 6);
        assert!(histogram.equivalent(histogram.value_at_quantile(0.5), 11_000_000));
        assert!(histogram.equivalent(histogram.max(), 13_000_000));
    }
}

/// Writes the files for the readers that `.ci/consumers` installs, if the variable is set.
#[test]
fn files_for_other_readers() {
    let Some(dir) = std::env::var_os("EXPORT_SAMPLES").map(std::path::PathBuf::from) else {
        return;
    };
    for (run_name, run) in [("small", small()), ("hostile", hostile())] {
        for name in formats() {
            std::fs::write(dir.join(format!("{run_name}.{name}")), exported(name, &run).0).unwrap();
        }
    }
}
