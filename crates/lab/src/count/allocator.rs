//! The program's allocator: the allocator of the system, plus a tally of the requests while a
//! sample is counted. When it does not count, it costs one check of a flag.
#![expect(unsafe_code, reason = "an allocator hands out raw memory")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use allocation_shim::{Slot, Tally};

/// The global allocator of a program whose built-in methods are to be counted.
pub struct CountingAllocator;

static TALLY: Tally = Tally::new();

thread_local! {
    static SLOT: Cell<Option<&'static Slot>> = const { Cell::new(None) };
}

pub(crate) const ALLOCATIONS: &str = "allocations";
pub(crate) const METRICS: [&str; 3] = [ALLOCATIONS, "allocated_bytes", "peak_live_bytes"];

/// The counts of one job, by metric.
pub type Allocations = [(&'static str, u64); 3];

impl CountingAllocator {
    /// Counts what all threads allocate from here to [`CountingAllocator::stop`].
    pub fn start() {
        TALLY.start();
    }

    pub fn stop() -> Allocations {
        metrics(TALLY.stop())
    }

    /// Whether it is the program's allocator: if it is not, all counts would be 0.
    pub(crate) fn is_in_place() -> bool {
        TALLY.start();
        drop(std::hint::black_box(Box::new(7u64)));
        TALLY.stop().allocations > 0
    }
}

pub(super) fn metrics(counts: allocation_shim::Counts) -> Allocations {
    let totals = [counts.allocations, counts.bytes, counts.peak_live_bytes];
    std::array::from_fn(|i| (METRICS[i], totals[i]))
}

#[inline]
fn slot() -> Option<&'static Slot> {
    SLOT.get().or_else(new_slot)
}

#[cold]
fn new_slot() -> Option<&'static Slot> {
    // SAFETY: has no preconditions.
    let thread = unsafe { libc::pthread_self() };
    SLOT.set(TALLY.slot(thread as u64));
    SLOT.get()
}

#[inline]
fn counted(memory: *mut u8, layout: Layout) -> *mut u8 {
    if !memory.is_null() {
        TALLY.allocated(slot(), layout.size() as u64, layout.size() as u64);
    }
    memory
}

// SAFETY: all memory is that of the system's allocator, allocated and freed with the arguments of
// the caller.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // The flag is checked first: when nothing is counted, no work remains after the call.
        if !TALLY.is_counting() {
            // SAFETY: the caller's guarantees are those that the system's allocator requires.
            return unsafe { System.alloc(layout) };
        }
        // SAFETY: the caller's guarantees are those that the system's allocator requires.
        let memory = unsafe { System.alloc(layout) };
        counted(memory, layout)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !TALLY.is_counting() {
            // SAFETY: the caller's guarantees are those that the system's allocator requires.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: the caller's guarantees are those that the system's allocator requires.
        let memory = unsafe { System.alloc_zeroed(layout) };
        counted(memory, layout)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if TALLY.is_counting() {
            TALLY.given_back(slot(), layout.size() as u64);
        }
        // SAFETY: the caller's guarantees are those that the system's allocator requires.
        unsafe { System.dealloc(memory, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !TALLY.is_counting() {
            // SAFETY: the caller's guarantees are those that the system's allocator requires.
            return unsafe { System.realloc(old, layout, size) };
        }
        // SAFETY: the caller's guarantees are those that the system's allocator requires.
        let memory = unsafe { System.realloc(old, layout, size) };
        if !memory.is_null() {
            TALLY.resized(slot(), size as u64, layout.size() as u64, size as u64);
        }
        memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests of the lab also use it, as the program does.
    #[global_allocator]
    static ALLOCATOR: CountingAllocator = CountingAllocator;

    /// Other tests allocate as well, but none of them as much.
    #[test]
    fn what_is_allocated_is_counted() {
        assert!(CountingAllocator::is_in_place());
        CountingAllocator::start();
        for _ in 0..100 {
            drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 30)));
        }
        let threads = (0..3).map(|_| {
            std::thread::spawn(|| drop(std::hint::black_box(Vec::<u8>::with_capacity(1 << 30))))
        });
        let threads: Vec<_> = threads.collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let [(_, allocations), (_, bytes), (_, peak)] = CountingAllocator::stop();
        assert!(allocations >= 103);
        assert_eq!(bytes >> 30, 103, "those of threads that have ended, too");
        assert!((1..=4).contains(&(peak >> 30)), "{peak}");
    }
}
