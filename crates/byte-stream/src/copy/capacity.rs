//! Room between who writes and who reads: the less a pipe or a socket holds, the more often one of them waits for
//! the other. Those of the default size are made larger; whoever wants another size has set it.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::sockopt::{set_socket_send_buffer_size, socket_domain, socket_send_buffer_size};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};

use super::job::Job;

/// What a pipe is made to hold. Of less to copy it would not pay off.
const PIPE_BYTES: usize = 1 << 20;
/// What a socket is made to hold, as far as the administrator allows (`net.core.wmem_max`). Spliced, it holds pages of
/// the file, no copies of them.
const SOCKET_BYTES: usize = 4 << 20;
const DEFAULT_PIPE_BYTES: usize = 64 << 10;

/// Makes the pipes among both ends larger.
pub(super) fn widen_pipes(job: &Job<'_>) {
    for pipe in [job.input, job.output] {
        if is_worth_it(job) && fcntl_getpipe_size(pipe) == Ok(DEFAULT_PIPE_BYTES) {
            grow(pipe);
        }
    }
}

/// As large as the kernel allows, up to what pays off. The size.
pub(super) fn grow(pipe: impl AsFd) -> usize {
    let mut size = PIPE_BYTES;
    loop {
        match fcntl_setpipe_size(&pipe, size) {
            Ok(size) => return size,
            // The user's pipes hold too much already (pipe-user-pages-soft).
            Err(_) if size > DEFAULT_PIPE_BYTES => size /= 2,
            Err(_) => return size,
        }
    }
}

/// A unix socket that is sent to and holds more, until this is dropped: then it takes no more than before.
pub(super) struct Widened<'a> {
    socket: BorrowedFd<'a>,
    /// As the kernel tells it: twice what was set (socket(7)).
    before: usize,
}

impl<'a> Widened<'a> {
    /// Those of the network are left alone: TCP finds the size itself, until somebody sets it.
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

/// That of a new one: the administrator sets it (`net.core.wmem_default`).
fn default_of_sockets() -> Option<usize> {
    let (unix, stream) = (AddressFamily::UNIX, SocketType::STREAM);
    let (one, _other) = socketpair(unix, stream, SocketFlags::CLOEXEC, None).ok()?;
    socket_send_buffer_size(one).ok()
}
