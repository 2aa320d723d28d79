//! Input and output of the tools: files or the standard streams; an output file is whole or not there.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What was read, and what it is called in messages.
pub(super) struct Input {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl Input {
    pub(super) fn read(file: Option<&PathBuf>) -> Result<Input> {
        let Some(path) = file.filter(|path| path.as_os_str() != "-") else {
            let (name, mut bytes) = ("standard input".to_owned(), Vec::new());
            io::stdin().lock().read_to_end(&mut bytes).context("reading standard input")?;
            return Ok(Input { name, bytes });
        };
        let name = path.display().to_string();
        let bytes = fs::read(path).with_context(|| format!("reading {name}"))?;
        Ok(Input { name, bytes })
    }
}

/// Writes all to the file, or to standard output.
pub(super) fn write(output: Option<&PathBuf>, bytes: &[u8]) -> Result<()> {
    let Some(path) = output.filter(|path| path.as_os_str() != "-") else {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        return Ok(out.flush()?);
    };
    replace(path, bytes).with_context(|| format!("writing {}", path.display()))
}

/// Writes to a temporary file beside it, and renames that: whoever reads sees the old content or the new one.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    // A link stays a link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|old| !old.is_file()) {
        // A device or a FIFO is not to be replaced by a file.
        return Ok(fs::OpenOptions::new().write(true).open(&path)?.write_all(bytes)?);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mode = fs::metadata(&path).map_or(0o666, |old| old.permissions().mode());
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.persist(&path)?;
    Ok(())
}
