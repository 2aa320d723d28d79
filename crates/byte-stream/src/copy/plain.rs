//! `read` and `write` with one buffer, which always works and shows which side an error belongs to.

use std::os::fd::BorrowedFd;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::job::Job;
use super::method::CopyMethod;
use crate::buffer::Buffer;
use crate::choice::BUFFER_BYTES;
use crate::{Error, Result};

/// Copies to the end of the input, or of the requested bytes.
pub(super) fn copy(job: &mut Job<'_>, method: CopyMethod) -> Result<()> {
    // One byte more than a small file, so that one read returns all of it.
    let size = job.total.map_or(BUFFER_BYTES as u64, |total| total.saturating_add(1));
    let size = size.clamp(512, BUFFER_BYTES as u64) as usize;
    let mut buffer = job.buffer.take().filter(|buffer| buffer.len() >= size);
    if method == CopyMethod::ReadWrite {
        buffer.get_or_insert_with(|| Buffer::new(size));
    }
    let copied = copy_by(job, &mut buffer);
    *job.buffer = buffer;
    copied
}

fn copy_by(job: &mut Job<'_>, buffer: &mut Option<Buffer>) -> Result<()> {
    // After another method usually only the end of the input remains to be seen, which needs no
    // large buffer.
    let mut first = [0; 512];
    loop {
        let memory: &mut [u8] = match buffer {
            Some(buffer) => buffer,
            None => &mut first,
        };
        let step = job.next_step()?.min(memory.len());
        if step == 0 {
            return Ok(());
        }
        match rustix::io::read(job.input, &mut memory[..step]) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                write(job, &memory[..n])?;
                // There was room for more, and all that was expected has come: reading once more
                // would only repeat that.
                if n < step && job.ends_at_size && Some(job.done) == job.total {
                    return Ok(());
                }
            }
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => {
                job.wait_input()?;
                continue;
            }
            Err(errno) => return Err(Error::io(errno)),
        }
        buffer.get_or_insert_with(|| Buffer::new(BUFFER_BYTES));
    }
}

/// Writes all bytes. If that fails, an input that can seek is set back to the first byte that was
/// not written.
fn write(job: &mut Job<'_>, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        let error = match rustix::io::write(job.output, bytes) {
            Ok(n) if n > 0 => {
                job.advanced(n);
                bytes = &bytes[n..];
                continue;
            }
            Ok(_) => Error::io(Errno::IO).of_output(),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => match job.wait_output() {
                Ok(()) => continue,
                Err(error) => error,
            },
            Err(errno) => Error::io(errno).of_output(),
        };
        step_back(job.input, bytes.len());
        return Err(error);
    }
    Ok(())
}

/// Writes the `held` bytes of our pipe.
#[cfg(target_os = "linux")]
pub(super) fn drain(job: &mut Job<'_>, pipe: BorrowedFd<'_>, mut held: usize) -> Result<()> {
    let mut buffer = Buffer::new(BUFFER_BYTES.min(held));
    while held > 0 {
        let len = held.min(buffer.len());
        match rustix::io::read(pipe, &mut buffer[..len]) {
            Ok(n) if n > 0 => {
                held -= n;
                write(job, &buffer[..n]).inspect_err(|_| step_back(job.input, held))?;
            }
            Err(Errno::INTR) => {}
            Ok(_) => return Err(Error::io(Errno::IO)),
            Err(errno) => return Err(Error::io(errno)),
        }
    }
    Ok(())
}

/// Sets an input that can seek back by `bytes`.
pub(super) fn step_back(input: BorrowedFd<'_>, bytes: usize) {
    let _ = seek(input, SeekFrom::Current(-(bytes as i64)));
}
