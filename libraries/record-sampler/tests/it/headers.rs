//! The start of each input: headers that must agree, and byte order marks.

use std::path::PathBuf;

use record_sampler::{ErrorKind, FetchMethod, Format, Population, Sampler};

use crate::files::{CSV, file, sample};

/// What all records of these texts are, with their headers, from files or from streams.
fn all(texts: &[&str], format: Format, streams: bool) -> Result<String, (ErrorKind, String)> {
    let dir = tempfile::tempdir().unwrap();
    let named = texts.iter().enumerate().map(|(n, text)| (format!("{n}.csv"), *text));
    let mut population = if streams {
        let mut population = Population::open::<PathBuf>([], format).unwrap();
        for (name, text) in named {
            population.push_stream(name, std::io::Cursor::new(text.as_bytes().to_vec()));
        }
        population
    } else {
        let paths: Vec<PathBuf> = named.map(|(name, text)| file(dir.path(), &name, text)).collect();
        Population::open(paths, format).unwrap()
    }
    .with_header();
    let mut out = Vec::new();
    let written = Sampler::at_most(u64::MAX).write(&mut population, &mut out);
    let place = format!("{}/", dir.path().display());
    written
        .map(|_| String::from_utf8(out).unwrap())
        .map_err(|error| (error.kind(), error.to_string().replace(&place, "")))
}

#[test]
fn different_headers_are_an_error_that_names_both_files_and_the_column() {
    for (texts, format, expected) in [
        (
            &["a,b\n1,2\n", "a,b\n3,4\n", "a,c\n5,6\n"][..],
            CSV,
            "2.csv: its header differs in column 2 from that of 0.csv: \"c\" instead of \"b\"",
        ),
        (
            &["a,b\n1,2\n", "a\n5\n"],
            CSV,
            "1.csv: its header differs in column 2 from that of 0.csv: nothing instead of \"b\"",
        ),
        (
            &["", "a\n1\n", "a,\"x\ny\"\n5,6\n"],
            CSV,
            "2.csv: its header differs in column 2 from that of 1.csv: \"x\\ny\" instead of nothing",
        ),
        (
            &["a,b\n1,2\n", "a,c\n3,4\n"],
            Format::Lines,
            "1.csv: its header differs from that of 0.csv: \"a,c\" instead of \"a,b\"",
        ),
    ] {
        for streams in [false, true] {
            let (kind, text) = all(texts, format, streams).unwrap_err();
            assert_eq!((kind, text.as_str()), (ErrorKind::MixedHeaders, expected), "{streams}");
        }
    }
    let long = ["x".repeat(1000), "y".repeat(1000)];
    let texts = long.each_ref().map(String::as_str);
    assert!(all(&texts, CSV, false).unwrap_err().1.len() < 300);
}

#[test]
fn headers_with_the_same_names_are_the_same() {
    let texts = ["a,b\n1,2\n", "\"a\",b\r\n3,4\n", "", "\u{feff}a,b\n5,6\n", "a,b"];
    for streams in [false, true] {
        assert_eq!(all(&texts, CSV, streams).unwrap(), "a,b\n1,2\n3,4\n5,6\n");
        let lines = ["a,b\n1\n", "a,b\r\n2\n", "\u{feff}a,b\n3\n"];
        assert_eq!(all(&lines, Format::Lines, streams).unwrap(), "a,b\n1\n2\n3\n");
    }
}

