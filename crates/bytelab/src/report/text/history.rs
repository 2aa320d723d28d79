//! The list of stored runs, as a table for readers and as JSON for programs.

use lab::run::Machine;

use super::grid::{self, Head};
use super::page::{Layout, Page};
use crate::report::model::history::{Entry, differing};
use crate::report::model::table::{Column, Style, Table, TooWide};
use crate::report::model::units;
use crate::report::model::words::clean;

/// The last column of a terminal stays free.
const LAYOUT: Layout = Layout { width: 79, colour: false };

/// In the given order; fits into 80 columns. A machine or a state that all runs have is left out.
pub(crate) fn table(runs: &[Entry]) -> String {
    if runs.is_empty() {
        return "no runs yet".to_owned();
    }
    let machine_of = |entry: &Entry| machine(&entry.run.machine);
    let differ = |of: &dyn Fn(&Entry) -> String| runs.iter().any(|run| of(run) != of(&runs[0]));
    let flags = differing(runs);
    let wrapped = |name| Column { too_wide: TooWide::Wrap, ..Column::left(name) };
    let all: [(Column, bool); 9] = [
        (Column::left("id"), true),
        (wrapped("experiment"), true),
        (wrapped("label"), runs.iter().any(|entry| entry.run.label.is_some())),
        (Column::left("started (UTC)"), true),
        (wrapped("machine"), differ(&machine_of)),
        (wrapped("flags"), flags.iter().any(|flags| !flags.is_empty())),
        (Column::right("took"), runs.iter().any(|entry| entry.took_ns.is_some())),
        (Column::right("n"), true),
        (Column::left("complete"), runs.iter().any(|entry| !entry.run.complete)),
    ];
    let kept = all.each_ref().map(|(_, is_kept)| *is_kept);
    let columns = all.into_iter().enumerate().filter(|(_, (_, is_kept))| *is_kept);
    let columns = columns.map(|(at, (column, _))| Column { gap: usize::from(at > 0), ..column });
    let mut table = Table::new(columns.collect());
    for (entry, flags) in runs.iter().zip(&flags) {
        let cells = row(entry, flags).into_iter().zip(kept).filter(|(_, is_kept)| *is_kept);
        table.row(Style::Plain, cells.map(|(cell, _)| cell));
    }
    let mut page = Page::new(&LAYOUT);
    grid::write(&mut page, &table, Head::Styled(Style::Plain));
    page.into_text().trim_end().to_owned()
}

fn row(entry: &Entry, flags: &str) -> [String; 9] {
    let run = &entry.run;
    [
        run.id.clone(),
        shown(&run.experiment),
        shown(run.label.as_deref().unwrap_or("")),
        shown(&minute(&run.started)),
        shown(&machine(&run.machine)),
        shown(flags),
        entry.took_ns.map(|took_ns| units::ns(took_ns as f64)).unwrap_or_default(),
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
    use std::collections::BTreeMap;

    use lab::run::Listed;

    use super::*;
    use crate::report::json::history::runs as json;

    fn run(id: &str, label: Option<&str>, cpu: Option<&str>) -> Entry {
        let run = Listed {
            id: id.to_owned(),
            uuid: String::new(),
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
        };
        Entry { run, took_ns: None, flags: BTreeMap::new() }
    }

    fn with(mut entry: Entry, took_ns: u64, flags: &[(&str, &str)]) -> Entry {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        entry.took_ns = Some(took_ns);
        entry.flags = flags.iter().map(owned).collect();
        entry
    }

    #[test]
    fn the_table_fits_80_columns() {
        let xeon = Some("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz");
        let epyc = Some("AMD EPYC 7763 64-Core Processor");
        let runs = [run("1", None, xeon), run("12", Some("before"), epyc), run("13", None, None)];
        let expected = "
id experiment label  started (UTC)    machine                n complete
1  reading           2026-01-02 03:04 Xeon Platinum 8481C 1632 yes
                                      01234567
12 reading    before 2026-01-02 03:04 EPYC 7763 01234567  1632 no
13 reading           2026-01-02 03:04 01234567            1632 no";
        assert_eq!(table(&runs), expected.trim_start_matches('\n'));
    }

    #[test]
    fn it_has_the_flags_that_differ_and_the_time() {
        let of = |size, took_ns| {
            with(run("1", None, None), took_ns, &[("size", size), ("cache", "warm")])
        };
        let mut other = with(run("1", None, None), 90_000_000, &[("size", "1Gi")]);
        other.run.experiment = "files".to_owned();
        let runs = [of("1Mi", 54_200_000_000), of("1Gi", 7_000_000_000), other];
        let expected = "
id experiment started (UTC)    flags      took    n
1  reading    2026-01-02 03:04 size=1Mi 54.2 s 1632
1  reading    2026-01-02 03:04 size=1Gi    7 s 1632
1  files      2026-01-02 03:04           90 ms 1632";
        assert_eq!(table(&runs), expected.trim_start_matches('\n'));
    }

    #[test]
    fn long_and_hostile_texts_neither_widen_it_nor_reach_the_terminal() {
        let long = "\u{1b}[2J\0\r\n".to_owned() + &"wide\u{5bbd} ".repeat(300);
        let mut run = run("99999999", Some(&long), Some(&long));
        run.run.experiment = "x".repeat(200);
        run.run.started.clone_from(&long);
        let other = with(run.clone(), 1, &[("file", &long)]);
        let text = table(&[run, other]);
        assert!(!text.contains(['\u{1b}', '\0', '\r']));
        for line in text.lines() {
            let wide = line.matches('\u{5bbd}').count();
            assert!(line.chars().count() + wide <= 80, "{line}");
        }
        assert!(text.lines().count() < 40, "{text}");
    }

    #[test]
    fn an_empty_store_says_so() {
        assert_eq!(table(&[]), "no runs yet");
        assert_eq!(json(&[]).unwrap(), "[]");
    }

    #[test]
    fn the_json_has_the_documented_keys() {
        let entry = with(run("7", Some("\"a\""), None), 5, &[("size", "1Mi")]);
        let json = json(&[entry]).unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!([{
            "id": "7",
            "uuid": "",
            "experiment": "reading",
            "label": "\"a\"",
            "started": "2026-01-02T03:04:05Z",
            "machine": {"fingerprint": "0123456789abcdef", "cpu_model": null},
            "complete": false,
            "cells": 16,
            "samples": 1632,
            "took_ns": 5,
            "flags": {"size": "1Mi"}
        }]);
        assert_eq!(value, expected);
    }
}
