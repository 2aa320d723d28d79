//! Names of inputs and files in messages, quoted as GNU does, so that no name can be taken for
//! another text or control the terminal.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

use byte_stream::Address;

/// The input as it was given, but without the password of a URL.
pub(super) fn name(input: &OsStr) -> String {
    match Address::from(input) {
        url @ Address::Url(_) => {
            let name = url.name();
            // A URL that can be printed has no need of quotes.
            if name.chars().all(is_printable) { name } else { quoted(name) }
        }
        _ => quoted(input),
    }
}

/// The name as a word of a shell: `a` is unchanged, and `a b` becomes `'a b'`. These are the rules
/// of the style `shell-escape` of GNU's quotearg, with the colon as a special character.
pub(super) fn quoted(name: impl AsRef<OsStr>) -> String {
    let text = name.as_ref().as_bytes();
    let parts = || text.utf8_chunks().flat_map(|part| part.valid().chars());
    let is_printable =
        text.utf8_chunks().all(|part| part.invalid().is_empty()) && parts().all(is_printable);
    let lone_brace = matches!(text, b"{" | b"}");
    let starts_special = matches!(text.first(), None | Some(b'#' | b'~'));
    if is_printable && !lone_brace && !starts_special && !parts().any(is_special) {
        return parts().collect();
    }
    if is_printable && text.contains(&b'\'') && !needs_single_quotes(text) {
        return format!("\"{}\"", String::from_utf8_lossy(text));
    }
    single_quoted(text)
}

fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}')
}

fn is_special(c: char) -> bool {
    " !\"$&()*;<=>?[\\^`|':".contains(c)
}

/// Whether the text means something else in double quotes, or GNU assumes so.
fn needs_single_quotes(text: &[u8]) -> bool {
    let special = text.iter().any(|b| b"!\"$&()*;<=>?[\\^`|{}".contains(b));
    special || text.iter().skip(1).any(|b| matches!(b, b'#' | b'~'))
}

/// Bytes that cannot be printed stand in `$'…'`.
fn single_quoted(text: &[u8]) -> String {
    let mut quoted = QuotedText { text: "'".to_owned(), escapes: false };
    for part in text.utf8_chunks() {
        for c in part.valid().chars() {
            match c {
                '\'' => quoted.apostrophe(),
                c if is_printable(c) => quoted.plain(c),
                c => quoted.escaped(c),
            }
        }
        part.invalid().iter().for_each(|byte| quoted.octal(*byte));
    }
    quoted.text + "'"
}

struct QuotedText {
    text: String,
    /// Whether the last quotation mark began `$'…'`.
    escapes: bool,
}

impl QuotedText {
    fn plain(&mut self, c: char) {
        if std::mem::take(&mut self.escapes) {
            self.text.push_str("''");
        }
        self.text.push(c);
    }

    fn apostrophe(&mut self) {
        self.escapes = false;
        self.text.push_str("'\\''");
    }

    fn escaped(&mut self, c: char) {
        let letter = match c {
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            c => return c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| self.octal(byte)),
        };
        self.begin_escape();
        self.text.push(letter);
    }

    fn octal(&mut self, byte: u8) {
        self.begin_escape();
        let _ = write!(self.text, "{byte:03o}");
    }

    fn begin_escape(&mut self) {
        if !std::mem::replace(&mut self.escapes, true) {
            self.text.push_str("'$'");
        }
        self.text.push('\\');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &[u8], expected: &str) {
        assert_eq!(name(OsStr::from_bytes(input)), expected);
    }

    #[test]
    fn a_name_is_quoted_where_a_shell_needs_it() {
        check(b"a", "a");
        check(b"", "''");
        check(b"a b:c", "'a b:c'");
        check(b"it's 5", "\"it's 5\"");
        check(b"it's #5", "'it'\\''s #5'");
        check("é@{x}".as_bytes(), "é@{x}");
        check(b"{", "'{'");
        check(b"~", "'~'");
        check(b"a\nb", "'a'$'\\n''b'");
        check(b"\x1b[31m\xff'", "''$'\\033''[31m'$'\\377'\\'''");
    }

    #[test]
    fn a_url_is_shown_without_its_password_and_without_control_characters() {
        check(b"http://u:p@h/a?b=c&d", "http://h/a?b=c&d");
        check(b"http://u:p@h/\x1b[2J", "'http://h/'$'\\033''[2J'");
        check(b"/a/b://u:p@h", "'/a/b://u:p@h'");
    }
}
