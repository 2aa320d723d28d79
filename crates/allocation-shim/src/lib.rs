//! Counts allocations: a tally of what each thread requested from its allocator. It never replaces
//! the allocator.
//!
//! One source, two uses. As a crate, it gives the lab the [`Tally`], for its own global allocator
//! and to read that of another process. Built with `--cfg shim` (by the lab's build script) it is a
//! shared library: preloaded with `LD_PRELOAD`, it stands between a foreign program and its
//! allocator, and keeps the tally in a page that it shares with the lab. It needs no other library,
//! so that it loads where the C library is an older or another one.

#![no_std]

#[cfg(any(shim, test))]
mod interpose;
#[cfg(any(shim, test))]
mod process;

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

// Allocations by thread: each thread writes to its own slot without locked instructions. All
// zero is a valid, empty tally, so that it can lie in fresh memory that processes share.

/// The environment variable in which the shim finds the path of the file with its [`Tally`].
pub const TALLY_VARIABLE: &core::ffi::CStr = c"BYTELAB_ALLOCATIONS";

/// A power of two. Threads that find no free slot share one, with locked instructions.
const SLOTS: usize = 256;
/// A thread that finds this many slots taken uses the shared one.
const PROBES: usize = 8;
/// A thread publishes its live bytes when they have changed by this much.
const FLUSH_BYTES: i64 = 64 << 10;

#[repr(C, align(64))]
pub struct Tally {
    counting: AtomicU32,
    /// The process id of the first process that registered.
    first_process: AtomicU32,
    refused: AtomicU32,
    /// For all threads without a slot. Its `live` is the sum that all threads have published, and
    /// `high` the peak.
    shared: Slot,
    slots: [Slot; SLOTS],
}

/// The allocations of the threads of one owner. A new thread with the same id continues the counts
/// of the one that ended.
#[repr(C, align(64))]
pub struct Slot {
    owner: AtomicU64,
    allocations: AtomicU64,
    bytes: AtomicU64,
    /// The difference between the live bytes and those that were published.
    live: AtomicI64,
    /// The highest value of `live` since then.
    high: AtomicI64,
}

/// What was allocated since [`Tally::start`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that allocated memory; a resize counts as one.
    pub allocations: u64,
    /// The bytes that were requested.
    pub bytes: u64,
    /// The most that was live at once, above what was live at the start. Exact for one thread; with
    /// several it can be off by less than 64 KiB per thread.
    pub peak_live_bytes: u64,
}

impl Tally {
    #[expect(clippy::new_without_default, reason = "it is a static: a default is no const")]
    pub const fn new() -> Tally {
        Tally {
            counting: AtomicU32::new(0),
            first_process: AtomicU32::new(0),
            refused: AtomicU32::new(0),
            shared: Slot::new(),
            slots: [const { Slot::new() }; SLOTS],
        }
    }

    #[inline]
    pub fn is_counting(&self) -> bool {
        self.counting.load(Relaxed) != 0
    }

    /// Resets all counts and starts counting.
    pub fn start(&self) {
        self.counting.store(0, Release);
        for slot in core::iter::once(&self.shared).chain(&self.slots) {
            slot.clear();
        }
        self.counting.store(1, Release);
    }

    pub fn stop(&self) -> Counts {
        self.counting.store(0, Release);
        let mut counts = Counts::default();
        let mut unreported_high = 0;
        for slot in core::iter::once(&self.shared).chain(&self.slots) {
            counts.allocations += slot.allocations.load(Relaxed);
            counts.bytes += slot.bytes.load(Relaxed);
        }
        for slot in &self.slots {
            unreported_high += slot.high.load(Relaxed);
        }
        let last = self.shared.live.load(Relaxed) + unreported_high;
        counts.peak_live_bytes = self.shared.high.load(Relaxed).max(last).max(0).unsigned_abs();
        counts
    }

