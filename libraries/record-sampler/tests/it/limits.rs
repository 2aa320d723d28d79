//! The largest record: what has no end does not take all memory.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use record_sampler::{ErrorKind, FetchMethod, Format, Population, Sampler};

use crate::files::{CSV, file};

/// Counts what is taken of it.
struct Counted<R>(R, Arc<AtomicU64>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(buffer)?;
        self.1.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// A table with a quote that is opened in its third line and never closed.
fn stray(len: usize) -> Vec<u8> {
    let mut text = b"a,b\n1,2\n3,\"4\n".to_vec();
    while text.len() < len {
        text.extend_from_slice(b"5,6\n");
    }
    text
}

const STRAY: &str = "the record at offset 8 has more than 1048576 bytes: \
                     close its quote, or allow larger records";

#[test]
fn a_stray_quote_does_not_take_the_rest_of_a_stream_into_memory() {
    for sampler in [
        Sampler::exactly(1),
        Sampler::at_most(100),
        Sampler::probability(1.0),
        Sampler::exactly(1).with_replacement(),
        Sampler::exactly(1).per(record_sampler::Column::Number(1)),
    ] {
        let taken = Arc::new(AtomicU64::new(0));
        let stream = Counted(io::Cursor::new(stray(20 << 20)), taken.clone());
        let mut population = Population::stream(stream, CSV).with_max_record(1 << 20);
        let error = sampler.write(&mut population, &mut io::sink()).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::TooLarge, format!("-: {STRAY}")));
        let taken = taken.load(Ordering::Relaxed);
        assert!(taken < 3 << 20, "{taken}");
    }
}

#[test]
fn a_stray_quote_is_the_same_error_of_a_file_by_every_choice() {
    let dir = tempfile::tempdir().unwrap();
    // It is closed at the end, so that all of it is one record.
    let path = file(dir.path(), "stray", [stray(3 << 20), b"\"\n".to_vec()].concat());
    let named = format!("{}: {STRAY}", path.display());
    for sampler in [
        Sampler::exactly(0),
        Sampler::exactly(2),
        Sampler::exactly(2).shuffled(),
        Sampler::exactly(2).by(FetchMethod::Stream),
        Sampler::probability(0.5).per(record_sampler::Column::Number(1)),
    ] {
        let mut population = Population::open([&path], CSV).unwrap().with_max_record(1 << 20);
        let error = sampler.write(&mut population, &mut io::sink()).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::TooLarge, named.clone()));
        let mut population = Population::open([&path], CSV).unwrap();
        assert!(sampler.write(&mut population, &mut io::sink()).is_ok(), "below 64 MiB");
    }
}

#[test]
fn the_largest_record_is_64_mib_unless_it_is_said() {
    for format in [Format::Lines, Format::JsonLines, CSV] {
        let long = || io::Read::chain(&b"a\n"[..], io::repeat(b'x').take(70 << 20));
        let taken = Arc::new(AtomicU64::new(0));
        let mut population = Population::stream(Counted(long(), taken.clone()), format);
        let error = Sampler::exactly(2).write(&mut population, &mut io::sink()).unwrap_err();
        let what = if format == CSV { "close its quote, or allow" } else { "allow" };
        let expected = format!(
            "-: the record at offset 2 has more than 67108864 bytes: {what} larger records"
        );
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::TooLarge, expected));
        let mut population = Population::stream(long(), format).with_max_record(70 << 20);
        assert_eq!(Sampler::exactly(2).write(&mut population, &mut io::sink()).unwrap().taken, 2);
    }
}

#[test]
fn a_record_may_be_as_large_as_the_largest_and_no_larger() {
    let dir = tempfile::tempdir().unwrap();
    let text = "\n\nabc,def\n\r\n\"g\nh\",i\nj";
    let path = file(dir.path(), "records", text);
    for (max, offset) in [(8, None), (7, Some(2)), (6, Some(2)), (1, Some(2))] {
        for method in [FetchMethod::Auto, FetchMethod::Stream] {
            let mut population = Population::open([&path], CSV).unwrap().with_max_record(max);
            let result = Sampler::exactly(3).by(method).records(&mut population);
            let found = result.err().map(|error| error.to_string());
            let expected = offset.map(|offset| {
                format!(
                    "{}: the record at offset {offset} has more than {max} bytes",
                    path.display()
                )
            });
            assert_eq!(found.is_some(), expected.is_some(), "{max} {found:?}");
            assert!(found.unwrap_or_default().starts_with(&expected.unwrap_or_default()), "{max}");
        }
    }
    // The first of two that are too large is named.
    let path = file(dir.path(), "later", "a\n\n\nbcd\nefgh\n");
    for (max, offset) in [(4, 8), (3, 4)] {
        let mut population = Population::open([&path], CSV).unwrap().with_max_record(max);
        let error = Sampler::exactly(3).records(&mut population).unwrap_err().to_string();
        assert!(error.contains(&format!("at offset {offset} has more than {max} ")), "{error}");
    }
}

#[test]
fn empty_lines_of_csv_are_no_part_of_a_record() {
    let text = || io::Read::chain(io::repeat(b'\n').take(5 << 20), &b"a,b\n"[..]);
    for sampler in [Sampler::exactly(1), Sampler::exactly(1).per(record_sampler::Column::Number(1))]
    {
        let mut population = Population::stream(text(), CSV).with_max_record(1 << 20);
        assert_eq!(sampler.records(&mut population).unwrap(), [b"a,b\n"]);
    }
}

#[test]
fn lines_that_need_not_be_held_may_be_of_any_size() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", format!("{}\nb\n", "a".repeat(100)));
    let mut population = Population::open([&path], Format::Lines).unwrap().with_max_record(10);
    assert_eq!(Sampler::exactly(2).write(&mut population, &mut io::sink()).unwrap().taken, 2);
    let records = Population::stream(&[1; 300][..], Format::Fixed(100)).with_max_record(10);
    let stats = Sampler::exactly(3).write(&mut { records }, &mut io::sink()).unwrap();
    assert_eq!(stats.taken, 3);
}
