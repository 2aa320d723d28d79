//! A file that is replaced atomically: a reader finds it complete or not at all. The bytes go to a
//! file without a name, which replaces the old file when all of them are written. Mode and owner
//! are preserved.
//!
//! The target of a symbolic link is replaced, not the link. If a file has several hard links, or
//! its owner cannot be preserved, the complete bytes are copied into it. A target that is not a
//! regular file, such as a device or a FIFO, is written directly.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use tempfile::TempPath;

/// The number of links that the kernel follows (`path_resolution(7)`).
const LINKS_LIMIT: usize = 40;

/// The file that a path refers to.
pub(crate) struct TargetPath {
    /// The path after all links are resolved.
    path: PathBuf,
    kind: TargetKind,
}

enum TargetKind {
    New,
    Regular(Metadata),
    /// Not a regular file, and therefore not replaced.
    Special(File),
}

impl TargetPath {
    pub(crate) fn new(path: &Path) -> Result<TargetPath> {
        if let Some(stream) = standard_stream(path)? {
            return Ok(TargetPath { path: path.to_owned(), kind: TargetKind::Special(stream) });
        }
        let (path, kind) = match fs::metadata(path) {
            Ok(there) if there.is_dir() => bail!("is a directory; name a file"),
            // A file that has been removed has no path except that of a descriptor in /proc.
            Ok(there) if there.is_file() && there.nlink() > 0 => {
                (fs::canonicalize(path)?, TargetKind::Regular(there))
            }
            Ok(_) => {
                (path.to_owned(), TargetKind::Special(File::options().write(true).open(path)?))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (end_of_links(path)?, TargetKind::New)
            }
            Err(error) => return Err(error.into()),
        };
        ensure!(path.file_name().is_some(), "name a file");
        let dir = folder(&path);
        if !dir.is_dir() {
            let text = format!("there is no directory {}", dir.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text).into());
        }
        Ok(TargetPath { path, kind })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether another file can replace it.
    pub(crate) fn is_regular(&self) -> bool {
        !matches!(self.kind, TargetKind::Special(_))
    }

    /// The resolved path, which is the same for every path to the file; `None` if it cannot be
    /// replaced.
    pub(crate) fn canonical_path(&self) -> Option<PathBuf> {
        let name = self.path.file_name().filter(|_| self.is_regular())?;
        Some(fs::canonicalize(folder(&self.path)).ok()?.join(name))
    }

    /// Gives the stand-in the mode and owner of the file that it will replace. If it cannot replace
    /// that file, the existing file is returned, which must receive the bytes.
    pub(crate) fn dress(&self, stand_in: &File) -> io::Result<Option<File>> {
        let TargetKind::Regular(old) = &self.kind else { return Ok(None) };
        let new = stand_in.metadata()?;
        let same_owner = (new.uid(), new.gid()) == (old.uid(), old.gid())
            || fchown(stand_in, Some(old.uid()), Some(old.gid())).is_ok();
        // This follows the change of owner, which clears set-user-ID.
        stand_in.set_permissions(old.permissions())?;
        if same_owner && old.nlink() == 1 {
            return Ok(None);
        }
        File::options().write(true).open(&self.path).map(Some)
    }
}

/// A file that is being written.
pub struct AtomicFile {
    target: TargetPath,
    file: File,
    state: AtomicFileState,
    /// No other file may be replaced.
    is_new: bool,
}

enum AtomicFileState {
    /// The bytes go directly to the target.
    Special,
    /// It will replace the target. Until then it has no name.
    #[cfg(target_os = "linux")]
    Nameless,
    /// The same, with a temporary name that is removed on drop, unless it is the name of a part.
    Named(TempPath),
    /// The target that receives a copy of the bytes, and the temporary name that is removed
    /// afterwards.
    Copied { target: File, _name: Option<TempPath> },
}

impl AtomicFile {
    pub fn create(path: &Path) -> Result<AtomicFile> {
        let target = TargetPath::new(path)?;
        if let TargetKind::Special(file) = &target.kind {
            let file = file.try_clone()?;
            return Ok(AtomicFile { target, file, state: AtomicFileState::Special, is_new: false });
        }
        #[cfg(target_os = "linux")]
        if let Ok(file) = nameless(folder(&target.path)) {
            let state = match target.dress(&file)? {
                None => AtomicFileState::Nameless,
                Some(target) => AtomicFileState::Copied { target, _name: None },
            };
            return Ok(AtomicFile { target, file, state, is_new: false });
        }
        let file = names().tempfile_in(folder(&target.path))?;
        let (file, name) = file.into_parts();
        AtomicFile::named(target, file, name)
    }

