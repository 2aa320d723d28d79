//! Streams: compressed files, pipes, readers that give little or fail.

use std::io::{self, Read};
use std::process::{Command, Stdio};

use record_sampler::{ErrorKind, Format, Population, Sampler};

use crate::files::{CSV, file, sample};

/// Gives a byte at a time, then fails, if it is to.
struct Slow(Vec<u8>, usize, bool);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.get(self.1) {
            Some(byte) => {
                buffer[0] = *byte;
                self.1 += 1;
                Ok(1)
            }
            None if self.2 => Err(io::Error::other("the disk is gone")),
            None => Ok(0),
        }
    }
}

#[test]
fn a_stream_may_come_byte_by_byte() {
    for format in [Format::Lines, CSV, Format::Fixed(2)] {
        let bytes = b"a\nb\n\"\nc\n".to_vec();
        let mut slow = Population::stream(Slow(bytes.clone(), 0, false), format);
        let mut fast = Population::stream(io::Cursor::new(bytes), format);
        let sampler = Sampler::at_most(9);
        match (sampler.records(&mut slow), sampler.records(&mut fast)) {
            (Ok(slow), Ok(fast)) => assert_eq!(slow, fast),
            (slow, fast) => {
                assert_eq!(slow.unwrap_err().to_string(), fast.unwrap_err().to_string());
            }
        }
    }
}

#[test]
fn a_read_error_in_the_middle_is_reported_with_its_place() {
    let mut population = Population::stream(Slow(b"a\nb\n".to_vec(), 0, true), Format::Lines);
    let error = Sampler::exactly(1).records(&mut population).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.to_string(), "-: reading at offset 4: the disk is gone");
}

#[test]
fn a_read_error_after_many_records_ends_every_choice() {
    for sampler in [
        Sampler::exactly(5),
        Sampler::probability(0.5),
        Sampler::exactly(5).with_replacement(),
        Sampler::exactly(5).weighted_with(|line| line.len() as f64),
    ] {
        let text = "a line\n".repeat(10_000).into_bytes();
        let len = text.len();
        let mut population = Population::stream(Slow(text, 0, true), Format::Lines);
        let error = sampler.write(&mut population, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(error.to_string(), format!("-: reading at offset {len}: the disk is gone"));
    }
}

#[test]
fn a_stream_can_be_read_once() {
    let mut population = Population::stream(&b"a\n"[..], Format::Lines);
    Sampler::exactly(1).records(&mut population).unwrap();
    let error = Sampler::exactly(1).records(&mut population).unwrap_err();
    assert_eq!(error.to_string(), "-: passes by only once, and has been read");
}

#[test]
#[cfg(feature = "decode")]
fn gzip_and_zstd_files_are_streams_of_what_they_hold() {
    let dir = tempfile::tempdir().unwrap();
    let text: String = (0..50_000).fold(String::new(), |text, i| text + &format!("{i}\n"));
    let mut gzip = Vec::new();
    // Two members are one text.
    for part in [&text[..1000], &text[1000..]] {
        flate2::read::GzEncoder::new(part.as_bytes(), flate2::Compression::fast())
            .read_to_end(&mut gzip)
            .unwrap();
    }
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    let frames = [zstd(&text[..1000]), zstd(&text[1000..])].concat();
    for (name, bytes) in [("a.gz", gzip), ("a.zst", frames)] {
        let path = [file(dir.path(), name, &bytes)];
        assert!(sample(&Sampler::at_most(u64::MAX), &path, Format::Lines) == text, "{name}");
        let ten = sample(&Sampler::exactly(10), &path, Format::Lines);
        assert_eq!(ten.lines().count(), 10);
        // Where the last frame is cut.
        for cut in [1, 7, bytes.len() / 2, bytes.len() - 20] {
            let path = file(dir.path(), name, &bytes[..bytes.len() - cut]);
            let mut population = Population::open([&path], Format::Lines).unwrap();
            let error = Sampler::exactly(10).records(&mut population).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{name} without {cut}: {error}");
            assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a pipe to read from needs a process")]
fn a_pipe_is_a_stream() {
    let mut child =
        Command::new("seq").arg("1000").stdout(Stdio::piped()).spawn().expect("seq is installed");
    let mut population = Population::stream(child.stdout.take().unwrap(), Format::Lines);
    let records = Sampler::exactly(1000).records(&mut population).unwrap();
    assert_eq!(records[999], b"1000\n");
    child.wait().unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_whose_size_is_not_that_of_its_content_is_a_stream() {
    // The size of the first one is 0, that of the others is a page.
    for path in ["/proc/filesystems", "/sys/devices/system/cpu/online", "/sys/kernel/mm/ksm/run"] {
        let Ok(expected) = std::fs::read_to_string(path) else {
            eprintln!("skipped: {path} is not here");
            continue;
        };
        for sampler in [
            Sampler::at_most(u64::MAX),
            Sampler::at_most(u64::MAX).shuffled().with_memory(1000),
            Sampler::at_most(1000).mergeable(),
        ] {
            let mut population = Population::open([path], Format::Lines).unwrap();
            let mut out = Vec::new();
            let stats = sampler.write(&mut population, &mut out).unwrap();
            let sorted = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines.sort_unstable();
                lines
            };
            assert_eq!(sorted(std::str::from_utf8(&out).unwrap()), sorted(&expected), "{path}");
            assert_eq!(stats.seen, Some(expected.lines().count() as u64));
        }
        let mut population = Population::open([path], Format::Fixed(1)).unwrap();
        let bytes = Sampler::at_most(u64::MAX).records(&mut population).unwrap();
        assert_eq!(bytes.len(), expected.len(), "{path}");
        let mut population = Population::open([path], Format::Lines).unwrap();
        let stats = Sampler::exactly(1).write(&mut population, &mut Vec::new()).unwrap();
        assert_eq!(stats.reason, "a stream passes by once");
    }
}
