//! Which standard streams the program was started without. Before `main`, Rust's runtime opens
//! `/dev/null` in their place; so what is written there would be lost, and nothing would be read,
//! without an error.
//!
//! The descriptors cannot tell it any more then: others start programs with a `/dev/null` that is
//! open in the same way. So they are looked at earlier, where the initialisers of C libraries run.

use std::io;

#[derive(Clone, Copy)]
pub(crate) enum StandardStream {
    Input = 0,
    Output = 1,
}

/// The error that its use would have been.
pub(crate) fn check(stream: StandardStream) -> io::Result<()> {
    if closed(stream) { Err(rustix::io::Errno::BADF.into()) } else { Ok(()) }
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

    // SAFETY: the section holds pointers to functions of this type; libc is ready when they are
    // called.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static AT_START: extern "C" fn() = look;

    extern "C" fn look() {
        for (fd, closed) in CLOSED.iter().enumerate() {
            // SAFETY: it reads a flag of a descriptor, and fails if there is none of this number.
            let flags = unsafe { libc::fcntl(fd as c_int, libc::F_GETFD) };
            closed.store(flags == -1, Ordering::Relaxed);
        }
    }

    pub(super) fn closed(stream: StandardStream) -> bool {
        CLOSED[stream as usize].load(Ordering::Relaxed)
    }
}
