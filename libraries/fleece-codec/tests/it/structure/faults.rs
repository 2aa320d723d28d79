//! Documents that break one rule on purpose, as by chance most of them would be rare. The fuzzer
//! has this file, too.

use super::generator::{Choices, Layout};

/// A rule that is broken on purpose, at a place that the root leads to.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    OddLength,
    NoRoot,
    Nowhere,
    WrongSide,
    LateNumber,
    LatePayload,
    NotUtf8,
    LargeVarint,
    EndlessVarint,
    LateCollection,
    TooDeep,
    BadKey,
    NoParent,
    InnerParent,
    ManyParents,
}

impl Fault {
    pub(crate) const ALL: [Self; 15] = [
        Self::OddLength,
        Self::NoRoot,
        Self::Nowhere,
        Self::WrongSide,
        Self::LateNumber,
        Self::LatePayload,
        Self::NotUtf8,
        Self::LargeVarint,
        Self::EndlessVarint,
        Self::LateCollection,
        Self::TooDeep,
        Self::BadKey,
        Self::NoParent,
        Self::InnerParent,
        Self::ManyParents,
    ];
}

impl<C: Choices> Layout<'_, C> {
    /// The last collection, which is the root: it breaks a rule, at once or by what it leads to.
    pub(crate) fn broken_root(&mut self, fault: Fault, depth_limit: usize) {
        let inner = self.last();
        let value = match fault {
            Fault::LargeVarint => self.varint_value(&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F]),
            Fault::EndlessVarint => self.varint_value(&[0xFF; 12]),
            Fault::TooDeep => self.nested(depth_limit),
            Fault::ManyParents => self.child_of_many(),
            _ => inner,
        };
        let (at, count) = (self.bytes.len(), 1 + self.choices.below(4));
        let broken = self.choices.below(count);
        let is_dict = matches!(fault, Fault::BadKey | Fault::NoParent | Fault::InnerParent);
        let width = if matches!(fault, Fault::WrongSide) { 4 } else { 2 };
        let tag = if is_dict { 7 } else { 6 };
        let header = u16::from(tag) << 12 | if width == 4 { 0x0800 } else { 0 };
        self.bytes.extend((header | count as u16).to_be_bytes());
        for slot in 0..count {
            let is_broken = slot == if is_dict { 0 } else { broken };
            match (is_dict, is_broken) {
                (true, true) => self.broken_pair(fault),
                (true, false) => self.bytes.extend([0x41, b'a', 0, 5]),
                (false, true) => self.broken_slot(fault, value),
                (false, false) if self.chance(2) => self.pointer_to(inner, width),
                (false, false) => self.bytes.extend(&[0, 5, 0, 0][..width]),
            }
        }
        self.know(at, self.bytes.len(), tag);
    }

    fn broken_slot(&mut self, fault: Fault, value: usize) {
        let at = self.bytes.len();
        let low = self.choices.below(7) as u8;
        match fault {
            Fault::Nowhere if self.chance(2) => self.bytes.extend([0x80, 0x00]),
            Fault::Nowhere => self.bytes.extend([0xBF, 0xFF]),
            Fault::WrongSide => {
                let word = 0xC000_0000 | ((at - value) / 2) as u32;
                self.bytes.extend(word.to_be_bytes());
            }
            Fault::LateNumber => self.bytes.extend([[0x11, 0x28][usize::from(low & 1)] | low, 0]),
            Fault::LatePayload => self.bytes.extend([0x42 + low, b'a']),
            Fault::NotUtf8 => self.bytes.extend([0x41, 0x80 | low]),
            Fault::LateCollection => self.bytes.extend([0x60, 1 + low]),
            _ => self.pointer_to(value, 2),
        }
    }

    fn broken_pair(&mut self, fault: Fault) {
        let pair = match fault {
            Fault::InnerParent => [0x08, 0x00, 0x70, 0x00],
            Fault::NoParent => [0x08, 0x00, 0x30, 0x00],
            _ if self.chance(2) => [0x0F, 0xFF, 0x00, 0x05],
            _ => [0x30, 0x00, 0x00, 0x05],
        };
        self.bytes.extend(pair);
    }

    /// A string, data or an array with this length.
    fn varint_value(&mut self, varint: &[u8]) -> usize {
        let at = self.bytes.len();
        let header: &[u8] = [&[0x4F][..], &[0x5F], &[0x67, 0xFF]][self.choices.below(3)];
        self.bytes.extend(header);
        self.bytes.extend(varint);
        self.pad();
        at
    }

    /// Arrays of which each holds the one before.
    fn nested(&mut self, count: usize) -> usize {
        self.bytes.extend([0x60, 0x01, 0x30, 0x00]);
        for _ in 1..count {
            self.bytes.extend([0x60, 0x01, 0x80, 0x03]);
        }
        self.bytes.len() - 4
    }

    /// A dict with 64 parents.
    fn child_of_many(&mut self) -> usize {
        self.bytes.extend([0x70, 0x01, 0, 1, 0, 2]);
        for _ in 0..64 {
            self.bytes.extend([0x70, 0x01, 0x08, 0x00, 0x80, 0x05]);
        }
        self.bytes.len() - 6
    }
}
