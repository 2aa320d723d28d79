//! Input and output of the tools: files or the standard streams. An output file is either complete
//! or absent.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

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
