//! The methods in which the kernel moves the bytes. An error that may belong to either side is
//! reported as a refusal, so that `read` and `write` find the side.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::copy_file_range as copy_range;
use rustix::fs::sendfile as send;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice as move_pages};

use super::capacity::{Widened, grow, widen_pipes};
use super::job::{Attempt, Job};
use super::output::Pipe;
use super::plain;
use crate::{Error, Result};

/// A non-blocking descriptor that polls as ready this often in a row and still returns `EAGAIN` is
/// read and written instead.
const UNREADY_LIMIT: u32 = 3;

pub(super) fn copy_file_range(job: &mut Job<'_>) -> Result<Attempt> {
    each(job, |job, step| copy_range(job.input, None, job.output, None, step))
}

pub(super) fn sendfile(job: &mut Job<'_>) -> Result<Attempt> {
    let _widened = Widened::output(job);
    each(job, |job, step| send(job.output, job.input, None, step))
}

/// One of the two descriptors is a pipe.
pub(super) fn splice(job: &mut Job<'_>) -> Result<Attempt> {
    widen_pipes(job);
    let _widened = Widened::output(job);
    each(job, |job, step| {
        move_pages(job.input, None, job.output, None, step, SpliceFlags::MOVE | SpliceFlags::MORE)
    })
}

fn each(
    job: &mut Job<'_>,
    call: impl Fn(&Job<'_>, usize) -> rustix::io::Result<usize>,
) -> Result<Attempt> {
    let mut unready = 0;
    loop {
        let step = job.next_step()?;
        if step == 0 {
            return Ok(Attempt::Finished);
        }
        match call(job, step) {
            Ok(0) => return Ok(Attempt::Finished),
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
fn refused(job: &Job<'_>, errno: Errno) -> Result<Attempt> {
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
    if job.from_socket && !is_refusal { Err(Error::io(errno)) } else { Ok(Attempt::Refused) }
}

impl Pipe {
    fn new() -> Option<Pipe> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        let size_bytes = grow(&writer);
        Some(Pipe { reader, writer, size_bytes })
    }
}

/// Splices through a pipe of ours, which later copies can use again if it is empty.
pub(super) fn splice_through_pipe(job: &mut Job<'_>) -> Result<Attempt> {
    let Some(pipe) = job.pipe.take().or_else(Pipe::new) else { return Ok(Attempt::Refused) };
    widen_pipes(job);
    let _widened = Widened::output(job);
    let attempt = splice_through(job, &pipe)?;
    if attempt == Attempt::Finished {
        *job.pipe = Some(pipe);
    }
    Ok(attempt)
}

fn splice_through(job: &mut Job<'_>, pipe: &Pipe) -> Result<Attempt> {
    let mut unready = 0;
    loop {
        let step = job.next_step()?.min(pipe.size_bytes);
        if step == 0 {
            return Ok(Attempt::Finished);
        }
        match move_pages(job.input, None, &pipe.writer, None, step, SpliceFlags::MOVE) {
            Ok(0) => return Ok(Attempt::Finished),
            Ok(n) => {
                unready = 0;
                if drain(job, &pipe.reader, n)? == Attempt::Refused {
                    return Ok(Attempt::Refused);
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
fn drain(job: &mut Job<'_>, reader: &OwnedFd, mut held: usize) -> Result<Attempt> {
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
                job.wait_output().inspect_err(|_| plain::step_back(job.input, held))?;
            }
            Err(errno) if is_of_output(errno) => {
                plain::step_back(job.input, held);
                return Err(Error::io(errno).of_output());
            }
            _ => {
                plain::drain(job, reader.as_fd(), held)?;
                return Ok(Attempt::Refused);
            }
        }
    }
    Ok(Attempt::Finished)
}
