//! Which standard streams were closed when the program started. Before `main`, Rust's runtime opens
//! `/dev/null` in their place; so output would be lost, and input would be empty, without an error.
//!
//! After that, the descriptors no longer show it: other programs start us with a `/dev/null` that
//! is opened in the same way. Therefore they are inspected earlier, where the initialisers of C
//! libraries run.

use std::io;

#[derive(Clone, Copy)]
pub(crate) enum StandardStream {
    Input = 0,
    Output = 1,
}

/// The error that using the closed stream would have caused.
pub(crate) fn check(stream: StandardStream) -> io::Result<()> {
    if closed(stream) { Err(rustix::io::Errno::BADF.into()) } else { Ok(()) }
}

/// The result of writing to standard output: a reader that is gone is no error.
pub(crate) fn printed(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}

#[cfg(not(target_os = "linux"))]
fn closed(_: StandardStream) -> bool {
    false
}

#[cfg(target_os = "linux")]
use linux::closed;

#[cfg(target_os = "linux")]
mod linux {
    #![expect(unsafe_code, reason = "what runs before the runtime has no safe form")]

    use std::ffi::c_int;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::StandardStream;

    static CLOSED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

    // SAFETY: the section contains pointers to functions of this type; libc is initialised when
    // they are called.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static AT_START: extern "C" fn() = look;

    extern "C" fn look() {
        for (fd, closed) in CLOSED.iter().enumerate() {
            // SAFETY: the call reads a descriptor's flags, and fails if the descriptor does not
            // exist.
            let flags = unsafe { libc::fcntl(fd as c_int, libc::F_GETFD) };
            closed.store(flags == -1, Ordering::Relaxed);
        }
    }

    pub(super) fn closed(stream: StandardStream) -> bool {
        CLOSED[stream as usize].load(Ordering::Relaxed)
    }
}
