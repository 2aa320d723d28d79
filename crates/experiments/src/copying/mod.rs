#![doc = include_str!("README.md")]

mod job;
#[cfg(target_os = "linux")]
mod kernel;
mod plain;

use std::os::fd::OwnedFd;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use measure::experiment::{Build, Data, Execution, Experiment, Method, Task};
use measure::stop::Stop;
use model::param::{Param, ParamKind, Point};
use tempfile::NamedTempFile;

use self::job::{Copying, Cpu, contender, task};
use super::shared::{made_file, must_be_installed, run_command};

const NOTHING_MOVED: &str = "with output=null nothing is moved: /dev/null looks at no byte, and a method that reads none \
     is the fastest; compare methods with --output pipe, socket or file";

pub fn experiment() -> Experiment {
    Experiment {
        name: "copying",
        question: "What is the cheapest way to copy standard input to standard output?",
        readme: include_str!("README.md"),
        params: params(),
        methods: methods(),
        dir: None,
        data: Box::new(data),
    }
}

fn params() -> Vec<Param> {
    vec![
        Param::new("size", ParamKind::Bytes(1, 1 << 40), "128MiB").help("how much is copied"),
        Param::new("input", ParamKind::Word(&["file", "pipe", "socket"]), "file")
            .help("what is copied from; a pipe or socket is fed by a thread"),
        Param::new("output", ParamKind::Word(&["null", "file", "pipe", "socket"]), "pipe").help(
            "what is copied to; a pipe or socket is drained by a thread, and null takes no byte",
        ),
        Param::new("reader", ParamKind::Word(&["reads", "drops"]), "reads")
            .help("whether the reader of a pipe looks at the bytes or throws the pages away"),
        Param::new("buffer", ParamKind::Bytes(1, 1 << 30), "128KiB")
            .help("how much is read at once"),
    ]
}

/// The first one is the reference.
fn methods() -> Vec<Method> {
    let mut methods = commands();
    methods.extend(plain::methods());
    #[cfg(target_os = "linux")]
    methods.extend(kernel::methods());
    #[cfg(target_os = "linux")]
    methods.push(kernel::uring());
    methods.push(byte_stream());
    methods.extend(in_languages());
    methods
}

fn data(point: &Point, dir: &Path, stop: &Stop) -> Result<Data> {
    let size = point.number("size")?;
    let drops = point.text("reader")? == "drops";
    ensure!(
        !drops || point.text("output")? == "pipe",
        "--reader drops needs --output pipe: only a pipe's pages can be thrown away unseen"
    );
    let files = made_file::files(dir, size, 1, stop)?;
    let mut arguments = point.clone();
    arguments.set("file", files[0].clone());
    let to_null = point.text("output")? == "null";
    let notes = to_null.then(|| NOTHING_MOVED.to_owned()).into_iter().collect();
    let (files, payload_bytes) = (files.clone(), Some(size));
    Ok(Data { arguments, files, payload_bytes, notes, ..Data::default() })
}

/// Plain commands, each started again for every copy with our descriptors as standard input and
/// output.
fn commands() -> Vec<Method> {
    vec![
        contender("cat", "/bin/cat, its start included; the reference", &[], |point| {
            command(point, &["/bin/cat"])
        }),
        contender(
            "dd",
            "dd with blocks of `buffer` bytes, its start included",
            &["buffer"],
            |point| {
                let block = format!("bs={}", point.number("buffer")?);
                command(point, &["dd", &block, "status=none"])
            },
        ),
        if_installed("gcat", "gnu-cat", "GNU cat of another version, named gcat", |point| {
            command(point, &["gcat"])
        }),
        if_installed(
            "coreutils",
            "uutils-cat",
            "cat of uutils coreutils, its start included",
            |point| command(point, &["coreutils", "cat"]),
        ),
        if_installed("pv", "pv", "pv --quiet, its start included", |point| {
            command(point, &["pv", "--quiet"])
        }),
        contender("cp", "cp /dev/stdin /dev/stdout, its start included", &[], |point| {
            command(point, &["cp", "/dev/stdin", "/dev/stdout"])
        })
        .job("input=file output=file"),
    ]
}

/// A program that few machines have. If it is installed, it takes part without being named.
fn if_installed(program: &str, name: &str, about: &str, build: Build) -> Method {
    let default = must_be_installed(program).is_ok();
    Method { default, ..contender(name, about, &[], build) }
}

struct CopyCommand {
    argv: Vec<String>,
    /// The file to which the program writes what it has counted, if it is to count.
    counts: Option<NamedTempFile>,
    allocated_bytes: Option<f64>,
}

fn command(point: &Point, argv: &[&str]) -> Result<Box<dyn Task>> {
    copy_command(point, argv, None)
}

fn copy_command(
    point: &Point,
    argv: &[&str],
    counts: Option<NamedTempFile>,
) -> Result<Box<dyn Task>> {
    must_be_installed(argv[0])?;
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    task(point, CopyCommand { argv, counts, allocated_bytes: None })
}

/// The variable that names that file to the program.
const COUNTS: &str = "BYTELAB_COUNTS";

