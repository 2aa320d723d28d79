//! Parts that are counted, ranks that are drawn of all, and records that are fetched part by part:
//! byte for byte the sample that is drawn in one process.

use std::path::PathBuf;

use proptest::prelude::*;
use record_sampler::{ErrorKind, FetchMethod, Format, Part, Population, Sampler};

use crate::files::{CSV, file};

fn fetched(sampler: &Sampler, parts: &[Part]) -> Vec<u8> {
    let counts: Vec<u64> = parts.iter().map(|part| part.count().unwrap()).collect();
    let ranks = sampler.ranks(&counts).unwrap();
    let headers = parts.iter().map(|part| part.header_bytes().unwrap());
    let mut out = headers.into_iter().find(|header| !header.is_empty()).unwrap_or_default();
    for (part, ranks) in parts.iter().zip(&ranks) {
        out.extend(part.fetch(ranks).unwrap().concat());
    }
    out
}

fn check(sampler: &Sampler, population: &mut Population) {
    let mut expected = Vec::new();
    sampler.write(population, &mut expected).unwrap();
    for bytes in [1, 5, 64, 1 << 20] {
        let got = fetched(sampler, &population.parts(bytes).unwrap());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&got), text(&expected), "{bytes}");
    }
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof!["[a-z]{0,9}\n", "\r?\n", "\"[a\n,]{0,5}\",x\r\n", "[a-z]{40}\n"];
    let lines = proptest::collection::vec(line, 0..12);
    (lines, "[a-z]?").prop_map(|(lines, last)| lines.concat() + &last)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn parts_give_the_sample_of_one_process(
        texts in proptest::collection::vec(text(), 1..4), n in 0u64..20, seed: u64, has_header: bool,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = (0..)
            .zip(&texts)
            .map(|(i, text)| {
                let header = if has_header { "head\n" } else { "" };
                file(dir.path(), &format!("{i}"), header.to_owned() + text)
            })
            .collect();
        for format in [Format::Lines, Format::JsonLines, CSV, Format::Fixed(1)] {
            let mut population = Population::open(&paths, format).unwrap();
            if has_header && format != Format::Fixed(1) {
                population = population.with_header();
            }
            let samplers = [
                Sampler::at_most(n),
                Sampler::probability(0.3),
                Sampler::at_most(n).with_replacement(),
                Sampler::at_most(n).systematic(),
                Sampler::at_most(n).inverted(),
            ];
            for sampler in samplers {
                check(&sampler.seed(seed), &mut population);
            }
        }
    }
}

#[test]
fn records_of_a_fixed_size_may_be_cut_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let record = |i: u32| format!("{i:06}").into_bytes();
    let bytes = |range: std::ops::Range<u32>| range.flat_map(record).collect::<Vec<u8>>();
    let paths = [(0..50), (50..50), (50..90)]
        .map(|rows| file(dir.path(), &format!("{rows:?}"), bytes(rows)));
    for n in [0, 1, 30, 90] {
        check(&Sampler::exactly(n), &mut Population::open(&paths, Format::Fixed(6)).unwrap());
    }
    let odd = file(dir.path(), "odd", "12345678");
    let error = Part::new(0, &odd, Format::Fixed(6)).range(0, 6).count().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
}

#[test]
fn what_has_no_ranks_is_refused() {
    let one = || Sampler::exactly(1);
    for (sampler, expected) in [
        (one().weighted_by("w"), "ranks are drawn without columns; weights and strata"),
        (one().per("k"), "ranks are drawn without columns"),
        (one().mergeable(), "ranks are drawn without columns"),
        (one().shuffled(), "ranks are in the order of the files: shuffle the records"),
        (one().by(FetchMethod::Stream), "a stream and probing draw without counting"),
    ] {
        let error = sampler.ranks(&[2, 3]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadRequest);
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let error = one().ranks(&[u64::MAX, 1]).unwrap_err();
    assert_eq!(error.to_string(), "the counts exceed 64 bits");
    assert_eq!(Sampler::exactly(9).ranks(&[3, 0]).unwrap_err().kind(), ErrorKind::TooFew);
    assert_eq!(Sampler::exactly(3).ranks(&[0, 3, 0]).unwrap(), [vec![], vec![0, 1, 2], vec![]]);
}

#[test]
fn ranks_that_a_part_does_not_have_are_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", "a\nb\nc\n");
    for format in [Format::Lines, CSV, Format::Fixed(2)] {
        let part = Part::new(0, &path, format);
        assert_eq!(part.fetch(&[0, 0, 2]).unwrap().concat(), b"a\na\nc\n");
        assert_eq!(part.fetch(&[1, 3]).unwrap_err().kind(), ErrorKind::Changed);
        assert_eq!(part.fetch(&[1, 0]).unwrap_err().kind(), ErrorKind::BadRequest);
    }
}
