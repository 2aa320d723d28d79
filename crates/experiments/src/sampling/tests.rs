//! Every method draws a sample of files of both kinds; an incorrect sample is detected.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use measure::experiment::{Execution, Skip};
use measure::stop::Stop;
use model::param::Point;
use record_sampler::Layout;

use super::check::{Promise, SampleProperties};
use super::experiment;

fn arguments(dir: &Path, kind: &str, samples: u64, records: u64) -> Point {
    let mut point = Point::default();
    point.set("samples", samples);
    point.set("records", records);
    point.set("kind", kind);
    point.set("dir", dir.to_path_buf());
    (experiment().data)(&point, Path::new("/nonexistent"), &Stop::default()).unwrap().arguments
}

/// Lets each method draw that takes part, and returns how many did.
fn draw_by_each(point: &Point, samples: u64) -> u64 {
    let mut drawn = 0;
    for method in experiment().methods {
        if !method.competes_at(point) {
            continue;
        }
        let Execution::BuiltIn(build) = method.execution else { continue };
        let mut task = match build(point) {
            Err(error) if error.is::<Skip>() => continue,
            task => task.unwrap(),
        };
        let answer = Some(samples);
        assert_eq!(task.digest().unwrap(), answer, "{} {point}", method.name);
        let work = task.run(3).unwrap();
        assert_eq!((work.ops, work.answer), (3, answer), "{} {point}", method.name);
        drawn += 1;
    }
    drawn
}

#[test]
fn every_method_draws_a_sample() {
    let dir = tempfile::tempdir().unwrap();
    for kind in ["text", "binary"] {
        for (samples, records) in [(1, 1), (10, 10_000), (5000, 10_000), (10_000, 10_000)] {
            let point = arguments(dir.path(), kind, samples, records);
            let drawn = draw_by_each(&point, samples);
            assert!(drawn >= 6, "{drawn}");
        }
    }
    // Two generated files of each kind, and an index for each text file.
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 6);
}

#[test]
fn files_of_other_formats_are_known_by_their_endings() {
    let dir = tempfile::tempdir().unwrap();
    let lines = |line: fn(u64) -> String| (0..1000).map(line).collect::<String>();
    let mut genotypes = vec![0x6c, 0x1b, 0x01];
    genotypes.extend((0..1000u16).flat_map(|i| [i.to_le_bytes(); 2].concat()));
    fs::write(dir.path().join("a.fam"), "x\n".repeat(14)).unwrap();
    for (name, bytes, least) in [
        ("a.vcf", ("##x\n#CHROM\n".to_owned() + &lines(|i| format!("{i}\t7\n"))).into_bytes(), 6),
        ("a.fastq", lines(|i| format!("@{i}\nA\n+\nF\n")).into_bytes(), 6),
        ("a.fa", lines(|i| format!(">{i}\nAC\nGT\n")).into_bytes(), 4),
        ("a.bed", genotypes, 6),
    ] {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        let mut point = Point::default();
        point.set("samples", 100u64);
        point.set("kind", if name == "a.bed" { "binary" } else { "text" });
        point.set("file", path);
        let data = (experiment().data)(&point, dir.path(), &Stop::default()).unwrap();
        assert_eq!(data.arguments.number("records").unwrap(), 1000, "{name}");
        let drawn = draw_by_each(&data.arguments, 100);
        assert!(drawn >= least, "{name}: {drawn}");
    }
    let mut point = Point::default();
    point.set("samples", 1u64);
    point.set("kind", "text");
    point.set("file", dir.path().join("a.bed"));
    let error = (experiment().data)(&point, dir.path(), &Stop::default()).err().unwrap();
    assert!(format!("{error:#}").ends_with("a PLINK file is read with --kind binary"), "{error:#}");
}

