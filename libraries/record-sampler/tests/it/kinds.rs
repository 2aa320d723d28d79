//! What files are: by their names, by their first bytes, or as the caller says; the same for plain
//! files, compressed ones and streams. And what is not text.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use record_sampler::{ErrorKind, Format, FoundBy, HeaderRule, Layout, LayoutChoice, Sampler};

use crate::files::file;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Gives a byte at a time.
struct ByBytes(Cursor<Vec<u8>>);

impl Read for ByBytes {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let len = buffer.len().min(1);
        self.0.read(&mut buffer[..len])
    }
}

fn stream(name: &str, text: &[u8]) -> [(PathBuf, Box<dyn Read + Send>); 1] {
    [(name.into(), Box::new(ByBytes(Cursor::new(text.to_vec()))))]
}

/// The text as files with this name, plain and compressed, and as a stream with it.
fn opened(
    choice: &LayoutChoice,
    dir: &Path,
    name: &str,
    text: &[u8],
) -> [record_sampler::Result<(record_sampler::Population, Layout)>; 5] {
    let zstd = zstd::encode_all(text, 1).unwrap();
    [
        choice.open([file(dir, name, text)]),
        choice.open([file(dir, &format!("{name}.gz"), gzip(text))]),
        choice.open([file(dir, &format!("{name}.zst"), zstd)]),
        choice.open_streams(stream(name, text)),
        choice.open_streams(stream(&format!("https://host/{name}.gz?a=b.csv"), &gzip(text))),
    ]
}

const READS: &str = "@1\nAC\n+\nFF\n@2\nG\n+\nF\n";

#[test]
fn the_ending_of_a_name_shows_the_records_and_the_header() {
    let dir = tempfile::tempdir().unwrap();
    let bed = "browser hide all\ntrack name=x\n#c\nchr1\t1\t2\nchr1\t3\t4\n";
    for (name, text, kind, records) in [
        ("a.csv", "id,note\n1,\"a\nb\"\n2,\n", "csv", 2),
        ("A.CSV", "id,note\n1,\"a\nb\"\n2,\n", "csv", 2),
        ("a.tsv", "id\tnote\n1\t\"a\nb\"\n2\t;\n", "tsv", 2),
        ("a.jsonl", "{\"a\":1}\n{}\n", "jsonl", 2),
        ("a.ndjson", "{\"a\":1}\n{}\n", "jsonl", 2),
        ("a.vcf", "##fileformat=VCFv4.2\n#CHROM\n1\n2\n3\n", "vcf", 3),
        ("a.sam", "@HD\tVN:1.6\nread\t4\n", "sam", 1),
        ("a.tped", "1 rs1 0 1\n", "tped", 1),
        ("a.hmp.txt", "rs#\talleles\nrs1\tA/C\n", "hapmap", 1),
        ("a.fastq", READS, "fastq", 2),
        ("a.fq", READS, "fastq", 2),
        ("a.fa", ">a\nAC\nGT\n>b\nA\n", "fasta", 2),
        ("a.bed", bed, "bed", 2),
        ("a.gff3", "##gff-version 3\n#!x\nchr1\t.\tgene\n", "gff", 1),
        ("a.txt", "id,note\n1,\"a\nb\"\n", "lines", 3),
        ("a", "@1\nAC\n", "lines", 2),
    ] {
        for opened in opened(&LayoutChoice::default(), dir.path(), name, text.as_bytes()) {
            let (mut population, layout) = opened.unwrap();
            assert_eq!((layout.name.as_str(), &layout.note), (kind, &None), "{name}");
            let mut out = Vec::new();
            let stats = Sampler::probability(1.0).write(&mut population, &mut out).unwrap();
            assert_eq!((stats.seen, out.as_slice()), (Some(records), text.as_bytes()), "{name}");
        }
        // What the caller says counts.
        let lines = text.lines().count();
        for opened in opened(&LayoutChoice::named("lines"), dir.path(), name, text.as_bytes()) {
            let records = Sampler::probability(1.0).records(&mut opened.unwrap().0).unwrap();
            assert_eq!(records.len(), lines, "{name}");
        }
    }
}

