//! The capacity of pipes and sockets. The smaller it is, the more often the writer and the reader
//! wait for each other, so those of the default size are enlarged. A size that was set
//! is kept.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::sockopt::{set_socket_send_buffer_size, socket_domain, socket_send_buffer_size};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};

use super::job::Job;

/// The size that a pipe is set to. Smaller copies do not benefit.
const PIPE_BYTES: usize = 1 << 20;
/// The send buffer of a socket, limited by `net.core.wmem_max`. Spliced data are references to
/// pages of the file, not copies.
const SOCKET_BYTES: usize = 4 << 20;
const DEFAULT_PIPE_BYTES: usize = 64 << 10;

/// Enlarges those of the two ends that are pipes.
pub(super) fn widen_pipes(job: &Job<'_>) {
    for pipe in [job.input, job.output] {
        if is_worth_it(job) && fcntl_getpipe_size(pipe) == Ok(DEFAULT_PIPE_BYTES) {
            grow(pipe);
        }
    }
}

/// Enlarges a pipe as far as the kernel allows, and returns its size.
pub(super) fn grow(pipe: impl AsFd) -> usize {
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
pub(super) struct Widened<'a> {
    socket: BorrowedFd<'a>,
    /// As the kernel reports it: twice the value that was set (socket(7)).
    before: usize,
}

impl<'a> Widened<'a> {
    /// TCP sockets are left alone: the kernel tunes their buffers until a size is set.
    pub(super) fn output(job: &Job<'a>) -> Option<Widened<'a>> {
        let socket = job.output;
        if !is_worth_it(job) || socket_domain(socket) != Ok(AddressFamily::UNIX) {
            return None;
        }
        let before = socket_send_buffer_size(socket).ok()?;
        if Some(before) != default_of_sockets() || before >= 2 * SOCKET_BYTES {
            return None;
        }
        set_socket_send_buffer_size(socket, SOCKET_BYTES).ok()?;
        Some(Widened { socket, before })
    }
}

impl Drop for Widened<'_> {
    fn drop(&mut self) {
        let _ = set_socket_send_buffer_size(self.socket, self.before / 2);
    }
}

fn is_worth_it(job: &Job<'_>) -> bool {
    job.total.is_none_or(|total| total >= PIPE_BYTES as u64)
}

/// The default size of a new socket (`net.core.wmem_default`).
fn default_of_sockets() -> Option<usize> {
    let (unix, stream) = (AddressFamily::UNIX, SocketType::STREAM);
    let (one, _other) = socketpair(unix, stream, SocketFlags::CLOEXEC, None).ok()?;
    socket_send_buffer_size(one).ok()
}
