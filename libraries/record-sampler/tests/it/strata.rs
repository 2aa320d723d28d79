//! Shares of all records, of strata together, and of outputs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use record_sampler::{Column, ErrorKind, Format, Population, Sampler};

use crate::files::{CSV, file};

/// Rows of three kinds, of which there are as many as given.
fn table(dir: &Path, sizes: [usize; 3]) -> PathBuf {
    let mut rows: Vec<String> = Vec::new();
    for (kind, size) in ["a", "b", "c"].iter().zip(sizes) {
        rows.extend((0..size).map(|i| format!("{kind},{i}\n")));
    }
    rows.sort_by_key(|row| row[2..].to_owned());
    file(dir, "table.csv", format!("kind,i\n{}", rows.concat()))
}

fn open(path: &Path) -> Population {
    Population::open([path], CSV).unwrap().with_header()
}

fn kinds<R: AsRef<[u8]>>(records: impl IntoIterator<Item = R>) -> [usize; 3] {
    let mut counts = [0; 3];
    for record in records {
        counts[usize::from(record.as_ref()[0] - b'a')] += 1;
    }
    counts
}

#[test]
fn a_share_of_all_is_a_whole_number_of_records() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path(), [50, 30, 20]);
    for (share, expected) in [(0.0, 0), (0.1, 10), (0.999, 100), (1.0, 100), (0.304, 30)] {
        let sampler = Sampler::share(share).seed(1);
        for sampler in [sampler.clone(), sampler.clone().shuffled(), sampler.clone().inverted()] {
            let drawn = sampler.records(&mut open(&path)).unwrap().len();
            assert!(drawn == expected || drawn == 100 - expected, "{share}: {drawn}");
        }
        let exactly = Sampler::exactly(expected as u64).seed(1);
        let records = |sampler: &Sampler| sampler.records(&mut open(&path)).unwrap();
        assert_eq!(records(&sampler), records(&exactly));
        let counts = [30, 70];
        assert_eq!(sampler.ranks(&counts).unwrap(), exactly.ranks(&counts).unwrap());
    }
    for (sampler, expected) in [
        (Sampler::share(1.5), "a share must be from 0 to 1"),
        (Sampler::share(0.5).per("kind"), "a share of all records is drawn plainly: of strata"),
        (Sampler::share(0.5).groups("kind"), "a share of all records is drawn plainly"),
        (Sampler::share(0.5).mergeable(), "a sample that can be merged is drawn plainly"),
    ] {
        let error = sampler.records(&mut open(&path)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadRequest);
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let mut stream = Population::stream(&b"a\nb\n"[..], Format::Lines);
    let error = Sampler::share(0.5).records(&mut stream).unwrap_err();
    let text = "a share of all records needs their number: give a file";
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::NeedsFile, text));
}

#[test]
fn strata_share_a_total_in_proportion() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path(), [50, 30, 20]);
    let draw = |sampler: Sampler| sampler.stratified_by("kind").records(&mut open(&path));
    for (n, expected) in [(10, [5, 3, 2]), (100, [50, 30, 20]), (1, [1, 0, 0]), (0, [0; 3])] {
        assert_eq!(kinds(draw(Sampler::exactly(n)).unwrap()), expected);
        assert_eq!(kinds(draw(Sampler::at_most(n)).unwrap()), expected);
    }
    assert_eq!(draw(Sampler::at_most(999)).unwrap().len(), 100);
    let error = draw(Sampler::exactly(101)).unwrap_err();
    assert_eq!(error.to_string(), "101 records were requested, but there are 100");
    assert_eq!(draw(Sampler::probability(0.1)).unwrap(), draw(Sampler::exactly(10)).unwrap());
}

type Outputs = [Vec<Vec<u8>>; 3];