impl Copying for CopyCommand {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        let Some(counts) = &self.counts else {
            return run_command(&self.argv, &[], input, output).map(Some);
        };
        let path = counts.path().to_str().context("the path of a temporary file is not UTF-8")?;
        let cpu = run_command(&self.argv, &[(COUNTS, path.to_owned())], input, output)?;
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
        let allocated = text.trim().strip_prefix("allocated_bytes=");
        self.allocated_bytes = allocated.and_then(|bytes| bytes.parse().ok());
        Ok(Some(cpu))
    }

    fn counts(&self, _size: u64) -> Vec<(&'static str, f64)> {
        self.allocated_bytes.map(|bytes| ("allocated_bytes", bytes)).into_iter().collect()
    }
}

/// `bytelab __filter LANGUAGE COMMAND…` implements the line protocol for a program that copies.
pub const FILTER: &str = "__filter";

/// The worker of a language whose usual one is built with flags that cost time.
const PLAIN_WORKERS: &[(&str, &str)] = &[("haskell", "haskell/plain")];

/// The programs of `workers/LANGUAGE`, which all take the argument `copying`. `LANGUAGE-WAY` is a
/// program that can copy in several ways, and also takes the way and the buffer size as arguments.
const LANGUAGES: &[(&str, &str)] = &[
    ("c", "C: read and write"),
    ("cpp", "C++: cin.read and cout.write"),
    ("go", "Go: io.Copy"),
    ("java", "Java: read and write of System.in and System.out's files"),
    ("python", "Python: shutil.copyfileobj"),
    ("node", "Node: process.stdin.pipe(process.stdout)"),
    ("haskell-hgetbuf", "Haskell: hGetBuf and hPutBuf with one static buffer"),
    ("haskell-strict-hget", "Haskell: hGet and hPut of strict ByteStrings"),
    ("haskell-lazy-interact", "Haskell: interact of a lazy ByteString, whose chunks are of 32 KiB"),
    (
        "haskell-hgetbuf-unbuffered",
        "Haskell: hGetBuf and hPutBuf with one static buffer, NoBuffering",
    ),
    ("haskell-strict-unbuffered", "Haskell: hGet and hPut of strict ByteStrings, NoBuffering"),
    ("haskell-char8-unbuffered", "Haskell: the same by Data.ByteString.Char8, NoBuffering"),
    ("haskell-lazy-unbuffered", "Haskell: hGet and hPut of lazy ByteStrings, NoBuffering"),
    ("swift-read-write", "Swift: read(2) and write(2) with one static buffer"),
    ("swift-file-handle", "Swift: FileHandle.read(upToCount:) and write(contentsOf:)"),
];

/// Programs in other languages that copy in the way that is idiomatic there: `bytelab __filter`
/// starts them for each copy, with our descriptors as standard input and output.
fn in_languages() -> Vec<Method> {
    let method = |(name, about): &(&str, &str)| {
        let language = language_of(name);
        let way = name[language.len()..].trim_start_matches('-');
        let plain = PLAIN_WORKERS.iter().find(|(known, _)| *known == language);
        let worker = format!("{{workers/{}}}", plain.map_or(language, |(_, worker)| worker));
        let mut argv = vec!["{bytelab}", FILTER, name, &worker, "copying"];
        argv.extend(Some(way).filter(|way| !way.is_empty()));
        let reads: &[&str] = if way.is_empty() { &[] } else { &["buffer"] };
        Method {
            execution: Execution::worker(argv),
            // Most of their time is start-up.
            default: false,
            ..contender(name, &format!("{about}, its start included"), reads, filter)
        }
    };
    LANGUAGES.iter().map(method).collect()
}

pub fn language_of(name: &str) -> &str {
    name.split_once('-').map_or(name, |(language, _)| language)
}

/// The method that `bytelab __filter METHOD COMMAND…` measures.
pub fn filtering(experiment: &Experiment, name: &str) -> Option<Method> {
    let found = experiment.methods.iter().find(|method| method.name == name)?;
    Some(Method { execution: Execution::BuiltIn(filter as Build), ..found.clone() })
}

/// The command follows the word `__filter` and the method's name in this process's arguments. A
/// program that reads `buffer` takes it as its last argument.
fn filter(point: &Point) -> Result<Box<dyn Task>> {
    let buffer = point.number("buffer").ok().map(|bytes| bytes.to_string());
    let argv: Vec<String> = std::env::args().skip(3).chain(buffer).collect();
    let is_counting = std::env::var_os("BYTELAB_COUNTING").is_some();
    let counts = is_counting.then(NamedTempFile::new).transpose();
    let counts = counts.context("a file for what the program counts")?;
    copy_command(point, &argv.iter().map(String::as_str).collect::<Vec<&str>>(), counts)
}

/// The `copy` function of byte-stream, which selects the system call itself.
fn byte_stream() -> Method {
    contender("byte-stream", "byte-stream's copy", &[], |point| task(point, ByteStreamCopy))
}

struct ByteStreamCopy;

impl Copying for ByteStreamCopy {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        byte_stream::copy(&input, &output)?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
