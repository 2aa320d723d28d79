//! A file that appears under its name when it is complete: until then it has no name, so that no death
//! of the process leaves a part of it.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, CWD, Mode, OFlags};

pub(super) struct Output {
    file: File,
    path: PathBuf,
    state: State,
}

enum State {
    /// Without a name.
    #[cfg(target_os = "linux")]
    Nameless,
    /// The file system has no nameless files: under this name, which is removed when dropped.
    Temporary(tempfile::TempPath),
    /// A device or a pipe has no other name to be renamed from.
    InPlace,
}

impl Output {
    pub(super) fn create(path: &Path) -> Result<Output> {
        // What a link points to is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let metadata = fs::metadata(&path).ok();
        if metadata.as_ref().is_some_and(fs::Metadata::is_dir) {
            bail!("{}: is a directory", path.display());
        }
        if metadata.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(&path);
            let file = file.with_context(|| path.display().to_string())?;
            return Ok(Output { file, path, state: State::InPlace });
        }
        let (file, state) =
            nameless_or_temporary(&path).with_context(|| path.display().to_string())?;
        if let Some(metadata) = metadata {
            file.set_permissions(metadata.permissions())
                .with_context(|| path.display().to_string())?;
        }
        Ok(Output { file, path, state })
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }

    /// Where it gets its name, however that is written; none where it has no name to get.
    pub(super) fn place(&self) -> Option<PathBuf> {
        match self.state {
            State::InPlace => None,
            _ => Some(fs::canonicalize(dir_of(&self.path)).ok()?.join(self.path.file_name()?)),
        }
    }

    /// Complete, and but for its name in its place: what could fail is done before the first of several is renamed.
    pub(super) fn ready(self) -> Result<Output> {
        match self.state {
            #[cfg(target_os = "linux")]
            State::Nameless => {
                let temporary = link(&self.file, &self.path);
                let temporary = temporary.with_context(|| self.path.display().to_string())?;
                Ok(Output { state: State::Temporary(temporary), ..self })
            }
            _ => Ok(self),
        }
    }

    /// Gives it its name, in place of a file that may have it.
    pub(super) fn finish(self) -> Result<()> {
        let Output { path, state, .. } = self.ready()?;
        match state {
            State::Temporary(temporary) => {
                temporary.persist(&path).with_context(|| path.display().to_string())
            }
            _ => Ok(()),
        }
    }
}

/// Its errors have its name.
impl Write for &Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&self.file).write(bytes).map_err(|error| self.named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.file).flush().map_err(|error| self.named(&error))
    }
}

fn nameless_or_temporary(path: &Path) -> io::Result<(File, State)> {
    let dir = dir_of(path);
    #[cfg(target_os = "linux")]
    if let Ok(file) = nameless(dir) {
        return Ok((file, State::Nameless));
    }
    let file = tempfile::Builder::new()
        .prefix(&beside(path, "")?)
        .suffix(".unfinished")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(dir)?;
    let (file, temporary) = file.into_parts();
    Ok((file, State::Temporary(temporary)))
}

#[cfg(target_os = "linux")]
fn nameless(dir: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, dir, flags, Mode::from_raw_mode(0o666))?.into())
}

fn dir_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// `.NAME` with an ending.
fn beside(path: &Path, ending: &str) -> io::Result<OsString> {
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidFilename)?);
    name.push(ending);
    Ok(name)
}

/// A link cannot replace a file, but a rename can.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<tempfile::TempPath> {
    use std::os::fd::AsRawFd;

    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let name = beside(path, &format!(".{}.unfinished", std::process::id()))?;
    let temporary = std::path::absolute(dir_of(path))?.join(name);
    rustix::fs::linkat(CWD, &own, CWD, &temporary, AtFlags::SYMLINK_FOLLOW)?;
    tempfile::TempPath::try_from_path(temporary)
}
