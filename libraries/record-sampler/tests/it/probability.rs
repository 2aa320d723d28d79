//! Records with the probabilities with which they are in the sample: the estimates of totals that
//! they give are without bias.

use std::path::Path;

use record_sampler::{ErrorKind, Format, HeaderRule, Part, Population, Sampler};

use crate::files::{CSV, file};

/// Records with a group and a value: of the group `i % 7`, some of which have more records.
fn rows() -> Vec<(u64, u64)> {
    (0..400u64).map(|i| (i * i % 7 * (i % 3), i % 50 + 1)).collect()
}

fn table(dir: &Path) -> std::path::PathBuf {
    let text = "group,value\n".to_owned();
    let text =
        rows().iter().fold(text, |text, (group, value)| text + &format!("{group},{value}\n"));
    file(dir, "table.csv", text)
}

/// The groups, values and probabilities of a sample.
fn drawn(sampler: &Sampler, population: &mut Population) -> Vec<(u64, u64, f64)> {
    let mut out = Vec::new();
    sampler.write(population, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("group,value,inclusion_probability"));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [group, value, probability] = fields.try_into().unwrap();
        (group.parse().unwrap(), value.parse().unwrap(), probability.parse().unwrap())
    };
    lines.map(row).collect()
}

fn count(drawn: &[(u64, u64, f64)]) -> f64 {
    drawn.iter().map(|(.., probability)| 1.0 / probability).sum()
}

fn total(drawn: &[(u64, u64, f64)]) -> f64 {
    drawn.iter().map(|(_, value, probability)| *value as f64 / probability).sum()
}

#[test]
fn the_number_of_all_records_is_estimated_exactly_where_each_stands_for_as_many() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path());
    let open = || Population::open([&path], CSV).unwrap().with_header();
    let stream = || Population::stream(std::fs::File::open(&path).unwrap(), CSV).with_header();
    for sampler in [
        Sampler::exactly(30),
        Sampler::exactly(30).shuffled(),
        Sampler::exactly(30).systematic(),
        Sampler::exactly(370).inverted(),
        Sampler::exactly(30).mergeable(),
        Sampler::exactly(5).per("group"),
        Sampler::probability(0.2).per("group"),
        Sampler::exactly(30).stratified_by("group"),
        Sampler::exactly(5).per("group").mergeable(),
        Sampler::at_most(1000),
    ] {
        let sampler = sampler.with_probability();
        let all = drawn(&sampler, &mut open());
        let estimate = count(&all);
        assert!((estimate - 400.0).abs() < 1e-6, "{estimate}");
    }
    for sampler in [Sampler::exactly(30), Sampler::exactly(5).per("group")] {
        let estimate = count(&drawn(&sampler.with_probability(), &mut stream()));
        assert!((estimate - 400.0).abs() < 1e-6, "{estimate}");
    }
}

#[test]
fn totals_are_estimated_without_bias() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path());
    let expected: u64 = rows().iter().map(|(_, value)| value).sum();
    for sampler in [
        Sampler::exactly(30),
        Sampler::probability(0.1),
        Sampler::probability(0.9).inverted(),
        Sampler::exactly(3).per("group"),
        Sampler::exactly(11).stratified_by("group"),
        Sampler::probability(0.03).per("group"),
        Sampler::exactly(3).groups("group"),
        Sampler::probability(0.3).groups("group"),
        Sampler::exactly(30).mergeable(),
    ] {
        const SEEDS: u64 = 400;
        let estimates = (0..SEEDS).map(|seed| {
            let sampler = sampler.clone().seed(seed).with_probability();
            let mut population = Population::open([&path], CSV).unwrap().with_header();
            total(&drawn(&sampler, &mut population))
        });
        let estimates: Vec<f64> = estimates.collect();
        let mean = estimates.iter().sum::<f64>() / SEEDS as f64;
        let variance = estimates.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / SEEDS as f64;
        let z = (mean - expected as f64) / (variance / SEEDS as f64).sqrt();
        // The seeds are fixed, so this passes always or never.
        assert!(z.abs() < 4.0, "{mean} instead of {expected}: {z}");
    }
}

#[test]
fn a_probability_is_a_column_or_a_member_or_behind_a_tab() {
    let dir = tempfile::tempdir().unwrap();
    let check = |text: &str, format, rule: HeaderRule, expected: &str| {
        let path = file(dir.path(), "file", text);
        let population = Population::open([&path], format).unwrap();
        let mut out = Vec::new();
        let sampler = Sampler::at_most(9).with_probability();
        sampler.write(&mut population.with_header_rule(rule), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    };
    let none = || HeaderRule::None;
    check("a\r\nb", Format::Lines, none(), "a\t1\r\nb\t1\r\n");
    check("h\na\n", Format::Lines, HeaderRule::Record, "h\tinclusion_probability\na\t1\n");
    check("\"x\ny\",2\n", CSV, none(), "\"x\ny\",2,1\n");
    let name = "\"inclusion_probability\":1";
    check(
        "{ } \n{\"a\":[1] }",
        Format::JsonLines,
        none(),
        &format!("{{{name}}} \n{{\"a\":[1],{name}}}\n"),
    );
}

#[test]
fn a_probability_that_is_not_known_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path());
    let known = "records drawn by weight or with replacement have no probability that is known";
    for (sampler, format, expected) in [
        (Sampler::exactly(1).weighted_by("value"), CSV, known),
        (Sampler::exactly(1).with_replacement(), CSV, known),
        (
            Sampler::exactly(1).per("group").shuffled(),
            CSV,
            "the probabilities of strata are added in the order of the files",
        ),
        (
            Sampler::exactly(1),
            Format::Separated { separator: 0 },
            "probabilities are added to CSV, JSON Lines and lines",
        ),
    ] {
        let mut population = Population::open([&path], format).unwrap().with_header();
        let error = sampler.with_probability().records(&mut population).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::BadRequest, expected.to_owned()));
    }
    let sampler = Sampler::exactly(1).with_probability();
    let expected = "parts do not know all records, and so no probability of one";
    let sketch = sampler.sketch(&Part::new(0, &path, CSV));
    assert_eq!(sketch.unwrap_err().to_string(), expected);
    assert_eq!(sampler.ranks(&[5]).unwrap_err().to_string(), expected);
    let path = file(dir.path(), "lines.jsonl", "{}\n[]\n");
    let mut population = Population::open([&path], Format::JsonLines).unwrap();
    let error = Sampler::at_most(9).with_probability().records(&mut population).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
}