#[test]
fn the_first_bytes_of_a_file_show_its_records_and_are_named_in_a_note() {
    let dir = tempfile::tempdir().unwrap();
    let vcf = "##fileformat=VCFv4.2\n#CHROM\n1\n2\n3\n";
    let genotypes = b"\x6c\x1b\x01\x0a\x0b\x0c";
    file(dir.path(), "a.fam", "f 1\nf 2\nf 3\n");
    for (name, text, kind, records) in [
        ("a.txt", vcf.as_bytes(), "vcf", 3),
        ("reads", b"@HD\tVN:1.6\nread\t4\n", "sam", 1),
        ("a", b"##gff-version 3\nchr1\t.\tgene\n", "gff", 1),
        ("a.bed", genotypes, "plink-bed:3", 3),
    ] {
        let choice = LayoutChoice::default();
        for opened in opened(&choice, dir.path(), name, text).into_iter().take(3) {
            let (mut population, layout) = opened.unwrap();
            assert_eq!(layout.name, kind);
            let (kind, _) = kind.split_once(':').unwrap_or((kind, ""));
            let note = layout.note.unwrap();
            assert!(note.ends_with(&format!(" begins as {kind} does, and is read so")), "{note}");
            let mut out = Vec::new();
            let stats = Sampler::probability(1.0).write(&mut population, &mut out).unwrap();
            assert_eq!((stats.seen, out.as_slice()), (Some(records), text), "{name}");
        }
        // Neither standard input nor another stream shows it.
        let path = file(dir.path(), "file", text);
        let input = std::fs::File::open(path).unwrap();
        let (_, layout) = choice.open_file("-", input).unwrap();
        assert_eq!((layout.name.as_str(), layout.note), ("lines", None));
        let (_, layout) = choice.open_streams(stream("-", text)).unwrap();
        assert_eq!(layout.name, "lines");
    }
}

#[test]
fn a_header_is_there_unless_the_caller_says_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let text = "id,note\n1,\"a\nb\"\n2,\n";
    for (choice, records) in [
        (LayoutChoice::default(), 2),
        (LayoutChoice::named("csv"), 2),
        (LayoutChoice::default().with_header_rule(HeaderRule::None), 3),
        (LayoutChoice::named("csv").with_header_rule(HeaderRule::None), 3),
        (LayoutChoice::default().with_header_rule(HeaderRule::Lines(3)), 1),
        (LayoutChoice::named("lines").with_header_rule(HeaderRule::Record), 3),
    ] {
        for opened in opened(&choice, dir.path(), "a.csv", text.as_bytes()) {
            let drawn = Sampler::probability(1.0).records(&mut opened.unwrap().0).unwrap();
            assert_eq!(drawn.len(), records, "{choice:?}");
        }
    }
}

#[test]
fn the_delimiter_is_that_of_the_header_where_it_is_clear() {
    let dir = tempfile::tempdir().unwrap();
    let semicolon = "id;note\n1;\"first\nsecond\"\n2;plain\n3;\"x;y\nz\"\n";
    let marked = format!("\u{feff}{semicolon}");
    for (text, delimiter, records) in [
        (semicolon, b';', 3),
        (marked.as_str(), b';', 3),
        ("id|note\r\n1|\"a\r\nb\"\r\n", b'|', 1),
        ("id\tnote\n1\ta,b\n", b'\t', 1),
        ("\"a;b\",c\n1,\"2\n3\"\n", b',', 1),
        ("id;price, EUR\n1;2\n", b',', 1),
        ("id\n1;2\n", b',', 1),
        ("", b',', 0),
    ] {
        for name in ["a.csv", "a"] {
            let named = LayoutChoice::named("csv");
            let choice = if name == "a" { named } else { LayoutChoice::default() };
            for opened in opened(&choice, dir.path(), name, text.as_bytes()) {
                let (mut population, layout) = opened.unwrap();
                assert_eq!(layout.format, Format::Csv { delimiter }, "{text:?}");
                assert_eq!(layout.note.is_some(), delimiter != b',', "{:?}", layout.note);
                let drawn = Sampler::probability(1.0).records(&mut population).unwrap();
                assert_eq!(drawn.len(), records, "{text:?}");
            }
        }
    }
    // What the caller says counts, and is no guess.
    let comma = LayoutChoice::default().with_delimiter(b',');
    for opened in opened(&comma, dir.path(), "a.csv", semicolon.as_bytes()) {
        let (mut population, layout) = opened.unwrap();
        assert_eq!(layout.note, None);
        let error = Sampler::exactly(1).records(&mut population).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadDelimiter, "{error}");
    }
    // The first file that is not empty shows it.
    let paths = [file(dir.path(), "0.csv", ""), file(dir.path(), "1.csv", semicolon)];
    let (mut population, _) = LayoutChoice::default().open(&paths).unwrap();
    assert_eq!(Sampler::exactly(3).records(&mut population).unwrap().len(), 3);
    for (choice, expected) in [
        (LayoutChoice::named("lines").with_delimiter(b';'), "only csv and tsv have a delimiter"),
        (LayoutChoice::named("csv").with_delimiter(b'"'), "cannot be the delimiter"),
    ] {
        let error = choice.open(&paths).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadRequest);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn files_of_different_formats_need_a_name_for_both() {
    let dir = tempfile::tempdir().unwrap();
    let [table, lines] = ["a.csv", "b"].map(|name| file(dir.path(), name, "a\n1\n"));
    let error = LayoutChoice::default().open([&table, &lines]).unwrap_err();
    let text = format!(
        "{}: is lines, and {} is csv: name the format of both",
        lines.display(),
        table.display()
    );
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::BadRequest, text));
    let (mut population, _) = LayoutChoice::named("csv").open([&table, &lines]).unwrap();
    assert_eq!(Sampler::exactly(2).records(&mut population).unwrap(), [b"1\n"; 2]);
    let empty = file(dir.path(), "empty", "");
    let (_, layout) = LayoutChoice::default().open([&empty, &table]).unwrap();
    assert_eq!(layout.name, "csv");
    assert_eq!(LayoutChoice::default().find([&empty]).unwrap().name, "lines");
}

