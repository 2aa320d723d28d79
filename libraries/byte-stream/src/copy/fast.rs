//! The methods in which the kernel moves the bytes. An error that may belong to either side is
//! reported as a refusal, so that `read` and `write` find the side.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{copy_file_range as copy_range, sendfile as send};
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_send_buffer_size, socket_domain, socket_send_buffer_size};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{
    PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice as move_pages,
};

use super::job::{self, AttemptOutcome, Pipe, RunningCopy};
use crate::{Error, Result};

/// A non-blocking descriptor that polls as ready this often in a row and still returns `EAGAIN` is
/// read and written instead.
const UNREADY_LIMIT: u32 = 3;

pub(super) fn copy_file_range(job: &mut RunningCopy<'_>) -> Result<AttemptOutcome> {
    each(job, |job, step| copy_range(job.input, None, job.output, None, step))
}

pub(super) fn sendfile(job: &mut RunningCopy<'_>) -> Result<AttemptOutcome> {
    let _widened = WidenedSocket::output(job);
    each(job, |job, step| send(job.output, job.input, None, step))
}

/// One of the two descriptors is a pipe.
pub(super) fn splice(job: &mut RunningCopy<'_>) -> Result<AttemptOutcome> {
    widen_pipes(job);
    let _widened = WidenedSocket::output(job);
    each(job, |job, step| {
        move_pages(job.input, None, job.output, None, step, SpliceFlags::MOVE | SpliceFlags::MORE)
    })
}

