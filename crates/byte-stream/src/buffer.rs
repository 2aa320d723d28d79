//! A page-aligned buffer, because the kernel copies fastest to the start of a page.

use std::ops::{Deref, DerefMut};

const PAGE_BYTES: usize = 4096;

/// A buffer that starts at a page boundary, within a `Vec` that is one page larger.
pub(crate) struct Buffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    pub(crate) fn new(len: usize) -> Buffer {
        let memory = vec![0; len + PAGE_BYTES];
        let start = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        Buffer { memory, start, len }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_starts_at_a_page() {
        for len in [1, 4095, 4096, 1 << 17] {
            let buffer = Buffer::new(len);
            assert_eq!((buffer.as_ptr() as usize % PAGE_BYTES, buffer.len()), (0, len));
        }
    }
}
