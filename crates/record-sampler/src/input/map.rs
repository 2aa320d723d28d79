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
