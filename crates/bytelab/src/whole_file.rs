//! A file that whoever opens it finds whole, or not at all.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Result, ensure};
use tempfile::NamedTempFile;

/// Writes a file of this name; until `write` is done, what was there before stays. What is no file, as
/// `/dev/stdout` is none, is written to as it is.
pub(crate) fn write<T>(path: &Path, write: impl FnOnce(&File) -> Result<T>) -> Result<T> {
    ensure!(path.file_name().is_some(), "name a file");
    // The link stays one.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let there = target.metadata().ok();
    ensure!(there.as_ref().is_none_or(|there| !there.is_dir()), "is a directory; name a file");
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        return write(&File::options().write(true).open(&target)?);
    }
    let dir = folder(&target);
    ensure!(dir.is_dir(), "there is no directory {}", dir.display());
    let file = temporary(&target)?;
    // As public as the one that was there.
    if let Some(there) = there {
        file.as_file().set_permissions(there.permissions())?;
    }
    let value = write(file.as_file())?;
    file.persist(&target).map_err(io::Error::from)?;
    Ok(value)
}

/// What becomes a file of this name by renaming: beside it, as only then it can take its place at once; as public as other
/// new files.
pub(crate) fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".bytelab-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder(target))
}

fn folder(target: &Path) -> &Path {
    target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
