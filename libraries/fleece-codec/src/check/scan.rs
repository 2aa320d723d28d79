//! The scan from the end of a document to its start: sizes, pointers, and optional rules.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::fast_path::{HIGH_BITS, Marks, follow_items, follow_pairs, is_utf8, pass_numbers};
use super::in_order::OrderedPass;
use super::{CheckOptions, Rules};
use crate::Result;
use crate::error::{Error, ErrorKind};
use crate::key::compare_keys;
use crate::limits::GENERATIONS;
use crate::value::Value;
use crate::wire::{LONG_COUNT, PARENT_KEY, Source, chunk, tag, u16_at, u32_at, varint};

pub(super) struct Scan<'a> {
    pub(super) bytes: &'a [u8],
    /// The offset at which the base ends and the delta begins; 0 without a base.
    pub(super) start: usize,
    depth_limit: u16,
    utf8: bool,
    pub(super) rules: Rules,
    /// The number of names in the table of shared keys; `usize::MAX` without a table.
    names: usize,
    /// One bit for each two bytes: a collection begins here and is still to be checked.
    pub(super) pending: Vec<u64>,
    /// One bit for each two bytes: a string begins here and was checked.
    pub(super) checked: Vec<u64>,
    /// The depths of collections, indexed by offset / 4. Two collections share an entry only if
    /// they overlap; then the greater depth counts for both. Depths from `DEEP` on are in `deep`.
    pub(super) depths: Vec<u8>,
    pub(super) deep: BTreeMap<usize, u16>,
    /// The position of the scan: the start of the current collection and of all values in it.
    pub(super) reached: usize,
    /// The depths of the inner values: those at or after `reached` that a pointer leads to. Only
    /// damaged files have any.
    pub(super) inner: BTreeMap<usize, u16>,
    /// The inner values that are still to be checked, ordered by their ends.
    pub(super) inner_pending: BTreeSet<(usize, usize)>,
    /// The number of bytes that may still be checked; only overlapping values can exhaust it.
    budget: usize,
}

/// Evidence that a document was checked without an error; only [`Scan::run`] makes one.
pub(super) struct Finished(());

