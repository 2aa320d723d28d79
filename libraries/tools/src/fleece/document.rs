//! Documents: read from files, standard input or databases, opened checked or trusted, and written.
//! An output file is either complete or absent.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use anyhow::{Context, Result};
use fleece_codec::{CheckOptions, Doc, Error, ErrorKind, SharedKeys};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use crate::atomic_file;
use crate::standard_streams::{StandardStream, check, printed};

/// The input's content, and its name in messages.
pub(super) struct Input {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl Input {
    pub(super) fn read(file: Option<&PathBuf>) -> Result<Input> {
        let Some(path) = file.filter(|path| path.as_os_str() != "-") else {
            let (name, mut bytes) = ("standard input".to_owned(), Vec::new());
            check(StandardStream::Input).context("reading standard input")?;
            io::stdin().lock().read_to_end(&mut bytes).context("reading standard input")?;
            return Ok(Input { name, bytes });
        };
        let name = path.display().to_string();
        let bytes = fs::read(path).with_context(|| format!("reading {name}"))?;
        Ok(Input { name, bytes })
    }
}

/// Writes all bytes to the file, or to standard output.
pub(super) fn write(output: Option<&PathBuf>, bytes: &[u8]) -> Result<()> {
    let Some(path) = output.filter(|path| path.as_os_str() != "-") else {
        check(StandardStream::Output).context("writing standard output")?;
        let mut out = io::stdout().lock();
        return Ok(printed(out.write_all(bytes).and_then(|()| out.flush()))?);
    };
    replace(path, bytes).with_context(|| format!("writing {}", path.display()))
}

/// Replaces the file atomically: a reader sees either the old content or the new content.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    atomic_file::write(path, |mut file| Ok(file.write_all(bytes)?))
}

/// Opens the document and checks it unless it is trusted. If there is a table of shared keys, the
/// check also requires a name for each numeric key.
pub(super) fn opened(
    input: &Input,
    trusted: bool,
    keys: Option<Arc<SharedKeys>>,
) -> Result<Doc<&[u8]>> {
    if !trusted {
        return checked(input, CheckOptions::new(), keys);
    }
    let doc = Doc::open(input.bytes.as_slice()).map_err(|error| unsound(input, &error))?;
    Ok(match keys {
        Some(keys) => doc.with_shared_keys(keys),
        None => doc,
    })
}

/// The same for a document that is checked with these options.
pub(super) fn checked(
    input: &Input,
    options: CheckOptions,
    keys: Option<Arc<SharedKeys>>,
) -> Result<Doc<&[u8]>> {
    let options = match keys {
        Some(keys) => options.shared_keys(keys),
        None => options,
    };
    options.check(input.bytes.as_slice()).map_err(|error| match error.offset() {
        Some(at) if error.kind() == ErrorKind::UnknownSharedKey => unknown_key(input, at),
        _ => unsound(input, &error),
    })
}

fn unsound(input: &Input, error: &Error) -> anyhow::Error {
    refused(&format!("{}: {error}", input.name))
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

/// Describes a fault in the data, as opposed to wrong use: exit status 1.
#[derive(Debug)]
pub(super) struct DataError(String);

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DataError {}

pub(super) fn refused(message: &str) -> anyhow::Error {
    DataError(message.to_owned()).into()
}

/// The first schema version in which `body` is the document; in earlier versions it was a revision
/// tree.
const BODIES_SINCE: i64 = 400;
/// The bit of `flags` that marks a deleted document.
const DELETED: i64 = 1;

/// The document, and the table of its shared keys.
///
/// A database of Couchbase Lite is a folder with an SQLite file, in which the default collection is
/// the table `kv_default`, and the shared keys are a row of `kv_info`. The database is only read,
/// and must not be encrypted.
pub(super) fn read_document(database: &Path, id: &str) -> Result<(Input, Option<SharedKeys>)> {
    let path = if database.is_dir() { database.join("db.sqlite3") } else { database.to_owned() };
    let name = path.display().to_string();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(&path, flags).with_context(|| format!("opening {name}"))?;
    let version = connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    let version = match version {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            let message =
                "encrypted, or not a database: only databases without encryption can be read";
            return Err(refused(&format!("{name}: {message}")));
        }
        version => version.with_context(|| format!("reading {name}"))?,
    };
    if !has_table(&connection, "kv_default")? {
        return Err(refused(&format!("{name}: not a database of Couchbase Lite 2 or later")));
    }
    if version < BODIES_SINCE {
        let message = "it was written by Couchbase Lite before 3.0, which keeps trees of revisions; \
            open it once with a later one";
        return Err(refused(&format!("{name}: {message}")));
    }
    let body = body(&connection, &name, id)?;
    let keys = shared_keys(&connection, &name)?;
    Ok((Input { name: format!("{name}: document {id}"), bytes: body }, keys))
}

fn body(connection: &Connection, name: &str, id: &str) -> Result<Vec<u8>> {
    let sql = "SELECT flags, body FROM kv_default WHERE key = ?";
    let row = connection
        .query_row(sql, [id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<Vec<u8>>>(1)?)));
    let row = row.optional().with_context(|| format!("reading {name}"))?;
    match row {
        None => Err(refused(&format!("{name}: no document {id} in the default collection"))),
        Some((flags, _)) if flags & DELETED != 0 => {
            Err(refused(&format!("{name}: the document {id} is deleted")))
        }
        Some((_, None)) => Err(refused(&format!("{name}: the document {id} has no body"))),
        Some((_, Some(body))) => Ok(body),
    }
}

fn shared_keys(connection: &Connection, name: &str) -> Result<Option<SharedKeys>> {
    if !has_table(connection, "kv_info")? {
        return Ok(None);
    }
    let sql = "SELECT body FROM kv_info WHERE key = 'SharedKeys'";
    let state = connection.query_row(sql, [], |row| row.get::<_, Vec<u8>>(0)).optional();
    let Some(state) = state.with_context(|| format!("reading {name}"))? else { return Ok(None) };
    let keys = SharedKeys::from_state(&state);
    keys.map(Some).map_err(|error| refused(&format!("{name}: its shared keys: {error}")))
}

fn has_table(connection: &Connection, name: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?";
    Ok(connection.query_row(sql, [name], |_| Ok(())).optional()?.is_some())
}
