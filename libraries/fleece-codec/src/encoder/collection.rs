//! Open collections, the order of keys, and the writing of slots.

use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use super::strings::{Packed, SHARED_LEN_MAX};
use super::{DuplicateKeys, Encoder, POINTER, TOO_LARGE};
use crate::error::ErrorKind;
use crate::wire::{LONG_COUNT, NARROW_MAX_BYTES, PARENT_KEY};

/// An open collection, or the document itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) expects: Expects,
    pub(crate) first_slot: usize,
    pub(crate) first_key: usize,
    /// The slots must have four bytes, because one of them holds a value of more than two.
    pub(crate) wide: bool,
    /// The keys were written in order and without duplicates.
    sorted: bool,
    /// Some keys cannot be distinguished by their sort keys alone: long ones, or strings of zeros.
    pub(super) rare_keys: bool,
    /// A hash of the keys in the order of writing.
    pub(super) shape: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expects {
    /// The document or an array expects any value.
    Item,
    /// A dict expects a key.
    Key,
    /// A dict expects the value of the last key.
    Value,
}

impl Frame {
    pub(crate) fn top() -> Self {
        Self::new(Expects::Item, 0, 0)
    }

    #[inline]
    fn new(expects: Expects, first_slot: usize, first_key: usize) -> Self {
        let (wide, sorted, rare_keys, shape) = (false, true, false, 0);
        Self { expects, first_slot, first_key, wide, sorted, rare_keys, shape }
    }
}

