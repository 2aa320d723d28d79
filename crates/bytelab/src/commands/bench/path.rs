//! Paths of the command line as text: a definition is text, and its commands may work elsewhere.

use std::path::{Path, absolute};

use anyhow::{Context, Result, ensure};
use lab::path_text::{from_path, to_path};

/// The absolute path of a file that must exist.
pub(super) fn existing(flag: &str, file: &str) -> Result<String> {
    std::fs::metadata(to_path(file)).with_context(|| format!("{flag} {file}"))?;
    of_any(flag, file)
}

/// The absolute path of a file that may not exist.
pub(super) fn of_any(flag: &str, file: &str) -> Result<String> {
    let path = absolute(to_path(file)).with_context(|| format!("{flag} {file}"))?;
    Ok(text(&path))
}

/// The folder where commands work: that of `--cwd`, else the current one.
pub(super) fn folder(given: Option<&Path>) -> Result<String> {
    let Some(dir) = given else {
        return Ok(text(
            &std::env::current_dir().context("the working directory: change to one that exists")?,
        ));
    };
    let found = std::fs::metadata(dir).with_context(|| format!("--cwd {}", dir.display()))?;
    ensure!(found.is_dir(), "--cwd {}: it is not a directory", dir.display());
    Ok(text(&absolute(dir).with_context(|| format!("--cwd {}", dir.display()))?))
}

fn text(path: &Path) -> String {
    from_path(path).into_owned()
}
