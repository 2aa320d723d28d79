//! An output of `bytelab sample`: a whole file whose errors have its name.

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

    /// Where it gets its name, however that is written; none where it has no name to get.
    pub(super) fn place(&self) -> Option<PathBuf> {
        self.file.target().place()
    }

    /// Complete, and but for its name in its place: what could fail is done before the first of
    /// several is renamed.
    pub(super) fn ready(self) -> Result<Output> {
        let Output { file, name } = self;
        let file = file.ready().with_context(|| name.clone())?;
        Ok(Output { file, name })
    }

    /// Gives it its name, in place of a file that may have it.
    pub(super) fn finish(self) -> Result<()> {
        self.file.finish().context(self.name)
    }
}

/// Its errors have its name.
impl Write for &Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file: &File = self.file.file();
        file.write(bytes).map_err(|error| self.named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
