//! Sketches of parts: the same sample for every partitioning and order of merging, and a fair one.

use std::path::PathBuf;
use std::slice::from_ref;

use proptest::prelude::*;
use record_sampler::{ErrorKind, FetchMethod, Format, Part, Population, Rng, Sampler, Sketch};

use crate::files::{CSV, file};

/// Merges two random sketches until one is left.
fn merged(mut sketches: Vec<Sketch>, seed: u64) -> record_sampler::Result<Sketch> {
    let mut rng = Rng::new(seed);
    while sketches.len() > 1 {
        let one = sketches.swap_remove(rng.below(sketches.len() as u64) as usize);
        let other = sketches.swap_remove(rng.below(sketches.len() as u64) as usize);
        sketches.push(one.merge(Sketch::from_bytes(&other.to_bytes())?)?);
    }
    Ok(sketches.pop().unwrap())
}

fn sketch(sampler: &Sampler, parts: &[Part], seed: u64) -> record_sampler::Result<Sketch> {
    let sketches = parts.iter().map(|part| sampler.sketch(part));
    merged(sketches.collect::<record_sampler::Result<_>>()?, seed)
}

fn population(paths: &[PathBuf], format: Format, has_header: bool) -> Population {
    let population = Population::open(paths, format).unwrap();
    if has_header { population.with_header() } else { population }
}

/// Checks that every partitioning gives what the sampler draws from all files in one pass.
fn check(sampler: &Sampler, paths: &[PathBuf], format: Format, has_header: bool, seed: u64) {
    let all = || population(paths, format, has_header);
    let mut expected = Vec::new();
    let stats = sampler.clone().mergeable().write(&mut all(), &mut expected).unwrap();
    let mut digests = Vec::new();
    for bytes in [1, 2, 3, 7, 50, 1 << 20] {
        let sketch = sketch(sampler, &all().parts(bytes).unwrap(), seed ^ bytes).unwrap();
        let mut out = Vec::new();
        let taken = sketch.write(&mut out).unwrap();
        assert_eq!((Some(sketch.seen()), taken), (stats.seen, stats.taken), "{bytes}");
        assert!(out == expected, "parts of {bytes} bytes");
        digests.push(sketch.to_bytes());
    }
    assert!(digests.windows(2).all(|two| two[0] == two[1]));
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop_oneof!["a{0,3}", "\n", "\r\n", "[b-z]{1,40}\n"], 0..12)
        .prop_map(|parts| parts.concat())
}

fn files(dir: &std::path::Path, texts: &[String]) -> Vec<PathBuf> {
    (0..).zip(texts).map(|(i, text)| file(dir, &format!("{i}"), text)).collect()
}

