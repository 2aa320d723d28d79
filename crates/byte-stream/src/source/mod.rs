//! The sources of a stream's chunks. A source holds one chunk at a time, in its own memory.

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
    /// Loads the next chunk, which is never empty; returns false at the end.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        match self {
            Source::Read(source) => source.advance(),
            Source::Map(source) => source.advance(),
            #[cfg(feature = "http")]
            Source::Http(source) => crate::wait::now(source.advance()),
        }
    }

    /// The descriptor of a local source.
    #[cfg_attr(not(feature = "http"), expect(clippy::unnecessary_wraps, reason = "a URL has none"))]
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Source::Read(source) => Some(source.fd()),
            Source::Map(source) => Some(source.fd()),
            #[cfg(feature = "http")]
            Source::Http(_) => None,
        }
    }

    /// The chunk that the last `advance` loaded.
    #[inline]
    pub(crate) fn chunk(&self) -> &[u8] {
        match self {
            Source::Read(source) => source.chunk(),
            Source::Map(source) => source.chunk(),
            #[cfg(feature = "http")]
            Source::Http(source) => source.chunk(),
        }
    }

    /// The chunk from there on, to keep.
    #[cfg(feature = "async")]
    pub(crate) fn share(&self, from: usize) -> bytes::Bytes {
        match self {
            Source::Read(source) => source.share(from),
            Source::Map(source) => bytes::Bytes::copy_from_slice(&source.chunk()[from..]),
            #[cfg(feature = "http")]
            Source::Http(source) => source.share(from),
        }
    }
}
