//! The pass over a document from its start to its end. It accepts what encoders write: values that
//! follow one another, each before the collections that point to it. Then no pointer need be
//! followed: a slot is sound if a value begins at its target, which a mark says. It looks at each
//! value once, however many slots lead to it, and at no bytes twice.
//!
//! What it does not accept may be valid, such as a document with gaps, or with values in another
//! order. The scan decides about it.

use alloc::vec;

use super::fast_path::{HIGH_BITS, is_utf8};
use super::scan::{FIXED_SIZE, Layout};
use crate::limits::GENERATIONS;
use crate::wire::{PARENT_KEY, chunk, tag, u16_at, u32_at, varint};

// The marks: what begins at an even offset, before the current value.

/// No value.
const NOTHING: u8 = 0;
const STRING: u8 = 1;
/// A value without slots that is no string. The mark of a collection with slots is by 1 above the
/// greatest one of its values, of which this is the least.
const LEAF: u8 = 2;

/// The first byte of a double, as encoders write it.
const DOUBLE: u8 = tag::FLOAT << 4 | 8;

/// A document and the rules for its values.
pub(super) struct OrderedPass<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether strings must be UTF-8.
    pub(super) utf8: bool,
    /// Shared keys below this have a name.
    pub(super) names: usize,
}

/// How a value whose size depends on its first byte is passed: the bytes to the next value, which
/// are even, plus 1 for a string; 0 for all other values.
const STEPS: [u8; 256] = {
    let mut steps = [0; 256];
    let mut first = 0;
    while first < 256 {
        steps[first] = FIXED_SIZE[first].next_multiple_of(2);
        first += 1;
    }
    let mut len = 0;
    while len < 15 {
        steps[0x40 + len] += 1;
        len += 1;
    }
    steps
};

/// The high bits of the text of a short string, by its first byte: all are zero if it is ASCII.
/// Other values have no text.
const TEXT_BITS: [u128; 256] = {
    let mut bits = [0; 256];
    let mut len = 0;
    while len < 15 {
        bits[0x40 + len] = HIGH_BITS[len];
        len += 1;
    }
    bits
};

/// By its first byte, the bits that a value in a slot of two bytes must not have. One that does not
/// fit such a slot has some of them.
const FORBIDDEN: [u16; 128] = {
    let mut bits = [u16::MAX; 128];
    let mut first = 0;
    while first < 0x60 {
        if matches!(FIXED_SIZE[first], 1 | 2) {
            bits[first] = 0;
        }
        first += 1;
    }
    // The character of a string is ASCII.
    bits[0x41] = 0x80;
    // Collections are empty.
    bits[0x60] = 0xFF;
    bits[0x68] = 0xFF;
    bits[0x70] = 0xFF;
    bits[0x78] = 0xFF;
    bits
};

