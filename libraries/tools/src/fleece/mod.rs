//! `bytelab fleece`: converts, checks and inspects Fleece documents. The library implements the
//! format.

mod convert;
mod document;
mod inspect;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::builder::ArgPredicate;
use clap::{Args, Subcommand};
use fleece_codec::{CheckOptions, Doc};

use self::convert::{Database, Decode, Encode, Keys};
use self::document::{DataError, Input, checked, opened};
use crate::escape_controls;
use crate::standard_streams::printed;

#[derive(Args)]
#[command(after_help = EXIT_STATUS)]
pub struct FleeceArgs {
    #[command(subcommand)]
    task: Task,
}

const EXIT_STATUS: &str = "Without FILE, or where it is -, standard input is read.\n\
    Exit status: 0 done; 1 the data is not sound, or the path leads nowhere; 2 wrong use, or a file \
    could not be read or written.";

#[derive(Subcommand)]
enum Task {
    /// Convert JSON to Fleece
    Encode(Encode),
    /// Check a Fleece document and convert it to JSON
    Decode(Decode),
    /// Check whether documents are valid; prints nothing if they are
    Check {
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Refuse dicts with duplicate keys as well, and those whose keys are not in order, in
        /// which a lookup misses pairs
        #[arg(long)]
        strict: bool,
        #[command(flatten)]
        keys: Keys,
    },
    /// Print the value at a path such as people[123].name, as JSON
    Get {
        /// Keys separated by `.`, items as `[index]`, negative from the end; or a JSON Pointer,
        /// `/people/123/name`
        #[arg(
            required_unless_present = "cblite",
            default_value_if("cblite", ArgPredicate::IsPresent, "")
        )]
        path: Option<String>,
        /// Print strings without quotes or escapes
        #[arg(short, long)]
        raw: bool,
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        decode: Decode,
    },
    /// Print every value as it is stored: offset, bytes, meaning
    Dump {
        file: Option<PathBuf>,
        #[command(flatten)]
        keys: Keys,
    },
    /// Print sizes by kind, and the bytes saved by sharing
    Stats {
        file: Option<PathBuf>,
        #[command(flatten)]
        keys: Keys,
    },
}

pub fn run(args: &FleeceArgs) -> Result<ExitCode> {
    let ended = match &args.task {
        Task::Encode(encode) => convert::encode(encode),
        Task::Decode(decode) => convert::decode(decode),
        Task::Get { path, raw, database, decode } => {
            let path = path.as_deref().unwrap_or_default();
            convert::get(path, *raw, database, decode)
        }
        Task::Check { files, strict, keys } => return check(files, *strict, keys),
        Task::Dump { file, keys } => {
            look(file.as_ref(), keys, |doc, out| inspect::dump(doc, &mut *out))
        }
        Task::Stats { file, keys } => {
            look(file.as_ref(), keys, |doc, out| inspect::stats(doc, &mut *out))
        }
    };
    match ended {
        Err(error) if error.is::<DataError>() => Ok(print_refusal(&error)),
        ended => ended.map(|()| ExitCode::SUCCESS),
    }
}

fn print_refusal(error: &anyhow::Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "bytelab: {}", escape_controls(&format!("{error:#}")));
    ExitCode::from(1)
}

/// Checks all files, even after an invalid one.
fn check(files: &[PathBuf], strict: bool, keys: &Keys) -> Result<ExitCode> {
    let options = CheckOptions::new().unique_keys(strict).sorted_keys(strict);
    let keys = keys.load()?.map(Arc::new);
    let mut code = ExitCode::SUCCESS;
    let inputs: Vec<Option<&PathBuf>> =
        if files.is_empty() { vec![None] } else { files.iter().map(Some).collect() };
    for file in inputs {
        let input = Input::read(file)?;
        // The document itself may be valid even without a table.
        match checked(&input, options.clone(), keys.clone()) {
            Err(error) if error.is::<DataError>() => code = print_refusal(&error),
            sound => drop(sound?),
        }
    }
    Ok(code)
}

/// For commands that show a document as it is stored: a damaged document is shown, too, after a
/// line that reports the damage.
fn look(
    file: Option<&PathBuf>,
    keys: &Keys,
    show: impl Fn(&Doc<&[u8]>, &mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let keys = keys.load()?.map(Arc::new);
    let input = Input::read(file)?;
    let doc = opened(&input, true, keys)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    printed(show(&doc, &mut out).and_then(|()| out.flush()))?;
    opened(&input, false, None).map(|_| ())
}
