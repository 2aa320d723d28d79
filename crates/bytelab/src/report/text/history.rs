//! The list of stored runs, as a table for readers and as JSON for programs.

use lab::run::{Listed, Machine};

use super::grid::{self, Head};
use super::page::{Layout, Page};
use crate::report::model::table::{Column, Style, Table, TooWide};
use crate::report::model::words::clean;

/// The last column of a terminal stays free.
const LAYOUT: Layout = Layout { width: 79, colour: false };

/// In the given order; fits into 80 columns.
pub(crate) fn table(runs: &[Listed]) -> String {
    if runs.is_empty() {
        return "no runs yet".to_owned();
    }
    let id = Column { gap: 0, ..Column::left("id") };
    let others = [
        Column { too_wide: TooWide::Wrap, ..Column::left("experiment") },
        Column { too_wide: TooWide::Wrap, ..Column::left("label") },
        Column::left("started (UTC)"),
        Column { too_wide: TooWide::Wrap, ..Column::left("machine") },
        Column::right("cells"),
        Column::right("samples"),
        Column::left("complete"),
    ];
    let others = others.into_iter().map(|column| Column { gap: 1, ..column });
    let mut table = Table::new(std::iter::once(id).chain(others).collect());
    for run in runs {
        table.row(Style::Plain, row(run));
    }
    let mut page = Page::new(&LAYOUT);
    grid::write(&mut page, &table, Head::Styled(Style::Plain));
    page.into_text().trim_end().to_owned()
}

fn row(run: &Listed) -> [String; 8] {
    [
        run.id.clone(),
        shown(&run.experiment),
        shown(run.label.as_deref().unwrap_or("")),
        shown(&minute(&run.started)),
        shown(&machine(&run.machine)),
        run.cells.to_string(),
        run.samples.to_string(),
        if run.complete { "yes" } else { "no" }.to_owned(),
    ]
}

/// `2026-01-02 03:04` from an RFC 3339 time.
fn minute(started: &str) -> String {
    started.chars().take(16).collect::<String>().replacen('T', " ", 1)
}

/// The CPU without uninformative words, and the start of the fingerprint.
fn machine(machine: &Machine) -> String {
    let cpu = machine.cpu_model.as_deref().unwrap_or("").replace("(R)", "").replace("(TM)", "");
    let cpu = cpu.split(" @ ").next().unwrap_or("");
    let distinguishes = |word: &&str| {
        !matches!(*word, "AMD" | "CPU" | "Intel" | "Processor") && !word.ends_with("-Core")
    };
    let fingerprint: String = machine.fingerprint.chars().take(8).collect();
    let words = cpu.split_whitespace().filter(distinguishes).chain([&*fingerprint]);
    words.collect::<Vec<_>>().join(" ")
}

/// Texts come from stores that other people may have created: no text may control the terminal or
/// fill it.
fn shown(text: &str) -> String {
    const LIMIT: usize = 60;
    let text = clean(text);
    let mut shown: String = text.chars().take(LIMIT).collect();
    if text.chars().nth(LIMIT).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::json::history::runs as json;

    fn run(id: &str, label: Option<&str>, cpu: Option<&str>) -> Listed {
        Listed {
            id: id.to_owned(),
            experiment: "reading".to_owned(),
            label: label.map(str::to_owned),
            started: "2026-01-02T03:04:05Z".to_owned(),
            machine: Machine {
                fingerprint: "0123456789abcdef".to_owned(),
                cpu_model: cpu.map(str::to_owned),
            },
            complete: id == "1",
            cells: 16,
            samples: 1632,
        }
    }

    #[test]
    fn the_table_fits_80_columns() {
        let xeon = Some("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz");
        let epyc = Some("AMD EPYC 7763 64-Core Processor");
        let runs = [run("1", None, xeon), run("12", Some("before"), epyc), run("13", None, None)];
        let expected = "
id experiment label  started (UTC)    machine            cells samples complete
1  reading           2026-01-02 03:04 Xeon Platinum         16    1632 yes
                                      8481C 01234567
12 reading    before 2026-01-02 03:04 EPYC 7763 01234567    16    1632 no
13 reading           2026-01-02 03:04 01234567              16    1632 no";
        assert_eq!(table(&runs), expected.trim_start_matches('\n'));
    }

    #[test]
    fn long_and_hostile_texts_neither_widen_it_nor_reach_the_terminal() {
        let long = "\u{1b}[2J\0\r\n".to_owned() + &"wide\u{5bbd} ".repeat(300);
        let mut run = run("99999999", Some(&long), Some(&long));
        run.experiment = "x".repeat(200);
        run.started.clone_from(&long);
        let text = table(&[run.clone(), run]);
        assert!(!text.contains(['\u{1b}', '\0', '\r']));
        for line in text.lines() {
            let wide = line.matches('\u{5bbd}').count();
            assert!(line.chars().count() + wide <= 80, "{line}");
        }
        assert!(text.lines().count() < 30, "{text}");
    }

    #[test]
    fn an_empty_store_says_so() {
        assert_eq!(table(&[]), "no runs yet");
        assert_eq!(json(&[]).unwrap(), "[]");
    }

    #[test]
    fn the_json_has_the_documented_keys() {
        let json = json(&[run("7", Some("\"a\""), None)]).unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!([{
            "id": "7",
            "experiment": "reading",
            "label": "\"a\"",
            "started": "2026-01-02T03:04:05Z",
            "machine": {"fingerprint": "0123456789abcdef", "cpu_model": null},
            "complete": false,
            "cells": 16,
            "samples": 1632
        }]);
        assert_eq!(value, expected);
    }
}
