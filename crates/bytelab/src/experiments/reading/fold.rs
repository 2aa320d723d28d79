//! How the bytes are consumed: a `Fold` takes them one by one or in chunks, always in the order of
//! the file. `Sum` is the timed one, with the lowest cost that memory allows.

/// Every method is generic over this, so that the timed pass and the digest run the same code.
pub(super) trait Fold: Send {
    /// A fold of the bytes from this offset of the file, which is a multiple of [`ALIGN`].
    fn at(offset: u64) -> Self;

    fn chunk(&mut self, bytes: &[u8]);

    fn byte(&mut self, byte: u8);

    /// Adds the result of a fold of another part of the same file.
    fn merge(&mut self, other: Self);

    fn result(self) -> u64;
}

/// A file may be split at multiples of this into parts that are folded separately.
pub(super) const ALIGN: u64 = 4096;

/// The sum of all bytes.
pub(super) struct Sum(u64);

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
