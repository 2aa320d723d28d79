//! The format of a file, by the ending of its name or by its first bytes; and the formats that are
//! not text, each with the command that makes text of it. It does not read files.

use std::path::Path;

use memchr::{memchr_iter, memchr2};

use super::Format;
use super::splitter::SEPARATORS;
use crate::{Error, ErrorKind};

/// The number of first bytes that are examined: the mark of tar is at offset 257.
pub(crate) const START_BYTES: usize = 264;

/// The formats of files, by the endings of their names. Of `.bed` the content decides between two.
const ENDINGS: [(&str, &str); 21] = [
    (".csv", "csv"),
    (".tsv", "tsv"),
    (".jsonl", "jsonl"),
    (".ndjson", "jsonl"),
    (".vcf", "vcf"),
    (".sam", "sam"),
    (".tped", "tped"),
    (".hmp.txt", "hapmap"),
    (".hapmap", "hapmap"),
    (".fastq", "fastq"),
    (".fq", "fastq"),
    (".fasta", "fasta"),
    (".fa", "fasta"),
    (".fna", "fasta"),
    (".faa", "fasta"),
    (".bed", "bed"),
    (".gff", "gff"),
    (".gff3", "gff"),
    (".gtf", "gff"),
    (".parquet", "parquet"),
    (".pq", "parquet"),
];

/// The endings of compressed files.
const PACKED: [&str; 6] = [".gz", ".gzip", ".bgz", ".zst", ".zstd", ".br"];

/// The formats that begin with these bytes.
const STARTS: [(&[u8], &str); 9] = [
    (b"##fileformat=VCF", "vcf"),
    (b"##gff-version", "gff"),
    (b"@HD\t", "sam"),
    (b"@SQ\t", "sam"),
    (b"@RG\t", "sam"),
    (b"@PG\t", "sam"),
    (b"rs#\talleles\t", "hapmap"),
    (b"rs# alleles ", "hapmap"),
    (b"\x6c\x1b", "plink-bed"),
];

/// The name of the format of a file with this name, without that of its compression.
pub(crate) fn kind_of_name(path: &Path) -> Option<&'static str> {
    /// The longest ending, with that of a compression, has 13.
    const MOST: usize = 16;
    let name = path.as_os_str().as_encoded_bytes();
    // The query of a URL is no part of the name.
    let is_url = memchr_iter(b':', name).any(|at| name[at..].starts_with(b"://"));
    let query = if is_url { memchr2(b'?', b'#', name) } else { None };
    let name = &name[..query.unwrap_or(name.len())];
    let (mut end, len) = ([0; MOST], name.len().min(MOST));
    end[MOST - len..].copy_from_slice(&name[name.len() - len..]);
    if !end.contains(&b'.') {
        return None;
    }
    end.make_ascii_lowercase();
    let end = unpacked(&end);
    ENDINGS.iter().find(|(ending, _)| end.ends_with(ending.as_bytes())).map(|(_, kind)| *kind)
}

/// A name without the ending of its compression.
fn unpacked(name: &[u8]) -> &[u8] {
    PACKED.iter().find_map(|ending| name.strip_suffix(ending.as_bytes())).unwrap_or(name)
}

/// The path without the ending of its compression.
pub(crate) fn unpacked_path(path: &Path) -> std::path::PathBuf {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let is_packed = ending.is_some_and(|ending| PACKED.iter().any(|one| one[1..] == ending));
    if is_packed { path.with_extension("") } else { path.to_owned() }
}

/// The name of the format of a file that begins with these bytes.
pub(crate) fn kind_of_start(start: &[u8]) -> Option<&'static str> {
    STARTS.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, kind)| *kind)
}

/// The separator of the fields of a header, where it has only one of those that are usual, outside
/// of quotes.
pub(crate) fn header_delimiter(start: &[u8]) -> Option<u8> {
    let mut is_quoted = false;
    let mut found = None;
    for byte in start {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted => break,
            byte if !is_quoted && SEPARATORS.contains(byte) => {
                if found.is_some_and(|other| other != *byte) {
                    return None;
                }
                found = Some(*byte);
            }
            _ => {}
        }
    }
    found
}

/// Data that are not text.
struct Foreign {
    what: &'static str,
    /// The offset of the bytes that show it.
    at: usize,
    magic: &'static [u8],
    /// The command that makes text of it, and the format of that text; empty if it depends.
    command: &'static str,
    format: &'static str,
}

