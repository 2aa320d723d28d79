//! Values and reasons in a line of the protocol: bytes that a line may not have are `%XX`. Pure.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::path_text;

/// A path may have bytes that are no text: a worker gets them as they are.
pub(super) fn escape_value(value: &str) -> String {
    let bytes = path_text::to_bytes(value);
    escape_where(&bytes, is_special).unwrap_or_else(|| value.to_owned())
}

/// A value as one word of ASCII: every character except printable ASCII other than the space and
/// `%` becomes `%XX`.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_where(text.as_bytes(), is_special).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn is_special(byte: u8) -> bool {
    !byte.is_ascii_graphic() || byte == b'%'
}

/// A reason as one line: like [`escape`], but spaces are kept.
pub(super) fn escape_text(text: &str) -> Cow<'_, str> {
    let special = |byte| is_special(byte) && byte != b' ';
    escape_where(text.as_bytes(), special).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// None if there is nothing to escape.
fn escape_where(text: &[u8], special: impl Fn(u8) -> bool) -> Option<String> {
    if !text.iter().copied().any(&special) {
        return None;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for b in text.iter().copied() {
        if special(b) {
            let _ = write!(out, "%{b:02X}");
        } else {
            out.push(char::from(b));
        }
    }
    Some(out)
}

/// Reverses [`escape`]. A `%` without two hex digits after it stands for itself, so that a
/// hand-written worker may send `fail 50 % is too much`.
pub fn unescape(text: &str) -> Result<String, String> {
    String::from_utf8(unescaped(text)).map_err(|_| format!("{} is not UTF-8", quote(text)))
}

pub(super) fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let digits = (bytes[i] == b'%').then(|| text.get(i + 1..i + 3)).flatten();
        let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        if let Some(byte) = digits.and_then(|d| u8::from_str_radix(d, 16).ok()) {
            out.push(byte);
            i += 3;
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    out
}

/// Text from outside for an error message: short, on one line, without control characters.
pub fn quote(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
