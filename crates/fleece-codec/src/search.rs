//! Search among the keys of one dict: on bare bytes, because each nanosecond counts here.

use crate::array::Slots;
use crate::key::{Key, Needle};
use crate::wire::{Context, Source, chunk, u16_at, u32_at};
use core::cmp::Ordering;

impl Slots<'_> {
    /// The index of the pair with this key, by binary search.
    #[inline(always)]
    pub(crate) fn search(&self, needle: &Needle<'_>) -> Option<usize> {
        if needle.is_shared() {
            return self.search_shared(needle);
        }
        let Source { bytes, context } = self.source;
        let index = if self.wide {
            search::<true>(bytes, self.first, self.count, needle, context)
        } else {
            search::<false>(bytes, self.first, self.count, needle, context)
        };
        (index < self.count).then_some(index)
    }

    /// Whether the pair number `index` has this key; not always seen if the key is long or at the end of the data.
    #[inline(always)]
    pub(crate) fn has_key_at(&self, index: usize, key: &Key) -> bool {
        if index >= self.count {
            return false;
        }
        let at = if self.wide {
            key_at::<true>(self.source.bytes, self.first + 8 * index)
        } else {
            key_at::<false>(self.source.bytes, self.first + 4 * index)
        };
        chunk(self.source.bytes, at).is_some_and(|stored| key.is(u128::from_le_bytes(*stored)))
    }

    #[cold]
    fn search_shared(&self, needle: &Needle<'_>) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let order = if self.wide {
                order_rare::<true>(self.source, self.first + 8 * middle, needle)
            } else {
                order_rare::<false>(self.source, self.first + 4 * middle, needle)
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

/// How the key of which the slot is at `at` compares, wherever it is.
#[inline(never)]
fn order_rare<const WIDE: bool>(source: Source<'_>, at: usize, needle: &Needle<'_>) -> Ordering {
    let key = if WIDE { source.wide(at) } else { source.narrow(at) };
    key.map_or(Ordering::Less, |key| needle.order_of(key))
}

/// The index of the key, or `usize::MAX`.
#[inline(never)]
fn search<const WIDE: bool>(
    bytes: &[u8],
    first: usize,
    count: usize,
    needle: &Needle<'_>,
    context: Option<&Context>,
) -> usize {
    let (mut low, mut high) = (0, count);
    let prefix = needle.prefix();
    while low < high {
        let middle = low + (high - low) / 2;
        let slot = first + middle * if WIDE { 8 } else { 4 };
        let at = key_at::<WIDE>(bytes, slot);
        // Nearly always the first eight bytes of a short string decide.
        if let Some(&[header, ref eight @ ..]) = chunk::<9>(bytes, at)
            && header & 0xF0 == 0x40
            && header != 0x4F
        {
            let theirs = u64::from_be_bytes(*eight) & MASKS[usize::from(header & 15)];
            if theirs < prefix {
                low = middle + 1;
                continue;
            }
            if theirs > prefix {
                high = middle;
                continue;
            }
            if usize::from(header & 15) == needle.len() && needle.len() <= 8 {
                return middle;
            }
        }
        match order_rare::<WIDE>(Source { bytes, context }, slot, needle) {
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
            Ordering::Equal => return middle,
        }
    }
    usize::MAX
}

/// For each length, the part of the first eight bytes that belongs to the string.
const MASKS: [u64; 16] = {
    let mut masks = [u64::MAX; 16];
    let mut len = 0;
    while len < 8 {
        masks[len] = !(u64::MAX >> (8 * len));
        len += 1;
    }
    masks
};

/// Where the key is of which the slot is at `at`; `usize::MAX` if the pointer is not a plain one.
#[inline(always)]
fn key_at<const WIDE: bool>(bytes: &[u8], at: usize) -> usize {
    let (word, extern_bit) = if WIDE {
        (u32_at(bytes, at).unwrap_or(u32::MAX), 1 << 30)
    } else {
        (u32::from(u16_at(bytes, at).unwrap_or(u16::MAX)), 1 << 14)
    };
    if word < 2 * extern_bit {
        at
    } else if word & extern_bit == 0 {
        at.wrapping_sub((word & (extern_bit - 1)) as usize * 2)
    } else {
        usize::MAX
    }
}

#[cfg(test)]
mod tests {
    use crate::{Doc, Encoder, Key};
    use alloc::vec::Vec;

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
