//! Iterates over all stored values of a document: each one once, even if several slots refer to it.
//! It also accepts damaged documents.

use std::collections::BTreeMap;

use fleece_codec::{Doc, Kind, Value};

/// A slot of a collection, or the root slot.
pub(super) struct Slot<'d> {
    pub(super) at: usize,
    pub(super) len: usize,
    /// `None` if the slot refers to nothing in this document.
    pub(super) value: Option<Value<'d>>,
}

impl Slot<'_> {
    /// Whether the value is stored in the slot itself.
    pub(super) fn is_inline(&self) -> bool {
        self.value.is_some_and(|value| value.offset() == self.at)
    }
}

/// The values that are stored outside slots, by offset, with the number of slots that refer to
/// each.
pub(super) fn stored<'d>(doc: &'d Doc<&[u8]>) -> BTreeMap<usize, (Value<'d>, usize)> {
    let mut stored: BTreeMap<usize, (Value<'d>, usize)> = BTreeMap::new();
    let mut open = vec![root(doc)];
    while let Some(slot) = open.pop() {
        let Some(value) = slot.value else { continue };
        if !slot.is_inline() {
            let (_, slots) = stored.entry(value.offset()).or_insert((value, 0));
            *slots += 1;
            if *slots > 1 {
                continue;
            }
        } else if value.range().end > slot.at + slot.len {
            // This happens only in damaged documents; the bytes in the value are other slots.
            continue;
        }
        open.extend(slots(doc, value));
    }
    stored
}

/// The last two bytes of the document.
pub(super) fn root<'d>(doc: &'d Doc<&[u8]>) -> Slot<'d> {
    let len = doc.as_bytes().len();
    Slot { at: len - 2, len: 2, value: Some(doc.root()) }
}

/// The slots of a collection, in order; a dict alternates keys and values.
pub(super) fn slots<'d>(doc: &'d Doc<&[u8]>, value: Value<'d>) -> Vec<Slot<'d>> {
    if !matches!(value.kind(), Kind::Array | Kind::Dict) {
        return Vec::new();
    }
    let bytes = doc.as_bytes();
    let range = value.range();
    let width = width(bytes, value);
    let first = range.start + header_len(bytes, value);
    let places = (first..range.end).step_by(width).filter(|at| at + width <= range.end);
    places.map(|at| Slot { at, len: width, value: follow(doc, at, width) }).collect()
}

fn width(bytes: &[u8], value: Value<'_>) -> usize {
    if bytes[value.offset()] & 0x08 != 0 { 4 } else { 2 }
}

/// The length of a collection's header with its count, which is longer for counts from 2047.
pub(super) fn header_len(bytes: &[u8], value: Value<'_>) -> usize {
    let at = value.offset();
    let count =
        usize::from(bytes[at] & 7) << 8 | bytes.get(at + 1).map_or(0, |&low| usize::from(low));
    if count < 2047 {
        return 2;
    }
    let varint = bytes[at..].iter().skip(2).take_while(|&&byte| byte & 0x80 != 0).count() + 1;
    (2 + varint).next_multiple_of(2)
}

/// The value that the slot holds or refers to, through further pointers if necessary.
fn follow<'d>(doc: &'d Doc<&[u8]>, at: usize, width: usize) -> Option<Value<'d>> {
    let (bytes, mut at, mut width) = (doc.as_bytes(), at, width);
    loop {
        let word = bytes.get(at..at + width)?;
        if word[0] & 0x80 == 0 {
            return doc.value_at(at);
        }
        let number = word.iter().fold(0, |number, &byte| number << 8 | usize::from(byte));
        let (distance, is_extern) = match width {
            2 => (number & 0x3FFF, number & 0x4000 != 0),
            _ => (number & 0x3FFF_FFFF, number & 0x4000_0000 != 0),
        };
        // The distances of pointers are positive, so the loop ends.
        at = at.checked_sub(2 * distance).filter(|_| distance > 0 && !is_extern)?;
        width = 4;
    }
}

/// The numeric keys of this collection, with the offsets of their slots; the key of a parent is not
/// included.
pub(super) fn shared_keys<'d>(
    doc: &'d Doc<&[u8]>,
    value: Value<'d>,
) -> impl Iterator<Item = (u16, usize)> {
    let is_dict = value.kind() == Kind::Dict;
    let keys = slots(doc, value).into_iter().step_by(2).filter(move |_| is_dict);
    keys.filter_map(|slot| Some((slot.value?.as_u64()?.try_into().ok()?, slot.at)))
}
