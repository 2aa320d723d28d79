//! The scan from the end of a document to its start.

use super::fast_path::{Marks, follow_items, follow_pairs, pass_numbers};
use super::layout::Layout;
use super::utf8::{HIGH_BITS, is_utf8};
use super::{CheckOptions, Rules};
use crate::Result;
use crate::error::{Error, ErrorKind};
use crate::wire::{PARENT_KEY, chunk, tag, u16_at, varint};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

pub(super) struct Scan<'a> {
    pub(super) bytes: &'a [u8],
    /// Where the delta begins, which is where the base ends. 0 without a base.
    pub(super) start: usize,
    depth_limit: u16,
    utf8: bool,
    pub(super) rules: Rules,
    /// How many names the table of shared keys has.
    names: usize,
    /// One bit for each two bytes: a collection begins here and is yet to be looked at.
    pub(super) pending: Vec<u64>,
    /// One bit for each two bytes: a string begins here and was looked at.
    pub(super) checked: Vec<u64>,
    /// The depth of a collection, by offset / 4: two that do not overlap cannot share a place, and
    /// of two that do the greater depth counts for both. `DEEP` and more is in `deep`.
    pub(super) depths: Vec<u8>,
    pub(super) deep: BTreeMap<usize, u16>,
    /// The position of the scan: the beginning of the current collection and of all values in it.
    pub(super) reached: usize,
    /// The depth of values that pointers lead to from `reached` on; only damaged files have such.
    pub(super) inner: BTreeMap<usize, u16>,
    /// Those of them that are yet to be looked at, by their ends.
    pub(super) inner_pending: BTreeSet<(usize, usize)>,
    /// Bytes that may still be looked at; only overlapping values can use this up.
    budget: usize,
}

/// That a scan has come to its end without an error; only [`Scan::run`] makes one.
pub(super) struct Finished(());

/// From this depth on, which is rare, one byte is not enough.
pub(super) const DEEP: u8 = u8::MAX;

impl<'a> Scan<'a> {
    pub(super) fn new(bytes: &'a [u8], start: usize, options: &CheckOptions) -> Self {
        Self {
            bytes,
            start,
            depth_limit: options.depth_limit,
            utf8: options.utf8,
            rules: options.rules,
            names: options.keys.as_ref().map_or(usize::MAX, |keys| keys.len()),
            pending: Vec::new(),
            checked: Vec::new(),
            depths: Vec::new(),
            deep: BTreeMap::new(),
            reached: usize::MAX,
            inner: BTreeMap::new(),
            inner_pending: BTreeSet::new(),
            budget: bytes.len().saturating_mul(8),
        }
    }

    /// Whether strings are looked at.
    pub(super) fn looks_at_strings(&self) -> bool {
        self.utf8
    }

    pub(super) fn run(&mut self) -> Result<Finished> {
        let len = self.bytes.len();
        let own_len = len - self.start;
        if own_len < 2 || own_len & 1 != 0 || self.start & 1 != 0 {
            let message = "a document has an even number of bytes, at least 2";
            return Err(Error::at(ErrorKind::Truncated, len, message));
        }
        let trailer = len - 2;
        if own_len > 2 && self.bytes[trailer] < 0x80 {
            return Err(Error::at(ErrorKind::BadPointer, trailer, "no pointer to the root"));
        }
        self.pending = vec![0; len / 128 + 1];
        // Where UTF-8 is not required, all strings count as looked at.
        self.checked = vec![if self.utf8 { 0 } else { u64::MAX }; len / 128 + 1];
        self.depths = vec![0; len / 4 + 1];
        self.slot(trailer, false, 0)?;
        self.scan()?;
        Ok(Finished(()))
    }

    /// Looks at every collection that a pointer leads to, from the end to the start.
    ///
    /// At any time, each collection that a slot leads to which was followed is
    /// 1. in the slot, and was looked at with it, or
    /// 2. before `reached` and pending: the scan will come to it, as `reached` only ever gets
    ///    smaller, or
    /// 3. at or after `reached`: among the inner ones, of which none is left before the scan moves
    ///    on.
    ///
    /// So in the end all slots of all collections that the root leads to were followed, whatever
    /// overlaps.
    ///
    /// What a pointer leads to ends at or before the pointer, and so before the collection of the
    /// pointer does. Therefore nothing that passes leads to itself; and of the inner ones the one
    /// that ends last is led to by none of the others, so with that one first, each is looked at
    /// once while `reached` stays, at its greatest depth.
    fn scan(&mut self) -> Result<()> {
        for index in (0..self.pending.len()).rev() {
            loop {
                let word = self.pending[index];
                if word == 0 {
                    break;
                }
                let bit = word.ilog2();
                self.pending[index] = word & !(1 << bit);
                let at = index * 128 + bit as usize * 2;
                let depth = match self.depths[at / 4] {
                    DEEP => self.deep.get(&(at / 4)).copied().unwrap_or_default(),
                    depth => u16::from(depth),
                };
                self.reached = at;
                self.value(at, depth)?;
                while !self.inner_pending.is_empty()
                    && let Some((_, at)) = self.inner_pending.pop_last()
                {
                    self.value(at, self.inner[&at])?;
                }
            }
        }
        Ok(())
    }

