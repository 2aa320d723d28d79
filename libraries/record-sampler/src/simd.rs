//! Five hot loops, compiled for the processor at hand: with vectors of 32 bytes if it supports
//! them. Their results are the same to the last bit. Only hot code belongs here.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "calls code for detected features of the processor")
)]

use crate::random::{exp, ln};

/// The number of roots that are computed at once.
pub(crate) const LANES: usize = 8;

/// The k-th root of each number of (0, 1], with k = `most` for the first, one less for the next,
/// and so on.
#[inline]
pub(crate) fn roots(units: &[f64; LANES], most: u64) -> [f64; LANES] {
    #[cfg(target_arch = "x86_64")]
    if x86::is_wide() {
        // SAFETY: the processor has the features it is compiled for.
        return unsafe { x86::roots(units, most) };
    }
    any_roots(units, most)
}

/// The number of line feeds.
#[inline]
pub(crate) fn count_lines(bytes: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if x86::is_wide() {
        // SAFETY: the processor has the features it is compiled for.
        return unsafe { x86::count_lines(bytes) };
    }
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Whether each line feed of these bytes of CSV ends a record: there is no quote, and no line feed
/// before another line end.
#[inline]
pub(crate) fn plain_lines(bytes: &[u8]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if x86::is_wide() {
        // SAFETY: the processor has the features it is compiled for.
        return unsafe { x86::plain_lines(bytes) };
    }
    any_plain_lines(bytes)
}

/// Whether a line begins with white space, and so may be blank. `previous` is the byte before
/// these.
#[inline]
pub(crate) fn may_have_blank_line(bytes: &[u8], previous: u8) -> bool {
    if previous == b'\n' && bytes.first().is_some_and(|byte| *byte <= b' ') {
        return true;
    }
    #[cfg(target_arch = "x86_64")]
    if x86::is_wide() {
        // SAFETY: the processor has the features it is compiled for.
        return unsafe { x86::has_indented_line(bytes) };
    }
    any_has_indented_line(bytes)
}

/// Skips at most `limit` line feeds; returns how many, and their bytes.
#[inline]
pub(crate) fn pass_lines(bytes: &[u8], limit: u64) -> (u64, usize) {
    if limit == 0 {
        return (0, 0);
    }
    #[cfg(target_arch = "x86_64")]
    if x86::is_wide() {
        // SAFETY: the processor has the features it is compiled for.
        return unsafe { x86::pass_lines(bytes, limit) };
    }
    any_pass_lines(bytes, limit)
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "it is compiled for the vectors of its caller")]
fn any_roots(units: &[f64; LANES], most: u64) -> [f64; LANES] {
    let most = most as f64;
    let mut lane = -1.0;
    units.map(|unit| {
        lane += 1.0;
        exp(ln(unit) / (most - lane))
    })
}

/// Without a branch for each byte, so that several are examined at once.
#[inline(always)]
fn any_plain_lines(bytes: &[u8]) -> bool {
    const AT_ONCE: usize = 4096;
    let Some((_, following)) = bytes.split_first() else { return true };
    let pairs = bytes.chunks(AT_ONCE).zip(following.chunks(AT_ONCE));
    let is_plain = pairs.into_iter().all(|(bytes, following)| {
        let odd = bytes.iter().zip(following).fold(0, |odd, (byte, next)| {
            let is_end = u8::from(*next == b'\n') | u8::from(*next == b'\r');
            odd | u8::from(*byte == b'"') | u8::from(*byte == b'\n') & is_end
        });
        odd == 0
    });
    is_plain && bytes.last() != Some(&b'"')
}

/// Whether white space or another control character follows a line feed.
#[inline(always)]
fn any_has_indented_line(bytes: &[u8]) -> bool {
    const AT_ONCE: usize = 4096;
    let Some((_, following)) = bytes.split_first() else { return false };
    bytes.chunks(AT_ONCE).zip(following.chunks(AT_ONCE)).any(|(bytes, following)| {
        let found = bytes.iter().zip(following).fold(0, |found, (byte, next)| {
            found | u8::from(*byte == b'\n') & u8::from(*next <= b' ')
        });
        found != 0
    })
}

