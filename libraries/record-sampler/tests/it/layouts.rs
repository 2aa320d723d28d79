//! Formats by name: the records of a naive reader, in every way that a file is read.

use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use record_sampler::{
    Column, ErrorKind, FetchMethod, Format, HeaderRule, Layout, Part, Population, Sampler,
};

use crate::files::file;

/// The header and the records of a text, by the rules of the format in the fewest words.
fn naive(name: &str, text: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let lines = || text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec);
    let behind = |header: usize| (lines().take(header).collect::<Vec<_>>().concat(), header);
    let prefixed = |mark: u8| behind(lines().take_while(|line| line[0] == mark).count());
    let (kind, samples) = name.split_once(':').unwrap_or((name, "0"));
    let (header, skipped) = match kind {
        "vcf" | "gff" | "bed" => prefixed(b'#'),
        "sam" => prefixed(b'@'),
        "hapmap" => behind(1),
        _ => behind(0),
    };
    let lines = lines().skip(skipped);
    match kind {
        "fastq" => (header, lines.collect::<Vec<_>>().chunks(4).map(<[_]>::concat).collect()),
        "fasta" => {
            let mut records: Vec<Vec<u8>> = Vec::new();
            for line in lines {
                match records.last_mut() {
                    Some(last) if line[0] != b'>' => last.extend(line),
                    _ => records.push(line),
                }
            }
            (header, records)
        }
        "plink-bed" if text.is_empty() => (header, Vec::new()),
        "plink-bed" => {
            let bytes = samples.parse::<usize>().unwrap().div_ceil(4);
            (text[..3].to_vec(), text[3..].chunks(bytes).map(<[u8]>::to_vec).collect())
        }
        _ => (header, lines.collect()),
    }
}

/// As `bgzip` compresses: members of gzip of a few bytes, each with its size in a field, and an
/// empty one at the end.
fn bgzf(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for block in text.chunks(50).chain([&b""[..]]) {
        let extra = vec![b'B', b'C', 2, 0, 0, 0];
        let member = flate2::GzBuilder::new().extra(extra);
        let mut member = member.write(Vec::new(), flate2::Compression::fast());
        member.write_all(block).unwrap();
        let mut member = member.finish().unwrap();
        let size = u16::try_from(member.len() - 1).unwrap().to_le_bytes();
        member[16..18].copy_from_slice(&size);
        out.extend(member);
    }
    out
}

fn open(layout: &Layout, path: &Path) -> Population {
    let population = Population::open([path], layout.format).unwrap();
    population.with_header_rule(layout.header.clone())
}

