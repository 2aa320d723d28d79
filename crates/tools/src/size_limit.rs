//! A write beyond the limit of a file's size (`ulimit -f`) is an error of that write, and does not
//! end the process without a word.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// From now on, such a write fails with [`io::ErrorKind::FileTooLarge`]. Programs that are started
/// later have the default action of SIGXFSZ again, because a handler does not outlive `execve`.
pub fn fail_at_the_size_limit() -> io::Result<()> {
    signal_hook::flag::register(libc::SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}
