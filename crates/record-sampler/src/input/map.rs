//! Maps files into memory: the only place that depends on files not being changed.

#![expect(unsafe_code, reason = "maps files")]

use memmap2::{Advice, Mmap, MmapOptions};

use super::PlainFile;
use crate::{Error, ErrorKind, Result};

/// How densely a mapping will be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Density {
    /// A few pages, which are not cached.
    Sparse,
    Dense,
    /// Nearly every page, so that all are mapped at once.
    All,
}

/// Maps a file that is not empty. If another process truncates the file while it is mapped, reading
/// beyond the new end ends this process with SIGBUS; the documentation of `Method::Mmap` says so.
pub(crate) fn map(file: &PlainFile, density: Density) -> Result<Mmap> {
    let len = usize::try_from(file.size)
        .map_err(|_| Error::new(ErrorKind::BadRequest, "is too large to be mapped"))?;
    let mut options = MmapOptions::new();
    options.len(len);
    let mapping = |error| Error::caused(ErrorKind::Io, "mapping it", error);
    let open = file.handle.get().map_err(mapping)?;
    // SAFETY: the bytes are only read as bytes; the danger of a truncated file is documented above.
    let map = unsafe { options.map(&*open) };
    let map = map.map_err(mapping)?;
    // Advice only: without it more is read than needed, or faults take longer.
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

/// The bytes of a cached file that a page fault maps: 64 KiB if it is cached in single pages,
/// up to 2 MiB if it is cached in large folios. Some offsets are probed; `None` if the system does
/// not report what is mapped.
pub(crate) fn fault_bytes(file: &PlainFile) -> Option<u64> {
    const PLACES: u64 = 8;
    const PAGE_BYTES: u64 = super::PAGE_BYTES as u64;
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
