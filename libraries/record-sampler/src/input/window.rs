//! Bytes at any offset of a file, through a mapping or through a small buffer. Only the mapping
//! depends on files not being changed.

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap, MmapOptions};

use super::plain_file::{PlainFile, read_exactly};
use crate::{Error, ErrorKind, Result};

/// The way in which the bytes of a file are accessed.
#[derive(Clone, Copy)]
pub(crate) enum FileAccess<'a> {
    Read(&'a PlainFile),
    Map(&'a PlainFile, &'a Mmap),
}

/// A moving window on a file.
pub(crate) struct FileWindow<'a> {
    access: FileAccess<'a>,
    buffer: AlignedBuffer,
    capacity: usize,
    /// The content of the window: its offset and length.
    start: u64,
    len: usize,
    /// Bytes that were read, or returned from a mapping.
    pub(crate) bytes_read: u64,
}

impl<'a> FileWindow<'a> {
    /// At most `capacity` bytes are held in memory.
    pub(crate) fn new(access: FileAccess<'a>, capacity: usize) -> FileWindow<'a> {
        FileWindow::with_buffer(access, capacity, AlignedBuffer::default())
    }

    /// A window with the buffer of an earlier one. It is allocated when it is needed: neither for
    /// files that are mapped nor for those whose bytes are held.
    pub(crate) fn with_buffer(
        access: FileAccess<'a>,
        capacity: usize,
        buffer: AlignedBuffer,
    ) -> FileWindow<'a> {
        FileWindow { access, buffer, capacity, start: 0, len: 0, bytes_read: 0 }
    }

    /// The buffer, for the next window.
    pub(crate) fn into_buffer(self) -> AlignedBuffer {
        self.buffer
    }

    pub(crate) fn size(&self) -> u64 {
        self.file().size
    }

    fn file(&self) -> &'a PlainFile {
        match self.access {
            FileAccess::Read(file) | FileAccess::Map(file, _) => file,
        }
    }

    /// The bytes from `offset`, at least one unless the file ends there, at most `limit`. New bytes
    /// are read up to the next multiple of `limit` from the start of the file.
    pub(crate) fn at(&mut self, offset: u64, limit: usize) -> Result<&[u8]> {
        let left = self.size().saturating_sub(offset);
        let wanted = left.min(limit as u64) as usize;
        match self.access {
            FileAccess::Map(_, map) => {
                self.bytes_read += wanted as u64;
                let start = offset as usize;
                Ok(if wanted == 0 { &[] } else { &map[start..start + wanted] })
            }
            FileAccess::Read(file) => {
                let is_within =
                    offset.checked_sub(self.start).is_some_and(|at| at < self.len as u64);
                let held = file.handle.held();
                if !is_within {
                    let n = wanted.min(self.capacity);
                    (self.start, self.len) = (offset, 0);
                    if held.is_none() {
                        let most = file.size.min(self.capacity as u64) as usize;
                        read_exactly(file, &mut self.buffer.reserve(most)[..n], offset)?;
                    }
                    self.len = n;
                    self.bytes_read += n as u64;
                }
                let at = (offset - self.start) as usize;
                let end = self.len.min(at + wanted);
                let bytes = match held {
                    Some(held) => held.get(self.start as usize..).unwrap_or_default(),
                    None => self.buffer.bytes(),
                };
                Ok(&bytes[at..end])
            }
        }
    }
}

/// The alignment of pages.
pub(crate) const PAGE_BYTES: usize = 4096;

/// A buffer that is page-aligned if it is not small. Where this was measured (AMD EPYC), the
/// kernel's copy to an address 16 bytes behind a page boundary, where large allocations lie, took
/// three times as long.
#[derive(Default)]
pub(crate) struct AlignedBuffer {
    buffer: Vec<u8>,
    start: usize,
}

impl AlignedBuffer {
    /// The buffer, with at least as many bytes. A larger one replaces it, without its content.
    fn reserve(&mut self, len: usize) -> &mut [u8] {
        if self.bytes().len() < len {
            let len = len.next_power_of_two();
            let slack = if len < PAGE_BYTES { 0 } else { PAGE_BYTES };
            self.buffer = vec![0; len + slack];
            let offset = self.buffer.as_ptr().align_offset(PAGE_BYTES);
            self.start = if slack == 0 { 0 } else { offset.min(slack) };
        }
        &mut self.buffer[self.start..]
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

/// The density with which a mapping will be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Density {
    /// A few pages, which are not cached.
    Sparse,
    Dense,
    /// Nearly every page, so that all are mapped at once.
    All,
}

/// Maps a file that is not empty. If another process truncates the file while it is mapped, reading
/// beyond the new end ends this process with SIGBUS; the documentation of `FetchMethod::Mmap` says
/// so.
pub(crate) fn map(file: &PlainFile, density: Density) -> Result<Mmap> {
    let len = usize::try_from(file.size)
        .map_err(|_| Error::new(ErrorKind::BadRequest, "is too large to be mapped"))?;
    let mapping = |error| Error::caused(ErrorKind::Io, "mapping it", error);
    let open = file.handle.get().map_err(mapping)?;
    let map = map_bytes(open.file().map_err(mapping)?, MmapOptions::new().len(len));
    let map = map.map_err(mapping)?;
    // This is only advice: without it, more is read than needed, or faults take longer.
    let _ = match density {
        Density::Sparse => map.advise(Advice::Random),
        Density::Dense => Ok(()),
        #[cfg(target_os = "linux")]
        Density::All => map.advise(Advice::PopulateRead),
        #[cfg(not(target_os = "linux"))]
        Density::All => Ok(()),
    };
    Ok(map)
}

/// Maps a file like [`map`], with all that the options say.
#[expect(unsafe_code, reason = "maps files")]
pub(crate) fn map_bytes(file: &File, options: &MmapOptions) -> io::Result<Mmap> {
    // SAFETY: the bytes are only read as bytes; the danger of a truncated file is documented above.
    unsafe { options.map(file) }
}

/// The bytes of a cached file that a page fault maps: 64 KiB if it is cached in single pages,
/// up to 2 MiB if it is cached in large folios. Some offsets are probed; `None` if the system does
/// not report what is mapped.
pub(crate) fn fault_bytes(file: &PlainFile) -> Option<u64> {
    const PLACES: u64 = 8;
    const PAGE_BYTES: u64 = self::PAGE_BYTES as u64;
    let mapped_pages = || -> Option<u64> {
        let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
        sizes.split(' ').nth(2)?.parse().ok()
    };
    // In a small file the probed places would share a page.
    if file.size < PLACES * (8 << 20) {
        return None;
    }
    let map = map(file, Density::Dense).ok()?;
    let before = mapped_pages()?;
    let byte = |place: u64| map[(file.size / PLACES * place) as usize];
    std::hint::black_box((0..PLACES).fold(0, |sum, place| sum ^ byte(place)));
    // Older kernels update these counters late on machines with many processors: then nothing is
    // known.
    let pages = mapped_pages()?.checked_sub(before).filter(|pages| *pages >= PLACES)? / PLACES;
    Some((pages * PAGE_BYTES).min(2 << 20))
}