#[test]
fn a_reader_gives_parts_of_lines_only() {
    let csv = Part::new(0, "x", Format::Csv { delimiter: b',' });
    let lines = Part::new(0, "x", Format::Lines);
    assert_eq!(csv.count_stream(&b"a\nb"[..]).unwrap(), 2);
    for part in [csv.range(0, 2), lines.clone().with_header().range(0, 2)] {
        let error = part.count_stream(&b"a\nb"[..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadRequest, "{error}");
    }
    // A reader that ends before the part has no records.
    assert_eq!(lines.range(9, 20).count_stream(&b"\n"[..]).unwrap(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_part_that_a_reader_gives_is_that_of_the_file(
        text in text(), bytes in 1..40u64, seed in any::<u64>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), "a", &text);
        let sampler = Sampler::at_most(3).seed(seed);
        for part in Population::open([&path], Format::Lines).unwrap().parts(bytes).unwrap() {
            let rest = &text.as_bytes()[part.from.saturating_sub(2) as usize..];
            let reader = || std::io::Cursor::new(rest.to_vec());
            let sketch = sampler.sketch_stream(&part, reader()).unwrap();
            prop_assert_eq!(sketch.to_bytes(), sampler.sketch(&part).unwrap().to_bytes());
            let count = part.count().unwrap();
            prop_assert_eq!(part.count_stream(reader()).unwrap(), count);
            let ranks: Vec<u64> = (0..count).collect();
            let fetched = part.fetch_stream(&ranks, reader()).unwrap();
            prop_assert_eq!(fetched, part.fetch(&ranks).unwrap());
        }
    }

    #[test]
    fn every_partitioning_of_text_gives_the_same_sample(
        texts in proptest::collection::vec(text(), 1..4),
        n in 0u64..20,
        seed: u64,
        has_header: bool,
        has_bom: bool,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut texts = texts;
        if has_header {
            for text in &mut texts {
                *text = format!("head\n{text}");
            }
        }
        if has_bom {
            texts[0].insert(0, '\u{feff}');
        }
        let paths = files(dir.path(), &texts);
        let sampler = Sampler::at_most(n).seed(seed);
        check(&sampler, &paths, CSV, has_header, seed);
        check(&sampler, &paths, Format::JsonLines, has_header, seed);
        // A header of lines would have the mark of the first file alone.
        if !(has_bom && has_header) {
            check(&sampler, &paths, Format::Lines, has_header, seed);
        }
        check(&sampler, &paths, Format::Fixed(1), false, seed);
    }

    /// CSV may be divided by those who know that it has no line breaks in quotes: it is an error if
    /// they are wrong.
    #[test]
    fn divided_csv_gives_the_same_sample_or_an_error(
        parts in proptest::collection::vec(
            prop_oneof![4 => "[ab,]{1,9}\n", 1 => "\r?\n", 1 => "\"[a\n,]{0,5}\",x\r\n"], 0..9,
        ),
        cuts in proptest::collection::vec(0u64..60, 1..4),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), "table", parts.concat());
        let whole = Part::new(0, &path, CSV);
        let sampler = Sampler::at_most(3);
        let mut cuts = cuts;
        cuts.sort_unstable();
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([u64::MAX]);
        let divided: Vec<Part> =
            starts.zip(ends).map(|(from, to)| whole.clone().range(from, to)).collect();
        let is_broken = |part: &String| part.starts_with('"') && part.matches('\n').count() > 1;
        let size = parts.concat().len() as u64;
        let is_divided = !divided.iter().any(|part| part.from == 0 && part.to >= size);
        let has_break = is_divided && parts.iter().any(is_broken);
        match sketch(&sampler, &divided, 1) {
            Ok(sketch) => {
                prop_assert!(!has_break);
                prop_assert_eq!(sketch.to_bytes(), sampler.sketch(&whole).unwrap().to_bytes());
                let counts: u64 = divided.iter().map(|part| part.count().unwrap()).sum();
                prop_assert_eq!(counts, whole.count().unwrap());
            }
            Err(error) => {
                prop_assert!(has_break, "{}", error);
                prop_assert!(divided.iter().any(|part| part.count().is_err()));
            }
        }
    }
}

#[test]
fn weights_and_strata_of_parts_are_those_of_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let row = |i: u64| format!("{{\"w\": {}, \"kind\": \"k{}\"}}\n", i % 7, i % 3);
    let texts = [0..40, 40..40, 40..90].map(|rows| rows.map(row).collect::<String>() + "\n \n");
    let paths = files(dir.path(), &texts);
    for sampler in [
        Sampler::exactly(9).weighted_by("w"),
        Sampler::exactly(4).per("kind"),
        Sampler::at_most(1000).per("kind"),
        Sampler::exactly(10).stratified_by("kind"),
        Sampler::at_most(1000).stratified_by("kind"),
    ] {
        check(&sampler.seed(3), &paths, Format::JsonLines, false, 5);
    }
    let paths: Vec<PathBuf> = (0..3)
        .map(|i| {
            file(dir.path(), &format!("{i}.csv"), "id,w\n".to_owned() + &"a,1\nb,2\n".repeat(i))
        })
        .collect();
    check(&Sampler::exactly(2).weighted_by("w"), &paths, CSV, true, 5);
    check(&Sampler::exactly(2).per("id"), &paths, CSV, true, 5);
    check(&Sampler::exactly(3).stratified_by("id"), &paths, CSV, true, 5);
}

/// How often each of `cells` cells is hit must follow these probabilities. Beyond the limit, for as
/// many degrees of freedom as cells, once in about 10⁶ (Wilson and Hilferty, 1931).
fn check_chi_square(counts: &[u32], probabilities: &[f64]) {
    let total: u32 = counts.iter().sum();
    let chi: f64 = counts
        .iter()
        .zip(probabilities)
        .map(|(count, p)| {
            (f64::from(*count) - p * f64::from(total)).powi(2) / (p * f64::from(total))
        })
        .sum();
    let k = counts.len() as f64 - 1.0;
    let z = ((chi / k).cbrt() - (1.0 - 2.0 / (9.0 * k))) / (2.0 / (9.0 * k)).sqrt();
    assert!(z.abs() < 4.9, "{z}: {counts:?}");
}

