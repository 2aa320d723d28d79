//! Fast paths of the check for plain slots and ASCII strings, which nearly all documents consist
//! of: separate loops with plain arguments.

use core::str::from_utf8;

use super::scan::{DEEP, FIXED_SIZE};
use crate::wire::{LONG_COUNT, PARENT_KEY, chunk, u16_at, u32_at};

/// The scan's state of the values that slots lead to; see the fields of
/// [`Scan`](super::scan::Scan).
pub(super) struct Marks<'s> {
    pub(super) checked: &'s mut [u64],
    pub(super) pending: &'s mut [u64],
    pub(super) depths: &'s mut [u8],
    pub(super) budget: &'s mut usize,
    /// Shared keys below this have a name; `usize::MAX` without a table.
    pub(super) names: usize,
    /// The number of collections around the slots; [`DEEP`] if pointers to collections take the
    /// slow path.
    pub(super) depth: u8,
    /// The bytes before the collection; all targets of plain pointers begin in them.
    pub(super) before: &'s [u8],
}

/// Skips two-byte slots from `at` on that hold a scalar or point to a number in `before`: arrays of
/// numbers are common and need no other check. Stops as [`follow_items`] does.
#[inline(always)]
pub(super) fn pass_numbers(bytes: &[u8], before: &[u8], at: usize, end: usize) -> usize {
    let mut at = at;
    while at < end {
        let Some(word) = u16_at(bytes, at) else { break };
        let is_number = if word < 0x8000 {
            word < 0x4000 && FIXED_SIZE[usize::from(word >> 8)] == 2
        } else {
            PointerTarget::new(before, at, word).is_some_and(|target| target.is_number())
        };
        if !is_number {
            break;
        }
        at += 2;
    }
    at
}

/// Follows slots of `WIDTH` bytes from `at` on, checks the strings that they lead to and marks the
/// collections. Stops at `end` or at the first slot that is not plain, and returns its offset.
pub(super) fn follow_items<const WIDTH: usize>(
    bytes: &[u8],
    mut marks: Marks<'_>,
    at: usize,
    end: usize,
) -> usize {
    let mut at = at;
    while at < end {
        let is_plain = if WIDTH == 2 {
            u16_at(bytes, at).is_some_and(|word| marks.is_plain(bytes, at, word))
        } else {
            u32_at(bytes, at).is_some_and(|word| marks.is_plain_wide(bytes, at, word))
        };
        if !is_plain {
            break;
        }
        at += WIDTH;
    }
    at
}

/// Like [`follow_items`], for pairs. May stop at the value of a pair.
pub(super) fn follow_pairs(bytes: &[u8], mut marks: Marks<'_>, at: usize, end: usize) -> usize {
    let mut at = at;
    while at < end {
        let Some(pair) = u32_at(bytes, at) else { break };
        if !marks.is_plain_key(bytes, at, (pair >> 16) as u16) {
            break;
        }
        if !marks.is_plain(bytes, at + 2, pair as u16) {
            return at + 2;
        }
        at += 4;
    }
    at
}