/// Checks that a text is read as its format says.
fn check(name: &str, text: &[u8], n: u64, seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let (path, packed) = (dir.path().join("records"), dir.path().join("records.gz"));
    std::fs::write(&path, text).unwrap();
    std::fs::write(&packed, bgzf(text)).unwrap();
    let layout = Layout::named(name, Some(&path)).unwrap();
    let (header, records) = naive(name, text);
    let stream = || {
        let population = Population::stream(std::io::Cursor::new(text.to_vec()), layout.format);
        population.with_header_rule(layout.header.clone())
    };
    let all = Sampler::at_most(u64::MAX);
    for mut population in [open(&layout, &path), open(&layout, &packed), stream()] {
        let mut out = Vec::new();
        all.write(&mut population, &mut out).unwrap();
        assert_eq!(out, [&header[..], &records.concat()].concat());
    }
    let sampler = Sampler::at_most(n).seed(seed);
    let expected = sampler.records(&mut open(&layout, &path)).unwrap();
    let mut rest = records.iter();
    assert!(expected.iter().all(|record| rest.any(|other| other == record)));
    assert_eq!(expected.len() as u64, n.min(records.len() as u64));
    let mut shuffled = sampler.clone().shuffled().records(&mut open(&layout, &path)).unwrap();
    shuffled.sort_unstable();
    let mut sorted = expected.clone();
    sorted.sort_unstable();
    assert_eq!(shuffled, sorted);
    let mergeable = sampler.clone().mergeable();
    let merged = mergeable.records(&mut open(&layout, &path)).unwrap();
    for mut population in [open(&layout, &packed), stream()] {
        assert_eq!(mergeable.records(&mut population).unwrap(), merged);
    }
    for bytes in [1, 7, 100, 10_000] {
        let parts = open(&layout, &path).parts(bytes).unwrap();
        let sketches = parts.iter().map(|part| sampler.sketch(part).unwrap());
        let whole = sketches.reduce(|one, other| one.merge(other).unwrap()).unwrap();
        assert_eq!(whole.records().unwrap(), merged);
        let counts: Vec<u64> = parts.iter().map(|part| part.count().unwrap()).collect();
        assert_eq!(counts.iter().sum::<u64>(), records.len() as u64);
        let ranks = sampler.ranks(&counts).unwrap();
        let fetched = parts.iter().zip(&ranks).map(|(part, ranks)| part.fetch(ranks).unwrap());
        assert_eq!(fetched.collect::<Vec<_>>().concat(), expected);
        assert_eq!(parts[0].header_bytes().unwrap(), header);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]

    #[test]
    fn lines_behind_a_header(
        header in proptest::collection::vec("[a#@ \"]{0,9}\r?\n", 0..4),
        rows in proptest::collection::vec("[a-c][a-c\t \"]{0,9}\r?\n", 0..30),
        n in 0u64..20,
        seed: u64,
    ) {
        for (name, mark) in [("vcf", "#"), ("gff", "#"), ("bed", "#"), ("sam", "@")] {
            let header = header.iter().fold(String::new(), |text, line| text + mark + line);
            check(name, (header + &rows.concat()).as_bytes(), n, seed);
        }
        let one = header.first().cloned().unwrap_or_else(|| "rs#\n".to_owned());
        check("hapmap", (one + &rows.concat()).as_bytes(), n, seed);
        check("tped", rows.concat().as_bytes(), n, seed);
    }

    #[test]
    fn records_of_several_lines(
        reads in proptest::collection::vec(("@[a-z]{0,5}\r?\n", "[ACGT]{0,9}\r?\n[+]", "[!-~]{9}"), 0..30),
        n in 0u64..20,
        seed: u64,
    ) {
        let read = |(name, bases, qualities): &(String, String, String)| {
            let len = bases.chars().filter(char::is_ascii_uppercase).count();
            format!("{name}{bases}\n{}\n", &qualities[..len])
        };
        let reads: String = reads.iter().map(read).collect();
        check("fastq", reads.as_bytes(), n, seed);
    }

    #[test]
    fn records_that_begin_with_a_mark(
        entries in proptest::collection::vec(">[a-z>]{0,5}\r?\n([ACGT>]{0,2}[ACGT]\n|\n){0,4}", 0..30),
        n in 0u64..20,
        seed: u64,
    ) {
        let text: Vec<String> = entries.iter().map(|entry| entry.replace("\n>", "\n.")).collect();
        check("fasta", text.concat().as_bytes(), n, seed);
    }

    #[test]
    fn variants_of_plink(
        samples in 1u64..20,
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        n in 0u64..20,
        seed: u64,
    ) {
        let whole = bytes.len() as u64 / samples.div_ceil(4) * samples.div_ceil(4);
        let text = [&[0x6c, 0x1b, 0x01], &bytes[..whole as usize]].concat();
        check(&format!("plink-bed:{samples}"), &text, n, seed);
        check(&format!("plink-bed:{samples}"), b"", n, seed);
    }
}

#[test]
fn the_samples_of_a_plink_file_are_counted_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let bed = file(dir.path(), "a.bed", [0x6c, 0x1b, 0x01, 1, 2, 3, 4]);
    let named = || Layout::named("plink-bed", Some(&bed));
    let error = named().unwrap_err();
    let fam = dir.path().join("a.fam");
    let text = "it has the samples of the PLINK file, unless plink-bed:SAMPLES is given";
    assert!(error.to_string().starts_with(&format!("{}: {text}: ", fam.display())), "{error}");
    file(dir.path(), "a.fam", "");
    assert_eq!(named().unwrap_err().to_string(), format!("{}: has no sample", fam.display()));
    file(dir.path(), "a.fam", "f 1 0 0 1 1\nf 2 0 0 1 1\nf 3 0 0 1 1\nf 4 0 0 2 1\nf 5 0 0 2 1");
    let layout = named().unwrap();
    assert_eq!((layout.name.as_str(), layout.format), ("plink-bed:5", Format::Fixed(2)));
    let drawn = Sampler::exactly(2).records(&mut open(&layout, &bed)).unwrap();
    assert_eq!(drawn, [[1, 2], [3, 4]]);
    // With the same seed and number, the lines of the variants are those of the genotypes.
    let names = file(dir.path(), "a.bim", "one\ntwo\n");
    for seed in 0..20 {
        let sampler = Sampler::exactly(1).seed(seed);
        let drawn = sampler.records(&mut open(&layout, &bed)).unwrap();
        let expected = if drawn == [[1, 2]] { "one\n" } else { "two\n" };
        let mut names = Population::open([&names], Format::Lines).unwrap();
        assert_eq!(sampler.records(&mut names).unwrap(), [expected.as_bytes()]);
    }
}

