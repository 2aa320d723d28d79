//! A page-aligned buffer, because the kernel copies fastest to the start of a page.

use std::cell::Cell;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

const PAGE_BYTES: usize = 4096;

/// A buffer that starts at a page boundary. If a part of it was lent out, it gets other memory
/// before it changes.
pub(crate) struct Buffer(Arc<Memory>);

/// A part of a `Vec` that is one page larger, or more.
#[derive(Default)]
struct Memory {
    bytes: Vec<u8>,
    range: Range<usize>,
}

/// Larger memory is not kept for the next buffer.
const MOST_KEPT: usize = 256 << 10;

thread_local! {
    /// The memory of the buffer that this thread has dropped last. New memory of 128 KiB is cleared
    /// and mapped page by page, which takes longer than reading a small file into it.
    static SPARE: Cell<Memory> = const { Cell::new(Memory { bytes: Vec::new(), range: 0..0 }) };
}

impl Buffer {
    /// A buffer with any bytes in it.
    pub(crate) fn new(len: usize) -> Buffer {
        // While the thread ends there is none.
        let spare = SPARE.try_with(Cell::take).unwrap_or_default();
        Buffer(Arc::new(spare.resized(len).unwrap_or_else(|| Memory::new(len))))
    }

    /// These bytes, which can be kept. A large part is not copied; a small one is, because it would
    /// keep the memory of the whole buffer.
    #[cfg(feature = "async")]
    pub(crate) fn share(&self, range: Range<usize>) -> bytes::Bytes {
        let bytes = &self[range.clone()];
        if bytes.len() < self.0.most() / 4 {
            return bytes::Bytes::copy_from_slice(bytes);
        }
        bytes::Bytes::from_owner(SharedBytes { memory: self.0.clone(), range })
    }
}

#[cfg(feature = "async")]
struct SharedBytes {
    memory: Arc<Memory>,
    range: Range<usize>,
}

#[cfg(feature = "async")]
impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.memory.bytes[self.memory.range.clone()][self.range.clone()]
    }
}

impl Memory {
    fn new(len: usize) -> Memory {
        let bytes = vec![0; len + PAGE_BYTES];
        let start = bytes.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        Memory { bytes, range: start..start + len }
    }

    /// The length of the largest range.
    fn most(&self) -> usize {
        self.bytes.len().saturating_sub(PAGE_BYTES)
    }

    /// The same memory with a range of this length, if it is large enough.
    fn resized(self, len: usize) -> Option<Memory> {
        let start = self.range.start;
        (len <= self.most()).then_some(Memory { range: start..start + len, ..self })
    }
}

impl Drop for Buffer {
    /// Keeps the memory for the next buffer of this thread, unless there is larger memory or a part
    /// is lent out.
    fn drop(&mut self) {
        let Some(memory) = Arc::get_mut(&mut self.0) else { return };
        if memory.most() > MOST_KEPT {
            return;
        }
        let memory = std::mem::take(memory);
        // While the thread ends it is not kept.
        let _ = SPARE.try_with(|spare| {
            let other = spare.take();
            spare.set(if other.most() > memory.most() { other } else { memory });
        });
    }
}

impl Clone for Memory {
    /// The copy starts at a page as well.
    fn clone(&self) -> Memory {
        let mut copy = Memory::new(self.range.len());
        copy.bytes[copy.range.clone()].copy_from_slice(&self.bytes[self.range.clone()]);
        copy
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.bytes[self.0.range.clone()]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let memory = Arc::make_mut(&mut self.0);
        &mut memory.bytes[memory.range.clone()]
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

    #[test]
    fn the_memory_of_a_dropped_buffer_is_used_again() {
        let address = |buffer: &Buffer| buffer.as_ptr() as usize;
        let first = Buffer::new(100_000);
        let (at, second) = (address(&first), Buffer::new(10_000));
        assert_ne!(address(&second), at);
        drop((first, second));
        // The larger one was kept.
        let third = Buffer::new(50_000);
        assert_eq!((address(&third), third.len()), (at, 50_000));
        drop(third);
        let fourth = Buffer::new(100_000);
        assert_eq!((address(&fourth), fourth.len()), (at, 100_000));
        assert_eq!(Buffer::new(200_000).len(), 200_000);
    }

    #[cfg(feature = "async")]
    #[test]
    fn shared_bytes_never_change() {
        let mut buffer = Buffer::new(10_000);
        buffer.fill(1);
        let (large, small) = (buffer.share(3000..9000), buffer.share(0..10));
        assert_eq!(large.as_ptr(), buffer[3000..].as_ptr());
        assert_ne!(small.as_ptr(), buffer.as_ptr());
        buffer[3000] = 2;
        assert_eq!(
            (&large[..2], &small[..1], &buffer[2999..3002]),
            (&[1, 1][..], &[1][..], &[1, 2, 1][..])
        );
        assert_eq!(buffer.as_ptr() as usize % PAGE_BYTES, 0);
        // Once the bytes were dropped, the memory is used again.
        let at = buffer.as_ptr();
        drop(buffer.share(0..10_000));
        buffer.fill(3);
        assert_eq!(buffer.as_ptr(), at);
    }
}
