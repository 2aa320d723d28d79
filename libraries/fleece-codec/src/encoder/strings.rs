//! Short strings as numbers, and the table of the positions where they were last written.

use crate::wire::NARROW_MAX_BYTES;
use alloc::vec;
use alloc::vec::Vec;

/// Strings of 2 to this many bytes are written once.
pub(crate) const SHARED_LEN_MAX: usize = 15;
/// The greatest distance to a string that is shared: the reach of a narrow pointer, less the
/// original's estimate of the open collection's size.
pub(crate) const SHARED_DISTANCE_MAX: usize = NARROW_MAX_BYTES - 32;

/// A string of at most 15 bytes as a number: its bytes from the lowest byte on, its length in the
/// highest.
///
/// Numbers of different strings differ; byte-swapped, they compare as the strings do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packed(pub(crate) u128);

impl Packed {
    /// Packs the first 15 bytes. The length of a longer string is stored as 16.
    #[inline]
    pub(crate) fn new(string: &[u8]) -> Self {
        let len = string.len();
        if len > SHARED_LEN_MAX {
            return Self::long(string);
        }
        let (low, high) =
            if let (Some(front), Some(back)) = (string.first_chunk(), string.last_chunk()) {
                let (front, back) = (u64::from_le_bytes(*front), u64::from_le_bytes(*back));
                // The last eight bytes overlap the first ones, by as many as are missing to 16.
                (front, back.checked_shr((16 - len as u32) * 8).unwrap_or(0))
            } else {
                (pack_7(string), 0)
            };
        Self(u128::from(low) | u128::from(high) << 64 | (len as u128) << 120)
    }

    #[cold]
    fn long(string: &[u8]) -> Self {
        let head = Self::new(&string[..SHARED_LEN_MAX]);
        Self(head.0 & (u128::MAX >> 8) | 16 << 120)
    }

    /// A key that sorts as the strings do; it is equal for long strings with the same first 15
    /// bytes.
    #[inline]
    pub(crate) fn sort_key(self) -> u128 {
        self.0.swap_bytes()
    }

    /// A string of at most 14 bytes as the format stores it, with its header, padded with zeros.
    #[inline]
    pub(crate) fn stored(self) -> [u8; 16] {
        let len = (self.0 >> 120) as u8;
        (self.0 << 8 | u128::from(0x40 | len)).to_le_bytes()
    }

    #[inline]
    pub(crate) fn hash(self, seed: u64) -> u64 {
        // The folded multiplication of wyhash.
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let product = u128::from(low ^ seed) * u128::from(high ^ 0xA076_1D64_78BD_642F);
        (product as u64) ^ (product >> 64) as u64
    }
}

/// Packs at most seven bytes.
#[inline]
fn pack_7(string: &[u8]) -> u64 {
    let len = string.len() as u32;
    if let (Some(front), Some(back)) = (string.first_chunk::<4>(), string.last_chunk::<4>()) {
        let (front, back) = (u32::from_le_bytes(*front), u32::from_le_bytes(*back));
        u64::from(front) | u64::from(back) << ((len - 4) * 8)
    } else if let (Some(front), Some(back)) = (string.first_chunk::<2>(), string.last_chunk::<2>())
    {
        let (front, back) = (u16::from_le_bytes(*front), u16::from_le_bytes(*back));
        u64::from(front) | u64::from(back) << ((len - 2) * 8)
    } else {
        string.first().map_or(0, |&byte| u64::from(byte))
    }
}

/// A hash table of the positions where short strings were last written.
pub(crate) struct StringTable {
    entries: Vec<StringEntry>,
    used: usize,
    seed: u64,
    /// The number of the document, from 1 on.
    document: u32,
    /// The number of documents in a row that used little of the table.
    sparse_documents: u32,
}

#[derive(Clone, Copy)]
struct StringEntry {
    packed: [u64; 2],
    at: u32,
    /// The document of the string. Entries of earlier documents are free, so that clearing touches
    /// no entry.
    document: u32,
}

const FREE: StringEntry = StringEntry { packed: [0; 2], at: NOWHERE, document: 0 };
/// The position of a string that was not written yet.
pub(crate) const NOWHERE: u32 = u32::MAX;
/// The entries for the first strings. An amendment and a small document have few strings, and so
/// much memory is allocated and freed faster than a few KiB.
const FIRST_CAPACITY: usize = 16;
/// After this many documents in a row that used less than one of `SPARSE_ENTRIES` entries, a new
/// table is made: a large one is slow, because its used entries are far apart.
const SPARSE_DOCUMENTS_MAX: u32 = 8;
const SPARSE_ENTRIES: usize = 64;