/// Draws from `records` lines of "w" in parts, for many seeds; returns how often each set of lines
/// was drawn, as bits.
fn sets(sampler: impl Fn(u64) -> Sampler, text: &str, format: Format, seeds: u64) -> Vec<u32> {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "few", text);
    let part = |from, to| Part::new(0, &path, format).range(from, to);
    let parts = [part(0, 7), part(7, 8), part(8, u64::MAX)];
    let lines: Vec<&str> = text.lines().collect();
    let mut counts = vec![0; 1 << lines.len()];
    for seed in 0..seeds {
        let sketch = sketch(&sampler(seed), &parts, seed).unwrap();
        let place = |record: &&[u8]| {
            let line = std::str::from_utf8(record).unwrap().trim_end();
            lines.iter().position(|other| *other == line).unwrap()
        };
        let set: usize = sketch.records().unwrap().iter().map(|record| 1 << place(record)).sum();
        counts[set] += 1;
    }
    counts
}

#[test]
fn each_set_of_records_has_the_same_probability() {
    let text = "a\nb\nc\nd\ne\nf\ng\n";
    let counts = sets(|seed| Sampler::exactly(3).seed(seed), text, Format::Lines, 10_000);
    let (of_three, others): (Vec<usize>, Vec<usize>) =
        (0..counts.len()).partition(|set| set.count_ones() == 3);
    assert!(others.iter().all(|set| counts[*set] == 0));
    let counts: Vec<u32> = of_three.iter().map(|set| counts[*set]).collect();
    check_chi_square(&counts, &[1.0 / 35.0; 35]);
}

#[test]
fn weights_are_those_of_drawing_one_after_the_other() {
    let weights = [1.0, 4.0, 0.0, 2.0, 3.0];
    let text = "{\"w\":1}\n{\"w\":4}\n{\"w\":0}\n{\"w\":2}\n{\"w\":3}\n";
    let sampler = |seed| Sampler::exactly(2).weighted_by("w").seed(seed);
    let counts = sets(sampler, text, Format::JsonLines, 10_000);
    let (mut seen, mut probabilities) = (Vec::new(), Vec::new());
    for one in 0..5 {
        for other in one + 1..5 {
            let first = |a: usize, b: usize| weights[a] / 10.0 * weights[b] / (10.0 - weights[a]);
            let (p, count) = (first(one, other) + first(other, one), counts[1 << one | 1 << other]);
            if p > 0.0 {
                seen.push(count);
                probabilities.push(p);
            }
        }
    }
    assert_eq!(seen.iter().sum::<u32>(), 10_000);
    check_chi_square(&seen, &probabilities);
}

/// A file that is listed twice is two populations: what is drawn of one says nothing of the other.
#[test]
fn two_listings_of_a_file_are_independent() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "few", "0\n1\n2\n3\n4\n");
    let drawn = |seed, number| {
        let sampler = Sampler::exactly(1).seed(seed);
        let sketch = sampler.sketch(&Part::new(number, &path, Format::Lines)).unwrap();
        usize::from(sketch.records().unwrap()[0][0] - b'0')
    };
    let mut counts = [0; 25];
    for seed in 0..8000 {
        counts[5 * drawn(seed, 0) + drawn(seed, 1)] += 1;
    }
    check_chi_square(&counts, &[1.0 / 25.0; 25]);
}

