//! The standard input of a command.

use std::fs::{File, Metadata};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::{Limits, RunError};
use crate::path_text::to_path;

/// A path as the command resolves it.
pub(super) fn path(word: &str, limits: &Limits) -> PathBuf {
    limits.dir.as_deref().unwrap_or(Path::new("")).join(to_path(word))
}

/// The standard input of a command.
pub(super) fn input(file: Option<&str>, limits: &Limits) -> Result<OwnedFd, RunError> {
    let path = path(file.unwrap_or("/dev/null"), limits);
    let is_read_once =
        |found: Metadata| found.file_type().is_fifo() || found.file_type().is_socket();
    if file.is_some() && std::fs::metadata(&path).is_ok_and(is_read_once) {
        // Opening a FIFO to which nobody writes would block for ever.
        return Err(RunError::Failed(format!(
            "its input {} can be read only once, and each sample reads it: name a file",
            path.display()
        )));
    }
    let opened = File::open(&path).map(OwnedFd::from);
    opened.map_err(|error| RunError::Failed(format!("its input {}: {error}", path.display())))
}
