//! How the bytes are consumed: a `Fold` takes them one by one or in chunks, always in the order of
//! the file. `Sum` is the timed one, with the lowest cost that memory allows; `Digest` is untimed.
//! This file is also a part of `workers/rust/awaiting` and of `workers/rust/http`.

/// Every method is generic over this, so that the timed pass and the digest run the same code.
pub(crate) trait Fold: Send {
    /// A fold of the bytes from this offset of the file, which is a multiple of [`ALIGN`].
    fn at(offset: u64) -> Self;

    fn chunk(&mut self, bytes: &[u8]);

    fn byte(&mut self, byte: u8);

    /// Adds the result of a fold of another part of the same file.
    fn merge(&mut self, other: Self);

    fn result(self) -> u64;
}

/// A file may be split at multiples of this into parts that are folded separately.
pub(crate) const ALIGN: u64 = 4096;

/// The sum of all bytes.
pub(crate) struct Sum(u64);

impl Fold for Sum {
    fn at(_offset: u64) -> Sum {
        Sum(0)
    }

    #[inline]
    fn chunk(&mut self, bytes: &[u8]) {
        self.0 = self.0.wrapping_add(sum(bytes));
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.0 = self.0.wrapping_add(u64::from(byte));
    }

    fn merge(&mut self, other: Sum) {
        self.0 = self.0.wrapping_add(other.0);
    }

    fn result(self) -> u64 {
        self.0
    }
}

#[cfg(target_arch = "x86_64")]
fn sum(bytes: &[u8]) -> u64 {
    avx2::sum(bytes).unwrap_or_else(|| portable_sum(bytes))
}

#[cfg(not(target_arch = "x86_64"))]
fn sum(bytes: &[u8]) -> u64 {
    portable_sum(bytes)
}

/// Adds in 64 lanes of 16 bits, which compilers turn into vectors. A lane holds the sum of 256
/// bytes.
fn portable_sum(bytes: &[u8]) -> u64 {
    const LANES: usize = 64;
    let mut total = 0;
    for part in bytes.chunks(256 * LANES) {
        let mut lanes = [0u16; LANES];
        let (rows, rest) = part.as_chunks::<LANES>();
        for row in rows {
            for (lane, byte) in lanes.iter_mut().zip(row) {
                *lane += u16::from(*byte);
            }
        }
        total += lanes.iter().map(|lane| u64::from(*lane)).sum::<u64>();
        total += rest.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    }
    total
}

/// 2.4 times as fast as the portable sum for data in the L2 cache, which contains a reused buffer.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    #![expect(unsafe_code, reason = "code for a processor that has AVX2")]

    use std::arch::x86_64::{
        __m256i, _mm256_add_epi64, _mm256_extract_epi64, _mm256_sad_epu8, _mm256_setr_epi64x,
        _mm256_setzero_si256,
    };

    /// `None` if the processor does not have AVX2.
    pub(super) fn sum(bytes: &[u8]) -> Option<u64> {
        is_x86_feature_detected!("avx2").then(|| {
            // SAFETY: the processor has AVX2.
            unsafe { vector_sum(bytes) }
        })
    }

    #[target_feature(enable = "avx2")]
    fn vector_sum(bytes: &[u8]) -> u64 {
        let zero = _mm256_setzero_si256();
        // One sum would be a chain of dependent additions; four keep the load units busy.
        let mut sums = [zero; 4];
        let (rows, rest) = bytes.as_chunks::<128>();
        for row in rows {
            for (sum, vector) in sums.iter_mut().zip(row.as_chunks::<32>().0) {
                *sum = _mm256_add_epi64(*sum, _mm256_sad_epu8(load(vector), zero));
            }
        }
        let half = [_mm256_add_epi64(sums[0], sums[1]), _mm256_add_epi64(sums[2], sums[3])];
        let all = _mm256_add_epi64(half[0], half[1]);
        let lanes = [
            _mm256_extract_epi64::<0>(all),
            _mm256_extract_epi64::<1>(all),
            _mm256_extract_epi64::<2>(all),
            _mm256_extract_epi64::<3>(all),
        ];
        let total = lanes.iter().fold(0, |total: u64, lane| total.wrapping_add(*lane as u64));
        total + rest.iter().map(|byte| u64::from(*byte)).sum::<u64>()
    }

    /// Compiles to one unaligned load.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(bytes: &[u8; 32]) -> __m256i {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |i: usize| i64::from_le_bytes(words[i]);
        _mm256_setr_epi64x(word(0), word(1), word(2), word(3))
    }
}

/// The untimed fold that detects every error: each 8 bytes are mixed with their position in the
/// file, so that a byte that is skipped, repeated or out of order changes the result. Parts of a
/// file can be digested separately, since the contributions of their words are added.
pub(crate) struct Digest {
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
pub(crate) fn combined(digests: impl IntoIterator<Item = u64>) -> u64 {
    digests.into_iter().fold(0, |all, digest| mix(all).wrapping_add(digest))
}

fn contribution(place: u64, word: u64) -> u64 {
    mix(word ^ mix(place))
}

/// The finisher of `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, 2014).
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_largest_bytes_overflow_no_lane() {
        let bytes = vec![255; 3 * 256 * 64 + 77];
        assert_eq!(sum(&bytes), 255 * bytes.len() as u64);
        assert_eq!(portable_sum(&bytes), 255 * bytes.len() as u64);
    }

    proptest! {
        #[test]
        fn every_way_to_sum_agrees(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let expected: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
            let mut by_byte = Sum::at(0);
            for byte in &bytes {
                by_byte.byte(*byte);
            }
            prop_assert_eq!(sum(&bytes), expected);
            prop_assert_eq!(portable_sum(&bytes), expected);
            prop_assert_eq!(by_byte.result(), expected);
        }
    }
}

#[cfg(test)]
mod digest_tests {
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
