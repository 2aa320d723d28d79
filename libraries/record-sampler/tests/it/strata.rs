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
    for (n, expected) in [(10, [5, 3, 2]), (100, [50, 30, 20]), (0, [0; 3])] {
        assert_eq!(kinds(draw(Sampler::exactly(n)).unwrap()), expected);
        assert_eq!(kinds(draw(Sampler::at_most(n)).unwrap()), expected);
    }
    for seed in 0..20 {
        let [a, b, c] = kinds(draw(Sampler::exactly(7).seed(seed)).unwrap());
        // Of 3.5, 2.1 and 1.4.
        assert!([3, 4].contains(&a) && [2, 3].contains(&b) && [1, 2].contains(&c));
        assert_eq!(a + b + c, 7);
    }
    assert_eq!(draw(Sampler::at_most(999)).unwrap().len(), 100);
    let error = draw(Sampler::exactly(101)).unwrap_err();
    assert_eq!(error.to_string(), "101 records were requested, but there are 100");
    assert_eq!(draw(Sampler::probability(0.1)).unwrap(), draw(Sampler::exactly(10)).unwrap());
}

#[test]
fn each_record_of_small_strata_has_its_probability() {
    const SEEDS: u64 = 2000;
    let dir = tempfile::tempdir().unwrap();
    let rows = (0..10).flat_map(|key| (0..3).map(move |i| format!("k{key},{i}\n")));
    let path = file(dir.path(), "strata.csv", "k,i\n".to_owned() + &rows.collect::<String>());
    for (sampler, sizes) in [
        (Sampler::probability(0.1).per("k"), [3, 4]),
        (Sampler::probability(0.1).stratified_by("k"), [3, 4]),
        (Sampler::exactly(3).stratified_by("k"), [3, 3]),
    ] {
        let sampler = sampler.with_probability();
        let mut counts: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for seed in 0..SEEDS {
            let records = sampler.clone().seed(seed).records(&mut open(&path)).unwrap();
            assert!(sizes.contains(&records.len()), "{}", records.len());
            for record in records {
                *counts.entry(record).or_default() += 1;
            }
        }
        assert_eq!(counts.len(), 30);
        assert!(counts.keys().all(|record| record.ends_with(b",0.1\n")), "{counts:?}");
        // A standard deviation is 13.4.
        assert!(counts.values().all(|count| (135..265).contains(count)), "{counts:?}");
    }
}

#[test]
fn a_share_of_strata_of_different_sizes_favours_none() {
    const SEEDS: u64 = 2000;
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path(), [2, 3, 1]);
    let mut sums = [0; 3];
    for seed in 0..SEEDS {
        let sampler = Sampler::probability(0.5).per("kind").seed(seed);
        let drawn = kinds(sampler.records(&mut open(&path)).unwrap());
        sums.iter_mut().zip(drawn).for_each(|(sum, n)| *sum += n);
    }
    // Half of two is one; of the others a standard deviation is 22.4.
    assert_eq!(sums[0], 2000);
    assert!((2880..3120).contains(&sums[1]) && (880..1120).contains(&sums[2]), "{sums:?}");
}

#[test]
fn strata_of_a_stream_share_a_total_as_those_of_merged_parts_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path(), [50, 30, 20]);
    let stream = || Population::stream(std::fs::File::open(&path).unwrap(), CSV).with_header();
    for n in [0, 1, 7, 10, 100] {
        let sampler = Sampler::exactly(n).stratified_by("kind").seed(n);
        let drawn = sampler.records(&mut stream()).unwrap();
        assert_eq!(drawn.len() as u64, n);
        assert_eq!(drawn, sampler.mergeable().records(&mut open(&path)).unwrap());
    }
    let ten = Sampler::exactly(10).stratified_by("kind").with_probability();
    let drawn = ten.records(&mut stream()).unwrap();
    assert_eq!(kinds(&drawn), [5, 3, 2]);
    assert!(drawn.iter().all(|record| record.ends_with(b",0.1\n")));
    let refused = |sampler: Sampler| {
        sampler.stratified_by("kind").records(&mut stream()).unwrap_err().to_string()
    };
    let text = "101 records were requested, but there are 100";
    assert_eq!(refused(Sampler::exactly(101)), text);
    let text = "a share of each stratum needs their sizes: give files that can be read twice";
    assert_eq!(refused(Sampler::probability(0.1)), text);
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