    /// Like `create`, but a file that is there already is not replaced: `None` if there is one now,
    /// an error of `finish` if there is one later. What is no regular file is written to.
    pub fn create_new(path: &Path) -> Result<Option<AtomicFile>> {
        let file = AtomicFile::create(path)?;
        let is_there = matches!(file.target.kind, TargetKind::Regular(_));
        Ok((!is_there).then_some(AtomicFile { is_new: true, ..file }))
    }

    /// Uses a complete file in the target's directory, which is open for reading. It is never
    /// removed here, as it may be the only copy: after `finish` it has either become the target, or
    /// its bytes are also on disk in the target.
    pub(crate) fn from_part(target: TargetPath, file: File, part: &Path) -> Result<AtomicFile> {
        let mut name = TempPath::try_from_path(std::path::absolute(part)?)?;
        name.disable_cleanup(true);
        AtomicFile::named(target, file, name)
    }

    fn named(target: TargetPath, file: File, name: TempPath) -> Result<AtomicFile> {
        let state = match target.dress(&file)? {
            None => AtomicFileState::Named(name),
            Some(target) => AtomicFileState::Copied { target, _name: Some(name) },
        };
        Ok(AtomicFile { target, file, state, is_new: false })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn target(&self) -> &TargetPath {
        &self.target
    }

    /// Completes the file except for the rename: every step that can fail is done before the first
    /// of several files is renamed.
    pub fn ready(self) -> Result<AtomicFile> {
        match self.state {
            #[cfg(target_os = "linux")]
            AtomicFileState::Nameless => {
                let name = link(&self.file, folder(&self.target.path))?;
                Ok(AtomicFile { state: AtomicFileState::Named(name), ..self })
            }
            _ => Ok(self),
        }
    }

    /// Replaces the target, or copies the bytes into it.
    pub fn finish(self) -> Result<()> {
        let AtomicFile { target, mut file, state, is_new } = self.ready()?;
        match state {
            AtomicFileState::Named(name) if is_new => {
                Ok(name.persist_noclobber(&target.path).map_err(io::Error::from)?)
            }
            AtomicFileState::Named(name) => {
                Ok(name.persist(&target.path).map_err(io::Error::from)?)
            }
            AtomicFileState::Copied { target, _name } => {
                file.rewind()?;
                let bytes = byte_stream::copy(&file, &target)?.bytes;
                target.set_len(bytes)?;
                // The other copy is removed next, and some file systems report a full disk only at
                // this point.
                Ok(target.sync_all()?)
            }
            _ => Ok(()),
        }
    }
}

/// Writes a file of this name; the old content remains until `write` has returned.
pub fn write<T>(path: &Path, write: impl FnOnce(&File) -> Result<T>) -> Result<T> {
    let whole = AtomicFile::create(path)?;
    let value = write(whole.file())?;
    whole.finish()?;
    Ok(value)
}

/// A standard stream is neither reopened, which would overwrite existing output, nor replaced.
fn standard_stream(path: &Path) -> io::Result<Option<File>> {
    let stream = match path.to_str() {
        Some("/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") => {
            io::stdout().flush()?;
            io::stdout().as_fd().try_clone_to_owned()?
        }
        Some("/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2") => {
            io::stderr().as_fd().try_clone_to_owned()?
        }
        _ => return Ok(None),
    };
    Ok(Some(stream.into()))
}

/// Resolves a chain of links whose last target does not exist.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_LIMIT {
        match fs::read_link(&path) {
            Ok(next) => path = folder(&path).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

fn names() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    // The umask is applied to these permissions.
    builder.prefix(".bytelab-").permissions(Permissions::from_mode(0o666));
    builder
}

#[cfg(target_os = "linux")]
fn nameless(dir: &Path) -> io::Result<File> {
    // The file gets its name through this directory.
    fs::metadata("/proc/self/fd")?;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, dir, flags, Mode::from_raw_mode(0o666))?.into())
}

/// A link cannot replace a file, but a rename can.
#[cfg(target_os = "linux")]
fn link(file: &File, dir: &Path) -> io::Result<TempPath> {
    use std::os::fd::AsRawFd;

    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let follow = AtFlags::SYMLINK_FOLLOW;
    let linked = names().make_in(dir, |name| Ok(rustix::fs::linkat(CWD, &own, CWD, name, follow)?));
    Ok(linked?.into_temp_path())
}

fn folder(target: &Path) -> &Path {
    target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