impl StringTable {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), used: 0, seed: random(), document: 1, sparse_documents: 0 }
    }

    /// The position of the string with this hash, or `NOWHERE` if it is new. The caller sets it to
    /// the new position.
    #[inline]
    pub(crate) fn place(&mut self, string: Packed, hash: u64) -> &mut u32 {
        if self.used * 2 >= self.entries.len() {
            self.grow();
        }
        let packed = [string.0 as u64, (string.0 >> 64) as u64];
        let mask = self.entries.len() - 1;
        let mut index = hash as usize & mask;
        loop {
            let found = &mut self.entries[index];
            if found.document != self.document {
                *found = StringEntry { packed, at: NOWHERE, document: self.document };
                self.used += 1;
                break;
            }
            if found.packed == packed {
                break;
            }
            index = (index + 1) & mask;
        }
        &mut self.entries[index].at
    }

    #[inline]
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn clear(&mut self) {
        if self.used == 0 {
            return;
        }
        let is_sparse =
            self.entries.len() > FIRST_CAPACITY && self.used * SPARSE_ENTRIES < self.entries.len();
        self.sparse_documents = if is_sparse { self.sparse_documents + 1 } else { 0 };
        self.used = 0;
        self.document = self.document.wrapping_add(1);
        if self.sparse_documents == SPARSE_DOCUMENTS_MAX || self.document == 0 {
            (self.entries, self.sparse_documents, self.document) = (Vec::new(), 0, 1);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (self.entries.len() * 4).max(FIRST_CAPACITY);
        let old = core::mem::replace(&mut self.entries, vec![FREE; capacity]);
        for entry in old.into_iter().filter(|entry| entry.document == self.document) {
            let string = Packed(u128::from(entry.packed[0]) | u128::from(entry.packed[1]) << 64);
            let mut index = string.hash(self.seed) as usize & (capacity - 1);
            while self.entries[index].document != 0 {
                index = (index + 1) & (capacity - 1);
            }
            self.entries[index] = entry;
        }
    }
}

/// A random seed, so that no input can be made whose strings all collide.
#[cfg(feature = "std")]
pub(crate) fn random() -> u64 {
    use core::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// Without `std` there is no source of randomness.
#[cfg(not(feature = "std"))]
pub(crate) fn random() -> u64 {
    0xE703_7ED1_A0B4_28DB
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_strings_sort_as_their_bytes() {
        let mut words: Vec<Vec<u8>> =
            vec![vec![], b"a".to_vec(), b"a\0".to_vec(), b"a\0\0".to_vec()];
        for len in 1..=15 {
            words.push((1..=len).collect());
            words.push((1..=len).rev().collect());
            words.push(vec![0xFF; usize::from(len)]);
        }
        for a in &words {
            let stored = Packed::new(a).stored();
            assert_eq!(stored[0], 0x40 | a.len() as u8);
            assert_eq!(&stored[1..=a.len()], &a[..]);
            assert!(stored[1 + a.len()..].iter().all(|&byte| byte == 0));
            assert_eq!(&Packed::new(a).0.to_le_bytes()[..a.len()], &a[..]);
            for b in &words {
                let order = Packed::new(a).sort_key().cmp(&Packed::new(b).sort_key());
                assert_eq!(order, a.cmp(b), "{a:?} {b:?}");
            }
        }
    }

    /// Places this many strings, and ends the document.
    fn document(table: &mut StringTable, strings: usize) {
        for i in 0..strings {
            let name = Packed::new(alloc::format!("name {i}").as_bytes());
            let place = table.place(name, name.hash(table.seed));
            assert_eq!(*place, NOWHERE, "a string of an earlier document");
            *place = i as u32;
        }
        table.clear();
    }

    #[test]
    fn a_document_does_not_pay_for_a_larger_one_before_it() {
        let mut table = StringTable::new();
        document(&mut table, 100_000);
        let left = table.entries.iter().filter(|entry| entry.packed != [0; 2]).count();
        assert_eq!(left, 100_000, "no entry is touched to clear the table");
        for _ in 0..20 {
            document(&mut table, 3);
        }
        assert!(table.entries.len() <= 4 * FIRST_CAPACITY, "{} entries", table.entries.len());
    }

    #[test]
    fn a_table_finds_what_was_placed() {
        let mut table = StringTable::new();
        let name = |i: u32| Packed::new(alloc::format!("name {i}").as_bytes());
        for i in 0..10_000 {
            let place = table.place(name(i), name(i).hash(table.seed));
            *place = i;
        }
        for i in 0..10_000 {
            assert_eq!(*table.place(name(i), name(i).hash(table.seed)), i);
        }
    }
}
