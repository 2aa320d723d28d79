//! The rules of a sound document, written down as plainly as possible: every pointer is followed,
//! with recursion, and each rule that is broken somewhere is noted. The fuzzer has this file, too.

use super::generator::Laid;
use std::collections::{BTreeMap, BTreeSet};

/// The greatest number of dicts that are parents of each other.
const GENERATIONS_MAX: usize = 64;

pub(crate) struct Oracle<'b> {
    bytes: &'b [u8],
    start: usize,
    depth_limit: usize,
    /// The rules that the document breaks.
    pub(crate) broken: BTreeSet<&'static str>,
    /// The collections around the value that is being followed.
    path: BTreeSet<usize>,
    /// Where each value that was followed to its end begins, and at which greatest depth that was.
    pub(crate) followed: BTreeMap<usize, usize>,
    /// How many bytes the strings and collections take of which there is each one once.
    pub(crate) size_bytes: usize,
}

type Verdict<T = ()> = Result<T, &'static str>;

impl<'b> Oracle<'b> {
    pub(crate) fn new(laid: &'b Laid) -> Self {
        Self {
            bytes: &laid.bytes,
            start: laid.start,
            depth_limit: laid.depth_limit.into(),
            broken: BTreeSet::new(),
            path: BTreeSet::new(),
            followed: BTreeMap::new(),
            size_bytes: 0,
        }
    }

    pub(crate) fn document(&mut self) {
        let len = self.bytes.len();
        if len - self.start < 2 || !len.is_multiple_of(2) || !self.start.is_multiple_of(2) {
            self.broken.insert("the length");
        } else if len - self.start > 2 && self.bytes[len - 2] < 0x80 {
            self.broken.insert("no pointer to the root");
        } else {
            self.slot(len - 2, 2, 0);
        }
    }

    /// Whether the depth of two collections is kept in one place: then the check may count the
    /// greater one for both.
    pub(crate) fn shares_depth(&self) -> bool {
        self.followed.keys().any(|at| at % 4 == 0 && self.followed.contains_key(&(at + 2)))
    }

