//! The tools: `cat`, `fleece` and `sample`, thin fronts of the libraries. They are subcommands of
//! `bytelab`, and a small program of their own, which can be linked statically.

pub mod atomic_file;
pub mod cat;
pub mod fleece;
mod remote;
pub mod sample;
mod standard_streams;

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use libc::c_int;

/// The text, for a message, with every character escaped that would move the cursor, start an
/// escape sequence or change the direction of writing; white space of any kind becomes a space.
pub(crate) fn escape_controls(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => {
                escaped.extend(c.escape_unicode());
            }
            c if c.is_control() => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    escaped
}

/// From now on, a write beyond the limit of a file's size (`ulimit -f`) fails with
/// [`io::ErrorKind::FileTooLarge`], and does not end the process without a word. Programs that are
/// started later have the default action of SIGXFSZ again, because a handler does not outlive
/// `execve`.
pub fn fail_at_the_size_limit() -> io::Result<()> {
    extern "C" fn ignore(_: c_int) {}
    handle_signal(libc::SIGXFSZ, ignore)
}

/// From now on, this function is called when the signal arrives. It may call only what is allowed
/// in a handler.
#[expect(unsafe_code, reason = "handles a signal")]
pub(crate) fn handle_signal(signal: c_int, handler: extern "C" fn(c_int)) -> io::Result<()> {
    // SAFETY: all fields of a sigaction may be zero.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is initialised, and its handler calls only functions that are allowed
    // there.
    let failed = unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