impl OrderedPass<'_> {
    /// The greatest number of collections that are nested in each other, if all of the document is
    /// sound; `None` if that remains to be decided.
    pub(super) fn levels(&self) -> Option<u16> {
        let bytes = self.bytes;
        u32::try_from(bytes.len()).ok()?;
        let (root, end) = self.root()?;
        let mut marks = vec![NOTHING; bytes.len() / 2];
        let mut at = 0;
        while at < end {
            let first = *bytes.get(at)?;
            // Coordinates are many doubles, for which the table says the same. With a branch, the
            // processor predicts where the next value is, and does not wait for this byte.
            if first == DOUBLE {
                *marks.get_mut(at / 2)? = LEAF;
                at += usize::from(FIXED_SIZE[usize::from(DOUBLE)]);
                continue;
            }
            let step = STEPS[usize::from(first)];
            if step != 0 {
                let is_ascii = chunk::<16>(bytes, at).is_some_and(|stored| {
                    u128::from_le_bytes(*stored) & TEXT_BITS[usize::from(first)] == 0
                });
                if !is_ascii && !self.is_short_text(at) {
                    return None;
                }
                *marks.get_mut(at / 2)? = LEAF - (step & 1);
                at += usize::from(step & !1);
            } else {
                let (before, own) = marks.split_at_mut_checked(at / 2)?;
                let (mark, next) = self.long(at, first, before)?;
                *own.first_mut()? = mark;
                at = next;
            }
        }
        // A value that does not end before the pointer to the root leads beyond it.
        let mark = *marks.get(root).filter(|_| at == end)?;
        (mark != NOTHING).then(|| u16::from(mark.saturating_sub(LEAF)))
    }

    /// Half the offset of the root, and the end of all values.
    fn root(&self) -> Option<(usize, usize)> {
        let trailer = self.bytes.len().checked_sub(2)?;
        let word = u16_at(self.bytes, trailer)?;
        // In a long document the root is behind a wide pointer, to which the last two bytes point.
        if word == 0x8002
            && let Some(wide) = trailer.checked_sub(4)
            && let Some(word) = u32_at(self.bytes, wide).filter(|word| *word >= 0x8000_0000)
        {
            return Some(((wide / 2).checked_sub(wide_distance(word)?)?, wide));
        }
        Some(((trailer / 2).checked_sub(narrow_distance(word)?)?, trailer))
    }

    /// Whether the value at this offset, whose size depends on its first byte, is no string or one
    /// of UTF-8.
    #[inline(never)]
    fn is_short_text(&self, at: usize) -> bool {
        let Some((&first, rest)) = self.bytes.get(at..).and_then(<[u8]>::split_first) else {
            return false;
        };
        let is_string = first >> 4 == tag::STRING;
        let text = rest.get(..usize::from(first & 0x0F));
        !is_string || text.is_some_and(|text| self.is_text(text))
    }

    #[inline(always)]
    fn is_text(&self, bytes: &[u8]) -> bool {
        !self.utf8 || is_utf8(bytes)
    }

    /// The mark of a value whose size depends on more than its first byte, and the offset of the
    /// next value.
    #[inline(always)]
    fn long(&self, at: usize, first: u8, before: &[u8]) -> Option<(u8, usize)> {
        match first >> 4 {
            tag::ARRAY | tag::DICT => self.collection(at, first >> 4 == tag::DICT, before),
            tag::STRING | tag::DATA => self.payload(at, first >> 4 == tag::STRING),
            _ => Some((NOTHING, self.behind_pointer(at))),
        }
    }

    #[inline(always)]
    fn payload(&self, at: usize, is_string: bool) -> Option<(u8, usize)> {
        // Nearly all lengths have one byte of varint.
        let (len, start) = match *self.bytes.get(at + 1)? {
            len @ 0..0x80 => (usize::from(len), at + 2),
            _ => varint(self.bytes, at + 1)?,
        };
        let end = start.checked_add(len)?;
        let payload = self.bytes.get(start..end)?;
        if is_string && !self.is_text(payload) {
            return None;
        }
        Some((if is_string { STRING } else { LEAF }, end.next_multiple_of(2)))
    }

    /// The offset behind the end of a document to which this one was appended: a pointer to its
    /// root, behind a wide one if it is long. If this guess is wrong, the values behind it are not
    /// found, and so are not accepted.
    #[cold]
    fn behind_pointer(&self, at: usize) -> usize {
        at + if u16_at(self.bytes, at + 4) == Some(0x8002) { 6 } else { 2 }
    }

    #[inline(always)]
    fn collection(&self, at: usize, is_dict: bool, before: &[u8]) -> Option<(u8, usize)> {
        let Layout { mut first, end, wide } = Layout::from_header(self.bytes, at)?;
        let mut slots = self.bytes.get(first..end)?;
        if slots.is_empty() {
            return Some((LEAF, end));
        }
        let mut greatest = LEAF;
        if is_dict && slots.first_chunk() == Some(&PARENT_KEY.to_be_bytes()) {
            greatest = self.parent(first, wide, before)?;
            let pair_bytes = if wide { 8 } else { 4 };
            (slots, first) = (slots.get(pair_bytes..)?, first + pair_bytes);
        }
        greatest = greatest.max(match (is_dict, wide) {
            (false, false) => narrow_items(slots, first / 2, before)?,
            (true, false) => self.narrow_pairs(slots, first / 2, before)?,
            (false, true) => self.wide_items(slots, first / 2, before)?,
            (true, true) => self.wide_pairs(slots, first / 2, before)?,
        });
        Some((greatest.checked_add(1)?, end))
    }

    /// The mark of the parent of a dict whose slots begin at this offset.
    #[cold]
    fn parent(&self, first: usize, wide: bool, before: &[u8]) -> Option<u8> {
        let (slot, distance) = if wide {
            (first / 2 + 2, wide_distance(u32_at(self.bytes, first + 4)?)?)
        } else {
            (first / 2 + 1, narrow_distance(u16_at(self.bytes, first + 2)?)?)
        };
        let target = slot.checked_sub(distance)?;
        let mark = before.get(target)?.checked_sub(LEAF)?;
        let is_dict = self.bytes.get(2 * target)? >> 4 == tag::DICT;
        // A parent is nested in its child, so that it has not more parents than levels.
        (is_dict && usize::from(mark) < GENERATIONS - 1).then_some(mark + LEAF)
    }

    // The greatest mark of the values of slots; `None` if one of them is not accepted. A slot has a
    // number: half its offset.

    #[inline(always)]
    fn narrow_pairs(&self, slots: &[u8], first: usize, before: &[u8]) -> Option<u8> {
        let mut greatest = LEAF;
        for (number, pair) in slots.as_chunks::<4>().0.iter().enumerate() {
            let pair = u32::from_be_bytes(*pair);
            let (slot, key, value) = (first + 2 * number, (pair >> 16) as u16, pair as u16);
            let is_key = if key < 0x8000 {
                let is_short_string = key >> 8 == 0x40 || key >> 7 == 0x41 << 1;
                self.is_number_key(key) || is_short_string
            } else {
                mark_of_target(before, slot, key)? == STRING
            };
            if !is_key {
                return None;
            }
            greatest = greatest.max(narrow_value(before, slot + 1, value)?);
        }
        Some(greatest)
    }

    #[inline(never)]
    fn wide_items(&self, slots: &[u8], first: usize, before: &[u8]) -> Option<u8> {
        let mut greatest = LEAF;
        for (number, item) in slots.as_chunks::<4>().0.iter().enumerate() {
            greatest = greatest.max(self.wide_value(before, first + 2 * number, *item)?);
        }
        Some(greatest)
    }

    #[inline(never)]
    fn wide_pairs(&self, slots: &[u8], first: usize, before: &[u8]) -> Option<u8> {
        let mut greatest = LEAF;
        for (number, slots) in slots.as_chunks::<4>().0.chunks_exact(2).enumerate() {
            let (slot, key) = (first + 4 * number, slots[0]);
            let mark = self.wide_value(before, slot, key)?;
            let is_key = if key[0] < 0x80 {
                let is_number = self.is_number_key(u16::from_be_bytes([key[0], key[1]]));
                is_number || key[0] >> 4 == tag::STRING
            } else {
                mark == STRING
            };
            if !is_key {
                return None;
            }
            greatest = greatest.max(self.wide_value(before, slot + 2, slots[1])?);
        }
        Some(greatest)
    }

    /// Whether it is a number that has a name.
    #[inline(always)]
    fn is_number_key(&self, key: u16) -> bool {
        key < PARENT_KEY && usize::from(key) < self.names
    }

    #[inline(always)]
    fn wide_value(&self, before: &[u8], slot: usize, bytes: [u8; 4]) -> Option<u8> {
        let word = u32::from_be_bytes(bytes);
        if word < 0x8000_0000 {
            return self.is_inline(bytes).then_some(LEAF);
        }
        let target = slot.wrapping_sub(wide_distance(word)?);
        before.get(target).copied().filter(|mark| *mark != NOTHING)
    }

    /// Whether it is a sound value in a slot of four bytes.
    fn is_inline(&self, bytes: [u8; 4]) -> bool {
        let [first, second, ..] = bytes;
        let size = usize::from(FIXED_SIZE[usize::from(first)]);
        match first >> 4 {
            tag::STRING => bytes.get(1..size).is_some_and(|text| self.is_text(text)),
            // It must be empty.
            tag::ARRAY | tag::DICT => first.trailing_zeros() >= 3 && second == 0,
            _ => (1..=4).contains(&size),
        }
    }
}