    fn number(&self, at: usize, width: usize) -> Verdict<usize> {
        let bytes = self.bytes.get(at..at + width).ok_or("a slot beyond the end")?;
        Ok(bytes.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte)))
    }

    /// Follows what is in a slot, around which there are `depth` collections, and says where that
    /// leads, if that is to a sound place.
    fn slot(&mut self, at: usize, width: usize, depth: usize) -> Option<usize> {
        let followed = self.target(at, width).and_then(|(target, limit)| {
            self.value(target, limit, depth)?;
            Ok(target)
        });
        followed.map_err(|rule| self.broken.insert(rule)).ok()
    }

    /// Where a slot leads, and where what is there must end.
    fn target(&self, at: usize, width: usize) -> Verdict<(usize, usize)> {
        let word = self.number(at, width)?;
        let pointer = 1 << (8 * width - 1);
        if word & pointer == 0 {
            return Ok((at, at + width));
        }
        let external = word & (pointer >> 1) != 0;
        let now = self.pointer(at, word & ((pointer >> 1) - 1), external);
        if now.is_err() && external && width == 2 {
            // As it was before 2018.
            return self.pointer(at, word & (pointer - 1), false);
        }
        now
    }

    fn pointer(&self, at: usize, distance: usize, external: bool) -> Verdict<(usize, usize)> {
        if distance == 0 || 2 * distance > at {
            return Err("a pointer to nowhere");
        }
        let target = at - 2 * distance;
        if external != (at >= self.start && target < self.start) {
            return Err("a pointer out of the document, or an extern one within");
        }
        if self.bytes[target] < 0x80 {
            return Ok((target, at));
        }
        self.target(target, 4)
    }

    fn value(&mut self, at: usize, limit: usize, depth: usize) -> Verdict {
        let first = self.bytes[at];
        let size = match first >> 4 {
            0 | 3 => 2,
            1 => 2 + usize::from(first & 7),
            2 => [6, 10][usize::from(first & 8 != 0)],
            4 | 5 => return self.payload(at, limit),
            _ => return self.collection(at, limit, depth),
        };
        self.followed.entry(at).or_insert(0);
        if at + size > limit { Err("a number ends too late") } else { Ok(()) }
    }

    fn payload(&mut self, at: usize, limit: usize) -> Verdict {
        let mut range = (at + 1, usize::from(self.bytes[at] & 15));
        if range.1 == 15 {
            range = self.varint(at + 1)?;
        }
        let (start, len) = range;
        if start + len > limit {
            return Err("a string or data ends too late");
        }
        if self.followed.insert(at, 0).is_none() {
            self.size_bytes += 1 + len;
        }
        let is_text = self.bytes[at] >> 4 == 4;
        let is_sound = !is_text || std::str::from_utf8(&self.bytes[start..start + len]).is_ok();
        if is_sound { Ok(()) } else { Err("a string is not UTF-8") }
    }

    /// Where the bytes after a varint begin, and its value.
    fn varint(&self, at: usize) -> Verdict<(usize, usize)> {
        let mut value = 0_u128;
        for (i, &byte) in self.bytes[at..].iter().take(10).enumerate() {
            value |= u128::from(byte & 0x7F) << (7 * i);
            if byte < 0x80 {
                let value = u32::try_from(value).map_err(|_| "a varint is too large")?;
                return Ok((at + i + 1, value as usize));
            }
        }
        Err("a varint has no end")
    }

    /// Where the slots begin, how wide they are, and how many.
    fn slots(&self, at: usize) -> Verdict<(usize, usize, usize)> {
        let header = self.number(at, 2)?;
        let (mut first, mut count) = (at + 2, header & 0x7FF);
        if count == 2047 {
            let (next, rest) = self.varint(first)?;
            (first, count) = (next + next % 2, 2047 + rest);
        }
        let slots = if header >> 12 == 7 { 2 * count } else { count };
        Ok((first, [2, 4][usize::from(header & 0x800 != 0)], slots))
    }

    fn collection(&mut self, at: usize, limit: usize, depth: usize) -> Verdict {
        let (first, width, slots) = self.slots(at)?;
        if first + slots * width > limit {
            return Err("a collection ends too late");
        }
        if slots == 0 {
            self.followed.entry(at).or_insert(0);
            return Ok(());
        }
        if depth >= self.depth_limit {
            return Err("too deep");
        }
        if self.path.contains(&at) {
            return Err("a collection contains itself");
        }
        let known = self.followed.get(&at);
        if known.is_some_and(|known| *known >= depth) {
            return Ok(());
        }
        if known.is_none() {
            self.size_bytes += first + slots * width - at;
        }
        self.path.insert(at);
        let is_dict = self.bytes[at] >> 4 == 7;
        for i in 0..slots {
            let key = is_dict.then_some(i).filter(|i| i % 2 == 0);
            self.item(at, first + i * width, width, depth + 1, key);
        }
        self.path.remove(&at);
        self.followed.insert(at, depth);
        Ok(())
    }

    /// One slot of the collection at `owner`; `key` is the number of the slot if that is a key.
    fn item(&mut self, owner: usize, at: usize, width: usize, depth: usize, key: Option<usize>) {
        if key == Some(0) && self.number(at, 2) == Ok(0x0800) {
            self.broken.extend(self.generations(owner).err());
            return;
        }
        let Some(target) = self.slot(at, width, depth) else { return };
        let first = self.bytes[target];
        if key.is_some() && first >> 4 != 4 && first >> 3 != 0 {
            self.broken.insert("a key is neither a string nor a number from 0 to 2047");
        }
    }

    /// Follows the parents of a dict, which are looked at as the values of their keys are.
    fn generations(&self, dict: usize) -> Verdict {
        let mut dict = dict;
        for _ in 0..GENERATIONS_MAX {
            let (first, width, slots) = self.slots(dict)?;
            if slots == 0 || self.number(first, 2)? != 0x0800 {
                return Ok(());
            }
            let (parent, _) = self.target(first + width, width)?;
            if self.bytes[parent] >> 4 != 7 {
                return Err("a parent is not a dict");
            }
            if parent >= dict {
                return Err("a parent within its child");
            }
            dict = parent;
        }
        Err("too many parents")
    }
}
