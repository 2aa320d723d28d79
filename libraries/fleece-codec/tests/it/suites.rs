//! JSON texts of every kind, each with what RFC 8259 requires of it and what this crate does.

use fleece_codec::{Doc, json};

use crate::{data, table};

/// A row of `tests/data/suites/json.tsv`: its name, what is required (`accept`, `refuse`, or
/// `either`), what is done, the text, the text that is printed again, and the reason if nothing is
/// required or something else is done.
struct SuiteCase {
    name: String,
    required: String,
    ours: String,
    text: Vec<u8>,
    printed: Vec<u8>,
    reason: String,
}

fn cases() -> Vec<SuiteCase> {
    let case = |row: Vec<String>| {
        let column = |number: usize| row.get(number).cloned().unwrap_or_default();
        let [name, required, ours] = [0, 1, 2].map(column);
        let [text, printed] = [3, 4].map(|number| decoded(&column(number)));
        SuiteCase { name, required, ours, text, printed, reason: column(5) }
    };
    table("suites/json.tsv").into_iter().map(case).collect()
}

/// The bytes of a column, in which `%0A` is a byte and `<3*x>` is `xxx`.
pub(crate) fn decoded(mut text: &str) -> Vec<u8> {
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
            bytes.extend(repeated.as_bytes().repeat(times.parse().unwrap()));
            text = after;
        }
    }
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

fn verdict(text: &[u8]) -> &'static str {
    if json::to_fleece(text).is_ok() { "accept" } else { "refuse" }
}

#[test]
fn json_texts_are_decided_as_the_table_says() {
    for SuiteCase { name, required, ours, text, printed, reason } in cases() {
        assert!(["accept", "refuse", "either"].contains(&required.as_str()), "{name}: {required}");
        assert_eq!(verdict(&text), ours, "{name}");
        // Text that is followed by other bytes is read sixteen bytes at once.
        assert_eq!(verdict(&[&text[..], &[b' '; 40]].concat()), ours, "{name} and spaces");
        assert_eq!(required == ours, reason.is_empty(), "{name}: a reason where it differs");
        if !printed.is_empty() {
            let doc = Doc::check(json::to_fleece(&text).unwrap()).unwrap();
            assert_eq!(json::to_vec(doc.root()).unwrap(), printed, "{name}");
        }
    }
}

#[test]
fn the_readme_has_the_numbers_of_the_table() {
    let cases = cases();
    let count = |is_one: fn(&SuiteCase) -> bool| cases.iter().filter(|case| is_one(case)).count();
    let required = count(|case| case.required != "either");
    let row = format!(
        "| JSON texts, `json.tsv` | {} | {required} | {} | {}, of which {} are accepted |",
        cases.len(),
        count(|case| case.required == case.ours),
        count(|case| case.required == "either"),
        count(|case| case.required == "either" && case.ours == "accept"),
    );
    let readme = String::from_utf8(data("../../README.md")).unwrap();
    assert!(readme.contains(&row), "README.md has no row {row}");
}