fn each(
    job: &mut RunningCopy<'_>,
    call: impl Fn(&RunningCopy<'_>, usize) -> rustix::io::Result<usize>,
) -> Result<AttemptOutcome> {
    let mut unready = 0;
    loop {
        let step = job.next_step()?;
        if step == 0 {
            return Ok(AttemptOutcome::Finished);
        }
        match call(job, step) {
            Ok(0) => return Ok(AttemptOutcome::Finished),
            Ok(n) => {
                unready = 0;
                job.advanced(n);
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if unready < UNREADY_LIMIT => {
                // The error does not say which side is not ready.
                unready += 1;
                job.wait_input()?;
                job.wait_output()?;
            }
            Err(Errno::CONNRESET) if job.from_socket => return Err(Error::io(Errno::CONNRESET)),
            Err(errno) if is_of_output(errno) => return Err(Error::io(errno).of_output()),
            Err(errno) => return refused(job, errno),
        }
    }
}

/// An error of the output that a `write` would only repeat.
fn is_of_output(errno: Errno) -> bool {
    matches!(errno, Errno::PIPE | Errno::NOSPC | Errno::DQUOT | Errno::CONNRESET)
}

/// Another method is tried, and `read` and `write` finally show which side has failed. But a socket
/// reports its error once, and then looks as if it had ended.
fn refused(job: &RunningCopy<'_>, errno: Errno) -> Result<AttemptOutcome> {
    let is_refusal = matches!(
        errno,
        Errno::INVAL
            | Errno::NOSYS
            | Errno::OPNOTSUPP
            | Errno::PERM
            | Errno::ACCESS
            | Errno::NOMEM
            | Errno::BADF
    );
    if job.from_socket && !is_refusal { Err(Error::io(errno)) } else { Ok(AttemptOutcome::Refused) }
}

impl Pipe {
    fn new() -> Option<Pipe> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        let size_bytes = grow(&writer);
        Some(Pipe { reader, writer, size_bytes })
    }
}

/// Splices through a pipe of ours, which later copies can use again if it is empty.
pub(super) fn splice_through_pipe(job: &mut RunningCopy<'_>) -> Result<AttemptOutcome> {
    let Some(pipe) = job.pipe.take().or_else(Pipe::new) else { return Ok(AttemptOutcome::Refused) };
    widen_pipes(job);
    let _widened = WidenedSocket::output(job);
    let attempt = splice_through(job, &pipe)?;
    if attempt == AttemptOutcome::Finished {
        *job.pipe = Some(pipe);
    }
    Ok(attempt)
}

fn splice_through(job: &mut RunningCopy<'_>, pipe: &Pipe) -> Result<AttemptOutcome> {
    let mut unready = 0;
    loop {
        let step = job.next_step()?.min(pipe.size_bytes);
        if step == 0 {
            return Ok(AttemptOutcome::Finished);
        }
        match move_pages(job.input, None, &pipe.writer, None, step, SpliceFlags::MOVE) {
            Ok(0) => return Ok(AttemptOutcome::Finished),
            Ok(n) => {
                unready = 0;
                if drain(job, &pipe.reader, n)? == AttemptOutcome::Refused {
                    return Ok(AttemptOutcome::Refused);
                }
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if unready < UNREADY_LIMIT => {
                unready += 1;
                job.wait_input()?;
            }
            Err(errno) => return refused(job, errno),
        }
    }
}

/// Moves the `held` bytes of our pipe to the output: spliced, or written if that is refused.
fn drain(job: &mut RunningCopy<'_>, reader: &OwnedFd, mut held: usize) -> Result<AttemptOutcome> {
    let flags = SpliceFlags::MOVE | SpliceFlags::MORE;
    let mut unready = 0;
    while held > 0 {
        match move_pages(reader, None, job.output, None, held, flags) {
            Ok(n) if n > 0 => {
                unready = 0;
                held -= n;
                job.advanced(n);
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if unready < UNREADY_LIMIT => {
                unready += 1;
                job.wait_output().inspect_err(|_| job::step_back(job.input, held))?;
            }
            Err(errno) if is_of_output(errno) => {
                job::step_back(job.input, held);
                return Err(Error::io(errno).of_output());
            }
            _ => {
                job::drain(job, reader.as_fd(), held)?;
                return Ok(AttemptOutcome::Refused);
            }
        }
    }
    Ok(AttemptOutcome::Finished)
}

// The capacity of pipes and sockets: the smaller it is, the more often the writer and the reader
// wait for each other, so those of the default size are enlarged. A size that was set is kept.

/// The size that a pipe is set to. Smaller copies do not benefit.
const PIPE_BYTES: usize = 1 << 20;
/// The send buffer of a socket, limited by `net.core.wmem_max`. Spliced data are references to
/// pages of the file, not copies.
const SOCKET_BYTES: usize = 4 << 20;
const DEFAULT_PIPE_BYTES: usize = 64 << 10;

/// Enlarges those of the two ends that are pipes.
fn widen_pipes(job: &RunningCopy<'_>) {
    for pipe in [job.input, job.output] {
        if is_worth_it(job) && fcntl_getpipe_size(pipe) == Ok(DEFAULT_PIPE_BYTES) {
            grow(pipe);
        }
    }
}

/// Enlarges a pipe as far as the kernel allows, and returns its size.
fn grow(pipe: impl AsFd) -> usize {
    let mut size = PIPE_BYTES;
    loop {
        match fcntl_setpipe_size(&pipe, size) {
            Ok(size) => return size,
            // The user's pipes have reached their limit (pipe-user-pages-soft).
            Err(_) if size > DEFAULT_PIPE_BYTES => size /= 2,
            Err(_) => return size,
        }
    }
}

/// A unix socket whose send buffer is enlarged until this guard is dropped.
pub(super) struct WidenedSocket<'a> {
    socket: BorrowedFd<'a>,
    /// The size that the kernel reports: twice the value that was set (socket(7)).
    before: usize,
}

impl<'a> WidenedSocket<'a> {
    /// TCP sockets are not changed: the kernel tunes their buffers until a size is set.
    pub(super) fn output(job: &RunningCopy<'a>) -> Option<WidenedSocket<'a>> {
        let socket = job.output;
        if !is_worth_it(job) || socket_domain(socket) != Ok(AddressFamily::UNIX) {
            return None;
        }
        let before = socket_send_buffer_size(socket).ok()?;
        if Some(before) != default_of_sockets() || before >= 2 * SOCKET_BYTES {
            return None;
        }
        set_socket_send_buffer_size(socket, SOCKET_BYTES).ok()?;
        Some(WidenedSocket { socket, before })
    }
}

impl Drop for WidenedSocket<'_> {
    fn drop(&mut self) {
        let _ = set_socket_send_buffer_size(self.socket, self.before / 2);
    }
}

fn is_worth_it(job: &RunningCopy<'_>) -> bool {
    job.total.is_none_or(|total| total >= PIPE_BYTES as u64)
}

/// The default size of a new socket (`net.core.wmem_default`).
fn default_of_sockets() -> Option<usize> {
    let (unix, stream) = (AddressFamily::UNIX, SocketType::STREAM);
    let (one, _other) = socketpair(unix, stream, SocketFlags::CLOEXEC, None).ok()?;
    socket_send_buffer_size(one).ok()
}
