//! Whole groups: all records of a group or none, each group with the same probability.

use std::collections::{BTreeMap, BTreeSet};

use record_sampler::{Column, ErrorKind, Format, Population, Sampler};

use crate::files::{CSV, file};

/// Rows of `groups` groups, of very different sizes.
fn rows(groups: u64) -> String {
    let row = |i: u64| format!("u{},c{},{i}\n", i * i % groups, i % 2);
    "user,city,id\n".to_owned() + &(0..10 * groups).map(row).collect::<String>()
}

fn by_user(records: &[Vec<u8>]) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in records {
        let text = String::from_utf8(record.clone()).unwrap();
        let user = text.split(',').next().unwrap().to_owned();
        groups.entry(user).or_default().push(text);
    }
    groups
}

#[test]
fn a_group_is_drawn_with_all_its_records_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "rows.csv", rows(101));
    let draw = |sampler: Sampler| {
        let mut population = Population::open([&path], CSV).unwrap().with_header();
        sampler.records(&mut population).unwrap()
    };
    let all = by_user(&draw(Sampler::probability(1.0)));
    for seed in 0..20 {
        for n in [0, 1, 7, 51] {
            let drawn = by_user(&draw(Sampler::exactly(n).groups("user").seed(seed)));
            assert_eq!(drawn.len() as u64, n);
            assert!(drawn.iter().all(|(user, rows)| all[user] == *rows));
        }
        let drawn = by_user(&draw(Sampler::probability(0.3).groups("user").seed(seed)));
        assert!(!drawn.is_empty() && drawn.len() < all.len());
        assert!(drawn.iter().all(|(user, rows)| all[user] == *rows));
    }
    let every = draw(Sampler::probability(1.0).groups("user"));
    assert_eq!(every, draw(Sampler::at_most(u64::MAX).groups(Column::Number(1))));
    assert_eq!(every.len(), 1010);
}

#[test]
fn every_set_of_groups_has_the_same_probability() {
    let text = "a\nb\na\nc\na\nd\ne\n";
    let mut counts: BTreeMap<BTreeSet<u8>, u32> = BTreeMap::new();
    let mut single = [0; 5];
    for seed in 0..10_000 {
        let dir_less = || Population::stream(text.as_bytes(), CSV);
        let records = Sampler::probability(0.25).groups(Column::Number(1)).seed(seed);
        let records = records.records(&mut dir_less()).unwrap();
        for key in records.iter().map(|record| record[0]).collect::<BTreeSet<u8>>() {
            single[usize::from(key - b'a')] += 1;
        }
    }
    // Each with its standard deviation of 43.
    assert!(single.iter().all(|n| (2500i32 - n).abs() < 220), "{single:?}");
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "few", text);
    for seed in 0..10_000 {
        let mut population = Population::open([&path], CSV).unwrap();
        let sampler = Sampler::exactly(2).groups(Column::Number(1)).seed(seed);
        let records = sampler.records(&mut population).unwrap();
        *counts.entry(records.iter().map(|record| record[0]).collect()).or_default() += 1;
    }
    let chi: f64 = counts.values().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
    // 9 degrees of freedom: beyond this once in 10⁶.
    assert!(counts.len() == 10 && chi < 46.0, "{chi} {counts:?}");
}

#[test]
fn what_is_no_sample_of_groups_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "rows.csv", rows(3));
    let check = |sampler: Sampler, kind, expected: &str| {
        let mut population = Population::open([&path], CSV).unwrap().with_header();
        let error = sampler.records(&mut population).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, expected));
    };
    let bad = ErrorKind::BadRequest;
    let groups = || Sampler::exactly(1).groups("user");
    let together =
        "weights, strata, groups, replacement, inversion and systematic samples do not go together";
    check(groups().per("city"), bad, together);
    check(groups().inverted(), bad, together);
    let text = "whole groups are written in the order of the files, in one process";
    check(groups().shuffled(), bad, text);
    check(groups().mergeable(), bad, text);
    let text = "4 groups by user were requested, but there are 2";
    check(Sampler::exactly(4).groups("user"), ErrorKind::TooFew, text);
    check(groups().groups("no"), ErrorKind::BadColumn, "there is no column no in the header");
    let mut stream = Population::stream(&b"{\"a\":1}\n"[..], Format::JsonLines);
    let error = Sampler::exactly(1).groups("a").records(&mut stream).unwrap_err();
    let text = "a number of groups takes two passes: give files, or a probability";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_key_may_have_several_columns() {
    let dir = tempfile::tempdir().unwrap();
    let several =
        |names: &[&str]| Column::Several(names.iter().map(|name| (*name).into()).collect());
    let table = file(dir.path(), "rows.csv", "a,b\nx,y\n\"x\"\"\",\"\"\nx,y\ny,x\n");
    let json = "{\"a\":\"x\",\"b\":1}\n{\"b\":1,\"a\":\"x\"}\n{\"a\":\"x\",\"b\":\"\"}\n";
    let json = file(dir.path(), "rows.json", json);
    for (path, format, groups) in [(&table, CSV, 3), (&json, Format::JsonLines, 2)] {
        let population = || {
            let population = Population::open([path], format).unwrap();
            if format == CSV { population.with_header() } else { population }
        };
        let draw = |sampler: Sampler| sampler.records(&mut population()).unwrap().len();
        assert_eq!(draw(Sampler::at_most(1).per(several(&["a", "b"]))), groups);
        assert_eq!(draw(Sampler::at_most(1).per(several(&["a", "b"])).mergeable()), groups);
        let groups = groups as u64;
        draw(Sampler::exactly(groups).groups(several(&["a", "b"])));
        let sampler = Sampler::exactly(groups + 1).groups(several(&["a", "b"]));
        let error = sampler.records(&mut population()).unwrap_err().to_string();
        assert!(error.contains(" groups by a and b were requested, but there are "), "{error}");
    }
    let mut population = Population::open([&table], CSV).unwrap().with_header();
    let error = Sampler::exactly(2).per(several(&["a", "b"])).records(&mut population).unwrap_err();
    let text =
        "2 records of each a and b were requested, but \"[\\\"x\\\\\\\"\\\",\\\"\\\"]\" has 1";
    assert_eq!(error.to_string(), text);
}