const fn foreign(
    what: &'static str,
    (at, magic): (usize, &'static [u8]),
    command: &'static str,
    format: &'static str,
) -> Foreign {
    Foreign { what, at, magic, command, format }
}

const PARQUET: Foreign =
    foreign("Parquet", (0, b"PAR1\x15"), "duckdb -csv -c \"FROM 'FILE'\"", "csv");

const FOREIGN: [Foreign; 13] = [
    PARQUET,
    foreign("Arrow", (0, b"ARROW1\0\0"), ARROW_FILE, "csv"),
    foreign("Arrow", (0, b"\xff\xff\xff\xff"), ARROW_STREAM, "csv"),
    foreign("Avro", (0, b"Obj\x01"), "fastavro FILE", "jsonl"),
    foreign("BAM", (0, b"BAM\x01"), "samtools view -h FILE", "sam"),
    foreign("CRAM", (0, b"CRAM\x03"), "samtools view -h FILE", "sam"),
    foreign("BCF", (0, b"BCF\x02"), "bcftools view FILE", "vcf"),
    foreign("an archive of tar", (257, b"ustar"), "tar -xOf FILE", ""),
    foreign("an archive of 7z", (0, b"7z\xbc\xaf\x27\x1c"), "7z x -so FILE", ""),
    foreign("an archive of rar", (0, b"Rar!\x1a\x07"), "unrar p -inul FILE", ""),
    foreign("UTF-32", (0, b"\0\0\xfe\xff"), "iconv -f UTF-32 -t UTF-8 FILE", ""),
    foreign("UTF-16", (0, b"\xff\xfe"), "iconv -f UTF-16 -t UTF-8 FILE", ""),
    foreign("UTF-16", (0, b"\xfe\xff"), "iconv -f UTF-16 -t UTF-8 FILE", ""),
];

const ARROW_FILE: &str = "python3 -c \"import sys, pyarrow.ipc as i, pyarrow.csv as c; \
                          c.write_csv(i.open_file('FILE').read_all(), sys.stdout.buffer)\"";
const ARROW_STREAM: &str = "python3 -c \"import sys, pyarrow.ipc as i, pyarrow.csv as c; \
                            c.write_csv(i.open_stream('FILE').read_all(), sys.stdout.buffer)\"";

/// The first bytes of formats that are not decoded here, and the command that decodes them.
const COMPRESSED: [(&[u8], &str); 8] = [
    (b"\xfd7zXZ\0", "xz -dc"),
    (b"BZh91AY&SY", "bzip2 -dc"),
    (b"\x04\x22\x4d\x18", "lz4 -dc"),
    (b"\x1f\x9d", "uncompress -c"),
    (b"LZIP\x01", "lzip -dc"),
    (b"PK\x03\x04", "unzip -p"),
    (b"\x1f\x8b\x08", "gzip -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd -dc"),
];

/// The error for data that begin with these bytes, unless they may be text of this format.
pub(crate) fn refusal(start: &[u8], format: Format, is_decoded: bool) -> Option<Error> {
    if let Some((_, command)) = COMPRESSED.iter().find(|(magic, _)| start.starts_with(magic)) {
        let how = if is_decoded { " twice" } else { ", and not by gzip, zstd or Brotli" };
        let text = format!("is compressed{how}: pipe the output of `{command}`");
        return Some(Error::new(ErrorKind::BadRequest, text));
    }
    let found = FOREIGN
        .iter()
        .find(|row| start.get(row.at..).is_some_and(|rest| rest.starts_with(row.magic)));
    if let Some(found) = found {
        return Some(found.error());
    }
    // Zeros separate names, as `find -print0` writes them.
    let may_be_wide = format != Format::Separated { separator: 0 };
    let wide = [("UTF-16LE", 1), ("UTF-16BE", 0)];
    let found = wide.iter().find(|(_, zero)| may_be_wide && is_wide(start, *zero));
    found.map(|(name, _)| {
        let text = format!(
            "is UTF-16, and not text in UTF-8: pipe the output of `iconv -f {name} -t UTF-8 FILE`"
        );
        Error::new(ErrorKind::BadRequest, text)
    })
}

/// Whether the bytes are pairs in which the byte with this index is 0, and the other one is not.
fn is_wide(start: &[u8], zero: usize) -> bool {
    const LEAST: usize = 4;
    let (pairs, _) = start.as_chunks::<2>();
    pairs.len() >= LEAST && pairs.iter().all(|pair| pair[zero] == 0 && pair[1 - zero] != 0)
}

/// The error for a file of Parquet where text is read.
pub(crate) fn parquet_refusal() -> Error {
    PARQUET.error()
}

/// Whether a file that begins with these bytes is Parquet: its mark, and the first field of a page
/// or of the footer.
pub(crate) fn is_parquet_start(start: &[u8]) -> bool {
    start.starts_with(PARQUET.magic)
}

impl Foreign {
    #[cold]
    fn error(&self) -> Error {
        let Foreign { what, command, format, .. } = self;
        let then = if format.is_empty() { String::new() } else { format!(", which is {format}") };
        let text =
            format!("is {what}, and not text in UTF-8: pipe the output of `{command}`{then}");
        Error::new(ErrorKind::BadRequest, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_kind_also_behind_that_of_a_compression() {
        for (name, expected) in [
            ("a.csv", Some("csv")),
            ("dir/A.CSV.GZ", Some("csv")),
            ("a.tsv.zst", Some("tsv")),
            ("a.ndjson.br", Some("jsonl")),
            ("a.vcf.bgz", Some("vcf")),
            ("a.hmp.txt.gz", Some("hapmap")),
            ("a.fq", Some("fastq")),
            ("a.fq.xz", None),
            ("a.csv.txt", None),
            ("csv", None),
            ("a.gz", None),
            ("-", None),
            ("https://host/a.csv.gz?x=1.vcf#y", Some("csv")),
            ("a?x=1.vcf", Some("vcf")),
        ] {
            assert_eq!(kind_of_name(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn a_start_has_a_kind() {
        for (start, expected) in [
            (&b"##fileformat=VCFv4.2\n"[..], Some("vcf")),
            (b"##other\n", None),
            (b"@SQ\tSN:1\n", Some("sam")),
            (b"@SQ1\n", None),
            (b"\x6c\x1b\x01", Some("plink-bed")),
            (b"l", None),
            (b"", None),
        ] {
            assert_eq!(kind_of_start(start), expected, "{start:?}");
        }
    }

    #[test]
    fn a_header_with_one_separator_shows_the_delimiter() {
        for (start, expected) in [
            ("id;note\n1,2\n", Some(b';')),
            ("id,note", Some(b',')),
            ("a\tb\r\n", Some(b'\t')),
            ("a|b|c\n", Some(b'|')),
            ("id;price, EUR\n", None),
            ("\"price, EUR\";id\n", Some(b';')),
            ("\"a\nb,\"|c\n1;2\n", Some(b'|')),
            ("one\n1;2\n", None),
            ("", None),
        ] {
            assert_eq!(header_delimiter(start.as_bytes()), expected, "{start:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused_with_the_command_that_makes_text_of_it() {
        let mut tar = vec![b'a'; 300];
        tar[257..262].copy_from_slice(b"ustar");
        let wide = |text: &str, bytes: fn(u16) -> [u8; 2]| {
            text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>()
        };
        for (start, expected) in [
            (
                b"PAR1\x15\x04".to_vec(),
                "is Parquet, and not text in UTF-8: pipe the output of `duckdb",
            ),
            (b"ARROW1\0\0".to_vec(), "is Arrow, and not text"),
            (b"Obj\x01\x04".to_vec(), "pipe the output of `fastavro FILE`, which is jsonl"),
            (b"BAM\x01".to_vec(), "pipe the output of `samtools view -h FILE`, which is sam"),
            (
                tar,
                "is an archive of tar, and not text in UTF-8: pipe the output of `tar -xOf FILE`",
            ),
            (b"PK\x03\x04".to_vec(), "is compressed, and not by gzip, zstd or Brotli: pipe"),
            (wide("\u{feff}a,b\n", u16::to_le_bytes), "`iconv -f UTF-16 -t UTF-8 FILE`"),
            (wide("\u{feff}a,b\n", u16::to_be_bytes), "`iconv -f UTF-16 -t UTF-8 FILE`"),
            (wide("a,b\n", u16::to_le_bytes), "`iconv -f UTF-16LE -t UTF-8 FILE`"),
            (wide("a,b\n", u16::to_be_bytes), "`iconv -f UTF-16BE -t UTF-8 FILE`"),
        ] {
            let error = refusal(&start, Format::Lines, false).unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let gzip = refusal(b"\x1f\x8b\x08", Format::Lines, true).unwrap().to_string();
        assert_eq!(gzip, "is compressed twice: pipe the output of `gzip -dc`");
        for text in ["", "PAR1,PAR2\n", "a\0b\0", "Obj\n", "ustar\n", "\u{feff}a\n"] {
            assert!(refusal(text.as_bytes(), Format::Lines, false).is_none(), "{text:?}");
        }
        let names = b"a\0b\0c\0d\0";
        assert!(refusal(names, Format::Separated { separator: 0 }, false).is_none());
        assert!(refusal(names, Format::Lines, false).is_some());
    }
}
