//! The process that the shim is loaded into: the page that it shares with the lab, the id of the
//! thread, and memory for what is allocated before the real allocator is known.
#![expect(unsafe_code, reason = "calls the C library, and hands out parts of a static as memory")]

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};

use crate::{TALLY_VARIABLE, Tally};

unsafe extern "C" {
    safe fn abort() -> !;
    safe fn getpid() -> c_int;
    safe fn pthread_self() -> usize;
    fn getenv(name: *const c_char) -> *const c_char;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn mmap(
        at: *mut c_void,
        len: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        from: c_long,
    ) -> *mut c_void;
    fn madvise(at: *mut c_void, len: usize, advice: c_int) -> c_int;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    static environ: *const *const c_char;
}

// The values of Linux, the same on all 64-bit architectures that Rust supports.
const O_RDWR: c_int = 2;
const O_CLOEXEC: c_int = 0o2_000_000;
const PROT_READ_WRITE: c_int = 1 | 2;
const MAP_SHARED: c_int = 1;
const MAP_PRIVATE_ANONYMOUS: c_int = 2 | 0x20;
const MADV_WIPEONFORK: c_int = 18;
const PAGE: usize = 4096;

static TALLY: AtomicPtr<Tally> = AtomicPtr::new(null_mut());
/// A page that the kernel zeroes in a forked child; it holds the id of the process.
static PROCESS: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());

/// Where to look up a symbol.
#[derive(Clone, Copy)]
pub(crate) enum Lookup {
    /// As the program itself resolves it.
    Program,
    /// In libraries that were loaded after this one.
    Next,
}

pub(crate) fn symbol(lookup: Lookup, name: &CStr) -> *mut c_void {
    let handle = match lookup {
        Lookup::Program => 0,
        Lookup::Next => usize::MAX,
    };
    // SAFETY: the handle is one of the two that are always valid, and the name ends with a zero.
    unsafe { dlsym(handle as *mut c_void, name.as_ptr()) }
}

pub(crate) fn end() -> ! {
    abort()
}

/// Replaces unwinding, which a library that is loaded into other programs cannot do.
#[cfg(shim)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    end()
}

/// The tally, if the lab has requested one and it is counting.
#[inline]
pub(crate) fn tally() -> Option<&'static Tally> {
    // SAFETY: null, or mapped for good by `attach`.
    let tally = unsafe { TALLY.load(Acquire).as_ref() };
    tally.filter(|tally| tally.is_counting())
}

/// The id of this thread, unique among all processes that share the tally.
#[inline]
pub(crate) fn thread() -> u64 {
    // Addresses of threads are multiples of 64 below 2^47; process numbers are below 2^22.
    let thread = (pthread_self() as u64) >> 6 & ((1 << 41) - 1);
    // SAFETY: null, or mapped for good by `attach`.
    let Some(process) = (unsafe { PROCESS.load(Acquire).as_ref() }) else { return thread | 1 };
    let mut number = process.load(Relaxed);
    if number == 0 {
        number = u64::from(getpid().unsigned_abs());
        process.store(number, Relaxed);
    }
    number << 41 | thread
}

/// Maps the page of the lab and registers the process. Does nothing if there is no page, or if it
/// was mapped before.
pub(crate) fn attach() {
    // SAFETY: read only; null before the C library has set it.
    if !TALLY.load(Acquire).is_null() || unsafe { environ }.is_null() {
        return;
    }
    let Some(tally) = shared_page() else { return };
    let Some(process) = map(PAGE, MAP_PRIVATE_ANONYMOUS, -1) else { return };
    // SAFETY: the page was just mapped. Where the kernel cannot (before 4.14), forked children
    // count in the slots of their parents.
    unsafe { madvise(process, PAGE, MADV_WIPEONFORK) };
    PROCESS.store(process.cast(), Release);
    TALLY.store(tally.cast(), Release);
    // SAFETY: mapped for good, and large enough.
    let tally = unsafe { &*tally.cast::<Tally>() };
    tally.register(getpid().unsigned_abs());
}

/// The tally of the lab, if it is attached.
pub(crate) fn attached() -> Option<&'static Tally> {
    // SAFETY: null, or mapped for good by `attach`.
    unsafe { TALLY.load(Acquire).as_ref() }
}

#[cfg(test)]
pub(crate) fn attach_to(tally: &'static Tally) {
    TALLY.store((&raw const *tally).cast_mut(), Release);
}

fn shared_page() -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero.
    let path = unsafe { getenv(TALLY_VARIABLE.as_ptr()) };
    if path.is_null() {
        return None;
    }
    // SAFETY: a string of the environment ends with a zero.
    let fd = unsafe { open(path, O_RDWR | O_CLOEXEC) };
    if fd < 0 {
        return None;
    }
    let page = map(size_of::<Tally>(), MAP_SHARED, fd);
    // SAFETY: it was opened here.
    unsafe { close(fd) };
    page
}

fn map(len: usize, flags: c_int, fd: c_int) -> Option<*mut c_void> {
    // SAFETY: a new mapping touches no memory that there is.
    let at = unsafe { mmap(null_mut(), len, PROT_READ_WRITE, flags, fd, 0) };
    // MAP_FAILED is the highest address.
    (at as usize != usize::MAX).then_some(at)
}

// Memory for allocations that occur while the real allocator is being looked up, as `dlsym`
// itself may allocate. It is never freed.

const EARLY_LEN: usize = 16 << 10;

#[repr(C, align(64))]
struct EarlyMemory(UnsafeCell<[u8; EARLY_LEN]>);

// SAFETY: each byte is handed out once.
unsafe impl Sync for EarlyMemory {}

static MEMORY: EarlyMemory = EarlyMemory(UnsafeCell::new([0; EARLY_LEN]));
static USED: AtomicUsize = AtomicUsize::new(0);

/// Zeroed memory, or null when there is no more.
pub(crate) fn take_early(size: usize, align: usize) -> *mut c_void {
    let align = align.clamp(16, 64);
    let end = |used: usize| used.next_multiple_of(align).checked_add(size);
    let taken =
        USED.fetch_update(Relaxed, Relaxed, |used| end(used).filter(|end| *end <= EARLY_LEN));
    match taken {
        Ok(used) => early_start().wrapping_add(used.next_multiple_of(align)).cast(),
        Err(_) => core::ptr::null_mut(),
    }
}

/// The number of bytes that may be read from this address, if the memory comes from here.
pub(crate) fn early_readable(memory: *mut c_void) -> Option<usize> {
    let offset = (memory as usize).wrapping_sub(early_start() as usize);
    (offset < EARLY_LEN).then(|| EARLY_LEN - offset)
}

fn early_start() -> *mut u8 {
    MEMORY.0.get().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_aligned_and_apart_until_there_are_no_more() {
        let [a, b, c] =
            [(10, 1), (10, 64), (10, 16)].map(|(size, align)| take_early(size, align) as usize);
        assert!(a % 16 == 0 && b % 64 == 0 && c % 16 == 0);
        assert!(a + 10 <= b && b + 10 <= c);
        assert!(take_early(EARLY_LEN, 16).is_null() && take_early(usize::MAX, 16).is_null());
        assert!(early_readable(c as *mut c_void).is_some_and(|len| len < EARLY_LEN));
        let other = 7;
        assert_eq!(early_readable((&raw const other).cast_mut().cast()), None);
    }
}
