//! Compares what every method loads with a naive computation.

use std::fs;
use std::path::Path;

use measure::experiment::{Execution, Skip, Work};
use model::param::ParamValue;

use super::experiment;
use super::job::{LoadJob, pieces};
use super::table::FilePart;
use crate::shared::fold::{Digest, Fold, combined};
use crate::shared::input::Input;
use crate::shared::{PAGE, default_point};

/// The methods that a machine, or the file system of the tests, may refuse.
const MAY_BE_SKIPPED: [&str; 7] = [
    "direct",
    "direct-threads",
    "io-uring",
    "io-uring-direct",
    "preadv2-nowait",
    "mmap-populate",
    "mmap-huge-pages",
];

/// Every built-in method gives the answer and the digest of the loop here.
fn check(dir: &Path, values: &[(&str, ParamValue)]) {
    let experiment = experiment();
    let point = default_point(&experiment, values);
    let data = (experiment.data)(&point, dir, &measure::stop::Stop::default()).unwrap();
    let arguments = &data.arguments;
    let file = fs::read(arguments.path("file").unwrap()).unwrap();
    let list = fs::read_to_string(arguments.path("ranges").unwrap()).unwrap();
    let (mut sum, mut len, mut digests) = (0, 0, Vec::new());
    for line in list.lines() {
        let (begin, n) = line.split_once(' ').unwrap();
        let [begin, n] = [begin, n].map(|number| number.parse::<usize>().unwrap());
        let bytes = &file[begin..][..n];
        sum += bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        len += n as u64;
        let mut digest = Digest::at(0);
        digest.chunk(bytes);
        digests.push(digest.result());
    }
    assert_eq!(data.payload_bytes, Some(len));
    let (digest, mut n) = (combined(digests), 0);
    for method in &experiment.methods {
        let Execution::BuiltIn(build) = method.execution else { continue };
        let is_param = |name: &str| experiment.params.iter().any(|param| param.name == name);
        let given = arguments.only(|name| !is_param(name) || method.reads.contains(&name));
        let name = &method.name;
        let done = build(&given).and_then(|mut task| Ok((task.digest()?, task.run(2)?)));
        match done {
            Ok((found, work)) => {
                let expected = Work { ops: 2, bytes: 2 * len, answer: Some(sum) };
                assert_eq!((found, work), (Some(digest), expected), "{name} {given}");
                n += 1;
            }
            Err(error) => {
                let may_be_skipped = MAY_BE_SKIPPED.contains(&name.as_str());
                assert!(error.is::<Skip>() && may_be_skipped, "{name} {given}: {error:#}");
            }
        }
    }
    assert!(n >= 6, "{n} methods");
}

#[test]
fn every_method_loads_every_byte() {
    let dir = tempfile::tempdir().unwrap();
    for size in [1u64, 4095, 4096, 4097, (1 << 20) + 5] {
        check(dir.path(), &[("size", size.into()), ("buffer", 4096u64.into())]);
    }
    check(dir.path(), &[("size", 300_001u64.into())]);
}

#[test]
fn parts_and_records_may_begin_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let size = ("size", 1_000_003u64.into());
    for buffer in [4096u64, 1 << 20] {
        let buffer = ("buffer", buffer.into());
        check(dir.path(), &[("job", "parts".into()), size.clone(), buffer.clone()]);
        for record in [1u64, 100, 4096, 10_000] {
            let records = [("record", record.into()), ("records", 30u64.into())];
            let all = [&records[..], &[("job", "random".into()), size.clone(), buffer.clone()]];
            check(dir.path(), &all.concat());
        }
    }
    let few = [("job", "parts".into()), ("size", 3u64.into())];
    check(dir.path(), &few);
    let all = [("job", "random".into()), ("size", 9000u64.into())];
    check(dir.path(), &all);
}

#[test]
fn the_parts_are_those_of_the_header() {
    let dir = tempfile::tempdir().unwrap();
    let header = r#"{"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}}"#;
    let file = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), b"bytes"].concat();
    let path = dir.path().join("model.safetensors");
    fs::write(&path, file).unwrap();
    let own = ("file", ParamValue::from(path));
    check(dir.path(), &[("job", "parts".into()), own.clone()]);
    check(dir.path(), &[("job", "whole".into()), own]);
}

#[test]
fn the_way_that_byte_stream_chooses_is_a_metric() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = experiment();
    let point = default_point(&experiment, &[("size", 100u64.into())]);
    let data = (experiment.data)(&point, dir.path(), &measure::stop::Stop::default()).unwrap();
    let mut methods = experiment.methods.iter();
    let method = methods.find(|method| method.name == "byte-stream-load").unwrap();
    let Execution::BuiltIn(build) = method.execution else { panic!("it is built in") };
    let mut task = build(&data.arguments).unwrap();
    assert!(task.metrics().is_empty());
    task.run(1).unwrap();
    assert_eq!(task.metrics(), [("read_threads", 1.0)]);
}

#[test]
fn the_requests_of_a_job_cover_its_ranges_and_no_page_twice() {
    let ranges = [(10, 5000), (4096, 4096), (3, 1)].map(|(offset, len)| FilePart { offset, len });
    let input = Input { path: "none".into(), size: 10_000 };
    let job = LoadJob::of_ranges(input, &ranges).unwrap();
    let mut memory = vec![0; job.memory_bytes];
    let cut = |pieces: Vec<super::job::Piece<'_>>| -> Vec<(u64, usize)> {
        pieces.iter().map(|piece| (piece.offset, piece.bytes.len())).collect()
    };
    let plain = cut(pieces(job.places.iter().copied(), &mut memory, 4096));
    assert_eq!(plain, [(10, 4096), (4106, 904), (4096, 4096), (3, 1)]);
    let aligned = job.places.iter().map(|place| place.aligned());
    let aligned = cut(pieces(aligned, &mut memory, PAGE));
    assert_eq!(aligned, [(0, PAGE), (4096, PAGE), (4096, PAGE), (0, PAGE)]);
    let huge = isize::MAX as u64 - 5000;
    let input = Input { path: "none".into(), size: huge };
    let twice = [FilePart { offset: 0, len: huge }; 2];
    let error = LoadJob::of_ranges(input, &twice).err().unwrap();
    assert!(error.to_string().contains("more bytes than memory"), "{error}");
    let beyond = [FilePart { offset: 9_999, len: 2 }];
    let input = Input { path: "none".into(), size: 10_000 };
    let error = LoadJob::of_ranges(input, &beyond).err().unwrap();
    assert_eq!(error.to_string(), "2 bytes at 9999 are not in the file");
}
