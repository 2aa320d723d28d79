//! An output of `bytelab sample`: a file that appears complete, and whose errors contain its name.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::atomic_file::AtomicFile;

pub(super) struct Output {
    file: AtomicFile,
    name: String,
}

impl Output {
    pub(super) fn create(path: &Path) -> Result<Output> {
        let name = path.display().to_string();
        let file = AtomicFile::create(path).with_context(|| name.clone())?;
        Ok(Output { file, name })
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.name))
    }

    /// The resolved path at which the file will appear; `None` if it has no name.
    pub(super) fn place(&self) -> Option<PathBuf> {
        self.file.target().place()
    }

    /// Completes the file except for the rename: every step that can fail is done before the first
    /// of several files is renamed.
    pub(super) fn ready(self) -> Result<Output> {
        let Output { file, name } = self;
        let file = file.ready().with_context(|| name.clone())?;
        Ok(Output { file, name })
    }

    /// Renames the file to its final name, and replaces an existing file.
    pub(super) fn finish(self) -> Result<()> {
        self.file.finish().context(self.name)
    }
}

/// Adds the output's name to its errors.
impl Write for &Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file: &File = self.file.file();
        file.write(bytes).map_err(|error| self.named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
