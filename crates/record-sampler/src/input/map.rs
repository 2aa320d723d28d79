//! A file mapped into memory: the one place that needs a promise about the file.

#![expect(unsafe_code, reason = "maps files")]

use memmap2::{Advice, Mmap, MmapOptions};

use super::PlainFile;
use crate::{Error, ErrorKind, Result};

/// How much of a mapping will be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Density {
    /// A few pages, which are not cached.
    Sparse,
    Dense,
    /// Nearly every page, so that all are mapped at once.
    All,
}

/// Maps a file that is not empty. If another process cuts the file while it is mapped, reading beyond its
/// new end ends this process with SIGBUS: who maps, has been told.
pub(crate) fn map(file: &PlainFile, density: Density) -> Result<Mmap> {
    let len = usize::try_from(file.size)
        .map_err(|_| Error::new(ErrorKind::BadRequest, "is too large to be mapped"))?;
    let mut options = MmapOptions::new();
    options.len(len);
    // SAFETY: the bytes are only ever read as bytes; that they may change is told above.
    let map = unsafe { options.map(&file.file) };
    let map = map.map_err(|error| Error::caused(ErrorKind::Io, "mapping it", error))?;
    // Only hints: without them more is read than is needed, or faults take longer.
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

/// How much of a cached file a page fault maps: 64 KiB where it lies in single pages, up to 2 MiB where it lies in larger
/// ones. Some places are looked at; none where the system does not tell how much is mapped.
pub(crate) fn fault_bytes(file: &PlainFile) -> Option<u64> {
    const PLACES: u64 = 8;
    const PAGE_BYTES: u64 = super::PAGE_BYTES as u64;
    let mapped_pages = || -> Option<u64> {
        let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
        sizes.split(' ').nth(2)?.parse().ok()
    };
    // Of a small one the places would be those of the same page.
    if file.size < PLACES * (8 << 20) {
        return None;
    }
    let map = map(file, Density::Dense).ok()?;
    let before = mapped_pages()?;
    let byte = |place: u64| map[(file.size / PLACES * place) as usize];
    std::hint::black_box((0..PLACES).fold(0, |sum, place| sum ^ byte(place)));
    // Older kernels tell them late, where there are many processors: then nothing is known.
    let pages = mapped_pages()?.checked_sub(before).filter(|pages| *pages >= PLACES)? / PLACES;
    Some((pages * PAGE_BYTES).min(2 << 20))
}
