//! A stream that gives a few bytes at a time, so that records end within pieces and between them.

use std::io::Read;

pub struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    len: usize,
}

impl Pieces {
    /// Gives at most `len` of these bytes at a time.
    pub fn new(bytes: Vec<u8>, len: usize) -> Pieces {
        Pieces { bytes, at: 0, len }
    }
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let n = rest.len().min(buffer.len()).min(self.len);
        buffer[..n].copy_from_slice(&rest[..n]);
        self.at += n;
        Ok(n)
    }
}
