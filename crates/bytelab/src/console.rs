//! Standard output and standard error. A reader that is gone ends the printing, never the work, and
//! never changes the exit status.

use std::io::{self, IsTerminal, Write};

use unicode_width::UnicodeWidthStr;

/// Standard output, whose writes succeed after its reader has closed the pipe. Any other error,
/// such as a full disk, is one.
pub(crate) fn stdout() -> impl Write + Send {
    Console { stream: io::stdout(), hides: |error| error.kind() == io::ErrorKind::BrokenPipe }
}

/// Standard error, whose writes always succeed: there is no place to report that they do not.
pub(crate) fn stderr() -> impl Write {
    Console { stream: io::stderr(), hides: |_| true }
}

/// Writes a message on standard error. On a terminal, a long one has several lines, which end
/// between words.
pub(crate) fn message(text: &str) -> io::Result<()> {
    let terminal = Some(io::stderr()).filter(IsTerminal::is_terminal);
    let size = terminal.and_then(terminal_size::terminal_size_of);
    let width = size.map(|(width, _)| usize::from(width.0)).filter(|width| *width >= WIDTH_MIN);
    let shown = match width {
        Some(width) if text.width() > width => report::wrap(text, width - 2).join("\n  "),
        _ => text.to_owned(),
    };
    writeln!(stderr(), "{shown}")
}

/// On a narrower terminal, or on one whose width is not known, lines are not broken.
const WIDTH_MIN: usize = 20;

struct Console<W> {
    stream: W,
    hides: fn(&io::Error) -> bool,
}

impl<W> Console<W> {
    fn unless_hidden<T>(&self, result: io::Result<T>, instead: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() != io::ErrorKind::Interrupted && (self.hides)(&error) => {
                Ok(instead)
            }
            result => result,
        }
    }
}

impl<W: Write> Write for Console<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stream.write(bytes);
        self.unless_hidden(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.stream.flush();
        self.unless_hidden(flushed, ())
    }
}