impl Encoder {
    /// Begins an array.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.begin_array();
    /// encoder.write_i64(1);
    /// encoder.end_array();
    /// assert_eq!(encoder.finish()?, fleece!([1]));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn begin_array(&mut self) {
        self.begin(Expects::Item);
    }

    /// Begins a dict, whose keys and values must alternate.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.begin_dict();
    /// encoder.write_key("a");
    /// encoder.write_i64(1);
    /// encoder.end_dict();
    /// assert_eq!(encoder.finish()?, fleece!({"a": 1}));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn begin_dict(&mut self) {
        self.begin(Expects::Key);
    }

    #[inline]
    fn begin(&mut self, expects: Expects) {
        if self.frame.expects == Expects::Key {
            self.fail(ErrorKind::State, "a collection where a key is due");
        }
        if expects == Expects::Key
            && self.base.is_some()
            && let Some(message) = self.base_mismatch()
        {
            self.fail(ErrorKind::UnknownSharedKey, message);
        }
        if self.out.capacity() == 0 {
            self.out.reserve(self.expected_bytes.max(LEAST_BYTES));
        }
        self.outer.push(self.frame);
        self.frame = Frame::new(expects, self.slots.len(), self.keys.len());
    }

    /// Writes the key of the next pair. Keys may come in any order.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Encoder};
    /// let mut encoder = Encoder::new();
    /// encoder.begin_dict();
    /// for key in ["b", "a"] {
    ///     encoder.write_key(key);
    ///     encoder.write_null();
    /// }
    /// encoder.end_dict();
    /// assert_eq!(encoder.finish()?, fleece!({"a": null, "b": null}));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn write_key(&mut self, key: &str) {
        if self.shared_keys.is_some() && self.write_shared_key(key) {
            return;
        }
        self.write_key_bytes(key.as_bytes());
    }

    /// Whether keys are looked up in a table of shared keys.
    #[inline]
    pub(crate) fn has_shared_keys(&self) -> bool {
        self.shared_keys.is_some()
    }

    #[inline]
    fn write_shared_key(&mut self, key: &str) -> bool {
        let Some(index) = self.shared_keys.as_mut().and_then(|keys| keys.add(key)) else {
            return false;
        };
        self.write_number_key(index);
        true
    }

    /// Like [`write_key`](Self::write_key) with a table, for a name that was packed completely;
    /// false if the table does not have it yet.
    #[inline]
    pub(crate) fn write_packed_shared_key(&mut self, packed: Packed) -> bool {
        let keys = self.shared_keys.as_ref();
        let Some(index) = keys.and_then(|keys| keys.index_of_short(packed)) else {
            return false;
        };
        self.write_number_key(index);
        true
    }

    /// Writes a shared key. Its sort key is the number plus 1, which is above that of the parent
    /// key, and below the sort keys of all strings that are not rare.
    #[inline]
    fn write_number_key(&mut self, index: u16) {
        let hash = u64::from(index).wrapping_mul(SPREAD);
        self.frame.shape = (self.frame.shape.rotate_left(5) ^ hash).wrapping_mul(SPREAD);
        self.push_key(u32::from(index) << 16, u128::from(index) + 1);
    }

    /// Writes the key that marks a parent; the parent follows as its value. It comes before all
    /// other keys.
    pub(super) fn write_parent_key(&mut self) {
        self.push_key(u32::from(PARENT_KEY) << 16, 0);
    }

    #[inline]
    pub(crate) fn write_key_bytes(&mut self, key: &[u8]) {
        let packed = Packed::new(key);
        if key.len() <= SHARED_LEN_MAX {
            return self.write_packed_key(packed, key.len());
        }
        self.frame.rare_keys = true;
        let slot = POINTER | self.position() as u32;
        self.append_bytes(0x40, key);
        self.push_key(slot, packed.sort_key());
    }

    #[inline]
    pub(crate) fn write_packed_key(&mut self, key: Packed, len: usize) {
        let (slot, hash) = self.short_string(key, len);
        self.frame.shape = (self.frame.shape.rotate_left(5) ^ hash).wrapping_mul(SPREAD);
        let sort_key = key.sort_key();
        self.frame.rare_keys |= sort_key < NUMBERS;
        self.push_key(slot, sort_key);
    }

    #[inline]
    fn push_key(&mut self, slot: u32, sort_key: u128) {
        let frame = &mut self.frame;
        if frame.expects != Expects::Key {
            return self.fail(ErrorKind::State, "a key where a value is due");
        }
        frame.expects = Expects::Value;
        let follows = match self.keys.get(frame.first_key..).and_then(<[u128]>::last) {
            Some(last) => *last < sort_key,
            None => true,
        };
        frame.sorted &= follows && !frame.rare_keys;
        self.slots.push(slot);
        self.keys.push(sort_key);
    }

    #[inline]
    pub(crate) fn push_slot(&mut self, slot: u32) {
        match self.frame.expects {
            Expects::Item => {}
            Expects::Value => self.frame.expects = Expects::Key,
            Expects::Key => return self.fail(ErrorKind::State, "a value where a key is due"),
        }
        self.slots.push(slot);
    }

    /// Pushes a slot that uses all four bytes.
    pub(crate) fn push_wide_slot(&mut self, slot: u32) {
        self.frame.wide = true;
        self.push_slot(slot);
    }

    /// Ends the innermost collection, which must be an array.
    ///
    /// ```
    /// # use fleece_codec::Encoder;
    /// let mut encoder = Encoder::new();
    /// encoder.end_array();
    /// assert!(encoder.finish().is_err());
    /// ```
    pub fn end_array(&mut self) {
        let frame = self.frame;
        if frame.expects != Expects::Item || self.outer.is_empty() {
            return self.fail(ErrorKind::State, "there is no array to end");
        }
        let slots = frame.first_slot..self.slots.len();
        self.end(0x6000, slots.len(), slots);
    }

    /// Ends the innermost collection, which must be a dict whose last key has its value.
    ///
    /// ```
    /// # use fleece_codec::Encoder;
    /// let mut encoder = Encoder::new();
    /// encoder.begin_dict();
    /// encoder.write_key("no value");
    /// encoder.end_dict();
    /// assert!(encoder.finish().is_err());
    /// ```
    pub fn end_dict(&mut self) {
        let frame = self.frame;
        if frame.expects != Expects::Key || self.outer.is_empty() {
            return self
                .fail(ErrorKind::State, "there is no dict to end, or its last key has no value");
        }
        let mut slots = frame.first_slot..self.slots.len();
        if slots.len() != 2 * (self.keys.len() - frame.first_key) {
            return self.fail(ErrorKind::State, "a dict with an earlier mistake");
        }
        if !frame.sorted {
            // The pairs in order follow those in the order of writing.
            slots = self.sort_pairs(slots);
        }
        self.keys.truncate(frame.first_key);
        self.end(0x7000, slots.len() / 2, slots);
    }

    /// Writes a collection and pushes its slot to the collection around it.
    #[inline]
    fn end(&mut self, tag: u16, count: usize, slots: Range<usize>) {
        let frame = self.frame;
        let at = self.position();
        let slot = if count == 0 { u32::from(tag) << 16 } else { POINTER | at as u32 };
        if count > 0 {
            self.append_collection(tag, count, slots);
        }
        if self.is_too_large() {
            self.fail(ErrorKind::TooLarge, TOO_LARGE);
        }
        self.slots.truncate(frame.first_slot);
        if let Some(outer) = self.outer.pop() {
            self.frame = outer;
        }
        self.push_slot(slot);
    }

    fn append_collection(&mut self, tag: u16, count: usize, slots: Range<usize>) {
        let header = self.out.len();
        self.out.extend((tag | count.min(LONG_COUNT) as u16).to_be_bytes());
        if count >= LONG_COUNT {
            self.append_varint(count - LONG_COUNT);
            self.pad();
        }
        let first = self.out.len();
        if !self.frame.wide && self.append_narrow(slots.clone()) {
            return;
        }
        self.out.truncate(first);
        self.out[header] |= 0x08;
        self.out.reserve(4 * slots.len());
        for slot in slots {
            let word = self.wide(self.slots[slot], self.position());
            self.out.extend_from_slice(&word.to_be_bytes());
        }
    }

    /// Appends slots of two bytes; false if one of them points too far for that.
    #[inline]
    fn append_narrow(&mut self, slots: Range<usize>) -> bool {
        let first = self.out.len();
        let at = self.start + first;
        self.out.resize(first + 2 * slots.len(), 0);
        let (places, _) = self.out[first..].as_chunks_mut::<2>();
        let mut farthest = 0;
        for (i, (place, &slot)) in places.iter_mut().zip(&self.slots[slots]).enumerate() {
            let word = if slot & POINTER == 0 {
                (slot >> 16) as u16
            } else {
                let target = (slot & !POINTER) as usize;
                let distance = (at + 2 * i).wrapping_sub(target);
                farthest = distance.max(farthest);
                let external = u16::from(target < self.extern_before) << 14;
                0x8000 | external | (distance / 2) as u16 & 0x3FFF
            };
            *place = word.to_be_bytes();
        }
        farthest <= NARROW_MAX_BYTES
    }

    /// The two bytes of a slot at position `at`.
    pub(super) fn narrow(&self, slot: u32, at: usize) -> u16 {
        if slot & POINTER == 0 {
            return (slot >> 16) as u16;
        }
        let target = (slot & !POINTER) as usize;
        let external = u16::from(target < self.extern_before) << 14;
        0x8000 | external | ((at - target) / 2) as u16
    }

    /// The four bytes of a slot at position `at`.
    pub(super) fn wide(&self, slot: u32, at: usize) -> u32 {
        if slot & POINTER == 0 {
            return slot;
        }
        let target = (slot & !POINTER) as usize;
        let external = u32::from(target < self.extern_before) << 30;
        POINTER | external | ((at - target) / 2) as u32
    }
}

