//! Opening an SQLite store: what is refused and why, and how a new store is created. A refused file
//! is left unchanged: nothing is written before all checks have passed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use super::checksums::{self, NewerSchema};
use crate::interface::{LOCK_LIMIT, Locked, NoRun, Unreadable};

/// Marks an SQLite file as a store: "btlb".
const APPLICATION_ID: i32 = 0x6274_6c62;

/// The mark of the stores that were written before the first release: "bylb".
const UNRELEASED_ID: i32 = 0x6279_6c62;

/// The version of the tables, as `PRAGMA user_version` has it.
const SCHEMA_VERSION: i32 = 1;
const SCHEMA: &str = include_str!("schema.sql");

/// A run seldom writes more pages than this. So the log is written back into the file, which waits
/// for the device, when the run ends and not between two samples.
const CHECKPOINT_PAGES: i32 = 10_000;

/// The size of the smallest page, and so of the smallest file, in bytes.
const PAGE_MIN: u64 = 512;

const NOT_SQLITE: &str = "not an SQLite file: name another one with --store, or, if it was a store, \
                          restore it from a copy";
const NOT_WRITABLE: &str = "it or its directory cannot be written: change the permissions, copy it to \
                            another place, or name another one with --store";
const TOO_LARGE: &str = "a file may not become larger than the limit of this shell: raise it with ulimit -f, or \
                         name another store with --store";
const FULL: &str = "no space left on its device: make some";
const RESTORE: &str =
    "restore it from a copy, or move it and its -wal file away and a new one is made";

/// The connection, and the full path of the file.
pub(super) fn open(path: &Path) -> Result<(Connection, PathBuf)> {
    // A full path is never taken for an URI or `:memory:` by SQLite.
    let path = std::path::absolute(path)
        .with_context(|| format!("store {}: not a path", path.display()))?;
    if !is_there(&path)? {
        create(&path).map_err(|error| match no_room(&path, &error) {
            Some(_) => explain(&path, error),
            None => error,
        })?;
    }
    inspect(&path).map_err(|error| explain(&path, error))?;
    let connection = connect(&path).map_err(|error| explain(&path, error))?;
    Ok((connection, path))
}

/// Whether a file exists that may be a store.
fn is_there(path: &Path) -> Result<bool> {
    let shown = path.display();
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Another process may have created the store just now: then it is not a dangling link.
            if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
                bail!("store {shown} is a link to nothing: delete it, or put the file back");
            }
            return Ok(false);
        }
        Err(error) => {
            return Err(error).with_context(|| {
                format!("store {shown} cannot be looked at: name another one with --store")
            });
        }
        Ok(metadata) => metadata,
    };
    if metadata.is_dir() {
        bail!("store {shown} is a directory: name a file in it, such as {shown}/runs.sqlite");
    }
    if !metadata.is_file() {
        bail!("store {shown} is not a regular file: name another one with --store");
    }
    if metadata.len() == 0 {
        bail!("store {shown} is an empty file: delete it and a new store is made in its place");
    }
    if metadata.len() < PAGE_MIN {
        // SQLite itself treats it as an empty database.
        bail!("store {shown}: {NOT_SQLITE}");
    }
    Ok(true)
}

/// Refuses a file that is not a store of ours. Reads the file as immutable, so that SQLite neither
/// locks it nor creates a log next to it.
///
/// The file is opened only through SQLite: closing another descriptor would release the locks that
/// any other connection of this process holds on it.
fn inspect(path: &Path) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let escaped: Vec<_> = path.as_os_str().as_bytes().iter().map(|b| format!("%{b:02x}")).collect();
    let uri = format!("file:{}?immutable=1", escaped.concat());
    let connection = Connection::open_with_flags(uri, flags)?;
    match check_identity(&connection) {
        // Another process may be writing its log back at this moment: only a check with the lock
        // held can decide.
        Err(error) if code(&error) == Some(ErrorCode::DatabaseCorrupt) => Ok(()),
        other => other,
    }
}

fn check_identity(connection: &Connection) -> Result<()> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let id = pragma("application_id")?;
    ensure!(
        id != UNRELEASED_ID,
        "it was written before bytelab 0.1.0: export its runs as JSON with the program that wrote it, \
         import them, and name another store with --store"
    );
    ensure!(
        id == APPLICATION_ID,
        "an SQLite file, but not a store of bytelab: name another one with --store"
    );
    let schema = pragma("user_version")?;
    ensure!(schema > 0, "damaged (schema {schema}); {RESTORE}");
    ensure!(
        schema <= SCHEMA_VERSION,
        "it has schema {schema}, and this bytelab knows schemas up to {SCHEMA_VERSION}: update \
         bytelab, or name another one with --store"
    );
    Ok(())
}