#[test]
fn what_is_not_text_is_an_error_with_the_command_that_makes_text_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut tar = vec![0; 1024];
    tar[257..263].copy_from_slice(b"ustar\0");
    let wide: Vec<u8> = "\u{feff}id,note\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, text, command) in [
        ("a.csv", wide, "`iconv -f UTF-16 -t UTF-8 FILE`"),
        ("a.arrow", b"ARROW1\0\0".to_vec(), "`python3 -c "),
        ("a.avro", b"Obj\x01\x04".to_vec(), "`fastavro FILE`, which is jsonl"),
        ("a.tar", tar, "`tar -xOf FILE`"),
        ("a.bam", b"BAM\x01".to_vec(), "`samtools view -h FILE`, which is sam"),
        ("a", b"PAR1\x15\x04".to_vec(), "`duckdb -csv -c "),
        ("a", b"PK\x03\x04".to_vec(), "`unzip -p`"),
    ] {
        for choice in [LayoutChoice::default(), LayoutChoice::named("lines")] {
            for opened in opened(&choice, dir.path(), name, &text) {
                let drawn =
                    opened.and_then(|(mut opened, _)| Sampler::exactly(1).records(&mut opened));
                let error = drawn.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::BadRequest, "{name}: {error}");
                assert!(error.to_string().contains(command), "{name}: {error}");
                assert!(error.path().is_some(), "{name}: {error}");
            }
        }
        // Records of a fixed size may begin with any bytes.
        let path = file(dir.path(), "fixed", &text);
        let (mut population, _) = LayoutChoice::named("fixed:1").open([&path]).unwrap();
        let records = Sampler::probability(1.0).records(&mut population).unwrap();
        assert_eq!(records.concat(), text);
    }
    let path = file(dir.path(), "a.parquet", "no Parquet");
    let error = LayoutChoice::default().open([&path]).unwrap_err();
    assert!(error.to_string().contains(": is Parquet, and not text"), "{error}");
    assert_eq!(Layout::parquet(&path), Some(FoundBy::Name));
    let path = file(dir.path(), "rows", b"PAR1\x15\x04");
    assert_eq!(Layout::parquet(&path), Some(FoundBy::Content));
    assert_eq!(Layout::parquet(&dir.path().join("missing")), None);
}

#[test]
fn a_name_that_the_content_contradicts_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text, kind, expected) in [
        ("a.gz", &b"text\n"[..], ErrorKind::Io, "is named as gzip, and is not"),
        ("a.zst", b"text\n", ErrorKind::Io, "is named as zstd, and is not"),
        ("a.csv.gz", b"\xfd7zXZ\0\0", ErrorKind::BadRequest, "the output of `xz -dc`"),
    ] {
        let path = file(dir.path(), name, text);
        let error = LayoutChoice::default().open([&path]).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().ends_with(expected), "{error}");
    }
    let twice = file(dir.path(), "b.gz", gzip(&gzip(b"text\n")));
    let (mut population, _) = LayoutChoice::named("lines").open([&twice]).unwrap();
    let error = Sampler::exactly(1).records(&mut population).unwrap_err();
    assert!(error.to_string().ends_with("is compressed twice: pipe the output of `gzip -dc`"));
}