impl Marks<'_> {
    /// Whether the slot at `at`, which holds `word`, is a valid key: a string, or a number with a
    /// name.
    #[inline(always)]
    fn is_plain_key(&mut self, bytes: &[u8], at: usize, word: u16) -> bool {
        if word < 0x8000 {
            let is_number = word < PARENT_KEY && usize::from(word) < self.names;
            return is_number || word >> 8 == 0x40 || word >> 7 == 0x41 << 1;
        }
        let Some(target) = PointerTarget::new(self.before, at, word) else { return false };
        match target.is_short_ascii(bytes) {
            Some(true) => true,
            Some(false) => self.is_short_string(bytes, target.at, target.distance),
            None => self.is_long_string(bytes, &target),
        }
    }

    /// Whether the slot leads to a valid value that needs no further check. A collection is marked
    /// as pending.
    #[inline(always)]
    fn is_plain(&mut self, bytes: &[u8], at: usize, word: u16) -> bool {
        if word < 0x8000 {
            let first = (word >> 8) as u8;
            // A value of two bytes; a string only if its character is ASCII.
            let size = FIXED_SIZE[usize::from(first)];
            return size == 2 && (first != 0x41 || word & 0x80 == 0) || size == 1;
        }
        PointerTarget::new(self.before, at, word)
            .is_some_and(|target| self.leads_to(bytes, &target))
    }

    /// Like [`Marks::is_plain`], for a slot of four bytes that holds a pointer.
    #[inline(always)]
    fn is_plain_wide(&mut self, bytes: &[u8], at: usize, word: u32) -> bool {
        PointerTarget::wide(self.before, at, word)
            .is_some_and(|target| self.leads_to(bytes, &target))
    }

    /// Whether the target is a valid value that needs no further check.
    #[inline(always)]
    fn leads_to(&mut self, bytes: &[u8], target: &PointerTarget) -> bool {
        match target.is_short_ascii(bytes) {
            Some(true) => return true,
            Some(false) => return self.is_short_string(bytes, target.at, target.distance),
            None => {}
        }
        match target.first {
            0x4F => self.is_long_string(bytes, target),
            0x60..0x80 => self.mark(bytes, target),
            // The size is 0 here if it depends on more than the first byte.
            first => {
                let size = usize::from(FIXED_SIZE[usize::from(first)]);
                size.wrapping_sub(1) < target.distance
            }
        }
    }

    /// Whether the string of less than 15 bytes was checked before or is UTF-8.
    #[cold]
    fn is_short_string(&mut self, bytes: &[u8], at: usize, distance: usize) -> bool {
        let len = bytes.get(at).map_or(0, |first| usize::from(first & 0x0F));
        len < distance && self.is_text(bytes, at, at + 1, len)
    }

    /// Whether this is a string with a length of one or two bytes, which was checked before or is
    /// UTF-8.
    #[inline(always)]
    fn is_long_string(&mut self, bytes: &[u8], target: &PointerTarget) -> bool {
        let Some(&[first, low, high]) = chunk(bytes, target.at) else { return false };
        let (mut len, mut header) = (usize::from(low), 2);
        if low >= 0x80 {
            (len, header) = (usize::from(low & 0x7F) | usize::from(high) << 7, 3);
        }
        if first != 0x4F || len >= 0x80 << 7 || header + len > target.distance {
            return false;
        }
        self.is_text(bytes, target.at, target.at + header, len)
    }

    /// Whether the bytes of the string were checked before or are UTF-8.
    #[inline(always)]
    fn is_text(&mut self, bytes: &[u8], at: usize, start: usize, len: usize) -> bool {
        let Some(word) = self.checked.get_mut(at / 128) else { return false };
        let bit = 1 << (at / 2 % 64);
        if *word & bit != 0 {
            return true;
        }
        // The budget limits the cost of overlapping strings.
        let Some(budget) = self.budget.checked_sub(len) else { return false };
        *self.budget = budget;
        let text = bytes.get(start..).and_then(|rest| rest.get(..len));
        let is_sound = text.is_some_and(is_utf8);
        *word |= u64::from(is_sound) << (at / 2 % 64);
        is_sound
    }

    /// Marks a collection as pending, if it ends before the slot and its count is in its header.
    #[inline(always)]
    fn mark(&mut self, bytes: &[u8], target: &PointerTarget) -> bool {
        let Some(header) = u16_at(bytes, target.at) else { return false };
        let count = usize::from(header & 0x07FF);
        let shift = usize::from(header >> 11 & 1) + usize::from(header >> 12 & 1);
        if count == LONG_COUNT || 2 + ((2 * count) << shift) > target.distance || self.depth == DEEP
        {
            return false;
        }
        let (Some(word), Some(depth)) =
            (self.pending.get_mut(target.at / 128), self.depths.get_mut(target.at / 4))
        else {
            return false;
        };
        *word |= 1 << (target.at / 2 % 64);
        *depth = self.depth.max(*depth);
        true
    }
}

/// The target of a plain pointer.
struct PointerTarget {
    at: usize,
    /// The distance from the target to the slot.
    distance: usize,
    first: u8,
}

impl PointerTarget {
    #[inline(always)]
    fn new(before: &[u8], at: usize, word: u16) -> Option<Self> {
        let distance = usize::from(word & 0x3FFF) * 2;
        let target = at.wrapping_sub(distance);
        let &first = before.get(target).filter(|_| word < 0xC000)?;
        Some(Self { at: target, distance, first })
    }

    #[inline(always)]
    fn wide(before: &[u8], at: usize, word: u32) -> Option<Self> {
        let distance = (word & 0x3FFF_FFFF) as usize * 2;
        let target = at.wrapping_sub(distance);
        let &first = before.get(target).filter(|_| word >> 30 == 0b10)?;
        Some(Self { at: target, distance, first })
    }

    /// Whether it is a number that ends before the slot.
    #[inline(always)]
    fn is_number(&self) -> bool {
        let size = usize::from(FIXED_SIZE[usize::from(self.first)]);
        self.first < 0x30 && size <= self.distance
    }

