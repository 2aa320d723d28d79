//! The system calls for the page cache. Nothing here touches a mapped byte, so that a file that
//! shrinks meanwhile cannot kill the process.
#![expect(unsafe_code, reason = "mmap, mincore, madvise and cachestat have no safe form")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

/// Address space per mapping: a file may be larger than the address space of the process.
const WINDOW_LEN: u64 = 1 << 30;

/// The result of `cachestat` for a file; all values in pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CacheStat {
    pub(super) cached: u64,
    pub(super) dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Since Linux 6.5. The number is that of all architectures with the generic table.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
pub(super) fn cachestat(file: &File, len: u64) -> io::Result<CacheStat> {
    const SYS_CACHESTAT: libc::c_long = 451;
    let range = [0, len];
    let mut stat = CacheStat::default();
    // SAFETY: the kernel reads the range of two u64 and writes the struct of five, both laid out as
    // in its headers; it fails if anything else is wrong.
    let status =
        unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range.as_ptr(), &raw mut stat, 0) };
    if status == 0 { Ok(stat) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
pub(super) fn cachestat(_file: &File, _len: u64) -> io::Result<CacheStat> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

/// How many of the pages of the first `len` bytes are in memory, by `mincore`.
pub(super) fn count_resident(file: &File, len: u64) -> io::Result<u64> {
    let mut resident = 0;
    for offset in (0..len).step_by(WINDOW_LEN as usize) {
        let mapping = Mapping::new(file, offset, (len - offset).min(WINDOW_LEN) as usize)?;
        resident += mapping.count_resident()?;
    }
    Ok(resident)
}

#[cfg(target_os = "linux")]
pub(super) fn drop_pages(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn drop_pages(_file: &File) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system does not drop pages on request"))
}

/// Whether the process may write the file, though it is open for reading.
#[cfg(target_os = "linux")]
pub(super) fn may_write(file: &File) -> bool {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn may_write(_file: &File) -> bool {
    false
}

/// A mapped part of a file.
pub(super) struct Mapping {
    start: *mut libc::c_void,
    len: usize,
}

impl Mapping {
    /// `offset` is a multiple of the page size.
    pub(super) fn new(file: &File, offset: u64, len: usize) -> io::Result<Self> {
        let (protection, flags) = (libc::PROT_READ, libc::MAP_SHARED);
        let offset = offset as libc::off_t;
        // SAFETY: a new mapping at an address that the kernel chooses does not affect existing
        // memory.
        let start = unsafe {
            libc::mmap(ptr::null_mut(), len, protection, flags, file.as_raw_fd(), offset)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start, len })
    }

    #[cfg(target_os = "linux")]
    pub(super) fn address(&self) -> usize {
        self.start.addr()
    }

    /// How many of the pages are in memory.
    fn count_resident(&self) -> io::Result<u64> {
        let mut pages = vec![0u8; self.len.div_ceil(rustix::param::page_size())];
        self.look(0, &mut pages)?;
        Ok(pages.into_iter().map(|page| u64::from(page & 1)).sum())
    }

    #[cfg(target_os = "linux")]
    pub(super) fn is_resident(&self, page: usize) -> io::Result<bool> {
        let mut pages = [0];
        self.look(page, &mut pages)?;
        Ok(pages[0] & 1 == 1)
    }

    /// The lowest bit of each byte is set if its page is in memory.
    fn look(&self, first: usize, pages: &mut [u8]) -> io::Result<()> {
        let start = self.start_of(first);
        let len = pages.len() * rustix::param::page_size();
        // SAFETY: the kernel reads no byte of the range and writes one byte per page of it.
        let status = unsafe { libc::mincore(start, len, pages.as_mut_ptr().cast()) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn start_of(&self, page: usize) -> *mut libc::c_void {
        self.start.wrapping_byte_add(page * rustix::param::page_size())
    }

    /// Enters the page in the page table, as reading a byte of it would, but with an error in place
    /// of a signal.
    #[cfg(target_os = "linux")]
    pub(super) fn populate(&self, page: usize) -> io::Result<()> {
        let len = rustix::param::page_size();
        assert!(page < self.len.div_ceil(len), "page {page} is outside the mapping");
        let start = self.start_of(page);
        // SAFETY: the page is in the mapping, and reading it changes nothing.
        let status = unsafe { libc::madvise(start, len, libc::MADV_POPULATE_READ) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new`, and no reference into it was ever returned.
        unsafe { libc::munmap(self.start, self.len) };
    }
}
