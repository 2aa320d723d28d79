//! Files that others append to: the sample is that of the file as it was opened.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use record_sampler::{ErrorKind, FetchMethod, Format, Population, Sampler};

use crate::files::{CSV, file, sample};

/// The sample of a file that grows at the first report of progress, and the note.
fn drawn_while_growing(sampler: Sampler, format: Format, text: &str) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "growing", text);
    let mut population = Population::open([&path], format).unwrap();
    let times = AtomicU64::new(0);
    let sampler = sampler.watched(move |_| {
        if times.fetch_add(1, Ordering::Relaxed) == 0 {
            let mut writer = File::options().append(true).open(&path).unwrap();
            writer.write_all(b"of the line before\nmore\n").unwrap();
        }
        true
    });
    let mut out = Vec::new();
    let stats = sampler.write(&mut population, &mut out).unwrap();
    (String::from_utf8(out).unwrap(), stats.note.unwrap())
}

#[test]
fn a_file_that_grows_gives_the_sample_of_what_was_there() {
    // The last line has no end yet.
    let text = "123456789\n".repeat(400_000) + "last";
    let dir = tempfile::tempdir().unwrap();
    let path = [file(dir.path(), "same", &text)];
    for (format, method, text) in [
        (Format::Lines, FetchMethod::Auto, text.as_str()),
        (Format::Lines, FetchMethod::Mmap, &text),
        (Format::Lines, FetchMethod::Stream, &text),
        (Format::Fixed(10), FetchMethod::Pread, &text[..4_000_000]),
        (Format::Fixed(10), FetchMethod::Sequential, &text[..4_000_000]),
        (CSV, FetchMethod::Auto, &text),
    ] {
        for is_all in [false, true] {
            let sampler = || {
                let sampler =
                    if is_all { Sampler::probability(1.0) } else { Sampler::exactly(100_000) };
                sampler.by(method)
            };
            std::fs::write(&path[0], text).unwrap();
            let expected = sample(&sampler(), &path, format);
            let (got, note) = drawn_while_growing(sampler(), format, text);
            assert!(got == expected, "{format:?} {method}");
            assert!(note.ends_with("growing has grown by 24 bytes, which are left out"), "{note}");
        }
    }
}

/// Offsets that were found in the old file do not fit the new one.
#[test]
fn a_file_that_is_overwritten_by_a_larger_one_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let text = "123456789\n".repeat(400_000);
    for format in [Format::Lines, Format::Fixed(10)] {
        let path = file(dir.path(), "overwritten", &text);
        let mut population = Population::open([&path], format).unwrap();
        let times = AtomicU64::new(0);
        let sampler = Sampler::exactly(100_000).watched(move |_| {
            if times.fetch_add(1, Ordering::Relaxed) == 0 {
                std::fs::write(&path, "another\n".repeat(600_000)).unwrap();
            }
            true
        });
        let error = sampler.write(&mut population, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    }
}
