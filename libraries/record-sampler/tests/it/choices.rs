//! How records are chosen: whether whole samples of files are fair, strata, weights, splits.

use std::collections::BTreeMap;

use record_sampler::{Column, FetchMethod, Format, Population, Sampler};

use crate::files::{CSV, file, sample};

/// How often each set of records is drawn of eight lines of very different lengths.
fn check_fair(draw: impl Fn(u64, u64) -> Sampler, by_probing: bool) {
    const REPEATS: u64 = 2000;
    let dir = tempfile::tempdir().unwrap();
    let text: String =
        (0..6usize).fold(String::new(), |text, i| text + &format!("{i}{}\n", "x".repeat(i * i)));
    let path = [file(dir.path(), "lines", &text[..text.len() - 1])];
    for n in [1, 2, 3] {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for seed in 0..REPEATS {
            let method =
                if by_probing { FetchMethod::Probe { min_len: 2 } } else { FetchMethod::Auto };
            let lines = sample(&draw(n, seed).seed(seed).by(method), &path, Format::Lines);
            *counts.entry(lines).or_default() += 1;
        }
        let sets = [6, 15, 20][n as usize - 1];
        assert_eq!(counts.len(), sets, "{n}");
        let expected = REPEATS as f64 / sets as f64;
        let chi: f64 =
            counts.values().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
        // 19 degrees of freedom: beyond this once in 10⁸.
        assert!(chi < 75.0, "{n}: {chi}");
    }
}

#[test]
fn long_lines_are_not_favoured() {
    check_fair(|n, _| Sampler::exactly(n), false);
}

#[test]
fn long_lines_are_not_favoured_by_probing() {
    check_fair(|n, _| Sampler::exactly(n), true);
}

#[test]
fn a_shuffled_sample_has_every_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = [file(dir.path(), "lines", "a\nb\nc\n")];
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..3000 {
        let sampler = Sampler::exactly(3).seed(seed).shuffled();
        *counts.entry(sample(&sampler, &path, Format::Lines)).or_default() += 1;
    }
    // A standard deviation is 20.
    assert!(counts.len() == 6 && counts.values().all(|n| (380..620).contains(n)), "{counts:?}");
}

#[test]
fn several_files_are_one_population() {
    const REPEATS: u64 = 2000;
    let dir = tempfile::tempdir().unwrap();
    let texts = ["a\n", "b\nc\nd\n", "", "e"];
    let paths: Vec<std::path::PathBuf> =
        (0..).zip(texts).map(|(i, text)| file(dir.path(), &format!("{i}"), text)).collect();
    for method in [
        FetchMethod::Auto,
        FetchMethod::Mmap,
        FetchMethod::Stream,
        FetchMethod::Probe { min_len: 2 },
    ] {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for seed in 0..REPEATS {
            let lines = sample(&Sampler::exactly(2).seed(seed).by(method), &paths, Format::Lines);
            *counts.entry(lines).or_default() += 1;
        }
        assert_eq!(counts.len(), 10, "{method}");
        let expected = REPEATS as f64 / 10.0;
        let chi: f64 =
            counts.values().map(|count| (*count as f64 - expected).powi(2) / expected).sum();
        // 9 degrees of freedom: beyond this once in 10⁸.
        assert!(chi < 54.0, "{method}: {chi}");
    }
}

fn people() -> String {
    let kinds = ["a", "b", "b", "\"c\nc\"", "b", "a"];
    (0..600).fold("id,kind\n".to_owned(), |text, i| text + &format!("{i},{}\n", kinds[i % 6]))
}