#[test]
fn the_header_is_that_of_the_first_file_that_has_one() {
    for streams in [false, true] {
        for format in [CSV, Format::Lines] {
            assert_eq!(all(&["", "a,b\n1,2\n"], format, streams).unwrap(), "a,b\n1,2\n");
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let paths = [file(dir.path(), "0", ""), file(dir.path(), "1", "a,b\n1,2\n3,4\n")];
    let mut population = Population::open(&paths, CSV).unwrap().with_header();
    let records = Sampler::exactly(1).per("a").records(&mut population).unwrap();
    assert_eq!(records, [b"1,2\n", b"3,4\n"]);
}

const BOM: &str = "\u{feff}";

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_column() {
    let dir = tempfile::tempdir().unwrap();
    let a = file(dir.path(), "a", format!("{BOM}w,k\n1,x\n2,y\n"));
    let b = file(dir.path(), "b", format!("{BOM}w,k\n3,x\n"));
    let draw = |sampler: Sampler| {
        let mut out = Vec::new();
        let mut population = Population::open([&a, &b], CSV).unwrap().with_header();
        sampler.write(&mut population, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let expected = "w,k\n1,x\n2,y\n3,x\n";
    for sampler in [
        Sampler::exactly(3),
        Sampler::exactly(3).by(FetchMethod::Stream),
        Sampler::exactly(3).weighted_by("w"),
        Sampler::exactly(1).per("w"),
        Sampler::probability(1.0).per("w"),
    ] {
        assert_eq!(draw(sampler), expected);
    }
}

#[test]
fn a_quoted_first_field_after_a_byte_order_mark_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let text = format!("{BOM}\"one\ntwo\",1\n3,4\n");
    let path = [file(dir.path(), "quoted", &text)];
    let expected = "\"one\ntwo\",1\n3,4\n";
    for sampler in [Sampler::exactly(2), Sampler::exactly(2).by(FetchMethod::Stream)] {
        assert_eq!(sample(&sampler, &path, CSV), expected);
    }
    let mut shuffled: Vec<u8> = sample(&Sampler::exactly(2).shuffled(), &path, CSV).into_bytes();
    shuffled.sort_unstable();
    assert_eq!(shuffled.len(), expected.len());
    // It comes in pieces of one byte, and a file may end within what looks like one.
    for (text, expected) in [(text.as_str(), expected), (BOM, "")] {
        let mut population = Population::stream(ByteByByte(text.into()), CSV);
        let records = Sampler::at_most(9).records(&mut population).unwrap();
        assert_eq!(String::from_utf8(records.concat()).unwrap(), expected);
    }
    let mut population = Population::stream(ByteByByte(b"\xef\xbb".to_vec()), CSV);
    assert_eq!(Sampler::at_most(9).records(&mut population).unwrap(), [b"\xef\xbb"]);
}

struct ByteByByte(Vec<u8>);

impl std::io::Read for ByteByByte {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0.is_empty() || buffer.is_empty() {
            return Ok(0);
        }
        buffer[0] = self.0.remove(0);
        Ok(1)
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_json_line() {
    let dir = tempfile::tempdir().unwrap();
    let a = file(dir.path(), "a", format!("{BOM}{{\"w\":1}}\n{{\"w\":2}}\n"));
    let b = file(dir.path(), "b", format!("{BOM}{{\"w\":3}}\n"));
    let paths = [a, b];
    let expected = "{\"w\":1}\n{\"w\":2}\n{\"w\":3}\n";
    for sampler in [
        Sampler::exactly(3),
        Sampler::exactly(3).by(FetchMethod::Mmap),
        Sampler::exactly(3).by(FetchMethod::Stream),
        Sampler::exactly(3).by(FetchMethod::Probe { min_len: 1 }),
        Sampler::exactly(3).weighted_by("w"),
        Sampler::exactly(1).per("w"),
    ] {
        assert_eq!(sample(&sampler, &paths, Format::JsonLines), expected);
    }
    let twice = Sampler::exactly(6).with_replacement();
    let shuffled = Sampler::exactly(3).shuffled();
    for sampler in [twice, shuffled] {
        let text = sample(&sampler, &paths, Format::JsonLines);
        assert!(text.lines().all(|line| expected.contains(line)), "{text:?}");
    }
}

#[test]
fn a_byte_order_mark_of_plain_lines_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let text = format!("{BOM}a\nb\n");
    let path = [file(dir.path(), "lines", &text)];
    for sampler in [Sampler::exactly(2), Sampler::exactly(2).by(FetchMethod::Stream)] {
        assert_eq!(sample(&sampler, &path, Format::Lines), text);
    }
}
