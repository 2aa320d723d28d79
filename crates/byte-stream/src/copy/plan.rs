//! Which methods fit two descriptors, the best first; and which copies would never end.

use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, Stat, fstat, tell};
use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;

use super::method::CopyMethod;
use super::output::{Input, Output};
use crate::choice::{Kind, is_on_disk};
use crate::{Error, ErrorKind, Result};

/// Files of less than this are read and written, where no blocks can be shared.
const SMALL_BYTES: u64 = 64 << 10;

pub(super) struct Plan {
    methods: &'static [CopyMethod],
    /// Both are regular files and the output is not in append mode, in which it could not seek over
    /// a hole.
    pub(super) can_keep_holes: bool,
    /// The input has ended when as many bytes are read as its size says.
    pub(super) ends_at_size: bool,
    /// Reading the input can block.
    pub(super) waits: bool,
}

impl Plan {
    pub(super) fn new(input: &Input<'_>, output: &Output<'_>) -> Result<Plan> {
        refuse_endless(input.fd, &input.stat, output)?;
        let to_regular = FileType::from_raw_mode(output.stat.st_mode) == FileType::RegularFile;
        Ok(Plan {
            methods: methods(input, output),
            can_keep_holes: input.kind.is_file() && to_regular && !output.appends,
            ends_at_size: input.kind == Kind::InMemory || is_on_disk(&input.stat),
            waits: matches!(input.kind, Kind::Pipe | Kind::Socket | Kind::Character),
        })
    }

    pub(super) fn methods(&self) -> &'static [CopyMethod] {
        self.methods
    }
}

/// The order follows the results of the experiment `copying`.
fn methods(input: &Input<'_>, output: &Output<'_>) -> &'static [CopyMethod] {
    let (from, to) = (input.kind, output.kind);
    // The kernel refuses to splice to a file in append mode (EINVAL), and would split packets
    // anywhere.
    if output.appends && to != Kind::Pipe || to == Kind::Socket && !is_stream(output.fd) {
        return &[CopyMethod::ReadWrite];
    }
    let from_file = matches!(from, Kind::Regular | Kind::InMemory | Kind::Block);
    match to {
        // Terminals and similar devices only accept writes; /dev/null takes pages without reading
        // them.
        Kind::Character if !is_null(&output.stat) => &[CopyMethod::ReadWrite],
        // One read and one write cost less than a pipe.
        Kind::Pipe | Kind::Socket | Kind::Character
            if input.size_bytes.is_some_and(|n| n < SMALL_BYTES) =>
        {
            &[CopyMethod::ReadWrite]
        }
        _ if from == Kind::Virtual || from == Kind::Character => &[CopyMethod::ReadWrite],
        // A direct splice holds the lock of the pipe while the kernel looks for pages, and its
        // reader would wait.
        Kind::Pipe if from_file || from == Kind::Socket => {
            &[CopyMethod::SpliceThroughPipe, CopyMethod::Splice]
        }
        _ if from == Kind::Pipe || to == Kind::Pipe => &[CopyMethod::Splice],
        Kind::Regular | Kind::InMemory if from.is_file() => {
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
pub(super) fn refuse_endless(
    input: BorrowedFd<'_>,
    from: &Stat,
    output: &Output<'_>,
) -> Result<()> {
    let is_same = (from.st_dev, from.st_ino) == (output.stat.st_dev, output.stat.st_ino);
    if !is_same || FileType::from_raw_mode(from.st_mode) != FileType::RegularFile {
        return Ok(());
    }
    let reads_at = tell(input).map_err(Error::io)?;
    // Earlier copies may have changed the size.
    let writes_at =
        if output.appends { fstat(output.fd).map(|to| to.st_size as u64) } else { tell(output.fd) };
    if reads_at < writes_at.map_err(|errno| Error::io(errno).of_output())? {
        return Err(Error::new(ErrorKind::SameFile, "input file is output file"));
    }
    Ok(())
}