/// Reads and writes.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

fn connect(path: &Path) -> Result<Connection> {
    // Kept until this process has the store open, which the next one notices.
    let log = lock_log(path)?;
    let log_was_there = log.is_some();
    if log_was_there {
        check_after_kill(path)?;
    }
    let connection = Connection::open_with_flags(path, FLAGS)?;
    connection.busy_timeout(LOCK_LIMIT)?;
    if let Err(error) = check(&connection) {
        // Otherwise the last connection to close writes the log back into the file.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, log_was_there)?;
        return Err(error);
    }
    checksums::define(&connection)?;
    // Otherwise each `append` is compiled again, because its parameters might change the plan.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    Ok(connection)
}

/// Refuses a store that is newer, damaged or cannot be written. Reads only.
fn check(connection: &Connection) -> Result<()> {
    // The file may come from anywhere: no code in its schema may run.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    ensure!(!connection.is_readonly(MAIN_DB)?, NOT_WRITABLE);
    check_identity(connection)
}

/// The log of the store, if it is there, locked: of several processes that open the store after a
/// kill, the first one checks it, and the others wait until they can see the result. SQLite itself
/// does not lock this file.
fn lock_log(path: &Path) -> Result<Option<File>> {
    loop {
        let log = match File::open(with_suffix(path, "-wal")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            log => log.context("its log")?,
        };
        log.lock().context("its log")?;
        // The process that had the lock may have closed the store, which deletes the log.
        if log.metadata()?.nlink() > 0 {
            return Ok(Some(log));
        }
    }
}

/// Reads the whole store if its log is there and no process has it open: the last one did not close
/// it, and the machine may have lost power. After a usual end nothing is read in advance, because
/// that takes a second for a million samples and fills the page cache before a measurement.
fn check_after_kill(path: &Path) -> Result<()> {
    let connection = Connection::open_with_flags(path, FLAGS)?;
    // Closing it must not write the log back into a file that is refused.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Only the sole user of a store gets this lock, and it does not wait for it.
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    let checked = check(&connection).and_then(|()| check_all(&connection, "quick_check"));
    match checked {
        Err(error)
            if matches!(
                code(&error),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
            ) =>
        {
            Ok(())
        }
        checked => checked,
    }
}

/// Reads every page of the store, by one of SQLite's two pragmas for that.
pub(super) fn check_all(connection: &Connection, pragma: &str) -> Result<()> {
    let found: String =
        connection.query_row(&format!("PRAGMA {pragma}(1)"), [], |row| row.get(0))?;
    ensure!(found == "ok", "damaged ({found}); {RESTORE}");
    Ok(())
}

/// Creates an empty store. It is created under a temporary name in the same directory and then
/// renamed, so that no other process sees an incomplete one; if another process was faster, its
/// store is kept.
fn create(path: &Path) -> Result<()> {
    let log = with_suffix(path, "-wal");
    if fs::exists(&log)? && !is_there(path)? {
        bail!(
            "store {} is gone, but its log {} is there: put the store back, or delete the log",
            path.display(),
            log.display()
        );
    }
    let directory = path.parent().context("the store has no directory")?;
    let cannot =
        || format!("store {} cannot be made: name another one with --store", path.display());
    fs::create_dir_all(directory).with_context(cannot)?;
    let file = tempfile::Builder::new()
        .prefix(".bytelab-store-")
        // The umask is applied, as for every other file.
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
        .tempfile_in(directory)
        .with_context(cannot)?;
    fill(file.path()).with_context(cannot)?;
    file.as_file().sync_all().with_context(cannot)?;
    // Closes the file only now, for the reason given at `inspect`.
    match file.into_temp_path().persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => {
            Err(error.error).with_context(cannot)
        }
        _ => Ok(()),
    }
}

fn fill(path: &Path) -> Result<()> {
    let connection = Connection::open(path)?;
    // No other process has access to this file yet, and it is synced as a whole.
    connection.pragma_update(None, "journal_mode", "MEMORY")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.execute_batch(SCHEMA)?;
    connection.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.close().map_err(|(_, error)| error.into())
}

