//! Any bytes as a file of each format that has a name: no panic; all records behind the header are
//! the input, from a file, from a stream in pieces and from parts; or each of them is an error.
#![no_main]

mod pieces;

use libfuzzer_sys::fuzz_target;
use pieces::Pieces;
use record_sampler::{ErrorKind, Layout, Population, Sampler};

const NAMES: [&str; 10] =
    ["lines", "vcf", "sam", "tped", "hapmap", "fastq", "fasta", "plink-bed:5", "fixed:3", "bed"];

fn all(population: Population, layout: &Layout) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut population = population.with_header_rule(layout.header.clone());
    match Sampler::at_most(u64::MAX).write(&mut population, &mut out) {
        Ok(_) => Some(out),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
            None
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [kind, len, text @ ..] = bytes else { return };
    let layout = Layout::named(NAMES[usize::from(*kind) % NAMES.len()], None).expect("a name");
    // What is compressed is decoded; what is not text cannot be opened.
    let compressed: [&[u8]; 2] = [b"\x1f\x8b", b"\x28\xb5"];
    if compressed.iter().any(|magic| text.starts_with(magic)) {
        return;
    }
    let dir = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let path = dir.path().join("records");
    std::fs::write(&path, text).expect("room for a small file");
    let open = || Population::open([&path], layout.format);
    let Ok(population) = open() else { return };
    let pieces = Pieces::new(text.to_vec(), 1 << (len % 14));
    let of_stream = all(Population::stream(pieces, layout.format), &layout);
    let of_file = all(population, &layout);
    assert_eq!(of_file, of_stream);
    let parts = open().expect("as before").with_header_rule(layout.header.clone());
    let parts = parts.parts(1 + u64::from(*len)).expect("a plain file");
    let fetched: Result<Vec<Vec<Vec<u8>>>, _> =
        parts.iter().map(|part| part.fetch(&(0..part.count()?).collect::<Vec<u64>>())).collect();
    assert_eq!(fetched.is_ok(), of_file.is_some());
    let (Ok(fetched), Some(out)) = (fetched, of_file) else { return };
    let header = parts[0].header_bytes().expect("as before");
    assert_eq!([header, fetched.concat().concat()].concat(), out);
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let whole = out.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&out);
    let end = whole.strip_prefix(text).expect("the input");
    assert!([&b""[..], b"\n", b"\r\n"].contains(&end));
});
