//! How much of a file is in the page cache. Querying does not change it.

#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "a system call without a wrapper"))]

use std::fs::File;

/// The share of the file's pages that are cached, or `None` if the system cannot report it (Linux
/// before 6.5, other systems). Of a large file only some places are checked, as checking all takes
/// milliseconds.
#[cfg(target_os = "linux")]
pub(crate) fn cached_share(file: &File, size: u64) -> Option<f64> {
    const PAGE: u64 = 4096;
    const PLACES: u64 = 64;
    const PLACE_BYTES: u64 = 32 * PAGE;
    if size <= PLACES * PLACE_BYTES {
        let pages = size.div_ceil(PAGE).max(1);
        return Some(cached_pages(file, 0, size)? as f64 / pages as f64);
    }
    let mut cached = 0;
    for place in 0..PLACES {
        let offset = (size - PLACE_BYTES) / (PLACES - 1) * place / PAGE * PAGE;
        cached += cached_pages(file, offset, PLACE_BYTES)?;
    }
    Some(cached as f64 * PAGE as f64 / (PLACES * PLACE_BYTES) as f64)
}

#[cfg(target_os = "linux")]
fn cached_pages(file: &File, offset: u64, len: u64) -> Option<u64> {
    use std::os::fd::AsRawFd;

    let range = [offset, len];
    // cached, dirty, writeback, evicted, recently evicted
    let mut counts = [0u64; 5];
    let (range, result) = (range.as_ptr(), counts.as_mut_ptr());
    // SAFETY: cachestat(2), number 451 on all architectures, reads two and writes five 64-bit
    // numbers.
    let failed = unsafe { libc::syscall(451, file.as_raw_fd(), range, result, 0) };
    (failed == 0).then_some(counts[0])
}

/// Not supported here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn cached_share(_: &File, _: u64) -> Option<f64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_was_just_written_is_cached_and_a_hole_is_not() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; 20 << 20]).unwrap();
        if let Some(share) = cached_share(&file, 20 << 20) {
            assert!(share > 0.5, "{share}");
            file.set_len(200 << 20).unwrap();
            let share = cached_share(&file, 200 << 20).unwrap();
            assert!((0.01..0.3).contains(&share), "{share}");
        }
    }
}
