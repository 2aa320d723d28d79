//! The order of a dict's keys, and duplicates among them.

use super::strings::SHARED_LEN_MAX;
use super::{DuplicateKeys, Encoder, POINTER};
use crate::error::ErrorKind;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

impl Encoder {
    /// Appends the pairs in order of their keys to the slots, and says where.
    pub(super) fn sort_pairs(&mut self, pairs: Range<usize>) -> Range<usize> {
        let frame = self.frame;
        let keys = &self.keys[frame.first_key..];
        if frame.rare_keys || keys.len() > SHAPE_LEN_MAX {
            let order = self.order(keys, &pairs);
            return self.arrange(&order, &pairs);
        }
        // Dicts of one kind mostly come with their keys in the same order, so the answer is known.
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

    /// The numbers of the pairs in order of their keys; equal keys in the order of writing.
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
            // Numbers come before strings, which is not how an option compares.
            return int_b.is_some().cmp(&int_a.is_some()).then(int_a.cmp(&int_b));
        }
        let unequal = keys[a].cmp(&keys[b]);
        if unequal.is_ne() || keys[a] as u8 <= SHARED_LEN_MAX as u8 {
            return unequal;
        }
        self.long_key(slot_a).cmp(self.long_key(slot_b))
    }

    /// The bytes of a key of 16 or more, which this encoder wrote.
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

/// The orders of pairs that were needed before.
#[derive(Default)]
pub(crate) struct Shapes {
    known: Vec<Shape>,
    /// For each value of some bits of the hash, the shape that was last seen with it.
    by_hash: Vec<u16>,
}

struct Shape {
    keys: Vec<u128>,
    order: Vec<u32>,
}

const SHAPES_MAX: usize = 256;
/// Longer dicts are seldom alike.
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
