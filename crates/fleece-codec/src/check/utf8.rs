//! UTF-8, which nearly always is ASCII.

use core::str::from_utf8;

/// For each length, the bits that no byte of an ASCII string has, after the header.
pub(super) const HIGH_BITS: [u128; 16] = {
    let mut masks = [0; 16];
    let mut len = 1;
    while len < 16 {
        masks[len] = masks[len - 1] | 0x80 << (8 * len);
        len += 1;
    }
    masks
};

/// As `from_utf8`, but quicker to see that a string is ASCII.
#[inline]
pub(super) fn is_utf8(bytes: &[u8]) -> bool {
    is_ascii(bytes) || from_utf8(bytes).is_ok()
}

/// The last block overlaps the one before, so that lengths do not make for different ways through
/// the code.
#[inline]
pub(super) fn is_ascii(bytes: &[u8]) -> bool {
    let high_bits = |block: &[u8; 16]| u128::from_le_bytes(*block) & HIGH_BIT_OF_ALL;
    let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
        return is_short_ascii(bytes);
    };
    let all = high_bits(first) | high_bits(last);
    all == 0 && (bytes.len() <= 32 || is_long_ascii(bytes))
}

#[inline(never)]
fn is_long_ascii(bytes: &[u8]) -> bool {
    let (blocks, _) = bytes.as_chunks::<16>();
    let all = blocks.iter().fold(0, |all, block| all | u128::from_le_bytes(*block));
    all & HIGH_BIT_OF_ALL == 0
}

/// As [`is_ascii`], of less than 16 bytes.
#[inline]
fn is_short_ascii(bytes: &[u8]) -> bool {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from_le_bytes(*first) | u64::from_le_bytes(*last)) & HIGH_BIT_OF_ALL as u64
            == 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u32::from_le_bytes(*first) | u32::from_le_bytes(*last)) & HIGH_BIT_OF_ALL as u32
            == 0;
    }
    bytes.iter().all(u8::is_ascii)
}

const HIGH_BIT_OF_ALL: u128 = u128::from_le_bytes([0x80; 16]);
