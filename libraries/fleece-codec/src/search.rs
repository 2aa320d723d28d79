//! Search for a key of one dict, directly in the bytes, because it must be fast.

use crate::array::Slots;
use crate::key::{Key, Needle, prefix};
use crate::wire::{PARENT_KEY, chunk, narrow_target, tag, u16_at, u32_at, wide_target};
use core::cmp::Ordering;

impl Slots<'_> {
    /// The index of the pair with this key, by binary search.
    #[inline(always)]
    pub(crate) fn search(&self, needle: &Needle<'_>) -> Option<usize> {
        match *needle {
            Needle::Name(name) => self.search_name(name),
            Needle::Shared(number) => self.search_number(number),
        }
    }

    /// Like [`search`](Self::search), for a key that is a string.
    #[inline(always)]
    pub(crate) fn search_name(&self, name: &[u8]) -> Option<usize> {
        let find = match (self.wide, name.len() > 8) {
            (false, false) => find::<false, false>,
            (false, true) => find::<false, true>,
            (true, false) => find::<true, false>,
            (true, true) => find::<true, true>,
        };
        match find(self.source.bytes, self.first, self.count, name) {
            UNCLEAR => self.search_rare(&Needle::new(name)),
            index => (index != ABSENT).then_some(index),
        }
    }

    /// The offset of the value of pair number `index`, if that pair has this key. May miss it if
    /// the key is long or at the end of the data, or the value is not behind a plain pointer.
    #[inline(always)]
    pub(crate) fn value_if_key_at(&self, index: usize, key: &Key) -> Option<usize> {
        if index >= self.count {
            return None;
        }
        let bytes = self.source.bytes;
        let (key_at, value_at) = if self.wide {
            let slot = self.first + 8 * index;
            let pair = u64::from_be_bytes(*chunk(bytes, slot)?);
            let value = wide_target(bytes, slot + 4, pair as u32)?;
            (key_place::<true>(slot, (pair >> 32) as u32).unwrap_or(slot), value)
        } else {
            let slot = self.first + 4 * index;
            let pair = u32_at(bytes, slot)?;
            let value = narrow_target(bytes, slot + 2, pair as u16)?;
            (key_place::<false>(slot, pair >> 16).unwrap_or(slot), value)
        };
        let stored = chunk(bytes, key_at)?;
        key.is(stored, bytes, key_at).then_some(value_at)
    }

    /// Like [`value_if_key_at`](Self::value_if_key_at), for a shared key.
    #[inline]
    pub(crate) fn value_if_number_at(&self, index: usize, number: u16) -> Option<usize> {
        if index >= self.count {
            return None;
        }
        let bytes = self.source.bytes;
        if self.wide {
            let slot = self.first + 8 * index;
            let pair = u64::from_be_bytes(*chunk(bytes, slot)?);
            wide_target(bytes, slot + 4, pair as u32).filter(|_| (pair >> 48) as u16 == number)
        } else {
            let slot = self.first + 4 * index;
            let pair = u32_at(bytes, slot)?;
            narrow_target(bytes, slot + 2, pair as u16).filter(|_| (pair >> 16) as u16 == number)
        }
    }

    /// Like [`search`](Self::search), for a shared key.
    #[inline]
    pub(crate) fn search_number(&self, number: u16) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = (low + high) >> 1;
            let Some(theirs) = self.number_of_key(middle) else {
                return self.search_rare(&Needle::shared(number));
            };
            match theirs.cmp(&i32::from(number)) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// The number by which a key sorts: that of a shared key, -1 for the parent key, a large one
    /// for a string. `None` if the key is not plain.
    #[inline(always)]
    fn number_of_key(&self, index: usize) -> Option<i32> {
        let bytes = self.source.bytes;
        let (word, target) = if self.wide {
            let slot = self.first + 8 * index;
            let word = u32_at(bytes, slot)?;
            ((word >> 16) as u16, wide_target(bytes, slot, word)?)
        } else {
            let slot = self.first + 4 * index;
            let word = u16_at(bytes, slot)?;
            (word, narrow_target(bytes, slot, word)?)
        };
        match word {
            0..PARENT_KEY => Some(word.into()),
            PARENT_KEY => Some(-1),
            _ => (bytes.get(target)? >> 4 == tag::STRING).then_some(i32::MAX),
        }
    }

    /// Searches with all that the format allows: shared keys, extern pointers, very long keys.
    #[cold]
    fn search_rare(&self, needle: &Needle<'_>) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            // A key behind a broken pointer may have any order.
            let order = match self.get(2 * middle) {
                Some(key) => needle.order_of(key),
                None => Ordering::Less,
            };
            match order {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }
}

