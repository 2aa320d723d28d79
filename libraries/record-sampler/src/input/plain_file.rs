//! A regular file as it was when it was opened, also one of another machine: its descriptor or, of
//! a small one, its bytes; how
//! much of it is in the page cache, and advice about reads to come.

use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io;
use std::num::NonZero;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(feature = "parquet")]
use rustix::buffer::spare_capacity;
use rustix::process::{Resource, getrlimit};

use super::remote::ReadAt;
use crate::{Error, ErrorKind, Format, Result};

/// A regular file, with its size and time when it was opened.
pub(crate) struct PlainFile {
    pub(crate) handle: Arc<Handle>,
    pub(crate) size: u64,
    /// Not known of a file of another machine.
    pub(crate) modified_ns: Option<i128>,
    /// The format that its first bytes show, if they were examined.
    pub(super) start_kind: Option<&'static str>,
    /// A digest of its first and its last bytes, unless all of them are held.
    edges: Option<u64>,
}

/// The number of bytes at each end of a file. Reading them takes some microseconds for each file.
const EDGE_BYTES: u64 = 4096;

/// The byte order mark of UTF-8, which some programs write at the start of a text.
pub(crate) const BOM: &[u8; 3] = b"\xef\xbb\xbf";

pub(crate) fn without_bom(text: &[u8]) -> &[u8] {
    text.strip_prefix(BOM).unwrap_or(text)
}

impl PlainFile {
    /// The handle of a file without a path keeps it open. `held` are all its bytes, if they are
    /// held in memory.
    pub(super) fn new(
        file: File,
        path: Option<&Path>,
        metadata: &Metadata,
        held: Option<Box<[u8]>>,
        descriptors: &Descriptors,
    ) -> PlainFile {
        let size = metadata.len();
        let edges = if held.is_some() { None } else { edges(&file, size) };
        let handle = Arc::new(descriptors.handle(file, path, metadata, held));
        let modified_ns = Some(modified_ns(metadata));
        PlainFile { handle, size, modified_ns, start_kind: None, edges }
    }

    pub(super) fn remote(file: Box<dyn ReadAt>) -> PlainFile {
        let size = file.size_bytes();
        let handle = Arc::new(Handle::Remote(file));
        PlainFile { handle, size, modified_ns: None, start_kind: None, edges: None }
    }

    /// The length of a byte order mark before the first record.
    pub(crate) fn bom_bytes(&self, format: Format) -> Result<u64> {
        if !format.drops_bom() || self.size < BOM.len() as u64 {
            return Ok(0);
        }
        let mut start = [0; BOM.len()];
        read_exactly(self, &mut start, 0)?;
        Ok(if start == *BOM { BOM.len() as u64 } else { 0 })
    }

    /// The number of bytes that were appended since the file was opened. It is an error if the file
    /// was truncated, or written to and not appended to.
    pub(crate) fn growth(&self) -> Result<u64> {
        let io = |error| Error::caused(ErrorKind::Io, "", error);
        // Each read of a file of another machine was of the same version.
        let Handle::Local(local) = &*self.handle else { return Ok(0) };
        let metadata = local.metadata().map_err(io)?;
        match metadata.len().checked_sub(self.size) {
            Some(0) if Some(modified_ns(&metadata)) != self.modified_ns => {
                Err(self.changed(self.size))
            }
            Some(1..) if !self.has_same_start().map_err(io)? => Err(self.changed(metadata.len())),
            Some(growth) => Ok(growth),
            None => Err(self.changed(metadata.len())),
        }
    }

    /// Whether a larger file may be this one with bytes appended: then it still has the same bytes
    /// at both ends of its former content, or everywhere, if they are held.
    fn has_same_start(&self) -> io::Result<bool> {
        let open = self.handle.get()?;
        let file = open.file()?;
        Ok(match self.handle.held() {
            Some(held) => read_whole(file, held.len()).is_some_and(|bytes| *bytes == *held),
            None => edges(file, self.size) == self.edges,
        })
    }