#[test]
fn what_is_not_of_the_format_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text, expected) in [
        (
            "plink-bed:4",
            &b"\x6c\x1b\x00\x01"[..],
            "begins with [6c, 1b, 00] instead of [6c, 1b, 01]",
        ),
        ("plink-bed:4", b"\x6c\x1b", "has 2 bytes, fewer than the 3 of its header"),
        (
            "plink-bed:5",
            b"\x6c\x1b\x01\x01\x02\x03",
            "its size of 6 bytes without its header of 3 is not a multiple of 2: 1 bytes are left \
             at offset 5",
        ),
        (
            "fastq",
            b"@1\nACGT\n+\nFFFF\n@2\nAC\n",
            "the last record has 2 lines instead of 4, it begins at offset 15",
        ),
        ("fasta", b"ACGT\n>a\n", "the record at offset 0 does not begin with >"),
    ] {
        let path = file(dir.path(), "file", text);
        let layout = Layout::named(name, None).unwrap();
        let error = Sampler::exactly(1).records(&mut open(&layout, &path)).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: {expected}", path.display()));
        assert_eq!(error.kind(), ErrorKind::Malformed);
    }
    let path = file(dir.path(), "file", "a\nb\n");
    for (rule, format, kind, expected) in [
        (HeaderRule::Lines(3), Format::Lines, ErrorKind::Malformed, "has 2 lines, fewer than"),
        (HeaderRule::Bytes(1), Format::Lines, ErrorKind::BadRequest, "a header of bytes is for"),
        (HeaderRule::Lines(1), Format::Fixed(1), ErrorKind::BadRequest, "records of fixed size"),
        (HeaderRule::Prefix(String::new()), Format::Lines, ErrorKind::BadRequest, "the prefix of"),
    ] {
        let population = Population::open([&path], format).unwrap();
        let mut population = population.with_header_rule(rule.clone());
        let error = Sampler::exactly(1).records(&mut population).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        let part = Part::new(0, &path, format).with_header_rule(rule);
        assert_eq!(part.count().unwrap_err().kind(), kind);
    }
    let unknown = Layout::named("xml", None).unwrap_err().to_string();
    assert!(unknown.starts_with("unknown format \"xml\", allowed is lines, csv, tsv"), "{unknown}");
}

#[test]
fn columns_of_lines_with_fields_are_found_by_name_or_number() {
    let dir = tempfile::tempdir().unwrap();
    let text = "##x\n#CHROM\tPOS\n1\t\"7\n1\t8\n2\t9\n";
    let path = file(dir.path(), "a.vcf", text);
    let layout = Layout::named("vcf", None).unwrap();
    let records = |sampler: Sampler, header: HeaderRule| {
        let population = Population::open([&path], layout.format).unwrap();
        sampler.records(&mut population.with_header_rule(header))
    };
    let named = records(Sampler::exactly(1).per("CHROM"), layout.header.clone()).unwrap();
    assert_eq!(named.len(), 2);
    let by_number = Sampler::exactly(1).per(Column::Number(1));
    assert_eq!(records(by_number, HeaderRule::Lines(2)).unwrap(), named);
    let text = "there is no column ALT in the header";
    let error = records(Sampler::exactly(1).per("ALT"), layout.header.clone()).unwrap_err();
    assert_eq!(error.to_string(), text);
    // Of files with different headers the first line that differs is named.
    let other = file(dir.path(), "b.vcf", "##x\n#CHROM\tEND\n3\t9\n");
    let population = Population::open([&path, &other], layout.format).unwrap();
    let mut population = population.with_header_rule(layout.header.clone());
    let error = Sampler::exactly(1).records(&mut population).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MixedHeaders);
    assert!(error.to_string().contains(": \"#CHROM\\tEND\" instead of"), "{error}");
    let mut population = population.with_mixed_headers();
    assert_eq!(Sampler::exactly(4).records(&mut population).unwrap().len(), 4);
}

