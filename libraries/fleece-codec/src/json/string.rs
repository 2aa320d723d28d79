//! Strings in JSON text: escaping and unescaping, with a search of sixteen bytes at once.

use alloc::vec::Vec;

use wide::u8x16;

use crate::value::Value;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Prints a string between quotes, and a colon after it if it is a key. Its bytes are copied, UTF-8
/// or not.
#[inline(always)]
pub(super) fn append_value<const KEY: bool>(string: Value<'_>, out: &mut Vec<u8>) {
    let rest = string.source.bytes.get(string.at..).unwrap_or_default();
    // A short string is copied with the bytes after it, which are then cut off: a copy of fixed
    // size is one instruction.
    if let Some(&[first, ref chunk @ ..]) = rest.first_chunk::<17>() {
        let len = usize::from(first & 0x0F);
        if len < 15 && special_or_delete(chunk) >= len {
            let mut quoted = [0; 19];
            quoted[0] = b'"';
            quoted[1..17].copy_from_slice(chunk);
            quoted[len + 1] = b'"';
            quoted[len + 2] = b':';
            let end = out.len() + len + if KEY { 3 } else { 2 };
            out.extend_from_slice(&quoted);
            return out.truncate(end);
        }
    }
    append(string.payload().unwrap_or_default(), out);
    if KEY {
        out.push(b':');
    }
}

/// Prints a string between quotes.
#[inline(never)]
pub(super) fn append(string: &[u8], out: &mut Vec<u8>) {
    out.reserve(string.len() + 2);
    out.push(b'"');
    let mut rest = string;
    loop {
        let plain = plain_len(rest);
        out.extend_from_slice(&rest[..plain]);
        match rest.get(plain) {
            Some(&byte) => escape(byte, out),
            None => break,
        }
        rest = &rest[plain + 1..];
    }
    out.push(b'"');
}

/// The number of bytes at the start that need no escape.
#[inline]
fn plain_len(text: &[u8]) -> usize {
    let (chunks, rest) = text.as_chunks::<16>();
    for (i, chunk) in chunks.iter().enumerate() {
        let plain = special_or_delete(chunk);
        if plain < 16 {
            return 16 * i + plain;
        }
    }
    let is_special = |&byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20 | 0x7F);
    16 * chunks.len() + rest.iter().position(is_special).unwrap_or(rest.len())
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => {
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// An error in a string, with its offset.
pub(super) enum UnescapeError {
    Unterminated(usize),
    Control(usize),
    Escape(usize),
    /// Half of a surrogate pair, which is no character.
    Surrogate(usize),
}

/// Appends the string whose text begins at `start`, after the opening quote, to `out`. Returns the
/// offset after the closing quote.
pub(super) fn unescape(
    text: &[u8],
    start: usize,
    out: &mut Vec<u8>,
) -> Result<usize, UnescapeError> {
    let mut at = start;
    loop {
        let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<16>()) else {
            return unescape_tail(text, at, out);
        };
        let plain = special(chunk);
        if plain == 16 {
            out.extend_from_slice(chunk);
            at += 16;
            continue;
        }
        let end = out.len() + plain;
        out.extend_from_slice(chunk);
        out.truncate(end);
        at += plain;
        match chunk[plain] {
            b'"' => return Ok(at + 1),
            b'\\' => at = unescape_one(text, at, out)?,
            _ => return Err(UnescapeError::Control(at)),
        }
    }
}

fn unescape_tail(text: &[u8], start: usize, out: &mut Vec<u8>) -> Result<usize, UnescapeError> {
    let mut at = start;
    loop {
        match text.get(at) {
            None => return Err(UnescapeError::Unterminated(at)),
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = unescape_one(text, at, out)?,
            Some(0..0x20) => return Err(UnescapeError::Control(at)),
            Some(&byte) => {
                out.push(byte);
                at += 1;
            }
        }
    }
}

/// Appends the character of the escape at `at`, and returns the end of the escape.
fn unescape_one(text: &[u8], at: usize, out: &mut Vec<u8>) -> Result<usize, UnescapeError> {
    let byte = match text.get(at + 1) {
        Some(&byte @ (b'"' | b'\\' | b'/')) => byte,
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'u') => return unescape_unicode(text, at, out),
        _ => return Err(UnescapeError::Escape(at)),
    };
    out.push(byte);
    Ok(at + 2)
}

fn unescape_unicode(text: &[u8], at: usize, out: &mut Vec<u8>) -> Result<usize, UnescapeError> {
    let first = hex_4(text, at + 2).ok_or(UnescapeError::Escape(at))?;
    let (code, end) = match first {
        0xD800..0xDC00 if text.get(at + 6..at + 8) == Some(br"\u") => {
            let second = hex_4(text, at + 8).ok_or(UnescapeError::Escape(at + 6))?;
            if !(0xDC00..0xE000).contains(&second) {
                return Err(UnescapeError::Surrogate(at));
            }
            (0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00), at + 12)
        }
        code => (code, at + 6),
    };
    let character = char::from_u32(code).ok_or(UnescapeError::Surrogate(at))?;
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(end)
}

fn hex_4(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at..)?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |sum, &digit| Some(sum * 16 + char::from(digit).to_digit(16)?))
}

/// The index of the first byte that must be escaped in a JSON string: `"`, `\`, or one below 0x20.
/// 16 if there is none.
#[inline(always)]
pub(super) fn special(bytes: &[u8; 16]) -> usize {
    let text = u8x16::new(*bytes);
    first(must_be_escaped(text))
}

/// Like [`special`], but also for 0x7F, which the original escapes.
#[inline(always)]
fn special_or_delete(bytes: &[u8; 16]) -> usize {
    let text = u8x16::new(*bytes);
    first(must_be_escaped(text) | text.simd_eq(u8x16::splat(0x7F)))
}

/// The index of the first byte that is not white space in JSON. 16 if there is none.
#[inline(always)]
pub(super) fn not_space(bytes: &[u8; 16]) -> usize {
    let text = u8x16::new(*bytes);
    let is = |byte| text.simd_eq(u8x16::splat(byte));
    first(!(is(b' ') | is(b'\n') | is(b'\r') | is(b'\t')))
}

#[inline(always)]
fn must_be_escaped(text: u8x16) -> u8x16 {
    let is_control = text.min(u8x16::splat(0x1F)).simd_eq(text);
    text.simd_eq(u8x16::splat(b'"')) | text.simd_eq(u8x16::splat(b'\\')) | is_control
}

/// The index of the first byte whose bits are all set.
#[inline(always)]
fn first(flags: u8x16) -> usize {
    // The bit beyond the last one stands for "none".
    (flags.to_bitmask() | 1 << 16).trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_found_in_every_place() {
        for byte in 0..=u8::MAX {
            for place in 0..16 {
                let mut text = [b'a'; 16];
                text[place] = byte;
                let is_special = byte == b'"' || byte == b'\\' || byte < 0x20;
                assert_eq!(special(&text), if is_special { place } else { 16 });
                let is_delete = byte == 0x7F;
                assert_eq!(
                    special_or_delete(&text),
                    if is_special || is_delete { place } else { 16 }
                );
                let mut text = [b' '; 16];
                text[place] = byte;
                let is_space = [b' ', b'\n', b'\r', b'\t'].contains(&byte);
                assert_eq!(not_space(&text), if is_space { 16 } else { place });
            }
        }
    }
}
