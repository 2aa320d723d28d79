//! The bytes of the format: tags, lengths, pointers. Nothing here trusts its input.

use crate::check::proof::Proof;
use crate::shared_keys::SharedKeys;
use crate::value::Value;
use alloc::boxed::Box;
use alloc::sync::Arc;

/// The top four bits of a value's first byte. `10` and above are pointers.
pub(crate) mod tag {
    pub(crate) const SHORT_INT: u8 = 0;
    pub(crate) const LONG_INT: u8 = 1;
    pub(crate) const FLOAT: u8 = 2;
    pub(crate) const SPECIAL: u8 = 3;
    pub(crate) const STRING: u8 = 4;
    pub(crate) const DATA: u8 = 5;
    pub(crate) const ARRAY: u8 = 6;
    pub(crate) const DICT: u8 = 7;
}

pub(crate) const NULL: u16 = 0x3000;
pub(crate) const FALSE: u16 = 0x3400;
pub(crate) const TRUE: u16 = 0x3800;
pub(crate) const UNDEFINED: u16 = 0x3C00;
/// The short int -2048, which as the first key of a dict marks its parent.
pub(crate) const PARENT_KEY: u16 = 0x0800;
/// The longest distance that a two-byte pointer spans, in bytes.
pub(crate) const NARROW_MAX_BYTES: usize = 32_766;
/// Counts from here on do not fit the 11 bits of the header.
pub(crate) const LONG_COUNT: usize = 2047;

/// The data that a document needs beside its bytes.
#[derive(Default)]
pub(crate) struct Context {
    pub(crate) keys: Option<Arc<SharedKeys>>,
    /// The document that extern pointers lead into.
    pub(crate) base: Option<Arc<Base>>,
    /// The proof for the strings that slots lead to from the root.
    pub(crate) proof: Proof,
    /// The context of values that were not reached by slots, if there is a proof and that context
    /// has keys.
    pub(crate) unproved: Option<Box<Context>>,
}

pub(crate) struct Base {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) context: Context,
}

/// The bytes that offsets refer to, with their context. The proof is in the context, so that a
/// value is four words.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) context: Option<&'a Context>,
}

/// The `N` bytes from `at` on.
#[inline(always)]
pub(crate) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    // Documents are shorter than 4 GiB. With the offset cut to 32 bits, one comparison covers
    // start, end and overflow.
    let at = at as u32 as usize;
    bytes.get(at..at.wrapping_add(N))?.first_chunk()
}

#[inline(always)]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    chunk(bytes, at).map(|pair| u16::from_be_bytes(*pair))
}

#[inline(always)]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    chunk(bytes, at).map(|four| u32::from_be_bytes(*four))
}

/// Reads an unsigned LEB128 number of at most 10 bytes that fits 32 bits; also returns its end.
pub(crate) fn varint(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let mut value = 0_u64;
    for (i, &byte) in bytes.get(at..)?.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7F);
        if i < 5 {
            value |= bits << (7 * i);
        } else if bits != 0 {
            return None;
        }
        if byte < 0x80 {
            return u32::try_from(value).ok().map(|value| (value as usize, at + i + 1));
        }
    }
    None
}

/// The target of a slot: an offset in the same bytes, one in those of the base, or none. It is one
/// number, so that it stays in a register.
#[derive(Clone, Copy)]
struct SlotTarget(usize);

impl SlotTarget {
    const NOWHERE: Self = Self(usize::MAX);
    const IN_BASE: usize = 1 << (usize::BITS - 1);
}

