//! Where the file of an experiment is, and what is not its to name.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Names that a file may not use.
pub(crate) struct ReservedNames<'a> {
    pub(crate) experiments: Vec<&'a str>,
    pub(crate) flags: Vec<String>,
}

/// Where the file is.
pub(super) struct FileOrigin {
    /// Absolute.
    pub(super) file: String,
    pub(super) dir: PathBuf,
    pub(super) here: String,
    pub(super) stem: String,
    /// What `{program}` stands for.
    pub(super) program: Option<String>,
}

impl FileOrigin {
    pub(super) fn of(path: &Path) -> Result<FileOrigin> {
        let absolute =
            std::path::absolute(path).with_context(|| format!("finding {}", path.display()))?;
        let utf8 = |path: &Path| {
            path.to_str()
                .map(str::to_owned)
                .with_context(|| format!("{} is not UTF-8", path.display()))
        };
        let dir = absolute.parent().unwrap_or(Path::new("/")).to_owned();
        let stem = absolute.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(FileOrigin { file: utf8(&absolute)?, here: utf8(&dir)?, dir, stem, program: None })
    }
}
