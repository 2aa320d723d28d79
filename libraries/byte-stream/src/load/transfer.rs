//! Brings the bytes of a file into memory: one task after the other, by one thread or by several.

use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
#[cfg(target_os = "linux")]
use std::time::Duration;

use memmap2::{Mmap, MmapMut, MmapOptions};
use rustix::fs::fstat;
use rustix::io::{Errno, pread};

use super::choose::SMALL_BYTES;
use super::{LoadChoice, LoadOptions, LoadReason, LoadWay, LoadedBytes, PartLayout, out_of_memory};
use crate::buffer::Buffer;
use crate::cancel;
use crate::{Error, ErrorKind, Progress, Result};

/// What a thread reads at once: large enough to hide the cost of a request, small enough that all
/// threads end at nearly the same time.
const STEP_BYTES: u64 = 1 << 20;
/// What the kernel reads ahead of one request, at the least: on FUSE, for example, no more.
#[cfg(target_os = "linux")]
const WINDOW_BYTES: u64 = 128 << 10;
/// A medium that takes longer for a step, so that its threads hardly use a CPU, is read by several.
#[cfg(target_os = "linux")]
const SLOW_STEP: Duration = Duration::from_millis(2);
const MOST_READERS: usize = 4;
/// What one call reads, if nobody waits for progress. Linux reads at most 2 GiB.
const LONG_STEP_BYTES: u64 = 1 << 30;
/// `O_DIRECT` needs offsets, lengths and addresses of multiples of the sector size, which is at
/// most this for nearly all devices; others refuse it, and are read through the page cache.
const SECTOR_BYTES: u64 = 4096;
/// The kernel maps anonymous memory from here on by huge pages, each with one fault.
#[cfg(target_os = "linux")]
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Bytes of a file that go to one place in memory.
struct ReadTask<'a> {
    offset: u64,
    bytes: &'a mut [u8],
}

pub(super) struct Transfer<'a> {
    file: &'a File,
    layout: &'a PartLayout,
    options: &'a LoadOptions,
    choice: LoadChoice,
    /// The same file, opened with `O_DIRECT`.
    direct: Option<File>,
    refused: AtomicBool,
    done_bytes: AtomicU64,
    /// The first error, which stops the other threads.
    failed: OnceLock<Error>,
}

