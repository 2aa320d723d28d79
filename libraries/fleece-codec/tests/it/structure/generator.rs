//! Documents laid out slot by slot, in which values overlap in every way that the format has room
//! for. The fuzzer has this file, too.

use super::faults::Fault;

/// Where choices come from: seeded random numbers, or the bytes of a fuzzer.
pub(crate) trait Choices {
    /// A number from 0 on, less than `n`.
    fn below(&mut self, n: usize) -> usize;
}

/// A document that may be sound, and how it is to be checked.
#[derive(Debug)]
pub(crate) struct Laid {
    /// The base, if any, and the document.
    pub(crate) bytes: Vec<u8>,
    /// Where the document begins, which is where its base ends.
    pub(crate) start: usize,
    pub(crate) depth_limit: u16,
}

pub(crate) fn lay_out(choices: &mut impl Choices) -> Laid {
    let size_max = [512, 512, 512, 4096][choices.below(4)];
    let size = 128 + choices.below(size_max - 128);
    let depth_limit = [512, 512, 512, 1 + choices.below(16)][choices.below(4)] as u16;
    let base_size = if choices.below(8) == 0 { choices.below(size) } else { 0 };
    let (careless, fault) = match choices.below(4) {
        0 | 1 => (false, None),
        2 => (true, None),
        _ => (false, Some(Fault::ALL[choices.below(Fault::ALL.len())])),
    };
    let mut layout = Layout { choices, bytes: Vec::new(), start: 0, known: Vec::new(), careless };
    while layout.bytes.len() < base_size {
        layout.value();
    }
    layout.start = layout.bytes.len();
    while layout.bytes.len() < size {
        layout.value();
    }
    layout.collection();
    if let Some(fault) = fault {
        layout.broken_root(fault, depth_limit.into());
    }
    let last = layout.last();
    match fault {
        Some(Fault::NoRoot) => layout.bytes.extend([0, 5]),
        _ => layout.pointer_to(last, 2),
    }
    if let Some(Fault::OddLength) = fault {
        layout.bytes.push(0);
    }
    if careless && layout.chance(2) {
        let at = layout.choices.below(layout.bytes.len());
        layout.bytes[at] = layout.choices.below(256) as u8;
    }
    Laid { bytes: layout.bytes, start: layout.start, depth_limit }
}

/// A place where a value begins, and where that ends.
#[derive(Clone, Copy)]
struct Known {
    at: usize,
    end: usize,
    tag: u8,
}

pub(crate) struct Layout<'c, C> {
    pub(crate) choices: &'c mut C,
    pub(crate) bytes: Vec<u8>,
    pub(crate) start: usize,
    known: Vec<Known>,
    /// Whether something may be wrong at once, rather than by how things overlap.
    careless: bool,
}

/// A collection that is being laid out.
#[derive(Clone, Copy)]
struct Open {
    at: usize,
    end: usize,
    width: usize,
}

