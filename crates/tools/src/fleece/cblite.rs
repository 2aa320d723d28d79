//! Documents of Couchbase Lite databases. A database is a folder with an SQLite file, in which the
//! default collection is the table `kv_default`, and the shared keys are a row of `kv_info`. The
//! database is only read, and must not be encrypted.

use std::path::Path;

use anyhow::{Context, Result};
use fleece_codec::SharedKeys;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};

use super::file::Input;
use super::refused::refused;

/// The first schema version in which `body` is the document; in earlier versions it was a revision
/// tree.
const BODIES_SINCE: i64 = 400;
/// The bit of `flags` that marks a deleted document.
const DELETED: i64 = 1;

/// The document, and the table of its shared keys.
pub(super) fn read(database: &Path, id: &str) -> Result<(Input, Option<SharedKeys>)> {
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