/// Gzip in blocks, as of `bgzip`: a member for each part of the text.
fn in_blocks(text: &str) -> Vec<u8> {
    let blocks = text.as_bytes().chunks(4000).map(|block| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(block).unwrap();
        encoder.finish().unwrap()
    });
    blocks.collect::<Vec<_>>().concat()
}

#[test]
fn compressed_files_are_drawn_from_as_the_files_in_them() {
    let dir = tempfile::tempdir().unwrap();
    let text = (0..1000).map(|i| format!("{i}\t7\n")).collect::<Vec<String>>().concat();
    let vcf = format!("##x\n#CHROM\n{text}");
    // What is compressed is known by the name or, in text, by the first bytes.
    for (name, text) in [("a.vcf.gz", &vcf), ("b.txt", &text)] {
        let path = dir.path().join(name);
        fs::write(&path, in_blocks(text)).unwrap();
        let mut point = Point::default();
        point.set("samples", 100u64);
        point.set("kind", "text");
        point.set("file", path);
        let data = (experiment().data)(&point, dir.path(), &Stop::default()).unwrap();
        assert_eq!(data.arguments.number("records").unwrap(), 1000, "{name}");
        // By `scan`, `auto`, `pread` and `reservoir`: the others are skipped.
        assert_eq!(draw_by_each(&data.arguments, 100), 4, "{name}");
    }
}

#[test]
fn a_file_is_made_once_and_the_same_every_time() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for kind in ["text", "binary"] {
        let [a, b] = [0, 1].map(|i| {
            let point = arguments(dirs[i].path(), kind, 1, 20_000);
            fs::read(point.path("file").unwrap()).unwrap()
        });
        assert!(a == b);
        let mean_len = a.len() / 20_000;
        assert!((59..=64).contains(&mean_len), "{mean_len}");
    }
}

#[test]
fn a_file_of_the_user_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("own");
    fs::write(&file, "a\nb\nc").unwrap();
    let mut point = Point::default();
    point.set("samples", 3u64);
    point.set("kind", "text");
    point.set("file", file.clone());
    let data = |point: &Point| (experiment().data)(point, dir.path(), &Stop::default());
    assert_eq!(data(&point).unwrap().arguments.number("records").unwrap(), 3);
    point.set("samples", 4u64);
    let error = format!("{:#}", data(&point).err().unwrap());
    assert_eq!(error, format!("--samples 4: {} has 3 records", file.display()));
    point.set("file", dir.path().join("missing"));
    assert!(format!("{:#}", data(&point).err().unwrap()).contains("missing: No such file"));
}

#[test]
fn what_is_no_sample_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let text: Vec<String> = (0..4000).map(|i| format!("{i}\n")).collect();
    fs::write(&file, text.concat()).unwrap();
    let check = |drawn: Vec<String>, samples: u64| {
        let promise = Promise { is_exact: true, in_order: true };
        let layout = Layout::named("lines", None).unwrap();
        let (file, layout) = (&file, &layout);
        let claim =
            SampleProperties { file, layout, encoding: None, records: 4000, samples, promise };
        let mut out = tempfile::tempfile().unwrap();
        out.write_all(drawn.concat().as_bytes()).unwrap();
        claim.check(&out).map_err(|error| error.to_string())
    };
    let every = |step: usize| text.iter().step_by(step).cloned().collect::<Vec<_>>();
    assert_eq!(check(every(4), 1000), Ok(()));
    let wrong = |drawn, samples: u64, expected: &str| {
        let error = check(drawn, samples).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    wrong(every(4), 999, "1000 records were drawn instead of 999");
    wrong(every(4).into_iter().rev().collect(), 1000, "not in the order");
    wrong(
        ["1\n", "1\n"].map(str::to_owned).to_vec(),
        2,
        "1 drawn records are not of the file, or twice",
    );
    wrong(["1\n", "x\n"].map(str::to_owned).to_vec(), 2, "not of the file");
    wrong(text[..1000].to_vec(), 1000, "some parts of the file are favoured");
}
