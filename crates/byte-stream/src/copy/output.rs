//! The two ends of a copy: what is known about each, looked up once.

use std::fmt;
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{OFlags, Stat, fcntl_getfl, fstat, tell};

use crate::buffer::Buffer;
use crate::choice::{Kind, kind};
use crate::{Error, Result};

/// The input of a copy.
pub(crate) struct Input<'fd> {
    pub(crate) fd: BorrowedFd<'fd>,
    pub(crate) stat: Stat,
    pub(crate) kind: Kind,
    /// Bytes left of a regular file.
    pub(crate) size_bytes: Option<u64>,
}

impl<'fd> Input<'fd> {
    pub(crate) fn new(fd: BorrowedFd<'fd>) -> Result<Input<'fd>> {
        let stat = fstat(fd).map_err(Error::io)?;
        let kind = kind(fd, &stat);
        let size =
            kind.is_file().then(|| (stat.st_size as u64).saturating_sub(tell(fd).unwrap_or(0)));
        Ok(Input { fd, stat, kind, size_bytes: size })
    }
}

/// The output of several copies. Its kind is looked up once, and one pipe and one buffer serve all
/// copies that need them; so copies of many small files need fewer system calls. The descriptor
/// must not be switched to append mode meanwhile.
///
/// ```
/// use byte_stream::{Output, Stream};
/// let file = tempfile::tempfile()?;
/// let mut output = Output::new(&file)?;
/// let mut bytes = 0;
/// for path in ["/proc/self/comm", "/proc/self/exe"] {
///     bytes += Stream::open(path)?.copy_into(&mut output)?;
/// }
/// assert_eq!(file.metadata()?.len(), bytes);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Output<'fd> {
    pub(super) fd: BorrowedFd<'fd>,
    pub(super) stat: Stat,
    pub(super) kind: Kind,
    /// Whether it is in append mode.
    pub(super) appends: bool,
    /// The empty pipe of an earlier copy.
    #[cfg(target_os = "linux")]
    pub(super) pipe: Option<Pipe>,
    /// The buffer of an earlier copy.
    pub(super) buffer: Option<Buffer>,
}

/// A pipe that we splice through.
#[cfg(target_os = "linux")]
pub(super) struct Pipe {
    pub(super) reader: OwnedFd,
    pub(super) writer: OwnedFd,
    pub(super) size_bytes: usize,
}

impl<'fd> Output<'fd> {
    /// Looks up the kind of the descriptor.
    ///
    /// ```
    /// let output = byte_stream::Output::new(&std::io::stdout())?;
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn new<Fd: AsFd + ?Sized>(fd: &'fd Fd) -> Result<Output<'fd>> {
        let fd = fd.as_fd();
        let failed = |errno| Error::io(errno).of_output();
        let stat = fstat(fd).map_err(failed)?;
        let flags = fcntl_getfl(fd).map_err(failed)?;
        Ok(Output {
            fd,
            stat,
            kind: kind(fd, &stat),
            appends: flags.contains(OFlags::APPEND),
            #[cfg(target_os = "linux")]
            pipe: None,
            buffer: None,
        })
    }
}

impl AsFd for Output<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd
    }
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("kind", &self.kind).finish_non_exhaustive()
    }
}
