//! More files than stay open at once: every way to read them opens them again.

use std::path::PathBuf;

use record_sampler::{ErrorKind, FetchMethod, Format, Population, Sampler};

use crate::files::{CSV, file, sample};

const FILES: u64 = 700;

fn files(dir: &std::path::Path) -> Vec<PathBuf> {
    (0..FILES)
        .map(|i| file(dir, &format!("{i:03}"), format!("k,n\na,{i:04}\nb,{i:04}\n")))
        .collect()
}

#[test]
fn every_way_reads_files_that_were_closed_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let paths = files(dir.path());
    let whole = file(
        dir.path(),
        "whole",
        paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect::<String>(),
    );
    for format in [Format::Lines, CSV, Format::Fixed(1)] {
        for sampler in [
            || Sampler::exactly(1000),
            || Sampler::exactly(1000).shuffled(),
            || Sampler::probability(1.0).shuffled(),
            || Sampler::exactly(1000).by(FetchMethod::Stream),
            || Sampler::exactly(1000).weighted_with(|line| line.len() as f64),
            || Sampler::exactly(1000).with_replacement(),
        ] {
            let expected = sample(&sampler(), std::slice::from_ref(&whole), format);
            assert!(sample(&sampler(), &paths, format) == expected, "{format:?}");
        }
    }
    let probe = Sampler::exactly(50).by(FetchMethod::Probe { min_len: 2 });
    let expected = sample(&probe, &[whole], Format::Lines);
    assert_eq!(sample(&probe, &paths, Format::Lines), expected);
    let mut population = Population::open(&paths, CSV).unwrap().with_header();
    let strata = Sampler::exactly(3).per("k").records(&mut population).unwrap();
    assert_eq!(strata.len(), 6);
}

#[test]
fn a_file_that_another_one_replaces_is_not_read_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let paths = files(dir.path());
    let mut population = Population::open(&paths, Format::Lines).unwrap();
    let last = paths.last().unwrap();
    let other = file(dir.path(), "other", std::fs::read(last).unwrap());
    std::fs::rename(other, last).unwrap();
    let error = Sampler::at_most(9).records(&mut population).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let text = format!(
        "{}: reading at offset 0: another file has taken its name while it was read",
        last.display()
    );
    assert_eq!(error.to_string(), text);
}
