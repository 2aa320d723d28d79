//! The file that a method reads: one of the user's, or a made one. It must not change while it is
//! measured.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use measure::cache;
use measure::experiment::skip;
use model::param::Point;
use rustix::fs::OFlags;

/// A file that a method reads.
#[derive(Clone)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    /// The size when the data was generated or inspected. Another size is an error, because the
    /// methods would not have done the same work.
    pub(crate) size: u64,
}

impl Input {
    /// The file that this argument names.
    pub(crate) fn from_point(point: &Point, argument: &str) -> Result<Input> {
        let path = point.path(argument)?;
        Ok(Input { path, size: point.number("size")? })
    }

    pub(crate) fn open(&self) -> Result<File> {
        File::open(&self.path).with_context(|| self.doing("opening"))
    }

    /// Opens the file for a method that relies on the size, and checks that it is unchanged.
    pub(crate) fn open_checked(&self) -> Result<File> {
        let file = self.open()?;
        self.check_size(&file)?;
        Ok(file)
    }

    pub(crate) fn check_size(&self, file: &File) -> Result<()> {
        let size = file.metadata().with_context(|| self.doing("asking the size of"))?.len();
        ensure!(
            size == self.size,
            "{} has changed from {} to {size} bytes",
            self.name(),
            self.size
        );
        Ok(())
    }

    /// The new offset after `n` bytes. Fails if the file grows as fast as it is read.
    pub(crate) fn advanced(&self, offset: u64, n: usize) -> Result<u64> {
        let offset = offset + n as u64;
        ensure!(offset <= self.size, "{} has grown beyond {} bytes", self.name(), self.size);
        Ok(offset)
    }

    /// Called by a method that has reached the end of the file at this offset; checks the size.
    pub(crate) fn ended(&self, offset: u64) -> Result<()> {
        self.advanced(offset, 0)?;
        let (name, size) = (self.name(), self.size);
        ensure!(offset == size, "{name} ended at offset {offset} of {size}: it has been cut");
        Ok(())
    }

    /// The error of a read at an offset.
    pub(crate) fn failed(&self, offset: u64, error: io::Error) -> anyhow::Error {
        anyhow::Error::new(error).context(format!("reading {} at offset {offset}", self.name()))
    }

    pub(crate) fn doing(&self, what: &str) -> String {
        format!("{what} {}", self.name())
    }

    fn name(&self) -> std::path::Display<'_> {
        self.path.display()
    }
    /// Reads all of these bytes at an offset.
    pub(crate) fn read_at(&self, file: &File, bytes: &mut [u8], offset: u64) -> Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            match file.read_at(&mut bytes[done..], at) {
                Ok(0) => return Err(self.cut(at)),
                Ok(n) => done += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(at, error)),
            }
        }
        Ok(())
    }

    /// The error of a file that ends at this offset, before its end.
    pub(crate) fn cut(&self, offset: u64) -> anyhow::Error {
        anyhow!("{} ended at offset {offset} of {}: it has been cut", self.name(), self.size)
    }
}

/// The type number in statfs(2) of a file system in memory, which may accept `O_DIRECT` but has no
/// device.
#[cfg(target_os = "linux")]
const TMPFS: u32 = 0x0102_1994;

#[cfg(target_os = "linux")]
impl Input {
    /// Opens the file for reads from the device, bypassing the page cache.
    pub(crate) fn open_direct(&self) -> io::Result<File> {
        let direct = OFlags::DIRECT.bits() as i32;
        OpenOptions::new().read(true).custom_flags(direct).open(&self.path)
    }

    /// Skips the method if the first block cannot be read in this way.
    pub(crate) fn can_be_read_directly(&self, block: &mut [u8]) -> Result<()> {
        let system = rustix::fs::statfs(&self.path).with_context(|| self.doing("statfs of"))?;
        if system.f_type as u32 == TMPFS {
            return Err(skip("the file is on tmpfs, which has no device to read from"));
        }
        match self.open_direct().and_then(|file| file.read_at(block, 0)) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                Err(skip("the file system refuses O_DIRECT"))
            }
            // Any other error occurs again in the first pass, and fails it.
            _ => Ok(()),
        }
    }
}

/// The absolute path and the size of a file that every method can read.
pub(crate) fn user_file(path: &Path) -> Result<(PathBuf, u64)> {
    let name = path.display();
    // Not opened before its kind is known: opening a FIFO waits for a writer, and a tape rewinds.
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!(
                "{name} does not exist; give an existing file with --file, or none to have one made"
            )
        }
        Err(error) => return Err(error).with_context(|| format!("looking at {name}")),
    };
    ensure!(!kind.is_dir(), "{name} is a directory; give a regular file with --file");
    ensure!(!kind.is_fifo(), "{name} is a FIFO; give a regular file with --file");
    ensure!(!kind.is_socket(), "{name} is a socket; give a regular file with --file");
    ensure!(kind.is_file(), "{name} is a device; give a regular file with --file");
    let size = OpenOptions::new()
        .read(true)
        // It may have become a FIFO in the meantime.
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .and_then(|file| file.metadata())
        .with_context(|| format!("opening {name}; give a file that you may read with --file"))?
        .len();
    ensure!(size > 0, "{name} is empty; give a file with at least one byte with --file");
    let path = std::path::absolute(path).with_context(|| format!("the full path of {name}"))?;
    Ok((path, size))
}

/// Skips a method that holds this many bytes of files in memory if they do not fit.
pub(crate) fn fits_in_memory(needed: u64) -> Result<()> {
    let available = cache::available_bytes().context("no MemAvailable in /proc/meminfo")?;
    if needed > available {
        let (needed, available) = (needed >> 20, available >> 20);
        return Err(skip(format!(
            "holds the whole file: needs {needed} MiB of memory, {available} MiB are available"
        )));
    }
    Ok(())
}
