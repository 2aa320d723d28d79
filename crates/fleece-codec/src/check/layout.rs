//! Sizes: where a value ends, and where the slots of a collection are.

use crate::wire::{LONG_COUNT, tag, u16_at, varint};

/// Where the slots of a collection are.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) first: usize,
    pub(crate) end: usize,
    pub(crate) wide: bool,
}

impl Layout {
    /// `None` if the count is malformed; the end may lie beyond the data.
    #[inline]
    pub(crate) fn from_header(bytes: &[u8], at: usize) -> Option<Self> {
        let header = u16_at(bytes, at)?;
        let wide = header & 0x0800 != 0;
        let (mut count, mut first) = (usize::from(header & 0x07FF), at + 2);
        if count == LONG_COUNT {
            let (rest, next) = varint(bytes, first)?;
            count += rest;
            first = next + (next & 1);
        }
        let per_count = if header >> 12 == u16::from(tag::DICT) { 2 } else { 1 };
        let width = if wide { 4 } else { 2 };
        let size = count.checked_mul(per_count * width)?;
        Some(Self { first, end: first.checked_add(size)?, wide })
    }
}

/// The size of a value in bytes by its first byte; 0 where more than that byte decides.
pub(crate) const FIXED_SIZE: [u8; 256] = {
    let mut sizes = [0; 256];
    let mut first = 0;
    while first < 0x60 {
        let low = first as u8 & 0x0F;
        sizes[first] = match first as u8 >> 4 {
            tag::SHORT_INT | tag::SPECIAL => 2,
            tag::LONG_INT => (low & 7) + 2,
            tag::FLOAT if low & 8 != 0 => 10,
            tag::FLOAT => 6,
            _ if low < 15 => low + 1,
            _ => 0,
        };
        first += 1;
    }
    sizes
};
