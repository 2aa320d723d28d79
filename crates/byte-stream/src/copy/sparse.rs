//! Copies the holes of a regular file as holes; the data between them is copied as usual.

use std::os::fd::BorrowedFd;

use rustix::fs::{SeekFrom, fstat, ftruncate, seek, tell};
use rustix::io::Errno;

use super::job::Job;
use super::method::CopyMethod;
use super::plan::Plan;
use crate::{Error, Result};

pub(super) fn copy(job: &mut Job<'_>, chosen: CopyMethod, plan: &Plan) -> Result<CopyMethod> {
    let mut finished = chosen;
    let mut at = tell(job.input).map_err(Error::io)?;
    loop {
        let data = match seek(job.input, SeekFrom::Data(at)) {
            Ok(data) => data,
            // No data follows: a hole up to the end.
            Err(Errno::NXIO) => fstat(job.input).map_err(Error::io)?.st_size as u64,
            Err(_) => {
                // The file system does not support SEEK_DATA.
                seek(job.input, SeekFrom::Start(at)).map_err(Error::io)?;
                return job.all(chosen, plan.methods());
            }
        };
        if data > at {
            hole(job.output, data - at).map_err(|errno| Error::io(errno).of_output())?;
            job.left = u64::MAX;
            skipped(job, data - at);
        }
        let Ok(end) = seek(job.input, SeekFrom::Hole(data)) else {
            // At or behind the end. Data that was appended meanwhile is copied as well.
            seek(job.input, SeekFrom::Start(data)).map_err(Error::io)?;
            job.left = u64::MAX;
            let done = job.done;
            let last = job.all(chosen, plan.methods())?;
            return Ok(if job.done > done { last } else { finished });
        };
        seek(job.input, SeekFrom::Start(data)).map_err(Error::io)?;
        job.left = end - data;
        finished = job.all(chosen, plan.methods())?;
        at = tell(job.input).map_err(Error::io)?;
        if at < end {
            // The file was truncated meanwhile.
            return Ok(finished);
        }
    }
}

fn skipped(job: &mut Job<'_>, mut bytes: u64) {
    while bytes > 0 {
        let step = bytes.min(usize::MAX as u64 >> 1);
        job.advanced(step as usize);
        bytes -= step;
    }
}

/// Creates a hole of this length in the output and seeks behind it.
fn hole(output: BorrowedFd<'_>, bytes: u64) -> rustix::io::Result<()> {
    let start = tell(output)?;
    let end = start + bytes;
    let size = fstat(output)?.st_size as u64;
    if start < size {
        // Existing data in the range must become zeros.
        let old = bytes.min(size - start);
        if !punched(output, start, old) {
            zeros(output, old)?;
        }
    }
    if end > size {
        ftruncate(output, end)?;
    }
    seek(output, SeekFrom::Start(end)).map(drop)
}

#[cfg(target_os = "linux")]
fn punched(output: BorrowedFd<'_>, start: u64, bytes: u64) -> bool {
    use rustix::fs::{FallocateFlags, fallocate};

    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(output, punch, start, bytes).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn punched(_output: BorrowedFd<'_>, _start: u64, _bytes: u64) -> bool {
    false
}

fn zeros(output: BorrowedFd<'_>, mut bytes: u64) -> rustix::io::Result<()> {
    let block = [0; 16 << 10];
    while bytes > 0 {
        let n = rustix::io::write(output, &block[..bytes.min(block.len() as u64) as usize])?;
        bytes -= n as u64;
    }
    Ok(())
}
