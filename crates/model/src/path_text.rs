//! Paths and arguments as text. Runs are stored, and typed commands become a file, as text, which
//! is UTF-8; a path may have any bytes. Bytes that are not UTF-8 become characters that stand for
//! nothing else: the last 128 of a private area. Pure.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Stands for the byte 0; only those from 0x80 on are used.
const FIRST: u32 = 0x10_ff00;

/// The text that [`to_os`] turns back. Text that is UTF-8 stays as it is, except for the characters
/// that stand for bytes.
pub fn from_os(name: &OsStr) -> Cow<'_, str> {
    match name.to_str() {
        Some(text) if !text.chars().any(stands_for_a_byte) => Cow::Borrowed(text),
        _ => Cow::Owned(from_bytes(name.as_bytes())),
    }
}

pub fn from_path(path: &Path) -> Cow<'_, str> {
    from_os(path.as_os_str())
}

pub fn from_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if stands_for_a_byte(c) {
                text.extend(c.encode_utf8(&mut [0; 4]).bytes().filter_map(of_byte));
            } else {
                text.push(c);
            }
        }
        text.extend(chunk.invalid().iter().copied().filter_map(of_byte));
    }
    text
}

fn of_byte(byte: u8) -> Option<char> {
    char::from_u32(FIRST + u32::from(byte))
}

fn stands_for_a_byte(c: char) -> bool {
    byte_of(c).is_some()
}

/// The byte for which a character stands.
pub fn byte_of(c: char) -> Option<u8> {
    u8::try_from(u32::from(c).checked_sub(FIRST)?).ok().filter(|byte| *byte >= 0x80)
}

/// The name with all of its bytes.
pub fn to_os(text: &str) -> Cow<'_, OsStr> {
    match to_bytes(text) {
        Cow::Borrowed(_) => Cow::Borrowed(OsStr::new(text)),
        Cow::Owned(bytes) => Cow::Owned(OsString::from_vec(bytes)),
    }
}

pub fn to_path(text: &str) -> PathBuf {
    PathBuf::from(to_os(text).into_owned())
}

pub fn to_bytes(text: &str) -> Cow<'_, [u8]> {
    if !text.chars().any(stands_for_a_byte) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte_of(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_byte_that_is_no_text_comes_back() {
        let name = OsStr::from_bytes(b"a\xffb\xc3\xa4");
        let text = from_os(name);
        assert_eq!(text, "a\u{10ffff}b\u{e4}");
        assert_eq!(to_os(&text), name);
        assert_eq!(from_os(OsStr::new("ä b")), "ä b");
        assert!(matches!(to_os("ä b"), Cow::Borrowed(_)));
        // A name that has such a character is not taken for one with such a byte.
        let name = OsStr::new("\u{10ffff}");
        assert_ne!(from_os(name), "\u{10ffff}");
        assert_eq!(to_os(&from_os(name)), name);
    }

    proptest! {
        #[test]
        fn any_name_comes_back(bytes: Vec<u8>, text: String) {
            for bytes in [&bytes[..], text.as_bytes(), "\u{10ff80}\u{10ff7f}".as_bytes()] {
                let name = OsStr::from_bytes(bytes);
                let text = from_os(name);
                prop_assert_eq!(&*to_os(&text), name);
            }
        }
    }
}
