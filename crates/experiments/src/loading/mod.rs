#![doc = include_str!("README.md")]

mod job;
mod libraries;
#[cfg(target_os = "linux")]
mod linux;
mod map;
mod read;
mod table;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use measure::experiment::{Build, Data, Execution, Experiment, Method};
use measure::stop::Stop;
use model::param::{Param, ParamKind, Point};
use model::random::SplitMix64;

use self::table::FilePart;
use super::shared::locked_folder::TemporaryFolder;
use super::shared::made_file;

/// Which parts and records are loaded is the same in every run.
const SEED: u64 = 1;
/// The parts of a file that has no table of its own.
const PARTS: u64 = 100;
/// One of so many parts is loaded.
const EACH: usize = 10;

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: "loading",
        question: "What is the fastest way to get a large file, or parts of it, into memory?",
        readme: include_str!("README.md"),
        params: params(),
        methods: methods(),
        dir: None,
        data: Box::new(data),
    }
}

fn params() -> Vec<Param> {
    vec![
        Param::new("job", ParamKind::Word(&["whole", "parts", "random"]), "whole")
            .help("what is loaded: every byte, a tenth of the parts, or random records"),
        Param::new("size", ParamKind::Bytes(1, 1 << 40), "128MiB")
            .help("size of the file that is made; with --file, that of the file"),
        Param::new("file", ParamKind::Path, "")
            .help("a file of your own; its parts are those of its header (.safetensors, .gguf)"),
        Param::new("buffer", ParamKind::Bytes(4096, 1 << 30), "1MiB")
            .help("how much one request reads at most, in multiples of 4 KiB"),
        Param::new("threads", ParamKind::Count(1, 64), "4").help("threads that share the requests"),
        Param::new("depth", ParamKind::Count(1, 1024), "8").help("requests in flight (io-uring)"),
        Param::new("records", ParamKind::Count(1, 1 << 24), "1000")
            .help("how many records --job random loads"),
        Param::new("record", ParamKind::Bytes(1, 1 << 30), "4KiB").help("the size of a record"),
    ]
}

/// The first one is the reference.
fn methods() -> Vec<Method> {
    let mut methods = read::methods();
    methods.extend(map::methods());
    #[cfg(target_os = "linux")]
    methods.extend(linux::methods());
    methods.extend(libraries::methods());
    methods.extend(IN_LANGUAGES.iter().map(of_language));
    methods
}

/// A method that is part of the program; `reads` names further params.
fn contender(name: &str, about: &str, reads: &[&'static str], build: Build) -> Method {
    method(name, about, Execution::BuiltIn(build)).reads(reads)
}

fn method(name: &str, about: &str, execution: Execution) -> Method {
    Method::contender(name, about, execution).reads(&["job", "size", "file", "records", "record"])
}

/// A language, the name of a method in it, one line on it, and whether it is in a default run.
const IN_LANGUAGES: &[(&str, &str, &str, bool)] = &[
    ("go", "read", "Go: os.File.ReadAt into a new slice", true),
    ("go", "mmap", "Go: syscall.Mmap, the whole file mapped", false),
    ("python", "readinto", "Python: readinto a new bytearray", true),
    ("python", "mmap", "Python: the whole file mapped", false),
    ("python", "fromfile", "Python: numpy.fromfile, if numpy is installed", false),
    (
        "python",
        "safetensors",
        "Python: safetensors.safe_open and get_tensor, of a .safetensors file",
        false,
    ),
];

fn of_language((language, name, about, default): &(&str, &str, &str, bool)) -> Method {
    let execution = Execution::worker([&format!("{{workers/{language}}}"), "loading", name]);
    Method { default: *default, ..method(&format!("{language}-{name}"), about, execution) }
}

/// Finds or generates the file, and writes which ranges of it are loaded to a file that every
/// method reads.
fn data(point: &Point, dir: &Path, stop: &Stop) -> Result<Data> {
    let (path, size) = made_file::given_or_made(point, dir, stop)?;
    let ranges = match point.text("job")? {
        "parts" => some_parts(&parts(&path, size)?),
        "random" => records(size, point.number("records")?, point.number("record")?)?,
        _ => vec![FilePart { offset: 0, len: size }],
    };
    fs::create_dir_all(dir).with_context(|| format!("making the directory {}", dir.display()))?;
    let payload_bytes = ranges.iter().try_fold(0u64, |sum, range| sum.checked_add(range.len));
    let payload_bytes = payload_bytes.with_context(|| {
        format!("the parts of {} have more bytes than can be counted", path.display())
    })?;
    let folder = TemporaryFolder::new_in(dir)?;
    let list = folder.path.join("ranges");
    let mut text = String::new();
    for FilePart { offset, len } in &ranges {
        writeln!(text, "{offset} {len}")?;
    }
    fs::write(&list, text).with_context(|| format!("writing {}", list.display()))?;
    let mut arguments = point.clone();
    arguments.set("size", size);
    arguments.set("file", path.clone());
    arguments.set("ranges", list);
    Ok(Data {
        arguments,
        files: vec![path],
        payload_bytes: Some(payload_bytes),
        guard: Some(Box::new(folder)),
        ..Data::default()
    })
}

/// The parts that the header of the file names, or equal ones.
fn parts(path: &Path, size: u64) -> Result<Vec<FilePart>> {
    let reading = || format!("reading the header of {}", path.display());
    let file = File::open(path).with_context(reading)?;
    let parts = table::parts(BufReader::new(file), size).with_context(reading)?;
    Ok(parts.unwrap_or_else(|| {
        let n = PARTS.min(size);
        let begin = |i: u64| (u128::from(size) * u128::from(i) / u128::from(n)) as u64;
        (0..n).map(|i| FilePart { offset: begin(i), len: begin(i + 1) - begin(i) }).collect()
    }))
}

/// A tenth of the parts, in the order of the file.
fn some_parts(parts: &[FilePart]) -> Vec<FilePart> {
    let wanted = parts.len().div_ceil(EACH);
    let chosen = distinct(parts.len() as u64, wanted as u64);
    let mut chosen: Vec<FilePart> = chosen.into_iter().map(|i| parts[i as usize]).collect();
    chosen.sort_unstable_by_key(|range| range.offset);
    chosen
}

/// Different records, in random order.
fn records(size: u64, n: u64, record: u64) -> Result<Vec<FilePart>> {
    let all = size / record;
    ensure!(all > 0, "--record {record} is more than the {size} bytes of the file");
    let places = distinct(all, n.min(all));
    Ok(places.into_iter().map(|i| FilePart { offset: i * record, len: record }).collect())
}

/// `wanted` different numbers below `n`, in random order.
fn distinct(n: u64, wanted: u64) -> Vec<u64> {
    let mut random = SplitMix64(SEED);
    // Of a few numbers most are wanted: the last ones would rarely be drawn.
    if wanted > n / 2 {
        let mut all: Vec<u64> = (0..n).collect();
        random.shuffle(&mut all);
        all.truncate(wanted as usize);
        return all;
    }
    let mut seen = BTreeSet::new();
    let mut drawn = Vec::new();
    while (drawn.len() as u64) < wanted {
        let number = random.below(n);
        if seen.insert(number) {
            drawn.push(number);
        }
    }
    drawn
}

#[cfg(test)]
mod tests;
