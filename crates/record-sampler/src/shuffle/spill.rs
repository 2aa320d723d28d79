//! A temporary file without a name, which the system removes however this process ends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use crate::{Error, ErrorKind, Result};

/// Takes bytes at its end.
pub(super) struct Spill {
    pub(super) file: Arc<File>,
    end: u64,
}

impl Spill {
    pub(super) fn create() -> Result<Spill> {
        let file = unnamed().map_err(|error| failed("creating", error))?;
        Ok(Spill { file: Arc::new(file), end: 0 })
    }

    /// Returns the offset of what was appended.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        let at = self.end;
        self.file.write_all_at(bytes, at).map_err(|error| failed("writing", error))?;
        self.end += bytes.len() as u64;
        Ok(at)
    }
}

pub(super) fn read(file: &File, bytes: &mut [u8], offset: u64) -> Result<()> {
    file.read_exact_at(bytes, offset).map_err(|error| failed("reading", error))
}

/// The number of bytes that temporary files may have, if the system reports it.
pub(super) fn free_bytes() -> Option<u64> {
    let space = rustix::fs::statvfs(dir()).ok()?;
    Some(space.f_bavail.saturating_mul(space.f_frsize))
}

pub(super) fn dir() -> PathBuf {
    std::env::temp_dir()
}

fn unnamed() -> io::Result<File> {
    let (flags, mode) = (OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    #[cfg(target_os = "linux")]
    if let Ok(file) = rustix::fs::open(dir(), flags | OFlags::TMPFILE, mode) {
        return Ok(file.into());
    }
    // Some file systems and other systems have no files without a name: it is removed at once.
    for number in 0..100 {
        let path = dir().join(format!(".record-sampler-{}-{number}", std::process::id()));
        match rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode) {
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file.into());
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn failed(what: &str, error: io::Error) -> Error {
    let text = format!("{what} a temporary file, for which TMPDIR names the directory");
    Error::caused(ErrorKind::Io, &text, error).with_path(&dir())
}