fn counts(sampler: &Sampler, is_stream: bool) -> BTreeMap<String, u64> {
    let dir = tempfile::tempdir().unwrap();
    let mut population = if is_stream {
        Population::stream(std::io::Cursor::new(people()), CSV)
    } else {
        Population::open([file(dir.path(), "people.csv", people())], CSV).unwrap()
    }
    .with_header();
    let mut counts = BTreeMap::new();
    for record in sampler.records(&mut population).unwrap() {
        let text = String::from_utf8(record).unwrap();
        let kind = text.trim_end().split_once(',').unwrap().1.to_owned();
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

#[test]
fn strata_give_as_many_as_are_wanted() {
    let all = |a, b, c| {
        BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b), ("\"c\nc\"".to_owned(), c)])
    };
    for is_stream in [false, true] {
        let ten = Sampler::exactly(10).per("kind");
        assert_eq!(counts(&ten, is_stream), all(10, 10, 10));
        let by_number = Sampler::exactly(1).per(Column::Number(2));
        assert_eq!(counts(&by_number, is_stream), all(1, 1, 1));
        let many = Sampler::at_most(150).per("kind");
        assert_eq!(counts(&many, is_stream), all(150, 150, 100));
    }
    // Of 200, 300 and 100, the tenth.
    assert_eq!(counts(&Sampler::probability(0.1).per("kind"), false), all(20, 30, 10));
    // Of the exact shares 2.5, 3.75 and 1.25.
    let shares = counts(&Sampler::probability(0.0125).per("kind"), false);
    let least = BTreeMap::from([("a", 2), ("b", 3), ("\"c\nc\"", 1)]);
    assert!(least.iter().all(|(kind, n)| [*n, n + 1].contains(&shares[*kind])), "{shares:?}");
}

#[test]
fn weights_decide_how_probable_a_record_is() {
    let mut counts = [0u32; 3];
    for seed in 0..4000 {
        let text = "{\"w\":1,\"i\":0}\n{\"w\":\"3\",\"i\":1}\n{\"w\":0,\"i\":2}\n";
        let mut population = Population::stream(text.as_bytes(), Format::JsonLines);
        let sampler = Sampler::exactly(1).seed(seed).weighted_by("w");
        let records = sampler.records(&mut population).unwrap();
        let place = records[0][records[0].len() - 3] - b'0';
        counts[usize::from(place)] += 1;
    }
    // A standard deviation is 27.
    assert!((850..1150).contains(&counts[0]) && counts[2] == 0, "{counts:?}");
}

#[test]
fn a_split_sends_each_record_to_one_output() {
    let dir = tempfile::tempdir().unwrap();
    let text: String = (0..1000).fold(String::new(), |text, i| text + &format!("{i}\n"));
    let path = file(dir.path(), "lines", format!("number\n{text}"));
    for is_stream in [false, true] {
        for format in [Format::Lines, CSV] {
            let population = if is_stream {
                Population::stream(std::fs::File::open(&path).unwrap(), format)
            } else {
                Population::open([&path], format).unwrap()
            };
            let (mut train, mut test) = (Vec::new(), Vec::new());
            let stats = Sampler::probability(1.0)
                .split(&mut population.with_header(), &[4.0, 1.0], &mut [&mut train, &mut test])
                .unwrap();
            if !is_stream {
                assert_eq!((stats[0].taken, stats[1].taken), (800, 200));
            }
            assert!((150..250).contains(&stats[1].taken));
            assert_eq!(stats[0].taken + stats[1].taken, 1000);
            let (train, test) =
                (String::from_utf8(train).unwrap(), String::from_utf8(test).unwrap());
            assert!(train.starts_with("number\n") && test.starts_with("number\n"));
            let numbers = |text: &str| -> Vec<u32> {
                text.lines().skip(1).map(|line| line.parse().unwrap()).collect()
            };
            let (train, test) = (numbers(&train), numbers(&test));
            assert!(train.is_sorted() && test.is_sorted());
            let mut all = [train, test].concat();
            all.sort_unstable();
            assert_eq!(all, (0..1000).collect::<Vec<u32>>());
        }
    }
}

