//! Records that end with any byte, or have several lines: as those of a file, of a stream and of
//! parts.

use proptest::prelude::*;
use record_sampler::{ErrorKind, Format, Part, Population, Sampler};

use crate::files::file;

fn zero() -> Format {
    Format::Separated { separator: 0 }
}

/// Checks that these records, joined, are a population in every way that it is read.
fn check(records: &[Vec<u8>], format: Format, n: u64, seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let text = records.concat();
    let path = file(dir.path(), "records", &text);
    let stream = || Population::stream(std::io::Cursor::new(text.clone()), format);
    let all = Sampler::at_most(u64::MAX);
    assert_eq!(all.records(&mut Population::open([&path], format).unwrap()).unwrap(), records);
    assert_eq!(all.records(&mut stream()).unwrap(), records);
    let is_subset = |drawn: Vec<Vec<u8>>| {
        let mut rest = records.iter();
        drawn.iter().all(|record| rest.any(|other| other == record))
    };
    let sampler = Sampler::at_most(n).seed(seed);
    let total = records.len() as u64;
    for mut population in [Population::open([&path], format).unwrap(), stream()] {
        let drawn = sampler.records(&mut population).unwrap();
        assert_eq!(drawn.len() as u64, n.min(total));
        assert!(is_subset(drawn));
    }
    let whole = Part::new(0, &path, format);
    assert_eq!(whole.count().unwrap(), total);
    let expected = sampler.sketch(&whole).unwrap().to_bytes();
    for bytes in [1, 5, 100] {
        let parts = Population::open([&path], format).unwrap().parts(bytes).unwrap();
        let sketches = parts.iter().map(|part| sampler.sketch(part).unwrap());
        let merged = sketches.reduce(|one, other| one.merge(other).unwrap()).unwrap();
        assert_eq!(merged.to_bytes(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn records_end_with_a_byte(
        texts in proptest::collection::vec("[ab\n\r\"]{0,9}", 0..30),
        last in "[ab\n]{0,3}",
        n in 0u64..20,
        seed: u64,
    ) {
        let mut records: Vec<Vec<u8>> = texts.iter().map(|text| format!("{text}\0").into()).collect();
        if !last.is_empty() {
            records.push(last.into());
        }
        check(&records, zero(), n, seed);
    }

    #[test]
    fn records_have_several_lines(
        lines in 1u64..5,
        texts in proptest::collection::vec("[ab@]{0,5}\r?\n", 0..40),
        n in 0u64..20,
        seed: u64,
    ) {
        let records: Vec<Vec<u8>> =
            texts.chunks_exact(lines as usize).map(|lines| lines.concat().into()).collect();
        check(&records, Format::LineGroups { lines }, n, seed);
    }
}

#[test]
fn the_end_of_the_last_record_is_added() {
    let dir = tempfile::tempdir().unwrap();
    for (text, format, expected) in [
        ("b\0a", zero(), "b\0a\0"),
        ("x\r\0a", zero(), "x\r\0a\0"),
        ("@\r\na\r\n@\r\nb", Format::LineGroups { lines: 2 }, "@\r\na\r\n@\r\nb\r\n"),
    ] {
        let path = file(dir.path(), "records", text);
        for sampler in [Sampler::exactly(2), Sampler::exactly(2).mergeable()] {
            let mut out = Vec::new();
            let mut population = Population::open([&path], format).unwrap();
            sampler.write(&mut population, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
    let path = file(dir.path(), "records", "head\0b\0");
    let mut out = Vec::new();
    let mut population = Population::open([&path], zero()).unwrap().with_header();
    Sampler::exactly(1).write(&mut population, &mut out).unwrap();
    assert_eq!(out, b"head\0b\0");
}

#[test]
fn an_incomplete_group_of_lines_and_a_divided_file_of_them_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "a.fastq", "@1\nACGT\n+\nFFFF\n@2\nAC\n");
    let format = Format::LineGroups { lines: 4 };
    let error = Sampler::exactly(1).records(&mut Population::open([&path], format).unwrap());
    let error = error.unwrap_err();
    let text = "the last record has 2 lines instead of 4, it begins at offset 15";
    let name = path.display();
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::Malformed, format!("{name}: {text}"))
    );
    let error = Part::new(0, &path, format).range(0, 9).count().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{name}: a file with records of several lines is one part")
    );
    assert_eq!(Population::open([&path], format).unwrap().parts(2).unwrap().len(), 1);
    let error = Population::open([&path], Format::LineGroups { lines: 0 }).unwrap_err();
    assert_eq!(error.to_string(), "a record must have at least 1 line");
}
