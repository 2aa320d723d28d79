//! The location of the experiment's file, and the names that the file must not use.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::path_text::{from_path, to_path};

/// The names that a file must not use.
pub(crate) struct ReservedNames<'a> {
    pub(crate) experiments: Vec<&'a str>,
    pub(crate) flags: Vec<String>,
}

/// The location of the file.
#[derive(Clone)]
pub(super) struct FileOrigin {
    /// The absolute path; empty for a definition that was typed.
    pub(super) file: String,
    /// Where commands work and where relative paths start.
    pub(super) dir: PathBuf,
    pub(super) here: String,
    pub(super) stem: String,
    /// The value of `{program}`.
    pub(super) program: Option<String>,
}

impl FileOrigin {
    pub(super) fn from_path(path: &Path) -> Result<FileOrigin> {
        let absolute =
            std::path::absolute(path).with_context(|| format!("finding {}", path.display()))?;
        let text = |path: &Path| from_path(path).into_owned();
        let dir = absolute.parent().unwrap_or(Path::new("/")).to_owned();
        let stem = absolute.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(FileOrigin { file: text(&absolute), here: text(&dir), dir, stem, program: None })
    }

    /// A definition that was typed has no place of its own: it names its folder.
    pub(super) fn typed() -> FileOrigin {
        let root = "/".to_owned();
        let stem = String::new();
        FileOrigin {
            file: String::new(),
            dir: root.clone().into(),
            here: root,
            stem,
            program: None,
        }
    }

    /// The origin with the folder that the file names, if it names one.
    pub(super) fn in_dir(&self, dir: Option<&str>) -> FileOrigin {
        let dir = dir.map_or_else(|| self.dir.clone(), |dir| self.dir.join(to_path(dir)));
        FileOrigin { dir, ..self.clone() }
    }
}
