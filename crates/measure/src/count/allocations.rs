//! Allocations: of the program itself, by its global allocator, and of a foreign program, by a
//! small library that is preloaded into it.
#![expect(unsafe_code, reason = "hands out raw memory, and shares memory with another process")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::ptr::NonNull;

use allocation_shim::{Slot, TALLY_VARIABLE, Tally};
use rustix::fs::ftruncate;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::proc_fs;

// The program's allocator: the allocator of the system, plus a tally of the requests while a sample
// is counted. When it does not count, it costs one check of a flag.

/// The global allocator of a program whose built-in methods are to be counted.
pub struct CountingAllocator;

static TALLY: Tally = Tally::new();

thread_local! {
    static SLOT: Cell<Option<&'static Slot>> = const { Cell::new(None) };
}

pub(super) const ALLOCATIONS: &str = "allocations";
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

// The allocations of a foreign program: a small preloaded library counts its calls of `malloc`
// and the like, in a page that it shares with the lab. Nothing of it is on a disk.

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/allocation-shim.so"));
/// Why there is no library.
const MISSING: &str = env!("ALLOCATION_SHIM_MISSING");
/// The name of the library in the list of a process's mappings.
const LIBRARY_NAME: &CStr = c"bytelab-allocations";

/// The library and the page of one process, and of all processes that it starts.
pub(crate) struct Shim {
    library: OwnedFd,
    page: OwnedFd,
    tally: NonNull<Tally>,
}

// SAFETY: the mapping belongs to the process and not to a thread, only its owner unmaps it, and all
// fields of the tally are atomic.
unsafe impl Send for Shim {}

impl Shim {
    pub(crate) fn new() -> Result<Shim, String> {
        if LIBRARY.is_empty() {
            return Err(MISSING.to_owned());
        }
        Shim::open().map_err(|error| format!("a file in memory: {error}"))
    }

    fn open() -> std::io::Result<Shim> {
        let mut library = File::from(file_in_memory(LIBRARY_NAME)?);
        library.write_all(LIBRARY)?;
        let page = file_in_memory(c"bytelab-tally")?;
        ftruncate(&page, size_of::<Tally>() as u64)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping does not affect existing memory.
        let tally = unsafe {
            mmap(std::ptr::null_mut(), size_of::<Tally>(), access, MapFlags::SHARED, &page, 0)
        }?;
        let tally = NonNull::new(tally.cast()).ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(Shim { library: library.into(), page, tally })
    }

    /// The variables that the process needs in its environment.
    pub(crate) fn variables(&self) -> [(&'static str, String); 2] {
        let library = proc_fs::path_of_own_file(&self.library);
        // The libraries that the user preloads are kept.
        let preload = match std::env::var("LD_PRELOAD") {
            Ok(others) if !others.is_empty() => format!("{library}:{others}"),
            _ => library,
        };
        let tally = TALLY_VARIABLE.to_str().unwrap_or_default();
        [("LD_PRELOAD", preload), (tally, proc_fs::path_of_own_file(&self.page))]
    }

    pub(crate) fn start(&self) {
        self.tally().start();
    }

    pub(crate) fn stop(&self) -> Allocations {
        metrics(self.tally().stop())
    }

    /// Whether the process counts; the error is the reason why it does not. `program` is the file
    /// that it runs.
    pub(crate) fn counts(&self, process: u32, program: &Path) -> Result<(), String> {
        let said_hello = self.tally().registered_process() == Some(process);
        let why = why_not(program, said_hello);
        if !said_hello {
            return Err(why.unwrap_or("it does not load the library that counts").to_owned());
        }
        if self.tally().is_refused() {
            return Err("it brings its own allocator".to_owned());
        }
        why.map_or(Ok(()), |why| Err(why.to_owned()))
    }

    /// Like [`Shim::counts`], for a process that still runs: it may have replaced its program since
    /// its hello.
    pub(crate) fn counts_still(&self, process: u32) -> Result<(), String> {
        let program = proc_fs::path(process, "exe").map_err(|error| error.to_string())?;
        self.counts(process, &program)?;
        let mapped = format!("/proc/{process}/maps");
        let mapped = std::fs::read(&mapped).map_err(|error| format!("{mapped}: {error}"))?;
        if memchr::memmem::find(&mapped, LIBRARY_NAME.to_bytes()).is_none() {
            return Err("it does not load the library that counts".to_owned());
        }
        Ok(())
    }

    fn tally(&self) -> &Tally {
        // SAFETY: mapped until this value is dropped, and all its fields are atomic.
        unsafe { self.tally.as_ref() }
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        // SAFETY: mapped in `open`, with this length; no reference outlives this value.
        let _ = unsafe { munmap(self.tally.as_ptr().cast(), size_of::<Tally>()) };
    }
}

#[cfg(target_os = "linux")]
fn file_in_memory(name: &CStr) -> std::io::Result<OwnedFd> {
    Ok(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?)
}

#[cfg(not(target_os = "linux"))]
fn file_in_memory(_name: &CStr) -> std::io::Result<OwnedFd> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// The reason why the allocations of a program cannot be seen, if its file shows one.
fn why_not(program: &Path, said_hello: bool) -> Option<&'static str> {
    const SET_ID: u32 = 0o6000;
    let mut file = File::open(program).ok()?;
    let mode = file.metadata().ok()?.permissions().mode();
    let mut image = Vec::new();
    file.read_to_end(&mut image).ok()?;
    if !image.starts_with(b"\x7fELF") {
        return None;
    }
    // The mark of Go's build information, reversed, so that this program's own file does not
    // contain it.
    let mut go = *std::hint::black_box(b":fnidliub oG \xff");
    go.reverse();
    if memchr::memmem::find(&image, &go).is_some() {
        Some("Go has an allocator of its own")
    } else if !has_interpreter(&image) {
        Some("it is a static program")
    } else if !said_hello && mode & SET_ID != 0 {
        Some("it runs with the rights of another user")
    } else {
        None
    }
}

