//! The untimed fold that detects every error: each 8 bytes are mixed with their position in the
//! file, so that a byte that is skipped, repeated or out of order changes the result.

use super::fold::{ALIGN, Fold};

/// Parts of a file can be digested separately, since the contributions of their words are added.
pub(super) struct Digest {
    offset: u64,
    len: u64,
    /// The bytes since the last multiple of 8, with the first one in the lowest bits.
    word: u64,
    total: u64,
}

impl Fold for Digest {
    fn at(offset: u64) -> Digest {
        assert!(offset.is_multiple_of(ALIGN), "a part starts in the middle of a word");
        Digest { offset, len: 0, word: 0, total: 0 }
    }

    fn chunk(&mut self, bytes: &[u8]) {
        let to_whole_word = (self.offset.wrapping_neg() % 8) as usize;
        let (head, rest) = bytes.split_at(to_whole_word.min(bytes.len()));
        for byte in head {
            self.byte(*byte);
        }
        let (words, tail) = rest.as_chunks::<8>();
        for word in words {
            let place = self.offset / 8;
            self.total = self.total.wrapping_add(contribution(place, u64::from_le_bytes(*word)));
            self.offset += 8;
        }
        self.len += 8 * words.len() as u64;
        for byte in tail {
            self.byte(*byte);
        }
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.word |= u64::from(byte) << (8 * (self.offset % 8));
        self.offset += 1;
        self.len += 1;
        if self.offset.is_multiple_of(8) {
            let place = self.offset / 8 - 1;
            self.total = self.total.wrapping_add(contribution(place, self.word));
            self.word = 0;
        }
    }

    fn merge(&mut self, other: Digest) {
        self.len += other.len;
        self.total = self.total.wrapping_add(other.closed());
    }

    fn result(self) -> u64 {
        let len = self.len;
        mix(self.closed() ^ mix(len))
    }
}

impl Digest {
    /// The total including the last, incomplete word, which differs from one padded with zeros only
    /// by the length.
    fn closed(&self) -> u64 {
        if self.offset.is_multiple_of(8) {
            return self.total;
        }
        self.total.wrapping_add(contribution(self.offset / 8, self.word))
    }
}

/// One digest of several files; their order counts.
pub(super) fn combined(digests: impl IntoIterator<Item = u64>) -> u64 {
    digests.into_iter().fold(0, |all, digest| mix(all).wrapping_add(digest))
}

fn contribution(place: u64, word: u64) -> u64 {
    mix(word ^ mix(place))
}

/// The finisher of `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, 2014).
pub(super) fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, without stored offsets.
    fn defined(bytes: &[u8]) -> u64 {
        let mut total = 0u64;
        for (place, word) in bytes.chunks(8).enumerate() {
            let mut padded = [0; 8];
            padded[..word.len()].copy_from_slice(word);
            let word = u64::from_le_bytes(padded);
            total = total.wrapping_add(mix(word ^ mix(place as u64)));
        }
        mix(total ^ mix(bytes.len() as u64))
    }

    fn digest(chunks: &[&[u8]]) -> u64 {
        let mut digest = Digest::at(0);
        for chunk in chunks {
            digest.chunk(chunk);
        }
        digest.result()
    }

    #[test]
    fn mix_is_split_mix_64() {
        // The first output of the reference implementation for seed 1234567.
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
    }

    proptest! {
        #[test]
        fn the_cuts_between_chunks_do_not_count(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            cuts in prop::collection::vec(0usize..300, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            prop_assert_eq!(digest(&chunks), defined(&bytes));

            let mut mixed = Digest::at(0);
            for (i, chunk) in chunks.iter().enumerate() {
                if i % 2 == 0 {
                    mixed.chunk(chunk);
                } else {
                    for byte in *chunk {
                        mixed.byte(*byte);
                    }
                }
            }
            prop_assert_eq!(mixed.result(), defined(&bytes));
        }

        #[test]
        fn parts_folded_apart_give_the_whole(
            bytes in prop::collection::vec(any::<u8>(), 4096..3 * 4096),
            backwards in any::<bool>(),
        ) {
            let mut parts: Vec<Digest> = bytes
                .chunks(ALIGN as usize)
                .enumerate()
                .map(|(i, part)| {
                    let mut digest = Digest::at(i as u64 * ALIGN);
                    digest.chunk(part);
                    digest
                })
                .collect();
            if backwards {
                parts.reverse();
            }
            let mut all = Digest::at(0);
            for part in parts {
                all.merge(part);
            }
            prop_assert_eq!(all.result(), defined(&bytes));
        }

        #[test]
        fn a_byte_changed_skipped_doubled_or_swapped_is_seen(
            bytes in prop::collection::vec(any::<u8>(), 20..200),
            place in 0usize..19,
            other in any::<u8>(),
        ) {
            let mut changed = bytes.clone();
            changed[place] = other;
            let mut skipped = bytes.clone();
            skipped.remove(place);
            let mut doubled = bytes.clone();
            doubled.insert(place, bytes[place]);
            let mut swapped = bytes.clone();
            swapped.swap(place, place + 1);
            for cheat in [changed, skipped, doubled, swapped] {
                prop_assert_eq!(digest(&[&cheat]) == digest(&[&bytes]), cheat == bytes);
            }
        }

        #[test]
        fn zeros_count(n in 0usize..100) {
            prop_assert_ne!(digest(&[&vec![0; n]]), digest(&[&vec![0; n + 1]]));
        }
    }

    #[test]
    fn the_order_of_files_counts() {
        assert_ne!(combined([1, 2]), combined([2, 1]));
        assert_ne!(combined([0]), combined([0, 0]));
    }
}