impl<C: Choices> Layout<'_, C> {
    pub(crate) fn chance(&mut self, of: usize) -> bool {
        self.choices.below(of) == 0
    }

    fn slip(&mut self) -> bool {
        self.careless && self.chance(100)
    }

    /// Where the last value begins.
    pub(crate) fn last(&self) -> usize {
        self.known.last().map_or(self.start, |last| last.at)
    }

    fn byte(&mut self) -> u8 {
        self.choices.below(256) as u8
    }

    pub(crate) fn know(&mut self, at: usize, end: usize, tag: u8) {
        self.known.push(Known { at, end, tag });
    }

    /// Something that stands for itself, mostly a collection.
    fn value(&mut self) {
        match self.choices.below(16) {
            0 | 1 => self.string(),
            2 => self.scalar(),
            3 => self.pointer_value(),
            4 => self.parents(),
            5 => self.nest(),
            _ => self.collection(),
        }
    }

    fn string(&mut self) {
        let at = self.bytes.len();
        let texts: [&[u8]; 5] =
            [b"a", b"name", "é".as_bytes(), b"longer than fifteen", b"\xE9t\xE9"];
        let choice = if self.slip() { 4 } else { self.choices.below(4) };
        let text = texts[choice];
        match text.len() {
            len @ 0..15 => self.bytes.push(0x40 | len as u8),
            len => self.bytes.extend([0x4F, len as u8]),
        }
        self.bytes.extend(text);
        self.know(at, self.bytes.len(), 4);
        self.pad();
    }

    pub(crate) fn pad(&mut self) {
        if self.bytes.len() % 2 == 1 {
            self.bytes.push(0);
        }
    }

    /// A number, or data within which the next values lie.
    fn scalar(&mut self) {
        let at = self.bytes.len();
        if self.chance(2) {
            let len = self.choices.below(15);
            let content = self.byte();
            self.bytes.extend([0x50 | len as u8, content]);
            self.know(at, at + 1 + len, 5);
            return;
        }
        let (header, len) = [(0x13, 5), (0x1F, 9), (0x20, 6), (0x28, 10)][self.choices.below(4)];
        self.bytes.push(header);
        self.bytes.resize(at + len, 0);
        self.know(at, at + len, header >> 4);
        self.pad();
    }

    /// A pointer that others may point to.
    fn pointer_value(&mut self) {
        let at = self.bytes.len();
        let Some(target) = self.choose(at, at, None) else { return };
        self.pointer_to(target.at, 4);
        self.know(at, at + 4, target.tag);
    }

    /// Dicts of which each is the parent of the next.
    fn parents(&mut self) {
        let count =
            if self.chance(20) { 60 + self.choices.below(10) } else { self.choices.below(5) };
        for i in 0..count {
            let at = self.bytes.len();
            self.bytes.extend([0x70, 0x01]);
            if i == 0 {
                self.bytes.extend([0, 1, 0, 2]);
            } else {
                self.bytes.extend([0x08, 0x00]);
                self.pointer_to(at - 6, 2);
            }
            self.know(at, at + 6, 7);
        }
    }

    /// Arrays of which each holds the one before.
    fn nest(&mut self) {
        for i in 0..self.choices.below(12) {
            let at = self.bytes.len();
            self.bytes.extend([0x60, 0x01]);
            if i == 0 {
                self.bytes.extend([0x30, 0x00]);
            } else {
                self.pointer_to(at - 4, 2);
            }
            self.know(at, at + 4, 6);
        }
    }

    fn collection(&mut self) {
        let (width, is_dict) = ([2, 4, 4][self.choices.below(3)], self.choices.below(3) == 0);
        let count_max = [8, 8, 40, 120][self.choices.below(4)];
        let count = 1 + self.choices.below(count_max);
        let slots = if is_dict { 2 * count } else { count };
        let at = self.bytes.len();
        let open = Open { at, end: at + 2 + slots * width, width };
        let tag = if is_dict { 7 } else { 6 };
        let header = tag << 12 | (count as u16) | if width == 4 { 0x0800 } else { 0 };
        let header = if self.slip() { header | 0x07FF } else { header };
        self.bytes.extend(header.to_be_bytes());
        for slot in 0..slots {
            self.slot(open, is_dict && slot % 2 == 0);
            if slot == 0 && is_dict && self.chance(12) {
                self.make_child(open);
            }
            self.bytes.resize(at + 2 + (slot + 1) * width, 0);
        }
        self.know(at, open.end, tag as u8);
    }

    /// Replaces the first key by that of a parent, and adds the parent.
    fn make_child(&mut self, open: Open) {
        let at = open.at + 2 + open.width;
        if let Some(parent) = self.choose(at, open.at, Some(7)) {
            self.bytes.truncate(open.at + 2);
            self.bytes.extend(&[0x08, 0, 0, 0][..open.width]);
            self.pointer_to(parent.at, open.width);
        }
    }

    fn slot(&mut self, open: Open, is_key: bool) {
        let at = self.bytes.len();
        if at >= open.at + 2 + open.width && self.bytes.len() >= open.end {
            return;
        }
        if self.slip() {
            let word = [self.byte(), self.byte()];
            return self.bytes.extend(word);
        }
        match self.choices.below(if open.width == 4 { 12 } else { 8 }) {
            0..=3 => {
                if let Some(target) = self.choose(at, open.at, is_key.then_some(4)) {
                    return self.pointer_to(target.at, open.width);
                }
                self.inline(open, is_key);
            }
            4..=9 => self.inline(open, is_key),
            _ if is_key => self.inline(open, is_key),
            _ => self.inline_array(open),
        }
    }

    /// An array of one item in a wide slot.
    fn inline_array(&mut self, open: Open) {
        let at = self.bytes.len();
        self.bytes.extend([0x60, 0x01]);
        match self.choose(at + 2, open.at, None) {
            Some(target) => self.pointer_to(target.at, 2),
            None => self.bytes.extend([0x30, 0x00]),
        }
        self.know(at, at + 4, 6);
    }

    /// A value of two bytes, and anything in the rest of a wide slot, which is not read.
    fn inline(&mut self, open: Open, is_key: bool) {
        let at = self.bytes.len();
        let words: [[u8; 2]; 11] = [
            *b"Aa",
            [0x40, 0],
            [0, 7],
            [7, 0xFF],
            [0x3C, 0],
            [0x30, 0],
            [0x34, 0],
            [0x50, 0],
            [0x51, 0xFF],
            [0x60, 0],
            [0x70, 0],
        ];
        let word = words[self.choices.below(if is_key { 4 } else { 11 })];
        self.bytes.extend(word);
        if self.chance(4) {
            self.know(at, at + 2, word[0] >> 4);
        }
        if open.width == 4 {
            match self.choices.below(4) {
                0 => self.hidden_header(open),
                1 | 2 => self.hidden_pointer(open),
                _ => self.bytes.extend([0, 5]),
            }
        }
    }

    /// The second half of a slot is the header of a collection whose slots are the next ones, or
    /// halves of them.
    fn hidden_header(&mut self, open: Open) {
        let at = self.bytes.len();
        let (tag, width) = [(6, 2), (6, 4), (6, 4), (7, 2), (7, 4)][self.choices.below(5)];
        let room = open.end.saturating_sub(at + 2) / width / if tag == 7 { 2 } else { 1 };
        let count = self.choices.below(room.min(4) + 1);
        let count = if count < room && self.slip() { room + 1 } else { count };
        let slots = if tag == 7 { 2 * count } else { count };
        self.bytes.extend([tag << 4 | if width == 4 { 8 } else { 0 }, count as u8]);
        self.know(at, at + 2 + slots * width, tag);
    }

    /// The second half of a slot is a pointer, for a collection whose slots are halves.
    fn hidden_pointer(&mut self, open: Open) {
        match self.choose(self.bytes.len(), open.at, None) {
            Some(target) => self.pointer_to(target.at, 2),
            None => self.bytes.extend([0, 5]),
        }
    }

    /// A value that ends before `at`: one of the last, or one within the collection at `open`, or
    /// any.
    fn choose(&mut self, at: usize, open: usize, tag: Option<u8>) -> Option<Known> {
        if self.slip() {
            let target = 2 * self.choices.below(at / 2 + 1);
            return Some(Known { at: target, end: target, tag: 6 });
        }
        let way = self.choices.below(3);
        let inner = self.known.iter().rev().take_while(|known| known.at >= open).count();
        let among = [8, inner, usize::MAX][way].min(self.known.len());
        if among == 0 {
            return None;
        }
        for _ in 0..8 {
            let known = self.known[self.known.len() - 1 - self.choices.below(among)];
            if known.end <= at && tag.is_none_or(|tag| tag == known.tag) {
                return Some(known);
            }
        }
        None
    }

    /// Adds a pointer of this width; an extern one if it leads into the base.
    pub(crate) fn pointer_to(&mut self, target: usize, width: usize) {
        let at = self.bytes.len();
        let distance = at.wrapping_sub(target) / 2;
        let external = u32::from(target < self.start && at >= self.start);
        if width == 4 {
            let word = 1 << 31 | external << 30 | distance as u32 & 0x3FFF_FFFF;
            self.bytes.extend(word.to_be_bytes());
        } else {
            let word = 1 << 15 | external << 14 | distance as u32 & 0x3FFF;
            self.bytes.extend((word as u16).to_be_bytes());
        }
    }
}
