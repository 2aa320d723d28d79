//! The file of `--trace`: that it can be written is known before anything is measured, and whoever
//! opens it finds all of it or nothing.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use lab::trace::Timeline;

use crate::whole_file::temporary;

pub(crate) struct TraceFile(PathBuf);

impl TraceFile {
    pub(crate) fn try_out(path: &Path) -> Result<TraceFile> {
        let shown = path.display();
        ensure!(path.file_name().is_some(), "--trace {shown}: name a file");
        ensure!(!path.is_dir(), "--trace {shown}: is a directory; name a file");
        temporary(path).with_context(|| format!("--trace {shown}: cannot be written"))?;
        Ok(TraceFile(path.to_owned()))
    }

    pub(crate) fn write(&self, timeline: &Timeline) -> Result<()> {
        let written = || -> Result<()> {
            let file = temporary(&self.0)?;
            timeline.write(BufWriter::new(&file))?;
            file.persist(&self.0)?;
            Ok(())
        };
        written().with_context(|| format!("--trace {}", self.0.display()))
    }
}
