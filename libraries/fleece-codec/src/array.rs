//! Arrays, and the slots that arrays and dicts are made of.

use crate::value::Value;
use crate::wire::{LONG_COUNT, Source, tag, u16_at, varint};
use core::fmt;

/// An array inside a document. Every item is reached in constant time.
///
/// ```
/// use fleece_codec::{fleece, Doc};
/// let doc = Doc::open(fleece!([10, 20, 30]))?;
/// let array = doc.root().as_array().unwrap();
/// let sum: i64 = array.iter().filter_map(|item| item.as_i64()).sum();
/// assert_eq!(sum, 60);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Array<'a> {
    pub(crate) slots: Slots<'a>,
}

impl<'a> Array<'a> {
    #[inline(always)]
    pub(crate) fn from_value(value: Value<'a>) -> Option<Self> {
        let slots = Slots::new(value, tag::ARRAY)?;
        Some(Self { slots })
    }

    /// The number of items, in constant time.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert_eq!(Doc::open(fleece!([1, 2]))?.root().as_array().unwrap().len(), 2);
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline]
    pub fn len(self) -> usize {
        self.slots.clamped(1).count
    }

    /// Whether there are no items.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// assert!(Doc::open(fleece!([]))?.root().as_array().unwrap().is_empty());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The item number `index`, counted from 0, in constant time.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!(["a", "b"]))?;
    /// let array = doc.root().as_array().unwrap();
    /// assert_eq!(array.get(1).and_then(|item| item.as_str()), Some("b"));
    /// assert!(array.get(2).is_none());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn get(self, index: usize) -> Option<Value<'a>> {
        if index < self.slots.count { self.slots.get(index) } else { None }
    }

    /// The items in order.
    ///
    /// ```
    /// # use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!([1, 2]))?;
    /// for item in doc.root().as_array().unwrap().iter() {
    ///     assert!(item.is_integer());
    /// }
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    #[inline(always)]
    pub fn iter(self) -> ArrayIter<'a> {
        ArrayIter { slots: self.slots.clamped(1) }
    }
}

impl<'a> IntoIterator for Array<'a> {
    type Item = Value<'a>;
    type IntoIter = ArrayIter<'a>;

    #[inline(always)]
    fn into_iter(self) -> ArrayIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "array of {} items", self.len())
    }
}

/// The items of an [`Array`] in order. An item behind a broken pointer reads as `undefined`.
///
/// ```
/// use fleece_codec::{fleece, Doc};
/// let doc = Doc::open(fleece!([1, 2, 3]))?;
/// assert_eq!(doc.root().as_array().unwrap().iter().len(), 3);
/// # Ok::<(), fleece_codec::Error>(())
/// ```
#[derive(Clone)]
pub struct ArrayIter<'a> {
    slots: Slots<'a>,
}

impl<'a> Iterator for ArrayIter<'a> {
    type Item = Value<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Value<'a>> {
        if self.slots.count == 0 {
            return None;
        }
        Some(self.slots.take_first())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.slots.count, Some(self.slots.count))
    }

    /// Adapters such as `map` and `sum` call this; the slots stay in registers.
    #[inline(always)]
    fn fold<B, F: FnMut(B, Value<'a>) -> B>(mut self, init: B, mut fold: F) -> B {
        let mut folded = init;
        while self.slots.count > 0 {
            folded = fold(folded, self.slots.take_first());
        }
        folded
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<Value<'a>> {
        let skipped = n.min(self.slots.count);
        self.slots.count -= skipped;
        self.slots.first += skipped * if self.slots.wide { 4 } else { 2 };
        self.next()
    }
}

impl ExactSizeIterator for ArrayIter<'_> {}
impl<'a> DoubleEndedIterator for ArrayIter<'a> {
    #[inline]
    fn next_back(&mut self) -> Option<Value<'a>> {
        let last = self.slots.count.checked_sub(1)?;
        let value = self.slots.get(last).unwrap_or_else(Value::undefined);
        self.slots.count = last;
        Some(value)
    }

    fn nth_back(&mut self, n: usize) -> Option<Value<'a>> {
        self.slots.count = self.slots.count.saturating_sub(n);
        self.next_back()
    }
}

impl core::iter::FusedIterator for ArrayIter<'_> {}

/// A row of slots of one width.
#[derive(Clone, Copy)]
pub(crate) struct Slots<'a> {
    pub(crate) source: Source<'a>,
    /// Offset of the first slot.
    pub(crate) first: usize,
    /// The number of items or pairs according to the header. Lookups use it as it is; loops over
    /// all of them use [`clamped`](Self::clamped).
    pub(crate) count: usize,
    pub(crate) wide: bool,
}

impl<'a> Slots<'a> {
    /// The slots of `value` if it has the tag.
    #[inline(always)]
    pub(crate) fn new(value: Value<'a>, tag: u8) -> Option<Self> {
        let Value { source, at } = value;
        let header = u16_at(source.bytes, at)?;
        if (header >> 12) as u8 != tag {
            return None;
        }
        let wide = header & 0x0800 != 0;
        let (mut count, mut first) = (usize::from(header & 0x07FF), at + 2);
        if count == LONG_COUNT {
            (count, first) = long_count(source.bytes, first);
        }
        Some(Self { source, first, count, wide })
    }

    /// Limits the count to the slots that fit the data, so that a false header costs no time.
    #[inline(always)]
    pub(crate) fn clamped(self, slots_per_count: usize) -> Self {
        let width = if self.wide { 4 } else { 2 } * slots_per_count;
        let room = self.source.bytes.len().saturating_sub(self.first);
        if self.count * width <= room { self } else { Self { count: clamp(room, width), ..self } }
    }

    #[inline(always)]
    pub(crate) fn get(&self, slot: usize) -> Option<Value<'a>> {
        if self.wide {
            self.source.wide(self.first + slot * 4)
        } else {
            self.source.narrow(self.first + slot * 2)
        }
    }

    /// Takes the first slot; the caller decrements the count.
    #[inline(always)]
    pub(crate) fn take_slot(&mut self) -> Value<'a> {
        let at = self.first;
        let value = if self.wide {
            self.first += 4;
            self.source.wide(at)
        } else {
            self.first += 2;
            self.source.narrow(at)
        };
        value.unwrap_or_else(Value::undefined)
    }

    #[inline(always)]
    pub(crate) fn take_first(&mut self) -> Value<'a> {
        self.count -= 1;
        self.take_slot()
    }
}

/// A separate function, so that the usual path has no division.
#[cold]
fn clamp(room: usize, width: usize) -> usize {
    room / width
}

/// A count of 2047 or more, and the offset of the first slot.
#[cold]
fn long_count(bytes: &[u8], at: usize) -> (usize, usize) {
    match varint(bytes, at) {
        // A valid count is less than the number of bytes.
        Some((rest, next)) => (LONG_COUNT + rest.min(bytes.len()), next + (next & 1)),
        None => (0, at),
    }
}
