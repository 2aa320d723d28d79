//! Files, by every method: the records are those of the population, in order, and each as often.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use record_sampler::{FetchMethod, Format, Population, Rng, Sampler, Systematic};

pub(crate) const CSV: Format = Format::Csv { delimiter: b',' };

pub(crate) fn file(dir: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// What the sampler writes of these files, as text.
pub(crate) fn sample(sampler: &Sampler, paths: &[PathBuf], format: Format) -> String {
    let mut out = Vec::new();
    let mut population = Population::open(paths, format).unwrap();
    sampler.write(&mut population, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn methods(format: Format) -> Vec<FetchMethod> {
    let mut methods = vec![FetchMethod::Auto, FetchMethod::Mmap, FetchMethod::Stream];
    if let Format::Fixed(_) = format {
        methods.extend([FetchMethod::Pread, FetchMethod::Sequential]);
    }
    methods
}

#[test]
fn all_records_come_back_as_they_are_by_every_method() {
    let dir = tempfile::tempdir().unwrap();
    let long = "x".repeat(1_000_000);
    let texts = [
        "a\nb\nc\n".to_owned(),
        "one\r\ntwo\r\n".to_owned(),
        "\n\n\n".to_owned(),
        format!("short\n{long}\nshort\n"),
        (0..60_000).fold(String::new(), |text, i| text + &i.to_string() + "\n"),
    ];
    let paths: Vec<PathBuf> =
        (0..).zip(&texts).map(|(i, text)| file(dir.path(), &format!("{i}"), text)).collect();
    for (path, text) in paths.iter().zip(&texts) {
        for method in methods(Format::Lines) {
            let sampler = Sampler::at_most(u64::MAX).by(method);
            assert!(
                sample(&sampler, std::slice::from_ref(path), Format::Lines) == *text,
                "{method}"
            );
        }
    }
    for method in methods(Format::Lines) {
        let sampler = Sampler::at_most(u64::MAX).by(method);
        assert!(sample(&sampler, &paths, Format::Lines) == texts.concat(), "{method}");
    }
    for method in methods(Format::Fixed(1)) {
        let sampler = Sampler::at_most(u64::MAX).by(method);
        assert!(sample(&sampler, &paths, Format::Fixed(1)) == texts.concat(), "{method}");
    }
}

#[test]
fn a_last_line_without_end_gets_the_one_of_the_line_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let all = Sampler::at_most(9);
    for (text, expected) in [
        ("a\nb", "a\nb\n"),
        ("a\r\nb", "a\r\nb\r\n"),
        ("a", "a\n"),
        ("", ""),
        ("\n", "\n"),
        ("a\r\n\r\nb", "a\r\n\r\nb\r\n"),
    ] {
        let path = file(dir.path(), "lines", text);
        for method in methods(Format::Lines) {
            let all = Sampler::at_most(9).by(method);
            assert_eq!(
                sample(&all, std::slice::from_ref(&path), Format::Lines),
                expected,
                "{method}"
            );
        }
        let shuffled =
            sample(&Sampler::at_most(1).shuffled(), std::slice::from_ref(&path), Format::Lines);
        assert!(expected.contains(&shuffled) || text == "a\r\nb");
    }
    let two = [file(dir.path(), "1", "a"), file(dir.path(), "2", "b")];
    assert_eq!(sample(&all, &two, Format::Lines), "a\nb\n");
    assert_eq!(sample(&all, &two, CSV), "a\nb\n");
}

#[test]
fn the_first_record_of_each_file_may_be_a_header() {
    let dir = tempfile::tempdir().unwrap();
    let paths = [
        file(dir.path(), "1", "id\n1\n2\n"),
        file(dir.path(), "2", "id\n3\n"),
        file(dir.path(), "3", "id"),
        file(dir.path(), "4", ""),
    ];
    for (format, method) in [
        (Format::Lines, FetchMethod::Auto),
        (Format::Lines, FetchMethod::Stream),
        (CSV, FetchMethod::Auto),
    ] {
        let mut out = Vec::new();
        let mut population = Population::open(&paths, format).unwrap().with_header();
        let stats = Sampler::exactly(3).by(method).write(&mut population, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "id\n1\n2\n3\n");
        assert_eq!((stats.seen, stats.taken), (Some(3), 3));
    }
}

#[test]
fn every_method_gives_the_same_records_for_the_same_seed() {
    let dir = tempfile::tempdir().unwrap();
    let text = (0..100_000).fold(String::new(), |text, i| text + &format!("{i:07}\n"));
    let path = [file(dir.path(), "a", &text), file(dir.path(), "b", &text)];
    for n in [1, 10, 1000, 150_000] {
        let expected = sample(&Sampler::exactly(n).seed(n), &path, Format::Fixed(8));
        assert_eq!(expected.lines().count() as u64, n);
        for method in [FetchMethod::Pread, FetchMethod::Mmap, FetchMethod::Sequential] {
            let sampler = Sampler::exactly(n).seed(n).by(method);
            assert!(sample(&sampler, &path, Format::Fixed(8)) == expected, "{n} {method}");
        }
        for method in [FetchMethod::Auto, FetchMethod::Mmap] {
            let sampler = Sampler::exactly(n).seed(n).by(method);
            assert!(sample(&sampler, &path, Format::Lines) == expected, "{n} {method}");
        }
        assert!(sample(&Sampler::exactly(n).seed(n), &path, CSV) == expected, "{n}");
    }
}

#[test]
fn a_seed_gives_the_same_sample_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let text = (0..1000).fold(String::new(), |text, i| text + &i.to_string() + "\n");
    let path = [file(dir.path(), "lines", text)];
    let draw = |sampler: Sampler| {
        let sampler = sampler.seed(2026);
        sample(&sampler, &path, Format::Lines).replace('\n', " ")
    };
    let drawn = [
        draw(Sampler::exactly(5)),
        draw(Sampler::exactly(5).shuffled()),
        draw(Sampler::exactly(996).inverted()),
        draw(Sampler::exactly(5).with_replacement()),
        draw(Sampler::probability(0.005)),
        draw(Sampler::exactly(5).by(FetchMethod::Stream)),
        draw(Sampler::exactly(5).by(FetchMethod::Probe { min_len: 2 })),
        draw(Sampler::exactly(5).weighted_with(|line| line.len() as f64)),
    ];
    assert_eq!(drawn, GOLDEN);
}

const GOLDEN: [&str; 8] = [
    "92 163 202 857 868 ",
    "857 868 163 202 92 ",
    "114 205 260 973 ",
    "156 253 330 377 981 ",
    "169 267 332 362 ",
    "197 341 862 892 923 ",
    "42 442 624 729 867 ",
    "319 322 375 932 947 ",
];

#[test]
fn a_systematic_sample_has_equal_distances_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let text = (0..1000).fold(String::new(), |text, i| text + &format!("{i:03}\n"));
    let path = [file(dir.path(), "a", &text), file(dir.path(), "b", &text)];
    for seed in 0..20 {
        let sampler = Sampler::exactly(250).seed(seed).systematic();
        let expected: String = Systematic::new(Rng::new(seed), 250, 2000)
            .fold(String::new(), |text, rank| text + &format!("{:03}\n", rank % 1000));
        for format in [Format::Lines, CSV, Format::Fixed(4)] {
            assert_eq!(sample(&sampler, &path, format), expected);
        }
        let first: u64 = expected[..3].parse().unwrap();
        assert!(first < 8 && expected.lines().count() == 250);
    }
    assert_eq!(
        sample(&Sampler::at_most(9).systematic(), &[file(dir.path(), "c", "1")], CSV),
        "1\n"
    );
}

