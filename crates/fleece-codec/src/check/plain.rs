//! The slots that nearly all documents are made of, in loops of their own with plain arguments.

use super::layout::FIXED_SIZE;
use super::utf8::{HIGH_BITS, is_ascii};
use crate::wire::{chunk, tag, u16_at, u32_at};

/// Follows slots of two bytes from `at` on and looks at the strings that they lead to. Stops at `end` or at the first slot that is not plain,
/// and says where.
pub(super) fn follow_items(
    bytes: &[u8],
    checked: &mut [u64],
    at: usize,
    end: usize,
    owner: usize,
) -> usize {
    let mut at = at;
    while at < end {
        let Some(word) = u16_at(bytes, at) else { break };
        if !is_short_string(bytes, checked, at, word, owner)
            && !is_plain(bytes, checked, at, word, owner, false)
        {
            break;
        }
        at += 2;
    }
    at
}

/// As [`follow_items`], for pairs of which the key is a string. May stop at the value of a pair.
pub(super) fn follow_pairs(
    bytes: &[u8],
    checked: &mut [u64],
    at: usize,
    end: usize,
    owner: usize,
) -> usize {
    let mut at = at;
    while at < end {
        let Some(pair) = u32_at(bytes, at) else { break };
        let (key, value) = ((pair >> 16) as u16, pair as u16);
        if !is_short_string(bytes, checked, at, key, owner)
            && !is_plain(bytes, checked, at, key, owner, true)
        {
            break;
        }
        if !is_plain(bytes, checked, at + 2, value, owner, false) {
            return at + 2;
        }
        at += 4;
    }
    at
}

/// Whether the slot at `at`, which holds `word`, leads to a string of less than 15 bytes before the owner that was looked at before or is
/// ASCII. Nearly all keys are such, and these are the fewest steps that tell.
#[inline(always)]
fn is_short_string(bytes: &[u8], checked: &mut [u64], at: usize, word: u16, owner: usize) -> bool {
    // What is no plain pointer gives a distance that is too large.
    let distance = usize::from(word ^ 0x8000) * 2;
    // With its header such a string takes 15 bytes at most, so from so far away it ends before the slot.
    if distance >= 0x8000 || distance <= (at - owner).max(15) {
        return false;
    }
    let target = at.wrapping_sub(distance);
    let Some(&first) = bytes.get(target) else { return false };
    let len = usize::from(first.wrapping_sub(0x40));
    let Some(word) = checked.get_mut(target / 128) else { return false };
    if len >= 15 {
        return false;
    }
    let bit = 1 << (target / 2 % 64);
    if *word & bit != 0 {
        return true;
    }
    let is_ascii = chunk::<16>(bytes, target)
        .is_some_and(|chunk| u128::from_le_bytes(*chunk) & HIGH_BITS[len] == 0);
    if is_ascii {
        *word |= bit;
    }
    is_ascii
}

/// Whether the slot leads to a scalar, to a string if `is_key`, and that is sound if it is a string.
#[inline(always)]
fn is_plain(
    bytes: &[u8],
    checked: &mut [u64],
    at: usize,
    word: u16,
    owner: usize,
    is_key: bool,
) -> bool {
    plain_slot(bytes, at, word, owner).is_some_and(|(first, target)| {
        (!is_key || first >> 4 == tag::STRING) && is_sound(bytes, checked, first, target)
    })
}

/// Whether this is no string, or one that was looked at before or is ASCII.
#[inline(always)]
fn is_sound(bytes: &[u8], checked: &mut [u64], first: u8, target: usize) -> bool {
    if first >> 4 != tag::STRING || target == NOWHERE {
        return true;
    }
    let Some(word) = checked.get_mut(target / 128) else { return false };
    let bit = 1 << (target / 2 % 64);
    if *word & bit != 0 {
        return true;
    }
    let len = usize::from(first & 0x0F);
    let is_sound = if len < 15 {
        chunk::<16>(bytes, target)
            .is_some_and(|chunk| u128::from_le_bytes(*chunk) & HIGH_BITS[len] == 0)
    } else {
        let len = bytes.get(target + 1).map_or(0, |&len| usize::from(len));
        bytes.get(target + 2..).and_then(|rest| rest.get(..len)).is_some_and(is_ascii)
    };
    *word |= u64::from(is_sound) << (target / 2 % 64);
    is_sound
}

/// The first byte and the place of what a slot of two bytes leads to, if that is a scalar before the owner of the slot and ends before the
/// slot.
#[inline(always)]
fn plain_slot(bytes: &[u8], at: usize, word: u16, owner: usize) -> Option<(u8, usize)> {
    if word < 0x8000 {
        let first = (word >> 8) as u8;
        // A value of two bytes; of strings, only an ASCII character.
        let size = FIXED_SIZE[usize::from(first)];
        let is_plain = size == 2 && (first != 0x41 || word & 0x80 == 0) || size == 1;
        return is_plain.then_some((first, NOWHERE));
    }
    let distance = usize::from(word & 0x3FFF) * 2;
    let target = at.wrapping_sub(distance);
    let &first = bytes.get(target)?;
    let mut size = usize::from(FIXED_SIZE[usize::from(first)]);
    if size == 0 {
        // A length of one byte follows; all else is not plain.
        let &second =
            bytes.get(target + 1).filter(|&&second| first & 0xEF == 0x4F && second < 0x80)?;
        size = 2 + usize::from(second);
    }
    (word < 0xC000 && size <= distance && distance > at - owner).then_some((first, target))
}

/// No place: the value is in the slot.
const NOWHERE: usize = usize::MAX;
