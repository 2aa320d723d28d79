//! The standard input of a command.

use std::fs::File;
use std::io::IsTerminal as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::{Limits, RunError};
use crate::path_text::to_path;

/// A path as the command resolves it.
pub(super) fn path(word: &str, limits: &Limits) -> PathBuf {
    limits.dir.as_deref().unwrap_or(Path::new("")).join(to_path(word))
}

/// Whether only the first process that reads it finds something there: a FIFO, a socket or a
/// terminal.
pub fn is_read_once(path: &Path) -> bool {
    let Ok(found) = std::fs::metadata(path) else { return false };
    let kind = found.file_type();
    let is_terminal = || File::open(path).is_ok_and(|file| file.is_terminal());
    kind.is_fifo() || kind.is_socket() || kind.is_char_device() && is_terminal()
}

/// The standard input of a command.
pub(super) fn input(file: Option<&str>, limits: &Limits) -> Result<OwnedFd, RunError> {
    let path = path(file.unwrap_or("/dev/null"), limits);
    if file.is_some() && is_read_once(&path) {
        // Opening a FIFO to which nobody writes would block for ever.
        return Err(RunError::Failed(format!(
            "its input {} can be read only once, and each sample reads it: name a file",
            path.display()
        )));
    }
    let opened = File::open(&path).map(OwnedFd::from);
    opened.map_err(|error| RunError::Failed(format!("its input {}: {error}", path.display())))
}
