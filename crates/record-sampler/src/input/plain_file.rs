//! A regular file as it was when it was opened.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use super::digest::digest;
use super::handle::{Descriptors, Handle};
use crate::{Error, ErrorKind, Format, Result};

/// A regular file, with its size and time when it was opened.
pub(crate) struct PlainFile {
    pub(crate) handle: Arc<Handle>,
    pub(crate) size: u64,
    pub(crate) modified_ns: i128,
    /// A digest of its first and its last bytes.
    edges: Option<u64>,
}

/// At each end of a file. To read them costs some microseconds a file.
const EDGE_BYTES: u64 = 4096;

/// The byte order mark of UTF-8, which some programs write at the start of a text.
pub(crate) const BOM: &[u8; 3] = b"\xef\xbb\xbf";

pub(crate) fn without_bom(text: &[u8]) -> &[u8] {
    text.strip_prefix(BOM).unwrap_or(text)
}

impl PlainFile {
    /// The handle of a file without a path keeps it open.
    pub(super) fn new(
        file: File,
        path: Option<&Path>,
        metadata: &Metadata,
        descriptors: &Descriptors,
    ) -> PlainFile {
        let size = metadata.len();
        let edges = edges(&file, size);
        let handle = Arc::new(match path {
            Some(path) => descriptors.handle(file, path, metadata),
            None => descriptors.handle_without_path(file, metadata),
        });
        PlainFile { handle, size, modified_ns: modified_ns(metadata), edges }
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
        let file = self.handle.get().map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        match metadata.len().checked_sub(self.size) {
            Some(0) if modified_ns(&metadata) != self.modified_ns => Err(self.changed(self.size)),
            // What was appended to still has the same bytes at both edges of what was there before.
            Some(1..) if edges(&file, self.size) != self.edges => Err(self.changed(metadata.len())),
            Some(growth) => Ok(growth),
            None => Err(self.changed(metadata.len())),
        }
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
        let metadata = self.handle.get().and_then(|file| file.metadata());
        let size = metadata.map_or(0, |metadata| metadata.len());
        self.changed(size)
    }
}

/// A digest of the first and the last bytes of a file of this size, by which one that was
/// overwritten by a larger one is distinguished from one that was appended to. None where they
/// cannot be read.
fn edges(file: &File, size: u64) -> Option<u64> {
    let len = size.min(EDGE_BYTES);
    let mut bytes = vec![0; 2 * len as usize];
    let (first, last) = bytes.split_at_mut(len as usize);
    file.read_exact_at(first, 0).ok()?;
    file.read_exact_at(last, size - len).ok()?;
    Some(digest(&bytes))
}

fn modified_ns(metadata: &Metadata) -> i128 {
    i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
}

/// Reads all bytes at the offset, or returns the error.
pub(crate) fn read_exactly(file: &PlainFile, buffer: &mut [u8], offset: u64) -> Result<()> {
    let read = file.handle.get().and_then(|open| open.read_exact_at(buffer, offset));
    read.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => file.cut(),
        _ => Error::caused(ErrorKind::Io, &format!("reading at offset {offset}"), error),
    })
}