/// No pair has the key.
const ABSENT: usize = usize::MAX;
/// The search met a key that is not plain.
const UNCLEAR: usize = usize::MAX - 1;

/// The index of the key, [`ABSENT`] or [`UNCLEAR`]. `LONG` says that the name is longer than eight
/// bytes. Otherwise no function is called, so that all values stay in registers.
#[inline(never)]
fn find<const WIDE: bool, const LONG: bool>(
    bytes: &[u8],
    first: usize,
    count: usize,
    name: &[u8],
) -> usize {
    let prefix = prefix(name);
    let (mut low, mut high) = (0, count);
    while low < high {
        // Counts are shorter than the data: no overflow.
        let middle = (low + high) >> 1;
        let slot = first + middle * if WIDE { 8 } else { 4 };
        let Some((theirs, len, at)) = stored_prefix::<WIDE>(bytes, slot) else { return UNCLEAR };
        // Nearly always the first eight bytes decide.
        if theirs < prefix {
            low = middle + 1;
            continue;
        }
        if theirs > prefix {
            high = middle;
            continue;
        }
        let order = if LONG && len > 8 {
            match bytes.get(at..at + len) {
                Some(stored) => stored.cmp(name),
                None => return UNCLEAR,
            }
        } else {
            len.cmp(&name.len())
        };
        match order {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return middle,
        }
    }
    ABSENT
}

/// The first eight bytes of the key whose slot is at `slot`, in the form of [`prefix`]; its length,
/// and the offset of its bytes if it is not in the slot. `None` if it is not a plain string.
#[inline(always)]
fn stored_prefix<const WIDE: bool>(bytes: &[u8], slot: usize) -> Option<(u64, usize, usize)> {
    let word = if WIDE { u32_at(bytes, slot)? } else { u32::from(u16_at(bytes, slot)?) };
    let Some(at) = key_place::<WIDE>(slot, word) else {
        // A string of one byte or none is in the slot itself.
        let [first, second] = if WIDE { (word >> 16) as u16 } else { word as u16 }.to_be_bytes();
        return match first {
            0x40 => Some((0, 0, slot)),
            0x41 => Some((u64::from(second) << 56, 1, slot)),
            _ => None,
        };
    };
    let &[header, ref eight @ ..] = chunk::<9>(bytes, at)?;
    let len = header.wrapping_sub(0x40);
    if len < 15 {
        let len = usize::from(len);
        return Some((u64::from_be_bytes(*eight) & MASKS[len], len, at + 1));
    }
    let &[header, len, ref eight @ ..] = chunk::<10>(bytes, at)?;
    // The name is neither very long, nor short with the header of a long one, which no encoder
    // writes.
    let is_plain = header == 0x4F && (8..0x80).contains(&len);
    is_plain.then_some((u64::from_be_bytes(*eight), usize::from(len), at + 2))
}

/// For each length, the part of the first eight bytes that belongs to the string.
const MASKS: [u64; 15] = {
    let mut masks = [u64::MAX; 15];
    let mut len = 0;
    while len < 8 {
        masks[len] = !(u64::MAX >> (8 * len));
        len += 1;
    }
    masks
};

/// The target of the slot, if it holds a plain pointer.
#[inline(always)]
fn key_place<const WIDE: bool>(slot: usize, word: u32) -> Option<usize> {
    let pointer = if WIDE { 1 << 31 } else { 1 << 15 };
    let distance = word ^ pointer;
    (distance < pointer / 2).then(|| slot.wrapping_sub(distance as usize * 2))
}

