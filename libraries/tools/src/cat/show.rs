//! The options of `cat` that show or number the output. The inputs are treated as one text.

use std::io::{self, Write};

use clap::Args;

#[derive(Args, Clone, Default)]
#[cfg_attr(test, derive(Debug))]
#[command(next_help_heading = "Text")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct ShowArgs {
    /// Equivalent to -vET
    #[arg(short = 'A', long, conflicts_with = "resume", overrides_with = "show_all")]
    show_all: bool,
    /// Number lines that are not empty; overrides -n
    #[arg(short = 'b', long, conflicts_with = "resume", overrides_with = "number_nonblank")]
    number_nonblank: bool,
    /// Equivalent to -vE
    #[arg(short = 'e', conflicts_with = "resume", overrides_with = "nonprinting_and_ends")]
    nonprinting_and_ends: bool,
    /// Show $ at the end of each line
    #[arg(short = 'E', long, conflicts_with = "resume", overrides_with = "show_ends")]
    show_ends: bool,
    /// Number all lines
    #[arg(short = 'n', long, conflicts_with = "resume", overrides_with = "number")]
    number: bool,
    /// Suppress repeated empty lines
    #[arg(short = 's', long, conflicts_with = "resume", overrides_with = "squeeze_blank")]
    squeeze_blank: bool,
    /// Equivalent to -vT
    #[arg(short = 't', conflicts_with = "resume", overrides_with = "nonprinting_and_tabs")]
    nonprinting_and_tabs: bool,
    /// Show tabs as ^I
    #[arg(short = 'T', long, conflicts_with = "resume", overrides_with = "show_tabs")]
    show_tabs: bool,
    /// Ignored: output is never buffered
    #[arg(short = 'u', overrides_with = "unbuffered")]
    unbuffered: bool,
    /// Use ^ and M- notation, except for line feeds and tabs
    #[arg(short = 'v', long, conflicts_with = "resume", overrides_with = "show_nonprinting")]
    show_nonprinting: bool,
}

/// Rewrites bytes according to the options. The state continues from one input to the next.
#[expect(clippy::struct_excessive_bools, reason = "options, and the state of a text")]
pub(super) struct ShowFilter {
    numbers_all: bool,
    numbers_filled: bool,
    squeezes: bool,
    ends: bool,
    tabs: bool,
    nonprinting: bool,
    line: u64,
    /// Whether the next byte is the first of a line.
    at_start: bool,
    /// Whether the previous line was empty.
    after_empty: bool,
    /// Whether a carriage return is held back, which `-E` shows only before a line feed.
    held_return: bool,
    text: Vec<u8>,
}

impl ShowFilter {
    /// `None` if the bytes are copied unchanged.
    pub(super) fn new(args: &ShowArgs) -> Option<ShowFilter> {
        let ShowArgs { show_all, nonprinting_and_ends, nonprinting_and_tabs, .. } = *args;
        let shown = ShowFilter {
            numbers_all: args.number && !args.number_nonblank,
            numbers_filled: args.number_nonblank,
            squeezes: args.squeeze_blank,
            ends: args.show_ends || show_all || nonprinting_and_ends,
            tabs: args.show_tabs || show_all || nonprinting_and_tabs,
            nonprinting: args.show_nonprinting
                || show_all
                || nonprinting_and_ends
                || nonprinting_and_tabs,
            line: 0,
            at_start: true,
            after_empty: false,
            held_return: false,
            text: Vec::new(),
        };
        let changes = shown.numbers_all
            || shown.numbers_filled
            || shown.squeezes
            || shown.ends
            || shown.tabs
            || shown.nonprinting;
        changes.then_some(shown)
    }

    /// The output for the next bytes of the input.
    pub(super) fn take(&mut self, bytes: &[u8]) -> &[u8] {
        self.text.clear();
        for byte in bytes {
            if *byte == b'\n' {
                self.end_line();
            } else {
                self.add(*byte);
            }
        }
        &self.text
    }

    /// The output that remains after the last input.
    pub(super) fn end(&mut self) -> &[u8] {
        if std::mem::take(&mut self.held_return) { b"\r" } else { b"" }
    }

    fn end_line(&mut self) {
        let is_empty = self.at_start;
        if is_empty && self.after_empty && self.squeezes {
            return;
        }
        if is_empty && self.numbers_all {
            self.add_number();
        }
        if std::mem::take(&mut self.held_return) {
            self.text.extend_from_slice(b"^M");
        }
        if self.ends {
            self.text.push(b'$');
        }
        self.text.push(b'\n');
        (self.at_start, self.after_empty) = (true, is_empty);
    }

    fn add(&mut self, byte: u8) {
        if std::mem::take(&mut self.held_return) {
            self.text.push(b'\r');
        }
        if std::mem::take(&mut self.at_start) && (self.numbers_all || self.numbers_filled) {
            self.add_number();
        }
        match byte {
            b'\t' if self.tabs => self.text.extend_from_slice(b"^I"),
            b'\t' => self.text.push(byte),
            b'\r' if self.ends && !self.nonprinting => self.held_return = true,
            _ if self.nonprinting => self.add_visible(byte),
            _ => self.text.push(byte),
        }
    }

    fn add_visible(&mut self, byte: u8) {
        if byte >= 0x80 {
            self.text.extend_from_slice(b"M-");
        }
        match byte & 0x7f {
            low @ 0..0x20 => self.text.extend_from_slice(&[b'^', low + 0x40]),
            0x7f => self.text.extend_from_slice(b"^?"),
            low => self.text.push(low),
        }
    }

    fn add_number(&mut self) {
        self.line += 1;
        // Writing to memory cannot fail.
        let _: io::Result<()> = write!(self.text, "{:6}\t", self.line);
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        show: ShowArgs,
        #[arg(long)]
        resume: bool,
    }

    fn check(flags: &str, input: &str, expected: &str) {
        let args = Flags::parse_from(["cat"].into_iter().chain(flags.split(' ')));
        let mut shown = ShowFilter::new(&args.show).unwrap();
        let mut text = Vec::new();
        for byte in input.as_bytes() {
            text.extend_from_slice(shown.take(&[*byte]));
        }
        text.extend_from_slice(shown.end());
        assert_eq!(String::from_utf8(text).unwrap(), expected, "{flags} {input:?}");
    }

    #[test]
    fn a_text_is_shown_as_the_options_say() {
        check("-n", "a\n\nb", "     1\ta\n     2\t\n     3\tb");
        check("-n -b", "a\n\nb\n", "     1\ta\n\n     2\tb\n");
        check("-s -n", "\n\n\na\n\n\n", "     1\t\n     2\ta\n     3\t\n");
        check("-E", "a\r\n\rb\n\r", "a^M$\n\rb$\n\r");
        check("-e", "\r\n\u{7f}", "^M$\n^?");
        check("-T", "\ta\u{1}", "^Ia\u{1}");
        check("-t", "\t\u{1}\n", "^I^A\n");
        check("-A", "\u{e9}\u{80}", "M-CM-)M-BM-^@");
        check("-v", "\t\u{1b}", "\t^[");
        check("-v -v", "\u{0}", "^@");
    }

    #[test]
    fn nothing_is_shown_without_an_option() {
        let args = Flags::parse_from(["cat", "-u"]);
        assert!(ShowFilter::new(&args.show).is_none() && !args.resume);
    }
}
