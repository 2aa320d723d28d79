//! `bytelab fleece`: converts, checks and looks into Fleece documents. All knowledge of the format
//! is the library's.

mod cblite;
mod convert;
mod dump;
mod file;
mod stats;
mod walk;

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::builder::ArgPredicate;
use clap::{Args, Subcommand};
use fleece_codec::{CheckOptions, Doc, Error, ErrorKind, SharedKeys};

use self::file::Input;

#[derive(Args)]
#[command(after_help = EXIT_STATUS)]
pub(crate) struct FleeceArgs {
    #[command(subcommand)]
    task: Task,
}

const EXIT_STATUS: &str = "Without FILE, or where it is -, standard input is read.\n\
    Exit status: 0 done; 1 the data is not sound, or the path leads nowhere; 2 wrong use, or a file \
    could not be read or written.";

#[derive(Subcommand)]
enum Task {
    /// JSON to Fleece
    Encode(Encode),
    /// Fleece to JSON, after a check
    Decode(Decode),
    /// Is the document sound? Says nothing if it is
    Check {
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        keys: Keys,
    },
    /// The value at a path such as people[123].name, as JSON
    Get {
        /// Keys separated by `.`, items as `[index]`, from the end if below 0; or a JSON Pointer,
        /// `/people/123/name`
        #[arg(
            required_unless_present = "cblite",
            default_value_if("cblite", ArgPredicate::IsPresent, "")
        )]
        path: Option<String>,
        /// Print strings as they are, without quotes
        #[arg(short, long)]
        raw: bool,
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        decode: Decode,
    },
    /// Every value as it is stored: offset, bytes, meaning
    Dump {
        file: Option<PathBuf>,
        #[command(flatten)]
        keys: Keys,
    },
    /// Sizes by kind, and what sharing saved
    Stats {
        file: Option<PathBuf>,
        #[command(flatten)]
        keys: Keys,
    },
}

#[derive(Args)]
struct Encode {
    file: Option<PathBuf>,
    /// Where to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The input has one JSON text a line; the document is an array of them
    #[arg(long)]
    json_lines: bool,
    #[command(flatten)]
    keys: Keys,
}

#[derive(Args)]
struct Decode {
    file: Option<PathBuf>,
    /// Where to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The items of the array, one a line
    #[arg(long)]
    json_lines: bool,
    /// Indented by two spaces
    #[arg(long, conflicts_with = "json_lines")]
    pretty: bool,
    /// Do not check: for data that you trust
    #[arg(long)]
    trusted: bool,
    #[command(flatten)]
    keys: Keys,
}

#[derive(Args)]
struct Database {
    /// A Couchbase Lite database; the document is read with the shared keys that are in it
    #[arg(long, value_name = "FILE.cblite2", requires = "doc", conflicts_with_all = ["file", "shared_keys"])]
    cblite: Option<PathBuf>,
    /// The document of the database's default collection
    #[arg(long, value_name = "ID", requires = "cblite")]
    doc: Option<String>,
}

#[derive(Args)]
struct Keys {
    /// Names that dict keys are numbers of; `encode` makes the file and adds to it
    #[arg(long, value_name = "FILE")]
    shared_keys: Option<PathBuf>,
}

impl Keys {
    fn load(&self) -> Result<Option<SharedKeys>> {
        let Some(path) = &self.shared_keys else { return Ok(None) };
        let state = std::fs::read(path)
            .with_context(|| format!("reading the shared keys {}", path.display()))?;
        let keys = SharedKeys::from_state(&state);
        keys.map(Some).map_err(|error| refused(&format!("{}: {error}", path.display())))
    }
}

/// What is wrong with the data, as opposed to the use: exit status 1.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

fn refused(message: &str) -> anyhow::Error {
    Refused(message.to_owned()).into()
}

pub(crate) fn run(args: &FleeceArgs) -> Result<ExitCode> {
    let ended = match &args.task {
        Task::Encode(encode) => convert::encode(encode),
        Task::Decode(decode) => convert::decode(decode),
        Task::Get { path, raw, database, decode } => {
            let path = path.as_deref().unwrap_or_default();
            convert::get(path, *raw, database, decode)
        }
        Task::Check { files, keys } => return check(files, keys),
        Task::Dump { file, keys } => {
            look(file.as_ref(), keys, |doc, out| dump::write(doc, &mut *out))
        }
        Task::Stats { file, keys } => {
            look(file.as_ref(), keys, |doc, out| stats::write(doc, &mut *out))
        }
    };
    match ended {
        Err(error) if error.is::<Refused>() => told(&error),
        ended => ended.map(|()| ExitCode::SUCCESS),
    }
}

fn told(error: &anyhow::Error) -> Result<ExitCode> {
    writeln!(io::stderr(), "bytelab: {error:#}")?;
    Ok(ExitCode::from(1))
}

/// Looks at all files, also after one that is not sound.
fn check(files: &[PathBuf], keys: &Keys) -> Result<ExitCode> {
    let keys = keys.load()?.map(Arc::new);
    let mut code = ExitCode::SUCCESS;
    let inputs: Vec<Option<&PathBuf>> =
        if files.is_empty() { vec![None] } else { files.iter().map(Some).collect() };
    for file in inputs {
        let input = Input::read(file)?;
        // Without a table the document itself may be sound.
        match opened(&input, false, keys.clone()) {
            Err(error) if error.is::<Refused>() => code = told(&error)?,
            checked => drop(checked?),
        }
    }
    Ok(code)
}

/// A document, checked if it is not trusted; then each key that is a number has a name in the
/// table, if there is one.
fn opened(input: &Input, trusted: bool, keys: Option<Arc<SharedKeys>>) -> Result<Doc<&[u8]>> {
    let bytes = input.bytes.as_slice();
    let wrong = |error: Error| refused(&format!("{}: {error}", input.name));
    let Some(keys) = keys else {
        return if trusted { Doc::open(bytes) } else { Doc::check(bytes) }.map_err(wrong);
    };
    if trusted {
        return Doc::open(bytes).map(|doc| doc.with_shared_keys(keys)).map_err(wrong);
    }
    CheckOptions::new().shared_keys(keys).check(bytes).map_err(|error| match error.offset() {
        Some(at) if error.kind() == ErrorKind::UnknownSharedKey => unknown_key(input, at),
        _ => wrong(error),
    })
}

fn unknown_key(input: &Input, at: usize) -> anyhow::Error {
    let number = match input.bytes.get(at..at + 2) {
        Some(&[high @ 0..8, low]) => format!("key number {}", u16::from_be_bytes([high, low])),
        _ => "a key that is a number".to_owned(),
    };
    let name = &input.name;
    refused(&format!(
        "{name}: {number} has no name, at byte {at}; give the table with --shared-keys"
    ))
}

/// For what shows a document as it is stored: a damaged one, too, after a line that says so.
fn look(
    file: Option<&PathBuf>,
    keys: &Keys,
    show: impl Fn(&Doc<&[u8]>, &mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let keys = keys.load()?.map(Arc::new);
    let input = Input::read(file)?;
    let doc = opened(&input, true, keys)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    show(&doc, &mut out)?;
    out.flush()?;
    opened(&input, false, None).map(|_| ())
}