fn any_pass_lines(bytes: &[u8], limit: u64) -> (u64, usize) {
    let (mut passed, mut end) = (0, bytes.len());
    for at in memchr::memchr_iter(b'\n', bytes) {
        passed += 1;
        if passed == limit {
            end = at + 1;
            break;
        }
    }
    (passed, end)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_movemask_epi8, _mm256_set_epi64x, _mm256_set1_epi8,
    };

    use super::LANES;

    #[inline]
    pub(super) fn is_wide() -> bool {
        std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("popcnt")
    }

    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub(super) fn roots(units: &[f64; LANES], most: u64) -> [f64; LANES] {
        super::any_roots(units, most)
    }

    /// Each byte of a vector counts its own line feeds, up to the capacity of a byte.
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub(super) fn count_lines(bytes: &[u8]) -> u64 {
        const WIDTH: usize = 128;
        let mut sum = 0;
        for part in bytes.chunks(WIDTH * 255) {
            let (rows, rest) = part.as_chunks::<WIDTH>();
            let mut counts = [0u8; WIDTH];
            for row in rows {
                for (count, byte) in counts.iter_mut().zip(row) {
                    *count += u8::from(*byte == b'\n');
                }
            }
            sum += counts.iter().map(|count| u64::from(*count)).sum::<u64>();
            sum += rest.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
        }
        sum
    }

    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub(super) fn plain_lines(bytes: &[u8]) -> bool {
        super::any_plain_lines(bytes)
    }

    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub(super) fn has_indented_line(bytes: &[u8]) -> bool {
        super::any_has_indented_line(bytes)
    }

    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub(super) fn pass_lines(bytes: &[u8], limit: u64) -> (u64, usize) {
        let mut passed = 0;
        let (blocks, rest) = bytes.as_chunks::<64>();
        for (number, block) in blocks.iter().enumerate() {
            let (low, high) = block.split_at(32);
            let mut found = line_feeds(low) | line_feeds(high) << 32;
            let count = u64::from(found.count_ones());
            if passed + count >= limit {
                for _ in 1..limit - passed {
                    found &= found - 1;
                }
                return (limit, 64 * number + found.trailing_zeros() as usize + 1);
            }
            passed += count;
        }
        let (more, end) = super::any_pass_lines(rest, limit - passed);
        (passed + more, bytes.len() - rest.len() + end)
    }

    /// A bit for each of 32 bytes.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn line_feeds(bytes: &[u8]) -> u64 {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |at: usize| i64::from_le_bytes(words[at]);
        let vector: __m256i = _mm256_set_epi64x(word(3), word(2), word(1), word(0));
        let equal = _mm256_cmpeq_epi8(vector, _mm256_set1_epi8(b'\n' as i8));
        u64::from(_mm256_movemask_epi8(equal) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn roots_are_the_same_on_every_processor() {
        let mut rng = Rng::new(5);
        for most in [8, 9, 1000, 123_456_789, 1 << 40] {
            for _ in 0..10_000 {
                let units = [0; LANES].map(|_| rng.unit());
                let expected = std::array::from_fn::<u64, LANES, _>(|lane| {
                    exp(ln(units[lane]) / (most - lane as u64) as f64).to_bits()
                });
                assert_eq!(roots(&units, most).map(f64::to_bits), expected);
                assert_eq!(any_roots(&units, most).map(f64::to_bits), expected);
            }
        }
        assert_eq!(roots(&[1.0; LANES], 8).map(f64::to_bits), [1f64.to_bits(); LANES]);
    }

    #[test]
    fn a_quote_or_an_empty_line_is_found_wherever_it_is() {
        let line = |i: usize| if i % 17 == 16 { b'\n' } else { b'a' + (i % 16) as u8 };
        for len in [0, 1, 2, 16, 17, 63, 64, 65, 4095, 4096, 4097, 9000] {
            let bytes: Vec<u8> = (0..len).map(line).collect();
            assert!(plain_lines(&bytes) && any_plain_lines(&bytes), "{len}");
            for at in (0..len).filter(|at| len < 100 || [0, 1, 4094].contains(&(at % 4096))) {
                let mut odd = bytes.clone();
                odd[at] = b'"';
                assert!(!plain_lines(&odd) && !any_plain_lines(&odd), "{len} {at}");
                for end in [&b"\n\n"[..], b"\n\r"] {
                    let mut odd = bytes.clone();
                    if at + 2 <= len {
                        odd[at..at + 2].copy_from_slice(end);
                        assert!(!plain_lines(&odd) && !any_plain_lines(&odd), "{len} {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_line_that_may_be_blank_is_found_wherever_it_is() {
        let line = |i: usize| if i % 17 == 16 { b'\n' } else { b'a' + (i % 16) as u8 };
        for len in [0, 1, 2, 16, 17, 63, 64, 65, 4095, 4096, 4097, 9000] {
            let bytes: Vec<u8> = (0..len).map(line).collect();
            assert!(!may_have_blank_line(&bytes, b'\n') && !any_has_indented_line(&bytes), "{len}");
            for at in (0..len).filter(|at| len < 100 || [0, 1, 4095].contains(&(at % 4096))) {
                for space in [b' ', b'\t', b'\r', b'\n'] {
                    let mut odd = bytes.clone();
                    odd[at] = space;
                    let is_first = at.checked_sub(1).is_none_or(|before| odd[before] == b'\n');
                    // A line feed may also stand before another one.
                    let is_odd = is_first || odd[at] == b'\n' && odd.get(at + 1) == Some(&b'\n');
                    assert_eq!(may_have_blank_line(&odd, b'\n'), is_odd, "{len} {at}");
                }
            }
        }
        assert!(!may_have_blank_line(b" a", b'a'));
    }

    #[test]
    fn lines_are_counted_and_passed_over_alike() {
        let mut rng = Rng::new(6);
        for len in (0..300).chain([40_000, 70_001]) {
            for share in [1, 2, 7, 300] {
                let bytes: Vec<u8> = (0..len)
                    .map(|_| if rng.below(share) == 0 { b'\n' } else { rng.next_u64() as u8 })
                    .collect();
                let ends: Vec<usize> =
                    (1..=bytes.len()).filter(|end| bytes[end - 1] == b'\n').collect();
                let n = ends.len() as u64;
                assert_eq!(count_lines(&bytes), n, "{len} {share}");
                assert_eq!(any_pass_lines(&bytes, n + 1), (n, bytes.len()));
                for limit in [0, 1, 2, n / 2, n.saturating_sub(1), n, n + 1, u64::MAX] {
                    let end = match limit {
                        0 => 0,
                        limit if limit > n => bytes.len(),
                        limit => ends[limit as usize - 1],
                    };
                    assert_eq!(pass_lines(&bytes, limit), (limit.min(n), end), "{len} {limit}");
                }
            }
        }
    }
}