/// Depths from this one on, which are rare, do not fit one byte.
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

    /// Whether strings are checked.
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
        if self.passes_in_order() {
            return Ok(Finished(()));
        }
        self.pending = vec![0; len / 128 + 1];
        // If UTF-8 is not required, all strings count as checked.
        self.checked = vec![if self.utf8 { 0 } else { u64::MAX }; len / 128 + 1];
        self.depths = vec![0; len / 4 + 1];
        self.slot(trailer, false, 0)?;
        self.scan()?;
        Ok(Finished(()))
    }

    /// Whether the pass from the start to the end accepts the document, without a base and without
    /// further rules.
    fn passes_in_order(&self) -> bool {
        let Self { bytes, utf8, names, .. } = *self;
        self.start == 0
            && self.rules == Rules::default()
            && OrderedPass { bytes, utf8, names }
                .levels()
                .is_some_and(|levels| levels <= self.depth_limit)
    }

    /// Checks every collection that a pointer leads to, from the end to the start.
    ///
    /// Invariant: each collection that a followed slot leads to is
    /// 1. in the slot itself, and was checked with it, or
    /// 2. before `reached` and pending: the scan reaches it later, because `reached` only
    ///    decreases, or
    /// 3. at or after `reached`, so an inner value: all of them are checked before the scan moves
    ///    on.
    ///
    /// So at the end all slots of all collections that the root leads to were followed, even if
    /// values overlap.
    ///
    /// A target ends at or before its pointer, and so before the end of the pointer's collection.
    /// Therefore no collection that passes contains itself. No other inner value leads to the one
    /// that ends last, so in this order each is checked once while `reached` stays, at its greatest
    /// depth.
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

    /// Checks one value, which is known to end within the data and is nested in `depth`
    /// collections.
    #[inline]
    pub(super) fn value(&mut self, at: usize, depth: u16) -> Result<()> {
        let first = self.bytes[at];
        match first >> 4 {
            tag::STRING => self.string(at, first),
            tag::ARRAY => self.collection(at, depth, false),
            tag::DICT => self.collection(at, depth, true),
            // Scalars need no check, and there is at most one for each two bytes.
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
            // Most strings are short and ASCII: then one test of 16 bytes is enough.
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

    /// The state for the fast paths over the slots of the collection at `at`.
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

    /// Checks a key that is not a string: it must be a short int, not be negative, and have a name
    /// in the table, if there is one.
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

// Sizes: where a value ends, and where the slots of a collection are.

/// The position and width of the slots of a collection.
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

/// The size of a value in bytes by its first byte; 0 if it depends on more bytes.
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

// Pointers: the targets of slots, and whether they are valid.

impl Scan<'_> {
    /// Follows the slot at `at`, which is nested in `depth` collections. Checks the target if it is
    /// a string, marks it if it is a collection, and returns its offset.
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
            // Of the values of two bytes, only a string of one byte needs a check.
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

    /// Marks a value at or after `reached`, which the scan itself does not reach any more.
    #[cold]
    fn mark_inner(&mut self, target: usize, end: usize, depth: u16) {
        let known = self.inner.get(&target).copied();
        if known.is_none_or(|known| known < depth) {
            self.inner.insert(target, depth);
            self.inner_pending.insert((end, target));
        }
    }

    /// Checks all generations of the dict at `at` as reading follows them: parents lie before their
    /// children, and there are at most 63.
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
    fn follow_narrow(&mut self, at: usize) -> Result<FollowedSlot> {
        let word = u16_at(self.bytes, at).ok_or_else(|| bad_pointer(at))?;
        if word < 0x8000 {
            return Ok(FollowedSlot { target: at, limit: at + 2, inline: true });
        }
        let target = at.wrapping_sub(usize::from(word & 0x3FFF) * 2);
        match self.bytes.get(target) {
            Some(first) if first & 0x80 == 0 && word < 0xC000 && self.same_side(at, target) => {
                Ok(FollowedSlot { target, limit: at, inline: false })
            }
            _ => self.follow_rare(at, word),
        }
    }

    /// Follows an extern pointer, a pointer from before 2018 with a distance of 15 bits, or a
    /// pointer to a pointer.
    #[cold]
    fn follow_rare(&mut self, at: usize, word: u16) -> Result<FollowedSlot> {
        let distance = usize::from(word & 0x3FFF) * 2;
        if word & 0x4000 == 0 {
            return self.chain(at, distance, false);
        }
        self.chain(at, distance, true)
            .or_else(|_| self.chain(at, usize::from(word & 0x7FFF) * 2, false))
    }

    #[inline]
    fn follow_wide(&mut self, at: usize) -> Result<FollowedSlot> {
        let word = u32_at(self.bytes, at).ok_or_else(|| bad_pointer(at))?;
        if word < 0x8000_0000 {
            return Ok(FollowedSlot { target: at, limit: at + 4, inline: true });
        }
        self.chain(at, (word & 0x3FFF_FFFF) as usize * 2, word & 0x4000_0000 != 0)
    }

    /// Follows a pointer, and the wide pointers that it leads to, if any.
    #[inline]
    fn chain(&mut self, at: usize, distance: usize, external: bool) -> Result<FollowedSlot> {
        let (mut at, mut distance, mut external) = (at, distance, external);
        loop {
            let target = at.checked_sub(distance).filter(|_| distance != 0);
            let target = target.ok_or_else(|| bad_pointer(at))?;
            if external == self.same_side(at, target) {
                return Err(bad_pointer(at));
            }
            if self.bytes[target] & 0x80 == 0 {
                return Ok(FollowedSlot { target, limit: at, inline: false });
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

    /// The end of a value with a varint in its header.
    #[inline(never)]
    fn end(&self, at: usize) -> Result<usize> {
        if self.bytes[at] >> 4 <= tag::DATA {
            let (len, start) = varint(self.bytes, at + 1).ok_or_else(|| bad_length(at))?;
            return Ok(start + len);
        }
        Layout::from_header(self.bytes, at).map(|layout| layout.end).ok_or_else(|| bad_length(at))
    }
}

/// The target of a slot: a value in the slot itself, or one elsewhere, which must not end after
/// `limit`.
pub(super) struct FollowedSlot {
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

// Optional rules: sorted keys, unique keys, unshared collections.

impl Scan<'_> {
    /// Checks the order and uniqueness of the keys of the dict at `at`, whose slots were followed
    /// before.
    fn key_rules(
        &mut self,
        at: usize,
        slots: impl Iterator<Item = usize>,
        wide: bool,
    ) -> Result<()> {
        let mut keys = Vec::new();
        for slot in slots {
            let followed = if wide { self.follow_wide(slot)? } else { self.follow_narrow(slot)? };
            let source = Source::new(self.bytes);
            keys.push(Value { source, at: followed.target });
        }
        if !keys.is_sorted_by(|a, b| compare_keys(*a, *b) != Ordering::Greater) {
            if self.rules.sorted_keys {
                let message = "the keys of a dict are out of order";
                return Err(Error::at(ErrorKind::UnsortedKeys, at, message));
            }
            keys.sort_by(|a, b| compare_keys(*a, *b));
        }
        let is_twice = |pair: &[Value<'_>]| compare_keys(pair[0], pair[1]) == Ordering::Equal;
        if self.rules.unique_keys && keys.windows(2).any(is_twice) {
            return Err(Error::at(ErrorKind::DuplicateKey, at, "a dict has a key twice"));
        }
        Ok(())
    }

    /// Checks that no slot led to the collection before: it is neither pending nor passed by the
    /// scan.
    fn unshared(&self, slot: usize, target: usize) -> Result<()> {
        let is_pending = self.pending[target / 128] & 1 << (target / 2 % 64) != 0;
        if is_pending || target >= self.reached {
            let message = "two pointers lead to the same collection, or one into another";
            return Err(Error::at(ErrorKind::SharedCollection, slot, message));
        }
        Ok(())
    }
}
