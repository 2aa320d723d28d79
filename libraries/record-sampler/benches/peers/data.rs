//! The files that are drawn from, made once and the same every time: 10⁷ lines of 20 to 100 bytes,
//! 10⁷ records of 64, 5 × 10⁶ rows of CSV with 1000 keys, and 10⁶ reads of FASTQ.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use record_sampler::Rng;

pub(crate) const RECORDS: u64 = 10_000_000;

pub(crate) fn lines(dir: &Path) -> io::Result<PathBuf> {
    made(dir.join("lines"), b"", RECORDS, |number, rng, record| {
        write!(record, "{number:08} ")?;
        let len = record.len() + 10 + rng.below(81) as usize;
        while record.len() < len {
            let letter = |byte: u8| b"etaoinshrdlu cmf"[usize::from(byte % 16)];
            record.extend_from_slice(&rng.next_u64().to_le_bytes().map(letter));
        }
        record.truncate(len);
        record.push(b'\n');
        Ok(())
    })
}

pub(crate) fn fixed(dir: &Path) -> io::Result<PathBuf> {
    made(dir.join("fixed"), b"", RECORDS, |number, rng, record| {
        record.extend_from_slice(&number.to_le_bytes());
        record.extend((0..7).flat_map(|_| rng.next_u64().to_le_bytes()));
        Ok(())
    })
}

/// Without a quote.
pub(crate) fn csv(dir: &Path) -> io::Result<PathBuf> {
    let header = b"id,key,value,text\n";
    made(dir.join("rows.csv"), header, RECORDS / 2, |number, rng, record| {
        let (key, value) = (rng.below(1000), rng.below(1_000_000));
        writeln!(record, "{number},key{key:03},{value},{:016x}", rng.next_u64())
    })
}

pub(crate) fn fastq(dir: &Path) -> io::Result<PathBuf> {
    made(dir.join("reads.fastq"), b"", RECORDS / 10, |number, rng, record| {
        let base = |byte: u8| b"ACGT"[usize::from(byte % 4)];
        writeln!(record, "@read{number}")?;
        for _ in 0..12 {
            record.extend_from_slice(&rng.next_u64().to_le_bytes().map(base));
        }
        writeln!(record, "\n+\n{}", "F".repeat(96))
    })
}

fn made(
    path: PathBuf,
    header: &[u8],
    records: u64,
    record_of: impl Fn(u64, &mut Rng, &mut Vec<u8>) -> io::Result<()>,
) -> io::Result<PathBuf> {
    if path.exists() {
        return Ok(path);
    }
    let unfinished = path.with_extension("unfinished");
    let mut out = BufWriter::with_capacity(4 << 20, File::create(&unfinished)?);
    let (mut rng, mut record) = (Rng::new(1), Vec::new());
    out.write_all(header)?;
    for number in 0..records {
        record.clear();
        record_of(number, &mut rng, &mut record)?;
        out.write_all(&record)?;
    }
    out.into_inner()?.sync_all()?;
    fs::rename(unfinished, &path)?;
    Ok(path)
}
