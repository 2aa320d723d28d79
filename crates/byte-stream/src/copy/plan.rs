//! Which methods fit two descriptors, the best first; and which copies would never end.

use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, OFlags, Stat, fcntl_getfl, fstat, tell};
use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;

use super::method::CopyMethod;
use crate::choice::{Kind, kind};
use crate::{Error, ErrorKind, Result};

/// Files of less than this are read and written, where no blocks can be shared.
const SMALL_BYTES: u64 = 64 << 10;

pub(super) struct Plan {
    methods: &'static [CopyMethod],
    /// Bytes left of a regular input.
    pub(super) size_bytes: Option<u64>,
    /// Both are regular files and the output is not in append mode, in which it could not seek over
    /// a hole.
    pub(super) can_keep_holes: bool,
    /// Reading the input can block.
    pub(super) waits: bool,
    #[cfg(target_os = "linux")]
    pub(super) from_socket: bool,
}

impl Plan {
    pub(super) fn new(
        input: BorrowedFd<'_>,
        known: Option<Kind>,
        output: BorrowedFd<'_>,
    ) -> Result<Plan> {
        let from = fstat(input).map_err(Error::io)?;
        let to = fstat(output).map_err(|errno| Error::io(errno).of_output())?;
        let appends = appends(output)?;
        if is_endless(input, &from, output, &to, appends)? {
            return Err(endless());
        }
        let from_kind = known.unwrap_or_else(|| kind(input, &from));
        let is_file = matches!(from_kind, Kind::Regular | Kind::InMemory);
        let size = is_file.then_some(from.st_size as u64);
        let position = tell(input).unwrap_or(0);
        let to_regular = FileType::from_raw_mode(to.st_mode) == FileType::RegularFile;
        let size_bytes = size.map(|size| size.saturating_sub(position));
        Ok(Plan {
            methods: methods(from_kind, size_bytes, output, &to, appends),
            size_bytes,
            can_keep_holes: is_file && to_regular && !appends,
            #[cfg(target_os = "linux")]
            from_socket: from_kind == Kind::Socket,
            waits: matches!(from_kind, Kind::Pipe | Kind::Socket | Kind::Character),
        })
    }

    pub(super) fn methods(&self) -> &'static [CopyMethod] {
        self.methods
    }
}

/// The order follows the results of the experiment `copying`.
fn methods(
    from: Kind,
    size: Option<u64>,
    output: BorrowedFd<'_>,
    to: &Stat,
    appends: bool,
) -> &'static [CopyMethod] {
    let to_kind = kind(output, to);
    // The kernel refuses to splice to a file in append mode (EINVAL), and would split packets
    // anywhere.
    if appends && to_kind != Kind::Pipe || to_kind == Kind::Socket && !is_stream(output) {
        return &[CopyMethod::ReadWrite];
    }
    let from_file = matches!(from, Kind::Regular | Kind::InMemory | Kind::Block);
    match to_kind {
        // Terminals and similar devices only accept writes; /dev/null takes pages without reading
        // them.
        Kind::Character if !is_null(to) => &[CopyMethod::ReadWrite],
        // One read and one write cost less than a pipe.
        Kind::Pipe | Kind::Socket | Kind::Character if size.is_some_and(|n| n < SMALL_BYTES) => {
            &[CopyMethod::ReadWrite]
        }
        _ if from == Kind::Virtual || from == Kind::Character => &[CopyMethod::ReadWrite],
        // A direct splice holds the lock of the pipe while the kernel looks for pages, and its
        // reader would wait.
        Kind::Pipe if from_file || from == Kind::Socket => {
            &[CopyMethod::SpliceThroughPipe, CopyMethod::Splice]
        }
        _ if from == Kind::Pipe || to_kind == Kind::Pipe => &[CopyMethod::Splice],
        Kind::Regular | Kind::InMemory if from == Kind::Regular || from == Kind::InMemory => {
            &[CopyMethod::CopyFileRange, CopyMethod::Sendfile]
        }
        Kind::Character => &[CopyMethod::SpliceThroughPipe],
        Kind::Socket if from_file => &[CopyMethod::SpliceThroughPipe, CopyMethod::Sendfile],
        _ if from_file => &[CopyMethod::Sendfile],
        _ => &[CopyMethod::SpliceThroughPipe],
    }
}

fn is_stream(socket: BorrowedFd<'_>) -> bool {
    socket_type(socket) == Ok(SocketType::STREAM)
}

/// The device 1:3 (admin-guide/devices.txt).
fn is_null(to: &Stat) -> bool {
    (rustix::fs::major(to.st_rdev), rustix::fs::minor(to.st_rdev)) == (1, 3)
}

/// Copying a file onto its own end never ends, whether it is appended to or written behind the read
/// position. The rule is that of GNU cat since 9.5.
pub(super) fn refuse_endless(input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> Result<()> {
    let from = fstat(input).map_err(Error::io)?;
    let to = fstat(output).map_err(|errno| Error::io(errno).of_output())?;
    if is_endless(input, &from, output, &to, appends(output)?)? { Err(endless()) } else { Ok(()) }
}

fn is_endless(
    input: BorrowedFd<'_>,
    from: &Stat,
    output: BorrowedFd<'_>,
    to: &Stat,
    appends: bool,
) -> Result<bool> {
    let is_same = (from.st_dev, from.st_ino) == (to.st_dev, to.st_ino);
    if !is_same || FileType::from_raw_mode(from.st_mode) != FileType::RegularFile {
        return Ok(false);
    }
    let reads_at = tell(input).map_err(Error::io)?;
    let writes_at = if appends { Ok(to.st_size as u64) } else { tell(output) };
    Ok(reads_at < writes_at.map_err(|errno| Error::io(errno).of_output())?)
}

fn endless() -> Error {
    Error::new(ErrorKind::SameFile, "input file is output file")
}

fn appends(output: BorrowedFd<'_>) -> Result<bool> {
    let flags = fcntl_getfl(output).map_err(|errno| Error::io(errno).of_output())?;
    Ok(flags.contains(OFlags::APPEND))
}
