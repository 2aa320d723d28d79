//! Merging and bytes, with records that were never in a file.

use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::draw::tests::binomial_p_value;
use crate::random::Rng;

const LINES: SketchRequest = SketchRequest {
    n: 3,
    is_exact: false,
    is_proportional: false,
    seed: 7,
    weight: None,
    key: None,
    format: Format::Lines,
    header: HeaderRule::None,
};

fn by_kind() -> SketchRequest {
    SketchRequest { weight: Some("w".into()), key: Some("kind".into()), ..LINES }
}

fn by_share() -> SketchRequest {
    SketchRequest { n: 7, is_proportional: true, key: Some("kind".into()), ..LINES }
}

/// The sketch of some records of file 1: `len` of them, from this one on.
fn sketch(request: &SketchRequest, from: u64, len: u64) -> Sketch {
    let mut sketch = Sketch::new(request.clone());
    let keys = FileKeys::new(request.seed, 1);
    for i in from..from + len {
        let key = if request.key.is_some() { format!("kind {}", i % 3) } else { String::new() };
        let weight = if request.weight.is_some() { (i % 5) as f64 } else { 1.0 };
        let record = || format!("record {i}\n").into_bytes().into();
        sketch.offer(key.as_bytes(), weight, &keys, (1, 9 * i), record);
    }
    sketch.set_seen(len);
    sketch
}

fn merged(sketches: impl IntoIterator<Item = Sketch>) -> Sketch {
    sketches.into_iter().reduce(|one, other| one.merge(other).unwrap()).unwrap()
}

#[test]
fn the_sketch_of_the_parts_is_that_of_the_whole_in_any_order_and_nesting() {
    let mut rng = Rng::new(4);
    let (none, many) = (SketchRequest { n: 0, ..LINES }, SketchRequest { n: 99, ..LINES });
    for request in [LINES, by_kind(), by_share(), none, many] {
        let whole = sketch(&request, 0, 60).to_bytes();
        for _ in 0..200 {
            let mut parts = Vec::new();
            let mut from = 0;
            while from < 60 {
                let len = rng.below(20).min(60 - from);
                parts.push(sketch(&request, from, len));
                from += len;
            }
            // Two random ones are merged until one is left.
            while parts.len() > 1 {
                let one = parts.swap_remove(rng.below(parts.len() as u64) as usize);
                let other = parts.swap_remove(rng.below(parts.len() as u64) as usize);
                parts.push(one.merge(other).unwrap());
            }
            assert!(parts[0].to_bytes() == whole);
        }
    }
}

#[test]
fn another_request_and_a_part_that_was_counted_twice_are_refused() {
    let one = || sketch(&LINES, 0, 10);
    for (request, expected) in [
        (SketchRequest { n: 4, ..LINES }, "different numbers of records"),
        (SketchRequest { is_exact: true, ..LINES }, "different numbers of records"),
        (SketchRequest { is_proportional: true, ..LINES }, "different shares of strata"),
        (SketchRequest { seed: 8, ..LINES }, "different seeds"),
        (SketchRequest { weight: Some("w".into()), ..LINES }, "different weights"),
        (SketchRequest { key: Some(Column::Number(1)), ..LINES }, "different keys"),
        (SketchRequest { format: Format::JsonLines, ..LINES }, "different formats"),
        (SketchRequest { header: HeaderRule::Record, ..LINES }, "different formats"),
    ] {
        let error = one().merge(sketch(&request, 10, 10)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadRequest);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let error = one().merge(sketch(&LINES, 0, 10)).unwrap_err();
    let text = "of file number 1 is in both sketches: a part was counted twice";
    assert!(error.to_string().ends_with(text), "{error}");
}

#[test]
fn headers_must_agree_and_that_of_the_first_file_is_kept() {
    let csv = SketchRequest {
        format: Format::Csv { delimiter: b',' },
        header: HeaderRule::Record,
        ..LINES
    };
    let sketch_of = |file, header: &str| {
        let mut sketch = Sketch::new(csv.clone());
        sketch.set_header(file, header.as_bytes());
        sketch
    };
    let all = || [sketch_of(2, "a,b\n"), sketch_of(0, ""), sketch_of(1, "\"a\",b\r\n")];
    assert_eq!(merged(all()).header(), b"\"a\",b\r\n");
    assert_eq!(merged(all().into_iter().rev()).header(), b"\"a\",b\r\n");
    let error = sketch_of(5, "a,b\n").merge(sketch_of(3, "a,c\n")).unwrap_err();
    let text = "file number 5: its header differs in column 2 from that of file number 3: \
                \"b\" instead of \"c\"";
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::MixedHeaders, text));
}

