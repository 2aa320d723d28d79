//! What cannot be: each a clear error.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use record_sampler::{ErrorKind, FetchMethod, Format, Population, Sampler};

use crate::files::{CSV, file, sample};

fn check(sampler: &Sampler, path: &PathBuf, format: Format, kind: ErrorKind, expected: &str) {
    let result = Population::open([path], format)
        .and_then(|mut population| sampler.write(&mut population, &mut Vec::new()));
    let error = result.unwrap_err();
    let expected = expected.replace("FILE", path.to_str().unwrap());
    assert_eq!((error.kind(), error.to_string()), (kind, expected));
}

#[test]
fn too_few_records_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let empty = file(dir.path(), "empty", "");
    let two = file(dir.path(), "two", "a\nb\n");
    let few = ErrorKind::TooFew;
    let three = Sampler::exactly(3);
    for format in [Format::Lines, Format::Fixed(2), CSV] {
        check(&three, &two, format, few, "3 records were requested, but there are 2");
        check(&three, &empty, format, few, "3 records were requested, but there are 0");
        assert_eq!(sample(&Sampler::exactly(0), std::slice::from_ref(&empty), format), "");
        assert_eq!(sample(&Sampler::at_most(3), std::slice::from_ref(&empty), format), "");
        let replaced = Sampler::exactly(1).with_replacement();
        check(&replaced, &empty, format, few, "1 records were requested, but there are 0");
    }
    let probe = Sampler::exactly(3).by(FetchMethod::Probe { min_len: 1 });
    let mut population = Population::open([&two], Format::Lines).unwrap();
    assert_eq!(probe.records(&mut population).unwrap_err().kind(), few);
    let mut population = Population::open([&empty], Format::Lines).unwrap();
    assert_eq!(probe.records(&mut population).unwrap_err().kind(), few);
}

#[test]
fn one_record_is_a_population() {
    let dir = tempfile::tempdir().unwrap();
    let one = [file(dir.path(), "one", "a\n")];
    for method in [
        FetchMethod::Auto,
        FetchMethod::Stream,
        FetchMethod::Mmap,
        FetchMethod::Probe { min_len: 1 },
    ] {
        assert_eq!(sample(&Sampler::exactly(1).by(method), &one, Format::Lines), "a\n");
    }
}

#[test]
fn what_is_not_of_the_format_is_reported_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "odd", "abc\n\"de");
    let one = Sampler::exactly(1);
    let malformed = ErrorKind::Malformed;
    let text = "FILE: its size of 7 bytes is not a multiple of 3: 1 bytes are left at offset 6";
    check(&one, &path, Format::Fixed(3), malformed, text);
    let text = "FILE: the last record has 1 bytes instead of 3, it begins at offset 6";
    check(&Sampler::exactly(1).by(FetchMethod::Stream), &path, Format::Fixed(3), malformed, text);
    let text = "FILE: a quote is never closed, it is opened at offset 4";
    check(&one, &path, CSV, malformed, text);
    let json = file(dir.path(), "json", "{\"w\":1}\n{\"w\":-1}\n{\"v\":1}\n[");
    let weighted = Sampler::exactly(1).weighted_by("w");
    let text = "FILE: the record at offset 8: a weight of -1: it must be 0 or more, and finite";
    check(&weighted, &json, Format::JsonLines, ErrorKind::BadWeight, text);
    let text = "FILE: the record at offset 17: has no member w";
    check(&Sampler::exactly(1).per("w"), &json, Format::JsonLines, ErrorKind::BadColumn, text);
    let text = "FILE: the record at offset 24: is not JSON: EOF while parsing a list at line 1 \
                column 1";
    let other = file(dir.path(), "other", "{\"w\":1}\n{\"w\":2}\n{\"w\":1}\n[");
    for sampler in [Sampler::exactly(1).groups("w"), Sampler::probability(0.5).per("w")] {
        check(&sampler, &other, Format::JsonLines, malformed, text);
    }
}

#[test]
fn garbage_is_kept_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> =
        (0..100_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let path = file(dir.path(), "garbage", &bytes);
    for method in [FetchMethod::Auto, FetchMethod::Mmap, FetchMethod::Stream] {
        let mut population = Population::open([&path], Format::Lines).unwrap();
        let records = Sampler::at_most(u64::MAX).by(method).records(&mut population).unwrap();
        assert!(records.concat() == bytes);
    }
}

#[test]
fn a_sparse_file_of_5_gb_without_a_line_end_needs_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse");
    let file = File::create(&path).unwrap();
    file.set_len(5_000_000_000).unwrap();
    let mut population = Population::open([&path], Format::Fixed(64)).unwrap();
    let records = Sampler::exactly(3).records(&mut population).unwrap();
    assert_eq!(records, [[0u8; 64]; 3]);
    // Only counted, not copied: it is one line of 5 GB.
    let mut population = Population::open([&path], Format::Lines).unwrap();
    let stats = Sampler::exactly(0).write(&mut population, &mut Vec::new()).unwrap();
    assert_eq!(stats.seen, Some(1));
}

