//! Where a value's bytes are, and the value at an offset: for tools that show a document as it is
//! stored.

use crate::Doc;
use crate::check::layout::{FIXED_SIZE, Layout};
use crate::value::Value;
use crate::wire::{tag, varint};
use core::ops::Range;

impl Value<'_> {
    /// The bytes of the document that this value takes by itself: its header, and its payload or
    /// slots, without what the slots point to and without the filler byte after an odd length.
    /// Never beyond the end of the data, also if the data is damaged.
    ///
    /// ```
    /// use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!(["Ada"]))?;
    /// let item = doc.root().at(0).unwrap();
    /// assert_eq!((doc.root().range(), item.range()), (4..8, 0..4));
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn range(self) -> Range<usize> {
        let (bytes, at) = (self.source.bytes, self.offset());
        let first = self.first_byte();
        let end = match (usize::from(FIXED_SIZE[usize::from(first)]), first >> 4) {
            (0, tag::STRING | tag::DATA) => {
                varint(bytes, at + 1).map_or(at + 1, |(len, start)| start.saturating_add(len))
            }
            (0, _) => Layout::from_header(bytes, at).map_or(at + 2, |layout| layout.end),
            (size, _) => at + size,
        };
        at.min(bytes.len())..end.min(bytes.len())
    }
}

impl<B: AsRef<[u8]>> Doc<B> {
    /// The value at an offset that [`Value::offset`] returned. At any other even offset it is
    /// whatever the bytes there mean; `None` beyond the data, at odd offsets and at pointers.
    ///
    /// ```
    /// use fleece_codec::{fleece, Doc};
    /// let doc = Doc::open(fleece!(["Ada"]))?;
    /// let offset = doc.root().at(0).unwrap().offset();
    /// assert_eq!(doc.value_at(offset).unwrap().as_str(), Some("Ada"));
    /// assert!(doc.value_at(1).is_none());
    /// # Ok::<(), fleece_codec::Error>(())
    /// ```
    pub fn value_at(&self, offset: usize) -> Option<Value<'_>> {
        // Not reached by slots, so no text is proved to be UTF-8.
        let source = self.source().unproved();
        let first = source.bytes.get(offset)?;
        let is_value = offset.is_multiple_of(2) && first & 0x80 == 0;
        is_value.then_some(Value { source, at: offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_broken_length_ends_with_the_data() {
        for bytes in [&[0x4F, 0xFF, 0xFF, 0x7F, 0x80, 0x02], &[0x6F, 0xFF, 0xFF, 0x7F, 0x80, 0x02]]
        {
            let doc = Doc::open(bytes).unwrap();
            let values = (0..8).filter_map(|at| doc.value_at(at));
            let ranges: Vec<_> = values.map(Value::range).collect();
            assert!(ranges.iter().all(|range| range.start <= range.end && range.end <= 6));
        }
    }
}
