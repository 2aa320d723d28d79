//! The file of `--trace`: it is opened before anything is measured, to find out whether it can be
//! written, and it appears complete or not at all.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::timeline::Timeline;

use tools::atomic_file::AtomicFile;

pub(super) struct TraceFile {
    name: PathBuf,
    file: AtomicFile,
}

impl TraceFile {
    pub(super) fn create(name: &Path) -> Result<TraceFile> {
        let file = AtomicFile::create(name)
            .with_context(|| format!("--trace {}: cannot be written", name.display()))?;
        Ok(TraceFile { name: name.to_owned(), file })
    }

    pub(super) fn write(self, timeline: &Timeline) -> Result<()> {
        let TraceFile { name, file } = self;
        let written = timeline.write(BufWriter::new(file.file()));
        written
            .map_err(anyhow::Error::from)
            .and_then(|()| file.finish())
            .with_context(|| format!("--trace {}", name.display()))
    }
}
