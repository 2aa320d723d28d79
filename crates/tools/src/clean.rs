//! Names and texts of files in messages: none controls a terminal.

/// The text with every character escaped that would move the cursor, start an escape sequence or
/// change the direction of writing; white space of any kind becomes a space.
pub(crate) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => clean.push(' '),
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => {
                clean.extend(c.escape_unicode());
            }
            c if c.is_control() => clean.extend(c.escape_unicode()),
            c => clean.push(c),
        }
    }
    clean
}