    /// Looks at one value, which is known to end within the data; `depth` collections are around
    /// it.
    #[inline]
    pub(super) fn value(&mut self, at: usize, depth: u16) -> Result<()> {
        let first = self.bytes[at];
        match first >> 4 {
            tag::STRING => self.string(at, first),
            tag::ARRAY => self.collection(at, depth, false),
            tag::DICT => self.collection(at, depth, true),
            // Scalars need no look, and there is at most one for each two bytes.
            _ => Ok(()),
        }
    }

    #[inline]
    pub(super) fn spend(&mut self, at: usize, bytes: usize) -> Result<()> {
        match self.budget.checked_sub(bytes) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => Err(Error::at(ErrorKind::Overlap, at, "too many values overlap")),
        }
    }

    #[inline(never)]
    fn string(&mut self, at: usize, first: u8) -> Result<()> {
        let len = usize::from(first & 0x0F);
        if len < 15 {
            // Most strings are short and ASCII: then one look at 16 bytes is enough.
            if let Some(chunk) = chunk::<16>(self.bytes, at)
                && u128::from_le_bytes(*chunk) & HIGH_BITS[len] == 0
            {
                return Ok(());
            }
            return self.utf8(at, at + 1, len);
        }
        let (len, start) = varint(self.bytes, at + 1).unwrap_or_default();
        self.spend(at, len)?;
        self.utf8(at, start, len)
    }

    fn utf8(&self, at: usize, start: usize, len: usize) -> Result<()> {
        let bytes = self.bytes.get(start..start + len).unwrap_or_default();
        if self.utf8 && !is_utf8(bytes) {
            return Err(Error::at(ErrorKind::BadUtf8, at, "a string is not UTF-8"));
        }
        Ok(())
    }

    fn collection(&mut self, at: usize, outer_depth: u16, is_dict: bool) -> Result<()> {
        let Some(layout) = Layout::from_header(self.bytes, at) else {
            return Err(Error::at(ErrorKind::BadLength, at, "a count is malformed"));
        };
        let Layout { first, end, wide } = layout;
        if first == end {
            return Ok(());
        }
        self.spend(at, end - at)?;
        let depth = outer_depth.saturating_add(1);
        if outer_depth >= self.depth_limit {
            return Err(Error::at(ErrorKind::TooDeep, at, "collections are nested too deeply"));
        }
        match (is_dict, wide) {
            (false, false) => self.array::<2>(at, layout, depth),
            (false, true) => self.array::<4>(at, layout, depth),
            (true, false) => self.dict::<2>(at, layout, depth),
            (true, true) => self.dict::<4>(at, layout, depth),
        }
    }

    /// What the loops over plain slots of the collection at `at` need to know.
    fn marks(&mut self, at: usize, depth: u16) -> Marks<'_> {
        let depth = match u8::try_from(depth) {
            Ok(depth) if !self.rules.unshared_collections => depth,
            _ => DEEP,
        };
        let before = &self.bytes[..at.min(self.reached)];
        let Self { checked, pending, depths, budget, names, .. } = self;
        Marks { checked, pending, depths, budget, names: *names, depth, before }
    }

    fn array<const WIDTH: usize>(&mut self, at: usize, layout: Layout, depth: u16) -> Result<()> {
        let mut slot = layout.first;
        while slot < layout.end {
            if self.start == 0 {
                let bytes = self.bytes;
                if WIDTH == 2 {
                    let before = &bytes[..at.min(self.reached)];
                    slot = pass_numbers(bytes, before, slot, layout.end);
                    if slot >= layout.end {
                        break;
                    }
                }
                slot = follow_items::<WIDTH>(bytes, self.marks(at, depth), slot, layout.end);
            }
            if slot < layout.end {
                self.slot(slot, WIDTH == 4, depth)?;
                slot += WIDTH;
            }
        }
        Ok(())
    }

    fn dict<const WIDTH: usize>(&mut self, at: usize, layout: Layout, depth: u16) -> Result<()> {
        let mut first_key = layout.first;
        if u16_at(self.bytes, first_key) == Some(PARENT_KEY) {
            self.slot(first_key + WIDTH, WIDTH == 4, depth)?;
            self.parents(at)?;
            first_key += 2 * WIDTH;
        }
        let is_key = |slot: usize| (slot - first_key).is_multiple_of(2 * WIDTH);
        let mut slot = first_key;
        while slot < layout.end {
            if WIDTH == 2 && self.start == 0 && is_key(slot) {
                slot = follow_pairs(self.bytes, self.marks(at, depth), slot, layout.end);
                if slot >= layout.end {
                    break;
                }
            }
            let target = self.slot(slot, WIDTH == 4, depth)?;
            let first = self.bytes[target];
            if is_key(slot) && first >> 4 != tag::STRING {
                self.number_key(slot, target)?;
            }
            slot += WIDTH;
        }
        if self.rules.sorted_keys || self.rules.unique_keys {
            self.key_rules(at, (first_key..layout.end).step_by(2 * WIDTH), WIDTH == 4)?;
        }
        Ok(())
    }

    /// A key that is not a string is a short int, not negative, and has a name in the table if
    /// there is one.
    fn number_key(&self, slot: usize, target: usize) -> Result<()> {
        let word = u16_at(self.bytes, target).unwrap_or(u16::MAX);
        if word >= PARENT_KEY {
            return Err(Error::at(ErrorKind::BadKey, slot, "a key is not a string"));
        }
        if usize::from(word) >= self.names {
            let message = "a shared key has no name in the table";
            return Err(Error::at(ErrorKind::UnknownSharedKey, slot, message));
        }
        Ok(())
    }
}
