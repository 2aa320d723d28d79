//! Programs in other languages that copy in the way that is idiomatic there: `bytelab __filter`
//! starts them for each copy, with our descriptors as standard input and output.

use lab::experiment::{Build, Experiment, How, Method};

use super::command::command;
use super::job::contender;

/// `bytelab __filter LANGUAGE COMMAND…` implements the line protocol for a program that copies.
pub(crate) const FILTER: &str = "__filter";

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

pub(super) fn methods() -> Vec<Method> {
    let method = |(name, about): &(&str, &str)| {
        let language = language_of(name);
        let way = name[language.len()..].trim_start_matches('-');
        let worker = format!("{{workers/{language}}}");
        let mut argv = vec!["{bytelab}", FILTER, name, &worker, "copying"];
        argv.extend(Some(way).filter(|way| !way.is_empty()));
        let reads: &[&str] = if way.is_empty() { &[] } else { &["buffer"] };
        Method {
            how: How::worker(argv),
            // Most of their time is start-up.
            default: false,
            ..contender(name, &format!("{about}, its start included"), reads, filter)
        }
    };
    LANGUAGES.iter().map(method).collect()
}

pub(crate) fn language_of(name: &str) -> &str {
    name.split_once('-').map_or(name, |(language, _)| language)
}

/// The method that `bytelab __filter METHOD COMMAND…` measures.
pub(crate) fn filtering(experiment: &Experiment, name: &str) -> Option<Method> {
    let found = experiment.methods.iter().find(|method| method.name == name)?;
    Some(Method { how: How::BuiltIn(filter as Build), ..found.clone() })
}

/// The command follows the word `__filter` and the method's name in this process's arguments. A
/// program that reads `buffer` takes it as its last argument.
fn filter(point: &lab::param::Point) -> anyhow::Result<Box<dyn lab::experiment::Task>> {
    let buffer = point.number("buffer").ok().map(|bytes| bytes.to_string());
    let argv: Vec<String> = std::env::args().skip(3).chain(buffer).collect();
    command(point, &argv.iter().map(String::as_str).collect::<Vec<&str>>())
}
