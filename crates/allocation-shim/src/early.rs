//! Memory for allocations that occur while the real allocator is being looked up, as `dlsym` itself
//! may allocate. It is never freed.
#![expect(unsafe_code, reason = "hands out parts of a static as raw memory, as an allocator does")]

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

const LEN: usize = 16 << 10;

#[repr(C, align(64))]
struct Memory(UnsafeCell<[u8; LEN]>);

// SAFETY: each byte is handed out once.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new([0; LEN]));
static USED: AtomicUsize = AtomicUsize::new(0);

/// Zeroed memory, or null when there is no more.
pub(crate) fn take(size: usize, align: usize) -> *mut c_void {
    let align = align.clamp(16, 64);
    let end = |used: usize| used.next_multiple_of(align).checked_add(size);
    let taken = USED.fetch_update(Relaxed, Relaxed, |used| end(used).filter(|end| *end <= LEN));
    match taken {
        Ok(used) => start().wrapping_add(used.next_multiple_of(align)).cast(),
        Err(_) => core::ptr::null_mut(),
    }
}

/// The number of bytes that may be read from this address, if the memory comes from here.
pub(crate) fn readable(memory: *mut c_void) -> Option<usize> {
    let offset = (memory as usize).wrapping_sub(start() as usize);
    (offset < LEN).then(|| LEN - offset)
}

fn start() -> *mut u8 {
    MEMORY.0.get().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_aligned_and_apart_until_there_are_no_more() {
        let [a, b, c] =
            [(10, 1), (10, 64), (10, 16)].map(|(size, align)| take(size, align) as usize);
        assert!(a % 16 == 0 && b % 64 == 0 && c % 16 == 0);
        assert!(a + 10 <= b && b + 10 <= c);
        assert!(take(LEN, 16).is_null() && take(usize::MAX, 16).is_null());
        assert!(readable(c as *mut c_void).is_some_and(|len| len < LEN));
        let other = 7;
        assert_eq!(readable((&raw const other).cast_mut().cast()), None);
    }
}
