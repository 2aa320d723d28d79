//! CSV whose records are passed over by vectors: they are those that are found one by one.

use proptest::prelude::*;
use record_sampler::{ErrorKind, Exactly, FetchMethod, Format, Population, Rng, Sampler};

use crate::files::{CSV, file};

/// Plain lines, and among them what is not plain.
fn table() -> impl Strategy<Value = String> {
    let plain = (1usize..30, 1usize..600).prop_map(|(len, n)| {
        let line = format!("{},b\n", "a".repeat(len));
        line.repeat(n)
    });
    let odd = prop_oneof![
        "\n|\r\n|\r|\"|,|\n\n\r\n",
        "\"[a\n\r,]{0,9}\"",
        "x\"y\n",
        "\"a\"\"b\",\n",
        "[ab,]{1,5}\r\n",
        Just("\"quoted\nline\"\n".repeat(2000)),
        Just("c".repeat(40_000)),
    ];
    proptest::collection::vec(prop_oneof![3 => plain, 2 => odd], 0..14)
        .prop_map(|parts| parts.concat())
}

fn found_one_by_one(text: &str) -> record_sampler::Result<Vec<Vec<u8>>> {
    let mut population = Population::stream(std::io::Cursor::new(text.to_owned()), CSV);
    Sampler::at_most(u64::MAX).records(&mut population)
}