    fn changed(&self, size: u64) -> Error {
        let text = if size == self.size {
            "was written to while it was read".to_owned()
        } else {
            format!("changed from {} to {size} bytes while it was read", self.size)
        };
        Error::new(ErrorKind::Changed, text)
    }

    /// The error for a file that ended before its size.
    pub(crate) fn cut(&self) -> Error {
        let size = match &*self.handle {
            Handle::Local(local) => local.metadata().map_or(0, |metadata| metadata.len()),
            Handle::Remote(_) => 0,
        };
        self.changed(size)
    }
}

/// A digest of the first and the last bytes of a file of this size, which distinguishes a file that
/// was appended to from one that was overwritten by a larger one. `None` if they cannot be read.
fn edges(file: &File, size: u64) -> Option<u64> {
    let mut bytes = [0; 2 * EDGE_BYTES as usize];
    // Both ends of a small file are read at once.
    if let Some(all) = bytes.get_mut(..size as usize) {
        file.read_exact_at(all, 0).ok()?;
        return Some(digest(all));
    }
    let (first, last) = bytes.split_at_mut(EDGE_BYTES as usize);
    file.read_exact_at(first, 0).ok()?;
    file.read_exact_at(last, size - EDGE_BYTES).ok()?;
    Some(digest(&bytes))
}

/// As many bytes from the start of the file, or `None` if it has fewer or cannot be read.
fn read_whole(file: &File, len: usize) -> Option<Box<[u8]>> {
    let mut bytes = vec![0; len].into_boxed_slice();
    file.read_exact_at(&mut bytes, 0).ok()?;
    Some(bytes)
}

fn modified_ns(metadata: &Metadata) -> i128 {
    i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
}

/// Reads all bytes at the offset, or returns the error.
pub(crate) fn read_exactly(file: &PlainFile, buffer: &mut [u8], offset: u64) -> Result<()> {
    file.handle.read_exact_at(buffer, offset).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => file.cut(),
        _ => Error::caused(ErrorKind::Io, &format!("reading at offset {offset}"), error),
    })
}

// If there are many files, only some descriptors stay open, and the other files are opened again
// when they are read. Small files are read once, when they are opened, and their bytes are held.

/// The most files that stay open for as long as the population lives.
const MOST_PINNED: u64 = 256;
/// The most files that were opened again and are not closed yet.
const MOST_REOPENED: usize = 4;
/// The largest file whose bytes are held, and the most bytes of all such files of a population.
const MOST_HELD_OF_ONE: u64 = 16 << 10;
const MOST_HELD: u64 = 16 << 20;

/// A file that can be read at any time.
pub(crate) enum Handle {
    Local(LocalHandle),
    Remote(Box<dyn ReadAt>),
}

/// A file of this machine, whether it is open now or not.
pub(crate) struct LocalHandle {
    /// All its bytes, if it is small.
    held: Option<Box<[u8]>>,
    /// It stays open, and has this descriptor.
    pinned: Option<File>,
    path: PathBuf,
    /// The device and the inode, by which another file of the same name is recognised.
    identity: (u64, u64),
    reopened: Arc<Reopened>,
}

/// The descriptors of a population, and the bytes of files that are held.
pub(crate) struct Descriptors {
    pinned: AtomicUsize,
    most_pinned: usize,
    held_bytes: AtomicU64,
    reopened: Arc<Reopened>,
}

/// The identity of a file that was opened again, and the file.
type ReopenedFile = ((u64, u64), Arc<File>);

/// Files that were opened again, the last one at the end.
type Reopened = Mutex<VecDeque<ReopenedFile>>;

/// An open file.
pub(crate) enum OpenFile<'a> {
    Pinned(&'a File),
    Reopened(Arc<File>),
    Remote(&'a dyn ReadAt),
}

impl OpenFile<'_> {
    /// The file, which must be of this machine.
    pub(crate) fn file(&self) -> io::Result<&File> {
        match self {
            OpenFile::Pinned(file) => Ok(file),
            OpenFile::Reopened(file) => Ok(file),
            OpenFile::Remote(_) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "it is on another machine"))
            }
        }
    }

    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            OpenFile::Remote(file) => file.read_at(buffer, offset),
            open => open.file()?.read_at(buffer, offset),
        }
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let OpenFile::Remote(file) = self else {
            return self.file()?.read_exact_at(buffer, offset);
        };
        let mut len = 0;
        while len < buffer.len() {
            match file.read_at(&mut buffer[len..], offset + len as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => len += n,
            }
        }
        Ok(())
    }
}