/// Texts with all kinds of line ends.
fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop_oneof!["a{0,3}", "\n", "\r\n", "[b-z]{1,40}\n"], 0..40)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn a_sample_is_a_part_of_the_population_in_its_order(
        texts in proptest::collection::vec(text(), 1..4), n in 0u64..20, seed: u64, is_mapped: bool,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> =
            (0..).zip(&texts).map(|(i, text)| file(dir.path(), &format!("{i}"), text)).collect();
        let lines: Vec<&str> = texts.iter().flat_map(|text| text.split_inclusive('\n')).collect();
        let method = if is_mapped { FetchMethod::Mmap } else { FetchMethod::Auto };
        for method in [method, FetchMethod::Stream] {
            let sampler = Sampler::at_most(n).seed(seed).by(method);
            let mut population = Population::open(&paths, Format::Lines).unwrap();
            let records = sampler.records(&mut population).unwrap();
            prop_assert_eq!(records.len() as u64, n.min(lines.len() as u64));
            let mut rest = lines.iter();
            for record in &records {
                prop_assert!(rest.any(|line| line.as_bytes() == record));
            }
        }
        // What is chosen and the rest of it are all.
        let mut counts: BTreeMap<Vec<u8>, i64> = BTreeMap::new();
        for sampler in [Sampler::at_most(n), Sampler::at_most(n).inverted()] {
            let mut population = Population::open(&paths, Format::Lines).unwrap();
            for record in sampler.seed(seed).records(&mut population).unwrap() {
                *counts.entry(record).or_default() += 1;
            }
        }
        for line in lines {
            *counts.entry(line.as_bytes().to_vec()).or_default() -= 1;
        }
        prop_assert!(counts.values().all(|count| *count == 0));
    }
}

/// SIGBUS would end the process that uses the library, if another one truncated the file.
#[test]
fn a_file_is_mapped_only_if_it_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "records", vec![7; 64 * 100_000]);
    let run = |sampler: &Sampler| {
        let mut population = Population::open([&path], Format::Fixed(64)).unwrap();
        let mut out = Vec::new();
        (sampler.write(&mut population, &mut out).unwrap(), out)
    };
    let sampler = Sampler::exactly(50_000);
    let (stats, expected) = run(&sampler);
    assert!(
        stats.method != FetchMethod::Mmap && !stats.reason.contains("mmap"),
        "{}",
        stats.reason
    );
    let (stats, out) = run(&sampler.with_mapping());
    assert!(stats.reason.contains("mmap") && out == expected, "{}", stats.reason);
}
