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
mod early;
#[cfg(any(shim, test))]
mod interpose;
#[cfg(any(shim, test))]
mod process;
mod tally;

pub use tally::{Counts, Slot, TALLY_VARIABLE, Tally};

/// Replaces unwinding, which a library that is loaded into other programs cannot do.
#[cfg(shim)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    process::end()
}