#[test]
fn blank_lines_are_no_records_of_json_lines() {
    let text = "\n{\"a\":1}\n\n \r\n{\"a\":2}\n\n{\"a\":2}\n\n";
    let expected = "{\"a\":1}\n{\"a\":2}\n{\"a\":2}\n";
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines.jsonl", text);
    let exactly = || Sampler::exactly(3);
    for sampler in [
        Sampler::at_most(9),
        exactly(),
        exactly().by(FetchMethod::Mmap),
        exactly().by(FetchMethod::Stream),
        exactly().mergeable(),
        exactly().systematic(),
        exactly().by(FetchMethod::Probe { min_len: 1 }),
        Sampler::share(1.0),
        Sampler::probability(1.0),
        Sampler::at_most(9).per("a"),
        Sampler::probability(1.0).per("a"),
        exactly().stratified_by("a"),
        exactly().weighted_by("a"),
        Sampler::exactly(2).groups("a"),
    ] {
        let out = sample(&sampler, std::slice::from_ref(&path), Format::JsonLines);
        assert_eq!(out, expected);
    }
    let mut stream = Population::stream(text.as_bytes(), Format::JsonLines);
    let mut out = Vec::new();
    let stats = exactly().write(&mut stream, &mut out).unwrap();
    assert_eq!((stats.seen, String::from_utf8(out).unwrap().as_str()), (Some(3), expected));
    let mut population = Population::open([&path], Format::JsonLines).unwrap();
    let mut shuffled = exactly().shuffled().records(&mut population).unwrap();
    shuffled.sort_unstable();
    assert_eq!(shuffled.concat(), expected.as_bytes());
    let (mut train, mut test) = (Vec::new(), Vec::new());
    let all = Sampler::probability(1.0);
    let stats = all.split(&mut population, &[2.0, 1.0], &mut [&mut train, &mut test]).unwrap();
    assert_eq!((stats[0].taken, stats[1].taken), (2, 1));
    let error = Sampler::exactly(4).records(&mut population).unwrap_err();
    assert_eq!(error.to_string(), "4 records were requested, but there are 3");
}

#[test]
fn each_line_that_is_not_blank_is_as_probable_as_any_other() {
    const SEEDS: u64 = 3000;
    let dir = tempfile::tempdir().unwrap();
    let path = [file(dir.path(), "lines.jsonl", "\n10\n\n\n  \n2\n \n30000\n")];
    for method in [FetchMethod::Auto, FetchMethod::Stream, FetchMethod::Probe { min_len: 1 }] {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for seed in 0..SEEDS {
            let one = Sampler::exactly(1).seed(seed).by(method);
            *counts.entry(sample(&one, &path, Format::JsonLines)).or_default() += 1;
        }
        // A standard deviation is 26.
        let is_fair = |count: &u64| (870..1130).contains(count);
        assert!(counts.len() == 3 && counts.values().all(is_fair), "{method}: {counts:?}");
    }
}

#[test]
fn values_of_different_types_are_different_keys_and_equal_numbers_are_one() {
    let values = ["1", "\"1\"", "1.0", "null", "\"null\"", "true", "\"true\"", "[1]", "[1.0]"];
    let lines = values.map(|value| format!("{{\"k\":{value}}}\n")).concat();
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "keys.jsonl", lines);
    let drawn = |sampler: Sampler| {
        let mut population = Population::open([&path], Format::JsonLines).unwrap();
        sampler.records(&mut population).map(|records| records.len())
    };
    let one = Sampler::at_most(1).per("k");
    assert_eq!(drawn(one.clone().mergeable()).unwrap(), 7);
    assert_eq!(drawn(one).unwrap(), 7);
    assert_eq!(drawn(Sampler::exactly(7).groups("k")).unwrap(), 9);
    assert!(drawn(Sampler::exactly(8).groups("k")).is_err());
}

#[test]
fn integers_beyond_64_bits_are_keys_of_their_own() {
    let lines = (0..4).map(|i| format!("{{\"id\":1844674407370955161{i}00}}\n"));
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines.jsonl", lines.collect::<String>());
    let out = sample(&Sampler::exactly(1).per("id"), &[path], Format::JsonLines);
    assert_eq!(out.lines().count(), 4);
}
