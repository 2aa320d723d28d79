//! The page of a published study.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr;

use super::*;
use crate::published::{Published, StudyRow, find, studies};
use crate::study::{StudyReport, claims_by_figures, figure, page, text};

/// What is made of the published figures of a study.
fn made<T>(name: &str, make: impl Fn(&StudyReport<'_>) -> T) -> T {
    let study = studies().iter().find(|study| study.name == name).unwrap();
    let published: Vec<Published> = study.published.iter().filter_map(|name| find(name)).collect();
    let absent = BTreeMap::new();
    make(&StudyReport { study, published: &published, runs: Vec::new(), absent: &absent })
}

fn text_page(name: &str, width: usize) -> String {
    made(name, |report| text(report, false, &PageLayout { width, colour: false }))
}

/// The figure of a study with this title, as lines of SVG.
fn drawn(name: &str, title: &str) -> Vec<String> {
    let svg = made(name, |report| {
        let drawing = report.study.figures.iter().find(|drawing| drawing.title == title);
        figure(report, drawing.unwrap()).unwrap()
    });
    svg.lines().map(str::to_owned).collect()
}

/// The value of an attribute.
fn number(element: &str, attribute: &str) -> f64 {
    let (_, rest) = element.split_once(&format!(" {attribute}=\"")).unwrap();
    rest.split_once('"').unwrap().0.parse().unwrap()
}

#[test]
fn every_study_fits_its_page_and_cuts_no_label() {
    for study in studies() {
        for width in [80, 160] {
            let page = text_page(&study.name, width);
            let long = page.lines().find(|line| line.width() > width);
            assert_eq!(long, None, "{} at {width}", study.name);
            let words: Vec<&str> = page.split_whitespace().collect();
            let words = words.join(" ");
            let is_listed = |row: &&StudyRow| study.grid.is_none() && !row.published.is_empty();
            for row in study.rows.iter().filter(is_listed) {
                assert!(words.contains(row.label()), "{}: {page}", row.label());
            }
            for line in study.grid.iter().flat_map(|grid| &grid.lines) {
                let is_shown = words.contains(&line.title) || line.title.contains("not measured");
                assert!(is_shown, "{}: {page}", line.title);
            }
        }
    }
}

#[test]
fn bars_on_a_linear_axis_begin_at_zero() {
    let lines = drawn("fleece", "data size");
    let zero = lines.iter().find(|line| line.ends_with(">0</text>")).unwrap();
    let mut bars = 0;
    for bar in lines.iter().filter(|line| line.contains("fill-opacity=\"0.18\"")) {
        assert!((number(bar, "x") - number(zero, "x")).abs() < 0.01, "{bar} {zero}");
        bars += 1;
    }
    assert_eq!(bars, 2);
    // Ticks of bytes are multiples of a power of two.
    for tick in [">256</text>", ">512</text>", ">768</text>"] {
        assert!(lines.iter().any(|line| line.ends_with(tick)), "{tick}: {lines:#?}");
    }
}

#[test]
fn no_line_crosses_the_label_of_a_bar() {
    let lines = drawn("latency", "latency numbers");
    let labels = lines.iter().enumerate().filter(|(_, line)| line.starts_with("<text x=\"8.00\""));
    let labels: Vec<usize> = labels.map(|(at, _)| at).collect();
    assert!(labels.len() > 10, "{lines:#?}");
    for at in labels {
        let behind = &lines[at - 1];
        assert!(behind.starts_with("<rect") && behind.contains("fill=\"white\""), "{behind}");
    }
}

#[test]
fn the_title_of_rows_spans_the_table() {
    let html = made("bytestring", |report| page(report, &[]));
    // The name, three times and the ratio: no author published memory or calls.
    let title = "<th scope=\"rowgroup\" colspan=\"5\">lazy ByteString</th>";
    assert!(html.contains(title), "{html}");
}

#[test]
fn the_author_s_table_has_the_author_s_figures() {
    let page = text_page("fleece", 80);
    for line in [
        "Data size (bytes)            1303317  911920",
        "Convert JSON to Fleece (µs)        —    6400",
        "Parse (µs)                     17000     750",
        "Parse trusted (µs)             17000     0.6",
        "Look up one name (ns)            960      49",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let page = text_page("bytestring", 80);
    let words: Vec<&str> = page.split_whitespace().collect();
    let words = words.join(" ");
    for line in [
        "real user sys ratio",
        "machine not stated, run 2 2.135 0.028 2.108",
        "machine not stated, median 2.100 0.028 2.076 1.00",
    ] {
        assert!(words.contains(line), "{line}: {page}");
    }
    let page = text_page("urlsession", 160);
    for part in ["MiB/s", "1620", "3556", "  91  ", "4194000", "     5  "] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn a_published_result_is_listed_in_the_units_of_its_author() {
    let layout = PageLayout { width: 200, colour: false };
    let list = |name: &str| crate::published_pages::figures(&find(name).unwrap(), &layout);
    let page = list("urlsession-m2");
    for part in ["3556 MiB/s", " 91 MB", " 36 ms", " 37000 "] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(list("bytestring-2007").contains("2.097 s"), "{page}");
    assert!(list("fleece").contains("1303317 bytes"), "{page}");
}

#[test]
fn the_claims_of_a_study_are_judged_without_a_run() {
    let list = |name: &str, width: usize| {
        made(name, |report| {
            let testable = report.study.testable(|method| !method.starts_with("swift-"));
            let layout = PageLayout { width, colour: false };
            claims_by_figures(report.study, report.published, testable, &layout)
        })
    };
    let page = list("urlsession", 100);
    let words: Vec<&str> = page.split_whitespace().collect();
    let words = words.join(" ");
    for part in [
        "U8 the M2 is at best twice as fast as the old Xeon — 36 against 56 ms",
        "by the author's own figures: fails",
        "greatest ratio of wall, 10-core iMac Pro ÷ M2 MacBook Air: 2.40, claimed is at most 2",
        "by the author's own figures: holds on 1 of 2 machines",
        "“withUnsafeBytes doubles the memory usage of the target Data”",
        "not seen by the test: any other pair of processors",
        "tests 5 of 11 claims on this machine, none of them by the author's methods.",
    ] {
        assert!(words.contains(part), "{part}: {page}");
    }
    for study in studies() {
        for width in [80, 160] {
            let page = list(&study.name, width);
            let long = page.lines().find(|line| line.width() > width);
            assert_eq!(long, None, "{} at {width}", study.name);
        }
    }
}

#[test]
fn a_machine_that_nobody_named_is_called_so() {
    for published in crate::published::all() {
        assert_ne!(published.machine, "not stated", "{}", published.name);
    }
}