#[test]
fn what_cannot_be_merged_or_divided_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), "lines", "a\nb\n");
    let part = Part::new(0, &path, Format::Lines);
    let one = || Sampler::exactly(1);
    for (sampler, expected) in [
        (Sampler::probability(0.5), "has a number of records, not a probability"),
        (one().with_replacement(), "is drawn plainly, by weight or per stratum"),
        (one().inverted(), "is drawn plainly"),
        (one().systematic(), "is drawn plainly"),
        (one().weighted_with(|_| 1.0), "only if their weights are a column"),
        (one().with_index(), "in one pass, without an index"),
        (one().by(FetchMethod::Mmap), "in one pass, without an index"),
    ] {
        let error = sampler.sketch(&part).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadRequest);
        assert!(error.to_string().contains(expected), "{error}");
        let mut population = population(from_ref(&path), Format::Lines, false);
        let written = sampler.mergeable().records(&mut population).unwrap_err();
        assert_eq!(written.to_string(), error.to_string());
    }
    let stream = Population::stream(&b"a\n"[..], Format::Lines);
    assert_eq!(stream.parts(9).unwrap_err().to_string(), "-: only files have parts");
    let all = population(from_ref(&path), Format::Lines, false);
    let text = "a part must have at least 1 byte";
    assert_eq!(all.parts(0).unwrap_err().to_string(), text);
    let mixed = all.with_mixed_headers().parts(9).unwrap_err();
    assert_eq!(mixed.kind(), ErrorKind::BadRequest);

    let quoted = file(dir.path(), "quoted", "x\n\"a\nb\",1\n");
    let error = one().sketch(&Part::new(0, &quoted, CSV).range(0, 5)).unwrap_err();
    let text = format!(
        "{}: the record at offset 2: has a line break in quotes: the file must be one part",
        quoted.display()
    );
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Malformed, text));
    let json = file(dir.path(), "json", "{\"w\":1}\n{\"w\":-1}\n");
    let error = one().weighted_by("w").sketch(&Part::new(0, &json, Format::JsonLines)).unwrap_err();
    let text = "the record at offset 8: a weight of -1: it must be 0 or more, and finite";
    assert_eq!(error.to_string(), format!("{}: {text}", json.display()));
}

#[test]
fn files_with_different_headers_are_not_divided() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["", "a,b\n1,2\n", "\"a\",b\r\n", "a,c\n3,4\n"];
    let paths: Vec<PathBuf> = (0..)
        .zip(paths)
        .map(|(number, text)| file(dir.path(), &format!("{number}.csv"), text))
        .collect();
    assert_eq!(population(&paths[..3], CSV, true).parts(100).unwrap().len(), 3);
    let error = population(&paths, CSV, true).parts(100).unwrap_err();
    let [first, other] = [&paths[1], &paths[3]].map(|path| path.display().to_string());
    let text = format!(
        "{other}: its header differs in column 2 from that of {first}: \"c\" instead of \"b\""
    );
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::MixedHeaders, text));
    assert_eq!(population(&paths, CSV, false).parts(100).unwrap().len(), 4);
}

#[cfg(feature = "decode")]
#[test]
fn a_compressed_file_is_one_part() {
    let dir = tempfile::tempdir().unwrap();
    let text: String = (0..200).fold(String::new(), |text, i| text + &format!("line {i}\n"));
    let path = file(dir.path(), "lines.zst", zstd::encode_all(text.as_bytes(), 3).unwrap());
    let whole = Part::new(0, &path, Format::Lines);
    assert_eq!(
        population(from_ref(&path), Format::Lines, false).parts(10).unwrap(),
        from_ref(&whole)
    );
    check(&Sampler::exactly(5), from_ref(&path), Format::Lines, false, 1);
    // The sample is that of the text.
    let plain = Part::new(0, file(dir.path(), "lines", &text), Format::Lines);
    let sampler = Sampler::exactly(5);
    let [one, other] = [&whole, &plain].map(|part| sampler.sketch(part).unwrap().to_bytes());
    assert!(one == other);
    assert_eq!(
        (whole.count().unwrap(), whole.fetch(&[7]).unwrap()),
        (200, vec![b"line 7\n".to_vec()])
    );
    let error = sampler.sketch(&whole.range(0, 100)).unwrap_err();
    let text = "a compressed file or stream is one part: from 0 to the end";
    assert_eq!(error.to_string(), format!("{}: {text}", path.display()));
}

#[test]
fn samplers_sketches_and_parts_go_to_other_threads() {
    fn goes<T: Send + Sync + Clone + 'static>(_: &T) {}
    let part = Part::new(0, "Cargo.toml", Format::Lines);
    let sampler = Sampler::exactly(3).weighted_with(|line| line.len() as f64);
    goes(&sampler);
    goes(&part);
    let sampler = Sampler::exactly(3);
    let sketch = sampler.sketch(&part).unwrap();
    goes(&sketch);
    let other = std::thread::spawn(move || sampler.clone().sketch(&part).unwrap());
    assert_eq!(other.join().unwrap().to_bytes(), sketch.to_bytes());
}
