//! `encode`, `decode` and `get`: JSON to Fleece and back, and their arguments.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use fleece_codec::json::{self, ParseOptions, PrintOptions};
use fleece_codec::{Doc, Encoder, Error, Path, SharedKeys, Value};

use super::document::{self, Input, opened, refused};

#[derive(Args)]
pub(super) struct Encode {
    pub(super) file: Option<PathBuf>,
    /// Where to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// The input has one JSON text on each line; the document is an array of them
    #[arg(long)]
    pub(super) json_lines: bool,
    #[command(flatten)]
    pub(super) keys: Keys,
}

#[derive(Args)]
pub(super) struct Decode {
    pub(super) file: Option<PathBuf>,
    /// Where to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Write the items of the array, one on each line
    #[arg(long)]
    pub(super) json_lines: bool,
    /// Indent by two spaces
    #[arg(long, conflicts_with = "json_lines")]
    pub(super) pretty: bool,
    /// Do not check the document: for trusted data
    #[arg(long)]
    pub(super) trusted: bool,
    #[command(flatten)]
    pub(super) keys: Keys,
}

#[derive(Args)]
pub(super) struct Database {
    /// A Couchbase Lite database; the document is read with the shared keys of the database
    #[arg(long, value_name = "FILE.cblite2", requires = "doc", conflicts_with_all = ["file", "shared_keys"])]
    pub(super) cblite: Option<PathBuf>,
    /// The id of a document in the database's default collection, which may begin with a hyphen
    #[arg(long, value_name = "ID", requires = "cblite", allow_hyphen_values = true)]
    pub(super) doc: Option<String>,
}

#[derive(Args)]
pub(super) struct Keys {
    /// A table of shared keys: the names of numeric dict keys; `encode` creates the file and adds
    /// names
    #[arg(long, value_name = "FILE")]
    pub(super) shared_keys: Option<PathBuf>,
}

impl Keys {
    pub(super) fn load(&self) -> Result<Option<SharedKeys>> {
        let Some(path) = &self.shared_keys else { return Ok(None) };
        let state = std::fs::read(path)
            .with_context(|| format!("reading the shared keys {}", path.display()))?;
        let keys = SharedKeys::from_state(&state);
        keys.map(Some).map_err(|error| refused(&format!("{}: {error}", path.display())))
    }
}

pub(super) fn encode(args: &Encode) -> Result<()> {
    let keys = match &args.keys.shared_keys {
        Some(path) if !path.exists() => Some(SharedKeys::new()),
        _ => args.keys.load()?,
    };
    let input = Input::read(args.file.as_ref())?;
    let mut encoder = Encoder::new();
    if let Some(keys) = keys {
        encoder.set_shared_keys(keys);
    }
    if args.json_lines {
        encode_lines(&input, &mut encoder)?;
    } else {
        json::encode(&input.bytes, &mut encoder, &ParseOptions::new())
            .map_err(|error| wrong_json(&input.name, &error, 0, 0))?;
    }
    let document =
        encoder.finish().map_err(|error| refused(&format!("{}: {error}", input.name)))?;
    // The keys are written first: a document with unknown keys would be lost.
    if let (Some(path), Some(keys)) = (&args.keys.shared_keys, encoder.take_shared_keys()) {
        document::replace(path, &keys.to_state()?)
            .with_context(|| format!("writing the shared keys {}", path.display()))?;
    }
    document::write(args.output.as_ref(), &document)
}

fn encode_lines(input: &Input, encoder: &mut Encoder) -> Result<()> {
    let mut offset = 0;
    encoder.begin_array();
    for (lines_before, line) in input.bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        if !line.trim_ascii().is_empty() {
            json::encode(line, encoder, &ParseOptions::new())
                .map_err(|error| wrong_json(&input.name, &error, lines_before, offset))?;
        }
        offset += line.len();
    }
    encoder.end_array();
    Ok(())
}

/// The error's position is relative to the start of its text, so the lines and bytes before it are
/// added.
fn wrong_json(
    name: &str,
    error: &Error,
    lines_before: usize,
    bytes_before: usize,
) -> anyhow::Error {
    let text = error.to_string();
    let (line, column) = error.line_column().unwrap_or((1, 1));
    let what = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    let byte = bytes_before + error.offset().unwrap_or(0);
    let line = lines_before + line;
    refused(&format!("{name}: {what}, at line {line} column {column} (byte {byte})"))
}

pub(super) fn decode(args: &Decode) -> Result<()> {
    let input = Input::read(args.file.as_ref())?;
    let doc = readable(&input, args.trusted, args.keys.load()?)?;
    let text = print(args, &input, doc.root())?;
    document::write(args.output.as_ref(), text.as_bytes())
}

pub(super) fn get(path: &str, raw: bool, database: &Database, args: &Decode) -> Result<()> {
    let is_pointer = path.is_empty() || path.starts_with('/');
    let parsed = if is_pointer { None } else { Some(Path::new(path)) };
    let parsed = parsed.transpose().with_context(|| format!("the path {path}"))?;
    let (input, keys) = match (&database.cblite, &database.doc) {
        (Some(file), Some(id)) => document::read_document(file, id)?,
        _ => (Input::read(args.file.as_ref())?, args.keys.load()?),
    };
    let doc = readable(&input, args.trusted, keys)?;
    let found = match &parsed {
        Some(path) => path.find(doc.root()),
        None => doc.root().pointer(path),
    };
    let missing = || refused(&format!("{}: nothing at {path}", input.name));
    let value = found.ok_or_else(missing)?;
    let text = match value.as_str().filter(|_| raw) {
        Some(text) => format!("{text}\n"),
        None => print(args, &input, value)?,
    };
    document::write(args.output.as_ref(), text.as_bytes())
}

/// Without a name for each numeric key, the document cannot be read. So if there is no table, the
/// document must have no such keys.
fn readable(input: &Input, trusted: bool, keys: Option<SharedKeys>) -> Result<Doc<&[u8]>> {
    let keys = if trusted { keys } else { Some(keys.unwrap_or_default()) };
    opened(input, trusted, keys.map(Arc::new))
}

/// A text is refused if it is longer than this and longer than the document by this factor.
const TEXT_BYTES: usize = 64 << 20;
const GROWTH_MAX: usize = 256;
/// An encoder stores at most one value for each two bytes; a higher number means that collections
/// are shared.
const VALUES_MAX: usize = 1 << 18;

fn print(args: &Decode, input: &Input, value: Value<'_>) -> Result<String> {
    if !args.trusted && is_endless(input.bytes.len(), value) {
        return Err(refused(&format!(
            "{}: its values are stored once and used so often that the text would be very long; \
             --trusted writes it anyway",
            input.name
        )));
    }
    let wrong = |error: Error| refused(&format!("{}: {error}", input.name));
    if args.json_lines {
        let no_array = || refused(&format!("{}: not an array, so it has no lines", input.name));
        return json::to_lines(value.as_array().ok_or_else(no_array)?).map_err(wrong);
    }
    let options = if args.pretty { PrintOptions::new().pretty(2) } else { PrintOptions::new() };
    let mut text = options.print(value).map_err(wrong)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Whether the document expands to far more text or values than its size justifies.
fn is_endless(len: usize, value: Value<'_>) -> bool {
    let limit = len.saturating_mul(GROWTH_MAX).max(TEXT_BYTES);
    let mut bytes = 0;
    for (count, visit) in value.deep_iter().enumerate() {
        bytes += visit.value.as_str_bytes().or(visit.value.as_data()).map_or(0, <[u8]>::len);
        if bytes > limit || count > len.max(VALUES_MAX) {
            return true;
        }
    }
    false
}
