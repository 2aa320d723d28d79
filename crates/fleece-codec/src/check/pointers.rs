//! Pointers: where slots lead, and whether they may.

use super::layout::{FIXED_SIZE, Layout};
use super::scan::{DEEP, Scan};
use crate::Result;
use crate::error::{Error, ErrorKind};
use crate::limits::GENERATIONS;
use crate::wire::{PARENT_KEY, tag, u16_at, u32_at, varint};

impl Scan<'_> {
    /// Follows the slot at `at`, around which there are `depth` collections, looks at what it leads
    /// to if that is a string, marks it if a collection, and says where it is.
    #[inline]
    pub(super) fn slot(&mut self, at: usize, wide: bool, depth: u16) -> Result<usize> {
        let slot = if wide { self.follow_wide(at)? } else { self.follow_narrow(at)? };
        let target = slot.target;
        let first = self.bytes[target];
        let size = FIXED_SIZE[usize::from(first)];
        let end = if size != 0 { target + usize::from(size) } else { self.end(target)? };
        if end > slot.limit {
            let message = "a value does not end before the pointer to it";
            return Err(Error::at(ErrorKind::BadPointer, at, message));
        }
        if slot.inline {
            // In two bytes there is nothing that needs a look, but for a string of one byte.
            if wide || first == 0x41 {
                self.value(target, depth)?;
            }
            return Ok(target);
        }
        if self.rules.unshared_collections && first >= 0x60 {
            self.unshared(at, target)?;
        }
        if target >= self.reached {
            self.mark_inner(target, end, depth);
            return Ok(target);
        }
        let (word, bit) = (target / 128, 1 << (target / 2 % 64));
        if first >= 0x60 {
            let known = &mut self.depths[target / 4];
            *known = (*known).max(depth.min(u16::from(DEEP)) as u8);
            if *known == DEEP {
                let known = self.deep.entry(target / 4).or_default();
                *known = depth.max(*known);
            }
            self.pending[word] |= bit;
        } else if first >> 4 == tag::STRING && self.checked[word] & bit == 0 {
            self.checked[word] |= bit;
            self.value(target, depth)?;
        }
        Ok(target)
    }

    /// Marks what the scan will not come to any more.
    #[cold]
    fn mark_inner(&mut self, target: usize, end: usize, depth: u16) {
        let known = self.inner.get(&target).copied();
        if known.is_none_or(|known| known < depth) {
            self.inner.insert(target, depth);
            self.inner_pending.insert((end, target));
        }
    }

    /// Looks at all generations of the dict at `at`, as reading does: parents lie before their
    /// children, and there are not too many.
    #[cold]
    pub(super) fn parents(&mut self, at: usize) -> Result<()> {
        let mut dict = at;
        for _ in 0..GENERATIONS {
            let layout = Layout::from_header(self.bytes, dict).ok_or_else(|| bad_length(dict))?;
            let is_child =
                layout.first < layout.end && u16_at(self.bytes, layout.first) == Some(PARENT_KEY);
            if !is_child {
                return Ok(());
            }
            let slot = if layout.wide {
                self.follow_wide(layout.first + 4)?
            } else {
                self.follow_narrow(layout.first + 2)?
            };
            if slot.target >= dict || self.bytes[slot.target] >> 4 != tag::DICT {
                let message = "the parent is not a dict before its child";
                return Err(Error::at(ErrorKind::BadParent, dict, message));
            }
            dict = slot.target;
        }
        Err(Error::at(ErrorKind::TooDeep, at, "a dict has more than 63 parents"))
    }

    #[inline]
    pub(super) fn follow_narrow(&mut self, at: usize) -> Result<Slot> {
        let word = u16_at(self.bytes, at).ok_or_else(|| bad_pointer(at))?;
        if word < 0x8000 {
            return Ok(Slot { target: at, limit: at + 2, inline: true });
        }
        let target = at.wrapping_sub(usize::from(word & 0x3FFF) * 2);
        match self.bytes.get(target) {
            Some(first) if first & 0x80 == 0 && word < 0xC000 && self.same_side(at, target) => {
                Ok(Slot { target, limit: at, inline: false })
            }
            _ => self.follow_rare(at, word),
        }
    }

    /// An extern pointer if there is a base, else one of before 2018 with a distance of 15 bits; or
    /// a pointer to a pointer.
    #[cold]
    fn follow_rare(&mut self, at: usize, word: u16) -> Result<Slot> {
        let distance = usize::from(word & 0x3FFF) * 2;
        if word & 0x4000 == 0 {
            return self.chain(at, distance, false);
        }
        self.chain(at, distance, true)
            .or_else(|_| self.chain(at, usize::from(word & 0x7FFF) * 2, false))
    }

    #[inline]
    pub(super) fn follow_wide(&mut self, at: usize) -> Result<Slot> {
        let word = u32_at(self.bytes, at).ok_or_else(|| bad_pointer(at))?;
        if word < 0x8000_0000 {
            return Ok(Slot { target: at, limit: at + 4, inline: true });
        }
        self.chain(at, (word & 0x3FFF_FFFF) as usize * 2, word & 0x4000_0000 != 0)
    }

    /// Follows a pointer, and further wide ones if it leads to one.
    #[inline]
    fn chain(&mut self, at: usize, distance: usize, external: bool) -> Result<Slot> {
        let (mut at, mut distance, mut external) = (at, distance, external);
        loop {
            let target = at.checked_sub(distance).filter(|_| distance != 0);
            let target = target.ok_or_else(|| bad_pointer(at))?;
            if external == self.same_side(at, target) {
                return Err(bad_pointer(at));
            }
            if self.bytes[target] & 0x80 == 0 {
                return Ok(Slot { target, limit: at, inline: false });
            }
            let word = u32_at(self.bytes, target).ok_or_else(|| bad_pointer(at))?;
            self.spend(target, 4)?;
            at = target;
            distance = (word & 0x3FFF_FFFF) as usize * 2;
            external = word & 0x4000_0000 != 0;
        }
    }

    /// Whether both are in the base or both in the delta.
    #[inline]
    fn same_side(&self, at: usize, target: usize) -> bool {
        (at < self.start) == (target < self.start)
    }

    /// Where a value with a varint in its header ends.
    #[inline(never)]
    fn end(&self, at: usize) -> Result<usize> {
        if self.bytes[at] >> 4 <= tag::DATA {
            let (len, start) = varint(self.bytes, at + 1).ok_or_else(|| bad_length(at))?;
            return Ok(start + len);
        }
        Layout::from_header(self.bytes, at).map(|layout| layout.end).ok_or_else(|| bad_length(at))
    }
}

/// Where a slot leads: a value in the slot itself, or one elsewhere that must end before `limit`.
pub(super) struct Slot {
    pub(super) target: usize,
    limit: usize,
    inline: bool,
}

fn bad_length(at: usize) -> Error {
    Error::at(ErrorKind::BadLength, at, "a length is malformed or too large")
}

fn bad_pointer(at: usize) -> Error {
    Error::at(ErrorKind::BadPointer, at, "a pointer leads nowhere")
}
