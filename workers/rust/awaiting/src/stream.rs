//! The bytes of a file as a stream. This file is compiled twice: into the library, and into the
//! program beside the loop that awaits the bytes.

use std::fs::File;
use std::io::{self, Read};
use std::task::{Context, Poll};

use crate::ByteStream;

/// Its function may be inlined into the loop.
pub struct Inlined<'a>(FileBytes<'a>);

/// Each byte takes a call of its function.
pub struct Called<'a>(FileBytes<'a>);

impl<'a> Inlined<'a> {
    pub fn new(file: File, buffer: &'a mut [u8]) -> Inlined<'a> {
        Inlined(FileBytes { file, buffer, start: 0, end: 0 })
    }
}

impl<'a> Called<'a> {
    pub fn new(file: File, buffer: &'a mut [u8]) -> Called<'a> {
        Called(FileBytes { file, buffer, start: 0, end: 0 })
    }
}

impl ByteStream for Inlined<'_> {
    #[inline]
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Option<u8>>> {
        self.0.poll_byte()
    }
}

impl ByteStream for Called<'_> {
    #[inline(never)]
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Option<u8>>> {
        self.0.poll_byte()
    }
}

/// What of the file is in the buffer, and how much of that was given out.
struct FileBytes<'a> {
    file: File,
    buffer: &'a mut [u8],
    start: usize,
    end: usize,
}

impl FileBytes<'_> {
    /// Always inlined, so that both streams have one and the same code in their function.
    #[inline(always)]
    fn poll_byte(&mut self) -> Poll<io::Result<Option<u8>>> {
        if self.start == self.end {
            match self.file.read(self.buffer) {
                Ok(n) => (self.start, self.end) = (0, n),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let byte = self.buffer[..self.end].get(self.start).copied();
        self.start += 1;
        Poll::Ready(Ok(byte))
    }
}