impl OpenFile<'_> {
    #[cfg(feature = "parquet")]
    fn append_at(&self, buffer: &mut Vec<u8>, offset: u64) -> io::Result<usize> {
        if let OpenFile::Remote(file) = self {
            let before = buffer.len();
            buffer.resize(buffer.capacity(), 0);
            let read = file.read_at(&mut buffer[before..], offset);
            buffer.truncate(before + *read.as_ref().unwrap_or(&0));
            return read;
        }
        Ok(rustix::io::pread(self.file()?, spare_capacity(buffer), offset)?)
    }
}

impl Descriptors {
    /// At most a quarter of the descriptors that this process may have is used, because the caller
    /// needs some, too.
    pub(crate) fn new() -> Descriptors {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Descriptors {
            pinned: AtomicUsize::new(0),
            most_pinned: (limit / 4).min(MOST_PINNED) as usize,
            held_bytes: AtomicU64::new(0),
            reopened: Arc::default(),
        }
    }

    /// The bytes of a file of this size, if they are to be held. `None` also if they cannot be
    /// read, which is an error when its records are.
    pub(super) fn hold(&self, file: &File, size: u64) -> Option<Box<[u8]>> {
        if size > MOST_HELD_OF_ONE {
            return None;
        }
        let before = self.held_bytes.fetch_add(size, Ordering::Relaxed);
        let held = if before + size <= MOST_HELD { read_whole(file, size as usize) } else { None };
        if held.is_none() {
            self.held_bytes.fetch_sub(size, Ordering::Relaxed);
        }
        held
    }

    /// A handle of this open file, which is closed if too many are open already, unless it has no
    /// path by which it could be opened again.
    fn handle(
        &self,
        file: File,
        path: Option<&Path>,
        metadata: &Metadata,
        held: Option<Box<[u8]>>,
    ) -> Handle {
        let may_be_pinned = || self.pinned.fetch_add(1, Ordering::Relaxed) < self.most_pinned;
        let pinned = (path.is_none() || may_be_pinned()).then_some(file);
        let path = path.unwrap_or(Path::new("")).to_owned();
        let reopened = Arc::clone(&self.reopened);
        Handle::Local(LocalHandle { held, pinned, path, identity: identity(metadata), reopened })
    }
}

impl Handle {
    /// Whether it is a file of this machine, and has a path.
    pub(crate) fn has_path(&self) -> bool {
        matches!(self, Handle::Local(local) if !local.path.as_os_str().is_empty())
    }

    /// The file, if it is of another machine.
    pub(crate) fn remote(&self) -> Option<&dyn ReadAt> {
        match self {
            Handle::Local(_) => None,
            Handle::Remote(file) => Some(&**file),
        }
    }

    /// All bytes of a small file, as they were when it was opened.
    pub(crate) fn held(&self) -> Option<&[u8]> {
        match self {
            Handle::Local(local) => local.held.as_deref(),
            Handle::Remote(_) => None,
        }
    }

    /// Reads bytes of the file, as [`FileExt::read_at`] does.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(held) = self.held() else { return self.get()?.read_at(buffer, offset) };
        let rest = held.get(offset as usize..).unwrap_or_default();
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }

    /// Reads as many bytes as the buffer has, as [`FileExt::read_exact_at`] does.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if self.held().is_none() {
            return self.get()?.read_exact_at(buffer, offset);
        }
        let is_whole = self.read_at(buffer, offset)? == buffer.len();
        if is_whole { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Appends bytes of the file from this offset on, up to the capacity of the buffer, whose
    /// memory need not be cleared before.
    #[cfg(feature = "parquet")]
    pub(crate) fn append_at(&self, buffer: &mut Vec<u8>, offset: u64) -> io::Result<usize> {
        let Some(held) = self.held() else {
            return self.get()?.append_at(buffer, offset);
        };
        let rest = held.get(offset as usize..).unwrap_or_default();
        let n = rest.len().min(buffer.capacity() - buffer.len());
        buffer.extend_from_slice(&rest[..n]);
        Ok(n)
    }

    pub(crate) fn get(&self) -> io::Result<OpenFile<'_>> {
        match self {
            Handle::Local(local) => local.get(),
            Handle::Remote(file) => Ok(OpenFile::Remote(&**file)),
        }
    }
}

