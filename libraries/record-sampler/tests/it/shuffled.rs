//! A random order does not depend on where the records are kept until it is their turn.

use std::fmt::Write;

use record_sampler::{FetchMethod, Format, Population, Sampler};

/// Two files of 20 MB, with records of all lengths, one of them too long for a bucket; the last
/// line of each has no end.
fn files(dir: &std::path::Path) -> [std::path::PathBuf; 2] {
    let long = "x".repeat(3 << 20);
    let text = |name: &str| {
        let mut text = String::new();
        for i in 0..160_000 {
            write!(text, "{name}{i},{}\r\n", &long[..i % 97]).unwrap();
            if i == 70_000 {
                text.push_str(&long);
                text.push_str("\r\n");
            }
        }
        text + name
    };
    ["one", "two"].map(|name| {
        let path = dir.join(name);
        std::fs::write(&path, text(name)).unwrap();
        path
    })
}

fn drawn(sampler: &Sampler, format: Format, paths: &[std::path::PathBuf]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut population = Population::open(paths, format).unwrap();
    let stats = sampler.clone().seed(3).shuffled().write(&mut population, &mut out).unwrap();
    assert!(stats.taken <= stats.seen.unwrap());
    out
}

fn sorted(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

#[test]
fn mapped_files_have_the_order_of_copied_records() {
    let dir = tempfile::tempdir().unwrap();
    let paths = files(dir.path());
    let csv = Format::Csv { delimiter: b',' };
    let cases = [
        (Format::Lines, Sampler::probability(1.0)),
        (Format::Lines, Sampler::exactly(150_000)),
        (csv, Sampler::exactly(320_004)),
        (Format::Fixed(100), Sampler::probability(0.9)),
    ];
    for (number, (format, sampler)) in cases.into_iter().enumerate() {
        let sized: Vec<_> = match format {
            Format::Fixed(len) => {
                let path = dir.path().join("fixed");
                let mut bytes = std::fs::read(&paths[0]).unwrap();
                bytes.truncate(bytes.len() / len as usize * len as usize);
                // Repeated, as half of the records are too few.
                std::fs::write(&path, bytes.repeat(2)).unwrap();
                vec![path]
            }
            _ => paths.to_vec(),
        };
        let expected = drawn(&sampler, format, &sized);
        if number == 0 {
            let all = sized.iter().map(|path| std::fs::read(path).unwrap());
            let all = all.map(|text| [&text[..], b"\r\n"].concat()).collect::<Vec<_>>().concat();
            assert!(sorted(&expected) == sorted(&all));
        }
        // With 4 MiB some of the places are in a temporary file, with 64 KiB the records are.
        for memory in [1 << 28, 4 << 20, 64 << 10] {
            let ours = sampler.clone().with_memory(memory);
            assert!(drawn(&ours, format, &sized) == expected, "{format:?} {memory}");
            // Other formats are not mapped by request.
            if format != csv {
                let mapped = ours.by(FetchMethod::Mmap);
                assert!(drawn(&mapped, format, &sized) == expected, "{format:?} {memory} mapped");
            }
        }
        assert!(drawn(&sampler.with_mapping(), format, &sized) == expected);
    }
}