    /// The slot of the thread with this id, which is not 0 and belongs to one thread at a time.
    /// `None` if there are no more; then the thread is counted in the shared slot.
    pub fn slot(&self, owner: u64) -> Option<&Slot> {
        // Fibonacci hashing; the highest bits are the best mixed.
        let first = owner.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS.trailing_zeros());
        for i in 0..PROBES {
            let slot = &self.slots[(first as usize + i) % SLOTS];
            let mut found = slot.owner.load(Acquire);
            if found == 0 {
                let taken = slot.owner.compare_exchange(0, owner, AcqRel, Acquire);
                found = taken.map_or_else(|other| other, |_| owner);
            }
            if found == owner {
                return Some(slot);
            }
        }
        None
    }

    /// Counts an allocation of `requested` bytes.
    #[inline]
    pub fn allocated(&self, slot: Option<&Slot>, requested: u64, held: u64) {
        let held = held as i64;
        let Some(slot) = slot else {
            self.shared.allocations.fetch_add(1, Relaxed);
            self.shared.bytes.fetch_add(requested, Relaxed);
            return self.publish(held, held);
        };
        slot.allocations.store(slot.allocations.load(Relaxed).wrapping_add(1), Relaxed);
        slot.bytes.store(slot.bytes.load(Relaxed).wrapping_add(requested), Relaxed);
        let live = slot.live.load(Relaxed).wrapping_add(held);
        slot.live.store(live, Relaxed);
        if live > slot.high.load(Relaxed) {
            slot.high.store(live, Relaxed);
            // Keeps `high` at or below the peak, so that an old value needs no second check.
            if live >= FLUSH_BYTES {
                self.flush(slot);
            }
        }
    }

    /// Counts a resize from `old` to `new` bytes, of which `requested` were requested.
    pub fn resized(&self, slot: Option<&Slot>, requested: u64, old: u64, new: u64) {
        self.allocated(slot, requested, new.saturating_sub(old));
        self.given_back(slot, old.saturating_sub(new));
    }

    #[inline]
    pub fn given_back(&self, slot: Option<&Slot>, held: u64) {
        let held = held as i64;
        let Some(slot) = slot else { return self.publish(-held, 0) };
        let live = slot.live.load(Relaxed).wrapping_sub(held);
        slot.live.store(live, Relaxed);
        if live <= -FLUSH_BYTES {
            self.flush(slot);
        }
    }

    #[cold]
    fn flush(&self, slot: &Slot) {
        self.publish(slot.live.load(Relaxed), slot.high.load(Relaxed));
        slot.live.store(0, Relaxed);
        slot.high.store(0, Relaxed);
    }

    fn publish(&self, live: i64, high: i64) {
        let before = self.shared.live.fetch_add(live, Relaxed);
        self.shared.high.fetch_max(before.wrapping_add(high), Relaxed);
    }

    /// The first process that registers is the one that was started.
    pub fn register(&self, process: u32) {
        let _ = self.first_process.compare_exchange(0, process, AcqRel, Acquire);
    }

    /// The process that registered, if there is one.
    pub fn registered_process(&self) -> Option<u32> {
        Some(self.first_process.load(Acquire)).filter(|process| *process != 0)
    }

    /// The program has its own allocator, which is not called through the shim.
    pub fn refuse(&self) {
        self.refused.store(1, Release);
    }

    pub fn is_refused(&self) -> bool {
        self.refused.load(Acquire) != 0
    }
}

impl Slot {
    const fn new() -> Slot {
        Slot {
            owner: AtomicU64::new(0),
            allocations: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            live: AtomicI64::new(0),
            high: AtomicI64::new(0),
        }
    }

    fn clear(&self) {
        self.allocations.store(0, Relaxed);
        self.bytes.store(0, Relaxed);
        self.live.store(0, Relaxed);
        self.high.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::boxed::Box;

    use super::*;

    fn started() -> Box<Tally> {
        let tally = Box::new(Tally::new());
        tally.start();
        tally
    }

    #[test]
    fn one_thread_is_counted_to_the_byte() {
        let tally = started();
        let slot = tally.slot(7);
        for _ in 0..1000 {
            tally.allocated(slot, 1000, 1000);
        }
        tally.given_back(slot, 400_000);
        tally.allocated(slot, 300_000, 300_000);
        tally.given_back(slot, 900_000);
        let expected = Counts { allocations: 1001, bytes: 1_300_000, peak_live_bytes: 1_000_000 };
        assert_eq!(tally.stop(), expected);
        tally.start();
        tally.allocated(slot, 10, 10);
        tally.resized(slot, 200_000, 10, 200_000);
        tally.resized(slot, 20, 200_000, 20);
        let expected = Counts { allocations: 3, bytes: 200_030, peak_live_bytes: 200_000 };
        assert_eq!(tally.stop(), expected);
        assert!(!tally.is_counting());
        tally.start();
        assert_eq!(tally.stop(), Counts::default());
    }

    #[test]
    fn the_peak_is_above_what_was_live_at_the_start() {
        let tally = started();
        let slot = tally.slot(7);
        tally.given_back(slot, 100_000);
        tally.allocated(slot, 90_000, 90_000);
        assert_eq!(tally.stop().peak_live_bytes, 0);
        tally.start();
        tally.given_back(slot, 100_000);
        tally.allocated(slot, 100_001, 100_001);
        assert_eq!(tally.stop().peak_live_bytes, 1);
    }

    #[test]
    fn a_peak_below_the_flush_is_seen() {
        let tally = started();
        let slot = tally.slot(7);
        tally.allocated(slot, 100, 100);
        tally.given_back(slot, 100);
        tally.allocated(slot, 60, 60);
        assert_eq!(tally.stop().peak_live_bytes, 100);
    }

    #[test]
    fn threads_beyond_the_slots_are_counted_too() {
        let tally = started();
        let shared = (1..=2000u64).filter(|owner| {
            let slot = tally.slot(*owner);
            tally.allocated(slot, 10, 10);
            slot.is_none()
        });
        assert!(shared.count() >= 2000 - SLOTS);
        let counts = tally.stop();
        assert_eq!((counts.allocations, counts.bytes), (2000, 20_000));
        assert_eq!(counts.peak_live_bytes, 20_000);
    }

    #[test]
    fn threads_at_once_lose_nothing() {
        const EACH: u64 = 50_000;
        let tally = started();
        std::thread::scope(|scope| {
            // More threads than slots, so that some share.
            for owner in 1..=300u64 {
                let tally = &tally;
                scope.spawn(move || {
                    let slot = tally.slot(owner);
                    for _ in 0..EACH / 100 {
                        tally.allocated(slot, 3, 3);
                        tally.given_back(slot, 3);
                    }
                });
            }
        });
        let counts = tally.stop();
        assert_eq!((counts.allocations, counts.bytes), (3 * EACH, 9 * EACH));
        assert!(counts.peak_live_bytes <= 900, "{counts:?}");
    }

    #[test]
    fn the_first_registration_is_kept() {
        let tally = Tally::new();
        assert_eq!(tally.registered_process(), None);
        tally.register(5);
        tally.register(6);
        assert_eq!(tally.registered_process(), Some(5));
    }
}