fn check(text: &str, seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "table", text);
    let mut population = Population::open([&path], CSV).unwrap();
    let all = match found_one_by_one(text) {
        Ok(all) => all,
        Err(expected) => {
            let error = Sampler::exactly(0).records(&mut population).unwrap_err();
            let expected = expected.to_string().replace('-', path.to_str().unwrap());
            assert_eq!(error.to_string(), expected);
            return;
        }
    };
    let total = all.len() as u64;
    for n in [0, 1, 3, total / 100, total / 3, total].map(|n| n.min(total)) {
        let mut out = Vec::new();
        let sampler = Sampler::exactly(n).seed(seed);
        let stats = sampler.write(&mut population, &mut out).unwrap();
        assert_eq!(stats.seen, Some(total));
        let drawn = sampler.records(&mut population).unwrap();
        // More than half are drawn as the rest of a smaller sample.
        if n <= total / 2 {
            let ranks = Exactly::new(Rng::new(seed), n, total);
            let expected: Vec<&Vec<u8>> = ranks.map(|rank| &all[rank as usize]).collect();
            assert!(drawn.iter().eq(expected), "{n} of {total}");
        }
        if n == total {
            assert!(drawn == all);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn records_that_are_passed_over_are_those_that_are_found(text in table(), seed: u64) {
        check(&text, seed);
    }
}

#[test]
fn every_place_of_a_line_end_or_quote_at_the_end_of_a_block_is_right() {
    const BLOCK: usize = 16 << 10;
    for odd in
        ["\n", "\n\n", "\r\n", "\n\r\n", "\r\n\r\n", "\"", "\"\n\"", "\"a\"\n", ",\"\n\n\"\n"]
    {
        for before in 0..6 {
            let start = BLOCK - before;
            let lines = "abcdefg\n".repeat(start / 8) + &"x".repeat(start % 8);
            check(&(lines + odd + &"hijklmn\n".repeat(3000)), 1);
        }
    }
}

#[test]
fn a_record_that_is_too_large_is_named_alike_where_it_is_passed_over() {
    const MAX: u64 = 20_000;
    let dir = tempfile::tempdir().unwrap();
    for (before, len) in [(0, 20_000), (0, 20_001), (16_000, 20_000), (16_000, 30_000), (3, 50_000)]
    {
        let text = "a\n".repeat(before / 2) + &"b".repeat(len - 1) + "\n" + &"c\n".repeat(9000);
        let path = file(dir.path(), "table", &text);
        let outcome = |population: Population, sampler: Sampler| {
            let mut population = population.with_max_record(MAX);
            let result = sampler.write(&mut population, &mut std::io::sink());
            result.map(|stats| stats.seen).map_err(|error| error.to_string())
        };
        let passed = outcome(Population::open([&path], CSV).unwrap(), Sampler::exactly(0));
        let stream = Population::from_file("-", std::fs::File::open(&path).unwrap(), CSV).unwrap();
        let found = outcome(stream, Sampler::exactly(3).weighted_with(|_| 1.0));
        let named = path.to_str().unwrap();
        assert_eq!(passed.clone().map_err(|e| e.replace(named, "-")), found, "{before} {len}");
        assert_eq!(passed.is_err(), len as u64 > MAX, "{before} {len}");
    }
}

#[test]
fn a_few_records_of_many_are_read_without_what_is_between_them() {
    let dir = tempfile::tempdir().unwrap();
    let rows = |from: u64| {
        let row = |text: String, i: u64| text + &format!("{i},\"two\nlines {i}\",{}\r\n", i * 7);
        (from..from + 40_000).fold("id,text,n\r\n".to_owned(), row)
    };
    // The last row has no end, and gets that of the row before it.
    let texts =
        [rows(0), "id,text,n\n".to_owned(), rows(40_000), rows(80_000).trim_end().to_owned()];
    let paths: Vec<_> =
        (0..).zip(&texts).map(|(i, text)| file(dir.path(), &format!("{i}"), text)).collect();
    let size = texts.iter().map(String::len).sum::<usize>() as u64;
    let all: Vec<String> =
        (0..120_000u64).map(|i| format!("{i},\"two\nlines {i}\",{}\r\n", i * 7)).collect();
    for (n, seed) in [(1, 3), (2, 4), (20, 5), (300, 6), (5000, 7), (119_999, 8)] {
        let mut population = Population::open(&paths, CSV).unwrap().with_header();
        let mut out = Vec::new();
        let sampler = Sampler::exactly(n).seed(seed);
        let stats = sampler.write(&mut population, &mut out).unwrap();
        assert_eq!(stats.seen, Some(120_000));
        if n <= 60_000 {
            let ranks = Exactly::new(Rng::new(seed), n, 120_000);
            let records: String = ranks.map(|rank| all[rank as usize].as_str()).collect();
            assert!(out == format!("id,text,n\r\n{records}").as_bytes(), "{n}");
        }
        // Once to count them; the start of each file for its header.
        let most = if n < 10 { size + (1 << 20) + n * (256 << 10) } else { 2 * size + (1 << 20) };
        assert!(stats.bytes_read <= most, "{n}: {} of {size}", stats.bytes_read);
    }
}

#[test]
fn quotes_that_contradict_the_delimiter_are_an_error_that_names_both() {
    let dir = tempfile::tempdir().unwrap();
    let plain = "4;plain\n".repeat(5000);
    let text = format!("id;note\n{plain}1;\"first\nsecond\"\n2;plain\n3;\"x;y\nz\"\n");
    let path = file(dir.path(), "semicolon.csv", &text);
    let samplers = [
        Sampler::exactly(1),
        Sampler::exactly(1).by(FetchMethod::Stream),
        Sampler::exactly(1).mergeable(),
        Sampler::probability(0.1),
        Sampler::probability(1.0).shuffled(),
    ];
    for sampler in &samplers {
        let stream = Population::stream(std::io::Cursor::new(text.clone()), CSV);
        for population in [Population::open([&path], CSV).unwrap(), stream] {
            let error = sampler.records(&mut population.with_header()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadDelimiter, "{error}");
            let text = format!(
                "the quote at offset {} follows a semicolon and is not closed in its line, but the \
                 delimiter is a comma",
                8 + plain.len() + 2
            );
            assert!(error.to_string().ends_with(&text), "{error}");
        }
        let semicolon = Format::Csv { delimiter: b';' };
        let population = Population::open([&path], semicolon).unwrap();
        let records = sampler.records(&mut population.with_header()).unwrap();
        let quotes = |record: &Vec<u8>| String::from_utf8_lossy(record).matches('"').count();
        assert!(records.iter().all(|record| quotes(record).is_multiple_of(2)));
    }
}