/// The memory for a document of unknown size: that of an amendment of a field or two. The vector
/// would begin with less, and be moved when it grows.
const LEAST_BYTES: usize = 64;

/// Sort keys of shared keys and of the parent key are below this, and so are those of the empty
/// string and of strings of zeros.
const NUMBERS: u128 = 1 << 12;

/// 2^64 divided by the golden ratio: an odd number whose bits look random.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

// The order of a dict's keys, and duplicates among them.

impl Encoder {
    /// Appends the pairs to the slots in order of their keys, and returns their range.
    fn sort_pairs(&mut self, pairs: Range<usize>) -> Range<usize> {
        let frame = self.frame;
        let keys = &self.keys[frame.first_key..];
        if frame.rare_keys || keys.len() > SHAPE_LEN_MAX {
            let order = self.order(keys, &pairs);
            return self.arrange(&order, &pairs);
        }
        // Dicts of one kind mostly have their keys in the same order, so the permutation is cached.
        let index = if let Some(index) = self.shapes.find(frame.shape, keys) {
            index
        } else {
            let order = self.order(keys, &pairs);
            self.shapes.add(frame.shape, &self.keys[frame.first_key..], order)
        };
        let order = core::mem::take(&mut self.shapes.known[index].order);
        let sorted = self.arrange(&order, &pairs);
        self.shapes.known[index].order = order;
        sorted
    }

