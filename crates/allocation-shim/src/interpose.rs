//! The functions of the allocator under the names that a program uses: each calls the real one, and
//! counts.
#![expect(unsafe_code, reason = "has the place of malloc and free")]

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Release};

use crate::process::{self, Lookup};

type Memory = *mut c_void;

/// The allocator that the program would use without this library.
struct Real {
    malloc: extern "C" fn(usize) -> Memory,
    calloc: extern "C" fn(usize, usize) -> Memory,
    realloc: extern "C" fn(Memory, usize) -> Memory,
    free: extern "C" fn(Memory),
    posix_memalign: extern "C" fn(*mut Memory, usize, usize) -> c_int,
    aligned_alloc: extern "C" fn(usize, usize) -> Memory,
    memalign: extern "C" fn(usize, usize) -> Memory,
    usable_size: extern "C" fn(Memory) -> usize,
}

struct RealStorage(UnsafeCell<MaybeUninit<Real>>);

// SAFETY: written once, before `STATE` says that it may be read.
unsafe impl Sync for RealStorage {}

static REAL: RealStorage = RealStorage(UnsafeCell::new(MaybeUninit::uninit()));
static STATE: AtomicU32 = AtomicU32::new(UNKNOWN);
const UNKNOWN: u32 = 0;
const LOOKING: u32 = 1;
const KNOWN: u32 = 2;

/// `None` while it is being looked up.
#[inline]
fn real() -> Option<&'static Real> {
    if STATE.load(Acquire) != KNOWN {
        return look_up();
    }
    // SAFETY: no thread writes to it any more.
    let place = unsafe { &*REAL.0.get() };
    // SAFETY: it was written before the state said so.
    Some(unsafe { place.assume_init_ref() })
}

#[cold]
fn look_up() -> Option<&'static Real> {
    if STATE.compare_exchange(UNKNOWN, LOOKING, Acquire, Acquire).is_err() {
        return None;
    }
    let found = Real {
        malloc: function(c"malloc"),
        calloc: function(c"calloc"),
        realloc: function(c"realloc"),
        free: function(c"free"),
        posix_memalign: function(c"posix_memalign"),
        aligned_alloc: function(c"aligned_alloc"),
        memalign: function(c"memalign"),
        usable_size: function(c"malloc_usable_size"),
    };
    // SAFETY: only the thread that changed the state from UNKNOWN gets here, and no thread reads
    // yet.
    let place = unsafe { &mut *REAL.0.get() };
    place.write(found);
    STATE.store(KNOWN, Release);
    process::attach();
    real()
}

/// Every C library for Linux has all of them.
fn function<F: Copy>(name: &CStr) -> F {
    const { assert!(size_of::<F>() == size_of::<Memory>()) };
    let address = process::symbol(Lookup::Next, name);
    if address.is_null() {
        process::end();
    }
    // SAFETY: `F` is the type that the C standard or the manual gives the function of this name.
    unsafe { core::mem::transmute_copy(&address) }
}

/// Runs when the library is loaded, in case the program never allocates.
#[cfg_attr(test, expect(dead_code, reason = "nothing loads the library of a test"))]
extern "C" fn loaded() {
    let _ = real();
    process::attach();
    let own: extern "C" fn(usize) -> Memory = malloc;
    if let Some(tally) = process::attached()
        && process::symbol(Lookup::Program, c"malloc") as usize != own as usize
    {
        tally.refuse();
    }
}

#[cfg(shim)]
#[used]
// SAFETY: the section holds pointers to functions without arguments, and nothing else.
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

/// Counts an allocation, unless it failed.
#[inline]
fn count(real: &Real, memory: Memory, requested: usize, held_before: usize) {
    let Some(tally) = process::tally() else { return };
    if !memory.is_null() {
        let held = (real.usable_size)(memory) as u64;
        tally.resized(tally.slot(process::thread()), requested as u64, held_before as u64, held);
    }
}

// The library's own calls of these functions, and their addresses, refer to its own ones, even if
// the program has others. Not every linker has a flag for this, and plain `-Bsymbolic` also makes
// `dlsym` search here first, which then does not find the functions of the program.
#[cfg(shim)]
core::arch::global_asm!(
    ".protected malloc, calloc, realloc, reallocarray, free",
    ".protected posix_memalign, aligned_alloc, memalign",
);

// SAFETY of all `no_mangle` below: the purpose of the library is to be found in place of these
// functions.

#[cfg_attr(shim, unsafe(no_mangle))]
pub(crate) extern "C" fn malloc(size: usize) -> Memory {
    let Some(real) = real() else { return process::take_early(size, 16) };
    let memory = (real.malloc)(size);
    count(real, memory, size, 0);
    memory
}

#[cfg_attr(shim, unsafe(no_mangle))]
pub(crate) extern "C" fn calloc(n: usize, size: usize) -> Memory {
    let Some(real) = real() else { return process::take_early(n.saturating_mul(size), 16) };
    let memory = (real.calloc)(n, size);
    count(real, memory, n.wrapping_mul(size), 0);
    memory
}

#[cfg_attr(shim, unsafe(no_mangle))]
pub(crate) extern "C" fn realloc(old: Memory, size: usize) -> Memory {
    let Some(real) = real() else { return moved(old, size, process::take_early(size, 16)) };
    if process::early_readable(old).is_some() {
        return moved(old, size, malloc(size));
    }
    let counting = process::tally();
    let held = if counting.is_some() { (real.usable_size)(old) } else { 0 };
    let memory = (real.realloc)(old, size);
    if memory.is_null() && size == 0 && !old.is_null() {
        // The GNU C library frees the memory in this case.
        hold_less(held);
    } else {
        count(real, memory, size, held);
    }
    memory
}

