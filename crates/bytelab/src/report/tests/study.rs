//! The page of a published study.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthStr;

use super::*;
use crate::reference::{Published, find, studies};
use crate::report::study::{StudyReport, text};

fn page(name: &str, width: usize) -> String {
    let study = studies().iter().find(|study| study.name == name).unwrap();
    let published: Vec<Published> = study.published.iter().filter_map(|name| find(name)).collect();
    let absent = BTreeMap::new();
    let report = StudyReport { study, published: &published, runs: Vec::new(), absent: &absent };
    text(&report, false, &Layout { width, colour: false })
}

#[test]
fn every_study_fits_its_page_and_cuts_no_label() {
    for study in studies() {
        for width in [80, 160] {
            let page = page(&study.name, width);
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