#[test]
fn many_reads_are_fetched_by_several_threads_and_by_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let read = |i: u64| {
        let len = i as usize % 50;
        format!("@{i}\n{}\n+\n{}\n", "A".repeat(len), "F".repeat(len))
    };
    let path = file(dir.path(), "a.fastq", (0..100_000).map(read).collect::<String>());
    let layout = Layout::named("fastq", None).unwrap();
    let sampler = Sampler::exactly(50_000).seed(1);
    let expected = sampler.clone().mergeable().records(&mut open(&layout, &path)).unwrap();
    assert_eq!(expected.len(), 50_000);
    let drawn = sampler.records(&mut open(&layout, &path)).unwrap();
    let numbers = |records: &[Vec<u8>]| -> Vec<u64> {
        let number = |record: &Vec<u8>| {
            let text = std::str::from_utf8(record).unwrap();
            let number = text[1..].lines().next().unwrap().parse().unwrap();
            assert_eq!(text, read(number));
            number
        };
        records.iter().map(number).collect()
    };
    assert!(numbers(&drawn).is_sorted() && numbers(&expected).is_sorted());
    assert_eq!(drawn.len(), 50_000);
    for expected in ["the index was made", "the index is used"] {
        let mut out = Vec::new();
        let stats =
            sampler.clone().with_index().write(&mut open(&layout, &path), &mut out).unwrap();
        assert_eq!((stats.reason.as_str(), stats.seen), (expected, Some(100_000)));
        assert_eq!(out, drawn.concat());
    }
}

#[test]
fn reads_of_more_lines_or_of_other_lengths_are_errors_with_their_line() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::named("fastq", None).unwrap();
    let reads = |odd: &str| {
        let read = |i: u32| if i == 3000 { odd.to_owned() } else { format!("@{i}\nAC\n+\nFF\n") };
        (0..5000).map(read).collect::<String>()
    };
    let four = "a record has four lines, as `seqtk seq FILE` writes them";
    let more = "@r1\nACGT\nTTGC\n+\nIIII\nHHHH\n@r2\nGGCA\nCATT\n+\n@@@@\nJJJJ\n";
    for (text, n, expected) in [
        // Two of them have as many lines as three records, and one of them as no whole record.
        (more.to_owned(), 1, format!("line 3 does not begin with +: {four}")),
        (more[..more.len() / 2].to_owned(), 1, format!("line 3 does not begin with +: {four}")),
        (
            reads("@\nAC\n+\nFFF\n"),
            5000,
            "line 12004 has 3 qualities for the 2 bases of line 12002".to_owned(),
        ),
        (reads("@\nAC\nx\nFF\n"), 5000, format!("line 12003 does not begin with +: {four}")),
        (reads(">\nAC\n+\nFF\n"), 5000, format!("line 12001 does not begin with @: {four}")),
    ] {
        let path = file(dir.path(), "reads", &text);
        let packed = file(dir.path(), "reads.gz", bgzf(text.as_bytes()));
        let stream = || Population::stream(std::io::Cursor::new(text.clone()), layout.format);
        for sampler in [
            Sampler::exactly(n),
            Sampler::exactly(n).shuffled(),
            Sampler::exactly(n).mergeable(),
            Sampler::exactly(n).weighted_with(|_| 1.0),
            Sampler::exactly(n).with_index(),
            Sampler::probability(1.0).by(FetchMethod::Stream),
        ] {
            for mut population in [open(&layout, &path), open(&layout, &packed), stream()] {
                let Err(error) = sampler.records(&mut population) else { panic!("{text:.40}") };
                // Neither a stream nor a compressed file has an index.
                if error.kind() != ErrorKind::BadRequest {
                    assert!(error.to_string().ends_with(&format!(": {expected}")), "{error}");
                    assert_eq!(error.kind(), ErrorKind::Malformed);
                }
            }
        }
        let part = Part::new(0, &path, layout.format);
        let ranks: Vec<u64> = (0..n).collect();
        let error = part.fetch(&ranks).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: {expected}", path.display()));
    }
    // What is not drawn may be odd, but for the first record of a file.
    let path = file(dir.path(), "reads", reads(">\nAC\n+\nFF\n"));
    assert_eq!(Sampler::exactly(0).records(&mut open(&layout, &path)).unwrap().len(), 0);
    let path = file(dir.path(), "reads", more);
    let mut population = open(&layout, &path);
    assert!(Sampler::exactly(0).records(&mut population).is_err());
}
