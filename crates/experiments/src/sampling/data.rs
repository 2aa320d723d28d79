//! The file of a point: the user's own, or one that is generated once, the same every time.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use byte_stream::decode::{Decoder, Encoding};
use measure::experiment::Data;
use measure::stop::Stop;
use model::param::Point;
use record_sampler::{FetchMethod, Format, Layout, Population, Rng, Sampler};

use crate::shared::made_file;

/// Part of the file's name; it changes with the contents.
const VERSION: u32 = 1;
const BINARY: &str = "fixed:64";

/// Files of other formats, by the endings of their names.
const ENDINGS: [(&str, &str); 8] = [
    (".vcf", "vcf"),
    (".sam", "sam"),
    (".tped", "tped"),
    (".hmp.txt", "hapmap"),
    (".fastq", "fastq"),
    (".fq", "fastq"),
    (".fasta", "fasta"),
    (".fa", "fasta"),
];

/// Finds or generates the file, and passes its path and its number of records to the methods.
pub(super) fn data(point: &Point, data_dir: &Path, stop: &Stop) -> Result<Data> {
    let is_text = point.text("kind")? == "text";
    let samples = point.number("samples")?;
    let mut arguments = point.clone();
    let (path, records) = if point.get("file").is_some() {
        let path = std::path::absolute(point.path("file")?)?;
        let records = count(&path, is_text)?;
        (path, records)
    } else {
        let dir = point.path("dir").unwrap_or_else(|_| data_dir.to_owned());
        let records = point.number("records")?;
        (made(&dir, records, is_text, stop)?, records)
    };
    ensure!(samples <= records, "--samples {samples}: {} has {records} records", path.display());
    arguments.set("file", path.clone());
    arguments.set("records", records);
    Ok(Data { arguments, files: vec![path], is_only_read: true, ..Data::default() })
}

/// The content of the file, after decoding.
pub(super) fn layout(is_text: bool, path: &Path) -> Result<Layout> {
    let path =
        if Encoding::from_path(path).is_some() { path.with_extension("") } else { path.into() };
    let text = path.to_string_lossy();
    let ending = ENDINGS.iter().find(|(ending, _)| text.ends_with(ending));
    let name = match ending {
        Some((_, name)) if is_text => name,
        None if is_text => "lines",
        _ if text.ends_with(".bed") => "plink-bed",
        _ => BINARY,
    };
    ensure!(
        !(is_text && text.ends_with(".bed")),
        "{text}: a PLINK file is read with --kind binary"
    );
    Ok(Layout::named(name, Some(&path))?)
}

/// How the file is compressed, by the rules of `record-sampler`: by the ending of its name, or by
/// the first bytes of text.
pub(super) fn encoding(layout: &Layout, path: &Path) -> Result<Option<Encoding>> {
    let named = Encoding::from_path(path);
    if named.is_some() || matches!(layout.format, Format::Fixed(_)) {
        return Ok(named);
    }
    let mut start = Vec::new();
    let file = File::open(path).with_context(|| path.display().to_string())?;
    file.take(4).read_to_end(&mut start).with_context(|| path.display().to_string())?;
    Ok(Encoding::from_magic(&start))
}

/// The bytes of the file, decoded.
pub(super) fn open(path: &Path, encoding: Option<Encoding>) -> Result<Box<dyn Read + Send>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    Ok(match encoding {
        Some(encoding) => {
            let reader = BufReader::with_capacity(1 << 17, file);
            Box::new(Decoder::new(encoding, reader)?)
        }
        None => Box::new(file),
    })
}

/// Whether this is one of the files that can be made, which programs that know nothing else read.
pub(super) fn is_plain(layout: &Layout) -> bool {
    ["lines", BINARY].contains(&layout.name.as_str())
}

pub(super) fn population(layout: &Layout, path: &Path) -> record_sampler::Result<Population> {
    let population = Population::open([path], layout.format)?;
    Ok(population.with_header_rule(layout.header.clone()))
}

fn count(path: &Path, is_text: bool) -> Result<u64> {
    let mut population = population(&layout(is_text, path)?, path)
        .context("give a file of records with --file, or none to have one made")?;
    let sampler = Sampler::exactly(0).by(FetchMethod::Auto);
    let stats = sampler.write(&mut population, &mut std::io::sink())?;
    let records = stats.seen.unwrap_or(0);
    ensure!(records > 0, "{} has no records; give another one with --file", path.display());
    Ok(records)
}

fn made(dir: &Path, records: u64, is_text: bool, stop: &Stop) -> Result<PathBuf> {
    fs::create_dir_all(dir).with_context(|| format!("making the directory {}", dir.display()))?;
    let dir = std::path::absolute(dir)?;
    let kind = if is_text { "text" } else { "binary" };
    let path = dir.join(format!("sampling-v{VERSION}-{kind}-{records}"));
    if path.exists() {
        return Ok(path);
    }
    let making =
        || format!("making {} (is there room? --dir and --records can change it)", path.display());
    made_file::write_whole(&path, |file| write(file, records, is_text, stop))
        .with_context(making)?;
    Ok(path)
}

/// Each record begins with its number, so that no two are equal.
fn write(file: &File, records: u64, is_text: bool, stop: &Stop) -> Result<()> {
    let mut out = BufWriter::with_capacity(4 << 20, file);
    let mut rng = Rng::new(u64::from(VERSION));
    let mut record = Vec::new();
    for number in 0..records {
        record.clear();
        if is_text {
            write!(record, "{number:08} ")?;
            // Between 20 and 100 bytes, including the number and the line feed.
            let len = 10 + rng.below(81) as usize;
            while record.len() < 9 + len {
                let letters = rng
                    .next_u64()
                    .to_le_bytes()
                    .map(|byte| b"etaoinshrdlu cmf"[usize::from(byte % 16)]);
                record.extend_from_slice(&letters);
            }
            record.truncate(9 + len);
            record.push(b'\n');
        } else {
            record.extend_from_slice(&number.to_le_bytes());
            record.extend((0..7).flat_map(|_| rng.next_u64().to_le_bytes()));
        }
        out.write_all(&record)?;
        if number % 65536 == 0 {
            stop.check()?;
        }
    }
    out.flush()?;
    Ok(())
}
