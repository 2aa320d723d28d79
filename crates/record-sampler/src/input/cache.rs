//! How much of a file is in the page cache, without changing it.

#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "a system call without a wrapper"))]

use std::fs::File;

/// The share of the file's pages that are cached, or none where the system does not tell (Linux before
/// 6.5, other systems).
#[cfg(target_os = "linux")]
pub(crate) fn cached_share(file: &File, size: u64) -> Option<f64> {
    use std::os::fd::AsRawFd;

    const PAGE: u64 = 4096;
    let range = [0u64, size];
    // cached, dirty, writeback, evicted, recently evicted
    let mut counts = [0u64; 5];
    let (range, result) = (range.as_ptr(), counts.as_mut_ptr());
    // SAFETY: cachestat(2), number 451 everywhere, reads two and writes five numbers of 64 bits.
    let failed = unsafe { libc::syscall(451, file.as_raw_fd(), range, result, 0) };
    (failed == 0).then(|| (counts[0] * PAGE) as f64 / size.next_multiple_of(PAGE).max(PAGE) as f64)
}

/// Not known here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn cached_share(_: &File, _: u64) -> Option<f64> {
    None
}