#[inline(always)]
fn narrow_items(slots: &[u8], first: usize, before: &[u8]) -> Option<u8> {
    let mut greatest = LEAF;
    for (number, item) in slots.as_chunks::<2>().0.iter().enumerate() {
        let word = u16::from_be_bytes(*item);
        greatest = greatest.max(narrow_value(before, first + number, word)?);
    }
    Some(greatest)
}

/// The mark of the value that a slot of two bytes holds or points to.
#[inline(always)]
fn narrow_value(before: &[u8], slot: usize, word: u16) -> Option<u8> {
    if word < 0x8000 {
        return (word & FORBIDDEN[usize::from(word >> 8)] == 0).then_some(LEAF);
    }
    mark_of_target(before, slot, word)
}

/// The mark of the target of a pointer, which is plain and leads to a value before the collection.
#[inline(always)]
fn mark_of_target(before: &[u8], slot: usize, word: u16) -> Option<u8> {
    let target = slot.wrapping_sub(narrow_distance(word)?);
    before.get(target).copied().filter(|mark| *mark != NOTHING)
}

/// The number of slots from a plain pointer to its target.
#[inline(always)]
fn narrow_distance(word: u16) -> Option<usize> {
    (word >> 14 == 0b10).then_some(usize::from(word & 0x3FFF))
}