#[test]
fn a_line_without_end_is_copied_in_pieces() {
    struct Pieces(usize, usize);
    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.max(bytes.len());
            self.1 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse");
    File::create(&path).unwrap().set_len(50_000_000).unwrap();
    let mut population = Population::open([&path], Format::Lines).unwrap();
    let mut out = Pieces(0, 0);
    Sampler::exactly(1).write(&mut population, &mut out).unwrap();
    assert!(out.0 <= 256 << 10 && out.1 == 50_000_001, "{} {}", out.0, out.1);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let cut: fn(&File) = |file| file.set_len(100).unwrap();
    // In place, with a time that differs.
    let rewrite: fn(&File) = |file| {
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    };
    for change in [cut, rewrite] {
        for (format, method) in [
            (Format::Lines, FetchMethod::Auto),
            (Format::Lines, FetchMethod::Stream),
            (Format::Fixed(10), FetchMethod::Pread),
            (Format::Fixed(10), FetchMethod::Sequential),
            (CSV, FetchMethod::Auto),
        ] {
            let path = file(dir.path(), "changing", "123456789\n".repeat(2_000_000));
            let writer = File::options().append(true).open(&path).unwrap();
            let times = AtomicU64::new(0);
            let sampler = Sampler::exactly(100_000).by(method).watched(move |_| {
                if times.fetch_add(1, Ordering::Relaxed) == 0 {
                    change(&writer);
                }
                true
            });
            let mut population = Population::open([&path], format).unwrap();
            let error = sampler.write(&mut population, &mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Changed, "{format:?} {method}: {error}");
            assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
        }
    }
}

#[test]
fn a_full_disk_and_a_closed_pipe_are_errors_of_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", "a\n".repeat(1000));
    let mut full = File::options().write(true).open("/dev/full").unwrap();
    let mut population = Population::open([&path], Format::Lines).unwrap();
    let error = Sampler::exactly(10).write(&mut population, &mut full).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Write);
    assert_eq!(error.io_kind(), Some(io::ErrorKind::StorageFull));
    let (reader, mut writer) = io::pipe().unwrap();
    drop(reader);
    let mut population = Population::open([&path], Format::Lines).unwrap();
    let error = Sampler::exactly(10).write(&mut population, &mut writer).unwrap_err();
    assert_eq!(error.io_kind(), Some(io::ErrorKind::BrokenPipe));
}

#[test]
fn a_stop_ends_every_way_of_reading() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", "1234567\n".repeat(1000));
    for method in [FetchMethod::Auto, FetchMethod::Mmap, FetchMethod::Stream] {
        for format in [Format::Lines, Format::Fixed(8), CSV] {
            if method == FetchMethod::Mmap && format == CSV {
                continue;
            }
            let mut population = Population::open([&path], format).unwrap();
            let sampler = Sampler::exactly(10).by(method).watched(|_| false);
            let error = sampler.write(&mut population, &mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Stopped, "{method} {format:?}");
        }
    }
}

#[test]
fn conflicting_options_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", "a\n");
    let bad = ErrorKind::BadRequest;
    let text = "a probability must be from 0 to 1";
    for p in [-0.1, 1.1, f64::NAN] {
        check(&Sampler::probability(p), &path, Format::Lines, bad, text);
    }
    let text = "a probability goes neither with weights nor with replacement";
    check(&Sampler::probability(0.5).with_replacement(), &path, Format::Lines, bad, text);
    let text = "mapping is for lines and records of a fixed size in files that are not \
                compressed, without weights and keys";
    check(&Sampler::exactly(1).by(FetchMethod::Mmap), &path, CSV, bad, text);
    check(&Sampler::exactly(1).per("a").by(FetchMethod::Mmap), &path, Format::JsonLines, bad, text);
    let text = "weights, strata, groups, replacement, inversion and systematic samples do not go \
                together";
    check(&Sampler::exactly(1).per("a").weighted_by("b"), &path, CSV, bad, text);
    check(&Sampler::exactly(1).systematic().inverted(), &path, Format::Lines, bad, text);
    let text = "a systematic sample has a number of records, not a probability";
    check(&Sampler::probability(0.5).systematic(), &path, Format::Lines, bad, text);
    let text = "a systematic sample needs the number of records: give a file";
    check(
        &Sampler::exactly(1).systematic().by(FetchMethod::Stream),
        &path,
        Format::Lines,
        ErrorKind::NeedsFile,
        text,
    );
    let text = "only files of lines have an index";
    check(&Sampler::exactly(1).with_index(), &path, CSV, bad, text);
    let text = "probing gives exactly n lines of files without header, and nothing else";
    let probe = FetchMethod::Probe { min_len: 1 };
    check(&Sampler::probability(0.5).by(probe), &path, Format::Lines, bad, text);
    check(&Sampler::exactly(1).by(probe), &path, CSV, bad, text);
    let text = "a record must have at least 1 byte";
    check(&Sampler::exactly(1), &path, Format::Fixed(0), bad, text);
    let dir_path = dir.path().to_owned();
    check(&Sampler::exactly(1), &dir_path, Format::Lines, bad, "FILE: is a directory");
    let missing = dir.path().join("missing");
    let text = "FILE: No such file or directory (os error 2)";
    check(&Sampler::exactly(1), &missing, Format::Lines, ErrorKind::Io, text);
    fs::remove_file(path).unwrap();
}
