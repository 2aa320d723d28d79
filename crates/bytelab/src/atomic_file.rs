//! A file that whoever opens it finds whole, or not at all: the bytes go to a file without a name,
//! which takes the place of the old one when they are all there. Mode and owner stay as they were.
//!
//! What a link leads to is replaced, not the link. A file that has further names, or whose owner
//! cannot be kept, gets a copy of the bytes when they are all there. What is no regular file, as a
//! device or a FIFO, is written to.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
#[cfg(target_os = "linux")]
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use tempfile::TempPath;

/// As many links as the kernel follows (`path_resolution(7)`).
const LINKS_LIMIT: usize = 40;

/// What a name stands for.
pub(crate) struct Target {
    /// Behind all links.
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    New,
    Regular(Metadata),
    /// Nothing takes the place of it.
    Special(File),
}

impl Target {
    pub(crate) fn new(path: &Path) -> Result<Target> {
        if let Some(stream) = standard_stream(path)? {
            return Ok(Target { path: path.to_owned(), kind: Kind::Special(stream) });
        }
        let (path, kind) = match fs::metadata(path) {
            Ok(there) if there.is_dir() => bail!("is a directory; name a file"),
            // A file that has been removed is found by no name, but by that of a descriptor in
            // /proc.
            Ok(there) if there.is_file() && there.nlink() > 0 => {
                (fs::canonicalize(path)?, Kind::Regular(there))
            }
            Ok(_) => (path.to_owned(), Kind::Special(File::options().write(true).open(path)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (end_of_links(path)?, Kind::New)
            }
            Err(error) => return Err(error.into()),
        };
        ensure!(path.file_name().is_some(), "name a file");
        let dir = folder(&path);
        if !dir.is_dir() {
            let text = format!("there is no directory {}", dir.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text).into());
        }
        Ok(Target { path, kind })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether another file can take its place.
    pub(crate) fn is_regular(&self) -> bool {
        !matches!(self.kind, Kind::Special(_))
    }

    /// The same, whatever way led there; none where nothing takes the place.
    pub(crate) fn place(&self) -> Option<PathBuf> {
        let name = self.path.file_name().filter(|_| self.is_regular())?;
        Some(fs::canonicalize(folder(&self.path)).ok()?.join(name))
    }

    /// Gives the stand-in mode and owner of the file whose place it takes. Where it cannot take the
    /// place, the file that is there, which is to get the bytes.
    pub(crate) fn dress(&self, stand_in: &File) -> io::Result<Option<File>> {
        let Kind::Regular(old) = &self.kind else { return Ok(None) };
        let new = stand_in.metadata()?;
        let same_owner = (new.uid(), new.gid()) == (old.uid(), old.gid())
            || fchown(stand_in, Some(old.uid()), Some(old.gid())).is_ok();
        // After the owner, whose change takes set-user-ID away.
        stand_in.set_permissions(old.permissions())?;
        if same_owner && old.nlink() == 1 {
            return Ok(None);
        }
        File::options().write(true).open(&self.path).map(Some)
    }
}

/// A file that is being written.
pub(crate) struct AtomicFile {
    target: Target,
    file: File,
    state: State,
}

enum State {
    /// It is the target itself.
    Special,
    /// It takes the target's place. Until then it has no name.
    #[cfg(target_os = "linux")]
    Nameless,
    /// The same, under a name that is removed when this is dropped, unless it is a part's.
    Named(TempPath),
    /// What the target gets the bytes of, and the name that is removed then.
    Copied { target: File, _name: Option<TempPath> },
}

impl AtomicFile {
    pub(crate) fn create(path: &Path) -> Result<AtomicFile> {
        let target = Target::new(path)?;
        if let Kind::Special(file) = &target.kind {
            let file = file.try_clone()?;
            return Ok(AtomicFile { target, file, state: State::Special });
        }
        #[cfg(target_os = "linux")]
        if let Ok(file) = nameless(folder(&target.path)) {
            let state = match target.dress(&file)? {
                None => State::Nameless,
                Some(target) => State::Copied { target, _name: None },
            };
            return Ok(AtomicFile { target, file, state });
        }
        let file = names().tempfile_in(folder(&target.path))?;
        let (file, name) = file.into_parts();
        AtomicFile::named(target, file, name)
    }

    /// From a file that is beside the target, has all bytes and is open for reading. It is never
    /// removed here, as it may be the only copy: after `finish` it has either become the target, or
    /// its bytes are on disk there, too.
    pub(crate) fn from_part(target: Target, file: File, part: &Path) -> Result<AtomicFile> {
        let mut name = TempPath::try_from_path(std::path::absolute(part)?)?;
        name.disable_cleanup(true);
        AtomicFile::named(target, file, name)
    }

    fn named(target: Target, file: File, name: TempPath) -> Result<AtomicFile> {
        let state = match target.dress(&file)? {
            None => State::Named(name),
            Some(target) => State::Copied { target, _name: Some(name) },
        };
        Ok(AtomicFile { target, file, state })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Complete, and but for its name in its place: what could fail is done before the first of
    /// several is renamed.
    pub(crate) fn ready(self) -> Result<AtomicFile> {
        match self.state {
            #[cfg(target_os = "linux")]
            State::Nameless => {
                let name = link(&self.file, folder(&self.target.path))?;
                Ok(AtomicFile { state: State::Named(name), ..self })
            }
            _ => Ok(self),
        }
    }

    /// Takes the place of the target, or gives it the bytes.
    pub(crate) fn finish(self) -> Result<()> {
        let AtomicFile { target, mut file, state } = self.ready()?;
        match state {
            State::Named(name) => Ok(name.persist(&target.path).map_err(io::Error::from)?),
            State::Copied { target, _name } => {
                file.rewind()?;
                let bytes = byte_stream::copy(&file, &target)?.bytes;
                target.set_len(bytes)?;
                // The other copy is removed now, and some file systems report a full disk no
                // sooner.
                Ok(target.sync_all()?)
            }
            _ => Ok(()),
        }
    }
}

/// Writes a file of this name; until `write` is done, what was there before stays.
pub(crate) fn write<T>(path: &Path, write: impl FnOnce(&File) -> Result<T>) -> Result<T> {
    let whole = AtomicFile::create(path)?;
    let value = write(whole.file())?;
    whole.finish()?;
    Ok(value)
}

/// Neither opened again, which would write over what is there already, nor replaced.
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

/// Where links lead whose last one leads to nothing that is there.
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
    // Less what the user's mask takes away.
    builder.prefix(".bytelab-").permissions(Permissions::from_mode(0o666));
    builder
}

#[cfg(target_os = "linux")]
fn nameless(dir: &Path) -> io::Result<File> {
    // By it the file gets its name.
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