#[inline(always)]
fn wide_distance(word: u32) -> Option<usize> {
    (word >> 30 == 0b10).then_some((word & 0x3FFF_FFFF) as usize)
}

#[cfg(test)]
mod tests {
    use super::OrderedPass;
    use crate::{CheckOptions, Doc, Edit, Encoder, SharedKeys, Value, fleece, json};
    use alloc::format;
    use alloc::string::String;
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    fn levels(bytes: &[u8]) -> Option<u16> {
        OrderedPass { bytes, utf8: true, names: usize::MAX }.levels()
    }

    #[test]
    fn what_encoders_write_is_accepted() {
        for shape in ["people", "twitter", "citm", "canada"] {
            let text = bytelab_documents::minified(shape, 200);
            assert!(levels(&json::to_fleece(text.as_bytes()).unwrap()).is_some(), "{shape}");
            let mut encoder = Encoder::new();
            encoder.set_shared_keys(SharedKeys::new());
            json::encode(text.as_bytes(), &mut encoder, &json::ParseOptions::new()).unwrap();
            assert!(levels(&encoder.finish().unwrap()).is_some(), "{shape}");
        }
    }

    /// All kinds of values, in slots of both widths, and more items than a header counts.
    #[test]
    fn values_of_all_kinds_are_accepted() {
        let text = "a text of more than fifteen bytes".repeat(2000);
        let many: Vec<String> = (0..5000).map(|i| format!("{i}")).collect();
        let list = format!("[{}]", many.join(","));
        for far in ["", &text] {
            let dict = r#"{"": 1, "a": [2], "é": "", "abc": [[]]}"#;
            let items = format!(
                r#"[true, 0, -70000, 1e300, 0.5, "", "a", "é", "日本", "{far}", [], {{}}, {dict}]"#
            );
            let text =
                format!(r#"{{"": "first", "a": {items}, "abc": {list}, "日本": [], "é": {{}}}}"#);
            let bytes = json::to_fleece(text.as_bytes()).unwrap();
            assert_eq!(levels(&bytes), Some(4), "{}", far.len());
        }
    }

    /// Doubles have a path of their own, which must say what the table says of other numbers.
    #[test]
    fn a_double_is_passed_as_another_number_is() {
        let [double, other] = [0x28, 0x2A].map(|first| {
            let check = |behind: &[u8]| {
                let bytes = [&[first, 0, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F][..], behind].concat();
                (levels(&bytes), Doc::check(bytes).is_ok())
            };
            let array = [0x60, 0x02, 0x80, 0x06, 0x80, 0x07];
            // Pointers to it, behind it and into it.
            let pointers = [0x05, 0x04, 0x01].map(|distance| check(&[0x80, distance]));
            let in_array =
                [0x03, 0x08].map(|distance| check(&[&array[..], &[0x80, distance]].concat()));
            // It ends behind the pointer to it.
            let cut =
                [&[first, 0, 0, 0, 0x80, 0x02][..], &[first, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x04]]
                    .map(|bytes| (levels(bytes), Doc::check(bytes).is_ok()));
            (pointers, in_array, cut)
        });
        assert_eq!(double, other);
        assert_eq!(double.0[0], (Some(0), true));
        assert_eq!(double.1, [(Some(1), true), (Some(0), true)]);
        assert_eq!(double.2, [(None, false); 2]);
    }

    #[test]
    fn an_amended_document_is_accepted() {
        let text = bytelab_documents::minified("people", 200);
        for count in [3, 200] {
            let text = if count == 200 { text.as_str() } else { r#"[{"name": "Ada"}]"# };
            let base: Arc<[u8]> = json::to_fleece(text.as_bytes()).unwrap().into();
            let doc = Doc::open(&base[..]).unwrap();
            let person = doc.root().at(0).and_then(Value::as_dict).unwrap();
            let mut edit = Edit::from_dict(person);
            edit.set("name", "a name that is new");
            let mut encoder = Encoder::amend_append(base.clone()).unwrap();
            encoder.write_edit(&edit).unwrap();
            let whole = [&base, &encoder.finish().unwrap()[..]].concat();
            assert!(levels(&whole).is_some(), "{count}");
        }
    }

    #[test]
    fn the_levels_are_those_of_collections_that_are_not_empty() {
        for (bytes, expected) in [
            (fleece!(["text"]), 1),
            (fleece!([[]]), 1),
            (fleece!([{"a": [1]}, [2]]), 3),
            (fleece!("a text alone"), 0),
        ] {
            assert_eq!(levels(&bytes), Some(expected), "{bytes:02x?}");
            let limited = |limit| CheckOptions::new().depth_limit(limit).check(&bytes[..]).is_ok();
            assert!(limited(expected) && (expected == 0 || !limited(expected - 1)));
        }
        let deep = (0..300).fold(String::from("1"), |inner, _| format!("[{inner}]"));
        let bytes = json::to_fleece(deep.as_bytes()).unwrap();
        // The marks have one byte; the scan counts on.
        assert_eq!(levels(&bytes), None);
        assert!(Doc::check(bytes).is_ok());
    }

    #[test]
    fn the_scan_decides_about_other_documents() {
        // A string that begins within another one.
        let within = [0x44, b'x', 0x42, b'a', b'b', 0x00, 0x60, 0x01, 0x80, 0x03, 0x80, 0x02];
        assert_eq!(levels(&within), None);
        assert_eq!(Doc::check(within).unwrap().root().at(0).unwrap().as_str(), Some("ab"));
        // A string that is not reached need not be UTF-8.
        let unreached = [0x41, 0xE9, 0x60, 0x01, 0x00, 0x07, 0x80, 0x02];
        assert_eq!(levels(&unreached), None);
        assert!(Doc::check(unreached).is_ok());
        // An array in itself, and one whose item is behind it.
        for bytes in [
            [0x60, 0x01, 0x80, 0x01, 0x80, 0x02],
            [0x60, 0x01, 0xFF, 0xFF, 0x80, 0x02],
            [0x60, 0x02, 0x00, 0x00, 0x80, 0x02],
        ] {
            assert_eq!(levels(&bytes), None);
            assert!(Doc::check(bytes).is_err());
        }
    }
}