/// Whether an ELF image names a dynamic linker; see elf(5). An image that is not of 64 bits is
/// assumed to have one: it only is not the right one.
fn has_interpreter(image: &[u8]) -> bool {
    const CLASS_64: u8 = 2;
    const PT_INTERP: u32 = 3;
    let half = |at: usize| Some(u16::from_ne_bytes(image.get(at..at + 2)?.try_into().ok()?));
    let offset = || Some(u64::from_ne_bytes(image.get(32..40)?.try_into().ok()?));
    if image.get(4) != Some(&CLASS_64) {
        return true;
    }
    let (Some(start), Some(size), Some(n)) = (offset(), half(54), half(56)) else { return false };
    (0..u64::from(n)).any(|i| {
        let at = start.saturating_add(i * u64::from(size)) as usize;
        let kind = image.get(at..at.saturating_add(4));
        kind.is_some_and(|kind| kind == PT_INTERP.to_ne_bytes())
    })
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

#[cfg(test)]
mod shim_tests {
    use super::*;

    #[test]
    fn a_program_reports_why_it_cannot_be_counted() {
        let dir = tempfile::tempdir().unwrap();
        let check = |name: &str, image: &[u8], mode: u32, expected: Option<&str>| {
            let path = dir.path().join(name);
            std::fs::write(&path, image).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(why_not(&path, false), expected, "{name}");
        };
        let mut elf = vec![0; 64 + 2 * 56];
        elf[..5].copy_from_slice(b"\x7fELF\x02");
        elf[32] = 64;
        elf[54] = 56;
        elf[56] = 2;
        check("static", &elf, 0o755, Some("it is a static program"));
        elf[64 + 56] = 3;
        check("dynamic", &elf, 0o755, None);
        check("setuid", &elf, 0o4755, Some("it runs with the rights of another user"));
        let mark: Vec<u8> = b":fnidliub oG \xff".iter().rev().copied().collect();
        let go = [&elf[..], &mark].concat();
        check("go", &go, 0o755, Some("Go has an allocator of its own"));
        check("script", b"#!/bin/sh\n", 0o755, None);
        check("short", b"\x7fELF\x02", 0o755, Some("it is a static program"));
        elf[32..40].copy_from_slice(&[0xff; 8]);
        check("hostile", &elf, 0o755, Some("it is a static program"));
        let own = std::env::current_exe().unwrap();
        assert_eq!(why_not(&own, false), None);
        assert_eq!(why_not(Path::new("/nonexistent"), false), None);
    }
}