/// The records of each of three outputs, behind the header.
fn split(sampler: &Sampler, path: &Path, shares: [f64; 3]) -> Outputs {
    let mut outputs = [Vec::new(), Vec::new(), Vec::new()];
    let [a, b, c] = &mut outputs;
    let stats = sampler.split(&mut open(path), &shares, &mut [a, b, c]).unwrap();
    let mut stats = stats.iter();
    outputs.map(|text| {
        let mut lines = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec);
        assert_eq!(lines.next().as_deref(), Some(&b"kind,i\n"[..]));
        let records: Vec<Vec<u8>> = lines.collect();
        assert_eq!(stats.next().unwrap().taken, records.len() as u64);
        records
    })
}

fn sorted(outputs: &Outputs) -> Vec<Vec<u8>> {
    let mut all = outputs.concat();
    all.sort_unstable();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn a_split_divides_each_stratum(
        sizes in [0usize..40, 0usize..40, 1usize..40],
        shares in [0.01f64..9.0, 0.01f64..9.0, 0.0f64..9.0],
        seed: u64,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = table(dir.path(), sizes);
        let sampler = Sampler::probability(1.0).seed(seed).stratified_by("kind");
        let outputs = split(&sampler, &path, shares);
        let mut all = Sampler::probability(1.0).records(&mut open(&path)).unwrap();
        all.sort_unstable();
        prop_assert_eq!(sorted(&outputs), all);
        let sum: f64 = shares.iter().sum();
        for (output, share) in outputs.iter().zip(shares) {
            for (count, size) in kinds(output).into_iter().zip(sizes) {
                let exact = size as f64 * share / sum;
                prop_assert!((count as f64 - exact).abs() < 1.0 + 1e-6, "{count} of {exact}");
            }
        }
    }

    #[test]
    fn a_split_in_random_order_has_the_sizes_of_one_in_order(
        sizes in [0usize..40, 0usize..40, 1usize..40],
        shares in [0.01f64..9.0, 0.01f64..9.0, 0.0f64..9.0],
        seed: u64,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = table(dir.path(), sizes);
        let sampler = Sampler::probability(1.0).seed(seed);
        let in_order = split(&sampler, &path, shares);
        for memory in [100, 1 << 20] {
            let shuffled = split(&sampler.clone().shuffled().with_memory(memory), &path, shares);
            prop_assert_eq!(sorted(&shuffled), sorted(&in_order));
            for (one, other) in shuffled.iter().zip(&in_order) {
                prop_assert_eq!(one.len(), other.len());
            }
        }
    }
}

#[test]
fn each_record_goes_to_each_output_as_often_as_its_share_says() {
    const SEEDS: u64 = 3000;
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path(), [1, 2, 5]);
    for sampler in
        [Sampler::probability(1.0).stratified_by("kind"), Sampler::probability(1.0).shuffled()]
    {
        let mut firsts: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for seed in 0..SEEDS {
            let [first, ..] = split(&sampler.clone().seed(seed), &path, [0.25, 0.75, 0.0]);
            for record in first {
                *firsts.entry(record).or_default() += 1;
            }
        }
        assert_eq!(firsts.len(), 8);
        // A standard deviation is 24.
        assert!(firsts.values().all(|count| (650..850).contains(count)), "{firsts:?}");
    }
}

#[test]
fn a_split_with_more_choices_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path(), [1, 1, 1]);
    let all = || Sampler::probability(1.0);
    let column = || Column::Number(1);
    for sampler in [all().shuffled().per(column()), all().inverted(), all().groups(column())] {
        let error = sampler.split(&mut open(&path), &[1.0], &mut [&mut Vec::new()]).unwrap_err();
        let text = "a split takes all records: it goes with strata or a random order, and with no \
                    other choice";
        assert_eq!(error.to_string(), text);
    }
    for (sampler, expected) in [
        (all().shuffled(), "a random order of all outputs needs the number of records: give files"),
        (
            all().per(column()),
            "a share of each stratum needs their sizes: give files that can be read twice",
        ),
    ] {
        let mut stream = Population::stream(&b"a,1\n"[..], CSV);
        let error = sampler.split(&mut stream, &[1.0], &mut [&mut Vec::new()]).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
