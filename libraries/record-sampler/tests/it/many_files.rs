//! More files than stay open at once: every way to read them opens them again.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use record_sampler::{ErrorKind, FetchMethod, Format, Population, Sampler};

use crate::files::{CSV, file, sample};

const FILES: u64 = 700;

/// Most of them are small, and so held in memory; each fiftieth one is not.
fn files(dir: &std::path::Path) -> Vec<PathBuf> {
    let rows = |i| format!("a,{i:04}\nb,{i:04}\n").repeat(if i % 50 == 49 { 1500 } else { 1 });
    (0..FILES).map(|i| file(dir, &format!("{i:03}"), format!("k,n\n{}", rows(i)))).collect()
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
    // A large file is noticed when it is read, a small one at the end.
    for (number, what) in [(699, "reading at offset 0: "), (698, "")] {
        let mut population = Population::open(&paths, Format::Lines).unwrap();
        let path = &paths[number];
        let other = file(dir.path(), "other", std::fs::read(path).unwrap());
        std::fs::rename(other, path).unwrap();
        let error = Sampler::at_most(9).records(&mut population).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        let path = path.display();
        let text = format!("{path}: {what}another file has taken its name while it was read");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_small_file_is_read_when_it_is_opened_and_checked_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let paths = files(dir.path());
    let small = &paths[698];
    let before = std::fs::read_to_string(small).unwrap();
    let time = std::fs::metadata(small).unwrap().modified().unwrap();
    let open = || Population::open(&paths, Format::Lines).unwrap();
    let mut population = open();
    // The check cannot notice it: the size and the time are the same.
    std::fs::write(small, before.replace("0698", "6980")).unwrap();
    File::options().write(true).open(small).unwrap().set_modified(time).unwrap();
    let records = Sampler::probability(1.0).records(&mut population).unwrap().concat();
    let last = std::fs::read(&paths[699]).unwrap();
    assert!(records.ends_with(&[before.as_bytes(), &last].concat()));

    let mut population = open();
    File::options().append(true).open(small).unwrap().write_all(b"c,1\n").unwrap();
    let stats = Sampler::at_most(9).write(&mut population, &mut Vec::new()).unwrap();
    assert!(stats.note.unwrap().ends_with("698 has grown by 4 bytes, which are left out"));

    for text in ["another text, which is larger\n", ""] {
        let mut population = open();
        std::fs::write(small, text).unwrap();
        let error = Sampler::at_most(9).records(&mut population).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    }
}