    /// The indexes of the pairs, sorted by key; equal keys stay in the order of writing.
    fn order(&self, keys: &[u128], pairs: &Range<usize>) -> Vec<u32> {
        let slots = &self.slots[pairs.clone()];
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_by(|&a, &b| self.compare_keys(keys, slots, a as usize, b as usize));
        order
    }

    fn compare_keys(&self, keys: &[u128], slots: &[u32], a: usize, b: usize) -> Ordering {
        let (slot_a, slot_b) = (slots[2 * a], slots[2 * b]);
        let (int_a, int_b) = (int_key(slot_a), int_key(slot_b));
        if int_a.is_some() || int_b.is_some() {
            // Numbers come before strings, while `None` is less than `Some`.
            return int_b.is_some().cmp(&int_a.is_some()).then(int_a.cmp(&int_b));
        }
        let unequal = keys[a].cmp(&keys[b]);
        if unequal.is_ne() || keys[a] as u8 <= SHARED_LEN_MAX as u8 {
            return unequal;
        }
        self.long_key(slot_a).cmp(self.long_key(slot_b))
    }

    /// The bytes of a key of 16 bytes or more, which this encoder wrote.
    fn long_key(&self, slot: u32) -> &[u8] {
        let at = (slot & !POINTER) as usize - self.start;
        let source = crate::wire::Source::new(&self.out);
        crate::Value { source, at }.payload().unwrap_or_default()
    }

    fn arrange(&mut self, order: &[u32], pairs: &Range<usize>) -> Range<usize> {
        let start = self.slots.len();
        let mut previous = None;
        for &pair in order {
            let pair = pair as usize;
            if previous.is_some_and(|previous| self.is_duplicate(previous, pair, pairs)) {
                match self.duplicate_keys {
                    DuplicateKeys::KeepAll => {}
                    DuplicateKeys::KeepLast => self.slots.truncate(self.slots.len() - 2),
                    DuplicateKeys::Reject => {
                        self.fail(ErrorKind::DuplicateKey, "a dict has a key twice");
                    }
                }
            }
            previous = Some(pair);
            let at = pairs.start + 2 * pair;
            self.slots.extend_from_within(at..at + 2);
        }
        start..self.slots.len()
    }

    #[inline]
    fn is_duplicate(&self, a: usize, b: usize, pairs: &Range<usize>) -> bool {
        let keys = &self.keys[self.frame.first_key..];
        keys[a] == keys[b]
            && self.compare_keys(keys, &self.slots[pairs.clone()], a, b) == Ordering::Equal
    }
}

/// The number of a shared key, or -2048 for a parent.
fn int_key(slot: u32) -> Option<i16> {
    (slot < 0x1000_0000).then_some((slot >> 16) as i16).map(|word| word << 4 >> 4)
}

/// A cache of the permutations that sort the pairs of dicts by key.
#[derive(Default)]
pub(crate) struct Shapes {
    known: Vec<Shape>,
    /// For each value of the top eight bits of the hash, the index of the shape that was last seen
    /// with it.
    by_hash: Vec<u16>,
}

struct Shape {
    keys: Vec<u128>,
    order: Vec<u32>,
}

const SHAPES_MAX: usize = 256;
/// Longer dicts are not cached, because they seldom have the same keys.
const SHAPE_LEN_MAX: usize = 64;

impl Shapes {
    #[inline]
    fn find(&self, hash: u64, keys: &[u128]) -> Option<usize> {
        let index = usize::from(*self.by_hash.get((hash >> 56) as usize)?);
        let shape = self.known.get(index)?;
        (shape.keys == keys).then_some(index)
    }

    fn add(&mut self, hash: u64, keys: &[u128], order: Vec<u32>) -> usize {
        if self.by_hash.is_empty() {
            self.by_hash.resize(256, u16::MAX);
        }
        let slot = (hash >> 56) as usize;
        let shape = Shape { keys: keys.into(), order };
        let mut index = usize::from(self.by_hash[slot]);
        if let Some(known) = self.known.get_mut(index) {
            *known = shape;
        } else {
            index = self.known.len();
            debug_assert!(index < SHAPES_MAX, "one shape for each value of the eight bits");
            self.known.push(shape);
            self.by_hash[slot] = index as u16;
        }
        index
    }
}