#[cfg(test)]
mod tests {
    use crate::{Doc, Encoder, Key, SharedKeys};
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    /// A dict of these names, each with its number as the value, after the table was filled with
    /// some of them.
    fn document(names: &[&str], keys: Option<SharedKeys>) -> Doc<Vec<u8>> {
        let mut encoder = Encoder::new();
        if let Some(keys) = keys {
            encoder.set_shared_keys(keys);
        }
        encoder.begin_dict();
        for (i, name) in names.iter().enumerate() {
            encoder.write_key(name);
            encoder.write_u64(i as u64);
        }
        encoder.end_dict();
        let doc = Doc::open(encoder.finish().unwrap()).unwrap();
        match encoder.take_shared_keys() {
            Some(keys) => doc.with_shared_keys(Arc::new(keys)),
            None => doc,
        }
    }

    #[test]
    fn a_key_remembers_where_it_was_found() {
        let names = [
            "a",
            "of_14_letters_",
            "of_15_letters__",
            "of_16_letters___",
            "of_17_letters____",
            "a name of more than thirty-two letters, and then some",
            "zzz",
        ];
        for keys in [None, Some(SharedKeys::new())] {
            let doc = document(&names, keys);
            let dict = doc.root().as_dict().unwrap();
            for (i, name) in names.iter().enumerate() {
                let key = Key::new(name);
                assert_eq!(dict.get_key(&key).and_then(crate::Value::as_u64), Some(i as u64));
                let value =
                    dict.value_at_hint(&key).unwrap_or_else(|| panic!("{name} is looked up again"));
                assert_eq!(value.as_u64(), Some(i as u64));
                assert!(document(&["b", "c"], None).root().get("a").is_none());
            }
        }
    }

    #[test]
    fn shared_keys_sort_before_all_strings_in_whatever_order_they_come() {
        let mut names = ["", "\0", "\0\0", "\0\0\0\x0F\x7F", "b", "a", "c c", "b", "a"];
        for _ in 0..names.len() {
            names.rotate_left(1);
            for times in 1..3 {
                let names = names.repeat(times);
                let doc = document(&names, Some(SharedKeys::new()));
                let dict = doc.root().as_dict().unwrap();
                let numbers: Vec<Option<u16>> =
                    dict.iter().map(|(key, _)| key.shared_index()).collect();
                // "a", "b" and, because the empty name is eligible, "".
                assert_eq!(numbers[..3], [Some(0), Some(1), Some(2)]);
                assert_eq!(numbers[3..], [None; 4]);
                let texts = dict.iter().skip(3).map(|(key, _)| key.as_str().unwrap());
                assert!(texts.is_sorted());
                for (i, name) in names.iter().enumerate() {
                    if !names[i + 1..].contains(name) {
                        assert_eq!(dict.get(name).and_then(crate::Value::as_u64), Some(i as u64));
                    }
                }
            }
        }
    }

    #[test]
    fn every_key_is_found_and_no_other() {
        let names = [
            "",
            "a",
            "a\0",
            "a\0\0",
            "ab",
            "abcdefg",
            "abcdefgh",
            "abcdefgh\0",
            "abcdefghi",
            "abcdefghj",
            "abcdefghijklmn",
            "abcdefghijklmno",
            "abcdefghijklmnop",
            "b",
            "é",
            "\u{7f}",
        ];
        for subset in 0..1_u32 << names.len() {
            // A selection of all subsets that has each name in and out.
            if subset % 97 != 0 && subset.count_ones() > 2 {
                continue;
            }
            let is_in = |i: usize| subset >> i & 1 == 1;
            let mut encoder = Encoder::new();
            encoder.begin_dict();
            for (i, name) in names.iter().enumerate().filter(|(i, _)| is_in(*i)) {
                encoder.write_key(name);
                encoder.write_u64(i as u64);
            }
            encoder.end_dict();
            let doc = Doc::open(encoder.finish().unwrap()).unwrap();
            let dict = doc.root().as_dict().unwrap();
            let keys: Vec<Key> = names.iter().map(|name| Key::new(name)).collect();
            for (i, name) in names.iter().enumerate() {
                let expected = is_in(i).then_some(i as u64);
                assert_eq!(dict.get(name).and_then(crate::Value::as_u64), expected, "{name}");
                for _ in 0..2 {
                    let found = dict.get_key(&keys[i]);
                    assert_eq!(found.and_then(crate::Value::as_u64), expected, "{name}");
                }
            }
        }
    }
}