/// Brings what was committed onto the device: the log, and then the file, so that closing the store
/// has nothing left to write. While others read the store, the file gets it later.
pub(super) fn sync(connection: &Connection, path: &Path) -> Result<()> {
    let pages = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        // Whether another process writes the log back, its pages, and those that are in the file.
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    });
    if matches!(pages, Ok((0, all, written)) if all == written) {
        return Ok(());
    }
    let log = File::open(with_suffix(path, "-wal"));
    log.and_then(|log| log.sync_all()).context("its log")
}

/// Gives the space of deleted runs back to the file system.
pub(super) fn shrink(connection: &Connection) -> rusqlite::Result<()> {
    // Each step frees a page.
    let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    // The file gets shorter when the log is written back into it.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// Explains what an error means for this store and what to do about it.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
pub(super) fn explain(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let (shown, text) = (path.display(), one_line(&error));
    if let Some(meaning) = no_room(path, &error) {
        return anyhow!("store {shown}: {meaning} ({text})");
    }
    let meaning = match code(&error) {
        Some(ErrorCode::NotADatabase) => NOT_SQLITE.to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => format!("damaged; {RESTORE}"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let meaning = "another program keeps it locked: try again when it is done";
            return Locked(format!("store {shown}: {meaning} ({text})")).into();
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            NOT_WRITABLE.to_owned()
        }
        _ if error.is::<Unreadable>() => {
            return Unreadable(format!("store {shown}: {text}")).into();
        }
        _ if error.is::<NoRun>() => return NoRun(format!("store {shown}: {text}")).into(),
        _ => return anyhow!("store {shown}: {text}"),
    };
    anyhow!("store {shown}: {meaning} ({text})")
}

/// The error of reading a run. What cannot be parsed is damaged as well; what SQLite cannot read
/// now, as the file is locked or its device fails, is not.
pub(super) fn damaged(error: anyhow::Error) -> anyhow::Error {
    let is_damage = matches!(code(&error), None | Some(ErrorCode::DatabaseCorrupt));
    if !is_damage || error.is::<NewerSchema>() {
        return error;
    }
    let what = one_line(&error);
    let advice = "restore the store from a copy, or delete the run";
    Unreadable(format!("its data is damaged ({what}); {advice}")).into()
}

/// The chain of an error without the levels below SQLite's, which repeat the same text, and without
/// the line ends and the full length of quotations from a damaged store.
fn one_line(error: &anyhow::Error) -> String {
    const LIMIT: usize = 300;
    let above = error.chain().take_while(|cause| !cause.is::<rusqlite::Error>());
    let sqlite = error.chain().filter(|cause| cause.is::<rusqlite::Error>()).take(1);
    let text = above.chain(sqlite).map(ToString::to_string).collect::<Vec<_>>().join(": ");
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Whether the device of the store has no room at all.
fn is_device_full(path: &Path) -> bool {
    let directory = path.parent().unwrap_or(path);
    rustix::fs::statvfs(directory).is_ok_and(|device| device.f_bavail == 0)
}

/// Whether this process may not write files of any size.
fn has_size_limit() -> bool {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current.is_some()
}

/// The meaning of an error that says that a file may not grow.
fn no_room(path: &Path, error: &anyhow::Error) -> Option<&'static str> {
    match code(error) {
        Some(ErrorCode::DiskFull) => Some(FULL),
        // SQLite has no other word for it.
        Some(ErrorCode::SystemIoFailure) if is_device_full(path) => Some(FULL),
        Some(ErrorCode::SystemIoFailure) if has_size_limit() => Some(TOO_LARGE),
        _ if has_io_error(error, io::ErrorKind::StorageFull) => Some(FULL),
        _ if has_io_error(error, io::ErrorKind::QuotaExceeded) => Some(FULL),
        _ if has_io_error(error, io::ErrorKind::FileTooLarge) => Some(TOO_LARGE),
        _ => None,
    }
}

fn has_io_error(error: &anyhow::Error, kind: io::ErrorKind) -> bool {
    let mut errors = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    errors.any(|error| error.kind() == kind)
}

fn code(error: &anyhow::Error) -> Option<ErrorCode> {
    error.chain().find_map(|cause| cause.downcast_ref::<rusqlite::Error>()?.sqlite_error_code())
}
