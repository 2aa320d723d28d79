//! The file of `--trace`: that it can be written is known before anything is measured, and whoever
//! opens it finds all of it or nothing.

use std::fs::Permissions;
use std::io::BufWriter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use lab::trace::Timeline;
use tempfile::NamedTempFile;

pub(crate) struct TraceFile(PathBuf);

impl TraceFile {
    pub(crate) fn try_out(path: &Path) -> Result<TraceFile> {
        let shown = path.display();
        ensure!(path.file_name().is_some(), "--trace {shown}: name a file");
        ensure!(!path.is_dir(), "--trace {shown}: is a directory; name a file");
        let file = TraceFile(path.to_owned());
        file.temporary().with_context(|| format!("--trace {shown}: cannot be written"))?;
        Ok(file)
    }

    pub(crate) fn write(&self, timeline: &Timeline) -> Result<()> {
        let written = || -> Result<()> {
            let file = self.temporary()?;
            timeline.write(BufWriter::new(&file))?;
            file.persist(&self.0)?;
            Ok(())
        };
        written().with_context(|| format!("--trace {}", self.0.display()))
    }

    /// Beside the file, as only then it can take its place at once; as public as other new files.
    fn temporary(&self) -> std::io::Result<NamedTempFile> {
        let dir = self.0.parent().filter(|dir| !dir.as_os_str().is_empty());
        tempfile::Builder::new()
            .prefix(".bytelab-trace")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(dir.unwrap_or(Path::new(".")))
    }
}
