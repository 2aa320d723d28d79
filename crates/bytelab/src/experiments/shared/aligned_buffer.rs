//! A buffer that starts at a page. Where an allocator places a buffer is a matter of chance, and
//! copying from the page cache takes up to half as long again into a buffer that starts 16 bytes
//! behind a page start, as large `Vec`s do.

use std::ops::{Deref, DerefMut};

use anyhow::{Context, Result};
use lab::param::{Point, bytes};

pub(crate) const PAGE: usize = 4096;

pub(crate) struct Buffer {
    /// One page longer than the buffer, and never resized.
    allocation: Vec<u8>,
    start: usize,
}

impl Buffer {
    /// `buffer` bytes, or fewer if the file is smaller.
    pub(crate) fn from_point(point: &Point) -> Result<Buffer> {
        let whole_file = point.number("size")?.checked_next_multiple_of(PAGE as u64);
        let len = point.number("buffer")?.min(whole_file.unwrap_or(u64::MAX));
        Buffer::new(usize::try_from(len.max(1))?)
    }

    pub(crate) fn new(len: usize) -> Result<Buffer> {
        let mut allocation = Vec::new();
        let size = len.saturating_add(PAGE);
        let for_what = || format!("memory for a buffer of {} bytes", bytes(len as u64));
        allocation.try_reserve_exact(size).with_context(for_what)?;
        allocation.resize(size, 0);
        let start = allocation.as_ptr().align_offset(PAGE);
        Ok(Buffer { allocation, start })
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.allocation[self.start..][..self.allocation.len() - PAGE]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.len();
        &mut self.allocation[self.start..][..len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_as_long_as_requested_and_starts_at_a_page() {
        for len in [1, 4095, 4096, 100_000] {
            let mut buffer = Buffer::new(len).unwrap();
            assert_eq!((buffer.len(), buffer.as_ptr() as usize % PAGE), (len, 0));
            buffer[len - 1] = 1;
        }
    }

    #[test]
    fn a_buffer_is_not_longer_than_the_file_and_never_empty() {
        let len = |size: u64, buffer: u64| {
            let mut point = Point::default();
            point.set("size", size);
            point.set("buffer", buffer);
            Buffer::from_point(&point).unwrap().len()
        };
        assert_eq!(len(1 << 20, 5000), 5000);
        assert_eq!(len(5000, 1 << 30), 8192);
        assert_eq!(len(5000, 0), 1);
    }

    #[test]
    fn too_large_a_buffer_is_an_error() {
        let error = Buffer::new(usize::MAX).err().expect("an error");
        assert!(format!("{error:#}").starts_with("memory for a buffer of "), "{error:#}");
    }
}
