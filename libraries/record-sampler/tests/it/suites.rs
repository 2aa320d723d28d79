//! CSV of every kind, each with what RFC 4180 requires of it and what this crate does.

use std::io::Cursor;

use record_sampler::{Format, Population, Result, Sampler};
use serde_json::Value;

use crate::files::file;

/// The rows of a table below `tests/data/suites`, without its heading.
pub(crate) fn table(name: &str) -> Vec<Vec<String>> {
    let path = format!("{}/tests/data/suites/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// Fails unless README.md has this row of its table of suites.
pub(crate) fn check_readme(row: &str) {
    let readme = include_str!("../../README.md");
    assert!(readme.contains(row), "README.md has no row {row}");
}

/// The bytes of a column, in which `%0A` is a byte and `<3*x>` is `xxx`.
fn decoded(mut text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(at) = text.find(['%', '<']) {
        bytes.extend_from_slice(&text.as_bytes()[..at]);
        let rest = &text[at + 1..];
        if text[at..].starts_with('%') {
            bytes.push(u8::from_str_radix(&rest[..2], 16).unwrap());
            text = &rest[2..];
        } else {
            let (repeated, after) = rest.split_once('>').unwrap();
            let (times, repeated) = repeated.split_once('*').unwrap();
            bytes.extend(decoded(repeated).repeat(times.parse().unwrap()));
            text = after;
        }
    }
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// A row of `csv.tsv`: its name, the delimiter, the text, the records that are required (or
/// `error`, or `open` where nothing is), those that are found if they are others, and the reason.
struct CsvCase {
    name: String,
    format: Format,
    text: Vec<u8>,
    required: Option<Value>,
    ours: Value,
    reason: String,
}

fn cases() -> Vec<CsvCase> {
    let case = |row: Vec<String>| {
        let column = |number: usize| row.get(number).cloned().unwrap_or_default();
        let delimiter = if row[1] == "tab" { b'\t' } else { row[1].as_bytes()[0] };
        let outcome = |text: &str| match text {
            "error" => Value::from(text),
            text => serde_json::from_slice(&decoded(text)).unwrap(),
        };
        let (required, ours) = (column(3), column(4));
        let required = (required != "open").then(|| outcome(&required));
        CsvCase {
            name: column(0),
            format: Format::Csv { delimiter },
            text: decoded(&column(2)),
            ours: if ours.is_empty() { required.clone().unwrap() } else { outcome(&ours) },
            required,
            reason: column(5),
        }
    };
    table("csv.tsv").into_iter().map(case).collect()
}

/// The fields of all records, or the text `error`.
fn outcome(population: Result<Population>, format: Format) -> Value {
    let all = Sampler::at_most(u64::MAX);
    let Ok(records) = population.and_then(|mut population| all.records(&mut population)) else {
        return Value::from("error");
    };
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let fields = |record: &Vec<u8>| -> Value {
        format.fields(record).iter().map(|field| text(field)).collect()
    };
    records.iter().map(fields).collect()
}

#[test]
fn csv_has_the_records_and_fields_that_the_table_says() {
    let dir = tempfile::tempdir().unwrap();
    for CsvCase { name, format, text, required, ours, reason } in cases() {
        let path = file(dir.path(), "table", &text);
        let stream = Population::stream(Cursor::new(text), format);
        for population in [Population::open([&path], format), Ok(stream)] {
            assert!(outcome(population, format) == ours, "{name}");
        }
        let is_as_required = required == Some(ours);
        assert_eq!(is_as_required, reason.is_empty(), "{name}: a reason where it differs");
    }
}

#[test]
fn the_readme_has_the_numbers_of_the_table_of_csv() {
    let cases = cases();
    let open = cases.iter().filter(|case| case.required.is_none()).count();
    let fit = cases.iter().filter(|case| case.required.as_ref() == Some(&case.ours)).count();
    let (all, required) = (cases.len(), cases.len() - open);
    let differ = required - fit;
    check_readme(&format!("| CSV, `csv.tsv` | {all} | {required} | {fit} | {differ} | {open} |"));
}
