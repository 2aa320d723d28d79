//! Where a stream's chunks come from. A source holds one chunk at a time, in its own memory.

pub(crate) mod map;
pub(crate) mod read;

use std::os::fd::BorrowedFd;

use crate::Result;

pub(crate) enum Source {
    Read(read::Read),
    Map(map::Map),
    #[cfg(feature = "http")]
    Http(Box<crate::http::Body>),
}

impl Source {
    /// Takes the next chunk in, which is never empty; false at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        match self {
            Source::Read(source) => source.advance(),
            Source::Map(source) => source.advance(),
            #[cfg(feature = "http")]
            Source::Http(source) => source.advance(),
        }
    }

    /// The descriptor of what is local.
    #[cfg_attr(not(feature = "http"), expect(clippy::unnecessary_wraps, reason = "a URL has none"))]
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Source::Read(source) => Some(source.fd()),
            Source::Map(source) => Some(source.fd()),
            #[cfg(feature = "http")]
            Source::Http(_) => None,
        }
    }

    /// What the last `advance` took in.
    #[inline]
    pub(crate) fn chunk(&self) -> &[u8] {
        match self {
            Source::Read(source) => source.chunk(),
            Source::Map(source) => source.chunk(),
            #[cfg(feature = "http")]
            Source::Http(source) => source.chunk(),
        }
    }
}
