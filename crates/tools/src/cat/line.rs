//! The progress line of `--progress` on standard error; if that is not a terminal, one line at the
//! end.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use byte_stream::Progress;
use indicatif::{ProgressBar, ProgressStyle};

pub(super) struct Line {
    bar: ProgressBar,
    name: String,
}

impl Line {
    pub(super) fn new(input: &OsString) -> Line {
        let name = super::name::name(input);
        let bar = ProgressBar::no_length();
        let template = "{msg} {bytes}/{total_bytes} {wide_bar} {binary_bytes_per_sec} {eta}";
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(name.clone());
        Line { bar, name }
    }

    /// The callback that is called for each chunk.
    pub(super) fn shows(&self) -> impl FnMut(Progress) + Send + 'static {
        let bar = self.bar.clone();
        move |progress| {
            if bar.length() != progress.total_bytes {
                bar.set_length(progress.total_bytes.unwrap_or(0));
            }
            bar.set_position(progress.done_bytes);
        }
    }

    pub(super) fn end(self, bytes: Option<u64>) {
        self.bar.finish_and_clear();
        if let Some(bytes) = bytes.filter(|_| !io::stderr().is_terminal()) {
            let _ = writeln!(io::stderr(), "bytelab cat: {}: {bytes} bytes", self.name);
        }
    }
}
