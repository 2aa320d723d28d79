//! Compressed files: all that they hold, or an error, and never records that were not written.

use std::io::{Read, Write};
use std::path::Path;

use record_sampler::{ErrorKind, Format, Population, Sampler};

use crate::files::{CSV, file};

fn text(n: usize) -> String {
    (0..n).fold(String::new(), |text, i| text + &format!("record {i}, {}\n", i * i % 97))
}

/// With a checksum and the size, as the program `zstd` writes them.
fn zstd(text: &str) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.set_pledged_src_size(Some(text.len() as u64)).unwrap();
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = flate2::read::GzEncoder::new(text.as_bytes(), flate2::Compression::default());
    encoder.read_to_end(&mut bytes).unwrap();
    bytes
}

fn all(path: &Path, format: Format) -> record_sampler::Result<String> {
    let mut population = Population::open([path], format)?;
    let records = Sampler::at_most(u64::MAX).records(&mut population)?;
    Ok(String::from_utf8_lossy(&records.concat()).into_owned())
}

#[test]
fn a_flipped_bit_is_an_error_or_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let expected = text(40);
    for (name, sound) in [("a.zst", zstd(&expected)), ("a.gz", gzip(&expected))] {
        let mut errors = 0;
        for bit in 0..8 * sound.len() {
            let mut broken = sound.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            let path = file(dir.path(), name, &broken);
            match all(&path, Format::Lines) {
                Ok(records) => assert!(records == expected, "{name}: bit {bit}: {records}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Io, "{name}: bit {bit}: {error}");
                    assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
                    errors += 1;
                }
            }
        }
        assert!(errors > 7 * sound.len(), "{name}: {errors} of {}", 8 * sound.len());
    }
}

#[test]
fn a_cut_file_is_an_error_wherever_it_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    for (name, sound) in [("a.zst", zstd(&text(40))), ("a.gz", gzip(&text(40)))] {
        for len in 0..sound.len() {
            let path = file(dir.path(), name, &sound[..len]);
            let error = all(&path, Format::Lines).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{name}: {len}: {error}");
        }
    }
}

#[test]
fn all_frames_and_members_are_one_text_and_what_pads_them_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let texts = ["a,1\nb", ",2\n", "", "c,3\n"];
    let skippable = [&[0x5a, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"notes"].concat();
    let frames: Vec<Vec<u8>> = texts.iter().map(|text| zstd(text)).collect();
    let members: Vec<Vec<u8>> = texts.iter().map(|text| gzip(text)).collect();
    for (name, parts) in [
        ("frames.zst", frames.clone()),
        ("behind.zst", [&frames[..], std::slice::from_ref(&skippable)].concat()),
        ("before.zst", [std::slice::from_ref(&skippable), &frames[..]].concat()),
        ("between.zst", [&frames[..1], &[skippable], &frames[1..]].concat()),
        ("members.gz", members.clone()),
        ("padded.gz", [&members[..], &[vec![0; 512]]].concat()),
    ] {
        let path = file(dir.path(), name, parts.concat());
        for format in [Format::Lines, CSV] {
            assert_eq!(all(&path, format).unwrap(), texts.concat(), "{name}");
        }
    }
}

#[test]
fn garbage_behind_the_end_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for (name, sound) in [("a.zst", zstd("a\n")), ("a.gz", gzip("a\n"))] {
        let path = file(dir.path(), name, [&sound[..], b"garbage"].concat());
        assert_eq!(all(&path, Format::Lines).unwrap_err().kind(), ErrorKind::Io, "{name}");
    }
}

#[test]
fn a_compressed_file_without_a_suffix_is_decoded() {
    let dir = tempfile::tempdir().unwrap();
    let expected = text(1000);
    for (name, bytes) in [("gzip", gzip(&expected)), ("zstd", zstd(&expected))] {
        let path = file(dir.path(), name, &bytes);
        assert!(all(&path, Format::Lines).unwrap() == expected, "{name}");
        let mut population = Population::stream(std::io::Cursor::new(bytes), Format::Lines);
        let mut out = Vec::new();
        Sampler::probability(1.0).write(&mut population, &mut out).unwrap();
        assert!(out == expected.as_bytes(), "{name} as a stream");
    }
    // Records of a fixed size may begin with any bytes, and so may a short text.
    let fixed = b"\x1f\x8b\x08\x00\x28\xb5\x2f\xfd";
    let path = file(dir.path(), "fixed", fixed);
    let mut population = Population::open([&path], Format::Fixed(4)).unwrap();
    assert_eq!(Sampler::exactly(2).records(&mut population).unwrap().concat(), fixed);
    for short in [&b""[..], b"\x1f", b"a", b"\x28\xb5\x2f"] {
        let mut population = Population::stream(short, Format::Lines);
        let records = Sampler::probability(1.0).records(&mut population).unwrap();
        assert_eq!(records.concat(), short);
    }
}

#[test]
fn a_compressed_file_is_read_as_often_as_needed() {
    let dir = tempfile::tempdir().unwrap();
    let text = (0..500).fold("city,v\n".to_owned(), |text, i| text + &format!("c{},{i}\n", i % 3));
    let plain = file(dir.path(), "a.csv", &text);
    for (name, bytes) in [("a.csv.gz", gzip(&text)), ("a.csv.zst", zstd(&text))] {
        let path = file(dir.path(), name, &bytes);
        for sampler in [
            || Sampler::probability(0.1).per("city"),
            || Sampler::exactly(490).inverted(),
            || Sampler::at_most(1000).inverted(),
            || Sampler::exactly(490).inverted().shuffled(),
        ] {
            let draw = |path: &Path| {
                let mut population = Population::open([path], CSV).unwrap().with_header();
                let mut out = Vec::new();
                let stats = sampler().seed(3).write(&mut population, &mut out).unwrap();
                (String::from_utf8(out).unwrap(), stats.seen)
            };
            assert_eq!(draw(&path), draw(&plain), "{name}");
        }
        let mut population = Population::open([&path], Format::Lines).unwrap();
        assert_eq!(Sampler::exactly(3).records(&mut population).unwrap().len(), 3);
        assert_eq!(Sampler::exactly(4).records(&mut population).unwrap().len(), 4, "again");
    }
}

#[test]
fn a_format_that_is_not_decoded_is_named_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    for (start, command) in [
        (&b"\xfd7zXZ\0\0\x04"[..], "xz -dc"),
        (b"BZh91AY&SY\x01\x02", "bzip2 -dc"),
        (b"\x04\x22\x4d\x18\x64", "lz4 -dc"),
    ] {
        let path = file(dir.path(), "lines", start);
        let text = format!(
            "is compressed, and not by gzip, zstd or Brotli: pipe the output of `{command}`"
        );
        let error = Population::open([&path], Format::Lines).unwrap_err();
        let expected = format!("{}: {text}", path.display());
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::BadRequest, expected));
        let mut population = Population::stream(start, Format::Lines);
        let error = Sampler::exactly(1).records(&mut population).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::BadRequest, format!("-: {text}"))
        );
        let mut population = Population::open([&path], Format::Fixed(1)).unwrap();
        assert_eq!(Sampler::exactly(1).records(&mut population).unwrap().len(), 1);
    }
    let path = file(dir.path(), "lines", "BZh9 is the start of a text\n");
    assert!(Population::open([path], Format::Lines).is_ok());
}
