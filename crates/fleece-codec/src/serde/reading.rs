//! Reading of slots for `serde`: of bytes that were not checked, each value is checked when it is
//! reached.

use crate::Result;
use crate::array::Slots;
use crate::check::CheckOptions;
use crate::check::layout::{FIXED_SIZE, Layout};
use crate::error::{Error, ErrorKind};
use crate::limits::{SERDE_DEPTH, SERDE_VALUES_MIN, SERDE_VALUES_PER_BYTE};
use crate::value::Value;
use crate::wire::{Source, narrow_target, tag, u16_at, u32_at, varint, wide_target};
use core::cell::Cell;

/// So many names are remembered.
const NAMES: usize = 32;

/// What holds for all values of one call.
pub(super) struct Reading<'de> {
    /// How many items and pairs may still be visited: of a small document in which collections are
    /// shared there may be very many.
    values_left: Cell<usize>,
    /// The slots are read as they are: the document was checked, or the caller did not want that.
    is_checked: Cell<bool>,
    /// The collections that were not read to their end.
    unread: Cell<usize>,
    /// Names that were read, each at the number of pairs behind it: dicts of one kind have the same
    /// names at the same places, and these are stored once.
    names: [Cell<&'de str>; NAMES],
}

impl<'de> Reading<'de> {
    /// Of values that need not be sound, in a document of this size.
    pub(super) fn new(size_bytes: usize) -> Self {
        let values = size_bytes.saturating_mul(SERDE_VALUES_PER_BYTE);
        let values_left = Cell::new(values.saturating_add(SERDE_VALUES_MIN));
        let names = [const { Cell::new("") }; NAMES];
        Self { values_left, is_checked: Cell::new(true), unread: Cell::new(0), names }
    }

    /// Of a document that must be sound. The root is checked, all else when it is reached.
    pub(super) fn strict(root: Value<'de>) -> Result<Self> {
        let bytes = root.source.bytes;
        let reading = Self { is_checked: Cell::new(false), ..Self::new(bytes.len()) };
        let leads_to_root = |at: Option<usize>, wide| {
            at.is_some_and(|at| sound_target(bytes, at, wide, false) == Some(root.at))
        };
        let is_far = bytes.ends_with(&[0x80, 0x02]);
        let is_sound = leads_to_root(bytes.len().checked_sub(2), false)
            || is_far && leads_to_root(bytes.len().checked_sub(6), true);
        if !is_sound {
            reading.check(bytes)?;
        }
        Ok(reading)
    }

    /// The depth of what is within a collection at this depth, which has `len` items or pairs.
    #[inline]
    pub(super) fn enter(&self, depth: usize, len: usize) -> Result<usize> {
        let Some(values_left) = self.values_left.get().checked_sub(len) else {
            return Err(Error::new(ErrorKind::TooLarge, "far more values than bytes"));
        };
        self.values_left.set(values_left);
        self.unread.set(self.unread.get() + 1);
        if depth < SERDE_DEPTH {
            return Ok(depth + 1);
        }
        Err(Error::new(ErrorKind::TooDeep, "collections are nested too deeply to be deserialized"))
    }

    /// A collection was read to its end.
    #[inline]
    pub(super) fn leave(&self) {
        self.unread.set(self.unread.get().wrapping_sub(1));
    }

    /// Checks what the type has left out: collections that were not read to their end.
    pub(super) fn finish(&self, bytes: &[u8]) -> Result<()> {
        if self.unread.get() == 0 { Ok(()) } else { self.check(bytes) }
    }

    #[inline]
    pub(super) fn is_checked(&self) -> bool {
        self.is_checked.get()
    }

    /// Checks all of the document, if it must be sound and that was not done before: where
    /// something is met that is not plain.
    #[cold]
    pub(super) fn check(&self, bytes: &[u8]) -> Result<()> {
        if !self.is_checked() {
            CheckOptions::new().check(bytes)?;
            self.is_checked.set(true);
        }
        Ok(())
    }

    /// The name to which the slot at the front leads, if it is the one that was read at this place
    /// before. A name that ends before the slot is sound there as well.
    #[inline(always)]
    pub(super) fn known_name(&self, slots: &Slots<'de>) -> Option<&'de str> {
        let word = if slots.wide { 0 } else { u16_at(slots.source.bytes, slots.first)? };
        let name = self.names[slots.count % NAMES].get();
        let distance = usize::from(word << 1);
        // The address says in which bytes it is, too.
        let start = slots.source.bytes.as_ptr().addr() + slots.first + 1;
        let is_same = (0x8000..0xC000).contains(&word)
            && name.as_ptr().addr() == start.wrapping_sub(distance)
            && name.len() < distance;
        is_same.then_some(name)
    }

    #[inline(always)]
    pub(super) fn remember(&self, place: usize, name: &'de str) {
        self.names[place % NAMES].set(name);
    }

    /// Takes the slot at the front; the caller sees to the count.
    #[inline(always)]
    pub(super) fn take(&self, slots: &mut Slots<'de>) -> Result<Value<'de>> {
        let (source, at, wide) = (slots.source, slots.first, slots.wide);
        slots.first += if wide { 4 } else { 2 };
        match sound_target(source.bytes, at, wide, self.is_checked()) {
            Some(target) => Ok(Value { source, at: target }),
            None => self.take_rare(source, at, wide),
        }
    }

    /// A function of its own with plain arguments, which go through registers.
    #[inline(never)]
    fn take_rare(&self, source: Source<'de>, at: usize, wide: bool) -> Result<Value<'de>> {
        self.check(source.bytes)?;
        let value = if wide { source.wide(at) } else { source.narrow(at) };
        Ok(value.unwrap_or_else(Value::undefined))
    }
}

/// Where the slot at `at` leads, if it holds a value that ends with it, or a plain pointer to one
/// that ends before it. Where all was checked before, ends are not looked at.
#[inline(always)]
fn sound_target(bytes: &[u8], at: usize, wide: bool, is_checked: bool) -> Option<usize> {
    let (target, room) = if wide {
        let word = u32_at(bytes, at)?;
        let distance = (word & 0x3FFF_FFFF) as usize * 2;
        (wide_target(bytes, at, word)?, if word < 0x8000_0000 { 4 } else { distance })
    } else {
        let word = u16_at(bytes, at)?;
        let distance = usize::from(word & 0x3FFF) * 2;
        (narrow_target(bytes, at, word)?, if word < 0x8000 { 2 } else { distance })
    };
    (is_checked || fits(bytes, target, room)).then_some(target)
}

/// Whether a value takes no more bytes than these.
#[inline(always)]
fn fits(bytes: &[u8], at: usize, room: usize) -> bool {
    let Some(&first) = bytes.get(at) else { return false };
    // The size is 0 where more than the first byte decides.
    let size = usize::from(FIXED_SIZE[usize::from(first)]);
    if size > 0 {
        return size <= room;
    }
    match bytes.get(at + 1) {
        Some(&len) if first & 0xEF == 0x4F && len < 0x80 => usize::from(len) + 2 <= room,
        _ => end(bytes, at).is_some_and(|end| end - at <= room),
    }
}

/// Where a collection ends, or a long string or data.
#[inline(never)]
fn end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at)? >> 4 <= tag::DATA {
        return varint(bytes, at + 1).map(|(len, start)| start + len);
    }
    Layout::from_header(bytes, at).map(|layout| layout.end)
}