#[test]
fn too_few_records_are_an_error_only_at_the_end() {
    let exact = |request: SketchRequest| SketchRequest { is_exact: true, n: 20, ..request };
    let request = exact(SketchRequest { weight: Some("w".into()), ..LINES });
    let parts = || [sketch(&request, 0, 10), sketch(&request, 10, 10)];
    let error = merged(parts()).records().unwrap_err().to_string();
    let text = "20 records were requested, but there are 16 with a weight above 0 among 20";
    assert_eq!(error, text);
    let error = sketch(&exact(LINES), 0, 10).records().unwrap_err().to_string();
    assert_eq!(error, "20 records were requested, but there are 10");
    let error = sketch(&exact(by_kind()), 0, 60).records().unwrap_err().to_string();
    assert_eq!(error, "20 records of each kind were requested, but \"kind 0\" has 16");
    assert_eq!(sketch(&exact(LINES), 0, 20).records().unwrap().len(), 20);
    let error = sketch(&exact(by_share()), 0, 10).records().unwrap_err().to_string();
    assert_eq!(error, "20 records were requested, but there are 10");
    assert_eq!(sketch(&exact(by_share()), 0, 20).records().unwrap().len(), 20);
    assert_eq!(sketch(&by_share(), 0, 5).records().unwrap().len(), 5);
}

/// The sketch of some of thirty records, three of each of ten kinds.
fn sketch_of_thirty(request: &SketchRequest, records: Range<u64>) -> Sketch {
    let mut sketch = Sketch::new(request.clone());
    let keys = FileKeys::new(request.seed, 1);
    sketch.set_seen(records.end - records.start);
    for i in records {
        sketch.offer(&[(i / 3) as u8], 1.0, &keys, (1, i), || Box::from([i as u8]));
    }
    sketch
}

/// By the exact binomial distribution, at a level of 1 % for all strata together, and for all
/// records.
#[test]
fn shares_of_strata_are_fair_and_the_same_for_1_and_4_and_16_parts() {
    const SEEDS: u64 = 20_000;
    let (mut of_strata, mut of_records) = ([0u64; 10], [0u64; 30]);
    for seed in 0..SEEDS {
        let request = SketchRequest { n: 3, seed, ..by_share() };
        let drawn = [1, 4, 16].map(|parts| {
            let border = |part: u64| 30 * part / parts;
            let sketches = (0..parts).map(|part| border(part)..border(part + 1));
            let whole = merged(sketches.map(|records| sketch_of_thirty(&request, records)));
            whole.records().unwrap().concat()
        });
        assert!(drawn[0].len() == 3 && drawn[0] == drawn[1] && drawn[0] == drawn[2], "{seed}");
        assert!(drawn[0].windows(2).all(|two| two[0] / 3 < two[1] / 3), "one of a stratum");
        for record in &drawn[0] {
            of_strata[usize::from(record / 3)] += 1;
            of_records[usize::from(*record)] += 1;
        }
    }
    for (counts, p) in [(&of_strata[..], 0.3), (&of_records[..], 0.1)] {
        let level = 0.01 / counts.len() as f64;
        let is_fair = |count: &u64| binomial_p_value(*count, SEEDS, p) > level;
        assert!(counts.iter().all(is_fair), "{counts:?}");
    }
}

#[test]
fn a_sketch_has_the_same_bytes_on_every_machine() {
    let mut sketch = sketch(&by_kind(), 0, 20);
    sketch.set_header(0, b"kind,w\n");
    assert_eq!(digest_of(&sketch), FIXED);
}

fn digest_of(sketch: &Sketch) -> u64 {
    crate::input::digest(&sketch.to_bytes())
}

const FIXED: u64 = 5_311_025_765_857_658_503;

/// Bytes with a digest that matches.
fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
    let digest = crate::input::digest(&bytes);
    bytes.extend_from_slice(&digest.to_le_bytes());
    bytes
}

/// What is accepted is written as it was read, can be merged and gives its records.
fn check(bytes: &[u8]) {
    match Sketch::from_bytes(bytes) {
        Ok(sketch) => {
            assert_eq!(sketch.to_bytes(), bytes);
            let _ = sketch.records();
            let _ = sketch.clone().merge(sketch);
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Malformed),
    }
}

#[test]
fn damaged_bytes_are_refused() {
    let bytes = sketch(&by_kind(), 0, 20).to_bytes();
    check(&bytes);
    for at in 0..bytes.len() {
        assert!(Sketch::from_bytes(&bytes[..at]).is_err());
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert!(Sketch::from_bytes(&damaged).is_err());
    }
    let mut other = bytes;
    other[7] = 2;
    let error = Sketch::from_bytes(&other).unwrap_err();
    assert_eq!(error.to_string(), "this sketch was made by another version of record-sampler");
}

proptest! {
    #[test]
    fn hostile_bytes_with_a_digest_that_matches_never_panic(
        request in prop_oneof![Just(LINES), Just(by_kind()), Just(by_share())],
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut bytes = sketch(&request, 0, 20).to_bytes();
        bytes.truncate(bytes.len() - 8);
        for (at, byte) in changes {
            let at = 8 + at.index(bytes.len() - 8);
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(8 + cut.index(bytes.len() - 8));
        }
        check(&signed(bytes));
    }

    #[test]
    fn any_bytes_behind_the_first_ones_never_panic(
        rest in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        check(&signed([&b"sketch\0\x01"[..], &rest].concat()));
        check(&rest);
    }
}
