//! The tools: `cat`, `fleece` and `sample`, thin fronts of the libraries. They are subcommands of
//! `bytelab`, and a small program of their own, which can be linked statically.

pub mod atomic_file;
pub mod cat;
pub mod fleece;
mod remote;
pub mod sample;
mod standard_streams;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    signal_hook::flag::register(libc::SIGXFSZ, Arc::new(AtomicBool::new(false))).map(drop)
}