impl LocalHandle {
    /// The metadata of the file as it is now. A file that is closed is not opened for it.
    fn metadata(&self) -> io::Result<Metadata> {
        if let Some(file) = &self.pinned {
            return file.metadata();
        }
        if let Some(file) = self.find(&self.lock_reopened()) {
            return file.metadata();
        }
        let metadata = fs::metadata(&self.path)?;
        self.check_identity(&metadata)?;
        Ok(metadata)
    }

    fn get(&self) -> io::Result<OpenFile<'_>> {
        if let Some(file) = &self.pinned {
            return Ok(OpenFile::Pinned(file));
        }
        let mut reopened = self.lock_reopened();
        if let Some(file) = self.find(&reopened) {
            return Ok(OpenFile::Reopened(file));
        }
        let file = File::open(&self.path)?;
        self.check_identity(&file.metadata()?)?;
        let file = Arc::new(file);
        if reopened.len() == MOST_REOPENED {
            reopened.pop_front();
        }
        reopened.push_back((self.identity, Arc::clone(&file)));
        Ok(OpenFile::Reopened(file))
    }

    fn lock_reopened(&self) -> MutexGuard<'_, VecDeque<ReopenedFile>> {
        self.reopened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file among those that were opened again.
    fn find(&self, reopened: &VecDeque<ReopenedFile>) -> Option<Arc<File>> {
        let found = reopened.iter().find(|(identity, _)| *identity == self.identity);
        found.map(|(_, file)| Arc::clone(file))
    }

    fn check_identity(&self, metadata: &Metadata) -> io::Result<()> {
        if identity(metadata) == self.identity {
            return Ok(());
        }
        Err(io::Error::other("another file has taken its name while it was read"))
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The share of the file's pages that are cached, or `None` if the system cannot report it (Linux
/// before 6.5, other systems). The query does not change it. Only some places of a large file are
/// checked, because checking all takes milliseconds.
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
#[expect(unsafe_code, reason = "a system call without a wrapper")]
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

/// How a part of a file will be read. The advice affects speed only.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Advice {
    /// At random, so that the system should not read ahead.
    Random,
    /// Soon: a read is started without waiting for it.
    WillNeed,
}

/// Gives advice for a part of the file; without a length, for the rest of it.
#[cfg(target_os = "linux")]
pub(crate) fn advise(file: &PlainFile, offset: u64, len: Option<NonZero<u64>>, advice: Advice) {
    let advice = match advice {
        Advice::Random => rustix::fs::Advice::Random,
        Advice::WillNeed => rustix::fs::Advice::WillNeed,
    };
    if let Ok(open) = file.handle.get()
        && let Ok(file) = open.file()
    {
        let _ = rustix::fs::fadvise(file, offset, len, advice);
    }
}

/// Other systems have no such advice.
#[cfg(not(target_os = "linux"))]
pub(crate) fn advise(_: &PlainFile, _: u64, _: Option<NonZero<u64>>, _: Advice) {}

/// FNV-1a over 8 bytes at a time, with a final mix. It protects against mistakes, not against
/// malice.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ bytes.len() as u64;
    let mut add = |word: [u8; 8]| {
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(PRIME);
        hash ^= hash >> 29;
    };
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        add(*word);
    }
    if !rest.is_empty() {
        let mut padded = [0; 8];
        padded[..rest.len()].copy_from_slice(rest);
        add(padded);
    }
    hash ^ (hash >> 32)
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
