//! The ring of reads gives what plain reads give, in their order.

use record_sampler::{ErrorKind, FetchMethod, Format, Population, Sampler};

use crate::files::{CSV, file, sample};

#[test]
fn a_ring_gives_the_same_records() {
    let dir = tempfile::tempdir().unwrap();
    let text = (0..100_000).fold(String::new(), |text, i| text + &format!("{i:07}\n"));
    let path = [file(dir.path(), "a", &text), file(dir.path(), "b", &text)];
    for n in [0, 1, 63, 64, 65, 1000, 200_000] {
        let expected = sample(&Sampler::exactly(n).by(FetchMethod::Pread), &path, Format::Fixed(8));
        let mut population = Population::open(&path, Format::Fixed(8)).unwrap();
        let mut out = Vec::new();
        let drawn = Sampler::exactly(n).by(FetchMethod::Uring).write(&mut population, &mut out);
        match drawn {
            Ok(stats) => assert_eq!((stats.method, stats.bytes_read), (FetchMethod::Uring, n * 8)),
            // The kernel, or who runs this, may not allow rings.
            Err(error) => {
                assert!(error.to_string().contains("reading through a ring"), "{error}");
                return;
            }
        }
        assert!(out == expected.as_bytes(), "{n}");
    }
}

#[test]
fn a_cut_file_and_a_full_output_end_a_ring() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "file", "1234567\n".repeat(100_000));
    let writer = std::fs::File::options().write(true).open(&path).unwrap();
    let sampler = Sampler::exactly(1000).by(FetchMethod::Uring).watched(move |_| {
        writer.set_len(10).unwrap();
        true
    });
    let mut population = Population::open([&path], Format::Fixed(8)).unwrap();
    let error = sampler.write(&mut population, &mut Vec::new()).unwrap_err();
    assert!([ErrorKind::Changed, ErrorKind::Io].contains(&error.kind()), "{error}");
    let path = file(dir.path(), "file", "1234567\n".repeat(100_000));
    let mut population = Population::open([&path], Format::Fixed(8)).unwrap();
    let mut full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let error = Sampler::exactly(50_000).by(FetchMethod::Uring).write(&mut population, &mut full);
    assert!([ErrorKind::Write, ErrorKind::Io].contains(&error.unwrap_err().kind()));
}

#[test]
fn a_ring_for_other_records_than_those_of_a_fixed_size_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", "a\n");
    let refused = |mut population: Population| {
        let sampler = Sampler::exactly(1).by(FetchMethod::Uring);
        let error = sampler.write(&mut population, &mut Vec::new()).unwrap_err();
        let text = "a ring of reads is for records of a fixed size in files";
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::BadRequest, text));
    };
    for format in [Format::Lines, Format::JsonLines, CSV] {
        refused(Population::open([&path], format).unwrap());
    }
    refused(Population::stream(&b"aa"[..], Format::Fixed(1)));
}