#[cfg_attr(shim, unsafe(no_mangle))]
pub(crate) extern "C" fn reallocarray(old: Memory, n: usize, size: usize) -> Memory {
    // The real function sets errno for a size that no allocator can satisfy.
    realloc(old, n.saturating_mul(size))
}

#[cfg_attr(shim, unsafe(no_mangle))]
pub(crate) extern "C" fn free(memory: Memory) {
    if memory.is_null() || process::early_readable(memory).is_some() {
        return;
    }
    let Some(real) = real() else { return };
    if process::tally().is_some() {
        hold_less((real.usable_size)(memory));
    }
    (real.free)(memory);
}

#[cfg_attr(shim, unsafe(no_mangle))]
pub(crate) extern "C" fn posix_memalign(out: *mut Memory, align: usize, size: usize) -> c_int {
    const ENOMEM: c_int = 12;
    let Some(real) = real() else { return ENOMEM };
    let status = (real.posix_memalign)(out, align, size);
    if status == 0 {
        // SAFETY: the real function has just written it.
        count(real, unsafe { *out }, size, 0);
    }
    status
}

#[cfg_attr(shim, unsafe(no_mangle))]
pub(crate) extern "C" fn aligned_alloc(align: usize, size: usize) -> Memory {
    let Some(real) = real() else { return process::take_early(size, align) };
    let memory = (real.aligned_alloc)(align, size);
    count(real, memory, size, 0);
    memory
}

#[cfg_attr(shim, unsafe(no_mangle))]
pub(crate) extern "C" fn memalign(align: usize, size: usize) -> Memory {
    let Some(real) = real() else { return process::take_early(size, align) };
    let memory = (real.memalign)(align, size);
    count(real, memory, size, 0);
    memory
}

fn hold_less(held: usize) {
    if let Some(tally) = process::tally() {
        tally.given_back(tally.slot(process::thread()), held as u64);
    }
}

/// Copies early memory to its new block, up to the size of that.
fn moved(old: Memory, size: usize, new: Memory) -> Memory {
    if let Some(len) = process::early_readable(old).filter(|_| !new.is_null()) {
        let len = len.min(size);
        // SAFETY: `old` can be read that far, and `new` has `size` bytes. They can overlap, if both
        // are early memory.
        unsafe { core::ptr::copy(old.cast::<u8>(), new.cast(), len) };
    }
    new
}

#[cfg(test)]
mod tests {
    extern crate std;

    use core::ptr::{null_mut, without_provenance_mut};

    use super::*;
    use crate::{Counts, Tally};

    static TALLY: Tally = Tally::new();
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

    /// Only calls of the functions above are counted, not the allocations of the test itself.
    fn counted(job: impl FnOnce()) -> Counts {
        process::attach_to(&TALLY);
        TALLY.start();
        job();
        TALLY.stop()
    }

    #[test]
    fn every_function_is_counted_and_gives_what_it_should() {
        let _alone = ONE_AT_A_TIME.lock().unwrap();
        let counts = counted(|| {
            for _ in 0..1000 {
                free(malloc(100));
            }
        });
        assert_eq!((counts.allocations, counts.bytes), (1000, 100_000));
        assert!((100..128).contains(&counts.peak_live_bytes), "{counts:?}");

        let counts = counted(|| {
            let zeroed = calloc(10, 10).cast::<[u8; 100]>();
            // SAFETY: it has as many bytes.
            assert_eq!(unsafe { *zeroed }, [0; 100]);
            let grown = realloc(zeroed.cast(), 200_000);
            let shrunk = reallocarray(grown, 2, 8);
            free(shrunk);
            free(null_mut());
        });
        assert_eq!((counts.allocations, counts.bytes), (3, 200_116));
        assert!((200_000..204_096).contains(&counts.peak_live_bytes), "{counts:?}");

        let counts = counted(|| {
            let mut memory = null_mut();
            assert_eq!(posix_memalign(&raw mut memory, 256, 100), 0);
            assert_eq!(memory as usize % 256, 0);
            free(memory);
            for memory in [aligned_alloc(128, 256), memalign(512, 10)] {
                assert_eq!(memory as usize % 128, 0);
                free(memory);
            }
        });
        assert_eq!((counts.allocations, counts.bytes), (3, 366));

        let counts = counted(|| {
            assert!(malloc(usize::MAX).is_null());
            assert!(calloc(usize::MAX, 2).is_null());
            assert!(reallocarray(null_mut(), usize::MAX, 2).is_null());
            assert!(realloc(malloc(50), 0).is_null());
        });
        assert_eq!((counts.allocations, counts.bytes), (1, 50), "what was refused");
    }

    #[test]
    fn early_memory_is_moved_and_never_given_back() {
        let _alone = ONE_AT_A_TIME.lock().unwrap();
        let early = process::take_early(10, 16).cast::<[u8; 10]>();
        // SAFETY: it has as many bytes, and no other reference exists.
        unsafe { *early = *b"0123456789" };
        free(early.cast());
        let grown = realloc(early.cast(), 1000).cast::<[u8; 10]>();
        // SAFETY: it has more bytes.
        assert_eq!(unsafe { &*grown }, b"0123456789");
        free(grown.cast());
        let nowhere = without_provenance_mut(16);
        assert!(moved(nowhere, 10, nowhere) == nowhere);
    }
}
