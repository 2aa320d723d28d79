//! The message for a mapped file that another process truncates: the kernel then ends this process
//! with SIGBUS.

#![expect(unsafe_code, reason = "handles a signal")]

use std::mem::MaybeUninit;

use anyhow::{Context, Result};

const MESSAGE: &[u8] =
    b"bytelab sample: a mapped file was truncated or unreadable; --method pread does not map files\n";

/// From now on, SIGBUS ends the process with a line on standard error and exit status 1.
pub(super) fn report() -> Result<()> {
    // SAFETY: all fields of a sigaction may be zero.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as *const () as usize;
    // SAFETY: the action is initialised, and its handler calls only functions that are allowed
    // there.
    let failed = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
    if failed == 0 {
        return Ok(());
    }
    Err(std::io::Error::last_os_error()).context("catching SIGBUS")
}

extern "C" fn handler(_: libc::c_int) {
    // SAFETY: write(2) may be called in a handler; the message is static.
    unsafe { libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len()) };
    // SAFETY: _exit(2) may be called in a handler.
    unsafe { libc::_exit(1) };
}