impl<'a> Transfer<'a> {
    pub(super) fn new(
        file: &'a File,
        layout: &'a PartLayout,
        options: &'a LoadOptions,
        choice: LoadChoice,
    ) -> Transfer<'a> {
        let is_direct = choice.way == LoadWay::Direct;
        let direct = if is_direct { open_direct(file) } else { None };
        Transfer {
            file,
            layout,
            options,
            choice,
            refused: AtomicBool::new(is_direct && direct.is_none()),
            direct,
            done_bytes: AtomicU64::new(0),
            failed: OnceLock::new(),
        }
    }

    /// Whether the file system has refused `O_DIRECT`.
    pub(super) fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    pub(super) fn run(&mut self) -> Result<LoadedBytes> {
        let (way, total) = (self.choice.way, self.layout.total_bytes());
        match self.layout.one_range() {
            _ if total == 0 => Ok(LoadedBytes::Heap(Vec::new())),
            Some(range) if way == LoadWay::Map => self.map(&range).map(LoadedBytes::Mapped),
            _ if way == LoadWay::Read && (total as u64) < SMALL_BYTES => {
                self.read_small().map(LoadedBytes::Heap)
            }
            _ => {
                // Then most of the bytes of the first part, often the only one, go straight from
                // the device to their place.
                let first = self.layout.parts.first().map_or(0, |part| part.start);
                let lead = (first % SECTOR_BYTES) as usize;
                let mut map = anonymous(total, lead)?;
                self.read_tasks(&mut map[lead..])?;
                Ok(LoadedBytes::Anonymous { map, lead })
            }
        }
    }

    /// Reads into memory of the allocator, which is not set to zero before.
    fn read_small(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(self.layout.total_bytes()).map_err(out_of_memory)?;
        for part in &self.layout.parts {
            let mut offset = part.start;
            while offset < part.end {
                cancel::check(self.options.cancel.as_ref()).map_err(|error| error.at(offset))?;
                match append(self.file, &mut bytes, offset, (part.end - offset) as usize) {
                    Ok(0) => return Err(self.truncated(offset)),
                    Ok(n) => {
                        offset += n as u64;
                        self.advanced(n);
                    }
                    Err(Errno::INTR) => {}
                    Err(errno) => return Err(Error::io(errno).at(offset)),
                }
            }
        }
        Ok(bytes)
    }

    fn read_tasks(&mut self, bytes: &mut [u8]) -> Result<()> {
        let is_whole = self.choice.way == LoadWay::Read && !self.options.needs_steps();
        let step = if is_whole { LONG_STEP_BYTES } else { STEP_BYTES };
        let this = &*self;
        let tasks = Mutex::new(tasks(self.layout, bytes, step).into_iter());
        std::thread::scope(|scope| {
            for _ in 1..self.choice.threads {
                let thread = std::thread::Builder::new();
                // If the system allows no more threads, fewer do the work.
                if thread.spawn_scoped(scope, || this.work(&tasks)).is_err() {
                    break;
                }
            }
            this.work(&tasks);
        });
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Does tasks until there is none or one has failed.
    fn work<'t>(&self, tasks: &Mutex<impl Iterator<Item = ReadTask<'t>>>) {
        let mut spare = None;
        while self.failed.get().is_none() {
            let Some(task) = lock(tasks).next() else { return };
            let (offset, len) = (task.offset, task.bytes.len());
            let cancelled = cancel::check(self.options.cancel.as_ref());
            match cancelled.and_then(|()| self.read(task, &mut spare)) {
                Ok(()) => self.advanced(len),
                Err(error) => {
                    let _ = self.failed.set(error.at(offset));
                }
            }
        }
    }

    fn read(&self, task: ReadTask<'_>, spare: &mut Option<Buffer>) -> Result<()> {
        let ReadTask { offset, bytes } = task;
        let done = match &self.direct {
            Some(direct) if !self.was_refused() => self.read_direct(direct, offset, bytes, spare),
            _ => {
                self.read_ahead(offset, bytes.len() as u64);
                0
            }
        };
        self.read_exact(offset + done as u64, &mut bytes[done..])
    }

    /// Reads past the page cache, and returns the number of bytes, which may be fewer: the rest is
    /// then read through the page cache, which also finds the cause.
    fn read_direct(
        &self,
        direct: &File,
        offset: u64,
        bytes: &mut [u8],
        spare: &mut Option<Buffer>,
    ) -> usize {
        let end = offset + bytes.len() as u64;
        let address = bytes.as_ptr().addr() as u64;
        let read = if [offset, end, address].iter().all(|n| n.is_multiple_of(SECTOR_BYTES)) {
            pread(direct, &mut *bytes, offset)
        } else {
            let start = offset / SECTOR_BYTES * SECTOR_BYTES;
            let len = (end.next_multiple_of(SECTOR_BYTES) - start) as usize;
            let longest = (STEP_BYTES + 2 * SECTOR_BYTES) as usize;
            let spare = spare.get_or_insert_with(|| Buffer::new(longest));
            pread(direct, &mut spare[..len], start).map(|n| {
                let before = (offset - start) as usize;
                let n = n.saturating_sub(before).min(bytes.len());
                bytes[..n].copy_from_slice(&spare[before..before + n]);
                n
            })
        };
        if read == Err(Errno::INVAL) {
            self.refused.store(true, Ordering::Relaxed);
        }
        read.unwrap_or(0)
    }

    fn read_exact(&self, mut offset: u64, mut bytes: &mut [u8]) -> Result<()> {
        while !bytes.is_empty() {
            match pread(self.file, &mut *bytes, offset) {
                Ok(0) => return Err(self.truncated(offset)),
                Ok(n) => {
                    bytes = &mut bytes[n..];
                    offset += n as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::io(errno).at(offset)),
            }
        }
        Ok(())
    }

    /// A read alone waits for one window of read-ahead, mostly of 128 KiB, after the other.
    #[cfg(target_os = "linux")]
    fn read_ahead(&self, offset: u64, len: u64) {
        if self.choice.way == LoadWay::Pread && self.choice.why == LoadReason::NotCached {
            request_ahead(self.file, offset, len);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn read_ahead(&self, _offset: u64, _len: u64) {}

    #[expect(unsafe_code, reason = "maps the file")]
    fn map(&self, range: &Range<u64>) -> Result<LoadedMap> {
        let mut options = MmapOptions::new();
        options.offset(range.start).len(self.layout.total_bytes());
        // SAFETY: without the promise of `LoadOptions::allow_map`, that the file is neither changed
        // nor truncated, this way is not chosen.
        let map = unsafe { options.map(self.file) }.map_err(Error::io)?;
        self.check_size(range)?;
        if self.choice.why == LoadReason::Requested && self.choice.fits(1) {
            self.populate(&map, range)?;
        } else {
            read_far_ahead(&map);
            self.advanced(map.len());
        }
        Ok(LoadedMap::new(map, self.choice.is_read_in_background()))
    }

    /// Reads the pages of a mapping. What would be a `SIGBUS` for who touches them is an error
    /// here.
    #[cfg(target_os = "linux")]
    fn populate(&self, map: &Mmap, range: &Range<u64>) -> Result<()> {
        for at in (0..map.len()).step_by(STEP_BYTES as usize) {
            let offset = range.start + at as u64;
            cancel::check(self.options.cancel.as_ref()).map_err(|error| error.at(offset))?;
            let len = (map.len() - at).min(STEP_BYTES as usize);
            match map.advise_range(memmap2::Advice::PopulateRead, at, len) {
                Ok(()) => self.advanced(len),
                // Linux before 5.14: the pages are read when they are used.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(()),
                Err(error) => {
                    self.check_size(range)?;
                    return Err(Error::io(error).at(offset));
                }
            }
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
    fn populate(&self, map: &Mmap, _range: &Range<u64>) -> Result<()> {
        let _ = map.advise(memmap2::Advice::WillNeed);
        Ok(())
    }

    fn check_size(&self, range: &Range<u64>) -> Result<()> {
        let size = fstat(self.file).map_err(Error::io)?.st_size as u64;
        if size < range.end { Err(self.truncated(size)) } else { Ok(()) }
    }

    fn truncated(&self, offset: u64) -> Error {
        let size = self.layout.file_bytes;
        let text = format!("the file of {size} bytes was cut while it was loaded");
        Error::new(ErrorKind::Truncated, text).at(offset)
    }

    fn advanced(&self, n: usize) {
        self.options.report(|| Progress {
            done_bytes: self.done_bytes.fetch_add(n as u64, Ordering::Relaxed) + n as u64,
            total_bytes: Some(self.choice.size_bytes),
        });
    }
}

/// Appends at most `len` bytes of the file; the vector has reserved room for them.
#[expect(unsafe_code, reason = "fills memory that is not initialised")]
fn append(file: &File, bytes: &mut Vec<u8>, offset: u64, len: usize) -> rustix::io::Result<usize> {
    let (read, _) = pread(file, &mut bytes.spare_capacity_mut()[..len], offset)?;
    let (n, before) = (read.len(), bytes.len());
    // SAFETY: the call has initialised `n` bytes of the spare capacity.
    unsafe { bytes.set_len(before + n) };
    Ok(n)
}

/// Memory of the kernel, which it clears page by page when it is touched: by the thread that reads
/// into it.
fn anonymous(total: usize, lead: usize) -> Result<MmapMut> {
    let map = MmapMut::map_anon(total + lead).map_err(Error::io)?;
    #[cfg(target_os = "linux")]
    if map.len() >= HUGE_PAGE_BYTES {
        // A refusal is harmless.
        let _ = map.advise(memmap2::Advice::HugePage);
    }
    Ok(map)
}

/// Requests all of a step at once. The kernel may read only one window of each request; those that
/// it has read already cost little.
#[cfg(target_os = "linux")]
pub(super) fn request_ahead(file: &File, offset: u64, len: u64) {
    let windows = (WINDOW_BYTES..len).step_by(WINDOW_BYTES as usize);
    let windows = windows.map(|at| (offset + at, WINDOW_BYTES.min(len - at)));
    for (offset, len) in [(offset, len)].into_iter().chain(windows) {
        let len = std::num::NonZero::new(len);
        // A refusal is harmless.
        let _ = rustix::fs::fadvise(file, offset, len, rustix::fs::Advice::WillNeed);
    }
}

/// A mapping, and the threads that may bring its pages into the cache before they are used.
pub(super) struct LoadedMap {
    shared: Arc<ReadMap>,
    /// A process that is forked from it has the mapping, but not the threads.
    process: u32,
}

struct ReadMap {
    map: Mmap,
    /// Where the next thread reads; from the end on there is nothing to read.
    next: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl LoadedMap {
    fn new(map: Mmap, is_read_in_background: bool) -> LoadedMap {
        let (next, threads) = (AtomicUsize::new(0), Mutex::default());
        let shared = Arc::new(ReadMap { map, next, threads });
        if is_read_in_background {
            read_in_background(&shared, MOST_READERS);
        }
        LoadedMap { shared, process: std::process::id() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.shared.map
    }
}

impl Drop for LoadedMap {
    /// Nothing is read afterwards: the threads end after their steps.
    fn drop(&mut self) {
        self.shared.next.store(self.shared.map.len(), Ordering::Relaxed);
        let last = || lock(&self.shared.threads).pop();
        while let Some(thread) = last().filter(|_| self.process == std::process::id()) {
            let _ = thread.join();
        }
    }
}

/// Starts a thread that reads the mapping, and that is joined by others if the medium is slow. If
/// the system allows no more threads, the pages are read when they are used.
fn read_in_background(shared: &Arc<ReadMap>, most: usize) {
    let reader = Arc::clone(shared);
    if let Ok(thread) = std::thread::Builder::new().spawn(move || reader.read(most)) {
        lock(&shared.threads).push(thread);
    }
}

impl ReadMap {
    /// A failure is an error of whoever uses the page.
    #[cfg(target_os = "linux")]
    fn read(self: &Arc<Self>, most: usize) {
        let take = |at: usize| (at < self.map.len()).then(|| at + STEP_BYTES as usize);
        let mut is_alone = most > 1;
        while let Ok(at) = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            let len = (self.map.len() - at).min(STEP_BYTES as usize);
            let populate = || self.map.advise_range(memmap2::Advice::PopulateRead, at, len);
            let (populated, time) = cancel::timed(populate);
            if populated.is_err() {
                return;
            }
            if is_alone && time > SLOW_STEP {
                is_alone = false;
                (1..most).for_each(|_| read_in_background(self, 1));
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn read(self: &Arc<Self>, _most: usize) {
        let _ = self.map.advise(memmap2::Advice::WillNeed);
    }
}

/// Pages that are not cached are read 2 MiB at a time, with as many read ahead, when the first of
/// them is used: otherwise each 128 KiB would wait for the medium alone.
#[cfg(target_os = "linux")]
fn read_far_ahead(map: &Mmap) {
    // A refusal is harmless.
    let _ = map.advise(memmap2::Advice::HugePage);
}

#[cfg(not(target_os = "linux"))]
fn read_far_ahead(_map: &Mmap) {}

/// The tasks in the order of memory. They end at multiples of `step` in the file.
fn tasks<'a>(layout: &PartLayout, mut bytes: &'a mut [u8], step: u64) -> Vec<ReadTask<'a>> {
    let mut tasks = Vec::new();
    for part in &layout.parts {
        let mut offset = part.start;
        while offset < part.end {
            let end = ((offset / step + 1) * step).min(part.end);
            let (own, rest) = bytes.split_at_mut((end - offset) as usize);
            tasks.push(ReadTask { offset, bytes: own });
            (bytes, offset) = (rest, end);
        }
    }
    tasks
}

/// A second description of the same file, whatever has its name by now.
#[cfg(target_os = "linux")]
fn open_direct(file: &File) -> Option<File> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{Mode, OFlags, open};

    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    open(path, flags, Mode::empty()).ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_file: &File) -> Option<File> {
    None
}

/// A panic in a callback of the caller ends the loading, and leaves nothing half done.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
