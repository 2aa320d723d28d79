//! The page of a published study.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr;

use super::*;
use crate::published::{Published, find, studies};
use crate::study::{StudyReport, figure, page, text};

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
            for row in study.rows.iter().filter(|row| !row.published.is_empty()) {
                assert!(words.contains(row.label()), "{}: {page}", row.label());
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
    let html = made("fleece", |report| page(report, &[]));
    // The name, the size, the time and the ratio: no author published allocations.
    let title = "<th scope=\"rowgroup\" colspan=\"4\">parse: Fleece</th>";
    assert!(html.contains(title), "{html}");
}

#[test]
fn a_machine_that_nobody_named_is_called_so() {
    for published in crate::published::all() {
        assert_ne!(published.machine, "not stated", "{}", published.name);
    }
}
