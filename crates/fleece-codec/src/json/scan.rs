//! Looking at sixteen bytes of text at once.

use wide::u8x16;

/// The place of the first byte that a JSON string cannot hold as it is: `"`, `\`, or one below
/// 0x20. 16 if there is none.
#[inline(always)]
pub(super) fn special(bytes: &[u8; 16]) -> usize {
    let text = u8x16::new(*bytes);
    first(must_be_escaped(text))
}

/// As [`special`], and 0x7F as well, which the original escapes.
#[inline(always)]
pub(super) fn special_or_delete(bytes: &[u8; 16]) -> usize {
    let text = u8x16::new(*bytes);
    first(must_be_escaped(text) | text.simd_eq(u8x16::splat(0x7F)))
}

/// The place of the first byte that is not white space in JSON. 16 if there is none.
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

/// The first byte of which all bits are set.
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