    /// Whether it is a string of less than 15 bytes that ends before the slot and is ASCII; `None`
    /// if it is something else or longer.
    #[inline(always)]
    fn is_short_ascii(&self, bytes: &[u8]) -> Option<bool> {
        let len = usize::from(self.first.wrapping_sub(0x40));
        if len >= 15 {
            return None;
        }
        let stored = chunk::<16>(bytes, self.at).filter(|_| len < self.distance);
        Some(stored.is_some_and(|stored| u128::from_le_bytes(*stored) & HIGH_BITS[len] == 0))
    }
}

/// For each length, the high bits of the bytes after the header: all are zero in an ASCII string.
pub(super) const HIGH_BITS: [u128; 16] = {
    let mut masks = [0; 16];
    let mut len = 1;
    while len < 16 {
        masks[len] = masks[len - 1] | 0x80 << (8 * len);
        len += 1;
    }
    masks
};

/// Like `from_utf8`, but faster for ASCII and for characters of three bytes, which those of East
/// Asia are.
#[inline]
pub(super) fn is_utf8(bytes: &[u8]) -> bool {
    is_ascii(bytes) || is_mixed_utf8(bytes)
}

#[inline(never)]
fn is_mixed_utf8(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(eight) = rest.first_chunk() {
        let word = u64::from_le_bytes(*eight);
        // The number of ASCII characters before the first other one.
        let ascii = (word & HIGH_BIT_OF_ALL as u64).trailing_zeros() as usize / 8;
        let len = if ascii > 0 { ascii } else { character_bytes(word) };
        if len == 0 {
            return false;
        }
        rest = &rest[len..];
    }
    from_utf8(rest).is_ok()
}

/// The length of the character in the lowest bytes, which is not ASCII, or that of two of three
/// bytes each; 0 if it is malformed (RFC 3629, section 4).
#[inline(always)]
fn character_bytes(word: u64) -> usize {
    if is_character_of_three(word) {
        return if is_character_of_three(word >> 24) { 6 } else { 3 };
    }
    if word & 0xC0E0 == 0x80C0 {
        // Behind C0 and C1 it would be overlong.
        return if word & 0x1E == 0 { 0 } else { 2 };
    }
    if word & 0xC0C0_C0F8 == 0x8080_80F0 {
        // The code point without its last 12 bits: 10000 to 10FFFF.
        let plane = (word & 0x07) << 6 | word >> 8 & 0x3F;
        return if (0x10..0x110).contains(&plane) { 4 } else { 0 };
    }
    0
}

/// Whether the lowest bytes are a character of three bytes. Behind E0 the second byte is from A0
/// on, otherwise it would be overlong; behind ED it is below A0, otherwise it would be a surrogate.
#[inline(always)]
fn is_character_of_three(word: u64) -> bool {
    word & 0x00C0_C0F0 == 0x0080_80E0 && !matches!(word & 0x200F, 0 | 0x200D)
}

/// The last block overlaps the one before it, so that most lengths take the same path through the
/// code.
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

/// Like [`is_ascii`], for less than 16 bytes.
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

#[cfg(test)]
mod tests {
    use super::is_utf8;
    use alloc::vec::Vec;
    use core::str::from_utf8;

    /// The first and the last byte of each range that RFC 3629 names.
    const BORDERS: [u8; 18] = [
        0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xEC, 0xED, 0xEF,
        0xF0, 0xF4, 0xF5,
    ];

    #[test]
    fn texts_are_utf8_if_the_standard_library_says_so() {
        // In front of them nothing, ASCII and whole characters; behind them nothing and ASCII.
        for (before, behind) in [("", ""), ("abc", "abcdefgh"), ("日é😀", "a"), ("日", "日日")]
        {
            for number in 0..BORDERS.len().pow(4) {
                let border = |place| BORDERS[number / BORDERS.len().pow(place) % BORDERS.len()];
                let mut text: Vec<u8> = before.into();
                text.extend([border(0), border(1), border(2), border(3)]);
                text.extend(behind.as_bytes());
                assert_eq!(is_utf8(&text), from_utf8(&text).is_ok(), "{text:02x?}");
            }
        }
    }

    #[test]
    fn each_character_is_utf8() {
        for character in '\0'..=char::MAX {
            let mut text = [b' '; 12];
            character.encode_utf8(&mut text);
            assert!(is_utf8(&text), "{character:?}");
        }
    }
}
