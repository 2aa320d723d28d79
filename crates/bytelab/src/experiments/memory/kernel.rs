//! One pass over a set, as a loop. The elements of `-4th` have 4 bytes, so every 4th element is one
//! in each 16 bytes, and each line is still accessed.

use anyhow::Result;

pub(super) trait Kernel: Send + 'static {
    /// Copies need a second part of the same size.
    const TWO_PARTS: bool = false;
    /// One byte in this many is accessed.
    const ONE_OF: u64 = 1;

    /// Skips a kernel that this processor does not support.
    fn possible() -> Result<()> {
        Ok(())
    }

    fn pass(from: &mut [u32], to: &mut [u32]) -> u32;
}

/// The loop in two forms: for any processor, and for one with AVX2.
macro_rules! kernel {
    ($name:ident, $one_of:expr, |$set:ident| $body:expr) => {
        pub(super) struct $name;

        impl Kernel for $name {
            const ONE_OF: u64 = $one_of;

            #[cfg_attr(
                target_arch = "x86_64",
                expect(
                    unsafe_code,
                    reason = "a function for AVX2 may only be called where that is"
                )
            )]
            fn pass(from: &mut [u32], _: &mut [u32]) -> u32 {
                #[inline(always)]
                fn plain($set: &mut [u32]) -> u32 {
                    $body
                }

                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx2")]
                    fn with_avx2(set: &mut [u32]) -> u32 {
                        plain(set)
                    }
                    if is_x86_feature_detected!("avx2") {
                        // SAFETY: the processor has AVX2.
                        return unsafe { with_avx2(from) };
                    }
                }
                plain(from)
            }
        }
    };
}

kernel!(Read, 1, |set| set.iter().fold(0, |sum, element| sum.wrapping_add(*element)));
kernel!(ReadFourth, 4, |set| {
    set.as_chunks::<4>().0.iter().fold(0, |sum, four| sum.wrapping_add(four[0]))
});
kernel!(Write, 1, |set| {
    // Hidden from the compiler, which would otherwise call memset.
    let value = std::hint::black_box(0x0123_4567);
    for element in set.iter_mut() {
        *element = value;
    }
    value
});
kernel!(WriteFourth, 4, |set| {
    let value = std::hint::black_box(0x0123_4567);
    set.as_chunks_mut::<4>().0.iter_mut().for_each(|four| four[0] = value);
    value
});
kernel!(ReadWrite, 1, |set| {
    for element in set.iter_mut() {
        *element = element.wrapping_mul(2);
    }
    0
});
kernel!(ReadWriteFourth, 4, |set| {
    set.as_chunks_mut::<4>().0.iter_mut().for_each(|four| four[0] = four[0].wrapping_mul(2));
    0
});
kernel!(Fill, 1, |set| {
    set.fill(std::hint::black_box(0));
    0
});

pub(super) struct Copy;

impl Kernel for Copy {
    const TWO_PARTS: bool = true;

    fn pass(from: &mut [u32], to: &mut [u32]) -> u32 {
        to.copy_from_slice(from);
        0
    }
}

pub(super) struct WriteAround;
pub(super) struct CopyAround;

impl Kernel for WriteAround {
    fn possible() -> Result<()> {
        around::possible()
    }

    fn pass(from: &mut [u32], _: &mut [u32]) -> u32 {
        around::write(from, std::hint::black_box(0x0123_4567));
        0
    }
}

impl Kernel for CopyAround {
    const TWO_PARTS: bool = true;

    fn possible() -> Result<()> {
        around::possible()
    }

    fn pass(from: &mut [u32], to: &mut [u32]) -> u32 {
        around::copy(from, to);
        0
    }
}

/// Every x86-64 has these stores, of 16 bytes; four fill a line, which is then written to memory as
/// a whole.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "stores that go round the caches have no safe form")]
#[expect(
    clippy::cast_ptr_alignment,
    reason = "sets begin at a page, and 16 bytes are taken at a time"
)]
mod around {
    use std::arch::x86_64::{
        __m128i, _mm_loadu_si128, _mm_set1_epi32, _mm_sfence, _mm_stream_si128,
    };

    use anyhow::Result;

    #[expect(clippy::unnecessary_wraps, reason = "elsewhere they are not there")]
    pub(super) fn possible() -> Result<()> {
        Ok(())
    }

    pub(super) fn write(to: &mut [u32], value: u32) {
        // SAFETY: every x86-64 has SSE2.
        unsafe { write_with_sse2(to, value) }
    }

    pub(super) fn copy(from: &[u32], to: &mut [u32]) {
        // SAFETY: every x86-64 has SSE2.
        unsafe { copy_with_sse2(from, to) }
    }

    #[target_feature(enable = "sse2")]
    fn write_with_sse2(to: &mut [u32], value: u32) {
        let value = _mm_set1_epi32(value as i32);
        for to in to.as_chunks_mut::<4>().0 {
            // SAFETY: 16 bytes, at a multiple of 16, because sets begin at a page.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast::<__m128i>(), value) };
        }
        _mm_sfence();
    }

    #[target_feature(enable = "sse2")]
    fn copy_with_sse2(from: &[u32], to: &mut [u32]) {
        for (from, to) in from.as_chunks::<4>().0.iter().zip(to.as_chunks_mut::<4>().0) {
            // SAFETY: 16 bytes, at any alignment.
            let value = unsafe { _mm_loadu_si128(from.as_ptr().cast::<__m128i>()) };
            // SAFETY: 16 bytes, at a multiple of 16, because sets begin at a page.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast::<__m128i>(), value) };
        }
        _mm_sfence();
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod around {
    use anyhow::Result;
    use lab::experiment::skip;

    pub(super) fn possible() -> Result<()> {
        Err(skip("stores that go round the caches are made for x86-64 only"))
    }

    pub(super) fn write(_to: &mut [u32], _value: u32) {}

    pub(super) fn copy(_from: &[u32], _to: &mut [u32]) {}
}

#[cfg(test)]
mod tests {
    use super::super::pages::Pages;
    use super::*;

    const X: u32 = 0x5566_7788;

    fn pass<K: Kernel>() -> (u32, Vec<u32>, Vec<u32>) {
        // Has the alignment of sets.
        let mut set = Pages::new(128, "small").unwrap();
        let mut other = Pages::new(128, "small").unwrap();
        set.elements_mut().fill(X);
        let sum = K::pass(set.elements_mut(), other.elements_mut());
        (sum, set.elements_mut().to_vec(), other.elements_mut().to_vec())
    }

    #[test]
    fn the_loops_compute_the_named_operation() {
        assert_eq!(pass::<Read>().0, X.wrapping_mul(32));
        assert_eq!(pass::<ReadFourth>().0, X.wrapping_mul(8));
        assert_eq!(pass::<Write>().1, [0x0123_4567; 32]);
        assert_eq!(pass::<WriteFourth>().1, [0x0123_4567, X, X, X].repeat(8));
        assert_eq!(pass::<ReadWrite>().1, [X.wrapping_mul(2); 32]);
        assert_eq!(pass::<ReadWriteFourth>().1, [X.wrapping_mul(2), X, X, X].repeat(8));
        assert_eq!(pass::<Fill>().1, [0; 32]);
        assert_eq!(pass::<Copy>().2, [X; 32]);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn stores_round_the_caches_arrive() {
        assert_eq!(pass::<WriteAround>().1, [0x0123_4567; 32]);
        assert_eq!(pass::<CopyAround>().2, [X; 32]);
    }
}