impl<'a> Source<'a> {
    /// Bytes without a context, and so without a proof.
    #[inline(always)]
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, context: None }
    }

    /// The table of shared keys.
    #[inline(always)]
    pub(crate) fn keys(self) -> Option<&'a SharedKeys> {
        self.context?.keys.as_deref()
    }

    /// The same source for values that may not be reached by slots from the root.
    pub(crate) fn unproved(self) -> Self {
        let is_proved = |context: &Context| context.proof != Proof::NONE;
        let context = match self.context {
            Some(context) if is_proved(context) => context.unproved.as_deref(),
            context => context,
        };
        Self { context, ..self }
    }

    /// The size of the data and of its base.
    pub(crate) fn size_bytes(self) -> usize {
        let base = self.context.and_then(|context| context.base.as_ref());
        self.bytes.len() + base.map_or(0, |base| base.bytes.len())
    }

    /// The value that the two-byte slot at `at` holds or points to.
    #[inline(always)]
    pub(crate) fn narrow(self, at: usize) -> Option<Value<'a>> {
        self.narrow_word(at, u16_at(self.bytes, at)?)
    }

    /// Like [`narrow`](Self::narrow), for a slot that holds `word`.
    #[inline(always)]
    pub(crate) fn narrow_word(self, at: usize, word: u16) -> Option<Value<'a>> {
        match narrow_target(self.bytes, at, word) {
            Some(target) => Some(Value { source: self, at: target }),
            None => self.value_at(narrow_rare(self.bytes, self.context, at, word)),
        }
    }

    /// The value that the four-byte slot at `at` holds or points to.
    #[inline(always)]
    pub(crate) fn wide(self, at: usize) -> Option<Value<'a>> {
        let word = u32_at(self.bytes, at)?;
        match wide_target(self.bytes, at, word) {
            Some(target) => Some(Value { source: self, at: target }),
            None => self.value_at(wide_rare(self.bytes, self.context, at, word)),
        }
    }

    #[inline(always)]
    fn value_at(self, SlotTarget(at): SlotTarget) -> Option<Value<'a>> {
        if at & SlotTarget::IN_BASE == 0 {
            return Some(Value { source: self, at });
        }
        if at == SlotTarget::NOWHERE.0 {
            return None;
        }
        let source = self.base()?;
        Some(Value { source, at: at & !SlotTarget::IN_BASE })
    }

    #[inline(always)]
    fn base(self) -> Option<Self> {
        let base = self.context?.base.as_deref()?;
        Some(Source { bytes: &base.bytes, context: Some(&base.context) })
    }

    fn chain(self, at: usize, distance: usize) -> Option<usize> {
        self.follow(at.checked_sub(distance).filter(|&target| target != at)?)
    }

    /// The offset of the value at `at`, or of the one behind the wide pointers there.
    fn follow(self, mut at: usize) -> Option<usize> {
        loop {
            if self.bytes.get(at)? & 0x80 == 0 {
                return Some(at);
            }
            let word = u32_at(self.bytes, at)?;
            let distance = (word & 0x3FFF_FFFF) as usize * 2;
            if word & 0x4000_0000 != 0 {
                return self.in_base(at, distance);
            }
            at = at.checked_sub(distance).filter(|&target| target != at)?;
        }
    }

    /// Follows an extern pointer: the base is stored directly before this data. A base has
    /// no base itself.
    fn in_base(self, at: usize, distance: usize) -> Option<usize> {
        let base = self.base()?;
        let target = base.bytes.len().checked_sub(distance.checked_sub(at)?)?;
        Some(base.follow(target)? | SlotTarget::IN_BASE)
    }
}

/// The target of a slot of two bytes that holds a value or a plain pointer to one.
#[inline(always)]
pub(crate) fn narrow_target(bytes: &[u8], at: usize, word: u16) -> Option<usize> {
    if word < 0x8000 {
        return Some(at);
    }
    if word >= 0xC000 {
        return None;
    }
    // The shift drops the top bit. Both a distance of zero and a target before the start leave the
    // range that `get` admits, or meet the set top bit of the pointer itself.
    let target = at.wrapping_sub(usize::from(word << 1));
    bytes.get(target).is_some_and(|first| first & 0x80 == 0).then_some(target)
}

/// Like [`narrow_target`], for four bytes.
#[inline(always)]
pub(crate) fn wide_target(bytes: &[u8], at: usize, word: u32) -> Option<usize> {
    if word < 0x8000_0000 {
        return Some(at);
    }
    if word >= 0xC000_0000 {
        return None;
    }
    let target = at.wrapping_sub((word << 1) as usize);
    bytes.get(target).is_some_and(|first| first & 0x80 == 0).then_some(target)
}

/// Follows extern and legacy pointers, pointers to pointers, and broken ones. Plain arguments and
/// results are passed in registers.
#[cold]
fn narrow_rare(bytes: &[u8], context: Option<&Context>, at: usize, word: u16) -> SlotTarget {
    let source = Source { bytes, context };
    let distance = usize::from(word & 0x3FFF) * 2;
    let target = if word & 0x4000 == 0 {
        source.chain(at, distance)
    } else {
        // Before 2018 there was no extern bit, and the distance had 15 bits.
        let legacy = || source.chain(at, usize::from(word & 0x7FFF) * 2);
        source.in_base(at, distance).or_else(legacy)
    };
    target.map_or(SlotTarget::NOWHERE, SlotTarget)
}

#[cold]
fn wide_rare(bytes: &[u8], context: Option<&Context>, at: usize, word: u32) -> SlotTarget {
    let source = Source { bytes, context };
    let distance = (word & 0x3FFF_FFFF) as usize * 2;
    let is_extern = word & 0x4000_0000 != 0;
    let target = if is_extern { source.in_base(at, distance) } else { source.chain(at, distance) };
    target.map_or(SlotTarget::NOWHERE, SlotTarget)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_end_after_ten_bytes_and_fit_32_bits() {
        assert_eq!(varint(&[0x82, 0], 0), Some((2, 2)));
        assert_eq!(varint(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F], 0), Some((u32::MAX as usize, 5)));
        assert_eq!(varint(&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F], 0), None);
        assert_eq!(varint(&[0x80; 9], 0), None);
        assert_eq!(varint(&[0x80; 20], 0), None);
    }
}
